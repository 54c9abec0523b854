"""Phrases written by hand for training alone, in many wordings: levels of urgency and frustration, who wants a
human, what needs a tool, what needs a shell. None of them is tested."""

URGENCY = [
    """I was only browsing and got curious.
a small wish for a future version
no need to answer before the holidays
This is more of a general remark.
let's talk about it next year
there's absolutely no pressure
could be improved one day, cosmetic
when things calm down, maybe
purely out of interest
I don't mind waiting a month or two
not a problem, just an observation
It's a nice-to-have.
do it in your spare time
we only started thinking about it
for your information, nothing to do right now
I am retired, I've got all day every day
we could discuss that over coffee at some point
minor: the font looks odd
a question for my thesis, due next autumn
would be cool to have stickers
there's no date attached to this
you can close it if you have more important things
someone might want to tidy up the wiki eventually
I may buy one next spring
thank you, everything is in order
where does the name of your firm come from
a typo on page nine
keep it on the long list
Have you considered a darker green?
how old is your company
sometime in the new year would suit me
I'm in no hurry whatsoever
this is a long-term idea
could you one day offer it in green
just a thought for later
I'll be back in the autumn, we can talk then
it's been like this for years, nobody minds
not worth a meeting
merely a question of taste
whenever it suits you
for some future release
one might polish the icons
I'm only collecting information
I wonder who designed your logo
it can stay as it is until the budget is there
you needn't reply
tell me more about your history
a spelling mistake in the old handbook
we have months to decide
please think about a vegetarian option in the long run
I've no particular date in mind
do it last
nobody is waiting for this
it doesn't matter when""",
    """The offer is valid until next Tuesday.
we are planning the trip for the end of the month
can you get back to me by wednesday
it should be ready for the start of the new term
the spare still works, but order a new one soon
Let me have your comments in two or three days.
please schedule the maintenance for this week or next
the contract must be renewed by the 15th
our guests come on saturday, until then it's fine
I'd need it before my vacation next week
the disk is at 80 percent and grows slowly
it isn't blocking anyone yet
please answer within five working days
the tyres should be changed before the snow comes
we can live with it for a few days
deliver it by the weekend, please
the course begins in ten days and I have no place yet
the toner will last until thursday or so
a bit slow lately, please look into it when you plan the next sprint
make an appointment for the coming week
the licence expires at the end of the month
I have to hand it in next friday
what's left to do before the move on the 20th
The inspection is due in about two weeks.
remind them in a couple of days
can I have it by the end of next week
our meeting is on monday in a week
the deadline is on the 14th
let's fix it before the next billing run in ten days
I fly in nine days
kindly answer this week
two of five printers are out, order toner this week
the course starts next month, send me the list in time
by friday if possible
some days from now we'll need more space
the guests come at the weekend
I'd like to know before thursday
plan it for the coming days
the update can wait until the weekend
renewal is due within the fortnight
a reply in a day or three is fine
please deliver before the 20th
keep an eye on it this week
we've stock for about a week
I have to tell my boss by next wednesday""",
    """The customer is coming in at three and nothing is prepared.
I can't finish my shift without it
must be out by close of business
tonight is the last chance to hand it in
we need a workaround by this afternoon
the whole team waits for this
It has to be solved before tomorrow morning.
I leave for the airport in four hours
my computer died and I present at two
salary run is this evening
we can't take card payments at one till, the queue is long
the goods must be on the truck by six
please answer within the hour if you can
I'm missing the papers for tomorrow's appointment
we had to stop work on the site for today
the exam starts tomorrow at eight and I can't log in
they'll cut us off tonight if it isn't paid
half the office is offline since lunch
the printer ate the contracts that we sign at noon
the medicine will run out this evening
heating failed, it's cold, the kids come home at four
this must not wait until tomorrow
deadline today 23:59
our booth opens in the morning and the banners are not here
the release goes out today and this holds it up
until tonight, please
I need the key by four o'clock
my shift begins in two hours and I can't log in
we open tomorrow at eight and the till doesn't start
the payment has to go out today
can someone come over this morning
it's due at midnight
my battery pass expires today
the client waits for an answer this afternoon
I'm stuck here until you unlock it, please do it soon
the truck leaves at noon
our webinar starts in three hours
all of us are blocked at the moment
it must be in the post before five
we lose the booking if it's not confirmed today
tomorrow morning is the inspection and the file is missing
the doctor needs the report before tonight's surgery
the team can't deploy, it's needed for this evening
the room is double booked for today at two
he arrives in the next hours""",
    """Everything is on fire, literally.
He has chest pain and can't feel his arm
all systems are down worldwide
We are being hacked at this moment.
call an ambulance
the plant has to be evacuated
nobody can pay, nobody can log in, fix it this instant
they are stealing data while I'm writing this
the baby isn't waking up
there was an explosion in the workshop
stop everything immediately
the pipe burst and the server room is under water
an active shooter was reported near the campus
she is bleeding heavily
the machine won't stop, switch it off
total blackout in the data centre
my account is being emptied as we speak
wrong medicine given, patient is getting worse
critical outage, every second costs us
the train is about to leave without us, open the gate now
someone fell on the tracks
delete that post right now, it shows passwords
the tank is leaking acid
SOS
mayday, engine failure
we lose every order since ten minutes, all hands
the alarm goes off and there is smoke on the stairs
kill the job at once, it's wiping the disks
a child is missing in the store
emergency surgery in room two needs the backup power
people are trapped
the roof is coming down
we're under attack, disconnect us
he stopped breathing
hurry, the oven is in flames
every customer gets a blank page since a minute ago
gas leak, evacuate
the whole network is dead
she took too many pills
thieves in the shop right now
someone is draining the wallet
flood in the basement with the generators
cut the power, someone is being electrocuted
the ship is sinking
patients' monitors went dark
heart attack, send help
the crane is tipping
bomb threat at the station
brakes failed on the bus
stop the transfer, it's going to a fraudster, now
we cannot process a single order, act immediately
the child is choking
wildfire is reaching the houses
data of all clients is being deleted at this moment""",
]

FRUSTRATION = [
    """You've been so helpful, thank you.
I'd like to know your address
please send me the catalogue
Everything arrived safe and sound.
sounds good to me
May I ask when the office opens?
my order number is 5512
we love the new design
I lost my card, could you block it please
what a pleasant surprise
Could you add a second driver to the contract?
I'm calling about the invoice of May
that answers my question
yes, at nine is fine
the meeting is in room four
have you got it in a larger size
wonderful support, five stars
just checking whether you got my letter
is breakfast included?
I need a replacement for a broken cup
the machine stopped at 10:02, log attached
kindly confirm
keep up the good work
the system is down, please restart it
how can I become a member
thanks, you too
I'd be glad to hear from you
could I get a copy of the contract
see you on thursday then
it arrived, everything fine
great, that's settled
what colours are there
I'd like to book for four
please add my wife to the list
good to know, thank you
I'm looking forward to it
how long is the guarantee
that's very kind of you
can I pick it up on friday
my flight is at six, where do I check in
I broke my glasses, can you repair them
please send the bill to my office
my password doesn't work, could you reset it
I forgot my umbrella at your place
yes please, two of them
how do I get to your shop
no problem at all
it's my birthday today
may I bring my dog
the camera was stolen, I need a form for the insurance""",
    """that took longer than I thought
Not quite what I expected.
I'm a little unsure if that's right
it would have been nice to be told
so-so
the quality was better last year
hm, are you certain?
the button is hard to find
It's okay I guess, but the other one was better.
a bit pricey for what it is
I had to ask twice
somewhat inconvenient, but we'll manage
the packaging wasn't great
it hangs now and then
I would have preferred an earlier date
the explanation left me a bit puzzled
could be friendlier
too bad it's sold out
the picture promised a bit more
why is that so complicated?
an hour late, oh well
I'm not fully convinced
one of the plates had a chip
you forgot the receipt, no drama
the new menu is confusing at first
I'm not so happy with the colour
a little late, but ok
wasn't it supposed to be cheaper
I thought there'd be more in the box
could you be a bit quicker next time
it's fine, though not what I ordered exactly
hm, the link doesn't open
I'm slightly concerned about the delay
odd, it says closed
the sound is a bit low
you could have told me earlier
not the best experience, not the worst
I don't quite get your answer
I wish it was easier
there's a small crack, I noticed
the seat was narrow
oh, I hoped for a yes
that's a pity
it keeps asking for my name, strange
mixed feelings about the new design
a bit let down by the dessert
I had to look for it quite long
the app is okay but clumsy
could be worse
it's rather unclear to me""",
    """Once more: it does not work.
I've told you this already, several times.
this keeps happening
how long do I still have to wait
nobody seems to care
that's not good enough
Again no reply.
I'm losing patience with this
it failed again, as always
three calls and still no solution
I've wasted the whole morning on it
you promised to fix this last month
what do I pay you for?
not acceptable to me
why did nobody tell me
stop sending me to another page
it's really tiring to repeat myself
very poor service
I expected better from you
you lost my file twice
I'm upset about how this was handled
third appointment cancelled
the same bug in every version, annoying
come on, that can't be so difficult
your answer has nothing to do with my question
still broken, after all these mails
I've had enough of waiting
does anybody read what I write
for the fourth time: wrong address
I'm really unhappy with you
that's ridiculous, a month for a letter
I can't believe it failed again
why is it so hard to get an answer
another day without heating, thanks for nothing
it's the same trouble every month
you keep promising and nothing happens
I've been transferred five times now
my time is valuable, you know
this drives me crazy
I am sick of explaining it
bad service, bad product
you charged me again although I cancelled
it's not the first time that you forget us
sorry but this is a mess
I'm annoyed, the app crashed while I was paying
how often do I need to call
you don't listen
I want this sorted out, I've waited long enough
that's the worst pizza you ever delivered to us
stop asking me the same thing""",
    """Go away with your excuses!
I HATE THIS
you ruined everything
This is criminal.
never again, you crooks
a bunch of liars
shame on you
I'll report you to the police
what kind of morons work there
I'm beyond angry
you should be shut down
GIVE ME MY MONEY
I've never seen such stupidity
disgusting behaviour
I'm so mad I could scream
your company is a fraud
I will make sure everyone knows how awful you are
total rubbish, go bankrupt already
how dare you
are you insane?!
you'll hear from my lawyers
worst experience of my life
screw you
this damn thing, I'll throw it out of the window
utterly shameful, you've cost me my job
you filthy liars
I'll never forgive you for this
burn in hell
this is an absolute scandal
YOU STOLE MY MONEY
are you stupid or what
I'm going to the press with this
what an incredible insolence
bloody useless bunch
I could kill somebody
you've wrecked my life
I want you punished
scam scam scam
get lost
how can anybody be so incompetent
criminals
I'm boiling with rage
I'll sue the hell out of you
the most disgusting place I've ever been to
damn you all
this crap exploded in my face
you should be ashamed, all of you
NO NO NO!!! you killed my plants, you monsters
I swear I'll make you pay for that
idiotic system, idiotic company""",
]

HUMAN = """I want a person on the line
let me have a word with an employee
is somebody there who can help me, not a program
hook me up with a live operator
switch me over to your staff
I'd like to discuss that with an adviser
someone should phone me
could one of your people look into it
your automatic answers don't help, give me someone real
talk to a real person
I need to speak with the manager
pass me on to a specialist
can I get a consultant on the phone
customer service agent now
I would like a call from your office
no robots, humans only
where can I find the number of your hotline to speak to staff
please let an expert answer this
I insist on talking to your supervisor
is it possible to chat with support in person
hand this over to a member of the team
connect me
I don't want to chat with an ai
may I have a personal conversation with someone from sales
who is responsible? let me talk to them
get someone else to help me
agent please
live chat with a person
can a nurse call me
I'd feel better speaking with a lawyer of yours directly
put a technician on
forward my case to a clerk
I want to be called back by the department
let me speak with a woman, I mean a real one
this needs human judgement, have somebody check it
could I please get a person
a human would be nice
I'd love to chat with a real employee
nobody there? I want people, not programs
is any of your colleagues free for a call
give me customer care
I request to be transferred to your complaints team
get me out of this menu and to an agent
I need someone on the phone immediately
my question is for a human being
please ask a member of staff to write to me
I'm not going to type all this to a machine, let me speak to somebody
who can I phone about this
I want a callback
have your supervisor contact me
would a representative be available tomorrow
I need a word with the person in charge
representative
customer support person now please
speak with agent
human please
let me have a chat with your advisers
could you pass this on to someone at the office
is there an adviser I can reach
I'd rather have an employee look at it
you can't solve that, get me a colleague of yours
I want to discuss it with the manager of the shop
bring in somebody who can think
this is too private for a bot, I want a person
put your boss on
I was told that an agent would take over
can I be connected to the technical team
please let me talk with somebody at the bank
I ask you to escalate my case
take me to live support
talk to someone in person
I demand a human answer
do you have staff I could talk to
I want to call you, what's the number
please have a specialist ring me
will a real adviser read this? I want one
stop. agent.
I don't accept answers from a computer, person please
can somebody from your team help instead of you
I need an expert's opinion, not yours, robot
let me through to reception
connect me with the person who handles my file
could a doctor speak with me
somebody real, please, for heaven's sake
I'd like to leave this chat and talk to your staff""".split("\n")

NOT_HUMAN = """my agent is late with the contract
I already spoke to support and it's solved
is your assistant a real person
do humans have tails
how do I hire staff
the salesperson was rude
my manager approved it
please don't call me
what does the operator && do
add my colleague to the ticket
I talked to the bank, they said it's fine
how many employees do you have
the technician repaired it yesterday
change the contact person
can I bring another person with me
tell the manager that I'm ill
who do I send the form to
is there a phone number on the back of the card
my phone number has changed
a customer called me
the nurse gave me the wrong pills
how do I write to my representative in parliament
human resources needs your form
translate: I want to speak
what's the name of your ceo
my mother is a lawyer
I love chatting with you
the expert said it's original
are you smarter than people
let me talk about my day
put my wife on the insurance
the chat window is too small
your answer was fine, no need for anything more
connect my headphones
can someone cancel an order after it shipped
can you help me
I want to speak spanish better
how do I talk to my teenager
is this a bot
what is a call option
my phone is broken
call me tom
who is your founder
do you work at night
could you call the function twice
I'm talking to my sister about it
what's your phone number for sms alerts
please speak louder
the representative of the landlord has the keys
which agent handled my last order
support for windows 7 has ended
our staff needs new badges
a friend told me about your service
my boss wants a report by noon
the team won again
the doctor says I'm fine
I met your colleague at the fair
how many operators does python have
live stream of the match please
can a human survive on mars
person of the year
change my contact details
my advisor retired, update the file
I hate talking on the phone, so let's write
no need to call me back
you solved it, no person needed
what would an expert say about this wine
expert mode, how do I enable it
manage my subscription
is customer service a good job
write a letter to my manager
tell me about human rights
what does the manager do all day
the hotline was great yesterday
how can I get someone to like me
can people see my profile
who can see my messages
somebody stole my bike
someone is using my wifi
please transfer my number to the new sim
escalation of privileges, what is that
I'd like to speak at your conference
connect the printer
can I reach the beach on foot
the receptionist gave me the wrong key""".split("\n")

NEEDS_TOOL = """what's the weather in lagos
how full is the car park right now
mail this to everyone in the team
did my salary arrive
switch the lamp on
is my train on time
put it on my calendar
how many people opened the newsletter
get me a cab
what did the dollar do today
add a task for tomorrow
show my last three invoices
look for a hotel near the beach
start the dishwasher
post this on our page
is the milk on offer this week
which of my servers is out of disk
reply to Ann that I agree
are there any seats left
find the contract from 2019 in the archive
raise the temperature in the bath
who called me this morning
pay the plumber
close ticket 512
what's new in the world
set a reminder
order the usual
where is my brother right now
update the spreadsheet with these numbers
record the match
give me directions to the airport with current traffic
how many steps did I walk
check my blood test results
turn off the alarm
renew the domain
tell me the score
which room is free now
move the files to the archive
look up the customer with this number
buy two tickets
is the shop open at the moment
what's my balance
how many emails came in today
let my boss know I'm ill
when is my next appointment
put tea on the list
are there delays on line 3
translate the attached file and save it
how much is a ticket to Rome tomorrow
unlock the car
who's on call tonight
sell ten shares
what did I write to Tim last week
book it
dim the lamp
what's trending today
is the parcel on its way
get the minutes of yesterday's meeting
show the camera at the door
start recording
skip to the next song
send flowers to my wife
which invoices are open
reserve a desk for monday
what's the traffic like
subscribe me to the channel
take a picture
how much battery is left
search flights for the third of may
upload this to the cloud
look in the database for orders above 500
ask Ben whether he's coming
withdraw my application
reboot the router
is there a pharmacy open near me now
add 5 hours to my timesheet
what's today's menu in the canteen
pull the latest sales figures
rename the channel
order a new passport form""".split("\n")

NO_TOOL = """what's a noun
how do bees make honey
who wrote faust
tell me a riddle
thank you so much
I'm sad
say it more simply
what is seven times eight
is it correct to say "more better"
why do we dream
good night
give me three boy names
what does carpe diem mean
continue the story
who is older, you or me
how would you begin a speech
which animals hibernate
explain gravity to a child
compare cats and dogs
that was not what I meant
what's the opposite of brave
make it rhyme
is 51 a prime number
how do I greet someone in french
what language do they speak in brazil
turn this into bullet points: we need eggs, milk and bread
what's the plural of mouse
do you like music
why is math important
what happened in 1492
how do I stay motivated
how many continents are there
tell me about yourself
pick a number between one and ten
let's play a guessing game
what makes a good friend
is glass a liquid
rephrase my sentence politely
who discovered penicillin
how do magnets work
what rhymes with time
why do leaves fall
how do I write a good essay
what does etc stand for
explain irony
tell me a fact about whales
how many minutes are in an hour
who was Napoleon
cheer me up
is it ok to wear brown shoes with black trousers
give me a title for a poem on rain
what's the past tense of go
is zero even
how do birds fly
what does a philosopher do
hello again
could you say this in fewer words
what's the moral of the tortoise and the hare
are you sure
which is correct, its or it's
translate thank you into german
what is the meaning of life
make up a word for a lazy sunday
how do you keep a secret
what's bigger, an atom or a molecule
why do people yawn
write two lines about the sea
how can I be more patient
who is Sherlock Holmes
what's 100 minus 37
what do you mean by that
please use simpler words
name a fruit that starts with k
what is democracy
how do you pronounce quay
is a whale a fish
why is gold expensive
thanks, bye
what makes bread rise
describe a sunset""".split("\n")

SHELL = """what's eating my memory
the disk is full, help
throw away the old docker images
why does port 80 answer
put the archive together and name it backup
bring the repo up to date
start the service again
who changed this file last
look at the end of the error log
make a copy of the whole folder on the other drive
get rid of trailing blanks in all source files
which version of node do I have
is the process still alive
set up the ssh access
turn the video into an mp3
write the output of the script into a file
search all files for the old domain name
list what's in the tarball
undo my last commit
how big is this directory
change the permissions so that everybody can read it
test whether the host is reachable
run the migration script
build it and run it
get the headers of that url
remove all empty directories
watch the cpu load for a minute
install the missing library
merge the pdf files
add a user called ben to the machine
is docker running
what's in this zip
how old is this kernel
make a list of all logged in users
why won't the daemon start, look at its log
turn the csv into json
show me the first ten lines of data.txt
check out the release tag
find big files that nobody opened in a year
put my key on the server
stop the job that runs in the background
how much traffic goes over eth0
sort the names and drop doubles
is my disk healthy
see what's different between the two folders
move all logs of last month into old
open a shell in the container
start an http server in this folder
make the swap file bigger
encrypt this folder with a password
look for the string password in the repository
update pip
bring up the second network card
download the whole site
delete the user bob from the machine
format the stick as fat32
trace where the packets get lost
show the tree of processes
change the host name
set EDITOR to vim for good""".split("\n")

NO_SHELL = """how do I get rid of hiccups
list the pros of living in the country
remove me from your mailing list
explain what a pointer is
how to sort my wardrobe
find out what my sister would like for her birthday
print shops in my area
how do I kill time at the airport
open a bank account
copy editing for my novel, what does it cost
what does sudo stand for
download speed at home is poor, who can fix my line
move my appointment
what's a good file for metal work
run a marathon in under four hours
show me the way to the station
is windows better than a mac
check my grammar
create a diet plan
cut my hair at home, how
delete my account
what's the best way to search for a job
tell me what a database is in plain words
change the tyre
install a new tap in the kitchen
how do I compress a sleeping bag
count the days until christmas
who invented the mouse
how to make a folder out of cardboard
restart after a burnout
what's a good name for a dog
move my meeting
how do I kill a mosquito
list my payments
find a dentist
mount a horse for the first time, tips?
sort out my love life
why is my bank account frozen
what's the command of a captain called
update my address
install solar panels, does it pay off
print my boarding card at the airport, where
make a cake without sugar
how do I change my diet
show some respect, how in Japan
search for meaning
cat food, which brand
what's the best shell for tacos
is bash a german word
how can I remove a tattoo
who is root in the old testament
process of getting a mortgage
split pea soup recipe
how do I get to know my neighbours
can I freeze cheese
copy of my birth certificate
what's the history of unix
explain open source to my grandma
how do I start a fire in the stove
log my mileage for the tax office""".split("\n")

URGENCY, FRUSTRATION = ([level.split("\n") for level in levels] for levels in (URGENCY, FRUSTRATION))

# What the blocks of intents.txt are about, in several wordings each: (names, descriptions).
FIELDS = [
    ("account management|subscriptions|customer accounts", "plans, seats, login security and data of the account|changes to a subscription and its users"),
    ("city services|town hall|public administration", "permits, certificates, registration, waste and noise|what a citizen asks the municipality"),
    ("university|campus|studies", "courses, exams, grades, dormitories, tuition|questions of students"),
    ("health|medical|clinic", "doctors, symptoms, prescriptions, results, health insurance|everything around illness and treatment"),
    ("telecom|phone and internet|mobile network", "tariffs, signal, sim cards, router, television|connections that are slow or down"),
    ("online shop|orders|shopping help", "deliveries, returns, damaged goods, vouchers, stock|parcels and products"),
    ("it helpdesk|computer support|workplace it", "laptops, printers, passwords, software, network access|devices and accounts that do not work"),
    ("human resources|personnel|hr", "leave, sickness, pay, applications, training|questions of employees about their job"),
    ("sports|fitness|sports club", "matches, scores, teams, training, courts|workouts and games"),
    ("games and streaming|entertainment|media", "films, series, video games, podcasts, lyrics|things to watch, play and listen to"),
    ("devops|software development|engineering", "deployments, branches, tests, logs, secrets, databases|building and running software"),
    ("insurance and finance|money|insurance", "claims, policies, damages, loans, investments, taxes|cover, premiums, pensions, savings"),
    ("food and drink|restaurants|cooking", "recipes, ingredients, tables, menus, delivery of dishes|eating at home and outside"),
    ("housing|renting|home", "rent, repairs, lease, flats, moving, meters|landlords, neighbours, apartments"),
    ("garden, pets and weather|nature|animals and plants", "plants, pests, dogs and cats, storms, sun|caring for animals and the garden, outdoor conditions"),
    ("small talk|language help|chatting", "greetings, thanks, jokes, words and texts|conversation and questions about language"),
    ("cars|driving|motoring", "parking, repairs, fines, accidents, tyres|vehicles and the road"),
    ("banking services|bank|money matters", "accounts, payments, cheques, deposits, limits|what customers ask a bank"),
    ("household devices|smart appliances|home devices", "washing machine, vacuum, oven, lights, alarm|machines at home and how to set them"),
    ("knowledge|facts|general information", "people, animals, units, time, elections, spelling|looking things up"),
    ("travel|trips|holidays", "itineraries, seats, baggage, transfers, embassies|planning a journey and trouble abroad"),
]
FIELDS = [(a.split("|"), b.split("|")) for a, b in FIELDS]

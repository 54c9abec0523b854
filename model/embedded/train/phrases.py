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
how old is your company""",
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
remind them in a couple of days""",
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
the release goes out today and this holds it up""",
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
emergency surgery in room two needs the backup power""",
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
how can I become a member""",
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
the new menu is confusing at first""",
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
your answer has nothing to do with my question""",
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
utterly shameful, you've cost me my job""",
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
this needs human judgement, have somebody check it""".split("\n")

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
can someone cancel an order after it shipped""".split("\n")

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
buy two tickets""".split("\n")

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
how do magnets work""".split("\n")

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
add a user called ben to the machine""".split("\n")

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
restart after a burnout""".split("\n")

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
]
FIELDS = [(a.split("|"), b.split("|")) for a, b in FIELDS]

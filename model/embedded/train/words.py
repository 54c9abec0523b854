"""Word lists that the generated examples are made of: actions, things by topic, phrasings, questions.

An action is (verbs that tools use, phrases that people use). A thing is its synonyms.
"""

ACTIONS = {
    "create": ("create|add|new|make", "create|add|make|set up|start|open|register"),
    "delete": ("delete|remove|erase", "delete|remove|erase|get rid of|throw away|clear"),
    "update": ("update|edit|modify|change", "update|change|edit|modify|fix|correct|revise"),
    "list": ("list|show|get|browse", "list|show me|show all|give me|display|see|which are"),
    "search": ("search|find|lookup|query", "find|search for|look up|look for|locate|hunt for"),
    "send": ("send|deliver|dispatch", "send|mail|forward|deliver|ship"),
    "cancel": ("cancel|stop|abort", "cancel|call off|stop|abort|drop"),
    "status": ("check|status of|track|get status", "check|track|what is happening with|what is the status of|where is|any news on"),
    "book": ("book|reserve|schedule", "book|reserve|schedule|arrange|plan"),
    "pay": ("pay|settle", "pay|settle|pay off|cover"),
    "share": ("share|publish|post", "share|publish|post|give others access to"),
    "download": ("download|export|fetch", "download|export|save a copy of|fetch|grab"),
    "upload": ("upload|import", "upload|import|load|attach"),
    "compare": ("compare|diff", "compare|tell apart|find the difference between|contrast"),
    "summarize": ("summarize|digest", "summarize|sum up|give a short version of|condense"),
    "translate": ("translate|convert", "translate|convert|turn into another form|render"),
    "approve": ("approve|accept|confirm", "approve|accept|confirm|ok|sign off"),
    "reject": ("reject|decline|deny", "reject|decline|refuse|deny|turn down"),
    "calculate": ("calculate|compute|estimate", "calculate|compute|work out|estimate|figure out"),
    "explain": ("explain|describe|get info on", "explain|describe|tell me about|what is|help me understand"),
    "print": ("print", "print|make a hard copy of|print out"),
    "backup": ("backup|archive", "back up|archive|save|store"),
    "restore": ("restore|recover", "restore|recover|bring back|undo the loss of"),
    "lock": ("lock|block|freeze", "lock|block|freeze|disable"),
    "unlock": ("unlock|enable|activate", "unlock|enable|activate|turn on"),
    "transfer": ("transfer|move", "transfer|move|shift|hand over"),
    "merge": ("merge|combine|join", "merge|combine|join|put together"),
    "rename": ("rename|set name", "rename|give a new name to|change the name of"),
    "monitor": ("monitor|watch", "monitor|watch|keep an eye on|alert me about"),
    "recommend": ("recommend|suggest", "recommend|suggest|propose|what is a good"),
    "rate": ("rate|review", "rate|review|leave feedback on|score"),
    "return": ("return|refund", "return|refund|give back|get my money back for"),
}
ACTIONS = {k: (a.split("|"), b.split("|")) for k, (a, b) in ACTIONS.items()}

TOPICS = {
    "billing": [
        "invoice|bill", "refund|money back", "payment|charge", "subscription|plan|membership",
        "receipt|proof of payment", "discount|coupon|voucher", "late fee|penalty",
    ],
    "shipping": [
        "package|parcel|delivery", "order|purchase", "tracking number", "shipping address|delivery address",
        "customs form", "courier|driver", "warehouse stock|inventory",
    ],
    "travel": [
        "flight|plane ticket", "hotel|hotel room|accommodation", "rental car|car hire",
        "train ticket|rail ticket", "itinerary|trip plan", "visa|travel permit", "luggage|baggage|suitcase",
        "cruise",
    ],
    "weather": [
        "forecast|weather report", "temperature", "rain|rainfall|shower", "wind speed",
        "storm|hurricane|tornado", "humidity", "snow|snowfall", "air quality|pollution",
    ],
    "calendar": [
        "meeting|appointment", "calendar event|event", "reminder|alert", "deadline|due date", "agenda",
        "birthday", "time slot|free slot",
    ],
    "email": [
        "email|e-mail|message", "inbox", "spam|junk mail", "attachment", "mailing list|newsletter", "draft",
        "signature",
    ],
    "code": [
        "pull request|merge request", "branch", "bug|defect|issue", "unit test|test", "build|compile job",
        "repository|repo", "function|method", "stack trace|traceback", "commit", "code review",
        "dependency|library",
    ],
    "database": [
        "table|relation", "query|sql statement", "index", "row|record", "schema", "transaction log", "replica",
    ],
    "cloud": [
        "server|machine|instance", "container|pod", "cluster", "deployment|rollout|release", "load balancer",
        "dns record|domain name", "certificate|ssl certificate", "bucket|object storage", "virtual network",
    ],
    "security": [
        "password|passphrase", "access token|api key", "firewall rule", "login attempt|sign in",
        "permission|access right", "virus|malware", "two factor code|verification code",
        "security incident|breach",
    ],
    "hr": [
        "employee|staff member|worker", "vacation|holiday|time off|leave", "payslip|pay stub|salary slip",
        "job applicant|candidate", "contract|agreement", "training course", "performance review|appraisal",
    ],
    "finance": [
        "stock price|share price", "exchange rate|currency rate", "bank account|account", "loan|mortgage",
        "budget|spending plan", "tax return|tax form", "credit card|card", "savings goal", "interest rate",
    ],
    "health": [
        "doctor visit|medical appointment", "prescription|medicine|medication", "symptom|pain", "vaccine|shot",
        "blood pressure", "diet|meal plan", "workout|exercise", "heart rate|pulse", "insurance claim",
    ],
    "food": [
        "recipe|dish", "restaurant|place to eat|diner", "table reservation", "grocery list|shopping list",
        "ingredient", "pizza", "coffee|espresso", "calories",
    ],
    "music": [
        "song|track|tune", "playlist", "album|record", "concert|gig|show", "lyrics", "podcast",
        "radio station",
    ],
    "movies": [
        "movie|film", "tv series|show|series", "actor|actress", "cinema ticket|movie ticket", "trailer",
        "subtitle",
    ],
    "sports": [
        "match|game", "team|squad", "player|athlete", "score|result", "league table|standings",
        "tournament|cup",
    ],
    "home": [
        "light|lamp|lights", "thermostat|heating", "door lock|front door", "security camera|camera",
        "vacuum cleaner|robot vacuum", "oven", "garage door", "alarm",
    ],
    "education": [
        "course|class", "homework|assignment", "exam|quiz", "student|pupil", "teacher|lecturer", "grade|mark",
        "library book|textbook",
    ],
    "maps": [
        "route|directions|way", "traffic|congestion", "parking spot|parking place",
        "gas station|petrol station", "address|location", "bus stop|bus", "distance",
    ],
    "math": [
        "equation", "triangle area|area of a triangle", "prime number", "average|mean", "derivative",
        "percentage", "square root", "matrix", "probability", "volume of a cylinder|cylinder volume",
        "greatest common divisor",
    ],
    "files": [
        "file|document", "folder|directory", "disk space|storage", "photo|picture|image", "video|clip",
        "spreadsheet|excel sheet", "slide deck|presentation", "pdf", "log file|log",
    ],
    "legal": [
        "lawsuit|court case", "contract clause", "trademark", "lawyer|attorney", "license", "privacy policy",
        "patent",
    ],
    "realestate": [
        "apartment|flat", "house|home listing", "rent|rental price", "mortgage offer", "property tax",
        "landlord", "lease",
    ],
    "support": [
        "support ticket|ticket|case", "complaint", "feedback|comment", "warranty|guarantee",
        "live agent|human agent", "manual|user guide", "outage|downtime",
    ],
    "science": [
        "molecule|compound", "planet", "chemical reaction", "genome|dna sequence", "voltage", "velocity|speed",
        "gravity", "density",
    ],
    "news": [
        "headline|news", "article|story", "election|vote", "interview", "press release",
    ],
    "shopping": [
        "shoes|sneakers", "laptop|notebook|computer", "phone|smartphone|mobile", "gift|present", "cart|basket",
        "wish list", "jacket|coat", "price",
    ],
    "language": [
        "word|term", "sentence|phrase", "grammar|spelling", "synonym", "pronunciation", "translation",
    ],
    "network": [
        "wifi|wireless network", "router", "ip address", "port", "vpn", "bandwidth|network speed",
        "packet loss",
    ],
    "pets": [
        "dog|puppy", "cat|kitten", "vet|animal doctor", "pet food",
    ],
    "cars": [
        "tire|tyre", "oil change|oil", "engine", "battery", "car insurance", "fuel|gas|petrol", "brake",
    ],
}
THINGS = [(t, o.split("|")) for t, members in TOPICS.items() for o in members]

REQUESTS = [
    "{v} {d}{o}", "can you {v} {d}{o}", "please {v} {d}{o}", "i need to {v} {d}{o}", "i want to {v} {d}{o}",
    "could you help me {v} {d}{o}", "how do i {v} {d}{o}", "{v} {d}{o} please", "hey , {v} {d}{o} now",
    "would you {v} {d}{o}", "i would like you to {v} {d}{o}", "time to {v} {d}{o}", "we have to {v} {d}{o}",
    "my boss asked me to {v} {d}{o}", "it would be great to {v} {d}{o}", "is it possible to {v} {d}{o}",
]

DESCRIPTIONS = [
    "{V} {a}{o}", "{V} {a}{o} for the user", "use when the user wants to {v} {a}{o}", "tool to {v} {a}{o}",
    "lets you {v} {a}{o}", "{V} the given {o}", "function that can {v} {a}{o} by id",
    "the user asks to {v} {a}{o}", "handles requests to {v} {a}{o}",
]

PARAMETERS = [
    "id (string)", "date (string, optional)", "name (string)", "amount (number)", "limit (integer, default 10)",
    "city (string)", "query (string)", "format (one of json, text)", "user_id (integer)", "verbose (boolean)",
]

ASK_INTENT = [
    "which intent fits?", "which option fits best?", "what does the user want?", "choose the intent",
    "pick one option", "what is the intent of the message?", "route the message",
    "which of these matches the request?", "classify the request", "select the best option",
]

ASK_TOOL = [
    "which tool should be called?", "which tool fits?", "choose a tool", "pick the function to call",
    "which function can serve the request?", "which tool should the agent use next?", "select the right tool",
]

ASK_TOPIC = [
    "which topic is it about?", "which domain is this?", "which agent should handle this?",
    "route to the right team", "which category fits?", "choose the topic",
]

ASK_ROUTE = [
    "which queue should it go to?", "route the ticket", "which team owns this request?", "who should answer?", "where does the message go?",
    "which specialist answers?", "assign the mail", "who handles this?", "which desk is it for?", "pick the team that should take it",
    "hand over to which agent?", "which department is responsible?",
]

ASK_SCOPE = [
    "is the request one that the assistant supports?", "is the request in scope?",
    "can the assistant handle this request?", "does the request fit one of the supported topics?",
    "is this about one of the topics?", "do we support this?", "in scope?", "is the message within the assistant's scope?",
    "should the assistant answer this?", "does it belong to what the assistant covers?", "is it covered?", "may the bot take this one?",
]

ASK_SHELL = [
    "does it need a shell command?", "is a shell needed?", "should the agent run a command in the terminal?",
    "does the request need the shell?", "does this call for running a shell command?", "needs a shell?",
    "must a command be run on the machine for this?", "does it take a shell command?", "would one open a terminal for this?",
    "should a command be run in the terminal for this?", "is it a job for the command line?", "does the agent have to use bash here?",
]

ASK_RELEVANT = [
    "can one of the tools serve the request?", "is there a suitable tool?", "do the tools cover the request?",
    "does any of these tools fit the request?", "can the request be served with the tools?", "is one of the tools relevant?",
    "do we have a tool for it?", "would calling one of the functions help?", "is any function applicable?",
]

ASK_HUMAN = [
    "does the user ask for a human?", "does the user want to talk to a person?",
    "should this be handed to a human agent at the user's request?", "is the user asking for a live agent?",
    "asks for a human?", "is a live agent being asked for?", "does the writer want a person to take over?", "should a human take over because the user says so?",
    "does the customer request to be contacted by staff?", "do they ask to speak with somebody?", "wants a human?",
]

ASK_NEED = [
    "is a tool needed at all?", "does answering this need a tool call?", "must a tool be called?",
    "can the assistant not answer without calling a tool?", "needs a tool?", "can this only be done with a tool?",
    "is it necessary to call a function?", "does it take live data or an action?", "would the model have to use a tool for this?",
]

ASK_COMMAND = ["which command does it?", "choose the command", "which command should be run?"]
ASK_PROGRAM = ["which program should be used?", "which program does it?", "pick the program"]
ASK_MEANING = ["which description fits?", "what does it mean?", "what is described?", "which one explains it?"]
ASK_WORD = ["which word does it define?", "which term fits?", "what is described?", "which word is meant?"]
ASK_URGENCY = ["how urgent is the message?", "rate the urgency", "what priority does it have?", "how soon must someone act?",
               "how soon does somebody have to act?", "what is the urgency?", "how pressing is it?", "when must this be dealt with?"]
ASK_FRUSTRATION = ["how frustrated is the user?", "rate the frustration", "how angry is the user?", "how upset is the writer?",
                   "how frustrated is the writer?", "how annoyed does the customer sound?", "what is the mood of the message?", "how unhappy is the sender?"]

LEVELS_URGENCY = [
    [("none", ""), ("low", ""), ("medium", ""), ("high", "")],
    [("none", "can wait, no date"), ("low", "some day this week"), ("medium", "today"), ("high", "right now, damage is going on")],
    [("no rush", "nothing depends on it"), ("soon", "within days"), ("urgent", "within hours"), ("critical", "immediately")],
    [("whenever", ""), ("this week", ""), ("today", ""), ("now", "")],
    [("can wait", ""), ("this week", ""), ("today", ""), ("immediately", "")],
    [("none", "no date, nothing depends on it"), ("low", "within days or a week"), ("medium", "today, within hours"), ("high", "at once, harm is being done")],
    [("not urgent", ""), ("somewhat urgent", ""), ("urgent", ""), ("emergency", "")],
    [("0", "someday"), ("1", "in the next days"), ("2", "before the day is over"), ("3", "drop everything")],
    [("low", "no pressure at all"), ("normal", "to be done soon, not today"), ("high", "a deadline within hours or somebody is blocked"), ("critical", "danger, loss or outage at this moment")],
    [("p4", "no deadline"), ("p3", "within the week"), ("p2", "blocks work today"), ("p1", "outage or emergency, act now")],
]

LEVELS_FRUSTRATION = [
    [("none", ""), ("low", ""), ("medium", ""), ("high", "")],
    [("calm", "friendly, neutral or thankful"), ("slightly annoyed", "a mild complaint"),
     ("annoyed", "clearly unhappy, it failed again"), ("furious", "angry, insulting or threatening to leave")],
    [("calm", ""), ("uneasy", ""), ("upset", ""), ("angry", "")],
    [("not at all", ""), ("a little", ""), ("quite", ""), ("very much", "")],
    [("none", "content, friendly or neutral"), ("slight", "a bit disappointed or puzzled"), ("clear", "annoyed, has lost patience"), ("extreme", "furious, insults or threats")],
    [("relaxed", "no complaint"), ("impatient", "polite but let down"), ("irritated", "fed up, repeated trouble"), ("enraged", "shouting, threatening")],
    [("0", "happy or neutral"), ("1", "mildly dissatisfied"), ("2", "frustrated"), ("3", "outraged")],
    [("positive or neutral", ""), ("slightly negative", ""), ("negative", ""), ("hostile", "")],
    [("satisfied or neutral", ""), ("a little unhappy", ""), ("frustrated", ""), ("very angry", "")],
]

KNOWLEDGE = [
    "what is the capital of {c}", "explain what {w} means", "tell me a joke", "write a short poem about {w}", "hello there",
    "thanks , that is all", "what is 2 plus 2", "who wrote hamlet", "how do you spell {w}", "give me a synonym of {w}",
    "summarize what you just said", "what do you think about {w}", "translate hello into french", "why is the sky blue",
    "good morning", "can you rephrase that", "what is the difference between {w} and {v}", "give me ideas for a {w} party",
    "how are you", "what can you do", "ok", "that makes sense", "you are funny", "define {w}", "is {w} a noun or a verb",
]

ACKNOWLEDGE = [
    "sure", "done", "ok , i will do that", "here you go", "let me check", "i have found it", "what else can i do for you ?",
    "could you give me the number ?", "that is finished", "sorry , that did not work", "you are welcome", "one moment please",
    "i am afraid i cannot do that", "it is all set", "your request was sent", "anything else ?",
]

SYSTEM_LINES = [
    "you are a helpful assistant", "you are the support agent of a shop", "answer briefly and politely", "you are a coding agent",
    "today is tuesday", "you help customers of a bank", "follow the rules of the company", "be concise",
]

NAMES = "john mary anna bob li omar sara ivan kate paul nina tom emma raj leo eva".split()
CITIES = "london paris tokyo berlin madrid new_york chicago rome oslo boston sydney cairo delhi dallas miami".split()
DAYS = "monday tuesday friday sunday tomorrow today next_week tonight june_5 march_12 next_month".split()
UNITS = "5 units|10 meters|3 hours|20 percent|1000 dollars|7 days|25 degrees|4 and 6|12 kilometers|the year 2010".split("|")

ABOUT = [
    "{w}", "{w}", "it's about {w}", "I have a question about {w}", "{w}, please", "what about {w}", "help with {w}", "my {w}",
    "can you help me with {w}", "I need {w}", "there is something with {w}", "problem : {w}", "{w} and {v}", "{w} or {v}", "tell me about {w}",
    "I was asking about {w} yesterday", "{w} again", "where do I ask about {w}", "do you know anything about {w}", "first {v}, now {w}",
    "we are talking about {w}", "is {w} normal", "why {w}", "since monday {w}", "I am worried because of {w}", "{w} for my brother",
]

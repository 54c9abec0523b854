"""Phrases written by hand for training alone, in many wordings, from phrases.txt: levels of urgency and frustration,
who wants a human, what needs a tool, what needs a shell. And what the blocks of intents.txt are about."""
import os


def sections(name="phrases.txt"):
    out, lines = {}, None
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name)) as f:
        for line in f:
            line = line.rstrip("\n")
            if line.startswith("["):
                lines = out[line[1:-1]] = []
            elif lines is not None:
                lines.append(line)
    return out


ALL = sections()
URGENCY = [ALL["urgency %d" % i] for i in range(4)]
FRUSTRATION = [ALL["frustration %d" % i] for i in range(4)]
HUMAN, NOT_HUMAN = ALL["human"], ALL["not human"]
NEEDS_TOOL, NO_TOOL = ALL["needs tool"], ALL["no tool"]
SHELL, NO_SHELL = ALL["shell"], ALL["no shell"]

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

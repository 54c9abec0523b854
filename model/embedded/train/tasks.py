"""Generated training examples: dict(kind, state, q, opts, y, task).

kind is boolean, choice or score; state a text or a list of (role, text); opts a list of (name, description);
y the index of the right one. Wording, number and style of the options vary, so that a model reads them.
"""
import collections
import json
import random

from text import split_name
from words import *

MIX = dict(clinc=20, bank=10, domain=16, mixed=5, own=24, scope=30, shell=11, urgency=7, frustration=9, relevant=32, tool=10, family=26,
           roster=28, topic=8, lexicon=20, wordnet=6, go=3, tldr=7, overlap=1, human=9, need=7, hand=4)

STYLES = ["snake", "camel", "dot", "title", "kebab", "plain"]
TECHNICAL = ("files", "cloud", "network", "database", "code", "security")


def style(words, how):
    p = words.split()
    if how == "snake":
        return "_".join(p)
    if how == "camel":
        return p[0] + "".join(x.title() for x in p[1:])
    if how == "dot" and len(p) > 1:
        return p[-1] + "." + "_".join(p[:-1])
    return words.title() if how == "title" else "-".join(p) if how == "kebab" else words


class Generator:
    """An endless, seeded stream of examples. noise is the share of texts with typos, and of those with words left out."""

    def __init__(self, pools, seed, mix=None, noise=.18, hand=None):
        self.p, self.r, self.noise, self.hand = pools, random.Random(seed), noise, hand or []
        self.mix = dict(mix or MIX)
        self.clinc, self.bank = pools.clinc, pools.bank
        if not self.hand:
            self.mix["hand"] = 0
        self.keys = [k for k, w in self.mix.items() if w > 0]
        self.weights = [self.mix[k] for k in self.keys]
        self.messages = pools.messages
        self.label_names = [n for n, _ in pools.labels]
        self.intents = [n for f in pools.fields for n in f["intents"]]
        self.utterances = collections.defaultdict(list)
        for text, y in self.clinc + self.bank + [
                (t, n) for f in pools.fields for n, ts in f["intents"].items() for t in ts] + [(t, n) for n, ts in pools.labels for t in ts]:
            self.utterances[y].append(text)
        self.clinc_names = sorted({y for _, y in self.clinc})
        self.bank_names = sorted({y for _, y in self.bank})
        self.pages = collections.defaultdict(list)
        for page, d, c in pools.tldr:
            self.pages[page].append((d, c))
        self.page_names = sorted(self.pages)
        count = collections.Counter(w for _, gloss, _ in pools.wordnet for w in gloss.lower().split() if w.isalpha() and len(w) > 2)
        self.common = [w for w, _ in count.most_common(3000)]
        self.sentences = [e for _, _, es in pools.wordnet for e in es if len(e.split()) > 3]

    def one(self):
        e = getattr(self, "t_" + self.r.choices(self.keys, self.weights)[0])()
        e["state"] = self.lengthen(e)
        return e

    # parts

    def spoil(self, text):
        r = self.r
        words = text.split(" ")
        if r.random() < self.noise:
            for i, w in enumerate(words):
                if len(w) > 3 and r.random() < .15:
                    k = r.randrange(len(w) - 1)
                    words[i] = r.choice([w[:k] + w[k + 1:], w[:k] + w[k + 1] + w[k] + w[k + 2:], w[:k] + w[k] + w[k:]])
        if len(words) > 4 and r.random() < self.noise:
            words = [w for w in words if r.random() > .1] or words
        return " ".join(words)

    def lengthen(self, e):
        """Most states stay as they are; some become conversations, some are padded, a few up to 700 tokens."""
        r, text = self.r, self.spoil(e["state"])
        m = r.random()
        if e["task"] in ("overlap", "wordnet", "go") or m > .08:
            return text
        n = r.randint(1, 4) if m > .01 else r.randint(8, 26)
        if m % .005 < .003:  # a conversation; the last message decides
            turns = [("system", ". ".join(r.sample(SYSTEM_LINES, r.randint(1, 3))))] if r.random() < .4 else []
            for _ in range(n):
                turns.append(("user", r.choice(self.clinc)[0] if r.random() < .6 else r.choice(self.sentences)))
                turns.append(("assistant", r.choice(ACKNOWLEDGE) + (" . " + r.choice(self.sentences) if r.random() < .5 else "")))
            if r.random() < .2:
                turns.append(("tool", json.dumps({r.choice(self.common): r.choice(self.common) for _ in range(r.randint(1, 5))})))
            return turns + [("user", text)]
        filler = [r.choice(self.sentences) for _ in range(n)]
        at = r.choice([0, n, r.randint(0, n)])
        joint = r.choice([" . ", ". ", " ; "])
        return joint.join(filler[:at] + [text] + filler[at:])

    def count(self, most=26):
        r = self.r
        m = r.random()
        n = r.randint(2, 5) if m < .35 else r.randint(4, 10) if m < .8 else r.randint(8, 26) if m < .97 else r.randint(20, 64)
        return min(n, most)

    def pick(self, pool, y, n):
        """n distinct options with y among them, and its index."""
        o = {y: None}
        for _ in range(n * 6):
            if len(o) >= n:
                break
            o[self.r.choice(pool)] = None
        o = list(o)
        self.r.shuffle(o)
        return o, o.index(y)

    def ask(self, questions):
        return self.r.choice(questions) if self.r.random() < .92 else ""

    def choice(self, state, q, opts, y, task):
        return dict(kind="choice", state=state, q=q, opts=[tuple(o) for o in opts], y=y, task=task)

    def boolean(self, state, q, value, task):
        """Yes is option 0, as the engine has it; some name their two options otherwise or turn them round."""
        r = self.r
        o = [("yes", ""), ("no", "")] if r.random() < .85 else [("true", ""), ("false", "")]
        y = 0 if value else 1
        if r.random() < .2:
            o, y = o[::-1], 1 - y
        return dict(kind="boolean", state=state, q=q, opts=o, y=y, task=task)

    def names(self, names):
        """The same names in one of the styles that people use."""
        how = self.r.choice(STYLES) if self.r.random() < .35 else None
        return [style(" ".join(n.split("_")), how) if how else n for n in names]

    # intents

    def t_clinc(self):
        text, y = self.r.choice(self.clinc)
        return self.intent(text, y, self.clinc_names, self.count(64), "clinc")

    def t_bank(self):
        text, y = self.r.choice(self.bank)
        return self.intent(text, y, self.bank_names, self.count(64), "bank")

    def t_mixed(self):
        text, y = self.r.choice(self.clinc if self.r.random() < .5 else self.bank)
        return self.intent(text, y, self.clinc_names + self.bank_names, self.count(64), "mixed")

    def intent(self, text, y, pool, n, task):
        r = self.r
        o, i = self.pick(pool, y, n)
        described = [""] * len(o)
        if r.random() < .2 and n <= 12:  # an utterance of each as its description
            described = [r.choice(self.utterances[x]) for x in o]
            described = [("e.g. " if r.random() < .3 else "") + d if d != text else "" for d in described]
        return self.choice(text, self.ask(ASK_INTENT), zip(self.names(o), described), i, task)

    def t_own(self):
        """Intents written by hand, among their neighbours, among all, or among those of CLINC150 and banking77."""
        r = self.r
        if r.random() < .35:
            y, texts = r.choice(self.p.labels)
            return self.intent(r.choice(texts), y, self.label_names if r.random() < .7 else self.label_names + self.clinc_names + self.bank_names, self.count(64), "own")
        field = r.choice(self.p.fields)["intents"]
        y = r.choice(list(field))
        text = r.choice(field[y])
        if r.random() < .15:
            text = r.choice(["hi , ", "hello . ", "excuse me , ", "so , ", "hey , "]) + text
        pool = r.choice([list(field), list(field), self.intents, self.intents + self.clinc_names, self.intents + self.bank_names])
        return self.intent(text, y, pool, self.count(min(64, len(pool))), "own")

    def t_domain(self):
        r = self.r
        text, d = self.inside()
        o, i = self.pick(self.p.domains, d, r.choice([10, 10, 10, r.randint(2, 9)]))
        described = [""] * len(o)
        if r.random() < .25:
            members = {d: [n for n in self.clinc_names if self.p.domain[n] == d] for d in o}
            described = [", ".join(" ".join(n.split("_")) for n in r.sample(members[d], min(5, len(members[d])))) for d in o]
        return self.choice(text, self.ask(ASK_TOPIC), zip(self.names(o), described), i, "domain")

    def inside(self):
        """A text and which of CLINC150's domains it is of."""
        r = self.r
        if r.random() < .5:
            return r.choice(self.p.written)
        text, y = r.choice(self.clinc)
        return text, self.p.domain[y]

    # scope

    def t_scope(self):
        r, m, q = self.r, self.r.random(), self.r.choice(ASK_SCOPE)
        if m < .25:  # CLINC's own task: the ten domains, or a text of none of them
            listed, value = self.p.domains[:], r.random() < .5
            if r.random() < .5:
                r.shuffle(listed)
            text = self.inside()[0] if value else self.outside()
        elif m < .36:  # some of the domains
            (text, d), value = self.inside(), r.random() < .5
            listed = r.sample([z for z in self.p.domains if z != d], r.randint(1, 6))
            if value:
                listed[r.randrange(len(listed))] = d
        elif m < .46:  # intents: one that is left out of the list, among its neighbours of the same domain
            text, y = r.choice(self.clinc if r.random() < .65 else self.bank)
            near = [n for n in self.clinc_names if self.p.domain[n] == self.p.domain[y]] if y in self.p.domain else self.bank_names
            listed, value = [z for z in r.sample(near, min(r.randint(2, 10), len(near))) if z != y], r.random() < .5
            if value:
                listed[r.randrange(len(listed))] = y
        elif m < .52:  # fields of life, by a name or by what they handle
            y, n, value = r.randrange(len(self.p.fields)), r.randint(1, 4), r.random() < .5
            text = r.choice(r.choice(list(self.p.fields[y]["intents"].values())))
            chosen = r.sample([z for z in range(len(self.p.fields)) if z != y], min(n, len(self.p.fields) - 1))
            if value:
                chosen[r.randrange(len(chosen))] = y
            by = r.choice(["names", "descriptions", "descriptions"])
            listed = [r.choice(self.p.fields[z][by]) for z in chosen]
        elif m < .97:
            text, value, listed = self.within(r.choice(self.p.scopes if r.random() < .65 else self.p.rosters))
        else:
            topic, thing = r.choice(THINGS)
            text, value = self.request(r.choice(list(ACTIONS)), thing), r.random() < .5
            listed = r.sample([z for z in TOPICS if z != topic], r.randint(1, 8))
            if value:
                listed[r.randrange(len(listed))] = topic
        listed = r.choice([", ", ", ", " ; ", " , "]).join(" ".join(z.split("_")) for z in listed)
        return self.boolean(text, q + r.choice([" topics: ", " topics: ", " supported: ", " supported topics: "]) + listed, value, "scope")

    def within(self, scope):
        """A message for some of the options of a set, told by name or description, or one for none of them."""
        r = self.r
        options = scope["options"]
        y, value = r.randrange(len(options)), r.random() < .5
        shown = [z for i, z in enumerate(options) if i == y or r.random() < (.9 if r.random() < .7 else .5)]
        if value:
            text = r.choice(options[y][2])
        else:
            m = r.random()
            if m < .5 and scope["none"]:
                text = r.choice(scope["none"])
            elif m < .75 and len(shown) > 1:  # of one that is not listed
                shown.remove(options[y])
                text = r.choice(options[y][2])
            else:
                text = r.choice(self.messages["outside"]) if r.random() < .3 else self.elsewhere(scope)
        if r.random() < .5:
            r.shuffle(shown)
        by = r.random()
        return text, value, [n if by < .6 else d if by < .75 else n + " (" + d + ")" for n, d, _ in shown]

    def elsewhere(self, scope):
        """A message of another set."""
        r = self.r
        sets = self.p.scopes + self.p.rosters
        while True:
            other = r.choice(sets)
            if other is not scope:
                return r.choice(r.choice(other["options"])[2])

    def outside(self):
        """A text of none of CLINC's domains: of the hundred real ones, or written for it, most of the time."""
        r, m = self.r, self.r.random()
        if m < .3:
            return r.choice(self.p.oos)
        if m < .75:
            return r.choice(self.messages["outside"])
        if m < .8:
            return self.how(r.choice(self.p.tldr)[1])
        if m < .85:
            return r.choice(["what is ", "what does {} mean", "who invented ", "where do i find ", "why is there "]).replace("{}", "") + r.choice(r.choice(self.p.wordnet)[0])
        if m < .92:
            topic = r.choice(["science", "sports", "legal", "realestate", "movies", "pets", "news", "math", "code", "database"])
            return self.request(r.choice(["explain", "search", "compare", "recommend", "status"]), r.choice(TOPICS[topic]).split("|"))
        return r.choice(self.sentences)

    # tools

    def slot(self):
        r = self.r
        if r.random() < .5:
            return ""
        day = r.choice(DAYS).replace("_", " ")
        return r.choice([" for " + r.choice(NAMES), " in " + r.choice(CITIES).replace("_", " "), " on " + day, " before " + day,
                         " number %d" % r.randint(1, 9999), ' called "%s"' % r.choice(NAMES), " under %d dollars" % r.randint(5, 900),
                         " with %s and %s" % (r.choice(NAMES), r.choice(NAMES)), " with a value of " + r.choice(UNITS), " given " + r.choice(UNITS)])

    def request(self, action, thing):
        r = self.r
        text = r.choice(REQUESTS).format(v=r.choice(ACTIONS[action][1]), d=r.choice(["the ", "my ", "a ", "this ", "", "our "]), o=r.choice(thing))
        text += self.slot()
        if r.random() < .15:
            text += " " + r.choice(["thanks", "asap", "if you can", "as soon as possible", "it is important", "and let me know", "because i am busy"])
        if r.random() < .1:
            text = r.choice(["hi ", "hello there , ", "ok so ", "um ", "listen , "]) + text
        return text

    def parameters(self):
        r = self.r
        chosen = r.sample(PARAMETERS, r.randint(1, 3))
        if r.random() < .5:
            return ". parameters: " + ", ".join(chosen)
        props = {c.split(" ")[0]: {"type": c.split("(")[1].split(",")[0].rstrip(")")} for c in chosen}
        return " " + json.dumps({"type": "object", "properties": props} if r.random() < .5 else props)

    def tool(self, action, thing, how):
        r = self.r
        name = style(r.choice(ACTIONS[action][0]) + " " + r.choice(thing), how)
        if r.random() < .2:
            return name, ""
        v = r.choice(ACTIONS[action][0] + ACTIONS[action][1][:3])
        d = r.choice(DESCRIPTIONS).format(V=v, v=v, a=r.choice(["a ", "the ", ""]), o=r.choice(thing))
        if r.random() < .2:
            d += r.choice([" based on the given parameters", " given its id", " for a specific date", " in a given city", " , optionally with details",
                           ". note that the provided function is in python 3 syntax.", " from the database", " using the api of the provider"])
        if r.random() < .25:
            d += self.parameters()
        return name, d

    def tools(self, n):
        """An action on a thing, first in a list of others that share the action, the thing, the topic or nothing."""
        r = self.r
        action, (topic, thing) = r.choice(list(ACTIONS)), r.choice(THINGS)
        chosen = [(action, thing)]
        near = [o for t, o in THINGS if t == topic]
        for _ in range(n * 8):
            if len(chosen) >= n:
                break
            m = r.random()
            a = action if .3 <= m < .5 else r.choice(list(ACTIONS))
            o = thing if m < .3 else r.choice(near) if m < .65 and m >= .5 else r.choice(THINGS)[1]
            if (a, o) not in chosen:
                chosen.append((a, o))
        how = r.choice(STYLES)
        return action, thing, chosen, [self.tool(a, o, how) for a, o in chosen]

    def t_tool(self):
        r = self.r
        action, thing, _, tools = self.tools(self.count(16))
        order = list(range(len(tools)))
        r.shuffle(order)
        return self.choice(self.request(action, thing), self.ask(ASK_TOOL + ASK_INTENT[:3]), [tools[i] for i in order], order.index(0), "tool")

    def t_family(self):
        """A request for a tool written by hand, among its family and others."""
        r = self.r
        family = r.choice(self.p.tools)["options"]
        y = r.choice(family)
        others, m = [z for z in family if z is not y], r.random()
        if m < .6 and others:  # the family, or part of it
            chosen = [y] + r.sample(others, len(others) if r.random() < .6 else r.randint(min(1, len(others)), len(others)))
        else:  # with others
            chosen = [y] + (others if m < .8 else []) + r.sample([z for f in self.p.tools if f["options"] is not family for z in f["options"]], self.count(12))
        r.shuffle(chosen)
        how, m = r.choice(STYLES) if r.random() < .5 else None, r.random()
        return self.choice(r.choice(y[2]), self.ask(ASK_TOOL + ASK_INTENT[:3]),
                           [(style(split_name(n), how) if how else n, "" if m < .12 else d + (self.parameters() if m > .9 else "")) for n, d, _ in chosen], chosen.index(y), "family")

    def t_roster(self):
        """Queues, agents, topics and a message for one of them."""
        r = self.r
        every = self.p.rosters if r.random() < .7 else self.p.scopes
        roster = r.choice(every)["options"]
        y = r.choice(roster)
        chosen = [z for z in roster if z is y or r.random() < .9]
        if r.random() < .2:
            chosen += r.sample([z for b in every if b["options"] is not roster for z in b["options"]], r.randint(1, 6))
        if len(chosen) < 2:
            chosen = list(roster)
        r.shuffle(chosen)
        how, m = r.choice(STYLES) if r.random() < .4 else None, r.random()
        suffix = r.choice(["", "", "", " agent", " team", " queue", " desk", " bot"]) if how else ""
        opts = []
        for n, d, texts in chosen:
            if m < .2:
                d = ""
            elif m > .93:
                d = "e.g. " + r.choice(texts) if n != y[0] else d
            opts.append((style(split_name(n) + suffix, how) if how else n, d))
        text = r.choice(y[2])
        if r.random() < .1:
            text = r.choice(["hi , ", "hello . ", "dear all , ", "good morning , ", "hey "]) + text + r.choice(["", " thanks", " regards , " + r.choice(NAMES)])
        return self.choice(text, self.ask(ASK_TOPIC + ASK_ROUTE), opts, chosen.index(y), "roster")

    def t_relevant(self):
        """Is a tool there for it? Half of the negatives share the thing, the action or words with a tool."""
        r, m, value = self.r, self.r.random(), self.r.random() < .5
        if m < .1 and len(self.p.go) > 9:  # functions of a library
            n = r.randint(1, 5)
            chosen = r.sample(self.p.go, n + 1)
            shown = chosen[:n]
            text = r.choice(["", "i need a function to ", "find code that "]) + (r.choice(shown) if value else chosen[n])[1]
            tools = [(a, "" if r.random() < .15 else d[:100]) for a, d in shown]
        elif m < .72:  # tools written by hand
            text, shown = self.served() if value else self.unserved()
            r.shuffle(shown)
            tools = [(n, (d + (self.parameters() if r.random() < .2 else "")) if r.random() < .95 else "") for n, d, _ in shown]
        elif m < .8:  # intents as tools
            text, y = r.choice(self.clinc if r.random() < .6 else self.bank)
            near = self.clinc_names if y in self.p.domain else self.bank_names
            names = [z for z in r.sample(near, r.randint(2, 7)) if z != y]
            if value:
                names[r.randrange(len(names))] = y
            tools = [(n, r.choice(self.utterances[n]) if r.random() < .3 else "") for n in names]
        else:
            action, thing, chosen, tools = self.tools(r.randint(1, 6))
            r.shuffle(tools)
            text = self.request(action, thing)
            if not value:
                for _ in range(20):  # the same thing with another action, or the same action on another thing, or neither
                    k = r.random()
                    a = r.choice(list(ACTIONS)) if k < .45 or k > .7 else action
                    o = thing if k < .45 else r.choice(THINGS)[1]
                    if all((a, o) != z for z in chosen) and not (o is thing and a in ("list", "search", "status", "explain")):
                        break
                text = self.request(a, o) if r.random() < .85 else r.choice(self.clinc)[0]
        listed = r.choice([" ; ", " ; ", ", ", " | "]).join((" ".join(style(n, "plain").replace("_", " ").split()) if r.random() < .5 else n) + (" : " + d if d else "") for n, d in tools)
        return self.boolean(text, r.choice(ASK_RELEVANT) + " tools: " + listed, value, "relevant")

    def served(self):
        """A request and tools of which one serves it."""
        r = self.r
        family = r.choice(self.p.tools)
        y = r.choice(family["options"])
        return r.choice(y[2]), [y] + self.beside(family, y)[:self.few() - 1]

    def unserved(self):
        """A request and tools that none of serves it: written as such, or of a tool that is left out, or of another family."""
        r, m = self.r, self.r.random()
        family = r.choice(self.p.tools)
        y = r.choice(family["options"])
        if family["none"] and m < .6:
            return r.choice(family["none"]), ([y] + self.beside(family, y))[:self.few()]
        beside = self.beside(family, y)
        if m < .82 and beside:
            return r.choice(y[2]), beside[:self.few()]
        other = r.choice([f for f in self.p.tools if f is not family])
        return r.choice(r.choice(other["options"])[2]), ([y] + self.beside(family, y, other))[:self.few()]

    def few(self):
        return self.r.choice([1, 1, 2, 3, 4, 6, 6, 9])

    def beside(self, family, y, without=None):
        """Most of the other tools of a family, sometimes with others, which are not of the family without."""
        r = self.r
        out = [z for z in family["options"] if z is not y and r.random() < .7]
        if r.random() < .25:
            out += r.sample([z for f in self.p.tools if f is not family and f is not without for z in f["options"]], r.randint(1, 5))
        r.shuffle(out)
        return out

    def t_topic(self):
        r = self.r
        if r.random() < .45:
            return self.field()
        topic, thing = r.choice(THINGS)
        topics, i = self.pick(list(TOPICS), topic, self.count(20))
        suffix, described = r.choice(["", "", " agent", " team", " queue", " specialist"]), r.random() < .65
        opts = []
        for t in topics:
            things = [r.choice(g.split("|")) for g in r.sample(TOPICS[t], min(len(TOPICS[t]), r.randint(2, 5)))]
            lead = r.choice(["handles ", "questions about ", "", "", "takes care of ", "everything around "])
            opts.append((style(t + suffix, r.choice(["plain", "snake", "title"])), lead + ", ".join(things) if described else ""))
        return self.choice(self.request(r.choice(list(ACTIONS)), thing), self.ask(ASK_TOPIC), opts, i, "topic")

    def t_lexicon(self):
        """To which topic do some words belong? The words of the lexicon stand for whole messages."""
        r = self.r
        every = self.p.lexicon
        y = r.randrange(len(every))
        w, v = r.sample(every[y][2], 2)
        text = r.choice(ABOUT).format(w=w, v=v)
        if r.random() < .25:
            text = r.choice([" ", ", ", " and "]).join(r.sample(every[y][2], r.randint(2, 4)))
        own = {x for n in every[y][0] for x in n.lower().split()}
        chosen, _ = self.pick(range(len(every)), y, self.count(40))
        chosen = [z for z in chosen if z == y or not own & {x for n in every[z][0] for x in n.lower().split()}]  # else hardly another topic
        if len(chosen) < 2:
            return self.field()
        i = chosen.index(y)
        if r.random() < .15:  # asked as yes or no
            value = r.random() < .5
            listed = [every[z] for z in chosen if z != y][:r.randint(1, 6)]
            if value:
                listed[r.randrange(len(listed))] = every[y]
            by = r.random() < .5
            return self.boolean(text, r.choice(ASK_SCOPE) + r.choice([" topics: ", " supported: "]) + ", ".join(z[1] if by else r.choice(z[0]) for z in listed), value, "scope")
        suffix, m = r.choice(["", "", "", " agent", " team", " queue", " bot", " desk"]), r.random()
        opts = []
        for z in chosen:
            names, d, words = every[z]
            name = r.choice(names) + suffix
            if m < .4:
                d = ""
            elif m > .8:
                d = r.choice(["", "handles ", "e.g. "]) + ", ".join(r.sample([x for x in words if x not in (w, v)], 3))
            opts.append((name, d))
        how = r.choice(["plain", "plain", "snake", "title", "camel"])
        return self.choice(text, self.ask(ASK_TOPIC + ASK_INTENT[:3]), [(style(n, how), d) for n, d in opts], i, "lexicon")

    def field(self):
        """Which field of life: named, described, or told by some of its intents."""
        r = self.r
        fields = self.p.fields
        y = r.randrange(len(fields))
        text = r.choice(r.choice(list(fields[y]["intents"].values())))
        chosen, i = self.pick(range(len(fields)), y, min(self.count(), len(fields)))
        suffix, m = r.choice(["", "", " agent", " team", " queue", " desk"]), r.random()
        opts = []
        for z in chosen:
            d = "" if m < .3 else r.choice(fields[z]["descriptions"]) if m < .65 else ", ".join(" ".join(n.split("_")) for n in r.sample(list(fields[z]["intents"]), min(4, len(fields[z]["intents"]))))
            opts.append((style(r.choice(fields[z]["names"]) + suffix, r.choice(["plain", "snake", "title"])), d))
        return self.choice(text, self.ask(ASK_TOPIC), opts, i, "topic")

    # words

    def t_wordnet(self):
        r, m = self.r, self.r.random()
        n = self.count(12)
        if r.random() < .3:  # what is it a kind of?
            chosen = r.sample(self.p.kinds, n)
            y = r.randrange(n)
            words, above = chosen[y]
            opts = [r.choice(z[1]) for z in chosen]
            opts[y] = r.choice(above[:3])
            if not any(o in above for i, o in enumerate(opts) if i != y):
                return self.choice(r.choice(words), r.choice(["what kind of thing is it?", "which word covers it?", "what is it?", "which class does it belong to?"]),
                                   [(o, "") for o in opts], y, "wordnet")
        chosen = r.sample(self.p.wordnet, n)
        y = r.randrange(n)
        words, gloss, examples = chosen[y]
        one = [r.choice(z[0]) for z in chosen]
        if m < .25:
            return self.choice(r.choice(words), r.choice(ASK_MEANING), [(str(i + 1), z[1]) for i, z in enumerate(chosen)], y, "wordnet")
        if m < .5 and examples:
            described = r.random() < .5
            return self.choice(r.choice(examples), r.choice(["which word is used here?", "what is it about?", "which fits best?"]),
                               [(w, z[1] if described else "") for w, z in zip(one, chosen)], y, "wordnet")
        if m < .75 and len(words) > 1:
            a, b = r.sample(words, 2)
            one[y] = b
            return self.choice(a, r.choice(["which means the same?", "which is a synonym?"]), [(w, "") for w in one], y, "wordnet")
        return self.choice(gloss, r.choice(ASK_WORD), [(w, "") for w in one], y, "wordnet")

    def t_go(self):
        r = self.r
        n = self.count(10)
        chosen = r.sample(self.p.go, n)
        y = r.randrange(n)
        name, d = chosen[y]
        if r.random() < .6:
            return self.choice(r.choice(["", "i need a function that ", "which call ", "find code that "]) + d, self.ask(ASK_TOOL),
                               [(z[0], "") for z in chosen], y, "go")
        return self.choice(r.choice(["what does %s do", "%s"]) % name, r.choice(ASK_MEANING), [(str(i + 1), z[1]) for i, z in enumerate(chosen)], y, "go")

    def how(self, d):
        d = d[0].lower() + d[1:]
        return self.r.choice(["{}", "how do i {}", "please {}", "can you {}", "i want to {}", "i need to {}", "run a command to {}",
                              "{} on this machine", "help me {}", "what is the way to {}"]).format(d)

    def t_tldr(self):
        r, m = self.r, self.r.random()
        n = self.count(10)
        if m < .4:
            page = r.choice(self.page_names)
            pages, i = self.pick(self.page_names, page, n)
            d = r.choice(self.pages[page])[0]
            opts = [(p, r.choice([x for x, _ in self.pages[p] if x != d] or [""])) for p in pages]
            return self.choice(self.how(d), self.ask(ASK_PROGRAM + ASK_TOOL), opts, i, "tldr")
        chosen = r.sample(self.p.tldr, n)
        if r.random() < .3:
            page = r.choice(self.page_names)
            chosen = ([(page,) + z for z in self.pages[page]] + chosen)[:max(n, 2)]
        y = r.randrange(len(chosen))
        if m < .75:
            named = r.random() < .5
            return self.choice(self.how(chosen[y][1]), self.ask(ASK_COMMAND),
                               [(z[0] if named else z[2], z[2][:120] if named else "") for z in chosen], y, "tldr")
        return self.choice(chosen[y][2][:120], self.ask(["what does the command do?"] + ASK_MEANING), [(z[1][:90], "") for z in chosen], y, "tldr")

    def t_overlap(self):
        """Which option shares a word with the state?"""
        r = self.r
        n = self.count(12)

        def words(k):
            return [r.choice(r.choice(self.p.wordnet)[0]) for _ in range(k)]
        opts = [words(r.randint(1, 3)) for _ in range(n)]
        y = r.randrange(n)
        state = words(r.randint(1, 8))
        state.insert(r.randint(0, len(state)), r.choice(opts[y]))
        return self.choice(" ".join(state), self.ask(["which shares a word?", "which matches?"] + ASK_INTENT),
                           [(" ".join(o), "") if r.random() < .7 else (o[0], " ".join(o[1:])) for o in opts], y, "overlap")

    def t_boot(self):
        """The shortest form of it: single common words."""
        r = self.r
        opts = r.sample(self.common, r.randint(2, 4))
        y = r.randrange(len(opts))
        state = [r.choice(self.common) for _ in range(r.randint(0, 3))]
        state.insert(r.randint(0, len(state)), opts[y])
        return self.choice(" ".join(state), "", [(o, "") for o in opts], y, "overlap")

    # booleans and scores

    def t_shell(self):
        r, value, m = self.r, self.r.random() < .5, self.r.random()
        if r.random() < .5:
            text = r.choice(self.messages["shell" if value else "noshell"])
        elif value:
            text = self.how(r.choice(self.p.tldr)[1])
        elif m < .4:
            text = r.choice(self.clinc)[0] if r.random() < .6 else r.choice(self.bank)[0]
        elif m < .6:
            text = self.request(r.choice(list(ACTIONS)), r.choice([o for t, o in THINGS if t not in TECHNICAL]))
        elif m < .75:  # in the style of a how-to, about no machine
            words, gloss, examples = r.choice(self.p.wordnet)
            text = self.how(r.choice(["explain what %s means", "find a word for %s", "use %s in a sentence", "describe %s in general"]) % r.choice(words))
        elif m < .9:  # about programs, but only asked to explain
            page = r.choice(self.page_names)
            text = r.choice(["what is {} good for in general", "explain the idea behind {}", "who wrote {}", "is {} better than {}",
                             "what does the name {} stand for", "when was {} first released"]).replace("{}", page, 1).replace("{}", r.choice(self.page_names))
        else:
            text = r.choice(KNOWLEDGE).format(c=r.choice(CITIES).replace("_", " "), w=r.choice(self.common), v=r.choice(self.common))
        return self.boolean(text, r.choice(ASK_SHELL), value, "shell")

    def t_human(self):
        r, value = self.r, self.r.random() < .5
        if value:
            text = r.choice(self.messages["human"])
            if r.random() < .3:
                other = r.choice([r.choice(self.bank)[0], r.choice(self.clinc)[0], self.request(r.choice(list(ACTIONS)), r.choice(THINGS)[1])])
                text = r.choice([text + " . " + other, other + " . " + text, text + " about this : " + other])
        else:
            text = r.choice(self.messages["nothuman"]) if r.random() < .65 else self.anything()
            if r.random() < .15:
                text = r.choice(self.messages["frustration%d" % r.randint(1, 3)]) + " . " + text
        return self.boolean(text, r.choice(ASK_HUMAN), value, "human")

    def t_need(self):
        r, value = self.r, self.r.random() < .5
        if r.random() < .7:
            text = r.choice(self.messages["tool" if value else "notool"])
        elif value:
            text = r.choice([self.request(r.choice([a for a in ACTIONS if a not in ("explain", "translate", "summarize", "recommend")]), r.choice(THINGS)[1]),
                             self.how(r.choice(self.p.tldr)[1])])
        else:
            text = r.choice(KNOWLEDGE).format(c=r.choice(CITIES).replace("_", " "), w=r.choice(self.common), v=r.choice(self.common))
        return self.boolean(text, r.choice(ASK_NEED), value, "need")

    def anything(self):
        """What people write, of no matter what."""
        r, m = self.r, self.r.random()
        if m < .35:
            return r.choice(self.clinc if r.random() < .6 else self.bank)[0]
        if m < .85:
            return r.choice(r.choice(r.choice(self.p.rosters if r.random() < .5 else self.p.scopes)["options"])[2])
        return self.request(r.choice(list(ACTIONS)), r.choice(THINGS)[1])

    def t_urgency(self):
        return self.level(LEVELS_URGENCY, ASK_URGENCY, "is the message urgent?", "urgency")

    def t_frustration(self):
        return self.level(LEVELS_FRUSTRATION, ASK_FRUSTRATION, "is the user frustrated?", "frustration")

    def level(self, levels, questions, yes, task):
        r, y = self.r, self.r.randrange(4)
        text = r.choice(self.messages["%s%d" % (task, y)])
        m = r.random()
        if m < .15:
            text = r.choice(["{} . {}", "{1} . {0}", "{} , {}", "{}\n{}"]).replace("{}", "{0}", 1).replace("{}", "{1}", 1).format(text, r.choice(self.clinc if r.random() < .6 else self.bank)[0])
        elif m < .3 and y == 0 and task == "frustration":
            text = r.choice(self.clinc if r.random() < .6 else self.bank)[0]
        text += r.choice(["!", "!!", "...", ".", "?"]) if r.random() < .1 else ""
        if r.random() < .3:
            return self.boolean(text, yes, y >= 2, task)
        return dict(kind="score", state=text, q=r.choice(questions), opts=r.choice(levels), y=y, task=task)

    # rows written by hand

    def t_hand(self):
        e = dict(self.r.choice(self.hand))
        if e["kind"] == "choice":
            order = list(range(len(e["opts"])))
            self.r.shuffle(order)
            e["opts"], e["y"] = [e["opts"][i] for i in order], order.index(e["y"])
        return e


if __name__ == "__main__":
    import time

    from pools import Pools
    g, t, shown = Generator(Pools(), 3, dict(MIX, hand=0)), time.time(), collections.Counter()
    examples = [g.one() for _ in range(3000)]
    print("%.0f us an example" % ((time.time() - t) / 3000 * 1e6))
    for e in examples:
        shown[e["task"]] += 1
        if shown[e["task"]] <= 3:
            print(e["task"], "|", str(e["state"])[:200], "|", e["q"][:200], "|", [a + (" : " + b if b else "") for a, b in e["opts"]][:5], e["y"])

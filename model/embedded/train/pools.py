"""Raw material from public sets, with the split rules. Reads no test split.

CLINC150: train and validation without every fifth intent by sorted name (texts and names); banking77: train;
tldr: without every fifth page by MD5; WordNet glosses and synonyms; sentences of Go's documentation; and what was
written by hand (written/), of which every tenth block, or line of a label, is kept for development.
"""
import collections
import copy
import glob
import gzip
import hashlib
import json
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
DATA = os.environ.get("HOTPATH_DATA", "../../../../shared/data")


def rows(name):
    with gzip.open(os.path.join(DATA, "decisions", name + ".jsonl.gz"), "rt") as f:
        return [json.loads(line) for line in f]


def page_hash(page):
    return int(hashlib.md5(page.encode()).hexdigest(), 16)


def held_out(names):
    """Every fifth intent by sorted name: never trained on."""
    return sorted(names)[4::5]


def plain_command(c):
    return re.sub(r"\{\{(?:\[[^\]|]*\|)?(.*?)\]?\}\}", r"\1", c)


def plain_description(d):
    return re.sub(r"`", "", re.sub(r"\[(\w)\]", r"\1", d))


def tldr():
    out = {"train": [], "dev": [], "test": []}
    for r in rows("tldr_commands"):
        h = page_hash(r["page"])
        part = "test" if h % 5 == 0 else "dev" if h % 50 == 1 else "train"
        out[part].append((r["page"], plain_description(r["description"]), plain_command(r["command"])))
    return out


def wordnet(folder="/usr/share/wordnet"):
    """Synsets whose words are common: (words, gloss, example sentences), and (words, what they are kinds of, nearest first)."""
    count, synsets = collections.Counter(), {}
    for part in ("noun", "verb", "adj", "adv"):
        with open(os.path.join(folder, "data." + part)) as f:
            for line in f:
                if line.startswith("  "):
                    continue
                head, gloss = line.rstrip().split("|", 1)
                h = head.split()
                n = int(h[3], 16)
                words = [re.sub(r"\(.*\)", "", h[4 + 2 * i]).replace("_", " ").lower() for i in range(n)]
                above = [h[i + 1] for i in range(5 + 2 * n, len(h) - 3) if h[i] == "@" and part == "noun"]
                examples = re.findall(r'"([^"]+)"', gloss)
                definition = re.split(r';\s*"', gloss)[0].strip().strip(";")
                count.update(re.findall("[a-z]+", gloss.lower()))
                synsets[part + h[0]] = (words, definition, examples, above)
    common = {k: [w for w in s[0] if all(count[x] >= 12 for x in re.findall("[a-z]+", w))] for k, s in synsets.items()}
    out, kinds = [], []
    for k, (_, definition, examples, above) in synsets.items():
        if not common[k] or re.search(r"\d{4}|genus|family", definition):
            continue
        out.append((common[k], definition[:160], examples[:2]))
        chain = []
        while above and len(chain) < 4:
            if common["noun" + above[0]]:
                chain.append(common["noun" + above[0]][0])
            above = synsets["noun" + above[0]][3]
        if chain:
            kinds.append((common[k], chain))
    return out, kinds


def blocks(name):
    """Blocks of lines of a written file, each line split at its bars; lines with % are comments."""
    with open(os.path.join(HERE, "written", name + ".txt")) as f:
        text = "".join(line for line in f if not line.startswith("%")).strip()
    return [[line.rstrip().split("|") for line in b.splitlines() if line.strip()] for b in re.split(r"\n\s*\n", text)]


def fields(held):
    """Fields of life: dict(names, descriptions, intents: name -> utterances) without the intents in held."""
    out = []
    for head, *rows in blocks("intents"):
        names, *descriptions = (x.strip() for x in head)
        intents = {p[0]: p[1:] for p in rows if "_".join(p[0].lower().split()) not in held}
        out.append(dict(names=[n.strip() for n in names.lstrip("# ").split(",")], descriptions=descriptions, intents=intents))
    return out


def labels(held):
    """(name, messages): single intents of everything."""
    return [(p[0], p[1:]) for b in blocks("labels") for p in b if p[0] not in held]


def by_domain(held):
    """(text, CLINC150's domain) of further intents written for its ten domains."""
    return [(text, p[0]) for b in blocks("domains") for p in b if p[1] not in held for text in p[2:]]


def lists(name):
    """Sets of options, of tools, rosters or scopes: dict(options: (name, description, messages), none: messages for none of them)."""
    return [dict(options=[(p[0], p[1], p[2:]) for p in b if p[0] != "!"], none=[x for p in b if p[0] == "!" for x in p[1:]]) for b in blocks(name)]


def messages():
    """label -> texts."""
    out = collections.defaultdict(list)
    for b in blocks("lines"):
        for label, text in b:
            out[label].append(text)
    return dict(out)


def lexicon():
    """Topics: (names, description, words)."""
    return [(names.split(","), description, [w.strip() for w in dict.fromkeys(words.split(",")) if w.strip()]) for b in blocks("lexicon") for names, description, words in b]


def parts(items):
    """Every tenth for development, the rest for training."""
    return [x for i, x in enumerate(items) if i % 10 != 7], [x for i, x in enumerate(items) if i % 10 == 7]


def go_docs(root="/usr/local/go/src"):
    """(function name, first sentence) of exported functions."""
    out = set()
    for path in glob.glob(root + "/**/*.go", recursive=True):
        if path.endswith("_test.go") or "/vendor/" in path or "/testdata/" in path:
            continue
        with open(path, errors="ignore") as f:
            for m in re.finditer(r"((?://[^\n]*\n)+)func (?:\([^)]*\) )?([A-Z]\w+)\(", f.read()):
                text, name = " ".join(x.strip("/ \t") for x in m.group(1).splitlines()), m.group(2)
                if text.startswith(name + " "):
                    text = text[len(name) + 1:].split(". ")[0][:220].rstrip(".")
                    if len(text) > 20:
                        out.add((name, text))
    return sorted(out)


class Pools:
    """All raw material; of what was written by hand the training part. dev() has the other part in its place."""

    def __init__(self):
        with open(os.path.join(DATA, "decisions", "options.json")) as f:
            names = sorted(json.load(f)["clinc_intents"])
        with gzip.open(os.path.join(DATA, "clinc150", "domains.json.gz"), "rt") as f:
            domains = json.load(f)
        with gzip.open(os.path.join(DATA, "clinc150", "data_full.json.gz"), "rt") as f:
            full = json.load(f)
        self.held = held_out(names)
        self.names = [n for n in names if n not in self.held]
        self.domain = {i: d for d, members in domains.items() for i in members}
        self.domains = sorted(domains)
        self.clinc = [(t, y) for t, y in full["train"] if y not in self.held]
        self.clinc_dev = [(t, y) for t, y in full["val"] if y not in self.held]
        self.oos = [t for t, _ in full["oos_train"]]
        self.oos_dev = [t for t, _ in full["oos_val"]]
        self.bank = [(r["input"], r["label"]) for r in rows("banking77_train")]
        self.bank_names = sorted({y for _, y in self.bank})
        commands = tldr()
        self.tldr, self.tldr_dev = commands["train"], commands["dev"]
        self.lexicon, self.go = lexicon(), go_docs()
        self.wordnet, self.kinds = wordnet()
        self.fields, fields_dev = parts(fields(self.held))
        self.labels, labels_dev = parts(labels(self.held))
        self.written, written_dev = parts(by_domain(self.held))
        self.tools, tools_dev = parts(lists("tools"))
        self.rosters, rosters_dev = parts(lists("rosters"))
        self.scopes, scopes_dev = parts(lists("scopes"))
        lines = {k: parts(v) for k, v in messages().items()}
        self.messages = {k: v[0] for k, v in lines.items()}
        self.kept = dict(fields=fields_dev, labels=labels_dev, written=written_dev, tools=tools_dev, rosters=rosters_dev, scopes=scopes_dev, messages={k: v[1] for k, v in lines.items()})

    def dev(self):
        out = copy.copy(self)
        vars(out).update(self.kept)
        return out

    def counts(self):
        out = {k: len(v) for k, v in vars(self).items() if isinstance(v, list)}
        out.update(intents=sum(len(f["intents"]) for f in self.fields), utterances=sum(len(u) for f in self.fields for u in f["intents"].values()))
        for k in ("tools", "rosters", "scopes"):
            out[k + " messages"] = sum(len(m) for b in getattr(self, k) for _, _, m in b["options"]) + sum(len(b["none"]) for b in getattr(self, k))
        return dict(out, messages={k: len(v) for k, v in self.messages.items()})


if __name__ == "__main__":
    print(Pools().counts())

"""Raw material from public sets, with the split rules. Reads no test split.

CLINC150: train and validation without every fifth intent by sorted name (texts and names); banking77: train;
tldr: without every fifth page by MD5; WordNet glosses and synonyms; sentences of Go's documentation.
Twelve CLINC150 and seven banking77 intents (DEV_*) are left out of the first stage of training as well:
the evidence weight and the temperatures for unseen intents are fitted on them.
"""
import collections
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
    """(words, gloss, example sentences) of synsets whose words are common."""
    count, synsets = collections.Counter(), []
    for part in ("noun", "verb", "adj", "adv"):
        with open(os.path.join(folder, "data." + part)) as f:
            for line in f:
                if line.startswith("  "):
                    continue
                head, gloss = line.rstrip().split("|", 1)
                h = head.split()
                words = [re.sub(r"\(.*\)", "", h[4 + 2 * i]).replace("_", " ").lower() for i in range(int(h[3], 16))]
                examples = re.findall(r'"([^"]+)"', gloss)
                definition = re.split(r';\s*"', gloss)[0].strip().strip(";")
                count.update(re.findall("[a-z]+", gloss.lower()))
                synsets.append((words, definition, examples))
    out = []
    for words, definition, examples in synsets:
        words = [w for w in words if all(count[x] >= 12 for x in re.findall("[a-z]+", w))]
        if words and not re.search(r"\d{4}|genus|family", definition):
            out.append((words, definition[:160], examples[:2]))
    return out


def own_intents(held):
    """Fields of life, each a dict of intent name -> utterances: intents.txt without the names in held."""
    with open(os.path.join(HERE, "intents.txt")) as f:
        blocks = "".join(line for line in f if not line.startswith("#")).strip().split("\n\n")
    fields = [dict((p[0], p[1:]) for p in (line.split("|") for line in b.splitlines())) for b in blocks]
    return [{n: u for n, u in field.items() if n not in held} for field in fields]


def lines(name):
    with open(os.path.join(HERE, name)) as f:
        return [line.rstrip("\n") for line in f if not line.startswith("#")]


def lexicon():
    """Topics: (names, description, words)."""
    return [(a.split(","), b, c.split(",")) for a, b, c in (line.split("|") for line in lines("lexicon.txt"))]


def own_tools():
    """Families of (name, description, requests)."""
    blocks = "\n".join(lines("tools.txt")).strip().split("\n\n")
    return [[(p[0], p[1], p[2:]) for p in (line.split("|") for line in b.splitlines())] for b in blocks]


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
    """All raw material. Stage 1 leaves the development intents out."""

    def __init__(self):
        with open(os.path.join(DATA, "decisions", "options.json")) as f:
            names = sorted(json.load(f)["clinc_intents"])
        with gzip.open(os.path.join(DATA, "clinc150", "domains.json.gz"), "rt") as f:
            domains = json.load(f)
        with gzip.open(os.path.join(DATA, "clinc150", "data_full.json.gz"), "rt") as f:
            full = json.load(f)
        self.held = held_out(names)
        self.names = [n for n in names if n not in self.held]
        self.dev_names = self.names[3::10]
        self.domain = {i: d for d, members in domains.items() for i in members}
        self.domains = sorted(domains)
        self.clinc = [(t, y) for t, y in full["train"] if y not in self.held]
        self.clinc_dev = [(t, y) for t, y in full["val"] if y not in self.held]
        self.oos = [t for t, _ in full["oos_train"]]
        self.oos_dev = [t for t, _ in full["oos_val"]]
        self.bank = [(r["input"], r["label"]) for r in rows("banking77_train")]
        self.bank_names = sorted({y for _, y in self.bank})
        self.bank_dev_names = self.bank_names[5::11]
        self.own = own_intents(self.held)
        self.lexicon, self.tools = lexicon(), own_tools()
        commands = tldr()
        self.tldr, self.tldr_dev = commands["train"], commands["dev"]
        self.wordnet, self.go = wordnet(), go_docs()

    def counts(self):
        return {k: len(v) for k, v in vars(self).items() if isinstance(v, list)}


if __name__ == "__main__":
    print(Pools().counts())

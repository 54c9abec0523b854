"""How text becomes token ids: field preparation and the byte-level BPE of the shipped model.

The split into words is the one that engines call "qwen2", so that every engine which knows that name
gives the same ids. Fields are lower-cased with single spaces, and option names are parted into words,
as decide/declared.go does for a model that declares "words".
"""
import json

import regex

SPECIAL = ["<|pad|>", "<|bos|>", "<|end|>", "<|state|>", "<|system|>", "<|assistant|>", "<|tool|>",
           "<|question|>", "<|option|>", "<|mark|>", "<|yes|>"]
SPECIAL += ["<|reserved_%d|>" % i for i in range(16 - len(SPECIAL))]
PAD, BOS, END, STATE, SYSTEM, ASSISTANT, TOOL, QUESTION, OPTION, MARK, YES = range(11)
ROLES = {"user": STATE, "system": SYSTEM, "assistant": ASSISTANT, "tool": TOOL}

QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
         r"|\s*[\r\n]+|\s+(?!\S)|\s+")
SPLIT = regex.compile(QWEN2)


def plain(s):
    """Lower case, single spaces."""
    return " ".join(s.split()).lower()


def split_name(s):
    """Parts a name into words: credit_score, getWeather, HTTPServer, a.b."""
    out = []
    for i, r in enumerate(s):
        if r in "_.-/":
            r = " "
        elif i and r.isupper():
            before, after = s[i - 1], s[i + 1] if i + 1 < len(s) else ""
            if before.islower() or before.isdigit() or (before.isupper() and after.islower()):
                out.append(" ")
        out.append(r)
    return plain("".join(out))


def byte_alphabet():
    """The usual printable stand-ins for the 256 bytes."""
    keep = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table, n = {b: chr(b) for b in keep}, 0
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + n)
            n += 1
    return table


class Tokenizer:
    """Byte-level BPE. Pieces are latin-1 strings, one character a byte."""

    def __init__(self, path):
        with open(path) as f:
            self.merges = [tuple(m) for m in json.load(f)["merges"]]
        self.rank = {m: i for i, m in enumerate(self.merges)}
        base = len(SPECIAL)
        self.vocab = {chr(b): base + b for b in range(256)}
        for i, (a, b) in enumerate(self.merges):
            self.vocab[a + b] = base + 256 + i
        self.size = base + 256 + len(self.merges)
        self.pieces = {i: p for p, i in self.vocab.items()}
        self.cache = {}

    def word(self, w):
        """The ids of one word of the split."""
        ids = self.cache.get(w)
        if ids is not None:
            return ids
        p = [chr(b) for b in w.encode()]
        while len(p) > 1:
            best = min(range(len(p) - 1), key=lambda i: self.rank.get((p[i], p[i + 1]), 1 << 30))
            if (p[best], p[best + 1]) not in self.rank:
                break
            a, b = p[best], p[best + 1]
            q, i = [], 0
            while i < len(p):
                if i < len(p) - 1 and p[i] == a and p[i + 1] == b:
                    q.append(a + b)
                    i += 2
                else:
                    q.append(p[i])
                    i += 1
            p = q
        ids = [self.vocab[x] for x in p]
        if len(self.cache) < 300000:
            self.cache[w] = ids
        return ids

    def encode(self, s):
        return [i for w in SPLIT.findall(s) for i in self.word(w)]

    def decode(self, ids):
        return "".join(self.pieces.get(i) or SPECIAL[i] for i in ids).encode("latin-1").decode(errors="replace")

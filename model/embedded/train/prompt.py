"""Examples as token ids: one prefix (state and question) and one isolated tail per option.

    <|bos|><|state|> text<|question|> question     then for each option    <|option|> name : description<|mark|>

An option sees the prefix and itself; positions restart after the prefix for each one. Its score is the
logit of <|yes|> at its <|mark|>. A state is a text or a list of (role, text), each turn after its role's token.
"""
from text import BOS, MARK, OPTION, QUESTION, ROLES, SPLIT, STATE, plain, split_name

STOP = {"the", "and", "for", "you", "what", "with", "can", "are", "how", "this", "that", "from", "use", "user", "when"}


class Writer:
    """Writes examples for a tokenizer. Limits are in tokens; the engine has none."""

    def __init__(self, tokenizer, state=700, question=420, name=24, description=64, parted=True):
        self.tokenizer, self.limits = tokenizer, (state, question, name, description)
        self.name = split_name if parted else plain

    def words(self, text, limit, last=False):
        """Ids of a field and, for the auxiliary loss, (position of a word's last id, its stem).

        Of a text over the limit the first words are kept, or the last.
        """
        parts = [(w, self.tokenizer.word(w)) for w in SPLIT.findall(" " + text)]
        if sum(len(ids) for _, ids in parts) > limit:
            n, kept = 0, []
            for part in reversed(parts) if last else parts:
                n += len(part[1])
                if n > limit:
                    break
                kept.append(part)
            parts = kept[::-1] if last else kept
        out, stems = [], []
        for w, ids in parts:
            out += ids
            w = "".join(c for c in w if c.isalpha())
            if len(w) > 2 and w not in STOP:
                stems.append((len(out) - 1, w[:5]))
        return out, stems

    def prefix(self, example):
        """Ids of state and question, stems of the state, (position, stem) of the lists within a question."""
        state, question, _, _ = self.limits
        turns = example["state"]
        if isinstance(turns, str):
            turns = [("user", turns)]
        ids, seen = [], set()
        for role, text in turns:
            x, stems = self.words(plain(text), state)
            ids += [ROLES[role]] + x
            seen.update(s for _, s in stems)
        if len(ids) > state:
            ids = [STATE] + ids[-state:]
        ids = [BOS] + ids
        listed = []
        if example["q"]:
            x, stems = self.words(plain(example["q"]), question)
            if ":" in example["q"]:
                listed = [(len(ids) + 1 + p, s) for p, s in stems]
            ids += [QUESTION] + x
        else:
            ids += [QUESTION]
        return ids, seen, listed

    def option(self, example, i):
        """Ids and stems of option i."""
        _, _, name_limit, description_limit = self.limits
        name, description = example["opts"][i]
        ids, stems = [OPTION], []
        parts = []
        if example["kind"] == "score":
            parts.append(("%d:" % i, 8))
        parts.append((self.name(name), name_limit))
        if description:
            parts += [(":", 1), (plain(description), description_limit)]
        for text, limit in parts:
            x, s = self.words(text, limit)
            stems += [(len(ids) + p, w) for p, w in s]
            ids += x
        return ids + [MARK], stems

    def __call__(self, example):
        ids, seen, listed = self.prefix(example)
        n = len(ids)
        known = seen | {s for _, s in listed}
        aux = [(p, float(s in seen)) for p, s in listed]
        ids, marks = list(ids), []
        for i in range(len(example["opts"])):
            x, stems = self.option(example, i)
            aux += [(len(ids) + p, float(s in known)) for p, s in stems]
            ids += x
            marks.append(len(ids) - 1)
        return dict(ids=ids, prefix=n, marks=marks, y=example["y"], task=example["task"], aux=aux)

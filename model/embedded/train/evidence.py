"""Word-overlap evidence over the model's own vocabulary: which tokens of an option occur in the state.

fold[t] is the token that stands for t: tokens that begin a word and share a stem (first five letters, no
plural s) stand for each other. idf is given for those. evidence(option) = sum of idf over the distinct folded
tokens that also occur in the state / sqrt(1 + number of the option's distinct folded tokens with idf > 0).
"""
import math

from text import SPECIAL, plain, split_name


def stem(word):
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return word[:5]


def folds(tokenizer):
    """For every id the lowest id with its stem; itself where it begins no word of letters."""
    first, out = {}, list(range(tokenizer.size))
    for i in range(len(SPECIAL), tokenizer.size):
        text = tokenizer.pieces[i].encode("latin-1").decode(errors="replace")
        if text[:1] == " " and text[1:].isalpha() and len(text) > 3:
            out[i] = first.setdefault(stem(text[1:].lower()), i)
    return out


def inverse_frequencies(tokenizer, fold, pools):
    """log(N / (1 + documents with it)) of folded tokens with a letter; 0 of others."""
    count, n = [0] * tokenizer.size, 0
    documents = [t for t, _ in pools.clinc + pools.bank] + [g for _, g, _ in pools.wordnet] + [d for _, d, _ in pools.tldr]
    for text in documents:
        n += 1
        for t in {fold[t] for t in tokenizer.encode(" " + plain(text))}:
            count[t] += 1
    out = [0.] * tokenizer.size
    for i in range(len(SPECIAL), tokenizer.size):
        if fold[i] == i and any(c.isalpha() for c in tokenizer.pieces[i]) and tokenizer.pieces[i].isascii():
            out[i] = max(0., math.log(n / (1 + count[i])))
    return out


def evidence(tokenizer, fold, idf, state, options):
    """One number per (name, description). state is a text or a list of (role, text)."""
    texts = [state] if isinstance(state, str) else [t for _, t in state]
    seen = {fold[t] for s in texts for t in tokenizer.encode(" " + plain(s))}
    out = []
    for name, description in options:
        text = " " + split_name(name) + (" : " + plain(description) if description else "")
        own = {t for t in (fold[t] for t in tokenizer.encode(text)) if idf[t] > 0}
        out.append(sum(idf[t] for t in sorted(own & seen)) / math.sqrt(1 + len(own)))
    return out

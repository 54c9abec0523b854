"""Trains the byte-level BPE on generated examples, glosses, documentation and commands: vocab.json."""
import collections
import heapq
import json
import sys

from pools import Pools
from tasks import MIX, Generator
from text import SPECIAL, SPLIT, plain, split_name

SIZE = 4096


def corpus(pools, examples=60000):
    """Counts of the words of the split."""
    count = collections.Counter()

    def add(text):
        count.update(SPLIT.findall(" " + text))
    g = Generator(pools, 11, dict(MIX, hand=0))
    for _ in range(examples):
        e = g.one()
        for text in [e["state"]] if isinstance(e["state"], str) else [t for _, t in e["state"]]:
            add(plain(text))
        add(plain(e["q"]))
        for name, description in e["opts"][:4]:
            add(split_name(name))
            add(plain(description))
    for _, gloss, sentences in pools.wordnet:
        for text in [gloss] + sentences:
            add(plain(text))
    for name, text in pools.go:
        add(plain(text))
        add(split_name(name))
    for _, _, command in pools.tldr:
        add(plain(command))
    return count


def train(count, merges):
    """The merges, most frequent pair first; ties by the pair itself."""
    words = [([chr(b) for b in w.encode()], n) for w, n in sorted(count.items()) if n > 1]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, (w, n) in enumerate(words):
        for p in zip(w, w[1:]):
            pairs[p] += n
            where[p].add(i)
    heap, out = [(-n, p) for p, n in pairs.items()], []
    heapq.heapify(heap)
    while len(out) < merges:
        n, p = heapq.heappop(heap)
        if -n != pairs[p]:
            if pairs[p] > 0:
                heapq.heappush(heap, (-pairs[p], p))
            continue
        out.append(p)
        change = collections.Counter()
        for i in sorted(where[p]):
            w, n = words[i]
            for x in zip(w, w[1:]):
                change[x] -= n
            q, k = [], 0
            while k < len(w):
                if k < len(w) - 1 and (w[k], w[k + 1]) == p:
                    q.append(w[k] + w[k + 1])
                    k += 2
                else:
                    q.append(w[k])
                    k += 1
            words[i] = (q, n)
            for x in zip(q, q[1:]):
                change[x] += n
                where[x].add(i)
        for x, n in change.items():
            if n:
                pairs[x] += n
                if pairs[x] > 0:
                    heapq.heappush(heap, (-pairs[x], x))
        pairs[p] = 0
        del where[p]
    return out


if __name__ == "__main__":
    merges = train(corpus(Pools()), SIZE - len(SPECIAL) - 256)
    with open(sys.argv[1] if len(sys.argv) > 1 else "vocab.json", "w") as f:
        json.dump({"merges": merges}, f)

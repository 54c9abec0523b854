"""Measures a checkpoint through its exported weights, fits evidence weight and temperatures, writes the reference.

python3 evaluate.py CHECKPOINT --fit OUT.json         fit on dev rows: evidence weight and temperatures
python3 evaluate.py CHECKPOINT --decision FILE.json --scores OUT.json     all test sets, with baselines beside
python3 evaluate.py CHECKPOINT --decision FILE.json --reference OUT.json  prompts with scores for other implementations
"""
import argparse
import collections
import json
import math
import random
import re

import numpy as np
import torch

import evalsets
from evidence import evidence, folds, inverse_frequencies
from export import load
from net import Net, scores
from pools import Pools
from prompt import Writer
from text import YES, split_name


class Measure:
    """Scores of rows by a net that holds the decoded exported weights, and their evidence."""

    def __init__(self, checkpoint, kind="Q8_0"):
        torch.set_num_threads(1)
        self.tensors, self.tokenizer, self.shape, self.at = load(checkpoint, kind)
        self.pools = Pools()
        self.fold = folds(self.tokenizer)
        self.idf = inverse_frequencies(self.tokenizer, self.fold, self.pools)
        self.net = self.rebuild().eval()
        self.write = Writer(self.tokenizer, state=1400, question=1000, name=100, description=400)  # the engine has no limits

    def rebuild(self):
        t, s = {k: torch.from_numpy(v[2]) for k, v in self.tensors.items()}, self.shape
        net, state = Net(s["vocab"], s["d"], s["layers"], s["heads"], s["ff"]), {}
        state["embed.weight"], state["norm.w"] = t["token_embd.weight"], t["output_norm.weight"]
        state["scale"] = torch.tensor(s["d"] ** -.5)  # folded
        for i in range(s["layers"]):
            p, q = "blocks.%d." % i, "blk.%d." % i
            state[p + "qkv.weight"] = torch.cat([t[q + "attn_%s.weight" % n] for n in "qkv"])
            state[p + "gu.weight"] = torch.cat([t[q + "ffn_gate.weight"], t[q + "ffn_up.weight"]])
            for a, b in (("o.weight", "attn_output.weight"), ("down.weight", "ffn_down.weight"), ("n1.w", "attn_norm.weight"),
                         ("n2.w", "ffn_norm.weight"), ("qn.w", "attn_q_norm.weight"), ("kn.w", "attn_k_norm.weight")):
                state[p + a] = t[q + b]
        net.load_state_dict(state, strict=False)
        return net

    def rows(self, rows, bf16=True, tokens=6000):
        """Adds scores and evidence to every row."""
        written = sorted(((self.write(r), r) for r in rows), key=lambda x: len(x[0]["ids"]))
        i = 0
        while i < len(written):
            j = i + 1
            while j < len(written) and (j + 1 - i) * len(written[j][0]["ids"]) <= tokens:
                j += 1
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                out, _ = scores(self.net, [x for x, _ in written[i:j]])
            for (_, r), s in zip(written[i:j], out.tolist()):
                r["scores"] = s[:len(r["opts"])]
                r["evidence"] = evidence(self.tokenizer, self.fold, self.idf, r["state"], r["opts"])
            i = j
        return rows


def probabilities(r, decision):
    w, t = decision["evidence"][r["kind"]], decision["temperature"][r["kind"]]
    z = np.array([(s + w * e) / t for s, e in zip(r["scores"], r["evidence"])])
    z = np.exp(z - z.max())
    return z / z.sum()


def loss_of(rows, decision):
    return -sum(math.log(max(1e-9, probabilities(r, decision)[r["y"]])) for r in rows) / max(1, len(rows))


def figures(rows, decision, bins=15):
    """Accuracy, balanced accuracy over the answers, expected calibration error, log loss."""
    hits, by, cells = 0, collections.defaultdict(list), [[0, 0., 0] for _ in range(bins)]
    for r in rows:
        p = probabilities(r, decision)
        k = int(p.argmax())
        hits += k == r["y"]
        by[r["y"]].append(k == r["y"])
        c = cells[min(bins - 1, int(p[k] * bins))]
        c[0], c[1], c[2] = c[0] + 1, c[1] + p[k], c[2] + (k == r["y"])
    out = dict(rows=len(rows), accuracy=hits / len(rows), ece=sum(abs(c[1] - c[2]) for c in cells) / len(rows), loss=loss_of(rows, decision))
    if rows[0]["kind"] == "boolean":
        out["balanced"] = sum(sum(v) / len(v) for v in by.values()) / len(by)
    return out


def baselines(rows, pools):
    """Random, words in common, and IDF-weighted five-letter stems in common."""
    def words(t):
        return re.findall("[a-z0-9]+", t.lower())
    count, n = collections.Counter(), 0
    for t in [t for t, _ in pools.clinc + pools.bank] + [g for _, g, _ in pools.wordnet]:
        count.update(set(words(t)))
        n += 1
    r, out = random.Random(5), {}
    for name, part in by_set(rows).items():
        chance = plain = idf = 0
        for x in part:
            state = set(words(x["state"]))
            stems = {w[:5] for w in state}
            a, b = [], []
            for option, description in x["opts"]:
                o = set(words(split_name(option) + " " + description))
                a.append(len(state & o) / (1e-9 + len(o) ** .5) + r.random() * 1e-6)
                b.append(sum(math.log(n / (1 + count[w])) for w in o if w[:5] in stems) / (1 + len(o)) ** .5 + r.random() * 1e-6)
            chance += 1 / len(a)
            plain += a.index(max(a)) == x["y"]
            idf += b.index(max(b)) == x["y"]
        out[name] = dict(random=chance / len(part), overlap=plain / len(part), idf=idf / len(part))
    return out


def by_set(rows):
    out = collections.defaultdict(list)
    for r in rows:
        out[r["set"]].append(r)
    return out


def fit(rows):
    """The evidence weight of choices and a temperature per kind with the least log loss over development rows. What it
    knows (intents, domains, scope of the domains, shell) weighs as much as everything unseen."""
    sets = by_set(rows)
    known = ("known", "domain", "scope", "shell")
    ts = [.5, .6, .7, .8, .9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8, 2, 2.3, 2.7, 3.2, 4]
    kinds = {k: [n for n, v in sets.items() if v[0]["kind"] == k] for k in ("boolean", "choice", "score")}

    def total(kind, w, t):
        d = dict(evidence={kind: w}, temperature={kind: t})
        part = [[loss_of(sets[n], d) for n in kinds[kind] if (n in known) == k] for k in (True, False)]
        return sum(sum(p) / len(p) for p in part if p)
    _, w, t = min((total("choice", w, t), w, t) for w in (0, .1, .2, .3, .4, .5, .6, .8, 1, 1.3) for t in ts)
    d = dict(evidence=dict(boolean=0, choice=w, score=0), temperature=dict(choice=t))
    for k in ("boolean", "score"):
        d["temperature"][k] = min(ts, key=lambda x: total(k, 0, x)) if kinds[k] else 1
    return d


def show(name, f):
    print("%-18s %s" % (name, " ".join("%s %s" % (k, v if isinstance(v, int) else "%.3f" % v) for k, v in f.items())), flush=True)


def reference(m, decision, rows, n):
    """The first rows of every set, in float32, one sequence a option: token ids, scores, evidence, probabilities."""
    out = []
    for name, part in by_set(rows).items():
        for r in m.rows([x for x in part if len(x["opts"]) < 20][:n], bf16=False):
            prefix = m.write.prefix(r)[0]
            tails = [m.write.option(r, i)[0] for i in range(len(r["opts"]))]
            with torch.no_grad():
                own = []
                for t in tails:
                    ids = torch.tensor([prefix + t])
                    length = ids.shape[1]
                    seen = torch.ones(1, length, length, dtype=torch.bool).tril()
                    own.append(float(m.net(ids, torch.arange(length)[None], seen)[0][0, -1] @ m.net.embed.weight[YES]))
            assert max(abs(a - b) for a, b in zip(own, r["scores"])) < 2e-3, (own, r["scores"])
            out.append(dict(set=name, kind=r["kind"], state=r["state"], question=r["q"], answer=r["y"], scores=own, evidence=r["evidence"],
                            options=[dict(name=a, **({"description": b} if b else {})) for a, b in r["opts"]],
                            probabilities=[float(x) for x in probabilities(dict(r, scores=own), decision)], prefix_ids=prefix, option_ids=tails))
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("checkpoint")
    p.add_argument("--decision")
    p.add_argument("--fit")
    p.add_argument("--scores")
    p.add_argument("--reference")
    p.add_argument("--sets", default="", help="only these, by commas; hand stands for all rows by hand")
    p.add_argument("--rows", type=int, default=0, help="at most so many rows of a set")
    p.add_argument("--type", default="Q8_0")
    a = p.parse_args()
    m = Measure(a.checkpoint, a.type)
    decision = dict(evidence=dict(boolean=0, choice=0, score=0), temperature=dict(boolean=1, choice=1, score=1))
    if a.decision:
        with open(a.decision) as f:
            decision = json.load(f)
    if a.fit:
        rows = m.rows([r for r in evalsets.dev(m.pools) if not a.sets or r["set"].split(" ")[0] in a.sets.split(",")])
        if not a.sets:
            decision = fit(rows)
        print(decision)
        with open(a.fit, "w") as f:
            json.dump(decision, f)
        for name, part in by_set(rows).items():
            show(name, figures(part, decision))
    if a.scores or a.reference:
        rows = evalsets.test(m.pools)
        if a.sets:
            rows = [r for r in rows if r["set"].split(" ")[0] in a.sets.split(",")]
        if a.reference:
            with open(a.reference, "w") as f:
                json.dump(reference(m, decision, rows, 4), f)
    if a.scores:
        if a.rows:
            rows = [x for part in by_set(rows).values() for x in random.Random(3).sample(part, min(a.rows, len(part)))]
        base, out = baselines(rows, m.pools), {}
        plain = dict(decision, evidence=dict(boolean=0, choice=0, score=0))
        for name, part in by_set(rows).items():
            m.rows(part)
            out[name] = dict(figures(part, decision), without_evidence=figures(part, plain)["accuracy"], **base[name])
            if name == "domain":
                for k, held in (("trained", False), ("held", True)):
                    some = [x for x, y in zip(part, evalsets.rows("clinc_intent_test")) if (y["label"] in m.pools.held) == held and x["state"] == y["input"]]
                    if some and not a.rows:
                        out[name]["of_" + k] = figures(some, decision)["accuracy"]
            show(name, out[name])
        with open(a.scores, "w") as f:
            json.dump(dict(checkpoint=m.at, decision=decision, sets=out), f, indent=1)
        with open(a.scores + ".rows", "w") as f:
            json.dump(rows, f)


if __name__ == "__main__":
    main()

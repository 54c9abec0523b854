"""Rows to measure on. test(): the test splits, that nothing in training reads. dev(): rows to fit evidence weight and
temperatures on, from validation and training splits and from fresh seeds of the generators.

A row: dict(set, kind, state, q, opts, y).
"""
import json
import os
import random

from pools import HERE, held_out, page_hash, plain_command, plain_description, rows
from tasks import Generator

INTENT, YES_NO = "which intent fits?", [("yes", ""), ("no", "")]


def row(name, kind, state, q, opts, y):
    return dict(set=name, kind=kind, state=state, q=q, opts=[tuple(o) for o in opts], y=y, task=name)


def intent(r, name, text, label, pool, n):
    o = [label] + r.sample([z for z in pool if z != label], n - 1)
    r.shuffle(o)
    return row(name, "choice", text, INTENT, [(z, "") for z in o], o.index(label))


def scope(name, text, value, domains):
    topics = ", ".join(" ".join(d.split("_")) for d in domains)
    return row(name, "boolean", text, "is the request one that the assistant supports? topics: " + topics, YES_NO, 0 if value else 1)


def users(r):
    return " ".join(m["content"] for m in r["messages"] if m["role"] == "user")


def test(pools):
    r, out = random.Random(99), []
    everything = sorted(pools.held + pools.names)
    clinc, bank = rows("clinc_intent_test"), rows("banking77_test")
    for name, n, pool, held in (("clinc8", 8, pools.names, False), ("clinc20", 20, pools.names, False),
                                ("held8", 8, everything, True), ("held8h", 8, pools.held, True)):
        out += [intent(r, name, x["input"], x["label"], pool, n) for x in clinc if (x["label"] in pools.held) == held]
    out += [row("domain", "choice", x["input"], "which domain is this?", [(d, "") for d in pools.domains], pools.domains.index(x["label"]))
            for x in rows("clinc_domain_test")]
    out += [scope("oos", x["input"], x["label"], pools.domains) for x in rows("clinc_oos_test")]
    out += [intent(r, "bank8", x["input"], x["label"], pools.bank_names, 8) for x in bank]
    for x in rows("bfcl_tool_choice"):
        opts = [(o["name"], o["description"] or "") for o in x["options"]]
        out.append(row("bfcl", "choice", users(x), "which tool should be called?", opts, [o[0] for o in opts].index(x["label"])))
    for x in rows("bfcl_tool_relevance"):
        tools = " ; ".join(o["name"] + " : " + (o["description"] or "") for o in x["tools"][:6])
        out.append(row("bfclrel", "boolean", users(x), "can one of the tools serve the request? tools: " + tools, YES_NO, 0 if x["label"] else 1))
    pages = [(x["page"], plain_description(x["description"]), plain_command(x["command"])) for x in rows("tldr_commands") if page_hash(x["page"]) % 5 == 0]
    out += shell(r, "shell", pages, [x["input"] for x in clinc], [x["input"] for x in bank], pools, 1500)
    out += commands(r, "cmd8", pages, 800)
    return out + hand()


def shell(r, name, pages, clinc, bank, pools, n):
    g = Generator(pools, 77)
    out = []
    for i in range(n):
        text = g.how(r.choice(pages)[1]) if i % 2 == 0 else r.choice(clinc if r.random() < .7 else bank)
        out.append(row(name, "boolean", text, "does it need a shell command?", YES_NO, i % 2))
    return out


def commands(r, name, pages, n):
    out = []
    for _ in range(n):
        chosen = r.sample(pages, 8)
        y = r.randrange(8)
        out.append(row(name, "choice", chosen[y][1], "which command does it?", [(z[2][:90], "") for z in chosen], y))
    return out


def hand():
    """The test half of the rows written by hand: every odd row of each file."""
    out, folder = [], os.path.join(HERE, "hand")
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name)) as f:
            for i, line in enumerate(f):
                if i % 2:
                    x = json.loads(line)
                    out.append(row("hand " + name[:-6], x["kind"], x["state"], x["question"], [(o["name"], o.get("description", "")) for o in x["options"]], x["answer"]))
    return out


def dev(pools):
    """Rows that nothing is trained on: CLINC150's validation texts, pages kept for it, and the tenth of what was written
    by hand; questions and options are drawn by the generators of training. known: intents trained on."""
    r, out = random.Random(7), []
    out += [intent(r, "known", t, y, pools.names, 8) for t, y in pools.clinc_dev][:1000]
    out += [row("domain", "choice", t, "which domain is this?", [(d, "") for d in pools.domains], pools.domains.index(pools.domain[y]))
            for t, y in r.sample(pools.clinc_dev, 600)]
    out += commands(r, "commands", pools.tldr_dev, 300)
    inside = [t for t, _ in pools.clinc_dev]
    out += [scope("scope", t, True, pools.domains) for t in r.sample(inside, 100)] + [scope("scope", t, False, pools.domains) for t in pools.oos_dev]
    g = Generator(pools.dev(), 4242, noise=0)
    for name, make, n in (("new", g.t_own, 600), ("family", g.t_family, 400), ("roster", g.t_roster, 400), ("relevance", g.t_relevant, 500), ("scopes", g.t_scope, 400),
                          ("human", g.t_human, 300), ("need", g.t_need, 300), ("shell", g.t_shell, 300), ("urgency", g.t_urgency, 300), ("frustration", g.t_frustration, 300)):
        for _ in range(n):
            e = make()
            out.append(dict(e, set=name + ("?" if e["kind"] == "boolean" and make in (g.t_urgency, g.t_frustration) else "")))
    return out


if __name__ == "__main__":
    import collections
    import gzip
    import sys

    from pools import Pools
    found = test(Pools())
    print(collections.Counter(x["set"] for x in found))
    if len(sys.argv) > 1:
        with gzip.open(sys.argv[1], "wt") as f:
            for x in found:
                f.write(json.dumps(dict(set=x["set"], kind=x["kind"], state=x["state"], question=x["q"], answer=x["y"],
                                        options=[dict(name=n, **({"description": d} if d else {})) for n, d in x["opts"]]), ensure_ascii=False) + "\n")

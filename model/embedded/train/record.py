"""What made the weights: python3 record.py RUN_FOLDER WEIGHTS.gguf record.json"""
import hashlib
import json
import os
import sys

import torch

from pools import HERE, Pools
from tasks import MIX


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    run, weights, out = sys.argv[1:]
    c = torch.load(os.path.join(run, "checkpoint.pt"))
    with open(os.path.join(run, "decision.json")) as f:
        decision = json.load(f)
    with open(os.path.join(run, "scores.json")) as f:
        scores = json.load(f)["sets"]
    with open(os.path.join(run, "log.jsonl")) as f:
        log = [json.loads(line) for line in f]
    hand = {}
    for name in sorted(os.listdir(os.path.join(HERE, "hand"))):
        with open(os.path.join(HERE, "hand", name)) as f:
            hand[name[:-6]] = sum(1 for _ in f)
    every = max(1, len(log) // 40)
    record = dict(
        weights=dict(file=os.path.basename(weights), bytes=os.path.getsize(weights), sha256=digest(weights)),
        vocabulary=dict(sha256=digest(os.path.join(HERE, "vocab.json"))),
        shape=c["shape"], seed=c["args"]["seed"], arguments={k: v for k, v in c["args"].items() if k not in ("run", "pause_file", "vocab")},
        progress=c["at"], mix=MIX, data=Pools().counts(), hand_rows=hand, decision=decision,
        figures={k: {a: round(b, 4) if isinstance(b, float) else b for a, b in v.items()} for k, v in scores.items()},
        curve=[{k: r[k] for k in ("steps", "tokens", "seconds", "lr", "loss", "dev")} for r in log[::every] + log[-1:]])
    with open(out, "w") as f:
        json.dump(record, f, indent=1)


if __name__ == "__main__":
    main()

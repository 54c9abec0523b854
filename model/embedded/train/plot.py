"""The curve of a run: python3 plot.py RUN_FOLDER/log.jsonl loss.png"""
import json
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

def main():
    with open(sys.argv[1]) as f:
        log = [json.loads(line) for line in f]
    log = [r for r in log if not r["boot"]]
    x = [r["tokens"] / 1e6 for r in log]
    _, (left, right) = plt.subplots(1, 2, figsize=(13, 5))
    left.plot(x, [r["loss"] for r in log], lw=1)
    left.set(xlabel="million tokens", ylabel="loss of a decision, nats (running mean over the mix)", title="loss")
    rate = left.twinx()
    rate.plot(x, [r["lr"] for r in log], color="grey", lw=.8, ls=":")
    rate.set_ylabel("learning rate")
    names = sorted({k for r in log for k in r["dev"]})
    for i, k in enumerate(names):
        seen = [(a, r["dev"][k]) for a, r in zip(x, log) if k in r["dev"]]
        right.plot(*zip(*seen), lw=1, label=k, ls=("-", "--", ":")[i // 10 % 3])
    right.set(xlabel="million tokens", ylabel="accuracy", title="development rows", ylim=(0, 1))
    right.legend(fontsize=7, ncol=2)
    plt.tight_layout()
    plt.savefig(sys.argv[2], dpi=70)


if __name__ == "__main__":
    main()

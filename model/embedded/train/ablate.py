"""Short runs that differ in one thing: python3 ablate.py FOLDER ablations.json [--budget SECONDS]

Each is one process of train.py with the learning rate falling to its end; measured on the development rows.
Goes on where it stopped. Two run at a time.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import sys

from pools import HERE

BASE = {"base": [], "seed 2": ["--seed", "2"], "seed 3": ["--seed", "3"]}  # batches of 1536 tokens
CHANGES = {
    "no auxiliary loss": ["--aux", "0"],
    "no first phase": ["--boot", "0"],
    "small embeddings": ["--small"],
    "keys apart from queries": ["--apart"],
    "none of the four": ["--aux", "0", "--boot", "0", "--small", "--apart"],
    "batches of 6144": ["--tokens", "6144"],
    "raw names": ["--raw"],
    "six layers": ["--layers", "6"],
    "learning rate 0.0036": ["--lr", ".0036"],
}


def run(folder, name, arguments, budget):
    path = os.path.join(folder, name.replace(" ", "-").replace(",", ""))
    log = os.path.join(path, "log.jsonl")
    if not os.path.exists(os.path.join(path, "done")):
        os.makedirs(path, exist_ok=True)
        with open(os.path.join(path, "out"), "w") as f:
            subprocess.run([sys.executable, os.path.join(HERE, "train.py"), path, "--processes", "1", "--tokens", "1536", "--budget", str(budget)] + arguments, stdout=f, stderr=f, check=True)
        open(os.path.join(path, "done"), "w").close()
    with open(log) as f:
        last = json.loads(f.readlines()[-1])
    dev = last["dev"]
    print("%-42s %.1fM tokens, mean %.4f | %s" % (name, last["tokens"] / 1e6, sum(dev.values()) / len(dev), " ".join("%s %.3f" % x for x in dev.items())), flush=True)
    return name, dict(arguments=" ".join(arguments), tokens=last["tokens"], mean=round(sum(dev.values()) / len(dev), 4), dev=dev)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("out")
    p.add_argument("--budget", type=float, default=300)
    a = p.parse_args()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        results = dict(pool.map(lambda x: run(a.folder, *x, a.budget), {**BASE, **CHANGES}.items()))
    with open(a.out, "w") as f:
        json.dump(dict(budget=a.budget, runs=results), f, indent=1)


if __name__ == "__main__":
    main()

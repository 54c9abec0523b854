"""The training loop: python3 train.py RUN_FOLDER [options]. Starts, or goes on from RUN_FOLDER's checkpoint.

Processes of one thread each train apart on their own streams of examples and average weights and moments every
few seconds, weighted by the steps they made meanwhile: no gradient crosses at every step, so a process that gets
less of its core holds nobody up. The learning rate is warmed up, constant, and then falls linearly to 2 %. The
budget counts process time; RUN_FOLDER/control.json may set instead, while it runs, {"decay_at": unix time,
"end_at": unix time, "mix": {...}, "lr": ..., "aux": ..., "tokens": ...}.
"""
import argparse
import collections
import json
import os
import random
import time

import torch
import torch.distributed as dist

import evalsets
from net import Net
from pools import Pools
from prompt import Writer
from step import Trainer
from tasks import MIX, Generator
from text import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))


def arguments():
    a = argparse.ArgumentParser()
    add = a.add_argument
    add("run")
    add("--vocab", default=os.path.join(HERE, "vocab.json"))
    add("--processes", type=int, default=2)
    add("--budget", type=float, default=3600, help="seconds of process time of each process, all runs together")
    add("--decay", type=float, default=.6, help="share of the budget after which the learning rate falls")
    add("--width", type=int, default=160)
    add("--layers", type=int, default=5)
    add("--heads", type=int, default=5)
    add("--ff", type=int, default=448)
    add("--lr", type=float, default=1.8e-3)
    add("--tokens", type=int, default=3072, help="tokens of a batch")
    add("--aux", type=float, default=1, help="weight of the auxiliary loss")
    add("--boot", type=float, default=60, help="most seconds of the first phase, the trivial task")
    add("--small", action="store_true", help="embeddings of deviation .02, not of unit RMS")
    add("--apart", action="store_true", help="keys that do not start as queries")
    add("--raw", action="store_true", help="names as they are, not parted into words")
    add("--without", default="", help="tasks left out, by commas")
    add("--sync", type=float, default=3, help="seconds between averages")
    add("--save", type=float, default=120, help="seconds between checkpoints")
    add("--seed", type=int, default=1)
    add("--pause-file", default="", help="sleep while this file exists")
    return a.parse_args()


def hand_rows():
    """The training half of the rows written by hand: every even row of each file."""
    out, folder = [], os.path.join(HERE, "hand")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl"):
            with open(os.path.join(folder, name)) as f:
                for i, line in enumerate(f):
                    if i % 2 == 0:
                        r = json.loads(line)
                        out.append(dict(kind=r["kind"], state=r["state"], q=r["question"], y=r["answer"], task="hand " + name[:-6],
                                        opts=[(o["name"], o.get("description", "")) for o in r["options"]]))
    return out


def batches(stream, write, tokens, rng, pool=320):
    """Examples of about one length together."""
    while True:
        examples = sorted((x for x in (write(stream()) for _ in range(pool)) if len(x["ids"]) < 1500), key=lambda x: len(x["ids"]))
        out, batch = [], []
        for x in examples:
            if batch and (len(batch) + 1) * len(x["ids"]) > tokens():
                out.append(batch)
                batch = []
            batch.append(x)
        out.append(batch)
        rng.shuffle(out)
        yield from out


class Run:
    def __init__(self, a, rank):
        self.a, self.rank = a, rank
        self.pools, tokenizer = Pools(), Tokenizer(a.vocab)
        self.write = Writer(tokenizer, parted=not a.raw)
        torch.manual_seed(a.seed)
        self.trainer = Trainer(Net(tokenizer.size, a.width, a.layers, a.heads, a.ff, unit=not a.small, alike=not a.apart))
        self.at = dict(steps=0, tokens=0, examples=0, seconds=0., runs=0, boot=a.boot > 0, lr=0.)
        self.checkpoint = os.path.join(a.run, "checkpoint.pt")
        if os.path.exists(self.checkpoint):
            c = torch.load(self.checkpoint)
            self.trainer.load(c["net"])
            self.trainer.m, self.trainer.v, self.trainer.t = c["m"], c["v"], c["t"]
            self.at = c["at"]
        self.at["runs"] += 1
        self.control, self.read_at = {}, 0
        self.start = time.process_time()
        self.before = self.at["seconds"]
        self.hits, self.dev = {}, {}

    def save(self):
        t = self.trainer
        c = dict(net=t.state(), m=t.m, v=t.v, t=t.t, at=self.at, shape=t.net.shape, args=vars(self.a))
        torch.save(c, self.checkpoint + ".tmp")
        os.replace(self.checkpoint + ".tmp", self.checkpoint)

    def stream(self):
        """New examples at every start: the seed names it."""
        mix = dict(boot=1) if self.at["boot"] else dict(MIX, **self.control.get("mix", {}))
        for k in self.a.without.split(","):
            mix.pop(k, None)
        seed = self.a.seed * 100000 + self.at["runs"] * 100 + self.rank
        g = Generator(self.pools, seed, mix, hand=hand_rows())
        return batches(g.one, self.write, lambda: self.control.get("tokens", self.a.tokens), random.Random(seed))

    def look(self):
        """Sleeps while it must, reads the control file."""
        while self.a.pause_file and os.path.exists(self.a.pause_file):
            time.sleep(.3)
        path = os.path.join(self.a.run, "control.json")
        if os.path.exists(path) and os.path.getmtime(path) != self.read_at:
            try:
                with open(path) as f:
                    self.control, self.read_at = json.load(f), os.path.getmtime(path)
            except ValueError:
                pass  # half written: next time

    def rate(self):
        """The learning rate and whether it is over."""
        c, a, now, done = self.control, self.a, time.time(), self.at["seconds"] / self.a.budget
        base = c.get("lr", a.lr) * min(1, (self.at["steps"] + 1) / 100)
        if c.get("end_at"):
            begin = c.get("decay_at", c["end_at"])
            fall = (now - begin) / max(1, c["end_at"] - begin) if now > begin else 0
            over = now >= c["end_at"]
        else:
            fall, over = max(0, (done - a.decay) / (1 - a.decay)), done >= 1
        return base * max(.02, 1 - fall), over

    def average(self, steps):
        """Weights and moments of all processes, by steps; rank 0 decides rate and end."""
        lr, over = self.rate()
        if self.a.processes > 1:
            lead = [lr, float(over)] if self.rank == 0 else [0., 0.]
            tensors = [self.trainer.w, self.trainer.m, self.trainer.v]
            flat = torch.cat([t * steps for t in tensors] + [torch.tensor(lead + [steps, *self.fresh])])
            dist.all_reduce(flat)
            lr, over, steps, *self.fresh = flat[-5:].tolist()
            for t, x in zip(tensors, (flat[:-5] / max(1, steps)).split(len(self.trainer.w))):
                t.copy_(x)
            self.trainer.ready = False
        self.at["steps"] += round(steps)
        self.at["tokens"] += round(self.fresh[0])
        self.at["examples"] += round(self.fresh[1])
        self.at["lr"], self.fresh = lr, [0, 0]
        return over > .5

    def measure(self):
        """Accuracy on the development rows, by set."""
        hits = collections.defaultdict(list)
        rows = sorted((dict(self.write(r), set=r["set"]) for r in evalsets.dev(self.pools)), key=lambda x: len(x["ids"]))
        for i in range(0, len(rows), 16):
            for x, answer in zip(rows[i:i + 16], self.trainer.gradients(rows[i:i + 16], 0, 1)[1]):
                hits[x["set"]].append(answer == x["y"])
        self.trainer.g.zero_()
        return {k: round(sum(v) / len(v), 4) for k, v in hits.items()}

    def report(self, value, wall):
        r = dict(self.at, loss=round(value, 4), time=round(time.time()), wall=round(wall), dev=self.dev,
                 accuracy={k: round(a / b, 3) for k, (a, b) in sorted(self.hits.items())})
        with open(os.path.join(self.a.run, "log.jsonl"), "a") as f:
            f.write(json.dumps(r) + "\n")
        left = self.control["end_at"] - time.time() if self.control.get("end_at") else self.a.budget - self.at["seconds"]
        print("%s steps %d, %.2fM tokens, %dk examples, %.0f s cpu, %.0f tok/s, lr %.5f, loss %.3f, left %.0f s | %s | dev %s" % (
            time.strftime("%H:%M:%S"), self.at["steps"], self.at["tokens"] / 1e6, self.at["examples"] / 1e3, self.at["seconds"],
            self.at["tokens"] / max(1, self.at["seconds"]), self.at["lr"], value, left,
            " ".join("%s %.2f" % (k, a / b) for k, (a, b) in sorted(self.hits.items())),
            " ".join("%s %.2f" % x for x in self.dev.items())), flush=True)

    def train(self):
        a, at, t, self.fresh = self.a, self.at, self.trainer, [0, 0]
        self.look()
        at["lr"], _ = self.rate()
        stream, steps, begin, size, value = self.stream(), 0, time.time(), None, 0.
        synced = saved = reported = measured = begin
        while True:
            self.look()
            batch = next(stream)
            size = len(batch) if size is None or at["boot"] else .98 * size + .02 * len(batch)
            decision, best = t.gradients(batch, self.control.get("aux", a.aux), size)
            t.update(at["lr"])
            steps += 1
            self.fresh[0] += sum(len(x["ids"]) for x in batch)
            self.fresh[1] += len(batch)
            at["seconds"] = self.before + time.process_time() - self.start
            value = .98 * value + .02 * decision / len(batch) if value else decision / len(batch)
            for x, answer in zip(batch, best):
                h = self.hits.setdefault(x["task"], [0., 0.])
                h[0], h[1] = .998 * h[0] + .002 * (answer == x["y"]), .998 * h[1] + .002
            if time.time() - synced < a.sync:
                continue
            over = self.average(steps)
            steps, synced = 0, time.time()
            h = self.hits.get("overlap", (0, 1))
            if at["boot"] and (at["seconds"] > a.boot or at["steps"] > 400 and h[0] / h[1] > .975):
                at["boot"], at["runs"] = False, at["runs"] + 1
                stream, self.hits = self.stream(), {}
                print("rank %d: first phase ends at step %d" % (self.rank, at["steps"]), flush=True)
            if self.rank == 0:
                if over or time.time() - measured > 300:
                    self.dev = self.measure()
                    measured = time.time()
                if over or time.time() - reported > 30:
                    self.report(value, time.time() - begin)
                    reported = time.time()
                if over or time.time() - saved > a.save:
                    self.save()
                    saved = time.time()
            if over:
                break


def work(rank, a):
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    dist.init_process_group("gloo", init_method="file://" + os.path.abspath(os.path.join(a.run, "meet")), rank=rank, world_size=a.processes)
    Run(a, rank).train()


def main():
    a = arguments()
    os.nice(max(0, 19 - os.nice(0)))
    os.makedirs(a.run, exist_ok=True)
    if os.path.exists(os.path.join(a.run, "meet")):
        os.remove(os.path.join(a.run, "meet"))
    torch.multiprocessing.spawn(work, (a,), nprocs=a.processes)


if __name__ == "__main__":
    main()

"""The training loop: python3 train.py RUN_FOLDER [options]. Starts, or goes on from RUN_FOLDER's checkpoint.

Two processes of one thread each train apart on their own streams of examples and average weights and
moments every few seconds, weighted by the steps they made meanwhile: no gradient crosses at every step, so a
process that gets less of its core holds nobody up. The learning rate is warmed up, constant, and then falls
linearly to 2 %. The budget counts process time; RUN_FOLDER/control.json may set instead, while it runs,
{"decay_at": unix time, "end_at": unix time, "stage": 1 or 2, "mix": {...}, "lr": ..., "aux": ...}.
"""
import argparse
import json
import os
import random
import time

import torch
import torch.distributed as dist

from net import Net, loss
from pools import Pools
from prompt import Writer
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
    add("--stage2", type=float, default=.6, help="share of the budget after which the development intents are trained on")
    add("--stop", type=float, default=1, help="share of the budget after which this run ends")
    add("--width", type=int, default=160)
    add("--layers", type=int, default=5)
    add("--heads", type=int, default=5)
    add("--ff", type=int, default=448)
    add("--lr", type=float, default=1.8e-3)
    add("--tokens", type=int, default=1536, help="padded tokens of a batch")
    add("--aux", type=float, default=1)
    add("--boot", type=float, default=150, help="most seconds of the first phase, the trivial task")
    add("--sync", type=float, default=6, help="seconds between averages")
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
            if batch and (len(batch) + 1) * len(x["ids"]) > tokens:
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
        self.write = Writer(tokenizer)
        torch.manual_seed(a.seed)
        self.net = Net(tokenizer.size, a.width, a.layers, a.heads, a.ff)
        matrices = [p for p in self.net.parameters() if p.ndim == 2]
        others = [p for p in self.net.parameters() if p.ndim != 2]
        self.opt = torch.optim.AdamW([dict(params=matrices, weight_decay=.05), dict(params=others, weight_decay=0)],
                                     lr=a.lr, betas=(.9, .98), foreach=False)
        self.params = matrices + others
        self.at = dict(steps=0, tokens=0, examples=0, seconds=0., runs=0, boot=True, stage=1, lr=0.)
        self.checkpoint = os.path.join(a.run, "checkpoint.pt")
        if os.path.exists(self.checkpoint):
            c = torch.load(self.checkpoint)
            self.net.load_state_dict(c["net"])
            self.opt.load_state_dict(c["opt"])
            self.at = c["at"]
        self.at["runs"] += 1
        self.control, self.read_at = {}, 0
        self.start = time.process_time()
        self.before = self.at["seconds"]
        self.hits = {}

    def save(self):
        c = dict(net=self.net.state_dict(), opt=self.opt.state_dict(), at=self.at, shape=self.net.shape, args=vars(self.a))
        torch.save(c, self.checkpoint + ".tmp")
        os.replace(self.checkpoint + ".tmp", self.checkpoint)

    def stream(self):
        """New examples at every stage and start: the seed names both."""
        if self.at["boot"]:
            mix = dict(boot=1)
        else:
            mix = dict(MIX, **self.control.get("mix", {}))
        hand = hand_rows()
        if not hand:
            mix["hand"] = 0
        without = () if self.at["stage"] > 1 else set(self.pools.dev_names + self.pools.bank_dev_names)
        seed = self.a.seed * 100000 + self.at["runs"] * 100 + self.at["stage"] * 10 + self.rank
        g = Generator(self.pools, seed, mix, hand=hand, without=without)
        return batches(g.one, self.write, 1024 if self.at["boot"] else self.a.tokens, random.Random(seed))

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
        """The learning rate, the stage and whether it is over."""
        c, a, now, done = self.control, self.a, time.time(), self.at["seconds"] / self.a.budget
        base = c.get("lr", a.lr) * min(1, (self.at["steps"] + 1) / 100)
        if c.get("end_at"):
            begin = c.get("decay_at", c["end_at"])
            fall = (now - begin) / max(1, c["end_at"] - begin) if now > begin else 0
            over = now >= c["end_at"]
        else:
            fall, over = max(0, (done - a.decay) / (1 - a.decay)), done >= a.stop
        return base * max(.02, 1 - fall), c.get("stage", 2 if done >= a.stage2 else 1), over

    def average(self, steps):
        """Weights and moments of all processes, by steps; rank 0 decides rate, stage and end."""
        lr, stage, over = self.rate()
        lead = [lr, stage, float(over)] if self.rank == 0 else [0., 0., 0.]
        state = [self.opt.state[p] for p in self.params]
        tensors = [p.data for p in self.params] + [s[k] for k in ("exp_avg", "exp_avg_sq") for s in state]
        flat = torch.cat([t.reshape(-1) for t in tensors]) * steps
        totals = torch.tensor(lead + [steps, self.fresh[0], self.fresh[1]])
        flat = torch.cat([flat, totals])
        dist.all_reduce(flat)
        lr, stage, over, steps, tokens, examples = flat[-6:].tolist()
        flat /= max(1, steps)
        n = 0
        for t in tensors:
            t.copy_(flat[n:n + t.numel()].view_as(t))
            n += t.numel()
        self.fresh = [0, 0]
        self.at["steps"] += round(steps)
        self.at["tokens"] += round(tokens)
        self.at["examples"] += round(examples)
        self.at["lr"] = lr
        return round(stage), over > .5

    def report(self, value, wall):
        r = dict(self.at, loss=round(value, 4), time=round(time.time()), wall=round(wall), rate=self.control.get("end_at"),
                 accuracy={k: round(a / b, 3) for k, (a, b) in sorted(self.hits.items())})
        with open(os.path.join(self.a.run, "log.jsonl"), "a") as f:
            f.write(json.dumps(r) + "\n")
        speed = self.at["tokens"] / max(1, self.at["seconds"])
        left = self.control["end_at"] - time.time() if self.control.get("end_at") else self.a.budget - self.at["seconds"]
        print("%s steps %d, %.2fM tokens, %dk examples, %.0f s cpu, %.0f tok/s, lr %.5f, stage %d, loss %.3f, left %.0f s | %s" % (
            time.strftime("%H:%M:%S"), self.at["steps"], self.at["tokens"] / 1e6, self.at["examples"] / 1e3, self.at["seconds"], speed, self.at["lr"],
            self.at["stage"], value, left, " ".join("%s %.2f" % (k, a / b) for k, (a, b) in sorted(self.hits.items()))), flush=True)

    def train(self):
        a, at, self.fresh = self.a, self.at, [0, 0]
        self.look()
        at["lr"], at["stage"], _ = self.rate()
        stream, steps, begin, size, value = self.stream(), 0, time.time(), None, 0.
        synced = saved = reported = begin
        while True:
            self.look()
            batch = next(stream)
            for g in self.opt.param_groups:
                g["lr"] = at["lr"]
            self.opt.zero_grad(set_to_none=True)
            with torch.autocast("cpu", dtype=torch.bfloat16):
                total, decision, out = loss(self.net, batch, self.control.get("aux", a.aux))
            size = len(batch) if size is None or at["boot"] else .98 * size + .02 * len(batch)
            (total / size).backward()
            torch.nn.utils.clip_grad_norm_(self.params, 1.)
            self.opt.step()
            steps += 1
            self.fresh[0] += sum(len(x["ids"]) for x in batch)
            self.fresh[1] += len(batch)
            at["seconds"] = self.before + time.process_time() - self.start
            value = .98 * value + .02 * decision / len(batch) if value else decision / len(batch)
            for x, answer in zip(batch, out.argmax(1).tolist()):
                h = self.hits.setdefault(x["task"], [0., 0.])
                h[0], h[1] = .99 * h[0] + .01 * (answer == x["y"]), .99 * h[1] + .01
            if time.time() - synced < a.sync:
                continue
            stage, over = self.average(steps)
            steps, synced = 0, time.time()
            h = self.hits.get("overlap", (0, 1))
            if at["boot"] and (at["seconds"] > a.boot or at["steps"] > 400 and h[0] / h[1] > .975):
                at["boot"], at["runs"] = False, at["runs"] + 1
                stream, self.hits = self.stream(), {}
                print("rank %d: first phase ends at step %d" % (self.rank, at["steps"]), flush=True)
            if stage != at["stage"]:
                at["stage"] = stage
                stream = self.stream()
            if self.rank == 0 and time.time() - reported > 30:
                self.report(value, time.time() - begin)
                reported = time.time()
            if self.rank == 0 and (over or time.time() - saved > a.save):
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

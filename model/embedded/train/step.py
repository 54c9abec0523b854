"""step.c for Python: weights, gradients and moments as one array each, a batch as flat arrays.

python3 step.py compares gradients with torch's of net.py, and fails where they are further from float32 than twice
what torch's own in bfloat16 are.
"""
import ctypes
import os
import subprocess
import tempfile

import numpy as np
import torch

from net import Net
from text import YES

HERE = os.path.dirname(os.path.abspath(__file__))
LONGEST = 2048  # ids of an example, MOST in step.c


def library():
    out = os.path.join(tempfile.mkdtemp(), "step.so")
    subprocess.run(["cc", "-O3", "-march=native", "-mprefer-vector-width=512", "-ffast-math", "-shared", "-fPIC", os.path.join(HERE, "step.c"),
                    "-o", out, "-lmvec", "-lm"], check=True)
    c = ctypes.CDLL(out)
    c.make.restype, c.step.restype, c.norm.restype = ctypes.c_void_p, ctypes.c_double, ctypes.c_double
    return c


def pointer(a):
    return ctypes.c_void_p(a.data_ptr() if torch.is_tensor(a) else a.ctypes.data)


class Trainer:
    """A Net's weights and their AdamW. state() gives and load() takes what Net.load_state_dict knows."""

    def __init__(self, net):
        self.c, self.net = library(), net
        items = sorted(net.state_dict().items(), key=lambda x: x[1].ndim != 2)  # matrices, which decay, before the rest
        self.matrices = sum(v.numel() for _, v in items if v.ndim == 2)
        self.at, n = {}, 0
        for k, v in items:
            self.at[k] = (n, v.shape)
            n += v.numel()
        self.w, self.g, self.m, self.v = (torch.zeros(n) for _ in range(4))
        self.t = 0
        self.load(net.state_dict())
        s = net.shape
        names = ["embed.weight", "scale", "norm.w", "aux.weight", "aux.bias"]
        for i in range(s["layers"]):
            names += ["blocks.%d.%s" % (i, x) for x in ("n1.w", "qkv.weight", "qn.w", "kn.w", "o.weight", "n2.w", "gu.weight", "down.weight")]
        offsets = np.array([self.at[k][0] for k in names], dtype=np.int64)
        self.handle = self.c.make(*(ctypes.c_long(s[k]) for k in ("vocab", "d", "layers", "heads", "ff")), ctypes.c_long(YES), pointer(offsets), pointer(net.cos), pointer(net.sin))
        if not self.handle:
            raise RuntimeError("heads must be 32 wide, the feed-forward width a multiple of 32, and AMX tiles be lent by the system where the CPU has them")
        self.handle = ctypes.c_void_p(self.handle)
        self.ready = False

    def load(self, state):
        for k, (at, shape) in self.at.items():
            self.w[at:at + state[k].numel()] = state[k].reshape(-1)
        self.ready = False

    def view(self, flat):
        return {k: flat[at:at + int(np.prod(shape))].view(shape) for k, (at, shape) in self.at.items()}

    def state(self):
        return {k: v.clone() for k, v in self.view(self.w).items()}

    def gradients(self, batch, aux, size):
        """Adds the gradients of a batch to g. Returns the summed decision loss and the index each example's best option has."""
        if not self.ready:
            self.c.packed(self.handle, pointer(self.w))
            self.ready = True
        ids, pos, segment, first, y, rows, values = [], [], [], [], [], [], []
        for x in batch:
            if len(x["ids"]) > LONGEST:
                raise ValueError("an example of %d ids, at most %d" % (len(x["ids"]), LONGEST))
            base, p = len(ids), x["prefix"]
            first.append(len(segment))
            segment.append(base)
            ids += x["ids"]
            pos += range(p)
            start = p
            for mark in x["marks"]:
                segment.append(base + start)
                pos += range(p, p + mark + 1 - start)
                start = mark + 1
            y.append(x["y"])
            rows += [base + r for r, _ in x["aux"]]
            values += [v for _, v in x["aux"]]
        options = len(segment) - len(first)
        first.append(len(segment))
        segment.append(len(ids))
        a = [np.array(z, dtype=np.int32) for z in (ids, pos, segment, first, y, rows)] + [np.array(values, dtype=np.float32), np.empty(options, dtype=np.float32)]
        loss = self.c.step(self.handle, pointer(self.w), pointer(self.g), *(ctypes.c_long(n) for n in (len(ids), len(batch), len(segment) - 1, len(rows))),
                           *(pointer(z) for z in a[:7]), ctypes.c_float(aux), ctypes.c_float(size), pointer(a[7]))
        best, at = [], 0
        for x in batch:
            best.append(int(a[7][at:at + len(x["marks"])].argmax()))
            at += len(x["marks"])
        return loss, best

    def update(self, lr, decay=.05, clip=1., betas=(.9, .98)):
        self.t += 1
        size = self.c.norm(pointer(self.g), ctypes.c_long(len(self.g)))
        scale = min(1., clip / (size + 1e-6))
        for begin, end, d in ((0, self.matrices, decay), (self.matrices, len(self.w), 0.)):
            self.c.adamw(*(pointer(z[begin:end]) for z in (self.w, self.g, self.m, self.v)), ctypes.c_long(end - begin),
                         *(ctypes.c_float(z) for z in (lr, *betas, d, scale)), ctypes.c_long(self.t))
        self.ready = False
        return size


def main():
    import random
    import time

    from net import loss
    from pools import Pools
    from prompt import Writer
    from tasks import MIX, Generator
    from text import Tokenizer
    from train import batches, hand_rows
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    torch.manual_seed(1)
    tokenizer = Tokenizer(os.path.join(HERE, "vocab.json"))
    stream = batches(Generator(Pools(), 1, MIX, hand=hand_rows()).one, Writer(tokenizer), lambda: 1536, random.Random(1))
    net = Net(tokenizer.size, 160, 5, 5, 448)
    with torch.no_grad():  # away from ones, so that a factor left out shows
        for k, v in net.named_parameters():
            if v.ndim < 2:
                v += .2 * torch.randn_like(v)
    trainer = Trainer(net)
    worst = 0
    for _ in range(3):
        batch, grads = next(stream), []
        for half in (False, True):
            net.zero_grad()
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=half):
                total, decision, _ = loss(net, batch, 1.)
            (total / 20).backward()
            grads.append({k: v.grad.clone() for k, v in net.named_parameters()})
        got, _ = trainer.gradients(batch, 1., 20.)
        assert abs(got - decision) < .01 * decision, (got, decision)
        for k, g in trainer.view(trainer.g).items():
            want, rounded = grads[0][k], grads[1][k]
            off, torchs = ((x - want).norm().item() / want.norm().item() for x in (g, rounded))
            worst = max(worst, off / max(torchs, .01))
            assert off < max(2 * torchs, .05), "%s: off by %.3f, torch in bfloat16 by %.3f" % (k, off, torchs)
        trainer.g.zero_()
    print("gradients as near to float32 as torch's: %.2f of its distance at most" % worst)
    some = [next(stream) for _ in range(200)]
    begin, tokens = time.process_time(), sum(len(x["ids"]) for b in some for x in b)
    for b in some:
        trainer.gradients(b, 1., 20.)
        trainer.update(1e-3)
    print("%.0f tokens a second" % (tokens / (time.process_time() - begin)))


if __name__ == "__main__":
    main()

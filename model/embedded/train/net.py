"""The model in torch: a small qwen3 graph, the loss over options, and the exact masked form of isolated options.

Evaluation and export use it; training uses step.c, whose oracle it is."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from text import YES

EPS, THETA = 1e-6, 1e6


class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Parameter(torch.ones(d))

    def forward(self, x):
        x = x.float()
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + EPS) * self.w


class Block(nn.Module):
    def __init__(self, d, heads, ff):
        super().__init__()
        self.heads, self.width = heads, d // heads
        self.n1, self.n2, self.qn, self.kn = Norm(d), Norm(d), Norm(d // heads), Norm(d // heads)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.gu, self.down = nn.Linear(d, 2 * ff, bias=False), nn.Linear(ff, d, bias=False)

    def forward(self, x, cos, sin, pos, seen):
        b, t, d = x.shape
        mask = torch.zeros(b, 1, t, t).masked_fill_(~seen[:, None], -1e9)
        cos, sin = cos[pos][:, None], sin[pos][:, None]
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, self.width).permute(2, 0, 3, 1, 4)

        def rotate(z):
            z1, z2 = z.chunk(2, -1)
            return torch.cat((z1 * cos - z2 * sin, z2 * cos + z1 * sin), -1)

        q, k = rotate(self.qn(q)), rotate(self.kn(k))
        a = torch.matmul(q * (1 / math.sqrt(self.width)), k.transpose(2, 3)).float() + mask
        y = torch.matmul(F.softmax(a, -1), v).transpose(1, 2).reshape(b, t, d)
        x = x + self.o(y)
        g, u = self.gu(self.n2(x)).chunk(2, -1)
        return x + self.down(F.silu(g) * u)


class Net(nn.Module):
    """Tied embeddings of unit RMS (unless not unit); key projections start equal to query projections (alike), so that
    equal tokens attend to each other from the first step. What both are worth: ablations.json."""

    def __init__(self, vocab, d, layers, heads, ff, context=2048, unit=True, alike=True):
        super().__init__()
        self.shape = dict(vocab=vocab, d=d, layers=layers, heads=heads, ff=ff)
        self.embed = nn.Embedding(vocab, d)
        self.blocks = nn.ModuleList(Block(d, heads, ff) for _ in range(layers))
        self.norm, self.aux = Norm(d), nn.Linear(d, 1)
        self.scale = nn.Parameter(torch.tensor(1.0))  # of the embeddings; folded at export
        nn.init.normal_(self.embed.weight, std=d ** -.5 if unit else .02 * d ** -.5)
        for b in self.blocks:
            for m in (b.qkv, b.gu):
                nn.init.normal_(m.weight, std=.7 / math.sqrt(d))
            for m in (b.o, b.down):
                nn.init.normal_(m.weight, std=.7 / math.sqrt(m.weight.shape[1] * 2 * layers))
            if alike:
                with torch.no_grad():
                    b.qkv.weight[d:2 * d] = b.qkv.weight[:d]
        width = d // heads
        angle = torch.arange(context).float()[:, None] * THETA ** (-torch.arange(0, width, 2).float() / width)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def forward(self, ids, pos, seen):
        """Hidden rows after the last norm, and those of the middle layer."""
        x = self.embed(ids) * (self.scale * math.sqrt(self.shape["d"]))
        mid = x
        for i, block in enumerate(self.blocks):
            x = block(x, self.cos, self.sin, pos, seen)
            if i + 1 == len(self.blocks) // 2:
                mid = x
        return self.norm(x), mid


def collate(batch):
    """Padded ids, positions, and who sees whom: options are kept apart."""
    t = max(len(x["ids"]) for x in batch)
    ids, pos = torch.zeros(len(batch), t, dtype=torch.long), torch.arange(t).repeat(len(batch), 1)
    segment = torch.zeros(len(batch), t, dtype=torch.int16)
    for i, x in enumerate(batch):
        ids[i, :len(x["ids"])] = torch.tensor(x["ids"])
        start = x["prefix"]
        for j, mark in enumerate(x["marks"]):
            segment[i, start:mark + 1] = j + 1
            pos[i, start:mark + 1] -= start - x["prefix"]
            start = mark + 1
        segment[i, start:] = 9999
    seen = (segment[:, :, None] == segment[:, None, :]) | (segment[:, None, :] == 0)
    return ids, pos, seen & torch.ones(t, t, dtype=torch.bool).tril()


def scores(net, batch):
    """Logits of <|yes|> at the marks, -1e9 where an example has no such option, and the middle rows."""
    ids, pos, seen = collate(batch)
    hidden, mid = net(ids, pos, seen)
    n = max(len(x["marks"]) for x in batch)
    marks, there = torch.zeros(len(batch), n, dtype=torch.long), torch.zeros(len(batch), n, dtype=torch.bool)
    for i, x in enumerate(batch):
        marks[i, :len(x["marks"])] = torch.tensor(x["marks"])
        there[i, :len(x["marks"])] = True
    rows = hidden[torch.arange(len(batch))[:, None], marks].float()
    return (rows @ net.embed.weight[YES].float()).masked_fill(~there, -1e9), mid


def loss(net, batch, aux):
    """Summed cross-entropy over options; plus, weighted by aux, whether each option word occurs in the state."""
    out, mid = scores(net, batch)
    y = torch.tensor([x["y"] for x in batch])
    decision = F.cross_entropy(out, y, reduction="sum")
    total = decision
    if aux:
        z = [(i, p, v) for i, x in enumerate(batch) for p, v in x["aux"]]
        if z:
            i, p, v = (torch.tensor(c) for c in zip(*z))
            guess = net.aux(mid[i, p]).float().squeeze(-1)
            total = total + aux * len(batch) * F.binary_cross_entropy_with_logits(guess, v)
    return total, decision.item(), out.detach()

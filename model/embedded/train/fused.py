"""fused.c as autograd functions: the element-wise parts of a block in one pass each, about half of a step saved.

available() is false where no C compiler is found; net.py then does the same in torch.
"""
import ctypes
import functools
import os
import subprocess
import tempfile

import torch

HERE = os.path.dirname(os.path.abspath(__file__))


@functools.lru_cache(None)
def library():
    out = os.path.join(tempfile.mkdtemp(), "fused.so")
    try:
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-shared", "-fPIC", os.path.join(HERE, "fused.c"), "-o", out, "-lmvec", "-lm"],
                       check=True, capture_output=True)
        return ctypes.CDLL(out)
    except (OSError, subprocess.CalledProcessError):
        return None


def available():
    return library() is not None


def call(name, *args):
    """Tensors, which must be contiguous, as pointers, numbers as C longs."""
    for a in args:
        assert not torch.is_tensor(a) or a.is_contiguous()
    getattr(library(), name)(*[ctypes.c_void_p(a.data_ptr()) if torch.is_tensor(a) else ctypes.c_long(a) for a in args])


def half(*shape):
    return torch.empty(*shape, dtype=torch.bfloat16)


class RMS(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        x = x.float().contiguous()
        d = x.shape[-1]
        y, r = half(*x.shape), torch.empty(x.numel() // d)
        call("rms", x, w, y, r, len(r), d)
        ctx.save_for_backward(x, w, r)
        return y

    @staticmethod
    def backward(ctx, g):
        x, w, r = ctx.saved_tensors
        dx, dw = torch.empty_like(x), torch.zeros_like(w)
        call("rms_back", g.bfloat16().contiguous(), x, w, r, dx, dw, len(r), x.shape[-1])
        return dx, dw


class Heads(torch.autograd.Function):
    @staticmethod
    def forward(ctx, qkv, qw, kw, cos, sin, pos, n):
        qkv = qkv.contiguous()
        b, t, d = qkv.shape
        width = d // 3 // n
        q, k, v = (half(b, n, t, width) for _ in range(3))
        call("heads", qkv, qw, kw, cos, sin, pos, q, k, v, b, t, n, width)
        ctx.save_for_backward(qkv, qw, kw, cos, sin, pos)
        ctx.n = n
        return q, k, v

    @staticmethod
    def backward(ctx, gq, gk, gv):
        qkv, qw, kw, cos, sin, pos = ctx.saved_tensors
        b, t, d = qkv.shape
        dx, dqw, dkw = torch.empty_like(qkv), torch.zeros_like(qw), torch.zeros_like(kw)
        call("heads_back", *(g.bfloat16().contiguous() for g in (gq, gk, gv)), qkv, qw, kw, cos, sin, pos, dx, dqw, dkw, b, t, ctx.n, d // 3 // ctx.n)
        return dx, dqw, dkw, None, None, None, None


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, a, mask):
        b, n, t, _ = a.shape
        p = a.clone(memory_format=torch.contiguous_format)
        call("softmax", p, mask, b, n, t)
        ctx.save_for_backward(p)
        return p

    @staticmethod
    def backward(ctx, g):
        p, = ctx.saved_tensors
        d = g.bfloat16().clone(memory_format=torch.contiguous_format)
        call("softmax_back", d, p, p.numel() // p.shape[-1], p.shape[-1])
        return d, None


class SwiGLU(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.contiguous()
        y = half(*x.shape[:-1], x.shape[-1] // 2)
        call("swiglu", x, y, y.numel() // y.shape[-1], y.shape[-1])
        ctx.save_for_backward(x)
        return y

    @staticmethod
    def backward(ctx, g):
        x, = ctx.saved_tensors
        dx = torch.empty_like(x)
        call("swiglu_back", g.bfloat16().contiguous(), x, dx, x.numel() // x.shape[-1], x.shape[-1] // 2)
        return dx

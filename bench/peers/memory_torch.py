"""The programs of memory-programs.ts with PyTorch: `python memory_torch.py <name>` prints a line of JSON."""

import json
import re
import sys
import time

import torch
from torch.nn import functional as F

MB = 2**20
torch.set_num_threads(1)


def gpt():
    batch, span, width, heads, letters = 16, 64, 128, 4, 96
    leaves = []

    def leaf(*shape):
        t = torch.randn(shape).mul(0.02).requires_grad_()
        leaves.append(t)
        return t

    words, places, head = leaf(letters, width), leaf(span, width), leaf(letters, width)
    layers = [
        (leaf(3 * width, width), leaf(width, width), leaf(4 * width, width), leaf(width, 4 * width)) for _ in range(4)
    ]
    moments = [(torch.zeros_like(t), torch.zeros_like(t)) for t in leaves]
    mask = torch.ones(span, span).triu(1).mul(-1e9)
    text = torch.randint(0, letters, (batch, span + 1))

    def split(x):
        return x.view(batch, span, heads, width // heads).transpose(1, 2)

    def loss():
        x = words.index_select(0, text[:, :span].reshape(-1)).view(batch, span, width).add(places)
        for qkv, out, up, down in layers:
            q, k, v = map(split, F.linear(F.layer_norm(x, [width]), qkv).chunk(3, -1))
            scores = q.matmul(k.transpose(-2, -1)).mul((width / heads) ** -0.5).add(mask)
            mixed = scores.softmax(-1).matmul(v).transpose(1, 2).reshape(batch, span, width)
            x = x.add(F.linear(mixed, out))
            h = F.linear(F.layer_norm(x, [width]), up)
            inner = h.add(h.pow(3).mul(0.044715)).mul(0.7978845608)
            x = x.add(F.linear(h.mul(0.5).mul(inner.tanh().add(1)), down))
        found = F.linear(F.layer_norm(x, [width]), head).view(-1, letters).log_softmax(-1)
        return found.gather(1, text[:, 1:].reshape(-1, 1)).mean().neg()

    def step():
        value = loss()
        value.backward()
        with torch.no_grad():
            for p, (m, v) in zip(leaves, moments):
                m.mul_(0.9).add_(p.grad, alpha=0.1)
                v.mul_(0.999).addcmul_(p.grad, p.grad, value=0.001)
                p.addcdiv_(m, v.sqrt().add_(1e-8), value=-1e-3)
                p.grad = None
        value.item()

    return 12, step


def tanhs():
    x = torch.randn(MB, requires_grad=True)

    def step():
        y = x
        for _ in range(50):
            y = y.tanh()
        y.sum().backward()
        x.grad = None

    return 3, step


def cells(length):
    batch, width = 32, 128
    wi, wh = [torch.randn(4 * width, width).mul(0.05).requires_grad_() for _ in range(2)]
    b = torch.zeros(4 * width, requires_grad=True)
    x = torch.randn(batch, width)

    def step():
        h, c = torch.zeros(batch, width), torch.zeros(batch, width)
        for _ in range(length):
            a, f, g, o = F.linear(x, wi, b).add(F.linear(h, wh)).chunk(4, 1)
            c = f.sigmoid().mul(c).add(a.sigmoid().mul(g.tanh()))
            h = o.sigmoid().mul(c.tanh())
        h.sum().backward()
        for p in (wi, wh, b):
            p.grad = None

    return 1, step


def loop(nbytes, rounds):
    x, y = torch.randn(nbytes // 4), torch.randn(nbytes // 4)

    def step():
        for _ in range(rounds):
            x.add(y).mul(2).exp()

    return 1, step


def inference():
    layers = [m for _ in range(3) for m in (torch.nn.Linear(1024, 1024), torch.nn.Tanh())]
    model = torch.nn.Sequential(*layers)
    x = torch.randn(1024, 1024)

    def step():
        with torch.no_grad():
            model(x).sum().item()

    return 40, step


def training():
    layers = [m for _ in range(3) for m in (torch.nn.Linear(512, 512), torch.nn.ReLU())]
    model = torch.nn.Sequential(*layers)
    x, y = torch.randn(1024, 512), torch.randn(1024, 512)

    def step():
        F.mse_loss(model(x), y).backward()
        with torch.no_grad():
            for p in model.parameters():
                p.sub_(p.grad, alpha=0.01)
                p.grad = None

    return 60, step


def dictionaries():
    from tensordict import TensorDict

    def make():
        return TensorDict({"a": torch.randn(256, 1024), "n": {"b": torch.randn(256, 1024)}}, [256])

    td, other = make(), make()

    def step():
        total = td.add(other).mul(2)
        rows = torch.stack([total, td], 0)
        rows[0].apply(lambda t: t.abs())
        torch.cat([td, other], 0)
        td[td["a"][..., 0] > 0]

    return 200, step


PROGRAMS = {
    "language model": gpt,
    "50 x tanh of 4 MB": tanhs,
    "1,000 LSTM cells": lambda: cells(1000),
    "3,000 LSTM cells": lambda: cells(3000),
    "10,000 LSTM cells": lambda: cells(10_000),
    "training": training,
    "inference": inference,
    "dictionaries": dictionaries,
    "loop, 4 KB": lambda: loop(4096, 100_000),
    "loop, 64 KB": lambda: loop(64 * 1024, 30_000),
    "loop, 4 MB": lambda: loop(4 * MB, 700),
    "loop, 64 MB": lambda: loop(64 * MB, 40),
}


def resident(name):
    with open("/proc/self/status") as f:
        return 1024 * int(re.search(name + r":\s+(\d+)", f.read()).group(1))


name = sys.argv[1]
steps, step = PROGRAMS[name.split(", scope")[0]]()
with open("/proc/self/clear_refs", "w") as f:
    f.write("5")
before = resident("VmRSS")
times = []
start = time.perf_counter()
for _ in range(steps):
    begun = time.perf_counter()
    step()
    times.append(time.perf_counter() - begun)
seconds = time.perf_counter() - start
peak = resident("VmHWM")
print(json.dumps({"name": name, "before": before, "peak": peak, "seconds": seconds, "least": min(times)}))

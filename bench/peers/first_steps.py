"""The times of the first steps of programs that train, in milliseconds: the program and how many are the arguments."""
import json
import math
import sys
import time

import torch

torch.set_num_threads(1)


def descend(parameters):
    with torch.no_grad():
        for p in parameters:
            p.sub_(p.grad.mul(0.01))
            p.grad = None


def weight(*size):
    return torch.randn(size).mul(0.02).requires_grad_()


def mlp():
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    x, y = torch.randn(32, 64), torch.randn(32, 10)
    parameters = list(model.parameters())

    def step():
        torch.nn.functional.mse_loss(model(x), y).backward()
        descend(parameters)

    return step


def lstm():
    steps, batch, size = 20, 32, 128
    wx, wh, b = weight(size, 4 * size), weight(size, 4 * size), torch.zeros(4 * size).requires_grad_()
    x = torch.randn(steps, batch, size)

    def step():
        h, c = torch.zeros(batch, size), torch.zeros(batch, size)
        for t in range(steps):
            i, f, g, o = x[t].matmul(wx).add(h.matmul(wh)).add(b).chunk(4, 1)
            c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()))
            h = o.sigmoid().mul(c.tanh())
        h.pow(2).mean().backward()
        descend([wx, wh, b])

    return step


def normalized(x, scale):
    centered = x - x.mean(-1, True)
    return centered.mul(centered.pow(2).mean(-1, True).add(1e-5).rsqrt()).mul(scale)


def gpt():
    layers, width, heads, batch, length, words = 4, 128, 4, 16, 64, 65
    tokens, places, head = weight(words, width), weight(length, width), weight(width, words)
    blocks = [
        [weight(width, 3 * width), weight(width, width), weight(width, 4 * width), weight(4 * width, width)]
        + [torch.ones(width).requires_grad_(), torch.ones(width).requires_grad_()]
        for _ in range(layers)
    ]
    parameters = [tokens, places, head] + [p for block in blocks for p in block]
    text = torch.randint(0, words, (batch, length + 1))
    x, y = text.narrow(1, 0, length), text.narrow(1, 1, length).reshape(-1, 1)
    hidden = torch.tril(torch.ones(length, length)).eq(0)

    def split(t):
        return t.reshape(batch, length, heads, width // heads).transpose(1, 2)

    def step():
        h = tokens.index_select(0, x.reshape(-1)).reshape(batch, length, width).add(places)
        for qkv, out, up, down, first, second in blocks:
            q, k, v = (split(t) for t in normalized(h, first).matmul(qkv).chunk(3, 2))
            scores = q.matmul(k.transpose(2, 3)).mul(1 / math.sqrt(width / heads))
            mixed = scores.masked_fill(hidden, -1e9).softmax(-1).matmul(v).transpose(1, 2)
            h = h.add(mixed.reshape(batch, length, width).matmul(out))
            h = h.add(normalized(h, second).matmul(up).relu().matmul(down))
        scores = h.matmul(head).reshape(batch * length, words).log_softmax(1)
        scores.gather(1, y).mean().neg().backward()
        descend(parameters)

    return step


step = {"mlp": mlp, "lstm": lstm, "gpt": gpt}[sys.argv[1]]()
times = []
for _ in range(int(sys.argv[2])):
    start = time.perf_counter()
    step()
    times.append((time.perf_counter() - start) * 1000)
print(json.dumps(times))

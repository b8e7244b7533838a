"""The losses of examples/gpt.ts as PyTorch computes them, and how long its steps take.

    OMP_NUM_THREADS=1 python gpt_losses.py [OUT.json] [STEPS]
"""
import json
import math
import os
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

BATCH, CONTEXT, LAYERS, HEADS, WIDTH, TOTAL = 16, 64, 4, 4, 128, 1000
HERE = os.path.dirname(os.path.abspath(__file__))

with open(os.path.join(HERE, "../../examples/gpt/sawyer.txt")) as f:
    text = f.read()
characters = sorted(set(text))
codes = torch.tensor([characters.index(c) for c in text])


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(WIDTH, 3 * WIDTH)
        self.c_proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = (y.view(b, t, HEADS, -1).transpose(1, 2) for y in self.c_attn(x).split(c, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.c_proj(y.transpose(1, 2).reshape(b, t, c))


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.c_proj = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        return self.c_proj(F.gelu(self.c_fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = Attention()
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = MLP()

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte = nn.Embedding(len(characters), WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.h = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.ln_f = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)


torch.manual_seed(0)
model = GPT()
for name, p in model.named_parameters():
    if name.endswith("bias"):
        nn.init.zeros_(p)
    elif p.dim() > 1:
        nn.init.normal_(p, 0, 0.02 / math.sqrt(2 * LAYERS) if name.endswith("c_proj.weight") else 0.02)
loss_of = nn.CrossEntropyLoss()
groups = [
    {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": 0.1},
    {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": 0},
]
optimizer = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.99))
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 3e-3, total_steps=TOTAL, pct_start=0.1)
losses, times = [], []
for _ in range(int(sys.argv[2]) if len(sys.argv) > 2 else 40):
    start = time.perf_counter()
    places = torch.randint(len(codes) - CONTEXT, (BATCH, 1)) + torch.arange(CONTEXT)
    x, y = codes.take(places), codes.take(places + 1)
    optimizer.zero_grad()
    loss = loss_of(model(x).flatten(0, 1), y.flatten())
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    schedule.step()
    losses.append(loss.item())
    times.append(time.perf_counter() - start)
print(f"step: {1000 * sorted(times)[len(times) // 2]:.1f} ms, last losses {sum(losses[-10:]) / 10:.3f}")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as f:
        json.dump([float(f"{x:.7g}") for x in losses[:40]], f)
        f.write("\n")

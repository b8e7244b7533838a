"""The losses of examples/digits.ts as PyTorch computes them, and how long its epochs take.

    OMP_NUM_THREADS=1 python digits_losses.py [OUT.json]
"""
import csv
import gzip
import json
import os
import sys
import time

import torch
from torch import nn

EPOCHS, BATCH, TRAIN = 15, 32, 1437
HERE = os.path.dirname(os.path.abspath(__file__))

with gzip.open(os.path.join(HERE, "../../examples/digits/digits.csv.gz"), "rt") as f:
    rows = [[int(x) for x in row] for row in csv.reader(f)]
train = [row for i, row in enumerate(rows) if i % 5 != 4]
asked = train[TRAIN:] + [row for i, row in enumerate(rows) if i % 5 == 4]


def part(rows):
    t = torch.tensor(rows)
    return (t[:, :64].float() / 16).view(-1, 1, 8, 8), t[:, 64]


images, labels = part(train[:TRAIN])
torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.ReLU(),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.25),
    nn.Linear(32 * 4 * 4, 64),
    nn.ReLU(),
    nn.Linear(64, 10),
)
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, eps=1e-5)
steps = TRAIN // BATCH
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=EPOCHS * steps)
losses, times = [], []
for epoch in range(EPOCHS):
    start = time.perf_counter()
    for places in torch.randperm(TRAIN).split(BATCH):
        if len(places) < BATCH:
            break
        optimizer.zero_grad()
        loss = loss_of(model(images[places]), labels[places])
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
    times.append(time.perf_counter() - start)
model.eval()
x, y = part(asked)
with torch.no_grad():
    right = (model(x).argmax(1) == y).float().mean().item()
print(f"epoch: {1000 * sorted(times)[len(times) // 2]:.1f} ms, accuracy {100 * right:.1f} %")
if len(sys.argv) > 1:
    with open(sys.argv[1], "w") as f:
        json.dump([float(f"{x:.7g}") for x in losses[:200]], f)
        f.write("\n")

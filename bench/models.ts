// Steps of the example programs: a convolutional network on digits, GPT-2's architecture on characters.
import { manualSeed, nn, optim, randint, randn, scope } from "zensor";
import { network } from "../examples/digits/train.ts";
import { newborn } from "../examples/gpt/model.ts";
import { type Case, loop } from "./case.ts";

const digits: Case = {
  name: "digits, an epoch of 44 steps",
  rounds: 15,
  ours() {
    manualSeed(0);
    const model = network();
    const lossOf = new nn.CrossEntropyLoss();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 2e-3, eps: 1e-5 });
    const [images, labels] = [randn(1437, 1, 8, 8), randint(10, [1437])];
    return loop(() => {
      for (let i = 0; i < 44; i++) {
        const at = randint(1437, [32]);
        optimizer.zeroGrad();
        const loss = lossOf(model(images.at(at)), labels.at(at));
        loss.backward();
        optimizer.step();
        loss.item();
      }
    });
  },
  python: [
    `from torch import nn
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(),
    nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25), nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10))
loss_of = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, eps=1e-5)
images, labels = torch.randn(1437, 1, 8, 8), torch.randint(10, (1437,))
def go():
    for _ in range(44):
        at = torch.randint(1437, (32,))
        optimizer.zero_grad()
        loss = loss_of(model(images[at]), labels[at])
        loss.backward()
        optimizer.step()
        loss.item()`,
    "go()",
  ],
};

const [BATCH, LENGTH, CHARACTERS] = [16, 64, 67];

const gpt: Case = {
  name: "GPT-2's architecture, 4 x 128, a step of 16 x 64",
  rounds: 15,
  ours() {
    const model = newborn({ vocabulary: CHARACTERS, context: LENGTH, layers: 4, heads: 4, width: 128 }, 0);
    const lossOf = new nn.CrossEntropyLoss();
    const optimizer = new optim.AdamW(model.parameters(), { lr: 3e-3 });
    const [x, y] = [randint(CHARACTERS, [BATCH, LENGTH]), randint(CHARACTERS, [BATCH * LENGTH])];
    return loop(() =>
      scope(() => {
        optimizer.zeroGrad();
        const loss = lossOf(model(x).flatten(0, 1), y);
        loss.backward();
        nn.utils.clipGradNorm_(model.parameters(), 1);
        optimizer.step();
        loss.item();
      }),
    );
  },
  python: [
    `from torch import nn
from torch.nn import functional as F
class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(128), nn.LayerNorm(128)
        self.attn, self.proj = nn.Linear(128, 384), nn.Linear(128, 128)
        self.fc, self.out = nn.Linear(128, 512), nn.Linear(512, 128)
    def forward(self, x):
        q, k, v = (t.view(${BATCH}, ${LENGTH}, 4, -1).transpose(1, 2) for t in self.attn(self.ln_1(x)).split(128, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(${BATCH}, ${LENGTH}, 128))
        return x + self.out(F.gelu(self.fc(self.ln_2(x)), approximate="tanh"))
class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(${CHARACTERS}, 128), nn.Embedding(${LENGTH}, 128)
        self.h, self.ln_f = nn.ModuleList([Block() for _ in range(4)]), nn.LayerNorm(128)
    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(${LENGTH}))
        for block in self.h: x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)
model, loss_of = GPT(), nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
x, y = torch.randint(${CHARACTERS}, (${BATCH}, ${LENGTH})), torch.randint(${CHARACTERS}, (${BATCH * LENGTH},))
def go():
    optimizer.zero_grad()
    loss = loss_of(model(x).flatten(0, 1), y)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    loss.item()`,
    "go()",
  ],
};

export const cases: readonly Case[] = [digits, gpt];

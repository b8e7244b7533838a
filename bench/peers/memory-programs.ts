// Programs whose memory is measured: `bun memory-programs.ts <name>` prints a line of JSON. Each is done in Python by
// peers/memory_torch.py in the same way.
import { readFileSync, writeFileSync } from "node:fs";
import type { Tensor } from "zensor";
import * as z from "zensor";

const F = z.nn.functional;

/** A program: what it has before it begins, and its steps. */
interface Program {
  /** Bytes that are alive at once if all goes back as soon as nobody uses it. */
  need: number;
  steps: number;
  step: (i: number) => unknown;
}

const MB = 2 ** 20;

/** A language model over letters: 4 layers of 128, 4 heads, 16 texts of 64 letters; AdamW by hand. */
function gpt(around: (step: () => unknown) => unknown): Program {
  const [batch, time, width, heads, letters] = [16, 64, 128, 4, 96];
  const leaves: Tensor[] = [];
  const leaf = (...shape: number[]): Tensor => {
    const t = z.randn(shape).mul(0.02).requiresGrad_();
    leaves.push(t);
    return t;
  };
  const [words, places, head] = [leaf(letters, width), leaf(time, width), leaf(letters, width)];
  const layers = Array.from({ length: 4 }, () => ({
    qkv: leaf(3 * width, width),
    out: leaf(width, width),
    up: leaf(4 * width, width),
    down: leaf(width, 4 * width),
  }));
  const moments = leaves.map((t) => [z.zerosLike(t.detach()), z.zerosLike(t.detach())] as const);
  const mask = z.arange(time).gt(z.arange(time).unsqueeze(1)).float().mul(-1e9);
  const text = z.randint(0, letters, [batch, time + 1]);
  const split = (x: Tensor): Tensor => x.view(batch, time, heads, width / heads).transpose(1, 2);
  const loss = (): Tensor => {
    const [from, to] = [text.narrow(1, 0, time), text.narrow(1, 1, time)];
    let x = words.indexSelect(0, from.reshape(-1)).view(batch, time, width).add(places);
    for (const { qkv, out, up, down } of layers) {
      const [q, k, v] = F.linear(F.layerNorm(x, [width]), qkv)
        .chunk(3, -1)
        .map(split) as [Tensor, Tensor, Tensor];
      const scores = q
        .matmul(k.transpose(-2, -1))
        .mul((width / heads) ** -0.5)
        .add(mask);
      const mixed = scores.softmax(-1).matmul(v).transpose(1, 2).reshape(batch, time, width);
      x = x.add(F.linear(mixed, out));
      const h = F.linear(F.layerNorm(x, [width]), up);
      const inner = h.add(h.pow(3).mul(0.044715)).mul(0.7978845608);
      x = x.add(F.linear(h.mul(0.5).mul(inner.tanh().add(1)), down));
    }
    const found = F.linear(F.layerNorm(x, [width]), head)
      .view(-1, letters)
      .logSoftmax(-1);
    return found.gather(1, to.reshape(-1, 1)).mean().neg();
  };
  const update = (): void =>
    z.noGrad(() => {
      leaves.forEach((p, i) => {
        const [m, v] = moments[i] as readonly [Tensor, Tensor];
        const g = p.grad as Tensor;
        m.mul_(0.9).add_(g, { alpha: 0.1 });
        v.mul_(0.999).addcmul_(g, g, { value: 0.001 });
        p.addcdiv_(m, v.sqrt().add_(1e-8), { value: -1e-3 });
        p.grad = null;
      });
    });
  const step = (): void => {
    const l = loss();
    l.backward();
    update();
    l.item();
  };
  return { need: 0, steps: 12, step: () => around(step) };
}

function tanhs(around: (step: () => unknown) => unknown): Program {
  const x = z.randn(MB).requiresGrad_();
  const step = (): void => {
    let y: Tensor = x;
    for (let i = 0; i < 50; i++) y = y.tanh();
    y.sum().backward();
    x.grad = null;
  };
  return { need: 51 * 4 * MB, steps: 3, step: () => around(step) };
}

/** A chain of LSTM cells, 32 x 128. */
function cells(length: number, around: (step: () => unknown) => unknown): Program {
  const [batch, width] = [32, 128];
  const [wi, wh] = [z.randn(4 * width, width), z.randn(4 * width, width)].map((w) => w.mul(0.05).requiresGrad_());
  const b = z.zeros(4 * width, { requiresGrad: true });
  const x = z.randn(batch, width);
  const step = (): void => {
    let [h, c] = [z.zeros(batch, width), z.zeros(batch, width)];
    for (let i = 0; i < length; i++) {
      const gates = F.linear(x, wi as Tensor, b).add(F.linear(h, wh as Tensor));
      const [a, f, g, o] = gates.chunk(4, 1) as [Tensor, Tensor, Tensor, Tensor];
      c = f.sigmoid().mul(c).add(a.sigmoid().mul(g.tanh()));
      h = o.sigmoid().mul(c.tanh());
    }
    h.sum().backward();
    for (const p of [wi, wh, b]) (p as Tensor).grad = null;
  };
  return { need: 0, steps: 1, step: () => around(step) };
}

/** A loop over results of so many bytes that keeps nothing. */
function loop(nbytes: number, rounds: number): Program {
  const [x, y] = [z.randn(nbytes / 4), z.randn(nbytes / 4)];
  const step = (): void => {
    for (let i = 0; i < rounds; i++) x.add(y).mul(2).exp();
  };
  return { need: 3 * nbytes, steps: 1, step };
}

function inference(): Program {
  const layers = [0, 1, 2].flatMap(() => [new z.nn.Linear(1024, 1024), new z.nn.Tanh()]);
  const model = new z.nn.Sequential(...layers);
  const x = z.randn(1024, 1024);
  return { need: 2 * 4 * MB, steps: 40, step: () => z.noGrad(() => model(x).sum().item()) };
}

function training(): Program {
  const layers = [0, 1, 2].flatMap(() => [new z.nn.Linear(512, 512), new z.nn.ReLU()]);
  const model = new z.nn.Sequential(...layers);
  const [x, y] = [z.randn(1024, 512), z.randn(1024, 512)];
  const step = (): void => {
    const loss = F.mseLoss(model(x), y);
    loss.backward();
    z.noGrad(() => {
      for (const p of model.parameters()) {
        p.sub_(p.grad as Tensor, { alpha: 0.01 });
        p.grad = null;
      }
    });
  };
  // What is saved, two gradients on the way, those of parameters.
  return { need: (3 + 2) * 2 * MB + 3 * MB, steps: 60, step };
}

function dictionaries(): Program {
  const make = (): z.TensorDict => new z.TensorDict({ a: z.randn(256, 1024), n: { b: z.randn(256, 1024) } }, [256]);
  const [td, other] = [make(), make()];
  const step = (): void => {
    const sum = td.add(other).mul(2);
    const rows = z.stack([sum as never, td as never], 0) as unknown as z.TensorDict;
    rows.at(0).apply((t) => t.abs());
    z.cat([td as never, other as never], 0);
    td.at(td.get("a").at("...", 0).gt(0));
  };
  return { need: 12 * MB, steps: 200, step };
}

const plain = (step: () => unknown): unknown => step();
const scoped = (step: () => unknown): unknown => z.scope(step);
const PROGRAMS: Record<string, () => Program> = {
  "language model": () => gpt(plain),
  "language model, scope": () => gpt(scoped),
  "50 x tanh of 4 MB": () => tanhs(plain),
  "50 x tanh of 4 MB, scope": () => tanhs(scoped),
  "1,000 LSTM cells": () => cells(1000, plain),
  "3,000 LSTM cells": () => cells(3000, plain),
  "3,000 LSTM cells, scope": () => cells(3000, scoped),
  "10,000 LSTM cells": () => cells(10_000, plain),
  training,
  inference,
  dictionaries,
  "loop, 4 KB": () => loop(4096, 100_000),
  "loop, 64 KB": () => loop(64 * 1024, 30_000),
  "loop, 4 MB": () => loop(4 * MB, 700),
  "loop, 64 MB": () => loop(64 * MB, 40),
  "10 GB in one scope": () => {
    const { need, steps, step } = loop(4 * MB, 850);
    return { need, steps, step: () => z.scope(() => step(0)) };
  },
};

/** Resident bytes: the most since `reset`, or now. */
const resident = (name: "VmHWM" | "VmRSS"): number =>
  1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(readFileSync("/proc/self/status", "utf8"))?.[1]);

const name = process.argv[2] as string;
const { need, steps, step } = (PROGRAMS[name] as () => Program)();
writeFileSync("/proc/self/clear_refs", "5");
const before = resident("VmRSS");
const start = performance.now();
const times: number[] = [];
for (let i = 0; i < steps; i++) {
  const from = performance.now();
  step(i);
  times.push(performance.now() - from);
}
const seconds = (performance.now() - start) / 1000;
const peak = resident("VmHWM");
console.log(
  JSON.stringify({
    name,
    need,
    before,
    peak,
    seconds,
    least: Math.min(...times) / 1000,
    live: z.cpu.maxMemoryAllocated(),
  }),
);

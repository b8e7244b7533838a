// A program of ordinary size: data, two models, training, evaluation, saving. Compiled, for the time that it takes.
import {
  arange,
  autograd,
  type BoolTensor,
  cat,
  F,
  float32,
  isTensorCollection,
  lazyStack,
  load,
  long,
  manualSeed,
  maximum,
  nn,
  noGrad,
  ones,
  rand,
  randint,
  randn,
  randperm,
  save,
  slice,
  stack,
  Tensor,
  TensorDict,
  tensor,
  tensorclass,
  topk,
  where,
  zeros,
} from "zensor";

manualSeed(0);

interface Settings {
  readonly features: number;
  readonly hidden: number;
  readonly classes: number;
  readonly batch: number;
  readonly rate: number;
}

const settings: Settings = { features: 4, hidden: 8, classes: 3, batch: 16, rate: 0.1 };

class Sample extends tensorclass({ x: Tensor, y: Tensor, weight: Tensor }) {}

function makeData(count: number): TensorDict<{ x: Tensor; y: Tensor; weight: Tensor }> {
  const x = randn(count, settings.features);
  const y = x.sum({ dim: 1 }).gt(0).to({ dtype: long }).add(x.at("...", 0).gt(1).to(long));
  return new TensorDict({ x, y, weight: ones(count) }, [count]);
}

function* batches(data: ReturnType<typeof makeData>): Generator<ReturnType<typeof makeData>> {
  const order = randperm(data.length);
  for (let start = 0; start < data.length; start += settings.batch) {
    yield data.at(order.at(slice(start, start + settings.batch)));
  }
}

class Perceptron extends nn.Module {
  readonly first: nn.Linear;
  readonly second: nn.Linear;
  constructor({ features, hidden, classes }: Settings) {
    super();
    this.first = new nn.Linear(features, hidden);
    this.second = new nn.Linear(hidden, classes, { bias: true, dtype: float32 });
  }
  override forward(x: Tensor): Tensor {
    return this.second.forward(this.first.forward(x).relu());
  }
}

class Lookup {
  readonly rows: Tensor;
  constructor(rows: number, columns: number) {
    this.rows = rand(rows, columns, { requiresGrad: true });
  }
  of(index: Tensor): Tensor {
    return this.rows.indexSelect(0, index);
  }
}

function crossEntropy(logits: Tensor, target: Tensor, weight: Tensor): Tensor {
  const logs = logits.logSoftmax(1);
  const picked = logs.gather(1, target.unsqueeze(1)).squeeze(1);
  return picked.mul(weight).sum().div(weight.sum()).neg();
}

function accuracy(logits: Tensor, target: Tensor): number {
  const [, best] = logits.max({ dim: 1 });
  const hits: BoolTensor = best.eq(target);
  return hits.to("float32").mean().item();
}

function topTwo(logits: Tensor, target: Tensor): number {
  const { indices } = topk(logits, 2, { dim: 1 });
  return indices.eq(target.unsqueeze(1)).any(1).to(float32).mean().item();
}

function step(parameters: Iterable<Tensor>, rate: number): void {
  noGrad(() => {
    for (const p of parameters) {
      const { grad } = p;
      if (grad === null) continue;
      p.sub_(grad, { alpha: rate });
      p.grad = null;
    }
  });
}

const model = new Perceptron(settings);
const lookup = new Lookup(settings.classes, settings.hidden);
const train = makeData(64);
const held = makeData(32);
let state = new TensorDict();
const losses: number[] = [];

for (let epoch = 0; epoch < 3; epoch++) {
  for (const part of batches(train)) {
    const logits = model.forward(part.get("x"));
    const penalty = lookup.of(part.get("y")).square().mean();
    const loss = crossEntropy(logits, part.get("y"), part.get("weight")).add(penalty, { alpha: 0.01 });
    loss.backward();
    step([...model.parameters(), lookup.rows], settings.rate);
    losses.push(loss.item());
  }
  state = state.set(`epoch${epoch}`, tensor(losses).mean());
}

const { right, two } = noGrad(() => {
  const logits = model.forward(held.get("x"));
  return { right: accuracy(logits, held.at("y")), two: topTwo(logits, held.at("y")) };
});
if (right > two) throw new Error("the best is among the two best");

// Indices, masks, and what comes of them.
const grid = arange(24).reshape(2, 3, 4);
const column = grid.at(0, slice(1, 3), -1);
const rows: number[][] = grid.at(1).tolist();
const corner: number = grid.tolist()[0][0][0];
const large = grid.at(grid.gt(10));
const capped = where(grid.gt(10), grid, tensor(10n));
grid.clone().setAt([0, ":", 1], -1).setAt(grid.lt(3), 0);
const total = column.sum().item() + corner + (rows[0]?.length ?? 0) + large.numel() + capped.max().item();
if (!Number.isFinite(total)) throw new Error("not a number");

// Several results, by name and by place.
const scores = rand(5, settings.classes);
const sorted = scores.sort({ dim: 1, descending: true });
const lowest = scores.min({ dim: 0, keepdim: true }).values;
const between = scores.sub(lowest).clamp({ min: 0, max: 1 });
const [deviation, mean] = [between.std(), between.mean({ dim: 0 })];
const words = sorted.indices.typedArray("int64");
const first: bigint | undefined = words[0];
const flat: Float32Array = sorted.values.contiguous().typedArray("float32");
if (first === undefined || flat.length !== 15 || deviation.ndim !== 0) throw new Error("wrong sizes");

// Joining, splitting and reshaping.
const joined = cat([scores, between], 1);
const stacked = stack([scores, between], { dim: 0 });
const [left, rest] = joined.split([2, 4], 1) as [Tensor, Tensor];
const pairs = stacked.permute(1, 0, 2).flatten({ startDim: 1 });
const wide = pairs.view(5, -1).t().matmul(ones(5, 2));
const outer = left
  .unsqueeze(2)
  .mul(rest.unsqueeze(1))
  .sum({ dim: [1, 2] });
const both = maximum(outer, mean.sum()).softmax(0).log().exp();
const drawn = randint(0, 10, [3, 3])
  .to("float64")
  .add(both.at(0))
  .isclose(zeros(3, 3, { dtype: "float64" }));
if (drawn.all().item() || wide.shape[1] !== 2) throw new Error("drawn");

// Layers by function, chains of modules.
const chain = new nn.Sequential(new nn.Linear(4, 8), new nn.Tanh(), new nn.Linear(8, 2));
const out: Tensor = chain.forward(ones(2, 4));
const hidden = F.linear(ones(2, 4), randn(3, 4), zeros(3));
const probabilities = F.softmax(hidden, { dim: -1 });
if (out.shape[1] !== 2 || probabilities.ndim !== 2) throw new Error("layers");

// Collections.
const nested = new TensorDict({ obs: { pixels: zeros(3, 2, 2), speed: zeros(3, 1) }, done: zeros(3) }, [3]);
const speed = nested.get(["obs", "speed"]);
const pixels = nested.get("obs").get("pixels").mean();
const flatKeys = nested.flattenKeys(".").get("obs.speed");
const later = nested.set("reward", speed.add(1)).get("reward");
const moved = nested.to("float64").apply((t) => t.add(1));
const many = lazyStack([nested, moved]);
for (const [key, entry] of many.items({ includeNested: true, leavesOnly: true })) {
  if (typeof key === "string" && isTensorCollection(entry)) throw new Error(key);
}
const samples = new Sample({ x: zeros(2, 4), y: zeros(2), weight: ones(2) }, { batchSize: [2] });
if (samples.weight.sum().item() + later.numel() + pixels.item() + flatKeys.numel() <= 0) throw new Error("collections");

// Second derivatives.
const point = tensor([1, 2], { requiresGrad: true });
const [slope] = autograd.grad(point.pow(3).sum(), [point], { createGraph: true });
const [bend] = autograd.grad((slope as Tensor).sum(), point);
if (bend?.tolist()[0] !== 6) throw new Error("derivatives");

// Files.
const saved = { model: model.stateDict(), losses, at: { epoch: 3, mean: state.get("epoch2") } };
save(saved, "/tmp/zensor-typed-training.pt");
const back = load<{ losses: number[]; at: { epoch: number; mean: Tensor } }>("/tmp/zensor-typed-training.pt");
if (back.at.epoch !== 3 || back.losses.length !== losses.length) throw new Error("files");

// How long the first steps of programs that train take beside their later ones, here and in PyTorch: each sample is a
// process of its own.
//   bun bench/first-steps.ts [--rounds 5] [--only gpt] [--beside file]
// `--beside` names this file in another clone, whose library is measured in turn with this one.
import { join } from "node:path";
import { parseArgs } from "node:util";
import { arange, F, nn, noGrad, ones, randint, randn, type Tensor, zeros } from "zensor";
import { findPython } from "./peer.ts";
import { median } from "./statistics.ts";

const FIRST = 12;
const STEPS = 42;

function descend(parameters: readonly Tensor[]): void {
  noGrad(() => {
    for (const p of parameters) {
      p.sub_((p.grad as Tensor).mul(0.01));
      p.grad = null;
    }
  });
}

const weight = (...size: number[]) => randn(size).mul(0.02).requiresGrad_();

function mlp(): () => void {
  const model = new nn.Sequential(new nn.Linear(64, 128), new nn.ReLU(), new nn.Linear(128, 10));
  const [x, y] = [randn(32, 64), randn(32, 10)];
  const parameters = [...model.parameters()];
  return () => {
    F.mseLoss(model(x), y).backward();
    descend(parameters);
  };
}

function lstm(): () => void {
  const [steps, batch, size] = [20, 32, 128];
  const [wx, wh] = [weight(size, 4 * size), weight(size, 4 * size)];
  const b = zeros(4 * size).requiresGrad_();
  const x = randn(steps, batch, size);
  return () => {
    let [h, c] = [zeros(batch, size), zeros(batch, size)];
    for (let t = 0; t < steps; t++) {
      const [i, f, g, o] = x.at(t).matmul(wx).add(h.matmul(wh)).add(b).chunk(4, 1) as [Tensor, Tensor, Tensor, Tensor];
      c = f.sigmoid().mul(c).add(i.sigmoid().mul(g.tanh()));
      h = o.sigmoid().mul(c.tanh());
    }
    h.pow(2).mean().backward();
    descend([wx, wh, b]);
  };
}

function normalized(x: Tensor, scale: Tensor): Tensor {
  const centered = x.sub(x.mean(-1, true));
  return centered.mul(centered.pow(2).mean(-1, true).add(1e-5).rsqrt()).mul(scale);
}

function gpt(): () => void {
  const [layers, width, heads, batch, length, words] = [4, 128, 4, 16, 64, 65];
  const [tokens, places, head] = [weight(words, width), weight(length, width), weight(width, words)];
  const blocks = Array.from({ length: layers }, () => ({
    qkv: weight(width, 3 * width),
    out: weight(width, width),
    up: weight(width, 4 * width),
    down: weight(4 * width, width),
    first: ones(width).requiresGrad_(),
    second: ones(width).requiresGrad_(),
  }));
  const parameters = [tokens, places, head, ...blocks.flatMap((block) => Object.values(block))];
  const text = randint(0, words, [batch, length + 1]);
  const [x, y] = [text.narrow(1, 0, length), text.narrow(1, 1, length).reshape(-1, 1)];
  const hidden = arange(length).unsqueeze(1).lt(arange(length));
  const split = (t: Tensor) => t.reshape(batch, length, heads, width / heads).transpose(1, 2);
  return () => {
    let h = tokens.indexSelect(0, x.reshape(-1)).reshape(batch, length, width).add(places);
    for (const block of blocks) {
      const [q, k, v] = normalized(h, block.first).matmul(block.qkv).chunk(3, 2).map(split) as [Tensor, Tensor, Tensor];
      const scores = q.matmul(k.transpose(2, 3)).mul(1 / Math.sqrt(width / heads));
      const mixed = scores.maskedFill(hidden, -1e9).softmax(-1).matmul(v).transpose(1, 2).reshape(batch, length, width);
      h = h.add(mixed.matmul(block.out));
      h = h.add(normalized(h, block.second).matmul(block.up).relu().matmul(block.down));
    }
    const scores = h
      .matmul(head)
      .reshape(batch * length, words)
      .logSoftmax(1);
    scores.gather(1, y).mean().neg().backward();
    descend(parameters);
  };
}

const PROGRAMS = { mlp, lstm, gpt };

function measured(name: keyof typeof PROGRAMS): number[] {
  const step = PROGRAMS[name]();
  return Array.from({ length: STEPS }, () => {
    const start = performance.now();
    step();
    return performance.now() - start;
  });
}

function run(words: readonly string[]): number[] {
  const env = { ...process.env, OMP_NUM_THREADS: "1", MKL_NUM_THREADS: "1", ZENSOR_NUM_THREADS: "1" };
  const child = Bun.spawnSync([...words], { stderr: "inherit", env });
  if (child.exitCode !== 0) throw new Error(`${words[0]} ended with ${child.exitCode}`);
  return JSON.parse(child.stdout.toString()) as number[];
}

function main(): void {
  const { values } = parseArgs({
    options: {
      rounds: { type: "string", default: "5" },
      only: { type: "string", default: "" },
      child: { type: "string" },
      beside: { type: "string" },
    },
  });
  if (values.child !== undefined) {
    console.log(JSON.stringify(measured(values.child as keyof typeof PROGRAMS)));
    return;
  }
  const python = findPython();
  const script = join(import.meta.dir, "peers", "first_steps.py");
  const sides = new Map<string, (name: string) => number[]>();
  const zensor = (file: string) => (name: string) => run([process.execPath, file, "--child", name]);
  if (values.beside !== undefined) sides.set("beside", zensor(values.beside));
  sides.set("ours", zensor(import.meta.path));
  if (python !== null) sides.set("PyTorch", (name) => run([python, "-W", "ignore", script, name, `${STEPS}`]));
  for (const name of Object.keys(PROGRAMS).filter((one) => one.includes(values.only))) {
    const samples = new Map([...sides.keys()].map((label) => [label, [] as number[][]]));
    for (let round = 0; round < Number(values.rounds); round++) {
      for (const [label, side] of sides) samples.get(label)?.push(side(name));
    }
    for (const [label, list] of samples) report(`${name}, ${label}`, list);
  }
}

/** Of each step the median over the processes, and how the first ones are to those after them. */
function report(title: string, processes: readonly number[][]): void {
  const at = (k: number) => median(processes.map((steps) => steps[k] as number));
  const each = Array.from({ length: FIRST }, (_, k) => at(k).toFixed(1)).join(" ");
  const later = median(processes.map((steps) => median(steps.slice(FIRST))));
  const first = median(processes.map((steps) => steps.slice(0, FIRST).reduce((a, b) => a + b) / FIRST));
  console.log(
    `${title}: ${each}; later ${later.toFixed(2)} ms, the first ${FIRST} ${(first / later).toFixed(2)} times that`,
  );
}

if (import.meta.main) main();

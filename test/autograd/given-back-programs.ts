// Random programs for a library that gives memory back: whatever a program can reach has the value that it has where
// nothing is given back. A program is a list of numbers; running it twice makes the same calls.

import type { Tensor } from "../../src/index.ts";
import * as z from "../../src/index.ts";

/** Rows and columns: more bytes than those of blocks that are the collector's in any case. */
const [ROWS, COLUMNS] = [12, 16];

/** Numbers below `n`, the same for the same seed. */
export class Numbers {
  constructor(private state: number) {}
  below(n: number): number {
    this.state = (Math.imul(this.state, 1664525) + 1013904223) >>> 0;
    return Math.floor((this.state / 2 ** 32) * n);
  }
  of<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

class Interrupted extends Error {}

const UNARY: readonly ((x: Tensor) => Tensor)[] = [
  (x) => x.tanh(),
  (x) => x.sigmoid(),
  (x) => x.relu(),
  (x) => x.sin(),
  (x) => x.neg(),
  (x) => x.mul(0.5).add(1),
  (x) => x.clamp(-1, 1),
  (x) => x.abs().add(1).log(),
  (x) => x.softmax(-1),
  (x) => x.logSoftmax(0),
  (x) => z.nn.functional.layerNorm(x, [COLUMNS]),
  (x) => z.nn.functional.softmin(x, 1),
  (x) => x.clone(),
  (x) => x.square(),
  (x) => x.sub(x.mean()),
  (x) => x.cumsum(1).mul(0.1),
  (x) => x.div(x.norm().add(1)),
  (x) => x.flip([0]),
  (x) => x.double().float(),
  (x) => x.quantile(0.5, 1, { keepdim: true }).expand(ROWS, COLUMNS),
  (x) => x.repeatInterleave(2, { dim: 0 }).narrow(0, 1, ROWS),
  (x) => z.unique(x.mul(4).round(), { returnInverse: true, returnCounts: true })[1]!.float(),
  (x) => z.unique(x.detach().round(), { dim: 0, returnInverse: true })[0]!.narrow(0, 0, 1).expand(ROWS, COLUMNS),
  (x) => z.where(x.gt(0.5))[1]!.float().mean().add(x),
  (x) => x.diff({ dim: 0, prepend: x.narrow(0, 0, 1) }),
];
const VIEWS: readonly ((x: Tensor) => Tensor)[] = [
  (x) => x.view(COLUMNS, ROWS).view(ROWS, COLUMNS),
  (x) => x.t().contiguous().t(),
  (x) => x.t().reshape(ROWS, COLUMNS),
  (x) => z.cat(x.chunk(2, 0).reverse(), 0),
  (x) => z.stack(x.unbind(0), 0),
  (x) => x.at("::2").repeat(2, 1),
  (x) => x.select(0, 1).expand(ROWS, COLUMNS),
  (x) => x.narrow(1, 2, 4).repeat(1, 4),
  (x) => x.unsqueeze(0).transpose(0, 1).squeeze(1),
  (x) => x.asStrided([ROWS, COLUMNS], [COLUMNS, 1]),
  (x) => x.view(3, 4, COLUMNS).permute(1, 0, 2).reshape(ROWS, COLUMNS),
  (x) => x.detach(),
];
const BINARY: readonly ((x: Tensor, y: Tensor) => Tensor)[] = [
  (x, y) => x.add(y),
  (x, y) => x.add(y).add(x),
  (x, y) => x.mul(2).add(x.add(y)),
  (x, y) => x.mul(y),
  (x, y) => x.sub(y, { alpha: 2 }),
  (x, y) => z.maximum(x, y),
  (x, y) => z.where(x.gt(0), x, y),
  (x, y) => x.matmul(y.t()).matmul(y).mul(0.05),
  (x, y) =>
    x
      .view(3, 4, COLUMNS)
      .matmul(y.view(3, 4, COLUMNS).transpose(1, 2))
      .matmul(x.view(3, 4, COLUMNS))
      .view(ROWS, COLUMNS)
      .mul(0.05),
  (x, y) => z.nn.functional.linear(x.view(3, 4, COLUMNS), y.t().matmul(y).mul(0.05), y.at(0)).view(ROWS, COLUMNS),
  (x, y) => x.add(y.sum(0)),
  (x, y) => x.mul(y.mean(1, { keepdim: true })),
  (x, y) => x.add(z.nn.functional.mseLoss(x, y)),
  (x, y) => x.add(z.nn.functional.l1Loss(x, y, { reduction: "none" })),
  (x, y) => x.indexSelect(0, y.argmax(0).narrow(0, 0, ROWS)),
];
const INPLACE: readonly ((x: Tensor, y: Tensor) => Tensor)[] = [
  (x, y) => x.add_(y),
  (x, y) => x.mul_(y.tanh()),
  (x) => x.tanh_(),
  (x) => x.sigmoid_(),
  (x, y) => x.select(0, 2).copy_(y.at(1)),
  (x) => x.narrow(0, 0, 3).mul_(2),
  (x) => x.t().relu_(),
];

/** One run of a program. */
class Program {
  readonly numbers: Numbers;
  readonly leaves: Tensor[] = [];
  readonly pool: Tensor[] = [];
  /** All that the program was ever given, with what it was then. */
  readonly seen: Tensor[] = [];
  readonly log: unknown[] = [];
  private patience: number;

  constructor(seed: number) {
    this.numbers = new Numbers(seed);
    z.manualSeed(seed);
    for (let i = 0; i < 3; i++) this.leaves.push(z.randn(ROWS, COLUMNS).requiresGrad_());
    this.patience = this.numbers.below(4) === 0 ? this.numbers.below(6) : Number.POSITIVE_INFINITY;
    this.pool.push(...this.leaves);
  }

  see(t: Tensor | null | undefined): void {
    if (!t) return;
    this.seen.push(t);
    this.log.push(read(t));
  }

  hook(g: Tensor): Tensor | undefined {
    if (this.patience-- <= 0) throw new Interrupted("enough");
    const kind = this.numbers.below(8);
    if (kind < 4) this.see(g);
    if (kind === 3) this.pool.push(g);
    if (kind === 4) return g.mul(0.5);
    if (kind === 5) this.see(g.view(-1));
    if (kind === 6) return g;
    if (kind === 7) g.mul_(0.5);
    return undefined;
  }

  attempt(name: string, body: () => void): void {
    try {
      body();
    } catch (error) {
      // How often a gradient was added to in place before anybody saw it is nobody's business.
      const message = (error as Error).message.replace(
        /is at version \d+; expected version \d+/,
        "is at another version",
      );
      this.log.push(`${name}: ${message}`);
    }
  }

  step(): void {
    const n = this.numbers;
    const [x, y] = [n.of(this.pool), n.of(this.pool)];
    const kind = n.below(22);
    if (kind < 7) this.take(n.of(UNARY)(x));
    else if (kind < 10) this.take(n.of(VIEWS)(x));
    else if (kind < 14) this.take(n.of(BINARY)(x, y));
    else if (kind < 15) z.noGrad(() => this.take(n.of(BINARY)(x, y)));
    else if (kind < 16) n.of(INPLACE)(x, y);
    else if (kind < 17) x.registerHook((g) => this.hook(g));
    else if (kind < 18) x.retainGrad();
    else if (kind < 19) this.pool.splice(3 + n.below(this.pool.length), 1);
    else this.differentiate();
  }

  private take(t: Tensor): void {
    this.pool.push(t);
    if (this.numbers.below(3) === 0) this.see(t);
  }

  differentiate(): void {
    const n = this.numbers;
    const x = n.of(this.pool.slice(3).concat(this.pool.at(-1) as Tensor));
    const out = n.below(2) === 0 ? x.sum() : x;
    const gradient = out === x ? z.ones(ROWS, COLUMNS) : null;
    const options = { retainGraph: n.below(2) === 0, createGraph: n.below(4) === 0 };
    if (n.below(3) > 0) {
      out.backward(gradient, options.createGraph ? options : { retainGraph: options.retainGraph });
      for (const t of this.pool) if (t.isLeaf || t.retainsGrad) this.see(t.grad);
      if (n.below(3) === 0) for (const t of this.leaves) t.grad = null;
    } else {
      const inputs = [n.of(this.leaves), n.of(this.pool), n.of(this.pool)].filter((t) => t.requiresGrad);
      if (inputs.length === 0) return;
      const found = z.autograd.grad(out, inputs, {
        gradOutputs: gradient === null ? undefined : gradient,
        allowUnused: true,
        ...options,
      });
      for (const g of found) {
        this.see(g);
        if (g !== null) this.pool.push(g);
      }
    }
  }

  run(steps: number): unknown[] {
    for (let i = 0; i < steps; i++) this.attempt(`step ${i}`, () => this.step());
    this.attempt("at the end", () => this.differentiate());
    // Once more, when all that could be given back was.
    for (const t of [...this.seen, ...this.pool]) this.log.push(read(t));
    for (const t of this.leaves) this.log.push(t.grad === null ? null : read(t.grad));
    return this.log;
  }
}

function read(t: Tensor): string {
  return `${t.shape} ${t.isView()} ${t.requiresGrad} ${t.detach().reshape(-1).tolist().join(" ")}`;
}

/** What a program sees. */
export function outcome(seed: number, steps: number): unknown[] {
  return new Program(seed).run(steps);
}

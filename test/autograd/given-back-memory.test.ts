// What the library makes and hands to nobody goes back without the collector: counted in blocks of one size, while the
// program holds everything that it was given.
import { expect, test } from "bun:test";
import { autograd, cat, cpu, nn, noGrad, ones, randn, stack, type Tensor } from "../../src/index.ts";

const F = nn.functional;
const [ROWS, COLUMNS] = [256, 256];
const BLOCK = ROWS * COLUMNS * 4;
const leaf = (): Tensor => randn(ROWS, COLUMNS).requiresGrad_();

/** What some work leaves and what it has at once, in blocks; its results are held. */
function blocks<R>(work: () => R): { left: number; peak: number; result: R } {
  Bun.gc(true);
  const before = cpu.memoryAllocated();
  cpu.resetPeakMemoryStats();
  const result = work();
  const [left, peak] = [cpu.memoryAllocated() - before, cpu.maxMemoryAllocated() - before];
  return { left: Math.round(left / BLOCK) + 0, peak: Math.round(peak / BLOCK), result };
}

/** Operators written with others: what their forward leaves, with and without a graph, and what backward leaves. */
const COMPOSITES: Record<string, [call: (x: Tensor) => Tensor, plain: number, recorded: number]> = {
  layerNorm: [(x) => F.layerNorm(x, [COLUMNS]), 1, 1],
  softmin: [(x) => F.softmin(x, 1), 1, 1],
  "a loss without a reduction": [(x) => F.l1Loss(x, x.detach(), { reduction: "none" }), 1, 2],
  "a product of batches": [
    (x) =>
      x
        .view(4, 64, 256)
        .matmul(x.view(4, 64, 256).transpose(1, 2))
        .view(-1, COLUMNS),
    0,
    0,
  ],
  "a linear layer of rows": [(x) => F.linear(x.view(4, 64, 256), ones(256, 256), ones(256)).view(ROWS, COLUMNS), 2, 2],
};

for (const [name, [call, plain, recorded]] of Object.entries(COMPOSITES)) {
  test(`what is left of ${name}`, () => {
    const x = leaf();
    expect(blocks(() => noGrad(() => call(x))).left).toBe(plain);
    const forward = blocks(() => call(x));
    expect(forward.left).toBe(recorded);
    const g = ones(forward.result.shape);
    // The leaf's gradient comes, and what was saved on the way goes.
    expect(blocks(() => forward.result.backward(g)).left).toBe(1 + plain - recorded);
    expect(x.grad).not.toBeNull();
  });
}

test("a pass over a chain has two gradients at once, whatever its length", () => {
  for (const each of [(y: Tensor) => y.tanh(), (y: Tensor) => y.mul(y), (y: Tensor) => y.add(1).relu()]) {
    const x = leaf();
    const held = [x.mul(1)];
    for (let i = 0; i < 20; i++) held.push(each(held[i] as Tensor));
    const out = (held.at(-1) as Tensor).sum();
    const { left, peak } = blocks(() => out.backward());
    expect(left).toBe(1);
    expect(peak).toBeLessThanOrEqual(3);
  }
});

test("gradients of parts, of what is used several times, and of matrices", () => {
  const graphs: ((x: Tensor) => Tensor)[] = [
    (x) =>
      cat(
        x.chunk(4, 0).map((t) => t.tanh()),
        0,
      ),
    (x) => stack(x.split(64, 1).map((t) => t.sigmoid())).sum(0),
    (x) => x.matmul(x).add(x).mul(x),
    (x) => x.view(4, 64, 256).transpose(1, 2).reshape(ROWS, COLUMNS).add(x.t()),
    (x) =>
      x
        .expand(1, ROWS, COLUMNS)
        .sum([0])
        .add(x.narrow(0, 0, 1)),
  ];
  for (const graph of graphs) {
    const x = leaf();
    const out = graph(x).sum();
    const { left, peak } = blocks(() => out.backward({ retainGraph: true }));
    expect(left).toBe(1);
    expect(peak).toBeLessThanOrEqual(5);
    // Once more: nothing but what is added to.
    expect(blocks(() => out.backward({ retainGraph: true })).left).toBe(0);
  }
});

test("what is handed out stays: to hooks, as retained, as asked for", () => {
  const x = leaf();
  const y = x.mul(2);
  const seen: Tensor[] = [];
  y.registerHook((g) => void seen.push(g));
  y.retainGrad();
  const { left } = blocks(() => y.tanh().sum().backward());
  expect(left).toBeGreaterThanOrEqual(3);
  expect(seen[0]?.equal(y.grad as Tensor)).toBe(true);
  expect(x.grad?.equal((y.grad as Tensor).mul(2))).toBe(true);
  const [first, second] = autograd.grad(x.sin().mul(x).sum(), [x, x]) as [Tensor, Tensor];
  expect(first.equal(second)).toBe(true);
  for (const g of [first, ...seen]) g.dispose();
  expect(() => first.sum()).toThrow();
});

test("what one module of a chain gives to the next goes back behind that", () => {
  const chain = new nn.Sequential(
    new nn.Linear(COLUMNS, COLUMNS),
    new nn.ReLU(),
    new nn.Linear(COLUMNS, COLUMNS),
    new nn.LayerNorm([COLUMNS]),
    new nn.Identity(),
    new nn.Softmax(1),
  );
  const x = randn(ROWS, COLUMNS);
  expect(blocks(() => noGrad(() => chain(x))).left).toBe(1);
  const given: Tensor[] = [];
  chain.at(3).registerForwardHook((_module, [input], output) => void given.push(input as Tensor, output as Tensor));
  const watched = noGrad(() => chain(x));
  for (const t of given) expect(t.sum().isfinite().item()).toBe(true);
  class Own extends nn.Module {
    kept: Tensor | null = null;
    override forward(t: Tensor): Tensor {
      this.kept = t;
      return t;
    }
  }
  const own = new Own();
  noGrad(() => new nn.Sequential(new nn.Tanh(), own, new nn.Sigmoid(), new nn.Tanh())(x));
  expect(own.kept?.equal(x.tanh())).toBe(true);
  expect(watched.shape).toEqual(x.shape);
});

test("what leads to the elements of a mask goes back", () => {
  const x = randn(ROWS, COLUMNS);
  const mask = x.gt(0);
  const { left } = blocks(() => x.at(mask));
  expect(left).toBeLessThanOrEqual(1);
  expect(blocks(() => x.setAt(mask, 0)).left).toBe(0);
});

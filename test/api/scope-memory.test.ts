// A scope that makes much: what the collector may take although the scope is open, and what the scope still gives back.
import { expect, test } from "bun:test";
import {
  cpu,
  nn,
  noGrad,
  ones,
  randn,
  scope,
  stack,
  Tensor,
  TensorDict,
  tensorclass,
  tensordict,
  zeros,
} from "../../src/index.ts";
import { scopeState } from "../../src/tensor/scope-state.ts";

const MB = 2 ** 20;

/** Bytes at once and left behind, above what was there before. */
function memory(work: () => unknown): { peak: number; left: number } {
  Bun.gc(true);
  const before = cpu.memoryAllocated();
  cpu.resetPeakMemoryStats();
  const result = work();
  const left = cpu.memoryAllocated() - before;
  if (result === cpu) throw new Error("the result stays reachable until here");
  return { peak: (cpu.maxMemoryAllocated() - before) / MB, left: left / MB };
}

test("a loop in a scope needs what it needs without one, and a little", () => {
  const x = randn(MB / 4);
  const loop = (): void => {
    for (let i = 0; i < 400; i++) x.add(1).mul(2);
  };
  // All results are 800 MB.
  expect(memory(() => scope(loop)).peak).toBeLessThan(200);
  expect(memory(() => scope(() => scope(loop))).peak).toBeLessThan(200);
  expect(memory(() => scope(() => noGrad(() => nn.functional.layerNorm(x.view(-1, 64), [64])))).left).toBeLessThan(2);
});

test("a pass within a scope gives back what the graph had", () => {
  const x = randn(MB / 4).requiresGrad_();
  const step = (): void => {
    let y: Tensor = x;
    for (let i = 0; i < 40; i++) y = y.mul(1.01).tanh();
    y.sum().backward();
    x.grad = null;
  };
  const plain = memory(step);
  const scoped = memory(() => scope(step));
  expect(scoped.peak).toBeLessThan(plain.peak + 48);
});

test("what was made first is given back at the end, what fell out stays usable", () => {
  const held: Tensor[] = [];
  const made: Tensor[] = [];
  scope(() => {
    for (let i = 0; i < 12; i++) held.push(zeros(MB / 4));
    for (let i = 0; i < 200; i++) made.push(zeros(MB / 4).add(i));
  });
  for (const t of held) expect(() => t.sum()).toThrow("disposed");
  const usable = made.filter((t, i) => {
    try {
      return t.at(0).item() === i;
    } catch (error) {
      expect((error as Error).message).toContain("disposed");
      return false;
    }
  });
  expect(usable.length).toBeGreaterThan(100);
});

test("scopes one in another hold little together, and results go from one to the next", () => {
  const total = scope(() => {
    let sum: Tensor = zeros(MB / 4);
    const { peak } = memory(() => {
      for (let i = 0; i < 100; i++) sum = scope(() => scope(() => sum.add(1)).mul(1));
    });
    expect(peak).toBeLessThan(150);
    return sum;
  });
  expect(total.at(5).item()).toBe(100);
});

test("lists of tiny tensors stay short, too", () => {
  scope(() => {
    const first = zeros(2);
    for (let i = 0; i < 50_000; i++) first.add(i);
    expect(scopeState.open.at(-1)?.length).toBeLessThan(5000);
    first.sum();
  });
  expect(scopeState.open.length).toBe(0);
});

test("a scope that failed or was left open late takes its list along", () => {
  expect(() =>
    scope(() => {
      throw new Error("midway");
    }),
  ).toThrow("midway");
  expect(scopeState.open.length).toBe(0);
  const outer = scope();
  const inner = scope();
  expect(() => outer[Symbol.dispose]()).toThrow("reverse order");
  expect(scopeState.open.length).toBe(2);
  inner[Symbol.dispose]();
  outer[Symbol.dispose]();
  expect(scopeState.open.length).toBe(0);
});

const N = 1 << 12;
const value = (): Tensor => zeros(2, N).add(1);
// biome-ignore lint/suspicious/noExplicitAny: keys that come later
type Holder = any;
const dict = (): Holder => new TensorDict({ a: zeros(2, N) }, [2]);
const lazy = (): Holder => tensordict.lazyStack([dict(), dict()]);

/** Ways in which something that is there before a scope gets to hold what is made in it. */
const WAYS: Record<string, [make: () => Holder, act: (holder: Holder) => void, look: (holder: Holder) => Tensor]> = {
  "an entry": [dict, (td) => td.set(["n", "b"], value()), (td) => td.get(["n", "b"])],
  "an update": [dict, (td) => td.update({ n: { b: value() } }), (td) => td.get(["n", "b"])],
  "a key of another name": [dict, (td) => td.set("b", value()).renameKey_("b", "c"), (td) => td.get("c")],
  "a member at the end": [lazy, (td) => td.append(dict().add(1)), (td) => td.at(2).get("a")],
  "a member within": [lazy, (td) => td.insert(0, dict().add(1)), (td) => td.at(0).get("a")],
  "several members": [lazy, (td) => td.extend([dict().add(1)]), (td) => td.at(2).get("a")],
  "an entry of members": [lazy, (td) => td.set("b", stack([value(), value()])), (td) => td.at(1).get("b")],
  "a field of a class": [
    () => {
      class Point extends tensorclass({ x: Tensor }) {}
      return new Point({ x: zeros(2, N) } as never, { batchSize: [2] } as never);
    },
    (p) => {
      p.x = value();
    },
    (p) => p.x,
  ],
  "parameters put into a module": [
    () => new nn.Linear(N, 2),
    (m) => TensorDict.fromModule(m).data.mul(0).add(1).toModule(m),
    (m) => m.weight,
  ],
  "other data": [
    () => zeros(2, N),
    (x) => {
      x.data = value();
    },
    (x) => x,
  ],
  "a storage": [() => zeros(2), (x) => x.set_(value()), (x) => x],
};
for (const [name, [make, act, look]] of Object.entries(WAYS)) {
  test(`what outlives a scope is kept: ${name}`, () => {
    const holder = make();
    scope(() => {
      act(holder);
    });
    expect(look(holder).sum().item()).toBe(2 * N);
  });
}

test("a gradient that is retained outlives the scope of its pass", () => {
  const x = zeros(N).requiresGrad_().mul(1);
  x.retainGrad();
  for (let i = 1; i <= 2; i++) {
    scope(() => x.mul(2).sum().backward({ retainGraph: true }));
    expect(x.grad?.sum().item()).toBe(2 * i * N);
  }
});

test("a module keeps what its methods left in its fields, however they were called", () => {
  class Cached extends nn.Module {
    layer = new nn.Linear(4, 4);
    readonly keys: Tensor[] = [];
    last: { x: Tensor } | null = null;
    decode(x: Tensor): number {
      this.keys.push(this.layer(x).expand(N, 4).add(0));
      this.last = { x: zeros(N) };
      return this.keys.length;
    }
  }
  const model = new Cached().eval();
  for (let i = 1; i <= 3; i++) expect(scope(() => model.decode(ones(1, 4)))).toBe(i);
  for (const t of [...model.keys, model.last?.x as Tensor]) expect(t.sum().isfinite().item()).toBe(true);
});

// `scope`: what is freed at its end, and what is not.

import { describe, expect, test } from "bun:test";
import { cpu, nn, randn, scope, type Tensor, TensorDict, tensor, zeros } from "../../src/index.ts";

const N = 1 << 16;
const disposed = "this tensor was disposed";

/** Native bytes that a function leaves behind without the collector's help. */
function left(body: () => unknown): number {
  Bun.gc(true);
  const before = cpu.memoryAllocated();
  const result = body();
  const after = cpu.memoryAllocated();
  if (result === cpu) throw new Error("the result stays reachable until here");
  return after - before;
}

describe("scope(function)", () => {
  test("frees intermediates at once and keeps the result", () => {
    const x = randn(N);
    expect(left(() => scope(() => x.add(1).mul(2).sub(3)))).toBe(4 * N);
    expect(left(() => scope(() => x.add(1).mul(2).sum().item()))).toBe(0);
    expect(x.numel()).toBe(N);
    x.add(1);
  });

  test("keeps what a result holds, in any structure", () => {
    const made = scope(() => {
      const [a, b, c, d] = [zeros(N), zeros(N), zeros(N), zeros(N)];
      return { list: [a], map: new Map([["b", b]]), td: new TensorDict({ c }, [N]), d: { d } };
    });
    for (const t of [made.list[0], made.map.get("b"), made.td.get("c"), made.d.d]) {
      expect((t as Tensor).sum().item()).toBe(0);
    }
  });

  test("a result in a ring of objects ends", () => {
    const ring: { self?: unknown; t?: Tensor } = {};
    ring.self = ring;
    scope(() => {
      ring.t = zeros(N);
      return ring;
    });
    expect(ring.t?.sum().item()).toBe(0);
  });

  test("a view in the result keeps its bytes", () => {
    const view = scope(() => zeros(N).add(7).narrow(0, 5, 3));
    expect(view.tolist()).toEqual([7, 7, 7]);
  });

  test("a tensor that got away says that it was freed", () => {
    let away: Tensor | undefined;
    scope(() => {
      away = zeros(N);
    });
    expect(() => away?.add(1)).toThrow(disposed);
    expect(() => away?.narrow(0, 0, 1).item()).toThrow(disposed);
    expect(() => away?.tolist()).toThrow(disposed);
  });

  test("in-place results and outer tensors stay", () => {
    const x = zeros(N);
    scope(() => {
      x.add_(zeros(N).add(1));
      x.view(-1);
    });
    expect(x.sum().item()).toBe(N);
  });

  test("an error frees everything made so far", () => {
    const x = zeros(N);
    const failing = () => {
      try {
        scope(() => {
          x.add(1).mul(2);
          throw new Error("midway");
        });
      } catch {}
    };
    expect(left(failing)).toBe(0);
  });

  test("nested: the result of an inner scope belongs to the outer one", () => {
    let inner: Tensor | undefined;
    scope(() => {
      inner = scope(() => zeros(N).add(1));
      expect(inner.sum().item()).toBe(N);
    });
    expect(() => inner?.sum()).toThrow(disposed);
  });

  test("an async function is refused", () => {
    expect(() => scope(async () => zeros(N))).toThrow("not async");
    // The scope has ended.
    const x = zeros(N);
    expect(x.add(1).sum().item()).toBe(N);
  });
});

describe("what something else holds", () => {
  test("gradients", () => {
    const w = zeros(N).requiresGrad_();
    for (let i = 1; i <= 2; i++) {
      scope(() => w.mul(3).sum().backward());
      expect(w.grad?.sum().item()).toBe(3 * i * N);
    }
  });

  test("what a graph needs for backward", () => {
    const w = randn(N).requiresGrad_();
    const loss = scope(() => w.exp().mul(w.sin()).sum());
    loss.backward();
    const wanted = w.detach().exp().mul(w.detach().sin().add(w.detach().cos()));
    expect(w.grad?.sub(wanted).abs().max().item()).toBeLessThan(1e-4);
  });

  test("entries of a TensorDict, buffers and parameters of a module", () => {
    const td: TensorDict = new TensorDict({ first: zeros(N) }, [N]);
    const model = new nn.Linear(2, 2);
    scope(() => {
      td.set("a", zeros(N).add(1));
      td.set("nested", new TensorDict({ b: zeros(N).add(2) }, [N]));
      model.registerBuffer("big", zeros(N).add(3));
      model.registerParameter("wide", new nn.Parameter(zeros(N).add(4)));
    });
    expect((td.get("a" as never) as unknown as Tensor).sum().item()).toBe(N);
    expect((td.get(["nested", "b"] as never) as unknown as Tensor).sum().item()).toBe(2 * N);
    const state = model.stateDict() as unknown as Map<string, Tensor> | Record<string, Tensor>;
    const values = state instanceof Map ? [...state.values()] : Object.values(state);
    expect(values.length).toBeGreaterThan(0);
    for (const t of values) t.sum().item();
  });

  test("what modules that were called have in their fields", () => {
    class Cached extends nn.Module {
      readonly keys: Tensor[] = [];
      readonly state = new Map<string, { mean: Tensor | null }>([["a", { mean: null }]]);
      last: Tensor | null = null;
      #calls = 0;
      override forward(x: Tensor): Tensor {
        this.#calls++;
        this.keys.push(x.add(this.#calls));
        const state = this.state.get("a") as { mean: Tensor | null };
        state.mean = state.mean === null ? x.add(0) : state.mean.mul(0.5).add(x);
        this.last = x.add(5).narrow(0, 0, 8);
        return x.mul(2);
      }
    }
    const inner = new Cached();
    class Outer extends nn.Module {
      inner = inner;
      override forward(x: Tensor): Tensor {
        return this.inner(x.add(0));
      }
    }
    const model = new Outer();
    const x = zeros(N).add(1);
    for (let i = 1; i <= 3; i++) expect(scope(() => scope(() => model(x).sum().item()))).toBe(2 * N);
    expect(inner.keys.map((t) => t.at(0).item())).toEqual([2, 3, 4]);
    expect(inner.state.get("a")?.mean?.at(-1).item()).toBe(1.75);
    expect(inner.last?.tolist()).toEqual(new Array(8).fill(6));
    // One more key, another mean and another block for the last rows: the former ones are the collector's.
    const before = cpu.memoryAllocated();
    scope(() => model(x).sum().item());
    expect(cpu.memoryAllocated() - before).toBeLessThanOrEqual(3 * 4 * N);
  });

  test("typed arrays", () => {
    const array = scope(() => zeros(N).add(1).typedArray()) as Float32Array;
    expect(array.length).toBe(N);
    expect(array[N - 1]).toBe(1);
  });
});

describe("using s = scope()", () => {
  test("ends with the block; keep() lets a tensor out", () => {
    let kept: Tensor | undefined;
    let lost: Tensor | undefined;
    {
      using s = scope();
      lost = tensor([1, 2]).add(1);
      kept = s.keep(zeros(N).add(1));
    }
    expect(kept.sum().item()).toBe(N);
    expect(() => lost.add(1)).toThrow(disposed);
  });

  test("ends once, and in order", () => {
    const outer = scope();
    const inner = scope();
    expect(() => outer[Symbol.dispose]()).toThrow("reverse order");
    inner[Symbol.dispose]();
    inner[Symbol.dispose]();
    outer[Symbol.dispose]();
    const x = zeros(N);
    expect(left(() => x.add(1))).toBe(4 * N);
  });
});

describe("dispose()", () => {
  test("gives the bytes back at once, and only once", () => {
    const x = zeros(N);
    const view = x.view(2, -1);
    const before = cpu.memoryAllocated();
    x.dispose();
    x.dispose();
    expect(cpu.memoryAllocated()).toBe(before);
    expect(view.sum().item()).toBe(0);
    view.dispose();
    expect(before - cpu.memoryAllocated()).toBe(4 * N);
    expect(() => x.add(1)).toThrow(disposed);
  });

  test("using", () => {
    const before = cpu.memoryAllocated();
    {
      using x = zeros(N);
      expect(cpu.memoryAllocated() - before).toBe(4 * N);
      x.add_(1);
    }
    expect(cpu.memoryAllocated()).toBe(before);
  });
});

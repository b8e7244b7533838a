// `using` of TensorDicts: locks nest, views write back, modules get their tensors back; and what is locked like what.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { arange, ones, zeros } from "../../generated/functional.ts";
import { tensor } from "../../src/api/tensor-data.ts";
import { Linear, Parameter } from "../../src/nn/index.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { lazyStack, TensorDict } from "../../src/tensordict/index.ts";

function sample(): Td {
  return new TensorDict({ a: arange(6).to("float32").reshape(2, 3), n: { b: ones(2, 3, 2) } }, [2, 3]) as unknown as Td;
}

function shapes(td: Td): Record<string, number[]> {
  const items = td.items({ includeNested: true, leavesOnly: true });
  return Object.fromEntries(items.map(([key, t]) => [String(key), [...(t as Tensor).shape]]));
}

describe("locks", () => {
  test("lock_ and unlock_ in each other", () => {
    const td = sample();
    const seen: boolean[] = [];
    const look = () => seen.push(td.isLocked);
    {
      using _ = td.lock_();
      look();
      {
        using _ = td.unlock_();
        look();
        {
          using _ = td.lock_();
          look();
        }
        look();
      }
      look();
    }
    look();
    expect(seen).toEqual([true, false, true, false, true, false]);
  });

  test("every order of three calls, some in blocks of their own: as Python's", () => {
    // Each block takes back what its call did, and nothing where the call changed nothing.
    for (const locked of [false, true]) {
      for (let bits = 0; bits < 64; bits++) {
        const td = sample();
        if (locked) td.lock_();
        const calls = [0, 1, 2].map((i) => ({ lock: ((bits >> i) & 1) === 1, block: ((bits >> (i + 3)) & 1) === 1 }));
        const want = [td.isLocked];
        const got = [td.isLocked];
        const go = (i: number, state: boolean): boolean => {
          const call = calls[i];
          if (call === undefined) return state;
          const change = () => (call.lock ? td.lock_() : td.unlock_());
          if (!call.block) {
            change();
            got.push(td.isLocked);
            want.push(call.lock);
            return go(i + 1, call.lock);
          }
          let after: boolean;
          {
            using _ = change();
            got.push(td.isLocked);
            want.push(call.lock);
            after = go(i + 1, call.lock);
          }
          const restored = call.lock === state ? after : state;
          got.push(td.isLocked);
          want.push(restored);
          return restored;
        };
        go(0, locked);
        expect(got).toEqual(want);
      }
    }
  });

  test("other calls in between do not change what a block takes back", () => {
    const td = sample();
    {
      using _ = td.lock_();
      td.unlock_();
      td.lock_();
      using view = td.view(2, 3);
      expect(view).toBe(td);
    }
    expect(td.isLocked).toBe(false);
    td.lock_();
    td[Symbol.dispose]();
    td[Symbol.dispose]();
    expect(td.isLocked).toBe(false);
  });

  const CHANGES: Record<string, [(td: Td) => Td, boolean]> = {
    view: [(td) => td.view(-1), true],
    reshape: [(td) => td.reshape(3, 2), true],
    transpose: [(td) => td.transpose(0, 1), true],
    permute: [(td) => td.permute(1, 0), true],
    unsqueeze: [(td) => td.unsqueeze(0), true],
    squeeze: [(td) => td.unsqueeze(0).squeeze(0), true],
    "squeeze()": [(td) => td.unsqueeze(0).squeeze(), true],
    flatten: [(td) => td.flatten(), true],
    unflatten: [(td) => td.unflatten(1, [3, 1]), true],
    split: [(td) => td.split(1)[0] as Td, true],
    chunk: [(td) => td.chunk(2, 1)[1] as Td, true],
    expand: [(td) => td.expand(4, 2, 3), true],
    repeat: [(td) => td.repeat(1, 2), true],
    add: [(td) => td.add(1), true],
    abs: [(td) => td.abs(), true],
    isfinite: [(td) => td.isfinite(), true],
    float: [(td) => td.float(), true],
    "to(dtype)": [(td) => td.to("float64"), true],
    detach: [(td) => td.detach(), true],
    "apply with propagateLock": [(td) => td.apply((t) => t, { propagateLock: true }), true],
    unbind: [(td) => td.unbind(1)[0] as Td, false],
    gather: [(td) => td.gather(0, zeros([1, 3], { dtype: "int64" })), false],
    at: [(td) => td.at(":1"), false],
    clone: [(td) => td.clone(), false],
    select: [(td) => td.select("a"), false],
    flattenKeys: [(td) => td.flattenKeys(), false],
    eq: [(td) => td.eq(td), false],
    apply: [(td) => td.apply((t) => t), false],
    contiguous: [(td) => td.contiguous(), false],
    sum: [(td) => td.sum(0), false],
  };
  for (const [name, [change, locked]] of Object.entries(CHANGES)) {
    test(`${name} of a locked TensorDict is ${locked ? "locked" : "not"}`, () => {
      const td = change(sample().lock_());
      expect(td.isLocked).toBe(locked);
      const inner = td.get("n", null);
      if (inner !== null) expect(inner.isLocked).toBe(locked);
      expect(change(sample()).isLocked).toBe(false);
    });
  }

  test("a lazy stack of locked members is locked", () => {
    const member = () => new TensorDict({ a: ones(3) }, [3]) as unknown as Td;
    const td = lazyStack([member().lock_(), member()]);
    expect(td.isLocked).toBe(false);
    (td as unknown as { members: Td[] }).members[1]?.lock_();
    expect(td.isLocked).toBe(true);
    expect(() => td.set("b", ones(2, 3))).toThrow("Cannot modify locked TensorDict");
    td.unlock_().set("b", ones(2, 3));
  });
});

describe("views write back", () => {
  const VIEWS: Record<string, (td: Td) => Td> = {
    transpose: (td) => td.transpose(0, -1),
    permute: (td) => td.permute(1, 0),
    view: (td) => td.view(-1),
    "view of the same size": (td) => td.view(2, 3),
    flatten: (td) => td.flatten(),
    unflatten: (td) => td.unflatten(-1, [1, 3]),
    unsqueeze: (td) => td.unsqueeze(-1),
    "squeeze of a dimension that is none of 1": (td) => td.squeeze(0),
    flattenKeys: (td) => td.flattenKeys("."),
  };
  for (const [name, change] of Object.entries(VIEWS)) {
    test(name, () => {
      const td = sample();
      {
        using view = change(td);
        view.set("new", zeros([...view.batchSize]));
        view.set("a", view.get("a").add(10));
      }
      expect(shapes(td)).toEqual({ a: [2, 3], "n,b": [2, 3, 2], new: [2, 3] });
      expect(td.get("a").sum().item()).toBe(75);
    });
  }

  test("squeeze, unflattenKeys, and a lazy stack", () => {
    const one = new TensorDict({ "a.b": ones(1, 3) }, [1]) as unknown as Td;
    {
      using view = one.squeeze(0);
      view.set("c", zeros(3));
    }
    expect(shapes(one)).toEqual({ "a.b": [1, 3], c: [1, 3] });
    {
      using view = one.unflattenKeys(".");
      view.set(["a", "d"], zeros(1));
    }
    expect(shapes(one)).toEqual({ "a.b": [1, 3], c: [1, 3], "a.d": [1] });
    const lazy = lazyStack([sample(), sample()]);
    {
      using view = lazy.transpose(0, 2);
      view.set("new", ones(3, 2, 2));
    }
    expect(lazy.get("new").shape).toEqual([2, 2, 3] as never);
  });

  test("of views, of views of views, and of a locked one", () => {
    const td = sample();
    {
      using view = td.view(-1);
      using wide = view.unsqueeze(0);
      wide.set("q", ones(1, 6));
    }
    expect(td.get("q").shape).toEqual([2, 3] as never);
    td.lock_();
    {
      using view = td.view(-1);
      expect(() => view.set("r", ones(6))).toThrow("locked");
      view.set_("a", ones(6));
    }
    expect(td.get("a").sum().item()).toBe(6);
  });

  test("squeeze() does not know what to undo; reshape, split and select take nothing back", () => {
    const td = sample().unsqueeze(0);
    expect(() => {
      using _ = td.squeeze();
    }).toThrow("Cannot use td.squeeze() as a decorator if the dimension is implicit.");
    for (const view of [td.reshape(6), td.split(1, 1)[0] as Td, td.select("a")]) {
      view.set("new", zeros([...view.batchSize]));
      view[Symbol.dispose]();
      expect(td.has("new")).toBe(false);
    }
  });

  test("in place: the keys are nested again", () => {
    const td = sample();
    {
      using flat = td.flattenKeys(".", { inplace: true });
      expect(flat).toBe(td);
      expect(td.keys()).toEqual(["a", "n.b"]);
    }
    expect(td.keys()).toEqual(["a", "n"]);
  });

  test("a chain of views does not keep everything alive", () => {
    let td = sample();
    for (let i = 0; i < 100; i++) td = td.unsqueeze(0).squeeze(0);
    let links = 0;
    for (let at = td._undo; at !== null; at = at.before) links++;
    expect(links).toBe(1);
    {
      using view = td.view(-1);
      view.set("new", ones(6));
    }
    expect(td.has("new")).toBe(true);
  });
});

describe("toModule", () => {
  test("plain tensors become parameters that get gradients", () => {
    const layer = new Linear(3, 2);
    const before = layer.weight;
    const td = new TensorDict({ weight: ones(2, 3), bias: zeros(2) }) as unknown as Td;
    {
      using _ = td.toModule(layer);
      expect(layer.weight).toBeInstanceOf(Parameter);
      expect(layer.weight._storage).toBe(td.get("weight")._storage);
      layer.forward(ones(1, 3)).sum().backward();
      expect(layer.weight.grad?.tolist()).toEqual([
        [1, 1, 1],
        [1, 1, 1],
      ]);
    }
    expect(layer.weight).toBe(before);
    expect(td.get("weight").requiresGrad).toBe(false);
  });

  test("tensors that track gradients go in as they are", () => {
    const layer = new Linear(3, 1);
    const leaf = tensor([1, 2, 3], { requiresGrad: true });
    const td = new TensorDict({ weight: leaf.mul(2).unsqueeze(0), bias: zeros(1) }) as unknown as Td;
    {
      using _ = td.toModule(layer);
      layer.forward(ones(1, 3)).sum().backward();
    }
    expect(leaf.grad?.tolist()).toEqual([2, 2, 2]);
    const kept = new TensorDict({ weight: ones(1, 3) }) as unknown as Td;
    using _ = kept.toModule(layer, { preserveModuleState: false });
    expect(layer.weight).toBe(kept.get("weight"));
  });

  test("a parameter that wants no gradients is replaced by one that wants none", () => {
    const layer = new Linear(3, 1);
    layer.weight.requiresGrad_(false);
    using _ = (new TensorDict({ weight: new Parameter(ones(1, 3)) }) as unknown as Td).toModule(layer);
    expect(layer.weight.requiresGrad).toBe(false);
  });
});

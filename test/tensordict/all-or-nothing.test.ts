// Writes of several entries change all of them or none; parts of lazy stacks reach their members.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { arange, ones, zeros } from "../../generated/functional.ts";
import { tensor } from "../../src/api/tensor-data.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import type { IndexPart } from "../../src/tensordict/core/types.ts";
import { type LazyStackedTensorDict, lazyStack, TensorDict, tensorclass } from "../../src/tensordict/index.ts";

class WrittenPair extends tensorclass({ a: Tensor, b: Tensor }) {}

const make = (fields: object, size: number[]) => new TensorDict(fields, size) as unknown as Td;
const sample = () => make({ a: zeros(2), n: { b: zeros(2), c: zeros(2) }, s: "old" }, [2]);
const point = () => new WrittenPair({ a: zeros(2), b: zeros(2) }, { batchSize: [2] }) as unknown as Td;
const stack = () => lazyStack([make({ a: zeros(2), s: "old" }, [2]), make({ a: zeros(2), s: "old" }, [2])], 1);

function content(td: Td): string {
  return JSON.stringify(
    td.items({ includeNested: true, leavesOnly: true }).map(([key, entry]) => {
      return [key, (entry as Tensor | { tolist(): unknown }).tolist()];
    }),
  );
}

const wide = ones(2, 7);
const leaf = () => zeros(2).requiresGrad_(true);
const CASES: Record<string, [() => Td, (td: Td) => unknown, string]> = {
  "update: a batch that does not fit": [sample, (td) => td.update({ a: ones(2), z: ones(3) }), "batch dimension"],
  "update: below another key": [sample, (td) => td.update({ a: ones(2), n: { b: ones(2), d: ones(3) } }), "batch"],
  "update: no value": [sample, (td) => td.update({ a: ones(2), z: undefined }), "undefined is no value"],
  "update: a tree of another batch": [sample, (td) => td.update(make({ a: ones(3) }, [3])), "got a source with batch"],
  "update: paths that cross": [
    sample,
    (td) =>
      td.update(
        new Map<never, unknown>([
          ["x", ones(2)],
          [["x", "y"], ones(2)],
        ] as never),
      ),
    "goes through x",
  ],
  "update: a field that the class has not": [point, (td) => td.update({ a: ones(2), z: ones(2) }), "has no field 'z'"],
  "update in place: a shape": [sample, (td) => td.update({ a: ones(2), n: { b: wide } }, { inplace: true }), "fit"],
  "update_: a missing key": [sample, (td) => td.update_({ a: ones(2), zz: ones(2) }), "The key zz was not found"],
  "update_: a missing key below": [sample, (td) => td.update_({ a: ones(2), n: { zz: ones(2) } }), "zz"],
  "update_: a shape": [
    sample,
    (td) => td.update_({ a: ones(2), n: { b: wide } }),
    "update_() cannot copy the value of shape",
  ],
  "update_: a tree for a tensor": [sample, (td) => td.update_({ n: { b: ones(2) }, a: { q: 1 } }), ""],
  "update_: a tensor for a tree": [
    sample,
    (td) => td.update_({ a: ones(2), n: ones(2) }),
    "Failed to update 'n' in tensordict",
  ],
  "update_: a leaf with gradients": [
    () => make({ a: zeros(2), b: leaf() }, [2]),
    (td) => td.update_({ a: ones(2), b: ones(2) }),
    "a leaf Variable that requires grad",
  ],
  "update_: memory that overlaps": [
    () => make({ a: zeros(2), b: zeros(1).expand(2) }, [2]),
    (td) => td.update_({ a: ones(2), b: ones(2) }),
    "more than one element",
  ],
  copy_: [sample, (td) => td.copy_(make({ a: ones(2), n: { b: ones(2, 3) } }, [2])), "update_() cannot copy the value"],
  updateAt_: [sample, (td) => td.updateAt_({ a: 1, n: { b: ones(5) } }, 0), ""],
  "updateAt_: a key that is new": [sample, (td) => td.updateAt_({ fresh: ones(1), n: { b: ones(5) } }, "0:1"), ""],
  "setAt: a tree": [sample, (td) => td.setAt(0, make({ a: ones(1).at(0), n: { b: ones(4) } }, [])), ""],
  "setAt: one value for all": [sample, (td) => td.setAt(0, ones(3)), ""],
  "setAt: an index outside": [sample, (td) => td.setAt(2, { a: 1 }), "index 2 is out of bounds"],
  "set: a level on the way": [sample, (td) => td.set(["x", "y", "z"], ones(3)), "batch dimension mismatch"],
  loadStateDict: [sample, (td) => td.loadStateDict({ a: ones(2), "n.b": wide, "n.c": ones(2) }), "does not fit"],
  "loadStateDict, assigned": [
    sample,
    (td) => td.loadStateDict({ a: ones(2), "n.b": ones(3), "n.c": ones(2) }, { assign: true }),
    "batch dimension mismatch",
  ],
  "renameKey_ to a place that is none": [sample, (td) => td.renameKey_("a", ["s", "x"]), "not a tensordict"],
  "a stack: update": [stack, (td) => td.update({ a: ones(2, 2), z: ones(2, 3) }), "batch dimension"],
  "a stack: update_": [stack, (td) => td.update_({ a: ones(2, 2), s: { q: 1 }, zz: 1 }), ""],
  "a stack: setAt": [stack, (td) => td.setAt(["...", 1], { a: ones(2), b: ones(7, 7) }), ""],
  "a stack: a locked member": [
    () => {
      const td = stack() as Td & { members: readonly Td[] };
      td.members[1]?.lock_();
      return td;
    },
    (td) => td.set("new", ones(2, 2)),
    "locked",
  ],
  "unflattenKeys in place: a clash": [
    () => make({ "a.b": ones(2), a: zeros(2), "c.d": ones(2) }, [2]),
    (td) => td.unflattenKeys(".", { inplace: true }),
    "will override an existing for unflattened key ('a', 'b')",
  ],
  "flattenKeys in place: fields": [
    () =>
      new WrittenPair({ a: zeros(2), b: zeros(2) }, { batchSize: [2] }).set(
        "b" as never,
        make({ c: ones(2) }, [2]),
      ) as never,
    (td) => td.flattenKeys(".", { inplace: true }),
    "has no field 'b.c'",
  ],
};

describe("a call that fails changes nothing", () => {
  for (const [name, [build, change, text]] of Object.entries(CASES)) {
    test(name, () => {
      const td = build();
      const before = content(td);
      expect(() => change(td)).toThrow(text);
      expect(content(td)).toBe(before);
      expect([...td.batchSize]).toEqual([...build().batchSize]);
    });
  }
});

describe("update", () => {
  test("keysToUpdate", () => {
    const source = () => ({ a: ones(2), z: ones(2), n: { b: ones(2), c: ones(2) } });
    const after = (keys: (string | string[])[]) => {
      const td = sample().update(source(), { keysToUpdate: keys });
      return td
        .items({ includeNested: true, leavesOnly: true })
        .flatMap(([key, t]) => (t instanceof Tensor && t.sum().item() === 2 ? [String(key)] : []));
    };
    expect(after(["a"])).toEqual(["a"]);
    expect(after([["n", "b"]])).toEqual(["n,b"]);
    expect(after(["n", "z"])).toEqual(["n,b", "n,c", "z"]);
    expect(after([])).toEqual([]);
    const td = sample().update_({ a: ones(2), zz: ones(2) }, { keysToUpdate: ["a"] });
    expect(td.get("a").tolist()).toEqual([1, 1]);
    expect(
      make({}, [2])
        .update(source(), { keysToUpdate: [["n", "b"]] })
        .keys({ includeNested: true, leavesOnly: true }),
      // What is not there yet comes whole, as in Python.
    ).toEqual([
      ["n", "b"],
      ["n", "c"],
    ] as never);
  });

  test("in place: what is there is written into, the rest is added", () => {
    const td = sample();
    const a = td.get("a");
    td.update({ a: ones(2), z: ones(2) }, { inplace: true });
    expect(td.get("a")).toBe(a);
    expect(a.tolist()).toEqual([1, 1]);
    expect(td.has("z")).toBe(true);
    td.lock_().update({ a: zeros(2) }, { inplace: true });
    expect(a.tolist()).toEqual([0, 0]);
    expect(() => td.update({ y: ones(2) }, { inplace: true })).toThrow("locked");
    expect(td.unlock_().update(td)).toBe(td);
  });

  test("paths as keys of a Map", () => {
    const td = make({}, [2]).update(
      new Map<never, unknown>([
        [["x", "y"], ones(2)],
        [["x", "z"], zeros(2)],
      ] as never),
    );
    expect(td.keys({ includeNested: true, leavesOnly: true })).toEqual([
      ["x", "y"],
      ["x", "z"],
    ]);
  });
});

describe("unflattenKeys", () => {
  const after = (fields: object) =>
    JSON.stringify(make(fields, []).unflattenKeys(".").keys({ includeNested: true, leavesOnly: true }));
  test("adds to a level that is there", () => {
    expect(after({ "a.b": 1, a: { c: 3 } })).toBe('[["a","c"],["a","b"]]');
    expect(after({ z: 0, "a.b": 1, c: 2, "a.d": 3 })).toBe('["z","c",["a","b"],["a","d"]]');
  });
  for (const fields of [
    { "a.b": 1, a: 2 },
    { a: 2, "a.b": 1 },
    { a: { b: 3 }, "a.b": 1 },
    { "a.b": 1, a: { b: 3 } },
    { "a.b": 1, "a.b.c": 3 },
    { "a.b.c": 1, "a.b": 3 },
    { a: "text", "a.b": 1 },
  ]) {
    test(`overwrites nothing: ${Object.keys(fields)}`, () =>
      expect(() => after(fields)).toThrow("will override an existing"));
  }
  test("an empty separator", () => expect(() => make({ a: 1 }, []).unflattenKeys("")).toThrow("empty separator"));
});

describe("a part of a lazy stack", () => {
  const numbers = (dim: number) =>
    lazyStack(
      [0, 1, 2].map((i) =>
        make(
          {
            a: arange(8)
              .reshape(4, 2)
              .add(10 * i),
            s: `x${i}`,
          },
          [4],
        ),
      ),
      dim,
    );
  const INDICES: Record<string, IndexPart> = {
    "a number": 1,
    "two numbers": [1, 2],
    "a slice": "1:",
    "an ellipsis": ["...", 0],
    "beyond the batch": [0, 1, 1],
    "a mask": tensor([true, false, true]),
    "a list of rows": [[0, 2]],
    nothing: [],
  };
  for (const dim of [0, 1]) {
    for (const [name, index] of Object.entries(INDICES)) {
      if (dim === 1 && name === "a mask") continue;
      test(`along ${dim}: ${name}`, () => {
        const td = numbers(dim);
        const dense = (td as unknown as { densify(): Td }).densify();
        td.setAt_("a", -1, index);
        dense.setAt_("a", -1, index);
        expect(dense.get("a").eq(-1).any().item()).toBe(true);
        expect(td.get("a").equal(dense.get("a"))).toBe(true);
        const part = dense
          .get("a")
          .at(...((Array.isArray(index) ? (index.length === 0 ? ["..."] : index) : [index]) as number[]));
        const values = arange(part.numel()).reshape([...part.shape]);
        td.setAt_("a", values, index);
        dense.setAt_("a", values, index);
        expect(td.get("a").equal(dense.get("a"))).toBe(true);
      });
    }
  }

  test("of stacks of stacks, by key and as a whole", () => {
    const td = lazyStack([numbers(0), numbers(0)], 1);
    td.setAt_("a", -1, [1, "...", 0]);
    expect(td.get("a").eq(-1).nonzero().tolist().length).toBe(8);
    td.setAt([0, 1], { a: zeros(4, 2).sub(5), s: "new" });
    expect(td.get("a").at(0, 1).eq(-5).all().item()).toBe(true);
    expect((td.get("s") as unknown as { tolist(): string[][][] }).tolist()[0]?.[1]).toEqual([
      "new",
      "new",
      "new",
      "new",
    ]);
  });

  test("of members that differ in shape", () => {
    const td = lazyStack([make({ a: zeros(2) }, []), make({ a: zeros(3) }, [])]) as Td & { members: readonly Td[] };
    td.setAt_("a", 1, [1, 0]);
    td.setAt_("a", 2, 0);
    expect(td.members.map((one) => one.get("a").tolist())).toEqual([
      [2, 2],
      [1, 0, 0],
    ]);
    td.setAt(":", 7);
    expect(td.members.map((one) => one.get("a").tolist())).toEqual([
      [7, 7],
      [7, 7, 7],
    ]);
  });

  test("a key that is new is there in the members that are written", () => {
    const td = numbers(0).setAt(1, { fresh: ones(4) }) as LazyStackedTensorDict;
    expect(td.members.map((member) => member.has("fresh"))).toEqual([false, true, false]);
    expect((td.members[1] as Td).get("fresh").tolist()).toEqual([1, 1, 1, 1]);
    expect(td.has("fresh")).toBe(false);
  });
});

describe("division of whole numbers", () => {
  const whole = () => make({ a: tensor([7n, 8n]), n: { b: tensor([9n, -4n]) } }, [2]);
  const parts = (td: Td) =>
    [td.get("a"), td.get(["n", "b"])].map((t) => ((t as Tensor).tolist() as unknown[]).map(Number));

  test("is tried with ones", () => {
    expect(parts(whole().remainder_(tensor([2n, 3n])))).toEqual([
      [1, 2],
      [1, 2],
    ]);
    expect(parts(whole().fmod_(tensor(3n)))).toEqual([
      [1, 2],
      [0, -1],
    ]);
    expect(parts(whole().remainder_(whole()))).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
  test("by zero changes nothing, wherever the zero is", () => {
    const divisors = [0, tensor(0n), tensor([1n, 0n]), make({ a: ones(2).long(), n: { b: tensor([1n, 0n]) } }, [2])];
    for (const divisor of divisors) {
      const td = whole();
      expect(() => td.remainder_(divisor as never)).toThrow("ZeroDivisionError");
      expect(() => td.fmod_(divisor as never)).toThrow("ZeroDivisionError");
      expect(parts(td)).toEqual(parts(whole()));
    }
  });
});

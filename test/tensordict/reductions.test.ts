// Reductions of collections: over several dimensions, behind the batch, of all tensors together; casts and remainders.
import { expect, test } from "bun:test";
import { arange, errors, lazyStack, ones, Tensor, TensorDict, type TensorDictBase } from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses, too
type Any = any;

/** Two batch dimensions with names, and a nested collection with one dimension more behind them. */
const td = (): Any =>
  new TensorDict(
    { a: arange(6).float().view(2, 3), b: new TensorDict({ c: arange(12).float().view(2, 3, 2) }, [2, 3]) },
    { batchSize: [2, 3], names: ["x", "y"] },
  );

const shown = (result: TensorDictBase | Tensor): Any =>
  result instanceof Tensor ? result.tolist() : [[...result.batchSize], result.names, result.toJSON()];
const quiet = <T>(run: () => T): T => {
  errors.setWarningPolicy("never");
  try {
    return run();
  } finally {
    errors.setWarningPolicy("once");
  }
};

test("sums over several dimensions, none, and those behind the batch", () => {
  expect(shown(td().sum([0, 1]))).toEqual([[], [], { a: 15, b: { c: [30, 36] } }]);
  expect(shown(td().sum([]))).toEqual([[], [], { a: 15, b: { c: 66 } }]);
  expect(shown(td().sum(-1))).toEqual([
    [2],
    ["x"],
    {
      a: [3, 12],
      b: {
        c: [
          [6, 9],
          [24, 27],
        ],
      },
    },
  ]);
  const behind = td().sum("feature");
  expect([behind.names, behind.get("b").get("c").tolist()]).toEqual([
    ["x", "y"],
    [
      [1, 5, 9],
      [13, 17, 21],
    ],
  ]);
  const kept = td().sum([0, 1], true);
  expect(shown(kept)).toEqual([[1, 1], ["x", "y"], { a: [[15]], b: { c: [[[30, 36]]] } }]);
  expect(shown(td().sum({ keepdim: true }))).toEqual([[1, 1], ["x", "y"], { a: [[15]], b: { c: [[[66]]] } }]);
});

test("a batch behind a shorter one is reduced behind its own", () => {
  const inner = new TensorDict({ c: arange(12).float().view(2, 3, 2) }, [2, 3]);
  const outer: Any = new TensorDict({ a: arange(6).float().view(2, 3), b: inner }, [2]);
  expect(outer.sum("feature").toJSON()).toEqual({
    a: [3, 12],
    b: {
      c: [
        [1, 5, 9],
        [13, 17, 21],
      ],
    },
  });
  expect([...outer.sum(0).get("b").batchSize]).toEqual([3]);
  expect([...outer.amin(0).get("b").batchSize]).toEqual([]);
});

test("all tensors together", () => {
  expect(td().sum({ reduce: true }).item()).toBe(81);
  expect(td().sum("feature", { reduce: true }).tolist()).toEqual([
    [1, 6, 11],
    [16, 21, 26],
  ]);
  expect(td().std({ correction: 0, reduce: true }).item()).toBeCloseTo(3.304, 3);
  expect(td().max({ reduce: true }).item()).toBe(11);
  expect(td().min("feature", { reduce: true }).indices.tolist()).toEqual([
    [0, 0, 0],
    [0, 0, 0],
  ]);
  expect(td().prod({ keepdim: true, reduce: true }).tolist()).toEqual([[0]]);
  const same: Any = new TensorDict({ a: ones(2, 3), b: ones(2, 3).mul(2) }, [2]);
  expect(same.sum(0, { reduce: true }).tolist()).toEqual([6, 6, 6]);
  expect(same.sum([0, 1], { reduce: true }).item()).toBe(18);
  const ragged: Any = lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(3) }, [])]);
  expect(ragged.sum({ reduce: true }).item()).toBe(5);
  expect(() => ragged.sum()).toThrow("sum requires this object to be cast to a regular TensorDict.");
});

test("dtypes, corrections and other names", () => {
  expect(td().sum({ dtype: "int32" }).get("a").dtype.name).toBe("int32");
  expect(td().std({ correction: 0 }).get("a").item()).toBeCloseTo(1.7078, 3);
  expect(
    td()
      .sum({ keyTransform: (key: string) => `z${key}` })
      .toJSON(),
  ).toEqual({ za: 15, zb: { zc: 66 } });
});

test("products and extremes take the first of several dimensions", () => {
  quiet(() => {
    expect(td().prod([0, 5]).get("a").tolist()).toEqual([0, 4, 10]);
    expect(td().amin([0, 1]).get("a").tolist()).toEqual([0, 1, 2]);
    expect(shown(td().prod({ keepdim: true }))).toEqual([[1, 1], [null, null], { a: [[0]], b: { c: [[0]] } }]);
    expect(td().min([0, 1]).indices.get("a").tolist()).toEqual([0, 0, 0]);
  });
  errors.setWarningPolicy("always");
  const said: string[] = [];
  const emit = process.emitWarning;
  process.emitWarning = ((text: string) => void said.push(text)) as typeof emit;
  try {
    td().prod([0]);
    td().amax([0]);
  } finally {
    process.emitWarning = emit;
    errors.setWarningPolicy("once");
  }
  expect(said).toEqual(["prod(dim=(0,)) reduces only the first dim of the tuple."]);
});

test("what is refused", () => {
  for (const name of ["sum", "std", "prod", "amin", "min"])
    expect(() => td()[name](5)).toThrow("Incompatible dim 5 for tensordict with batch dims 2.");
  expect(() => td().sum([0, -3])).toThrow("Incompatible dim -1 for tensordict with batch dims 2.");
  expect(() => td().sum("feature", true)).toThrow("dim='feature' is incompatible with keepdim=True.");
  for (const name of ["amin", "amax", "min", "max"])
    expect(() => td()[name]("feature")).toThrow(`reduction ${name} must be called with call_on_nested=True`);
  expect(() => td().sum("features")).toThrow("must be int, list of ints or 'feature'");
  expect(() => td().min({ keepdim: true })).toThrow("argument 'dim' must be int");
  expect(() => new TensorDict({ a: "text" }, []).sum({ reduce: true })).toThrow(
    "sum(reduce=True) reduces the tensor leaves together, and this tensordict has no tensor leaves.",
  );
  expect(() => td().sum(0, { reduce: true })).toThrow("Tensors must have same number of dimensions");
  expect(() => td().sum({ dim: null, keepdim: true, reduce: true })).toThrow("cat(): argument 'dim' must be int");
  expect(() => td().all(2)).toThrow("dim must be greater than or equal to -tensordict.batch_dims");
});

test("values and unbatched entries stay through every reduction", () => {
  const mixed: Any = new TensorDict({ a: arange(4).view(2, 2), t: "text" }, [2]);
  for (const made of [mixed.sum(0), mixed.sum(), mixed.sum("feature"), mixed.prod(0)]) {
    expect(made.at("t")).toBe("text");
  }
});

test("casts of some entries, remainders, and what is left of a number", () => {
  const some = td().float16({ castFilter: (key: string | string[]) => Array.isArray(key) });
  expect([some.get("a").dtype.name, some.get("b").get("c").dtype.name]).toEqual(["float32", "float16"]);
  const dtypes = ["int8", "uint16", "uint64", "complex64", "float64", "bfloat16", "bool"];
  for (const name of dtypes) expect(td()[name]().get("a").dtype.name).toBe(name);
  const keptTrue: Any = td().lock_().int8();
  expect(keptTrue.isLocked).toBe(true);
  expect(td().mod(4).get("a").tolist()).toEqual([
    [0, 1, 2],
    [3, 0, 1],
  ]);
  expect(td().rsub(10, { alpha: 2 }).get("a").tolist()).toEqual([
    [10, 8, 6],
    [4, 2, 0],
  ]);
  expect(td().rsub(td().mul(3), { alpha: 2 }).get("a").tolist()).toEqual(td().get("a").tolist());
});

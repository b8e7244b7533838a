// What each role of an argument takes, and what the function behind gets: as torch's parser reads Python's values.
import { expect, test } from "bun:test";
import { call, type Overload, option, plainSize, REQUIRED } from "../../src/dispatch/arguments.ts";
import { flatten, indexFromList, valuesFromList } from "../../src/dispatch/indexing-lists.ts";
import { Complex, errors, float32, Generator, int32, int64, tensor, UntypedStorage, zeros } from "../../src/index.ts";
import { Float, Int } from "../../src/tensor/complex.ts";

type Row = readonly [name: string, role: string, fallback: unknown];

/** An operator that gives back what it was called with. */
function overload(args: readonly Row[], more: Partial<Overload> = {}): Overload {
  return { args, positional: args.length, out: 0, fn: (...given: unknown[]) => given, ...more } as unknown as Overload;
}
const given = (role: string, x: unknown): unknown => call<unknown[]>("f", [overload([["a", role, REQUIRED]])], [x])[0];
const refused = (role: string, x: unknown): void => {
  expect(() => given(role, x)).toThrow(errors.TypeError);
};

const five = tensor([5], { dtype: int64 });
const small = tensor(7, { dtype: int32 });
const half = tensor(0.5);

test("numbers", () => {
  for (const role of ["Int", "Dim", "Dims"]) {
    expect([3, 4n, new Int(6n), five, small].map((x) => given(role, x))).toEqual([3, 4, 6, 5, 7]);
    for (const x of [2.5, half, zeros(2), zeros(2, { dtype: int64 }), "3", true, null]) refused(role, x);
  }
  expect([3, 4n, 2.5, new Float(1.5)].map((x) => given("Float", x))).toEqual([3, 4, 2.5, 1.5]);
  for (const x of ["3", null, zeros(1)]) refused("Float", x);
  expect([3, 4n, 2.5, true].map((x) => given("Scalar", x))).toEqual([3, 4n, 2.5, true]);
  expect([five, small, half, tensor(true)].map((x) => given("Scalar", x))).toEqual([5n, 7n, 0.5, true]);
  for (const x of [zeros(2), zeros(0), half.clone().requiresGrad_(), "3", null]) refused("Scalar", x);
});

test("truth values", () => {
  expect([true, false, 0, 1].map((x) => given("Bool", x))).toEqual([true, false, false, true]);
  for (const x of [2, -1, 0.5, "true", null, five]) refused("Bool", x);
});

test("a tensor stands for a number only where no overload takes it as one", () => {
  const forms = [
    overload([["n", "Int", REQUIRED]], { fn: () => "number" } as never),
    overload([["t", "Tensor", REQUIRED]], { fn: () => "tensor" } as never),
  ];
  expect(call<string>("f", forms, [five])).toBe("tensor");
  expect(call<string>("f", forms, [5])).toBe("number");
  expect(call<string>("f", forms.slice(0, 1), [five])).toBe("number");
  expect(option("f", { n: five }, "n", "Int", 1)).toBe(5);
  expect(option("f", {}, "n", "Int", 1)).toBe(1);
  expect(() => option("f", { n: 0.5 }, "n", "Int", 1)).toThrow("float");
});

test("objects", () => {
  const generator = new Generator();
  expect(given("Generator", generator)).toBe(generator);
  for (const x of [null, undefined, 3, "manualSeed", {}, zeros(1)]) refused("Generator", x);
  expect(given("Generator?", null)).toBe(null);
  const storage = zeros(2).untypedStorage();
  expect(storage).toBeInstanceOf(UntypedStorage);
  expect(given("Storage", storage)).toBe(storage);
  const held = { untypedStorage: () => storage };
  expect(
    call<unknown[]>(
      "f",
      [overload([["a", "Storage", REQUIRED]])],
      [
        new (class {
          untypedStorage = held.untypedStorage;
        })(),
      ],
    )[0],
  ).toBeDefined();
  for (const x of [null, 3, "untypedStorage", new (class {})()]) refused("Storage", x);
  expect(given("Tensor?[]", [null, five])).toEqual([null, five]);
  expect((given("Tensor?[]", [[1, 2]]) as { tolist(): unknown }[])[0]?.tolist()).toEqual([1n, 2n].map(Number));
  for (const x of [3, [3], ["x"]]) refused("Tensor?[]", x);
  for (const x of [3, null, [five]]) refused("Tensor", x);
});

test("lists of sizes, alone or one by one", () => {
  const size = [
    overload([
      ["n", "Int", REQUIRED],
      ["size", "Size", REQUIRED],
    ]),
  ];
  const of = (...args: unknown[]) => call<unknown>("f", size, args);
  expect(of(9, [2, 3])).toEqual([9, [2, 3]]);
  expect(of(9, 2, 3)).toEqual([9, [2, 3]]);
  expect(of(9)).toEqual([9, []]);
  expect(of(9, [])).toEqual([9, []]);
  expect(of(9, { size: [4] })).toEqual([9, [4]]);
  expect(() => of(9, [2], 3)).toThrow(errors.TypeError);
  expect(() => of()).toThrow(errors.TypeError);
  expect(() => of(9, 2, 3, { size: [4] })).toThrow(errors.TypeError);
  const optional = [overload([["size", "Size", null]])];
  expect(call<unknown>("f", optional, [])).toEqual([null]);
  const fixed = [
    overload([
      ["a", "Int", REQUIRED],
      ["b", "Int", 8],
    ]),
  ];
  expect(call<unknown>("f", fixed, [1])).toEqual([1, 8]);
  expect(call<unknown>("f", fixed, [1, undefined])).toEqual([1, 8]);
  expect(() => call("f", fixed, [])).toThrow(errors.TypeError);
  expect(() => call("f", fixed, [1, 2, 3])).toThrow(errors.TypeError);
  expect(() => call("f", fixed, [undefined])).toThrow(errors.TypeError);
});

test("sizes that need no parser", () => {
  expect(plainSize([2, 3], 0)).toEqual([2, 3]);
  expect(plainSize(["x", 2, 3], 1)).toEqual([2, 3]);
  expect(plainSize(["x", [2, 3]], 1)).toEqual([2, 3]);
  expect(plainSize([[2, 3]], 0)).toEqual([2, 3]);
  expect(plainSize([[]], 0)).toEqual([]);
  for (const args of [[], [2.5], [[2], 3], [[2, "x"]], [2, null]]) expect(plainSize(args, 0)).toBeNull();
  expect(plainSize(["x"], 1)).toBeNull();
});

test("results to be written to", () => {
  const one = [overload([["a", "Int", REQUIRED]], { out: 1 })];
  expect(call<unknown>("f", one, [1])).toEqual([1, undefined]);
  expect(call<unknown[]>("f", one, [1, { out: five }])[1]).toBe(five);
  expect(() => call("f", one, [1, { out: [five] }])).toThrow(errors.TypeError);
  const two = [overload([["a", "Int", REQUIRED]], { out: 2 })];
  expect(call<unknown[]>("f", two, [1, { out: [five, small] }])[1]).toEqual([five, small]);
  for (const out of [five, [five], [five, small, half], [five, 3]]) {
    expect(() => call("f", two, [1, { out }])).toThrow(errors.TypeError);
  }
  const none = [overload([["a", "Int", REQUIRED]])];
  expect(call<unknown[]>("f", none, [1])).toHaveLength(1);
  expect(() => call("f", none, [1, { out: five }])).toThrow(errors.TypeError);
});

test("what was wrong is said", () => {
  const text = (overloads: Overload[], args: unknown[]): string => {
    try {
      call("f", overloads, args);
    } catch (e) {
      return (e as Error).message;
    }
    return "";
  };
  const one = [
    overload([
      ["a", "Int", REQUIRED],
      ["b", "Int", 8],
    ]),
  ];
  expect(text(one, ["x"])).toContain("(a: number, b?: number)");
  expect(text(one, ["x"])).not.toContain("one of");
  expect(text(one, ["x"])).not.toContain("out");
  expect(text([...one, ...one], ["x"])).toContain("one of:\n * (a: number, b?: number)\n * ");
  expect(text([overload([["a", "Int", REQUIRED]], { out: 1 })], ["x"])).toContain("(a: number, { out?: Tensor })");
  expect(text(one, [1, { c: 3 }])).toContain("unexpected keyword argument 'c'");
  expect(text(one, [1, { layout: "strided" }])).toContain("unexpected keyword argument 'layout'");
  const strided = [overload([["a", "Int", REQUIRED]], { layout: true } as never)];
  expect(text(strided, [1, { layout: "torch.strided" }])).toBe("");
  expect(text(strided, [1, { layout: null }])).toBe("");
  expect(text(strided, [1, { layout: 3 }])).toContain("layout=int");
});

test("nested lists", () => {
  expect(
    flatten([
      [1, new Float(2.5)],
      [new Int(3n), five],
    ]),
  ).toEqual({ shape: [2, 2], leaves: [1, 2.5, 3n, 5n] });
  expect(flatten([small, half, tensor(true)]).leaves).toEqual([7, 0.5, true]);
  expect(flatten([tensor(new Complex(1, 2))]).leaves[0]).toBeInstanceOf(Complex);
  for (const list of [[zeros(2)], [zeros(0)], [null], ["1"], [[1], [2, 3]], [[1, 2], 3], [1, [2]]]) {
    expect(() => flatten(list)).toThrow();
  }
  const nested = (depth: number): unknown[] => (depth === 1 ? [1] : [nested(depth - 1)]);
  expect(flatten(nested(64)).shape).toHaveLength(64);
  expect(() => flatten(nested(65))).toThrow("nested");
});

test("lists as index", () => {
  const kinds = (list: unknown[]) => {
    const t = indexFromList(list);
    return [t.dtype.toString(), t.tolist()] as unknown;
  };
  expect(kinds([true, false])).toEqual(["torch.bool", [true, false]]);
  expect(kinds([true, 2])).toEqual(["torch.int64", [1, 2]]);
  expect(kinds([3, 2])).toEqual(["torch.int64", [3, 2]]);
  expect(indexFromList([2n ** 53n + 1n]).bigint()).toBe(2n ** 53n + 1n);
  expect(kinds([3n, 2])).toEqual(["torch.int64", [3, 2]]);
  expect(indexFromList([]).dtype).toBe(int64);
  for (const list of [[1.5], [new Complex(1, 0)], [1, 2.5]])
    expect(() => indexFromList(list)).toThrow(errors.IndexError);
  expect(valuesFromList([1, 2.5], float32).tolist()).toEqual([1, 2.5]);
  expect(valuesFromList([2n ** 53n + 1n], int64).bigint()).toBe(2n ** 53n + 1n);
});

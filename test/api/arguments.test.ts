// What users may write: nested lists as one index, numbers first, options of factories.
import { expect, test } from "bun:test";
import { byName, overloadTable } from "../../src/dispatch/arguments.ts";
import {
  add,
  arange,
  bitwiseAnd,
  Complex,
  div,
  errors,
  float32,
  floorDivide,
  full,
  func,
  type IndexPart,
  int64,
  mul,
  normal,
  ones,
  pow,
  rand,
  randnLike,
  remainder,
  sub,
  Tensor,
  TensorDict,
  tensor,
  trueDivide,
  zeros,
} from "../../src/index.ts";
import { membersOf } from "../members.ts";

const list = (t: { tolist(): unknown }): unknown => t.tolist();

test("a nested list in a list is one index tensor", () => {
  const x = arange(9).reshape(3, 3);
  expect(
    list(
      x.at([
        [
          [0, -1],
          [0, -1],
        ],
      ]),
    ),
  ).toEqual([
    [
      [0, 1, 2],
      [6, 7, 8],
    ],
    [
      [0, 1, 2],
      [6, 7, 8],
    ],
  ]);
  // A list of lists is what Python makes of a tuple.
  expect(
    list(
      x.at([
        [0, -1],
        [0, -1],
      ]),
    ),
  ).toEqual([0, 8]);
  expect(list(x.at([0, -1], [0, -1]))).toEqual([0, 8]);
  expect(list(x.at([[true, false, true]]))).toEqual([
    [0, 1, 2],
    [6, 7, 8],
  ]);
  const deep = [0, -1];
  expect([...x.at([[[deep, deep]]]).shape]).toEqual([1, 2, 2, 3]);
  const y = zeros(3, 3);
  y.setAt(
    [
      [
        [
          [0, -1],
          [0, -1],
        ],
      ],
    ],
    1,
  );
  expect(list(y)).toEqual([
    [1, 1, 1],
    [0, 0, 0],
    [1, 1, 1],
  ]);
  // Written through the same index that reads it.
  const z = zeros(3, 3);
  z.setAt(
    [
      [0, -1],
      [0, -1],
    ],
    1,
  );
  expect(list(z)).toEqual([
    [1, 0, 0],
    [0, 0, 0],
    [0, 0, 1],
  ]);
});

test("a number stands first where torch has a function for it", () => {
  const x = tensor([1, 2, 4]);
  expect(list(add(2, x, { alpha: 3 }))).toEqual([5, 8, 14]);
  expect(list(sub(2, x))).toEqual([1, 0, -2]);
  expect(list(mul(2.5, x))).toEqual([2.5, 5, 10]);
  expect(list(div(8, x))).toEqual([8, 4, 2]);
  expect(list(div(7, x, { roundingMode: "floor" }))).toEqual([7, 3, 1]);
  expect(list(trueDivide(1n, x))).toEqual([1, 0.5, 0.25]);
  expect(list(floorDivide(7, x))).toEqual([7, 3, 1]);
  expect(list(remainder(7, x))).toEqual([0, 1, 3]);
  expect(list(pow(2, x))).toEqual([2, 4, 16]);
  expect(list(bitwiseAnd(3, tensor([1n, 6n])))).toEqual([1, 2]);
  expect(String(mul(new Complex(0, 1), x))).toBe("tensor([0.+1.j, 0.+2.j, 0.+4.j])");
  expect(add(7, 3).dtype).toBe(int64);
  expect(div(7, 2).item()).toBe(3.5);
  expect(() => remainder(7 as never, 3 as never)).toThrow(errors.TypeError);
  expect(() => add("2" as never, x)).toThrow("argument 'self' must be Tensor or a number, not str");
});

test("factories take the layout that tensors have", () => {
  const layout = ones(1).layout;
  expect(normal(0, 1, [2], { layout }).numel()).toBe(2);
  expect(zeros(2, { layout: "strided" }).dtype).toBe(float32);
  expect(full([2], 3, { layout }).sum().item()).toBe(6);
  expect(rand(2, { layout: null }).numel()).toBe(2);
  expect(randnLike(ones(2), { layout }).numel()).toBe(2);
  expect(() => zeros(2, { layout: "torch.sparse_coo" as never })).toThrow("zensor has strided tensors only");
  expect(() => normal(0, 1, [2], { layout: 3 as never })).toThrow(errors.TypeError);
  expect(() => ones(2).add(1, { layout } as never)).toThrow("unexpected keyword argument 'layout'");
});

test("what is given instead of a tensor is named, lists by what is in them", () => {
  const self: unknown[] = [];
  self.push(self);
  const deep = "list of [list of [list of [list of [list]]]]";
  const wrong: [unknown, string][] = [
    [["a", 1.5, 2, true], "list of [str, float, int, bool]"],
    [[[[[[1]]]]], deep],
    [self, deep],
    [new Map(), "Map"],
    [null, "None"],
  ];
  for (const [other, name] of wrong) {
    expect(() => zeros(2).maximum(other as never)).toThrow(`argument 'other' must be Tensor, not ${name}`);
  }
});

test("an array that is the only argument holds the indices of the dimensions, one inside is a list of rows", () => {
  const x = arange(12).reshape(3, 4);
  const td = new TensorDict({ a: x, n: { b: x.mul(2) } }, [3, 4]);
  const same: [IndexPart[], IndexPart[]][] = [
    [[[0, 1]], [0, 1]],
    [[["1:", 2]], ["1:", 2]],
    [[[":", [0, 3]]], [":", [0, 3]]],
    [[[[0, 2]]], ["::2"]],
    [[[]], ["..."]],
    [[Int32Array.of(0, 2)], ["::2"]],
    [[BigInt64Array.of(0n, 2n)], ["::2"]],
    [
      [":", Int16Array.of(-1, 1)],
      [":", [3, 1]],
    ],
    [[Uint8Array.of(1, 0, 1)], ["::2"]],
    [[[[true, false, true]]], ["::2"]],
    [
      [
        [
          [
            [0, 1],
            [2, 0],
          ],
        ],
      ],
      [
        tensor([
          [0n, 1n],
          [2n, 0n],
        ]),
      ],
    ],
    [[[tensor([0n, 2n]), 1]], ["::2", 1]],
  ];
  for (const [index, plain] of same) {
    expect([index, list(x.at(...index))]).toEqual([index, list(x.at(...plain))]);
    expect([
      index,
      list(
        td
          .at(...(index as number[]))
          .get("n")
          .get("b"),
      ),
    ]).toEqual([index, list(x.at(...plain).mul(2))]);
    // One argument is an index that setAt takes as well.
    if (index.length > 1) continue;
    const [y, z] = [x.clone(), td.clone()];
    y.setAt(index[0] as IndexPart, -1);
    z.setAt(index[0] as number, -1);
    const written = new Set(
      x
        .at(...plain)
        .reshape([-1])
        .tolist() as number[],
    );
    expect(y.reshape([-1]).tolist()).toEqual(Array.from({ length: 12 }, (_, i) => (written.has(i) ? -1 : i)));
    expect(list(z.get("a"))).toEqual(list(y));
  }
  expect(td.at(["n", "b"])).toBe(td.get("n").get("b"));
  const text = "too many indices for tensor of dimension 2";
  const advice = "a list of rows is an array inside of it: at([[0, 1, 2]])";
  for (const call of [() => x.at([0, 1, 2]), () => td.at([0, 1, 2]), () => x.setAt([0, 1, 2], 1)]) {
    expect(call).toThrow(text);
    expect(call).toThrow(advice);
  }
  for (const call of [() => x.at(0, 1, 2), () => td.at(0, 1, 2)]) expect(call).toThrow(new RegExp(`^${text}$`));
  expect(() => td.setAt([0, 1, 2], 1)).toThrow(advice);
});

test("an argument that is a word or numbers", () => {
  const table = overloadTable(() => '\npadded [[[["input","Tensor"],["padding","String|Ints",[0]]],2,0]]\n');
  const overloads = table("padded", [(_: Tensor, padding: unknown) => padding]);
  const padded = (...args: unknown[]) => byName<unknown>("padded", overloads, args);
  const x = tensor([1]);
  expect([padded(x), padded(x, "same"), padded(x, 2), padded(x, [1, 2])]).toEqual([[0], "same", [2], [1, 2]]);
  expect(padded(x, { padding: "valid" })).toBe("valid");
  for (const wrong of [true, 1.5, ["same"], null])
    expect(() => padded(x, wrong)).toThrow("padding?: string | number[]");
});

test("an index of several parts that is no array is refused, and nothing is written", () => {
  const x = zeros(2, 3);
  const setAt = (...args: unknown[]) => (x.setAt as (...args: unknown[]) => Tensor).apply(x, args);
  const advice = /^setAt\(\) takes at most 2 arguments but [34] were given: .* setAt\(\[1, 2\], 5\)$/;
  for (const args of [
    [1, 2, 5],
    [0, "1:", 5],
    ["...", null, 1],
    [0, 1, 2, 3],
  ])
    expect(() => setAt(...args)).toThrow(advice);
  expect(x.sum().item()).toBe(0);
  expect(setAt([1, 2], 5).at(1, 2).item()).toBe(5);
});

test("no method of a tensor leaves arguments out that it does not take", () => {
  const x = ones(2, 3);
  const more = Array.from({ length: 12 }, () => 1);
  const silent: string[] = [];
  const call = (method: (...args: unknown[]) => unknown, args: readonly unknown[]): boolean => {
    try {
      method.apply(x.clone(), [...args]);
      return true;
    } catch {
      return false;
    }
  };
  let asked = 0;
  for (const [name, { value }] of membersOf(Tensor.prototype)) {
    if (typeof value !== "function" || /^_|^(constructor|toString|valueOf|toJSON|dispose)$/.test(name)) continue;
    const args = [[], [0], [0, 1], [x], [x, x]].find((some) => call(value, some));
    if (args === undefined) continue;
    asked++;
    if (call(value, [...args, ...more])) silent.push(name);
  }
  expect(asked).toBeGreaterThan(300);
  // Sizes may be any number.
  expect(silent.sort()).toEqual(["newEmpty", "newOnes", "newZeros", "repeat", "resize_", "tile"]);
});

test("PyTorch's spelling of a transform's option is told", () => {
  const transform = func.vmap as unknown as (...args: unknown[]) => unknown;
  for (const [given, here] of [
    ["in_dims", "inDims"],
    ["out_dims", "outDims"],
    ["chunk_size", "chunkSize"],
  ] as const) {
    const text = `unexpected keyword argument '${given}', which is called '${here}' here`;
    expect(() => transform((x: Tensor) => x, { [given]: 0 })).toThrow(text);
  }
});

// What errors say to somebody who writes what Python would take, and what print makes of values in each other.
import { expect, test } from "bun:test";
import { pythonText } from "../../src/api/print.ts";
import * as Z from "../../src/index.ts";

const { tensor, ones } = Z;

test("operators of the language name the method", () => {
  const x = tensor([1, 2]) as unknown as number;
  expect(() => x + 1).toThrow("use a.add(b) for a + b");
  for (const call of [() => x * 2, () => -x, () => x < 2, () => x / 2]) {
    expect(call).toThrow("a Tensor with 2 elements cannot be converted to Scalar: use a.mul(b) for a * b");
  }
  // One element is a number: JavaScript asks the same for Number(x).
  expect(Number(tensor(3))).toBe(3);
  expect((tensor(3) as unknown as number) * 2).toBe(6);
});

test("what was meant is told", () => {
  const make = Z.Tensor as unknown as new (...args: unknown[]) => unknown;
  for (const args of [[[1, 2]], [2, 3], []]) {
    expect(() => new make(...args)).toThrow("tensors are not made by new Tensor(): use tensor([1, 2]) for data");
  }
  const wrong = { dtype: Z.float as never };
  for (const call of [() => ones(2, wrong), () => tensor([1], wrong), () => ones(1).to(Z.float as never)]) {
    expect(call).toThrow("dtype must be torch.dtype or the name of one, not the function float: write float32");
  }
  expect(() => ones(2).size({ dmi: 0 } as never)).toThrow("size() got an unexpected keyword argument 'dmi'");
  expect(() => ones(2).size("0" as never)).toThrow("size(): argument 'dim' must be int, not str");
  expect(() => ones(2).stride({} as never)).toThrow("stride(): argument 'dim' must be int, not NoneType");
  const named = { inFeature: 1 } as unknown as number;
  expect(() => new (Z.nn.Linear as unknown as new (n: number) => object)(named)).toThrow(
    "Linear() got an unexpected keyword argument 'inFeature'",
  );
  expect(() => ones(2).add(ones(2), { other: ones(2) } as never)).toThrow(
    "add() got multiple values for argument 'other'",
  );
});

test("print writes values in each other as Python writes them", () => {
  const itself: unknown[] = [1];
  itself.push(itself);
  const dict: Record<string, unknown> = { a: 1 };
  dict.self = dict;
  const texts: [unknown, string][] = [
    [{ a: Z.float(1), b: [true, null] }, "{'a': 1.0, 'b': (True, None)}"],
    [[1.5, "it's", ones(2).shape, Z.float32], `(1.5, "it's", torch.Size([2]), torch.float32)`],
    [new Map([["a", new Set([1])]]), "{'a': {1}}"],
    [[Z.device("cpu"), Z.device("meta")], "(device(type='cpu'), device(type='meta'))"],
    [Z.device("cpu"), "cpu"],
    [[1n, -0, Number.NaN, -Infinity, new Z.Complex(1, 2)], "(1, -0.0, nan, -inf, (1+2j))"],
    [itself, "(1, (...))"],
    [dict, "{'a': 1, 'self': {...}}"],
    [[[itself[0], dict.a], [itself[0]]], "((1, 1), (1,))"],
    [Float32Array.of(1.5, 2), "[1.5 2. ]"],
    [[Float32Array.of(1.5, 2)], "(array([1.5, 2. ], dtype=float32),)"],
    [{ a: BigInt64Array.of(1n, 20n, 3n) }, "{'a': array([ 1, 20,  3])}"],
    [[Float64Array.of(1, -2.5, 3)], "(array([ 1. , -2.5,  3. ]),)"],
    [[() => 1, Math.max, class Point {}], "(<function <lambda>>, <function max>, <class 'Point'>)"],
    [[Z.nn, new Z.nn.ReLU()], "(<module>, ReLU())"],
    [{ 1: 2, "b c": { d: [] } }, "{'1': 2, 'b c': {'d': ()}}"],
  ];
  for (const [value, text] of texts) expect(pythonText(value)).toBe(text);
  // NumPy breaks the line before a dtype that does not fit.
  expect(pythonText([Float32Array.from({ length: 8 }, (_, i) => i / 3)])).toBe(
    "(array([0.        , 0.33333334, 0.6666667 , 1.        , 1.3333334 ,\n" +
      "       1.6666666 , 2.        , 2.3333333 ], dtype=float32),)",
  );
  expect(pythonText([Float32Array.from({ length: 10 }, (_, i) => i / 3)])).toContain("],\n      dtype=float32),)");
});

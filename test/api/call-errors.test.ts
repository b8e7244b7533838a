// What is said of calls that no form of an operator takes: which word is unknown, given twice, or missing.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const x = z.ones(2, 3);
/** Calls that the types refuse. */
type Loose = Record<string, (...args: unknown[]) => unknown>;
const op = z as object as Loose;
const method = x as object as Loose;

const SAID: [call: () => unknown, text: string][] = [
  [() => method.add?.(1, { axis: 0 }), "add() got an unexpected keyword argument 'axis'"],
  [() => method.sum?.(0, { keepdims: true, keepdim: true }), "sum() got an unexpected keyword argument 'keepdims'"],
  [() => op.sum?.(x, { self: x }), "sum() got multiple values for argument 'self'"],
  [() => op.logsumexp?.(x, 0, { dim: 0 }), "logsumexp() got multiple values for argument 'dim'"],
  [() => op.logsumexp?.(x, "0", { keepdim: true }), "logsumexp() received an invalid combination of arguments"],
  [() => op.logsumexp?.(x, { keepdim: true }), "logsumexp() received an invalid combination of arguments"],
  [() => op.logsumexp?.("x", { dim: 0 }), "logsumexp() received an invalid combination of arguments"],
  [() => op.take?.(x), "take() received an invalid combination of arguments - got (Tensor), but expected"],
  [() => op.hstack?.(), "hstack() received an invalid combination of arguments - got ("],
  [() => op.movedim?.(x, 0), "movedim() received an invalid combination of arguments - got (Tensor, int)"],
  [() => op.abs?.({}), "abs() received an invalid combination of arguments - got (), but expected"],
];
for (const [call, text] of SAID) {
  test(text, () => expect(call).toThrow(text));
}

test("undefined after the last argument is no argument", () => {
  const values = (made: unknown): unknown => (made as z.Tensor).tolist();
  expect(values(op.abs?.({ self: x }, undefined))).toEqual(x.abs().tolist());
  expect(values(op.abs?.({ self: x, out: undefined }))).toEqual(x.abs().tolist());
  expect(values(op.add?.({ self: x, other: 1 }, undefined))).toEqual(x.add(1).tolist());
});

test("a number of any kind stands for a float", () => {
  for (const p of [1, 1n, true, z.int(1), z.float(1)]) {
    expect(z.bernoulli(x, { p: p as number }).tolist()).toEqual(x.tolist());
  }
});

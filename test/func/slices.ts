// A golden case inside of vmap: the call with many examples, and the calls with one after the other.

import { broadcast, flatten, rebuilt } from "../../src/func/pytree.ts";
import { func, stack, type Tensor } from "../../src/index.ts";
import { Tensor as TensorClass } from "../../src/tensor/tensor.ts";

/** The dimension of each tensor in turn; a dimension that a tensor has not is the first. */
export const MIXES: readonly (readonly (number | null)[])[] = [[0], [1, 0], [-1, 0], [0, null], [null, 0, 1]];

export const EXAMPLES = 3;

const isTensor = (x: unknown): x is Tensor => x instanceof TensorClass;

/** Other examples with the same elements, moved on. */
export function examplesOf(t: Tensor): Tensor[] {
  const plain = t.detach();
  return Array.from({ length: EXAMPLES }, (_, i) =>
    plain
      .reshape([-1])
      .roll([i])
      .reshape([...t.shape]),
  );
}

export interface Spread {
  readonly stacked: readonly unknown[];
  readonly inDims: readonly (number | null)[];
  /** The arguments for example `i`. */
  one(i: number): unknown[];
}

/** Many examples of each tensor that has some in this mix. */
export function spread(leaves: readonly unknown[], mix: readonly (number | null)[]): Spread | null {
  let at = 0;
  const inDims: (number | null)[] = [];
  const stacked: unknown[] = [];
  const all: (Tensor[] | null)[] = [];
  for (const x of leaves) {
    const wanted = isTensor(x) ? mix[at++ % mix.length] : null;
    if (!isTensor(x) || wanted === null || wanted === undefined) {
      inDims.push(null);
      stacked.push(x);
      all.push(null);
      continue;
    }
    const dim = wanted >= -x.ndim - 1 && wanted <= x.ndim ? wanted : 0;
    const list = examplesOf(x);
    inDims.push(dim);
    stacked.push(stack(list, dim));
    all.push(list);
  }
  if (all.every((list) => list === null)) return null;
  return { stacked, inDims, one: (i) => leaves.map((x, k) => all[k]?.[i]?.clone() ?? x) };
}

/** Results as one list of tensors; null for one that is none. */
export function tensorsIn(value: unknown): Tensor[] | null {
  const leaves: unknown[] = [];
  flatten(value, leaves);
  return leaves.length > 0 && leaves.every(isTensor) ? leaves : null;
}

const numbers = (t: Tensor): unknown[] => {
  const flat: unknown = (t.isComplex() ? t.viewAsReal() : t).double().reshape([-1]).tolist();
  return flat as unknown[];
};

/** What differs between two tensors: sizes, dtypes, or elements beyond rounding. */
export function difference(got: Tensor, wanted: Tensor): string | null {
  if (String(got.shape) !== String(wanted.shape)) return `shape ${got.shape}, not ${wanted.shape}`;
  if (got.dtype !== wanted.dtype) return `${got.dtype}, not ${wanted.dtype}`;
  const [a, b] = [numbers(got), numbers(wanted)] as [number[], number[]];
  const eps = got.dtype.category < 2 ? 0 : got.dtype.itemsize < 4 ? 1e-2 : got.dtype.itemsize === 4 ? 2e-5 : 1e-7;
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    if (Object.is(x, y) || x === y || (Number.isNaN(x) && Number.isNaN(y))) continue;
    if (!(Math.abs(x - y) <= eps * (1 + Math.abs(y)))) return `element ${i} is ${x}, not ${y}`;
  }
  return null;
}

export type Outcome = "passed" | "unfit" | { readonly wrong: string } | { readonly refused: string };

const said = (e: unknown): string => (e as Error).message.split("\n")[0] as string;

/** Compares a function of tensors inside of vmap with what it gives of one example after the other. */
export function compareWithSlices(fn: (...leaves: unknown[]) => unknown, { stacked, inDims, one }: Spread): Outcome {
  const wanted: Tensor[][] = [];
  for (let i = 0; i < EXAMPLES; i++) {
    try {
      const found = tensorsIn(fn(...one(i)));
      if (found === null) return "unfit";
      wanted.push(found);
    } catch {
      return "unfit";
    }
  }
  const first = wanted[0] as Tensor[];
  const alike = wanted.every((list) => list.every((t, k) => String(t.shape) === String(first[k]?.shape)));
  if (!alike) return "unfit";
  let got: Tensor[] | null;
  try {
    const run = (...leaves: unknown[]) => tensorsIn(fn(...leaves)) as Tensor[];
    got = func.vmap(run, { inDims: inDims as number[] })(...stacked) as unknown as Tensor[];
  } catch (e) {
    return { refused: said(e) };
  }
  for (const [k, t] of got.entries()) {
    const different = difference(
      t,
      stack(
        wanted.map((list) => list[k] as Tensor),
        0,
      ),
    );
    if (different !== null) return { wrong: different };
  }
  return "passed";
}

export { broadcast, flatten, rebuilt };

/** Nested arrays of numbers or booleans as tensors: indices and values that users write down. */

import * as texts from "../../generated/texts.ts";
import { addressOf, copyBytes } from "../ffi/memory.ts";
import { Complex, Float, Int, isScalar } from "../tensor/complex.ts";
import { CPU } from "../tensor/device.ts";
import { bool, complex128, type DType, float64, int64, uint64 } from "../tensor/dtype.ts";
import { requireInt64, takesScalar } from "../tensor/integers.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Value } from "../tensor/value-types.ts";
import { empty } from "./allocate.ts";
import * as copy from "./copy.ts";

type Leaf = number | bigint | boolean | Complex;

interface Flat {
  readonly shape: readonly number[];
  readonly leaves: readonly Leaf[];
}

const MAX_DEPTH = 64;

function leafOf(x: unknown): Leaf {
  if (x instanceof Int || x instanceof Float) return x.value;
  if (x instanceof Tensor && x._numel === 1) {
    const v = x.dtype === int64 ? x.bigint() : x.item<Value>();
    return typeof v === "object" && !(v instanceof Complex) ? Number(v) : (v as Leaf);
  }
  if (isScalar(x)) return x as Leaf;
  throw texts.noNumber(undefined, x === null ? "null" : typeof x);
}

/** Shape and elements of nested arrays; ragged ones are refused. */
export function flatten(list: readonly unknown[]): Flat {
  const shape: number[] = [];
  for (let at: unknown = list; Array.isArray(at); at = at[0]) {
    shape.push(at.length);
    if (shape.length > MAX_DEPTH) throw texts.nestedTooDeep(undefined);
  }
  const leaves: Leaf[] = [];
  const walk = (x: unknown, d: number): void => {
    if (d === shape.length) {
      if (Array.isArray(x)) throw texts.listWhereNumberWas(undefined, d);
      leaves.push(leafOf(x));
      return;
    }
    const n = shape[d] as number;
    if (!Array.isArray(x) || x.length !== n) {
      const got = Array.isArray(x) ? String(x.length) : "a number";
      throw texts.raggedSequence(undefined, n, d, got);
    }
    // So many and no more, also when reading an element changes the list.
    for (let i = 0; i < n; i++) walk(x[i], d + 1);
  };
  walk(list, 0);
  return { shape, leaves };
}

function fromBytes(shape: readonly number[], dtype: DType, bytes: NodeJS.TypedArray): Tensor {
  const t = empty(shape, dtype, CPU);
  if (t._numel > 0) copyBytes(t._address(), addressOf(bytes), bytes.byteLength);
  return t;
}

/** An index tensor: int64, or bool when all elements are booleans. */
export function indexFromList(list: readonly unknown[]): Tensor {
  const { shape, leaves } = flatten(list);
  if (leaves.length > 0 && leaves.every((x) => typeof x === "boolean")) {
    return fromBytes(shape, bool, Uint8Array.from(leaves as boolean[], Number));
  }
  for (const x of leaves) {
    if (x instanceof Complex || (typeof x === "number" && !Number.isInteger(x))) {
      throw texts.indexTensorDtype(undefined);
    }
  }
  if (leaves.some((x) => typeof x === "bigint")) {
    return fromBytes(
      shape,
      int64,
      BigInt64Array.from(leaves as bigint[], (x) => requireInt64(BigInt(x))),
    );
  }
  return copy.cast(fromBytes(shape, float64, Float64Array.from(leaves as number[], Number)), int64);
}

/** Numbers in a given dtype. */
export function valuesFromList(list: readonly unknown[], dtype: DType): Tensor {
  const { shape, leaves } = flatten(list);
  if (leaves.some((x) => x instanceof Complex)) {
    const parts = leaves.flatMap((x) => (x instanceof Complex ? [x.re, x.im] : [Number(x), 0]));
    return copy.cast(fromBytes(shape, complex128, Float64Array.from(parts)), dtype);
  }
  if (leaves.some((x) => typeof x === "bigint")) {
    const word = (x: bigint): bigint => (dtype === uint64 && takesScalar(x) ? x : requireInt64(BigInt(x)));
    return copy.cast(fromBytes(shape, int64, BigInt64Array.from(leaves as bigint[], word)), dtype);
  }
  return copy.cast(fromBytes(shape, float64, Float64Array.from(leaves as number[], Number)), dtype);
}

/** An int64 vector of whole numbers below 2^53. */
export function indexVector(values: Float64Array): Tensor {
  return copy.cast(fromBytes([values.length], float64, values), int64);
}

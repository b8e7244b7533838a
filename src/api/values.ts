/** Elements as JavaScript values: one, nested arrays of all, typed arrays over the same memory. */
import * as texts from "../../generated/texts.ts";
import { clone, onCpu } from "../dispatch/copy.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { batchOf } from "../tensor/batched.ts";
import { Complex } from "../tensor/complex.ts";
import { CPU } from "../tensor/device.ts";
import { type DType, type DTypeLike, float32, float64, int64, toDType, uint64 } from "../tensor/dtype.ts";
import { CONJ, NEG, type Tensor } from "../tensor/tensor.ts";
import type { NestedList, Value } from "../tensor/value-types.ts";
import { checkFile, listFor, peek, readNumbers, readWord, readWords, requireFile } from "../tensor/values.ts";

const isWide = (d: DType): boolean => d === int64 || d === uint64;

function unsafe(value: bigint | number, op: string): never {
  throw texts.unsafeInteger(op, value);
}

/** The element at an address, as a JavaScript value. */
function valueAt(address: number, d: DType, bits: number, op: string): Value {
  if (d === float32) return signed(peek.f32(address, 0), bits);
  if (d === float64) return signed(peek.f64(address, 0), bits);
  if (d.category === 3) {
    const parts = readNumbers(address, d.id, 1, 2);
    return complexValue(parts[0] as number, parts[1] as number, bits);
  }
  const x = readNumbers(address, d.id, 1, 1)[0] as number;
  if (d.category === 0) return x !== 0;
  if (isWide(d) && !Number.isSafeInteger(x)) unsafe(readWord(address, d.isSigned), op);
  return signed(x, bits);
}

const signed = (x: number, bits: number): number => ((bits & NEG) === 0 ? x : -x);

function complexValue(re: number, im: number, bits: number): Complex {
  const sign = (bits & NEG) === 0 ? 1 : -1;
  return new Complex(sign * re, (bits & CONJ) === 0 ? sign * im : -sign * im);
}

/** The one element. @torch Tensor.item */
export function item(t: Tensor): Value {
  if (batchOf(t) !== null) throw texts.batchedItem("item");
  if (t._numel !== 1) throw texts.notAScalar("item", t._numel);
  const { device } = t._storage;
  if (device !== CPU) {
    if (!device.computes) throw texts.itemOnMeta("item");
    return item(onCpu(t));
  }
  const value = valueAt(t._address(), t.dtype, t._bits, "item");
  const { kind } = t._storage;
  if (kind === "mapped" || kind === "borrowed") checkFile("item");
  return value;
}

/** The one element as a bigint, exactly. Floats are cut towards zero. */
export function bigint(t: Tensor): bigint {
  if (isWide(t.dtype) && t._numel === 1 && t._storage.device.computes) {
    return readWord(onCpu(t)._address(), t.dtype.isSigned);
  }
  const x = item(t);
  if (x instanceof Complex) throw texts.complexIsNoBigint("bigint");
  const n = Math.trunc(Number(x));
  if (!Number.isFinite(n)) throw texts.noBigint("bigint", String(x));
  return BigInt(n);
}

/** Row-major, without bits, on the CPU. */
export function plain(given: Tensor): Tensor {
  const t = onCpu(given);
  return t._contiguous && t._bits === 0 ? t : clone(t, contiguousFormat);
}

/** All elements in row-major order. */
export function flatValues(t: Tensor, op = "tolist"): Value[] {
  if (!t._storage.device.computes) throw texts.copyFromMeta(op);
  const n = t._numel;
  const out = listFor<Value>(n, op);
  if (n === 0) return out;
  const dense = plain(t);
  const d = t.dtype;
  const numbers = readNumbers(dense._address(), d.id, n, d.category === 3 ? 2 : 1);
  if (d.category === 3) {
    for (let i = 0; i < n; i++) out[i] = new Complex(numbers[2 * i] as number, numbers[2 * i + 1] as number);
  } else if (d.category === 0) {
    for (let i = 0; i < n; i++) out[i] = numbers[i] !== 0;
  } else {
    const wide = isWide(d);
    for (let i = 0; i < n; i++) {
      const x = numbers[i] as number;
      if (wide && !Number.isSafeInteger(x)) {
        unsafe(readWord(dense._address() + 8 * i, d.isSigned), op);
      }
      out[i] = x;
    }
  }
  return out;
}

/** Nested arrays of the elements; a 0-dim tensor gives its element. @torch Tensor.tolist */
export function tolist(t: Tensor): NestedList {
  const flat = flatValues(t);
  if (t._shape.length === 0) return flat[0] as Value;
  if (t._numel === 0) requireFewLists(t._shape);
  return t._shape.length === 1 ? flat : nest(flat, t._shape);
}

/** A tensor without elements may still have more rows than memory holds lists. */
function requireFewLists(shape: readonly number[]): void {
  let lists = 1;
  for (const n of shape.slice(0, shape.indexOf(0))) lists *= n;
  if (lists > 2 ** 27) throw texts.tooManyEmptyLists(undefined, shape, lists);
}

/** Folds a flat list into nested ones. */
export function nest<T>(flat: readonly T[], shape: readonly number[]): NestedArray<T>[] {
  let at = 0;
  const level = (dim: number): NestedArray<T>[] => {
    const n = shape[dim] as number;
    if (dim === shape.length - 1) {
      at += n;
      return flat.slice(at - n, at);
    }
    const list: NestedArray<T>[] = [];
    for (let i = 0; i < n; i++) list.push(level(dim + 1));
    return list;
  };
  return level(0);
}

export type NestedArray<T> = T | NestedArray<T>[];

type ArrayMaker = new (buffer: ArrayBuffer, offset: number, length: number) => NodeJS.TypedArray;

const half = (globalThis as { Float16Array?: ArrayMaker }).Float16Array ?? (Uint16Array as ArrayMaker);

/** The typed array of each dtype; bfloat16 and float8 give their bits, complex dtypes pairs of parts. */
const ARRAYS: Record<string, readonly [ArrayMaker, number]> = {
  bool: [Uint8Array, 1],
  uint8: [Uint8Array, 1],
  int8: [Int8Array, 1],
  int16: [Int16Array, 1],
  int32: [Int32Array, 1],
  int64: [BigInt64Array, 1],
  uint16: [Uint16Array, 1],
  uint32: [Uint32Array, 1],
  uint64: [BigUint64Array, 1],
  float16: [half, 1],
  bfloat16: [Uint16Array, 1],
  float32: [Float32Array, 1],
  float64: [Float64Array, 1],
  complex64: [Float32Array, 2],
  complex128: [Float64Array, 2],
  float8_e4m3fn: [Uint8Array, 1],
  float8_e5m2: [Uint8Array, 1],
};

/** Borrowed bytes live as long as their storage, so an exported array holds it. */
const owners = new WeakMap<NodeJS.TypedArray, object>();

/**
 * A typed array over the tensor's own memory: writes through one show in the other. Complex tensors give their parts
 * one after the other, bfloat16 and float8 their bits. @torch Tensor.numpy
 */
export function typedArray(t: Tensor, dtype: DTypeLike | null): NodeJS.TypedArray {
  const op = "typedArray";
  if (dtype !== null && toDType(dtype) !== t.dtype)
    throw texts.typedArrayOfAnother(op, String(t.dtype), String(toDType(dtype)));
  if (t.requiresGrad) throw texts.typedArrayNeedsDetach(op);
  if (batchOf(t) !== null) throw texts.batchedHasNoBytes(op);
  if (!t._storage.device.computes) throw texts.copyFromMeta(op);
  if (t._storage.device !== CPU) throw texts.typedArrayNotOnCpu(op, String(t._storage.device));
  if (!t._contiguous) throw texts.typedArrayNotContiguous(op);
  if (t._bits !== 0) throw texts.typedArrayHasBits(op);
  const [Maker, parts] = ARRAYS[t.dtype.name] as readonly [ArrayMaker, number];
  if (t._numel === 0) return new Maker(new ArrayBuffer(0), 0, 0);
  const end = (t._offset + t._numel) * t.dtype.itemsize;
  if (t._storage.nbytes < end) throw texts.typedArrayOutOfBounds(op, end, t._storage.nbytes);
  // A file that was cut short is told now: an error ends no loop over the array.
  requireFile(t._address(), t.nbytes, op);
  const { buffer, byteOffset } = t._storage.part(t._offset * t.dtype.itemsize, t.nbytes);
  const array = new Maker(buffer, byteOffset, t._numel * parts);
  owners.set(array, t._storage);
  return array;
}

/** Exact integers of an 8-byte integer tensor, row-major. */
export function flatWords(t: Tensor): BigInt64Array | BigUint64Array {
  const dense = plain(t);
  return readWords(dense._address(), t._numel, t.dtype.isSigned);
}

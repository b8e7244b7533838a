/** Tensors from JavaScript values: nested arrays, typed arrays, numbers, other tensors. */

import * as texts from "../../generated/texts.ts";
import { empty, inPinnedMemory, requirePinnable } from "../dispatch/allocate.ts";
import { cast, clone, onDevice } from "../dispatch/copy.ts";
import { dataDtype, factoryDevice } from "../dispatch/factories.ts";
import { promoteTypes } from "../dispatch/promotion.ts";
import { inOrder, isDict, unknownKeyword } from "../tensor/checks.ts";
import { Complex, isScalar, type Scalar, scalarKind, scalarValue } from "../tensor/complex.ts";
import { CPU, chosen, type Device, type DeviceLike, toDevice } from "../tensor/device.ts";
import { type DType, type DTypeLike, dtypeByName, getDefaultDtype, toDType } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import type { OfDType } from "../tensor/of-dtype.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { Storage } from "../tensor/storage.ts";
import { type BoolTensor, makeContiguous, Tensor } from "../tensor/tensor.ts";
import { roomFor, STAGE_SIZE, stage, writeBytes, writeNumbers, writeWords } from "../tensor/values.ts";
import { bigint, item } from "./values.ts";

/** What a tensor can be made from. */
export type TensorData = Scalar | Tensor | NodeJS.TypedArray | readonly TensorData[];

/** Data of a tensor of bools. */
type Bools = boolean | readonly Bools[];

/** What data gives: bools where all are, unless a dtype is asked for. */
export type OfData<T, D> = [D] extends [null]
  ? [T] extends [readonly never[]]
    ? Tensor
    : [T] extends [Bools]
      ? BoolTensor
      : Tensor
  : OfDType<D>;

/** What a factory may be told besides the data. */
export interface TensorOptions {
  /** By default that of the data: the default dtype for numbers, int64 for bigints, bool for booleans. */
  dtype?: DTypeLike | null;
  /** By default the CPU. */
  device?: DeviceLike | null;
  /** Whether operators on the result are recorded; false by default. */
  requiresGrad?: boolean;
  /** Whether the result lies in pinned memory, which GPUs reach by themselves; false by default. */
  pinMemory?: boolean;
}

const KEYS = ["dtype", "device", "requiresGrad", "pinMemory"];
const MAX_RANK = 64;

interface Wanted {
  dtype: DType | null;
  device: Device | null;
  requiresGrad: boolean;
  pinMemory: boolean;
}

function read(op: string, options: TensorOptions | undefined): Wanted {
  if (options === undefined) return { dtype: null, device: null, requiresGrad: false, pinMemory: false };
  if (typeof options !== "object" || options === null || Array.isArray(options)) throw texts.onePositionalArgument(op);
  for (const key of Object.keys(options)) {
    if (!KEYS.includes(key)) throw unknownKeyword(op, key, KEYS);
  }
  const { dtype, device, requiresGrad } = options;
  if (requiresGrad !== undefined && typeof requiresGrad !== "boolean") throw texts.requiresGradNotBool(op);
  return {
    dtype: dtype === undefined || dtype === null ? null : toDType(dtype),
    device: device === undefined || device === null ? null : toDevice(device),
    requiresGrad: requiresGrad === true,
    pinMemory: options.pinMemory === true,
  };
}

/** Marks a result as a leaf that wants gradients. */
function finish(t: Tensor, wanted: boolean): Tensor {
  if (!wanted) return t;
  if (t.dtype.category < 2) throw texts.notDifferentiable(undefined);
  t._requiresGrad = true;
  return t;
}

/**
 * A tensor holding a copy of the data. Plain numbers give the default dtype whatever their values, bigints and
 * `int(1)` int64, booleans bool, complex numbers complex64; typed arrays keep their type.
 * @throws ValueError when nested arrays differ in length
 * @throws RuntimeError when a number does not fit the dtype
 * @example
 * ```ts
 * tensor([[1, 2], [3, 4]]) // tensor([[1., 2.],
 * //         [3., 4.]])
 * ```
 * @torch torch.tensor
 */
export function tensor<T extends TensorData, const D extends DTypeLike | null = null>(
  data: T,
  options?: TensorOptions & { dtype?: D },
): OfData<T, D>;
export function tensor(data: TensorData, options?: TensorOptions): Tensor {
  if (options === undefined && chosen.factory === null && Array.isArray(data)) {
    const quick = plainRow(data);
    if (quick !== null) return quick;
  }
  if (isDict(data)) return tensor(...inOrder<[TensorData, TensorOptions?]>("tensor", FUNCTIONS.tensor, arguments));
  return build("tensor", data, read("tensor", options));
}

/** Rows begun so far: an element that is computed may make a tensor itself, and use the stage. */
let rows = 0;

/** The common case at full speed: one row of plain numbers. */
function plainRow(data: readonly TensorData[]): Tensor | null {
  const n = data.length;
  if (n > STAGE_SIZE || n === 0) return null;
  const row = ++rows;
  for (let i = 0; i < n; i++) {
    const x = data[i];
    if (typeof x !== "number") return null;
    stage[i] = x;
  }
  if (row !== rows) return null;
  const d = getDefaultDtype();
  const t = empty([n], d, CPU);
  writeNumbers(t._storage.ptr, d.id, n, stage);
  return t;
}

function build(op: string, data: unknown, wanted: Wanted): Tensor {
  if (!wanted.pinMemory) return made(op, data, wanted);
  requirePinnable(wanted.device);
  return inPinnedMemory(() => made(op, data, wanted));
}

function made(op: string, data: unknown, wanted: Wanted): Tensor {
  if (data instanceof Tensor) {
    if (op === "tensor") {
      warn(
        "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or " +
          "sourceTensor.detach().clone().requiresGrad_(true), rather than tensor(sourceTensor).",
      );
    }
    return finish(copyOf(data, wanted.dtype ?? data.dtype, wanted.device), wanted.requiresGrad);
  }
  if (ArrayBuffer.isView(data)) return finish(fromView(op, data, wanted), wanted.requiresGrad);
  const shape = shapeOf(data);
  const dtype = wanted.dtype ?? inferDtype(data, 0) ?? getDefaultDtype();
  const device = factoryDevice(wanted.device, op);
  const leaves: unknown[] = [];
  gather(data, shape, 0, dtype, leaves);
  if (!device.computes) return finish(empty(shape, dtype, device), wanted.requiresGrad);
  const t = empty(shape, dtype, CPU);
  storeLeaves(t._storage.ptr, dtype, leaves);
  return finish(onDevice(t, device), wanted.requiresGrad);
}

function copyOf(t: Tensor, dtype: DType, wanted: Device | null): Tensor {
  const device = factoryDevice(wanted ?? t.device, "tensor");
  if (!device.computes) return empty(t._shape, dtype, device);
  return onDevice(dtype === t.dtype ? clone(t) : cast(t, dtype), device);
}

/** Sizes read along the first elements. */
function shapeOf(data: unknown): number[] {
  const shape: number[] = [];
  let at = data;
  while (Array.isArray(at) || (shape.length > 0 && (ArrayBuffer.isView(at) || typeof at === "string"))) {
    if (typeof at === "string" || shape.length >= MAX_RANK) throw texts.tooManyDimensionsOf("tensor", typeName(at));
    const list = at as readonly unknown[];
    shape.push(list.length);
    if (list.length === 0) break;
    at = list[0];
  }
  return shape;
}

/** The dtype that all leaves promote to; null without leaves. */
function inferDtype(x: unknown, depth: number): DType | null {
  if (isScalar(x)) return dataDtype(x);
  if (x instanceof Tensor) return x.dtype;
  if (ArrayBuffer.isView(x)) return dtypeOfArray(x) ?? cannotInfer(x);
  if (typeof x === "string") throw texts.textIsNoData("tensor");
  if (!Array.isArray(x)) cannotInfer(x);
  if (depth >= MAX_RANK) throw texts.tooManyDimensionsOf("tensor", "list");
  let found: DType | null = null;
  for (const y of x as unknown[]) {
    const d = inferDtype(y, depth + 1);
    if (d !== null) found = found === null ? d : promoteTypes(found, d);
  }
  return found;
}

function cannotInfer(x: unknown): never {
  throw texts.cannotInferDtype("tensor", typeName(x));
}

/** Python's name of a value's type, as messages give it. */
function typeName(x: unknown): string {
  if (x === null || x === undefined) return "NoneType";
  if (typeof x === "string") return "str";
  if (Array.isArray(x)) return "list";
  if (x instanceof Complex) return "complex";
  if (typeof x === "function") return "function";
  const name = (x as object).constructor?.name ?? "object";
  return name === "Object" ? "dict" : name;
}

/** Appends the leaves in row-major order; every list must have its dimension's length. */
function gather(x: unknown, shape: readonly number[], dim: number, dtype: DType, leaves: unknown[]): void {
  if (dim === shape.length) {
    leaves.push(isScalar(x) ? x : leafOf(x, dtype));
    return;
  }
  if (!Array.isArray(x) && !ArrayBuffer.isView(x)) throw texts.notASequence("tensor");
  const list = x as readonly unknown[];
  const n = shape[dim] as number;
  if (list.length !== n) throw texts.raggedSequence("tensor", n, dim, list.length);
  for (let i = 0; i < n; i++) gather(list[i], shape, dim + 1, dtype, leaves);
}

/** One element that is no plain number: a tensor of one element, else an error. */
function leafOf(x: unknown, dtype: DType): unknown {
  const integral = dtype.category === 1;
  if (x instanceof Tensor) {
    if (x._numel !== 1) {
      if (integral) throw texts.notAnIndexTensor("tensor");
      throw texts.notASingleElement("tensor");
    }
    return x.dtype.category === 1 ? bigint(x) : item(x);
  }
  throw integral ? texts.notAnInteger("tensor", typeName(x)) : texts.notAReal("tensor", typeName(x));
}

/** Writes leaves as dense elements of a dtype. */
function storeLeaves(address: number, d: DType, leaves: readonly unknown[]): void {
  const n = leaves.length;
  if (d.category === 3) {
    const parts = roomFor(2 * n);
    for (let i = 0; i < n; i++) {
      const v = scalarValue(leaves[i] as Scalar);
      parts[2 * i] = v instanceof Complex ? v.re : Number(v);
      parts[2 * i + 1] = v instanceof Complex ? v.im : 0;
    }
    writeNumbers(address, d.id, n, parts);
    return;
  }
  let wide = false;
  const numbers = roomFor(n);
  for (let i = 0; i < n; i++) {
    const leaf = leaves[i] as Scalar;
    const v = scalarValue(leaf);
    if (d.category === 1) wide = checkInteger(leaf, v, d) || wide;
    else if (v instanceof Complex && d.category === 2) {
      throw texts.notAReal("tensor", "complex");
    }
    numbers[i] = v instanceof Complex ? (v.re !== 0 || v.im !== 0 ? 1 : 0) : Number(v);
  }
  if (wide) {
    writeWords(
      address,
      leaves.map((x) => toWord(scalarValue(x as Scalar))),
    );
  } else writeNumbers(address, d.id, n, numbers);
}

function toWord(v: number | bigint | boolean | Complex): bigint {
  return typeof v === "bigint" ? v : BigInt(Math.trunc(Number(v)));
}

/** Refuses what an integer dtype cannot hold; true when doubles cannot carry the value. */
function checkInteger(leaf: Scalar, v: number | bigint | boolean | Complex, d: DType): boolean {
  if (v instanceof Complex) throw texts.notAnInteger("tensor", "complex");
  const big = typeof v === "bigint";
  if (!big && d.itemsize === 8 && Number.isSafeInteger(Number(v)) && (d.isSigned || Number(v) >= 0)) return false;
  const bits = BigInt(8 * d.itemsize - (d.isSigned ? 1 : 0));
  const top = 2n ** bits - 1n;
  // Negative ints wrap around in the unsigned types, floats do not.
  const wraps = scalarKind(leaf) !== "float" && d.itemsize < 8;
  const low = d.isSigned ? -top - 1n : wraps ? -top : 0n;
  if (!big && !Number.isFinite(Number(v))) overflow(d);
  const cut = toWord(v);
  const inside = big ? cut >= low && cut <= top : Number(v) >= Number(low) && cut <= top;
  if (!inside) {
    if (big && d.itemsize === 8) {
      if (!d.isSigned && cut < 0n) throw texts.negativeIsNotUnsigned("tensor");
      throw texts.integerOverflow("tensor");
    }
    overflow(d);
  }
  return d.itemsize === 8 && !Number.isSafeInteger(Number(v));
}

function overflow(d: DType): never {
  throw texts.valueOverflow("tensor", d.name);
}

const ARRAY_DTYPES: Record<string, string> = {
  Uint8Array: "uint8",
  Uint8ClampedArray: "uint8",
  Buffer: "uint8",
  Int8Array: "int8",
  Int16Array: "int16",
  Int32Array: "int32",
  BigInt64Array: "int64",
  Uint16Array: "uint16",
  Uint32Array: "uint32",
  BigUint64Array: "uint64",
  Float16Array: "float16",
  Float32Array: "float32",
  Float64Array: "float64",
};

/** The dtype of a typed array's elements; null for a DataView. */
function dtypeOfArray(array: ArrayBufferView): DType | null {
  const tag = (array as { [Symbol.toStringTag]?: string })[Symbol.toStringTag] ?? "";
  return dtypeByName(ARRAY_DTYPES[tag] ?? "") ?? null;
}

/** A copy of a typed array's elements. */
function fromView(op: string, array: ArrayBufferView, wanted: Wanted): Tensor {
  const own = dtypeOfArray(array) ?? cannotInfer(array);
  const view = array as NodeJS.TypedArray;
  const dtype = wanted.dtype ?? own;
  const device = factoryDevice(wanted.device, op);
  if (!device.computes) return empty([view.length], dtype, device);
  const t = empty([view.length], own, CPU);
  writeBytes(t._storage.ptr, view);
  return onDevice(dtype === own ? t : cast(t, dtype), device);
}

/**
 * A tensor over the memory of a typed array: writes through one show in the other.
 * @example
 * ```ts
 * const numbers = new Float32Array([1, 2]);
 * fromTypedArray(numbers).mul_(10);
 * numbers[1] // 20
 * ```
 * @torch torch.from_numpy
 */
export function fromTypedArray(array: NodeJS.TypedArray): Tensor {
  [array] = inOrder<[NodeJS.TypedArray]>("fromTypedArray", FUNCTIONS.fromTypedArray, arguments);
  const dtype = ArrayBuffer.isView(array) ? dtypeOfArray(array) : null;
  if (dtype === null) throw texts.notATypedArray("fromTypedArray", typeName(array));
  if ((array.buffer as { resizable?: boolean }).resizable === true) throw texts.resizableArrayBuffer("fromTypedArray");
  return makeContiguous(Storage.borrowArray(array), [array.length], dtype);
}

export { fromTypedArray as fromNumpy };

/**
 * A tensor of the data, sharing memory where that is possible: a tensor of the wanted dtype and device is
 * returned as it is, a typed array is viewed; anything else is copied.
 * @example
 * ```ts
 * asTensor([1, 2]) // tensor([1., 2.])
 * ```
 * @torch torch.as_tensor
 */
export function asTensor(data: TensorData, options?: Omit<TensorOptions, "requiresGrad">): Tensor {
  [data, options] = inOrder<[TensorData, Omit<TensorOptions, "requiresGrad">?]>(
    "asTensor",
    FUNCTIONS.asTensor,
    arguments,
  );
  const wanted = read("asTensor", options);
  if (data instanceof Tensor) {
    const sameDevice = wanted.device === null || wanted.device.equals(data.device);
    if (sameDevice && (wanted.dtype === null || wanted.dtype === data.dtype)) return data;
    return data.to(wanted.device ?? data.device, wanted.dtype ?? data.dtype);
  }
  if (ArrayBuffer.isView(data)) {
    const dtype = dtypeOfArray(data) ?? cannotInfer(data);
    const here = wanted.device === null || wanted.device.type === "cpu";
    if (here && (wanted.dtype === null || wanted.dtype === dtype)) return fromTypedArray(data as NodeJS.TypedArray);
  }
  return build("asTensor", data, wanted);
}

/**
 * A copy of the data as a tensor of the same dtype and device unless others are given.
 * @torch Tensor.new_tensor
 */
export function newTensor(self: Tensor, data: TensorData, options?: TensorOptions): Tensor {
  const wanted = read("newTensor", options);
  return build("newTensor", data, {
    dtype: wanted.dtype ?? self.dtype,
    device: wanted.device ?? self.device,
    requiresGrad: wanted.requiresGrad,
    pinMemory: wanted.pinMemory,
  });
}

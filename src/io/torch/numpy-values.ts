// NumPy's numbers and arrays in pickles. Both are data: a number becomes JavaScript's, an array a tensor of its own.
import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import type { DType } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { NumpyScalar } from "../base/numpy-scalar.ts";
import { isByteArray, type NumpyLayout, noteNumpy } from "../base/python-origin.ts";
import { arrayOver, swappedStorage } from "../numpy/npy.ts";
import { npyDtype } from "../numpy/npy-header.ts";
import { GlobalReference, PickledRecord, type PickleGlobal } from "../pickle/pickle.ts";

const MAX_RANK = 64;
/** Where NumPy's functions are; NumPy 2 has another name for the package. */
const NUMPY = /^(numpy\.core|numpy\._core)\.(multiarray\._reconstruct|multiarray\.scalar|numeric\._frombuffer)$/;

/** Whether a name is of NumPy's data: what is done with it is a record, of which `numpyValue` makes the value. */
export function numpyGlobal(name: string): PickleGlobal | undefined {
  const known = name === "numpy.dtype" || name === "numpy.ndarray" || NUMPY.test(name);
  return known ? { recorded: true } : undefined;
}

interface Element {
  code: string;
  /** "<", ">", or "|" for elements of one byte. */
  order: string;
}

function isNamed(value: unknown, name: string): boolean {
  return value instanceof GlobalReference && value.name === name;
}

/** A dtype without fields, shapes and units; null for any other. */
function elementOf(value: unknown): Element | null {
  if (!(value instanceof PickledRecord) || !isNamed(value.callee, "numpy.dtype")) return null;
  const [text] = value.args;
  const [, given, code] = (typeof text === "string" && /^([<>|=]?)([a-zA-Z]\d+)$/.exec(text)) || [];
  if (code === undefined) return null;
  const { state } = value;
  if (state === undefined) return { code, order: given || "<" };
  if (!Array.isArray(state) || state.length < 5) return null;
  const [, order, subdtype, names, fields] = state;
  if (![subdtype, names, fields].every((part) => part === null)) return null;
  // Units of dates are behind the other parts.
  if (typeof order !== "string" || !/^[<>|=]$/.test(order) || state.length > 8) return null;
  return { code, order: order === "=" ? "<" : order };
}

/** Bytes, which Python 2 wrote as a text. */
function bytesOf(value: unknown): Uint8Array | null {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string") return null;
  const bytes = new Uint8Array(value.length);
  for (let i = 0; i < value.length; i++) {
    if (value.charCodeAt(i) > 255) return null;
    bytes[i] = value.charCodeAt(i);
  }
  return bytes;
}

function sizesOf(value: unknown): number[] | null {
  if (!Array.isArray(value) || value.length > MAX_RANK) return null;
  return value.every((size) => Number.isSafeInteger(size) && size >= 0) ? [...value] : null;
}

function arrayOf(shape: number[], dtype: DType, layout: NumpyLayout, bytes: Uint8Array): Tensor {
  const { bigEndian, fortranOrder } = layout;
  const nbytes = shape.reduce((product, n) => product * n, dtype.itemsize);
  const extent = shape.reduce((product, n) => product * Math.max(n, 1), dtype.itemsize);
  if (nbytes !== bytes.length || !Number.isSafeInteger(extent)) {
    throw new FormatError(`an array of shape [${shape.join(", ")}] and ${dtype} has ${bytes.length} bytes`);
  }
  const storage = Storage.allocate(nbytes);
  if (nbytes > 0) copyBytes(storage.ptr, addressOf(bytes), nbytes);
  const own = bigEndian ? swappedStorage(dtype, storage, 0, nbytes) : storage;
  const made = fortranOrder
    ? arrayOver({ dtype, shape, fortranOrder, bigEndian: false, headerBytes: 0, nbytes }, own)
    : makeContiguous(own, shape, dtype);
  return noteNumpy(made, layout);
}

/** An array of what `__reduce__` gave, or a buffer of protocol 5; null for elements that no tensor has. */
function arrayIn(record: PickledRecord, from: string, buffered: boolean): Tensor | null {
  // Older versions of the state have no number in front.
  const state = Array.isArray(record.state) ? record.state.slice(-4) : [];
  if (!buffered && (!isNamed(record.args[0], "numpy.ndarray") || state.length !== 4)) return null;
  const [buffer, type, size, letter] = record.args;
  const [shape, dtype, order, data] = buffered ? [size, type, letter, buffer] : state;
  const [element, sizes, bytes] = [elementOf(dtype), sizesOf(shape), bytesOf(data)];
  const kind = element === null ? undefined : npyDtype(element.code);
  if (element === null || kind === undefined || sizes === null || bytes === null) return null;
  const fortranOrder = buffered ? order === "F" : order === true || order === 1;
  const bigEndian = element.order === ">" && kind.itemsize > 1;
  const layout: NumpyLayout = { from, code: element.code, bigEndian, fortranOrder };
  if (buffered) layout.buffer = isByteArray(bytes) ? "bytearray" : "bytes";
  return arrayOf(sizes, kind, layout, bytes);
}

/** The number or array of a record; undefined for everything else, such as texts, dates, objects, records. */
export function numpyValue(record: PickledRecord): Tensor | NumpyScalar | undefined {
  const { callee, args } = record;
  if (!(callee instanceof GlobalReference) || record.how !== "call") return undefined;
  const [, from, what] = NUMPY.exec(callee.name) ?? [];
  if (from === undefined || record.listItems !== undefined || record.dictItems !== undefined) return undefined;
  if (what !== "multiarray.scalar") return arrayIn(record, from, what === "numeric._frombuffer") ?? undefined;
  const [element, bytes] = [elementOf(args[0]), bytesOf(args[1])];
  if (element === null || bytes === null || args.length !== 2 || record.state !== undefined) return undefined;
  return NumpyScalar.of(element.code, element.order, from, bytes) ?? undefined;
}

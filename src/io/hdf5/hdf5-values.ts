// Values that are no tensors, as h5py keeps NumPy arrays that HDF5 has no type for: bytes under a tag.
import { Float, Int } from "../../tensor/complex.ts";
import { FormatError } from "../base/errors.ts";
import type { Hdf5Info } from "./hdf5-engine.ts";

/** Bytes of a value, with the tag that names their type. */
export interface TaggedBytes {
  tag: string;
  itemsize: number;
  bytes: Uint8Array;
}

const PREFIX = "NUMPY:";

/** Numbers or booleans of one kind as tagged bytes; null when they are something else. */
export function encodeValues(values: readonly unknown[]): TaggedBytes | null {
  if (values.length === 0) return { tag: `${PREFIX}<f8`, itemsize: 8, bytes: new Uint8Array(0) };
  if (values.every((value) => typeof value === "boolean")) {
    return { tag: `${PREFIX}|b1`, itemsize: 1, bytes: Uint8Array.from(values, Number) };
  }
  if (values.every((value) => typeof value === "bigint" || value instanceof Int || Number.isSafeInteger(value))) {
    const wide = values.map((value) => BigInt(value instanceof Int ? value.value : (value as bigint | number)));
    if (wide.some((value) => BigInt.asIntN(64, value) !== value)) return null;
    return { tag: `${PREFIX}<i8`, itemsize: 8, bytes: new Uint8Array(BigInt64Array.from(wide).buffer) };
  }
  const floats = values.map((value) => (value instanceof Float ? value.value : value));
  if (!floats.every((value) => typeof value === "number")) return null;
  return { tag: `${PREFIX}<f8`, itemsize: 8, bytes: new Uint8Array(Float64Array.from(floats).buffer) };
}

type Reader = (view: DataView, at: number, size: number) => unknown;

function narrow(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A float of Python's: a `Float` where the number would be taken for an int. */
function float(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value;
}

function codePoints(view: DataView, at: number, size: number): string {
  let text = "";
  for (let i = 0; i + 4 <= size; i += 4) {
    const code = view.getUint32(at + i, true);
    if (code > 0x10ffff) throw new FormatError(`${code} is no character`);
    text += String.fromCodePoint(code);
  }
  return text.replace(/\0+$/, "");
}

const READERS: Record<string, { size: number; read: Reader }> = {
  "|b1": { size: 1, read: (view, at) => view.getUint8(at) !== 0 },
  "|i1": { size: 1, read: (view, at) => view.getInt8(at) },
  "|u1": { size: 1, read: (view, at) => view.getUint8(at) },
  "<i2": { size: 2, read: (view, at) => view.getInt16(at, true) },
  "<i4": { size: 4, read: (view, at) => view.getInt32(at, true) },
  "<i8": { size: 8, read: (view, at) => narrow(view.getBigInt64(at, true)) },
  "<f4": { size: 4, read: (view, at) => float(view.getFloat32(at, true)) },
  "<f8": { size: 8, read: (view, at) => float(view.getFloat64(at, true)) },
};

function readerOf(tag: string, itemsize: number): Reader | null {
  if (!tag.startsWith(PREFIX)) return null;
  const type = tag.slice(PREFIX.length);
  if (/^<U\d+$/.test(type) && itemsize % 4 === 0) return codePoints;
  if (/^\|S\d+$/.test(type)) {
    return (view, at, size) =>
      Buffer.from(view.buffer, view.byteOffset + at, size)
        .toString("latin1")
        .replace(/\0+$/, "");
  }
  const known = READERS[type];
  return known !== undefined && known.size === itemsize ? known.read : null;
}

/** Whether bytes of a tag are values that are known here. */
export function isReadable({ tag, itemsize }: { tag: string; itemsize: number }): boolean {
  return itemsize > 0 && readerOf(tag, itemsize) !== null;
}

/** Whether a dataset has elements that neither tensors nor JavaScript have. */
export function isUnknown({ dtype, other }: Hdf5Info): boolean {
  if (dtype !== null || other === null || other.kind === "text" || other.kind === "values") return false;
  return other.kind !== "opaque" || !isReadable(other);
}

/** The values of tagged bytes, whole floats as `Float`; null for tags of other programs. */
export function decodeValues({ tag, itemsize, bytes }: TaggedBytes): unknown[] | null {
  const read = readerOf(tag, itemsize);
  if (read === null || itemsize === 0 || bytes.length % itemsize !== 0) return null;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Array.from({ length: bytes.length / itemsize }, (_, i) => read(view, i * itemsize, itemsize));
}

/** Flat values as nested lists of a shape. */
export function nest(values: readonly unknown[], shape: readonly number[]): unknown {
  if (shape.length === 0) return values[0];
  const count = shape[0] as number;
  const step = count === 0 ? 0 : values.length / count;
  return Array.from({ length: count }, (_, i) => nest(values.slice(i * step, (i + 1) * step), shape.slice(1)));
}

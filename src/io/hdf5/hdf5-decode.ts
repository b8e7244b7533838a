// Elements of HDF5 files that hold pointers - texts and lists of any length, also in records - as values.
import type { Hid } from "../../ffi/hdf5.ts";
import { addressOf, textAt } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { Float } from "../../tensor/complex.ts";
import { FormatError } from "../base/errors.ts";
import { type Identifiers, takeText } from "./hdf5-types.ts";

const INTEGER = 0;
const FLOAT = 1;
const STRING = 3;
const COMPOUND = 6;
const ENUM = 8;
const VARIABLE = 9;
const ARRAY = 10;
/** A list in memory is its length and where it is. */
const LIST_BYTES = 16;
const MOST_LEVELS = 32;
const MOST_MEMBERS = 10_000;

/** Bytes that texts and lists took so far. */
export class Taken {
  #bytes = 0;
  /** Most bytes, and what to do when there are more. */
  most = Number.POSITIVE_INFINITY;
  refuse: () => never = () => {
    throw new FormatError("its values take more memory than the file");
  };

  add(nbytes: number): void {
    this.#bytes += nbytes;
    if (!(this.#bytes <= this.most)) this.refuse();
  }
}

/** How an element becomes a value. */
export interface Decoder {
  /** Bytes of an element in memory. */
  size: number;
  value(view: DataView, at: number): unknown;
}

function integer(value: bigint): number | bigint {
  return Number.isSafeInteger(Number(value)) ? Number(value) : value;
}

/** A whole float is told from an integer. */
function float(value: number): number | Float {
  return Number.isInteger(value) ? new Float(value) : value;
}

function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return Buffer.from(end < 0 ? bytes : bytes.subarray(0, end)).toString("utf8");
}

const INTEGERS: Readonly<Record<string, Decoder["value"]>> = {
  i1: (view, at) => view.getInt8(at),
  u1: (view, at) => view.getUint8(at),
  i2: (view, at) => view.getInt16(at, true),
  u2: (view, at) => view.getUint16(at, true),
  i4: (view, at) => view.getInt32(at, true),
  u4: (view, at) => view.getUint32(at, true),
  i8: (view, at) => integer(view.getBigInt64(at, true)),
  u8: (view, at) => integer(view.getBigUint64(at, true)),
};
const FLOATS: Readonly<Record<number, Decoder["value"]>> = {
  4: (view, at) => float(view.getFloat32(at, true)),
  8: (view, at) => float(view.getFloat64(at, true)),
};

/** Finds out how elements of a type in memory become values; null where one has none in JavaScript. */
class Planning {
  #members = 0;

  constructor(
    private readonly ids: Identifiers,
    private readonly taken: Taken,
  ) {}

  plan(type: Hid, level = 0): Decoder | null {
    const { call } = this.ids.library;
    if (level > MOST_LEVELS) return null;
    const size = Number(call.H5Tget_size(type));
    switch (call.H5Tget_class(type)) {
      case INTEGER: {
        const value = INTEGERS[`${call.H5Tget_sign(type) === 0 ? "u" : "i"}${size}`];
        return value === undefined ? null : { size, value };
      }
      case FLOAT: {
        const value = FLOATS[size];
        return value === undefined ? null : { size, value };
      }
      case STRING:
        return this.text(type, size);
      case ENUM:
        return this.inner(type, level);
      case VARIABLE: {
        const of = this.inner(type, level);
        return of === null || size !== LIST_BYTES
          ? null
          : { size, value: (view, at) => listAt(of, view, at, this.taken) };
      }
      case ARRAY: {
        const of = this.inner(type, level);
        return of === null ? null : this.array(type, size, of);
      }
      case COMPOUND:
        return this.record(type, size, level);
      default:
        return null;
    }
  }

  private inner(type: Hid, level: number): Decoder | null {
    using ids = this.ids.others();
    return this.plan(ids.keep(this.ids.library.call.H5Tget_super(type)), level + 1);
  }

  private text(type: Hid, size: number): Decoder {
    if (this.ids.check(this.ids.library.call.H5Tis_variable_str(type)) > 0) {
      return { size, value: (view, at) => textOf(Number(view.getBigUint64(at, true)), this.taken) };
    }
    return { size, value: (view, at) => text(new Uint8Array(view.buffer, view.byteOffset + at, size)) };
  }

  private array(type: Hid, size: number, of: Decoder): Decoder {
    const { call } = this.ids.library;
    const dims = new BigUint64Array(Math.max(1, this.ids.check(call.H5Tget_array_ndims(type))));
    this.ids.check(call.H5Tget_array_dims2(type, dims));
    const shape = [...dims].map(Number);
    const nested = (view: DataView, at: number, [count = 0, ...rest]: readonly number[]): unknown[] => {
      const step = rest.reduce((product, n) => product * n, of.size);
      const one = (from: number) => (rest.length === 0 ? of.value(view, from) : nested(view, from, rest));
      return Array.from({ length: count }, (_, i) => one(at + i * step));
    };
    return { size, value: (view, at) => nested(view, at, shape) };
  }

  private record(type: Hid, size: number, level: number): Decoder | null {
    const { call } = this.ids.library;
    const members: [name: string, offset: number, of: Decoder][] = [];
    for (let i = 0; i < this.ids.check(call.H5Tget_nmembers(type)); i++) {
      if (++this.#members > MOST_MEMBERS) return null;
      using ids = this.ids.others();
      const of = this.plan(ids.keep(call.H5Tget_member_type(type, i)), level + 1);
      if (of === null) return null;
      members.push([takeText(ids, call.H5Tget_member_name(type, i)), Number(call.H5Tget_member_offset(type, i)), of]);
    }
    // A number over a pointer would lead anywhere.
    let end = 0;
    for (const [, offset, of] of [...members].sort((a, b) => a[1] - b[1])) {
      if (offset < end || offset + of.size > size) return null;
      end = offset + of.size;
    }
    const value = (view: DataView, at: number) => {
      return new Map(members.map(([name, offset, of]) => [name, of.value(view, at + offset)]));
    };
    return { size, value };
  }
}

function textOf(address: number, taken: Taken): string {
  const found = address === 0 ? "" : textAt(address);
  taken.add(found.length);
  return found;
}

function listAt(of: Decoder, view: DataView, at: number, taken: Taken): unknown[] {
  const [count, address] = [Number(view.getBigUint64(at, true)), Number(view.getBigUint64(at + 8, true))];
  if (count === 0 || address === 0) return [];
  taken.add(count * of.size);
  const bytes = new Uint8Array(count * of.size);
  copyBytes(addressOf(bytes), address, bytes.length);
  const inside = new DataView(bytes.buffer);
  return Array.from({ length: count }, (_, i) => of.value(inside, i * of.size));
}

/** How elements in memory become values, and the type that they are read as; null where some have none. */
export function decoderOf(ids: Identifiers, type: Hid): { decoder: Decoder; memory: Hid; taken: Taken } | null {
  const { call } = ids.library;
  // The type of the file has to be sound, too: the library converts it as it says.
  const taken = new Taken();
  if (new Planning(ids, taken).plan(type) === null) return null;
  const memory = ids.keep(call.H5Tget_native_type(type, 0));
  const decoder = new Planning(ids, taken).plan(memory);
  return decoder === null ? null : { decoder, memory, taken };
}

// Element types of HDF5 files: which dtype an element is, and the same types for memory and for new datasets.
import type { Hdf5Library, Hid } from "../../ffi/hdf5.ts";
import { textAt } from "../../ffi/library.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { requireText } from "../base/well-formed.ts";
import type { Hdf5Info } from "./hdf5-engine.ts";

/** Classes of types, as the library numbers them. */
const INTEGER = 0;
const FLOAT = 1;
const STRING = 3;
const OPAQUE = 5;
const COMPOUND = 6;
const ENUM = 8;
/** Classes in words. */
export const CLASS_NAMES = [
  "integer",
  "float",
  "time",
  "string",
  "bit field",
  "opaque",
  "compound",
  "reference",
  "enumeration",
  "variable-length",
  "array",
  "complex",
];

/** Length of a string that says its length itself. */
const VARIABLE = 2n ** 64n - 1n;
const UTF8 = 1;

/** A text as the library takes it. */
export function cText(text: string): Uint8Array {
  requireText(text, () => `the text ${JSON.stringify(text)}`);
  return Buffer.from(`${text}\0`, "utf8");
}

/** Identifiers that are given back at the end of a block: `using ids = new Identifiers(...)`. */
export class Identifiers {
  readonly #held: Hid[] = [];
  constructor(
    readonly library: Hdf5Library,
    /** The error for a call that failed. */
    readonly failure: () => Error,
  ) {}
  /** Takes an identifier that the library gave, or throws when it gave none. */
  keep(id: Hid): Hid {
    if (id < 0n) throw this.failure();
    this.#held.push(id);
    return id;
  }
  /** Passes a result on, or throws when it says that the call failed. */
  check(status: number): number {
    if (status < 0) throw this.failure();
    return status;
  }
  /** Others, which are given back earlier. */
  others(): Identifiers {
    return new Identifiers(this.library, this.failure);
  }
  [Symbol.dispose](): void {
    for (const id of this.#held.reverse()) this.library.call.H5Idec_ref(id);
  }
}

const STANDARD: Record<string, keyof Hdf5Library["id"]> = {
  uint8: "H5T_STD_U8LE",
  uint16: "H5T_STD_U16LE",
  uint32: "H5T_STD_U32LE",
  uint64: "H5T_STD_U64LE",
  int8: "H5T_STD_I8LE",
  int16: "H5T_STD_I16LE",
  int32: "H5T_STD_I32LE",
  int64: "H5T_STD_I64LE",
  float32: "H5T_IEEE_F32LE",
  float64: "H5T_IEEE_F64LE",
};

/** The error for a dtype that NumPy, and so h5py, does not know. */
function unsupportedDtype(dtype: DType): TypeError {
  return new TypeError(`Got unsupported ScalarType ${dtype.scalarType}`);
}

function boolType(ids: Identifiers): Hid {
  const { call, id } = ids.library;
  const type = ids.keep(call.H5Tenum_create(id.H5T_STD_I8LE));
  ids.check(call.H5Tenum_insert(type, cText("FALSE"), new Int8Array([0])));
  ids.check(call.H5Tenum_insert(type, cText("TRUE"), new Int8Array([1])));
  return type;
}

function halfType(ids: Identifiers): Hid {
  const { call, id } = ids.library;
  const type = ids.keep(call.H5Tcopy(id.H5T_IEEE_F32LE));
  // Sign at bit 15, 5 bits of exponent at 10, 10 bits of fraction at 0; fields first, they must fit while it shrinks.
  ids.check(call.H5Tset_fields(type, 15, 10, 5, 0, 10));
  ids.check(call.H5Tset_size(type, 2));
  ids.check(call.H5Tset_ebias(type, 15));
  return type;
}

function complexType(ids: Identifiers, part: Hid, partSize: number): Hid {
  const { call } = ids.library;
  const type = ids.keep(call.H5Tcreate(COMPOUND, 2 * partSize));
  ids.check(call.H5Tinsert(type, cText("r"), 0, part));
  ids.check(call.H5Tinsert(type, cText("i"), partSize, part));
  return type;
}

/** The type of a dtype's elements, in memory and in new datasets: the one that h5py makes. */
export function typeOf(ids: Identifiers, dtype: DType): Hid {
  const { id } = ids.library;
  const standard = STANDARD[dtype.name];
  if (standard !== undefined) return id[standard];
  if (dtype.name === "bool") return boolType(ids);
  if (dtype.name === "float16") return halfType(ids);
  if (dtype.name === "complex64") return complexType(ids, id.H5T_IEEE_F32LE, 4);
  if (dtype.name === "complex128") return complexType(ids, id.H5T_IEEE_F64LE, 8);
  throw unsupportedDtype(dtype);
}

/** Texts of any length in UTF-8. */
export function textType(ids: Identifiers, length: bigint = VARIABLE): Hid {
  const { call, id } = ids.library;
  const type = ids.keep(call.H5Tcopy(id.H5T_C_S1));
  ids.check(call.H5Tset_size(type, length));
  ids.check(call.H5Tset_cset(type, UTF8));
  return type;
}

/** Bytes that the library does not look into. */
export function opaqueType(ids: Identifiers, itemsize: number, tag: string): Hid {
  const type = ids.keep(ids.library.call.H5Tcreate(OPAQUE, itemsize));
  ids.check(ids.library.call.H5Tset_tag(type, cText(tag)));
  return type;
}

/** A text that the library made for the caller. */
export function takeText(ids: Identifiers, address: number): string {
  if (Number(address) === 0) throw ids.failure();
  const text = textAt(address);
  ids.library.call.H5free_memory(address);
  return text;
}

function floatName(ids: Identifiers, type: Hid): string | null {
  const { call } = ids.library;
  const fields = new BigUint64Array(5);
  const at = (i: number) => fields.subarray(i, i + 1);
  ids.check(call.H5Tget_fields(type, at(0), at(1), at(2), at(3), at(4)));
  const [exponent, fraction] = [Number(fields[2]), Number(fields[4])];
  // Types between the ones we have, as bfloat16, are read as the next wider one.
  if (exponent <= 5 && fraction <= 10) return "float16";
  if (exponent <= 8 && fraction <= 23) return "float32";
  return exponent <= 11 && fraction <= 52 ? "float64" : null;
}

function isBool(ids: Identifiers, type: Hid): boolean {
  const { call } = ids.library;
  if (Number(call.H5Tget_size(type)) !== 1 || call.H5Tget_nmembers(type) !== 2) return false;
  for (const [i, wanted] of ["FALSE", "TRUE"].entries()) {
    const value = new Uint8Array(8);
    if (takeText(ids, call.H5Tget_member_name(type, i)) !== wanted) return false;
    if (call.H5Tget_member_value(type, i, value) < 0 || value[0] !== i) return false;
  }
  return true;
}

function complexName(ids: Identifiers, type: Hid): string | null {
  const { call } = ids.library;
  if (call.H5Tget_nmembers(type) !== 2) return null;
  const size = Number(call.H5Tget_size(type));
  for (const [i, wanted] of ["r", "i"].entries()) {
    if (takeText(ids, call.H5Tget_member_name(type, i)) !== wanted) return null;
    const member = ids.keep(call.H5Tget_member_type(type, i));
    if (call.H5Tget_class(member) !== FLOAT || 2 * Number(call.H5Tget_size(member)) !== size) return null;
    // The library takes these on trust when it converts.
    if (2 * Number(call.H5Tget_member_offset(type, i)) !== i * size) return null;
  }
  return size === 8 ? "complex64" : size === 16 ? "complex128" : null;
}

function numberName(ids: Identifiers, type: Hid, kind: number): string | null {
  const { call } = ids.library;
  const size = Number(call.H5Tget_size(type));
  switch (kind) {
    case INTEGER:
      return size <= 8 && [1, 2, 4, 8].includes(size)
        ? `${call.H5Tget_sign(type) === 0 ? "uint" : "int"}${8 * size}`
        : null;
    case FLOAT:
      return floatName(ids, type);
    case ENUM:
      return isBool(ids, type) ? "bool" : null;
    case COMPOUND:
      return complexName(ids, type);
    default:
      return null;
  }
}

/** What the elements of a dataset are. */
export function describeType(ids: Identifiers, type: Hid): Pick<Hdf5Info, "dtype" | "other" | "typeName"> {
  const { call } = ids.library;
  const kind = call.H5Tget_class(type);
  const typeName = CLASS_NAMES[kind] ?? `class ${kind}`;
  if (kind === STRING) return { dtype: null, other: { kind: "text" }, typeName };
  if (kind === OPAQUE) {
    const itemsize = Number(call.H5Tget_size(type));
    const tag = takeText(ids, call.H5Tget_tag(type));
    return { dtype: null, other: { kind: "opaque", tag, itemsize, type: null }, typeName };
  }
  const name = numberName(ids, type, kind);
  const dtype = name === null ? undefined : dtypeByName(name);
  return dtype === undefined ? { dtype: null, other: { kind: "unknown" }, typeName } : { dtype, other: null, typeName };
}

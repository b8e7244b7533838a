/** HDF5's C library, found when it is first asked for. Everything above calls it through this table. */
import { CString, dlopen, type FFIFunction, JSCallback, read } from "bun:ffi";

/** An identifier of the library: a file, a dataset, a type. Negative ones are failures. */
export type Hid = bigint;

const I = "i64";
const P = "ptr";
const E = "i32";

/** Functions that every version from 1.8 on has. */
const REQUIRED = {
  H5open: { args: [], returns: E },
  H5get_libversion: { args: [P, P, P], returns: E },
  H5Eset_auto2: { args: [I, P, P], returns: E },
  H5Ewalk2: { args: [I, E, P, P], returns: E },
  H5Eclear2: { args: [I], returns: E },
  H5Idec_ref: { args: [I], returns: E },
  H5Fcreate: { args: [P, "u32", I, I], returns: I },
  H5Fopen: { args: [P, "u32", I], returns: I },
  H5Fclose: { args: [I], returns: E },
  H5Fflush: { args: [I, E], returns: E },
  H5Fget_filesize: { args: [I, P], returns: E },
  H5Inmembers: { args: [E, P], returns: E },
  H5Gcreate2: { args: [I, P, I, I, I], returns: I },
  H5Oopen: { args: [I, P, I], returns: I },
  H5Iget_type: { args: [I], returns: E },
  H5Lexists: { args: [I, P, I], returns: E },
  H5Lget_val: { args: [I, P, P, "usize", I], returns: E },
  H5Ldelete: { args: [I, P, I], returns: E },
  H5Lmove: { args: [I, P, I, P, I, I], returns: E },
  H5Screate: { args: [E], returns: I },
  H5Screate_simple: { args: [E, P, P], returns: I },
  H5Sget_simple_extent_type: { args: [I], returns: E },
  H5Sget_simple_extent_ndims: { args: [I], returns: E },
  H5Sget_simple_extent_dims: { args: [I, P, P], returns: E },
  H5Sselect_hyperslab: { args: [I, E, P, P, P, P], returns: E },
  H5Dcreate2: { args: [I, P, I, I, I, I, I], returns: I },
  H5Dget_type: { args: [I], returns: I },
  H5Dget_space: { args: [I], returns: I },
  H5Dget_create_plist: { args: [I], returns: I },
  H5Dget_offset: { args: [I], returns: "u64" },
  H5Dget_storage_size: { args: [I], returns: "u64" },
  H5Dread: { args: [I, I, I, I, I, P], returns: E },
  H5Dwrite: { args: [I, I, I, I, I, P], returns: E },
  H5Dset_extent: { args: [I, P], returns: E },
  H5Dvlen_reclaim: { args: [I, I, I, P], returns: E },
  H5Pcreate: { args: [I], returns: I },
  H5Pget_layout: { args: [I], returns: E },
  H5Pget_chunk: { args: [I, E, P], returns: E },
  H5Pset_chunk: { args: [I, E, P], returns: E },
  H5Pset_deflate: { args: [I, "u32"], returns: E },
  H5Pset_shuffle: { args: [I], returns: E },
  H5Pset_create_intermediate_group: { args: [I, "u32"], returns: E },
  H5Pget_external_count: { args: [I], returns: E },
  H5Pset_fclose_degree: { args: [I, E], returns: E },
  H5Pset_libver_bounds: { args: [I, E, E], returns: E },
  H5Pget_libver_bounds: { args: [I, P, P], returns: E },
  H5Pset_char_encoding: { args: [I, E], returns: E },
  H5Tcopy: { args: [I], returns: I },
  H5Tcreate: { args: [E, "usize"], returns: I },
  H5Tget_class: { args: [I], returns: E },
  H5Tget_size: { args: [I], returns: "usize" },
  H5Tset_size: { args: [I, "usize"], returns: E },
  H5Tget_sign: { args: [I], returns: E },
  H5Tget_super: { args: [I], returns: I },
  H5Tget_fields: { args: [I, P, P, P, P, P], returns: E },
  H5Tset_fields: { args: [I, "usize", "usize", "usize", "usize", "usize"], returns: E },
  H5Tset_ebias: { args: [I, "usize"], returns: E },
  H5Tget_nmembers: { args: [I], returns: E },
  H5Tget_member_name: { args: [I, "u32"], returns: P },
  H5Tget_member_type: { args: [I, "u32"], returns: I },
  H5Tget_member_offset: { args: [I, "u32"], returns: "usize" },
  H5Tget_array_ndims: { args: [I], returns: E },
  H5Tget_array_dims2: { args: [I, P], returns: E },
  H5Tget_native_type: { args: [I, E], returns: I },
  H5Tencode: { args: [I, P, P], returns: E },
  H5Tget_member_value: { args: [I, "u32", P], returns: E },
  H5Tinsert: { args: [I, P, "usize", I], returns: E },
  H5Tenum_create: { args: [I], returns: I },
  H5Tenum_insert: { args: [I, P, P], returns: E },
  H5Tis_variable_str: { args: [I], returns: E },
  H5Tset_cset: { args: [I, E], returns: E },
  H5Tget_cset: { args: [I], returns: E },
  H5Tset_tag: { args: [I, P], returns: E },
  H5Tget_tag: { args: [I], returns: P },
  H5Aexists: { args: [I, P], returns: E },
  H5Aopen: { args: [I, P, I], returns: I },
  H5Acreate2: { args: [I, P, I, I, I, I], returns: I },
  H5Aget_space: { args: [I], returns: I },
  H5Aget_type: { args: [I], returns: I },
  H5Aread: { args: [I, I, P], returns: E },
  H5Awrite: { args: [I, I, P], returns: E },
  H5free_memory: { args: [P], returns: E },
} as const satisfies Record<string, FFIFunction>;

/** Functions of some versions only. */
const OPTIONAL = {
  H5is_library_threadsafe: { args: [P], returns: E },
  /** Its newer name: `H5Lget_info` became a macro in 1.12. */
  H5Lget_info2: { args: [I, P, P, I], returns: E },
  H5Lget_info: { args: [I, P, P, I], returns: E },
  H5Literate2: { args: [I, E, E, P, P, P], returns: E },
  H5Literate: { args: [I, E, E, P, P, P], returns: E },
  H5Oget_info3: { args: [I, P, "u32"], returns: E },
  H5Oget_info1: { args: [I, P], returns: E },
  H5Oget_info: { args: [I, P], returns: E },
  /** A macro from 2.0 on. */
  H5Tdecode: { args: [P], returns: I },
  H5Tdecode1: { args: [P], returns: I },
  H5Oopen_by_addr: { args: [I, "u64"], returns: I },
} as const satisfies Record<string, FFIFunction>;

/** Identifiers that the library keeps in variables, valid after `H5open`. */
const VARIABLES = [
  "H5T_STD_I8LE",
  "H5T_STD_I16LE",
  "H5T_STD_I32LE",
  "H5T_STD_I64LE",
  "H5T_STD_U8LE",
  "H5T_STD_U16LE",
  "H5T_STD_U32LE",
  "H5T_STD_U64LE",
  "H5T_IEEE_F32LE",
  "H5T_IEEE_F64LE",
  "H5T_C_S1",
  "H5P_CLS_FILE_ACCESS_ID",
  "H5P_CLS_DATASET_CREATE_ID",
  "H5P_CLS_LINK_CREATE_ID",
] as const;

type Table = typeof REQUIRED;
type Argument<A> = A extends "ptr"
  ? NodeJS.TypedArray | number | null
  : A extends "i64" | "u64" | "usize"
    ? bigint | number
    : number;
type Result<R> = R extends "i64" | "u64" | "usize" ? bigint : number;
type Arguments<L extends readonly unknown[]> = { -readonly [A in keyof L]: Argument<L[A]> };
type Functions<T extends Record<string, { args: readonly unknown[]; returns: unknown }>> = {
  [K in keyof T]: (...args: Arguments<T[K]["args"]>) => Result<T[K]["returns"]>;
};

/** The library, ready to be called. */
export interface Hdf5Library {
  /** The name it was found under. */
  name: string;
  version: string;
  call: Functions<Table>;
  optional: Partial<Functions<typeof OPTIONAL>>;
  id: Record<(typeof VARIABLES)[number], Hid>;
}

/** Versions of the shared object: 1.10, 1.8, 1.12, 1.14 and 2. */
const LINUX_VERSIONS = [103, 310, 320, 200, 300, 100, 101];

function candidates(): string[] {
  const forced = process.env.ZENSOR_HDF5;
  if (forced === "h5wasm") return [];
  if (forced) return [forced];
  if (process.platform === "darwin") {
    const places = ["/opt/homebrew/lib/", "/usr/local/lib/", "/opt/local/lib/", ""];
    return places.map((place) => `${place}libhdf5.dylib`);
  }
  if (process.platform === "win32") return ["hdf5.dll", "libhdf5.dll"];
  const versions = [...LINUX_VERSIONS.map((n) => `.so.${n}`), ".so"];
  return ["libhdf5_serial", "libhdf5"].flatMap((name) => versions.map((version) => name + version));
}

function openOptional(name: string): Hdf5Library["optional"] {
  const found: Record<string, unknown> = {};
  for (const [key, shape] of Object.entries(OPTIONAL)) {
    try {
      found[key] = dlopen(name, { [key]: shape }).symbols[key];
    } catch {
      // This version does not have it.
    }
  }
  return found as Hdf5Library["optional"];
}

function readVariables(name: string): Hdf5Library["id"] {
  // Declared as functions for their addresses only: they are variables, and nobody calls them.
  const shapes = Object.fromEntries(VARIABLES.map((key) => [`${key}_g`, { args: [], returns: "void" } as const]));
  const { symbols } = dlopen(name, shapes);
  const value = (key: string) =>
    read.i64((symbols[`${key}_g`] as (typeof symbols)[string] & { ptr: number }).ptr as never, 0);
  return Object.fromEntries(VARIABLES.map((key) => [key, value(key)])) as Hdf5Library["id"];
}

function load(name: string): Hdf5Library {
  const call = dlopen(name, REQUIRED).symbols as Hdf5Library["call"];
  if (call.H5open() < 0) throw new Error(`${name} could not be initialised`);
  const version = new Uint32Array(3);
  call.H5get_libversion(version.subarray(0, 1), version.subarray(1, 2), version.subarray(2, 3));
  // Without this the library prints its errors.
  call.H5Eset_auto2(0n, null, null);
  return { name, version: [...version].join("."), call, optional: openOptional(name), id: readVariables(name) };
}

function isThreadSafe(library: Hdf5Library): boolean {
  const answer = new Uint8Array(1);
  return (library.optional.H5is_library_threadsafe?.(answer) ?? -1) >= 0 && answer[0] === 1;
}

let state: { library: Hdf5Library | null; problem: string } | null = null;

function search(): { library: Hdf5Library | null; problem: string } {
  const names = candidates();
  let reason = "";
  for (const name of names) {
    try {
      const library = load(name);
      if (Bun.isMainThread || isThreadSafe(library)) return { library, problem: "" };
      reason = `${name} was built without thread safety and can be used in the main thread only`;
    } catch (error) {
      if (names.length === 1) reason = error instanceof Error ? error.message : String(error);
    }
  }
  return { library: null, problem: reason };
}

/** The library, or null with the reason why there is none. $ZENSOR_HDF5 names another one than the system's. */
export function findHdf5(): { library: Hdf5Library | null; problem: string } {
  state ??= search();
  return state;
}

/** Kinds of identifiers: files, groups, types, spaces, datasets, attributes, property lists and the like. */
const KINDS = 15;

/** How many identifiers of any kind are in use: it stays the same when nothing leaks. */
export function identifiersInUse(library: Hdf5Library): number {
  const count = new BigUint64Array(1);
  let total = 0;
  for (let kind = 1; kind <= KINDS; kind++) {
    count[0] = 0n;
    if (library.call.H5Inmembers(kind, count) >= 0) total += Number(count[0]);
  }
  library.call.H5Eclear2(0n);
  return total;
}

/** A link as its group has it. */
export interface Hdf5Link {
  type: number;
  /** Where in the file the object is that a hard link leads to. */
  address: bigint;
  /** Bytes of what another link says. */
  size: number;
}

/** Offsets in the library's record of a link, the same in all versions: its type, and an address or a size. */
const LINK_TYPE = 0;
const LINK_VALUE = 24;
/** Words of room for the record of an object, whose second is its address. */
const OBJECT_WORDS = 64;

/** A link from the library's record of it. */
export function linkIn(record: BigUint64Array): Hdf5Link {
  const value = record[LINK_VALUE / 8] as bigint;
  return { type: Number((record[0] as bigint) & 0xffffffffn), address: value, size: Number(value) };
}

/**
 * All links of an open group in the order of their names, in one pass: to ask for them one after the other takes the
 * square of their number. Names that are no UTF-8 are left out. Null when the library fails, or finds more than `most`.
 */
export function linksOf(library: Hdf5Library, group: Hid, most: number): Map<string, Hdf5Link> | null {
  const iterate = library.optional.H5Literate2 ?? library.optional.H5Literate;
  if (iterate === undefined) throw new Error(`${library.name} lacks H5Literate`);
  const links = new Map<string, Hdf5Link>();
  let count = 0;
  const visit = new JSCallback(
    (_group: bigint, name: number, record: number) => {
      if (++count > most) return -1;
      const text = new CString(name as never).toString();
      const value = read.u64(record as never, LINK_VALUE);
      const type = read.u32(record as never, LINK_TYPE);
      if (!text.includes("\ufffd")) links.set(text, { type, address: value, size: Number(value) });
      return 0;
    },
    { args: ["i64", "ptr", "ptr", "ptr"], returns: "i32" },
  );
  try {
    return iterate(group, 0, 0, null, visit.ptr as number, null) < 0 ? null : links;
  } finally {
    visit.close();
  }
}

/** Where in the file an open object is; null when the library does not say. */
export function addressIn(library: Hdf5Library, object: Hid): bigint | null {
  const { H5Oget_info3, H5Oget_info1, H5Oget_info } = library.optional;
  const record = new BigUint64Array(OBJECT_WORDS);
  const status = H5Oget_info3?.(object, record, 1) ?? (H5Oget_info1 ?? H5Oget_info)?.(object, record) ?? -1;
  return status < 0 ? null : (record[1] as bigint);
}

/** Offset of the text in the library's record of an error. */
const TEXT_OFFSET = 48;

/** What the library says about the call that failed: what was to be done, and why it could not be. */
export function hdf5Error(library: Hdf5Library): string {
  const texts: string[] = [];
  const visit = new JSCallback(
    (_n: number, record: number) => {
      const text = read.ptr(record as never, TEXT_OFFSET);
      if (text !== 0 && texts.length < 64) texts.push(new CString(text as never).toString());
      return 0;
    },
    { args: ["u32", "ptr", "ptr"], returns: "i32" },
  );
  try {
    // From the function that was called down to the one that failed.
    library.call.H5Ewalk2(0n, 1, visit.ptr as number, null);
  } finally {
    visit.close();
  }
  library.call.H5Eclear2(0n);
  const [first, last] = [texts[0] ?? "the library gives no reason", texts.at(-1)];
  return texts.length < 2 ? first : `${first} (${last})`;
}

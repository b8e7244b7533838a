// The header of a safetensors file: reading it without trusting it, and writing it byte for byte as the Rust
// library does.

import { installChecks } from "../../tensor/checks.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { type PythonJson, parsePythonJsonObject, pythonJsonStringify, SHORT_ESCAPES } from "../base/python-json.ts";
import { METHODS } from "../base/signatures.ts";
import { UnknownArray } from "../base/unknown-array.ts";

/** Longest header that readers accept. */
export const MAX_HEADER_BYTES = 100_000_000;

/** One tensor as the header describes it; offsets count from the end of the header. */
export interface SafetensorsEntry {
  /** The tensor's name. */
  name: string;
  /** Its dtype. */
  dtype: DType;
  /** Its shape. */
  shape: readonly number[];
  /** Its first byte, counted from the end of the header. */
  begin: number;
  /** The byte behind its last. */
  end: number;
}

/** Elements of a type that no tensor has. */
export interface SafetensorsUnknown extends Omit<SafetensorsEntry, "dtype"> {
  /** The type's code, such as "F4". */
  code: string;
}

/** A checked header. */
export interface SafetensorsHeader {
  /** The tensors by name, in the order of the header. */
  entries: Map<string, SafetensorsEntry>;
  /** What has elements that no tensor has, by name. */
  unknown: Map<string, SafetensorsUnknown>;
  /** The texts of `__metadata__`. */
  metadata: Map<string, string>;
  /** Where the tensors' bytes begin in the file. */
  dataStart: number;
}

// Sorted by the order in which writers lay tensors out: wide types first.
const DTYPE_NAMES: readonly (readonly [string, string])[] = [
  ["uint64", "U64"],
  ["int64", "I64"],
  ["float64", "F64"],
  ["complex64", "C64"],
  ["float32", "F32"],
  ["uint32", "U32"],
  ["int32", "I32"],
  ["bfloat16", "BF16"],
  ["float16", "F16"],
  ["uint16", "U16"],
  ["int16", "I16"],
  ["float8_e4m3fn", "F8_E4M3"],
  ["float8_e5m2", "F8_E5M2"],
  ["int8", "I8"],
  ["uint8", "U8"],
  ["bool", "BOOL"],
];
const CODE_OF = new Map(DTYPE_NAMES);
const NAME_OF = new Map(DTYPE_NAMES.map(([name, code]) => [code, name]));
/** Codes of the format that no tensor has: bits of an element, and the code that writers lay out before it. */
const UNKNOWN_CODES: readonly (readonly [code: string, bits: number, after: string])[] = [
  ["F8_E5M2FNUZ", 8, "I16"],
  ["F8_E4M3FNUZ", 8, "F8_E5M2FNUZ"],
  ["F8_E8M0", 8, "F8_E4M3FNUZ"],
  ["F6_E3M2", 6, "U8"],
  ["F6_E2M3", 6, "F6_E3M2"],
  ["F4", 4, "F6_E2M3"],
];
const BITS_OF = new Map(UNKNOWN_CODES.map(([code, bits]) => [code, bits]));
/** Types to come have codes like those that there are, and elements of at most so many bytes. */
const CODE = /^[A-Z][A-Z0-9_]{0,31}$/;
const MOST_ITEMSIZE = 16;

function ranks(): Map<string, number> {
  const order = DTYPE_NAMES.map(([, code]) => code);
  for (const [code, , after] of UNKNOWN_CODES) order.splice(order.indexOf(after) + 1, 0, code);
  return new Map(order.map((code, i) => [code, i]));
}
const RANK_OF = ranks();

/** The format's code for a dtype; undefined when the format has none. */
export function safetensorsCode(dtype: DType): string | undefined {
  return CODE_OF.get(dtype.name);
}

function sizes(value: PythonJson | undefined): number[] | null {
  if (!Array.isArray(value)) return null;
  return value.every((n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0) ? (value as number[]) : null;
}

function readEntry(name: string, value: PythonJson, path: string): SafetensorsEntry | SafetensorsUnknown {
  const bad = (what: string) => new FormatError(`tensor ${JSON.stringify(name)}: ${what}`, path);
  if (!(value instanceof Map)) throw bad("its description is not an object");
  const code = value.get("dtype");
  const dtype = typeof code === "string" ? dtypeByName(NAME_OF.get(code) ?? "") : undefined;
  if (typeof code !== "string" || (dtype === undefined && !CODE.test(code))) {
    throw bad(`unknown dtype ${code === undefined ? "undefined" : pythonJsonStringify(code)}`);
  }
  const shape = sizes(value.get("shape"));
  if (shape === null) throw bad("its shape is not a list of sizes");
  if (shape.length > 64) throw bad(`${shape.length} dimensions are more than 64`);
  const offsets = sizes(value.get("data_offsets"));
  if (offsets === null || offsets.length !== 2) throw bad("data_offsets is not a pair of offsets");
  const [begin, end] = offsets as [number, number];
  const numel = shape.reduce((product, n) => product * n, 1);
  if (!Number.isSafeInteger(numel * MOST_ITEMSIZE)) throw bad(`shape [${shape.join(", ")}] is too large`);
  if (!isFilled(end - begin, numel, dtype === undefined ? BITS_OF.get(code) : 8 * dtype.itemsize)) {
    throw bad(`${end - begin} bytes at [${begin}, ${end}] do not hold shape [${shape.join(", ")}] of ${code}`);
  }
  return dtype === undefined ? { name, code, shape, begin, end } : { name, dtype, shape, begin, end };
}

/** Whether so many bytes hold so many elements; of a type that is not known, whether they could. */
function isFilled(nbytes: number, numel: number, bits: number | undefined): boolean {
  if (bits !== undefined) return nbytes * 8 === numel * bits;
  return nbytes * 8 >= numel && nbytes <= numel * MOST_ITEMSIZE;
}

function readMetadata(value: PythonJson | undefined, path: string): Map<string, string> {
  if (value === undefined || value === null) return new Map();
  if (!(value instanceof Map)) throw new FormatError("__metadata__ is not an object", path);
  for (const [key, item] of value) {
    if (typeof item !== "string") throw new FormatError(`__metadata__[${JSON.stringify(key)}] is not a string`, path);
  }
  return value as Map<string, string>;
}

/** Length of the header from the first eight bytes of the file. */
export function headerLength(first: Uint8Array, fileSize: number, path: string): number {
  if (first.length < 8) throw new FormatError(`header too small: the file has ${first.length} bytes`, path);
  const length = Number(new DataView(first.buffer, first.byteOffset, 8).getBigUint64(0, true));
  if (length > MAX_HEADER_BYTES) throw new FormatError(`header too large: ${length} bytes`, path);
  if (length + 8 > fileSize) {
    throw new FormatError(`invalid header length: ${length} bytes announced in a file of ${fileSize}`, path);
  }
  return length;
}

/** Parses and checks a header: tensors must cover the data exactly, without gaps or overlaps. */
export function readHeader(json: Uint8Array, fileSize: number, path: string): SafetensorsHeader {
  if (json[0] !== 0x7b) throw new FormatError("invalid start of the header: it must begin with '{'", path);
  const root = ((): Map<string, PythonJson> => {
    try {
      return parsePythonJsonObject(json, { maxLength: MAX_HEADER_BYTES, maxDepth: 8 });
    } catch (error) {
      throw new FormatError(`invalid header: ${(error as Error).message}`, path, error);
    }
  })();
  const metadata = readMetadata(root.get("__metadata__"), path);
  const entries = new Map<string, SafetensorsEntry>();
  const unknown = new Map<string, SafetensorsUnknown>();
  for (const [name, value] of root) {
    if (name === "__metadata__") continue;
    const entry = readEntry(name, value, path);
    if ("dtype" in entry) entries.set(name, entry);
    else unknown.set(name, entry);
  }
  const dataStart = 8 + json.length;
  let expected = 0;
  for (const entry of [...entries.values(), ...unknown.values()].sort((a, b) => a.begin - b.begin || a.end - b.end)) {
    if (entry.begin !== expected) {
      const what = entry.begin < expected ? "overlaps the tensor before it" : "leaves a gap before it";
      throw new FormatError(`tensor ${JSON.stringify(entry.name)} at ${entry.begin} ${what} (${expected})`, path);
    }
    expected = entry.end;
  }
  if (dataStart + expected !== fileSize) {
    throw new FormatError(`the header describes ${expected} bytes of data, the file has ${fileSize - dataStart}`, path);
  }
  return { entries, unknown, metadata, dataStart };
}

// Unlike Python's json module, the Rust library leaves everything above 0x1f as UTF-8.
function quoted(text: string): string {
  const escaped = text.replace(/["\\\u0000-\u001f]/g, (unit) => {
    return SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

/** A tensor to be laid out. */
export interface SafetensorsItem {
  name: string;
  /** Of elements that no tensor has, their code. */
  dtype: DType | string;
  shape: readonly number[];
  nbytes: number;
}

function codeIn({ dtype }: SafetensorsItem): string {
  return typeof dtype === "string" ? dtype : (safetensorsCode(dtype) as string);
}

/** Sorts tensors as they go into the file: by dtype, then by the bytes of their names. */
export function layoutOrder<T extends SafetensorsItem>(items: readonly T[]): T[] {
  const keyed = items.map((item) => ({ item, bytes: Buffer.from(item.name) }));
  const rank = (item: T) => RANK_OF.get(codeIn(item)) ?? RANK_OF.size;
  keyed.sort((a, b) => rank(a.item) - rank(b.item) || Buffer.compare(a.bytes, b.bytes));
  return keyed.map(({ item }) => item);
}

/** The first bytes of the file, length included, for tensors in layout order. */
export function writeHeader(
  items: readonly SafetensorsItem[],
  metadata: Iterable<[string, string]> | null,
): Uint8Array {
  const parts: string[] = [];
  if (metadata !== null) {
    const pairs = [...metadata].map(([key, value]) => `${quoted(key)}:${quoted(value)}`);
    parts.push(`"__metadata__":{${pairs.join(",")}}`);
  }
  let at = 0;
  for (const item of items) {
    const code = codeIn(item);
    const offsets = `[${at},${at + item.nbytes}]`;
    parts.push(`${quoted(item.name)}:{"dtype":"${code}","shape":[${item.shape.join(",")}],"data_offsets":${offsets}}`);
    at += item.nbytes;
  }
  const json = new TextEncoder().encode(`{${parts.join(",")}}`);
  const padded = Math.ceil(json.length / 8) * 8;
  if (padded > MAX_HEADER_BYTES) throw new FormatError(`header too large: ${padded} bytes`);
  const bytes = new Uint8Array(8 + padded).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(padded), true);
  bytes.set(json, 8);
  return bytes;
}

/** The names of everything that a file holds. */
export function namesIn({ entries, unknown }: SafetensorsHeader): string[] {
  return [...entries.keys(), ...unknown.keys()];
}

/** Bytes of a file with such a header. */
export function sizeOf({ entries, unknown, dataStart }: SafetensorsHeader): number {
  let end = 0;
  for (const entry of entries.values()) end = Math.max(end, entry.end);
  for (const entry of unknown.values()) end = Math.max(end, entry.end);
  return dataStart + end;
}

/** A file of which the header was read: what it holds, by name. */
export class SafetensorsListing {
  constructor(
    /** Where the file is, for messages. */
    readonly path: string,
    /** What the file holds. */
    readonly header: SafetensorsHeader,
  ) {}

  /** Names, in the order of the header. */
  keys(): string[] {
    return [...this.header.entries.keys()];
  }

  /** The texts of `__metadata__`. */
  get metadata(): ReadonlyMap<string, string> {
    return this.header.metadata;
  }

  /** What the header says about one tensor. Throws `FormatError` for one whose elements no tensor has. */
  entry(name: string): SafetensorsEntry {
    const entry = this.header.entries.get(name);
    if (entry !== undefined) return entry;
    const unknown = this.header.unknown.get(name);
    if (unknown !== undefined) throw this._refusal(unknown);
    throw new FormatError(`no tensor named ${JSON.stringify(name)}`, this.path);
  }

  /** Names of what has elements that no tensor has: `unknown` gives their bytes. */
  unknownKeys(): string[] {
    return [...this.header.unknown.keys()];
  }

  /** @internal */
  _unknownEntry(name: string): SafetensorsUnknown {
    const entry = this.header.unknown.get(name);
    if (entry === undefined)
      throw new FormatError(`no elements of an unknown type are named ${JSON.stringify(name)}`, this.path);
    return entry;
  }

  /** @internal The error for elements that no tensor has. */
  _refusal({ name, code }: SafetensorsUnknown): FormatError {
    const what = `tensor ${JSON.stringify(name)} has elements of ${code}, which no tensor has here`;
    return new FormatError(`${what}. { unknown: "describe" } gives their bytes`, this.path);
  }
}
installChecks(SafetensorsListing.prototype, METHODS.SafetensorsListing);

/** Elements of a type that no tensor has, with their bytes. */
export function unknownFrom({ name, code, shape }: SafetensorsUnknown, bytes: Tensor): UnknownArray {
  return new UnknownArray({
    format: "safetensors",
    name,
    dtype: code,
    shape,
    bytes,
    exact: new TextEncoder().encode(code),
  });
}

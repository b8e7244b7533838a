// The header of a GGUF file: metadata and the places of tensors, checked against the length of the file.
import { FormatError } from "../base/errors.ts";
import { FORMER_TYPES, GGUF_TYPES, type GgufType } from "./gguf-types.ts";

/** Bytes of a header that are read at most: vocabularies take some millions. */
export const MAX_HEADER_BYTES = 512 * 1024 * 1024;
const MAGIC = 0x46554747;
const MAX_DIMS = 8;
const MAX_DEPTH = 4;
const MAX_ALIGNMENT = 1 << 20;
const DEFAULT_ALIGNMENT = 32;
/** Least bytes of a key with its value, and of a tensor's description. */
const LEAST_PAIR = 8 + 4 + 1;
const LEAST_TENSOR = 8 + 4 + 4 + 8;
const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Numbers of one type. */
export type GgufNumbers =
  | Uint8Array
  | Int8Array
  | Uint16Array
  | Int16Array
  | Uint32Array
  | Int32Array
  | Float32Array
  | Float64Array
  | BigUint64Array
  | BigInt64Array;

/** A value of the metadata. Arrays of numbers are typed arrays; integers that no number holds exactly are bigints. */
export type GgufValue = number | bigint | boolean | string | GgufNumbers | GgufValue[];

/** What a file says about one tensor. */
export interface GgufEntry {
  /** The tensor's name in the file. */
  readonly name: string;
  /** How its elements are stored. */
  readonly type: GgufType;
  /** Sizes as torch has them: the last dimension is the one without gaps. */
  readonly shape: readonly number[];
  /** The bytes it takes in the file. */
  readonly nbytes: number;
  /** Where in the file its bytes begin. */
  readonly offset: number;
}

/** A tensor of a type that is not known here. */
export interface GgufUnknown {
  /** Its name in the file. */
  readonly name: string;
  /** The number of the type, or the name that it once had. */
  readonly type: string;
  /** Its shape. */
  readonly shape: readonly number[];
  /** The bytes up to what comes next: what its elements take, and what may fill up to there. */
  readonly nbytes: number;
  /** Where in the file its bytes begin. */
  readonly offset: number;
}

/** What the header says. */
export interface GgufHeader {
  /** The version of the format: 2 or 3. */
  readonly version: number;
  /** Tensors begin at multiples of this, in bytes. */
  readonly alignment: number;
  /** Keys and values, in the order of the file. */
  readonly metadata: ReadonlyMap<string, GgufValue>;
  /** The tensors by name, in the order of the file. */
  readonly entries: ReadonlyMap<string, GgufEntry>;
  /** Tensors of types that are not known, by name. */
  readonly unknown: ReadonlyMap<string, GgufUnknown>;
}

/** The part of the file that was read ends inside of the header. */
export class UnfinishedHeader extends FormatError {}

const NUMBERS = [
  Uint8Array,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  null,
  null,
  null,
  BigUint64Array,
  BigInt64Array,
  Float64Array,
] as const;
const BOOL = 7;
const STRING = 8;
const ARRAY = 9;

function exact(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

/** The first bytes of a file, read field by field. */
class HeaderReader {
  at = 0;
  private readonly view: DataView;

  constructor(
    private readonly bytes: Uint8Array,
    /** Bytes of the whole file. */
    readonly size: number,
    readonly path: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  fail(message: string): never {
    throw new FormatError(message, this.path);
  }

  private take(nbytes: number): number {
    const from = this.at;
    if (nbytes > this.size - from) this.fail("the file ends inside its header");
    if (nbytes > this.bytes.length - from) throw new UnfinishedHeader("the header is too long", this.path);
    this.at = from + nbytes;
    return from;
  }

  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }

  /** A count of things of which each takes at least `least` bytes of the rest of the file. */
  count(least: number, what: string): number {
    const value = this.view.getBigUint64(this.take(8), true);
    if (value > BigInt(this.size - this.at) / BigInt(least)) this.fail(`${value} ${what} do not fit into the file`);
    return Number(value);
  }

  size64(what: string): number {
    const value = this.view.getBigUint64(this.take(8), true);
    return value <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(value) : this.fail(`${what} of ${value}`);
  }

  text(): string {
    const length = this.count(1, "bytes of text");
    const from = this.take(length);
    try {
      return UTF8.decode(this.bytes.subarray(from, from + length));
    } catch (error) {
      throw new FormatError(`a text at ${from} is not UTF-8`, this.path, error);
    }
  }

  value(type: number, depth = 0): GgufValue {
    const { view } = this;
    switch (type) {
      case 0:
        return view.getUint8(this.take(1));
      case 1:
        return view.getInt8(this.take(1));
      case 2:
        return view.getUint16(this.take(2), true);
      case 3:
        return view.getInt16(this.take(2), true);
      case 4:
        return this.u32();
      case 5:
        return view.getInt32(this.take(4), true);
      case 6:
        return view.getFloat32(this.take(4), true);
      case BOOL:
        return this.bool();
      case STRING:
        return this.text();
      case ARRAY:
        return this.array(depth + 1);
      case 10:
        return exact(view.getBigUint64(this.take(8), true));
      case 11:
        return exact(view.getBigInt64(this.take(8), true));
      case 12:
        return view.getFloat64(this.take(8), true);
    }
    return this.fail(`value type ${type} is not known`);
  }

  private bool(): boolean {
    const byte = this.bytes[this.take(1)] as number;
    return byte > 1 ? this.fail(`a boolean that is ${byte}`) : byte === 1;
  }

  private array(depth: number): GgufValue {
    if (depth > MAX_DEPTH) this.fail("arrays are nested too deeply");
    const type = this.u32();
    const Numbers = NUMBERS[type] ?? null;
    if (Numbers !== null) {
      const count = this.count(Numbers.BYTES_PER_ELEMENT, "numbers");
      const from = this.take(count * Numbers.BYTES_PER_ELEMENT);
      return new Numbers(this.bytes.slice(from, this.at).buffer);
    }
    if (type !== BOOL && type !== STRING && type !== ARRAY) this.fail(`value type ${type} is not known`);
    const count = this.count(type === BOOL ? 1 : type === STRING ? 8 : 12, "values");
    const items: GgufValue[] = [];
    for (let i = 0; i < count; i++) items.push(this.value(type, depth));
    return items;
  }
}

function readMetadata(reader: HeaderReader, count: number): Map<string, GgufValue> {
  const metadata = new Map<string, GgufValue>();
  for (let i = 0; i < count; i++) {
    const key = reader.text();
    if (metadata.has(key)) reader.fail(`the key ${JSON.stringify(key)} occurs twice`);
    metadata.set(key, reader.value(reader.u32()));
  }
  return metadata;
}

function alignmentOf(reader: HeaderReader, metadata: ReadonlyMap<string, GgufValue>): number {
  const value = metadata.get("general.alignment") ?? DEFAULT_ALIGNMENT;
  const fits = typeof value === "number" && Number.isInteger(value) && value > 0 && value <= MAX_ALIGNMENT;
  if (!fits || (value & (value - 1)) !== 0) return reader.fail(`an alignment of ${String(value)}`);
  return value;
}

/** A tensor's description; its offset counts from where data begins. A type that is not known takes any bytes. */
function readEntry(reader: HeaderReader): GgufEntry | GgufUnknown {
  const name = reader.text();
  const fail = (what: string): never => reader.fail(`tensor ${JSON.stringify(name.slice(0, 100))}: ${what}`);
  const rank = reader.u32();
  if (rank > MAX_DIMS) fail(`${rank} dimensions`);
  const shape: number[] = [];
  // Files name the dimension without gaps first.
  for (let i = 0; i < rank; i++) shape.unshift(reader.size64("a dimension"));
  const id = reader.u32();
  const type = GGUF_TYPES.get(id);
  const numel = shape.reduce((product, n) => product * n, 1);
  if (type === undefined) {
    if (!Number.isSafeInteger(numel)) fail("it is too large");
    return { name, type: FORMER_TYPES[id] ?? `type ${id}`, shape, nbytes: 0, offset: reader.size64("an offset") };
  }
  if ((shape.at(-1) ?? 1) % type.blockSize !== 0)
    fail(`rows of ${shape.at(-1) ?? 1} do not fill blocks of ${type.name}`);
  const nbytes = (numel / type.blockSize) * type.blockBytes;
  if (!Number.isSafeInteger(numel) || !Number.isSafeInteger(nbytes)) fail("it is too large");
  return { name, type, shape, nbytes, offset: reader.size64("an offset") };
}

const isKnown = (entry: GgufEntry | GgufUnknown): entry is GgufEntry => typeof entry.type !== "string";

/** Entries with their places in the file: inside of it, aligned, apart from each other. */
function placeEntries(
  reader: HeaderReader,
  found: readonly (GgufEntry | GgufUnknown)[],
  alignment: number,
): Pick<GgufHeader, "entries" | "unknown"> {
  const start = Math.ceil(reader.at / alignment) * alignment;
  const failOf = ({ name }: { name: string }, what: string): never => {
    return reader.fail(`tensor ${JSON.stringify(name.slice(0, 100))}: ${what}`);
  };
  const names = new Set<string>();
  const placed = found.map((entry) => {
    const offset = start + entry.offset;
    if (names.has(entry.name)) failOf(entry, "its name occurs twice");
    names.add(entry.name);
    if (entry.offset % alignment !== 0) failOf(entry, `its offset ${entry.offset} is no multiple of ${alignment}`);
    if (offset + entry.nbytes > reader.size) failOf(entry, `its ${entry.nbytes} bytes reach beyond the file`);
    return { ...entry, offset };
  });
  const takes = (entry: GgufEntry | GgufUnknown) => (isKnown(entry) ? entry.nbytes : numelOf(entry)) > 0;
  const inOrder = placed.filter(takes).sort((a, b) => a.offset - b.offset);
  const sizes = new Map<string, number>();
  for (const [i, entry] of inOrder.entries()) {
    const next = inOrder[i + 1]?.offset ?? reader.size;
    // What is not known ends where the next one begins.
    if (!isKnown(entry)) sizes.set(entry.name, next - entry.offset);
    if (isKnown(entry) ? entry.offset + entry.nbytes > next : next === entry.offset) {
      const later = inOrder[i + 1];
      if (later === undefined) failOf(entry, "it has no bytes");
      reader.fail(`tensor ${JSON.stringify((later as GgufEntry).name.slice(0, 100))} overlaps another one`);
    }
  }
  const entries = new Map(placed.filter(isKnown).map((entry) => [entry.name, entry]));
  const others = placed.filter((entry): entry is GgufUnknown => !isKnown(entry));
  const unknown = new Map(others.map((entry) => [entry.name, { ...entry, nbytes: sizes.get(entry.name) ?? 0 }]));
  return { entries, unknown };
}

function numelOf({ shape }: GgufUnknown): number {
  return shape.reduce((product, n) => product * n, 1);
}

/** Reads a header from the first bytes of a file of `size` bytes. Throws `UnfinishedHeader` when these are too few. */
export function readGgufHeader(bytes: Uint8Array, size: number, path: string): GgufHeader {
  const reader = new HeaderReader(bytes, size, path);
  if (size < 24 || reader.u32() !== MAGIC) throw new FormatError("this is no GGUF file", path);
  const version = reader.u32();
  if (version !== 2 && version !== 3) {
    if ((version & 0xffff) === 0) reader.fail("GGUF files of the other byte order cannot be read");
    reader.fail(`version ${version} of GGUF is not known`);
  }
  const tensors = reader.count(LEAST_TENSOR, "tensors");
  const pairs = reader.count(LEAST_PAIR, "values");
  const metadata = readMetadata(reader, pairs);
  const found: (GgufEntry | GgufUnknown)[] = [];
  for (let i = 0; i < tensors; i++) found.push(readEntry(reader));
  const alignment = alignmentOf(reader, metadata);
  return { version, alignment, metadata, ...placeEntries(reader, found, alignment) };
}

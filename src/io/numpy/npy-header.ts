// Headers of NumPy's .npy files: written as NumPy writes them, and read by a parser for just the literals that occur.
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { FormatError } from "../base/errors.ts";
import { NpyLiterals } from "./npy-literals.ts";

/** What a header says about an array. */
export interface NpyHeader {
  dtype: DType;
  shape: readonly number[];
  /** The first index runs fastest. */
  fortranOrder: boolean;
  /** Elements have their highest byte first. */
  bigEndian: boolean;
  /** Bytes before the first element. */
  headerBytes: number;
  /** Bytes of all elements. */
  nbytes: number;
}

/** What a header says about an array of elements that no tensor has. */
export interface NpyOther extends Omit<NpyHeader, "dtype"> {
  dtype: null;
  /** The type as the header has it. */
  descr: string;
  /** Texts are characters or bytes; objects are pickled. */
  kind: "characters" | "bytes" | "objects" | "raw";
  /** Bytes of an element; 0 for objects. */
  itemsize: number;
}

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** Magic and version. */
const PREFIX = 8;
const ALIGNMENT = 64;
/** NumPy leaves room for this many digits of the size that may grow. */
const GROWTH_DIGITS = 21;
const MAX_HEADER = 2 ** 20;
/** No header, with what is before its length, has more bytes. */
export const LONGEST_NPY_HEADER = PREFIX + 4 + MAX_HEADER;

/** Codes by dtype name: kind and size. */
const CODES: Readonly<Record<string, string>> = {
  bool: "b1",
  uint8: "u1",
  int8: "i1",
  uint16: "u2",
  int16: "i2",
  uint32: "u4",
  int32: "i4",
  uint64: "u8",
  int64: "i8",
  float16: "f2",
  float32: "f4",
  float64: "f8",
  complex64: "c8",
  complex128: "c16",
};
const NAMES = new Map(Object.entries(CODES).map(([name, code]) => [code, name]));

/** The dtype of a kind and size, such as "f8"; undefined for what no tensor has. */
export function npyDtype(code: string): DType | undefined {
  const name = NAMES.get(code);
  return name === undefined ? undefined : dtypeByName(name);
}

function codeOf(dtype: DType): string {
  const code = CODES[String(dtype).replace("torch.", "")];
  if (code === undefined) {
    throw new TypeError(`NumPy has no dtype for ${dtype}: convert the tensor first, for example to float32`);
  }
  return `${dtype.itemsize === 1 ? "|" : "<"}${code}`;
}

/** The header of an array, to the byte as NumPy writes it. */
export function npyHeader(dtype: DType, shape: readonly number[], fortranOrder: boolean): Uint8Array {
  return headerOf(codeOf(dtype), shape, fortranOrder);
}

/** The header of texts of so many characters. */
export function npyTextHeader(width: number, shape: readonly number[]): Uint8Array {
  return headerOf(`<U${width}`, shape, false);
}

function headerOf(code: string, shape: readonly number[], fortranOrder: boolean): Uint8Array {
  const sizes = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const order = fortranOrder ? "True" : "False";
  const literal = `{'descr': '${code}', 'fortran_order': ${order}, 'shape': ${sizes}, }`;
  const growing = shape[fortranOrder ? shape.length - 1 : 0];
  const text = growing === undefined ? literal : literal + " ".repeat(GROWTH_DIGITS - String(growing).length);
  // Version 1 has two bytes for the length, which 64 dimensions never exceed.
  const start = PREFIX + 2;
  const padding = ALIGNMENT - ((start + text.length + 1) % ALIGNMENT);
  const length = text.length + padding + 1;
  const header = new Uint8Array(start + length);
  header.set([...MAGIC, 1, 0, length & 0xff, length >> 8]);
  header.set(new TextEncoder().encode(`${text}${" ".repeat(padding)}\n`), start);
  return header;
}

/** Gives bytes of a file or an entry of an archive; throws when they lie outside of it. */
export type NpyBytes = (offset: number, nbytes: number) => Uint8Array;

/**
 * Reads the header of an array of which there are `size` bytes. Throws `FormatError`, for elements that no tensor has,
 * too.
 */
export function readNpyHeader(read: NpyBytes, size: number, path: string): NpyHeader {
  const header = readAnyNpyHeader(read, size, path);
  if (header.dtype === null) throw npyRefusal(header, path);
  return header;
}

/** The same for elements of any type. */
export function readAnyNpyHeader(read: NpyBytes, size: number, path: string): NpyHeader | NpyOther {
  const bad = (what: string) => new FormatError(what, path);
  if (size < PREFIX + 2) throw bad("too short for a .npy file");
  const prefix = read(0, PREFIX + 2);
  if (!MAGIC.every((byte, i) => prefix[i] === byte)) throw bad("no .npy file: its first bytes are others");
  const [major, minor] = [prefix[6] as number, prefix[7]];
  if (major < 1 || major > 3 || minor !== 0) throw bad(`version ${major}.${minor} of the format is not known`);
  const start = PREFIX + (major === 1 ? 2 : 4);
  if (size < start) throw bad("the file ends inside its header");
  const field = read(PREFIX, start - PREFIX);
  const length = new DataView(field.buffer, field.byteOffset, field.length)[major === 1 ? "getUint16" : "getUint32"](
    0,
    true,
  );
  if (length > MAX_HEADER) throw bad(`a header of ${length} bytes is too long`);
  if (start + length > size) throw bad("the file ends inside its header");
  const text = Buffer.from(read(start, length)).toString(major === 3 ? "utf8" : "latin1");
  const { descr, shape, fortranOrder } = new NpyLiterals(text, path).document();
  const headerBytes = start + length;
  const facts = { shape, fortranOrder, headerBytes };
  const numel = shape.reduce((product, n) => product * n, 1);
  const { dtype, bigEndian } = dtypeOf(descr.text);
  // Pickled objects take what is there, whatever their number.
  const isPickled = dtype === null && descr.objects;
  const nbytes = isPickled ? size - headerBytes : numel * (dtype?.itemsize ?? descr.itemsize);
  if (!Number.isSafeInteger(nbytes) || !Number.isSafeInteger(numel)) {
    throw bad(`shape [${shape.join(", ")}] is too large`);
  }
  if (headerBytes + nbytes > size) {
    throw bad(`${nbytes} bytes of elements are more than the ${size - headerBytes} that are there`);
  }
  if (dtype !== null) return { ...facts, dtype, bigEndian, nbytes };
  const kind = isPickled ? "objects" : (TEXT_KINDS[descr.kind] ?? "raw");
  return {
    ...facts,
    dtype: null,
    bigEndian: descr.text[0] === ">",
    nbytes,
    descr: descr.text,
    kind,
    itemsize: descr.itemsize,
  };
}

const TEXT_KINDS: Readonly<Record<string, "characters" | "bytes">> = { U: "characters", S: "bytes", a: "bytes" };

/** The error for elements that no tensor has. */
export function npyRefusal({ descr, kind }: NpyOther, path: string): FormatError {
  const advice = '. { unknown: "describe" } gives what is there';
  if (descr.startsWith("[")) {
    return new FormatError(`its header cannot be read: arrays of records are no tensors${advice}`, path);
  }
  const why =
    kind === "objects"
      ? ": Python objects are pickled, and pickles are not run"
      : /^.?V/.test(descr)
        ? ": raw bytes may be bfloat16 or another type that NumPy does not know; save such tensors as float32"
        : kind === "raw"
          ? ""
          : ": texts are no tensors";
  return new FormatError(`dtype ${JSON.stringify(descr)} cannot be read${why}${advice}`, path);
}

function dtypeOf(descr: string): { dtype: DType | null; bigEndian: boolean } {
  const match = /^([<>|=])([A-Za-z])([0-9]*)$/.exec(descr);
  const dtype = match === null ? undefined : npyDtype(`${match[2]}${match[3]}`);
  if (dtype === undefined || match === null || (match[1] === "|" && dtype.itemsize > 1)) {
    return { dtype: null, bigEndian: false };
  }
  return { dtype, bigEndian: match[1] === ">" && dtype.itemsize > 1 };
}

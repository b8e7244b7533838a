// Headers of NumPy's .npy files: written as NumPy writes them, and read by a parser for just the literals that occur.
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { FormatError } from "../base/errors.ts";

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

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
/** Magic and version. */
const PREFIX = 8;
const ALIGNMENT = 64;
/** NumPy leaves room for this many digits of the size that may grow. */
const GROWTH_DIGITS = 21;
const MAX_HEADER = 2 ** 20;
/** No header, with what is before its length, has more bytes. */
export const LONGEST_NPY_HEADER = PREFIX + 4 + MAX_HEADER;
const MAX_RANK = 64;

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
  const sizes = shape.length === 1 ? `(${shape[0]},)` : `(${shape.join(", ")})`;
  const order = fortranOrder ? "True" : "False";
  const literal = `{'descr': '${codeOf(dtype)}', 'fortran_order': ${order}, 'shape': ${sizes}, }`;
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

/** Reads the header of an array of which there are `size` bytes. Throws `FormatError`. */
export function readNpyHeader(read: NpyBytes, size: number, path: string): NpyHeader {
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
  const fields = new Literals(text, path).document();
  const { dtype, bigEndian } = dtypeOf(fields.descr, path);
  const nbytes = fields.shape.reduce((product, n) => product * n, dtype.itemsize);
  const headerBytes = start + length;
  if (!Number.isSafeInteger(nbytes)) throw bad(`shape [${fields.shape.join(", ")}] is too large`);
  if (headerBytes + nbytes > size) {
    throw bad(`${nbytes} bytes of elements are more than the ${size - headerBytes} that are there`);
  }
  return { dtype, shape: fields.shape, fortranOrder: fields.fortranOrder, bigEndian, headerBytes, nbytes };
}

function dtypeOf(descr: string, path: string): { dtype: DType; bigEndian: boolean } {
  const match = /^([<>|=])([A-Za-z])([0-9]*)$/.exec(descr);
  const dtype = match === null ? undefined : npyDtype(`${match[2]}${match[3]}`);
  if (dtype === undefined || match === null || (match[1] === "|" && dtype.itemsize > 1)) {
    const kind = match?.[2];
    const why =
      kind === "O"
        ? ": Python objects are pickled, and pickles are not run"
        : kind === "V"
          ? ": raw bytes may be bfloat16 or another type that NumPy does not know; save such tensors as float32"
          : kind === "U" || kind === "S"
            ? ": texts are no tensors"
            : "";
    throw new FormatError(`dtype ${JSON.stringify(descr)} cannot be read${why}`, path);
  }
  return { dtype, bigEndian: match[1] === ">" && dtype.itemsize > 1 };
}

interface Fields {
  descr: string;
  fortranOrder: boolean;
  shape: number[];
}

/** Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }`. */
class Literals {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly path: string,
  ) {}

  document(): Fields {
    const found = new Map<string, unknown>();
    this.expect("{");
    while (!this.take("}")) {
      const key = this.string();
      if (found.has(key)) throw this.bad(`the key '${key}' occurs twice`);
      this.expect(":");
      found.set(key, this.value(key));
      if (!this.take(",")) {
        this.expect("}");
        break;
      }
    }
    this.skip();
    if (this.at !== this.text.length) throw this.bad("it goes on after its end");
    const [descr, fortranOrder, shape] = ["descr", "fortran_order", "shape"].map((key) => found.get(key));
    if (found.size !== 3 || descr === undefined || fortranOrder === undefined || shape === undefined) {
      throw this.bad("its keys are not descr, fortran_order and shape");
    }
    return { descr, fortranOrder, shape } as Fields;
  }

  private value(key: string): unknown {
    switch (key) {
      case "descr":
        if (this.take("[")) throw this.bad("arrays of records are no tensors");
        return this.string();
      case "fortran_order":
        if (this.take("True")) return true;
        this.expect("False");
        return false;
      case "shape":
        return this.tuple();
      default:
        throw this.bad(`the key ${JSON.stringify(key)} is not known`);
    }
  }

  private tuple(): number[] {
    const sizes: number[] = [];
    this.expect("(");
    while (!this.take(")")) {
      const [digits] = this.match(/[0-9]{1,16}L?/y, "a size");
      const n = Number.parseInt(digits, 10);
      if (!Number.isSafeInteger(n)) throw this.bad("a size is too large");
      if (sizes.push(n) > MAX_RANK) throw this.bad(`it has more than ${MAX_RANK} dimensions`);
      if (this.take(",")) continue;
      // One size without a comma is no tuple.
      if (sizes.length === 1) throw this.bad("its shape is no tuple");
      this.expect(")");
      break;
    }
    return sizes;
  }

  private string(): string {
    const [quoted] = this.match(/'[^'\\\n]*'|"[^"\\\n]*"/y, "a text");
    return quoted.slice(1, -1);
  }

  private match(pattern: RegExp, what: string): RegExpExecArray {
    this.skip();
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) throw this.bad(`${what} is expected at ${this.at}`);
    this.at = pattern.lastIndex;
    return found;
  }

  private take(token: string): boolean {
    this.skip();
    if (!this.text.startsWith(token, this.at)) return false;
    this.at += token.length;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) throw this.bad(`'${token}' is expected at ${this.at}`);
  }

  private skip(): void {
    while (this.at < this.text.length && " \t\r\n".includes(this.text[this.at] as string)) this.at++;
  }

  private bad(what: string): FormatError {
    return new FormatError(`its header cannot be read: ${what}`, this.path);
  }
}

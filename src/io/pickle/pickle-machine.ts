// The machine that pickles are written for: its input, its stack with marks, its memo. Everything is bounded.
import { FormatError } from "../base/errors.ts";
import { isByteArray, isFrozenSet } from "../base/python-origin.ts";

/** Bytes of one pickle that are read at most. */
export const MAX_PICKLE_BYTES = 64 * 1024 * 1024;
/** Things that one pickle may put on the stack. */
const MAX_ITEMS = 16 * 1024 * 1024;
/** Lists, dicts and sets that any pickle may make, and of how many bytes each has to be beyond these. */
const FREE_CONTAINERS = 250_000;
const CONTAINER_BYTES = 8;
/** Bytes of one integer: more than any that data has, few enough for numbers written in decimal. */
const MAX_INTEGER_BYTES = 1024;
const MAX_DECIMAL_DIGITS = 2400;
/** Bytes that calls may copy: a short pickle can ask for the same copy again and again. */
const MAX_COPIED = 4 * MAX_PICKLE_BYTES;
/** Bytes that a value in a copied container counts for. */
const ITEM_BYTES = 16;

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The bytes end before the pickle does: the one problem that more bytes can cure. */
export class UnfinishedPickle extends FormatError {}

/**
 * A text of Python's with halves of surrogate pairs in it, as names of files have that are no UTF-8: it pickles each as
 * three bytes. Undefined where the rest is no UTF-8 either.
 */
function surrogatesPassed(bytes: Uint8Array): string | undefined {
  let text = "";
  let from = 0;
  try {
    for (let at = bytes.indexOf(0xed); at >= 0; at = bytes.indexOf(0xed, at + 1)) {
      const [second = 0, third = 0] = bytes.subarray(at + 1, at + 3);
      if (second < 0xa0 || second > 0xbf || third >> 6 !== 2) continue;
      text += UTF8.decode(bytes.subarray(from, at));
      text += String.fromCharCode(0xd000 | ((second & 0x3f) << 6) | (third & 0x3f));
      from = at + 3;
    }
    return text + UTF8.decode(bytes.subarray(from));
  } catch {
    return undefined;
  }
}

/** An integer of Python's: a number where it is exact, a bigint elsewhere. */
function fromInteger(value: bigint): number | bigint {
  const small = Number(value);
  return Number.isSafeInteger(small) ? small : value;
}

/** What Python calls unhashable, by its name there. */
function changeable(value: object): string | null {
  if (Array.isArray(value)) return Object.isFrozen(value) ? null : "list";
  if (value instanceof Map) return "dict";
  if (value instanceof Set) return isFrozenSet(value) ? null : "set";
  return value instanceof Uint8Array && isByteArray(value) ? "bytearray" : null;
}

/** Input, stack, marks and memo of one pickle that is being read. */
export class PickleMachine {
  private stack: unknown[] = [];
  private readonly marks: number[] = [];
  private readonly memo = new Map<number, unknown>();
  private items = 0;
  private containers = 0;
  private copied = 0;
  /** The version that the pickle says it has. */
  protocol = 0;
  /** What was found to be good as a key. */
  private readonly keys = new WeakSet<object>();
  private readonly view: DataView;

  constructor(
    readonly bytes: Uint8Array,
    /** The next byte. */
    public at: number,
    readonly path: string,
  ) {
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  fail(message: string): never {
    throw new FormatError(`byte ${this.at} of the pickle: ${message}`, this.path);
  }

  /** Moves on by `count` bytes and tells where they begin. */
  private take(count: number): number {
    const from = this.at;
    if (count > this.bytes.length - from) throw new UnfinishedPickle("the pickle ends too early", this.path);
    this.at = from + count;
    return from;
  }

  u8(): number {
    return this.bytes[this.take(1)] as number;
  }
  u16(): number {
    return this.view.getUint16(this.take(2), true);
  }
  u32(): number {
    return this.view.getUint32(this.take(4), true);
  }
  i32(): number {
    return this.view.getInt32(this.take(4), true);
  }
  f64(): number {
    return this.view.getFloat64(this.take(8), false);
  }
  u64(): number {
    const value = this.view.getBigUint64(this.take(8), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) this.fail(`a length of ${value} bytes`);
    return Number(value);
  }

  /** A copy of the next bytes. */
  raw(count: number): Uint8Array {
    const from = this.take(count);
    return this.bytes.slice(from, from + count);
  }

  utf8(count: number): string {
    const from = this.take(count);
    if (count < 32) {
      let text = "";
      for (let i = from; i < this.at; i++) {
        const byte = this.bytes[i] as number;
        if (byte > 127) return this.decode(from);
        text += String.fromCharCode(byte);
      }
      return text;
    }
    return this.decode(from);
  }

  private decode(from: number): string {
    const bytes = this.bytes.subarray(from, this.at);
    try {
      return UTF8.decode(bytes);
    } catch {
      return surrogatesPassed(bytes) ?? this.fail("a string that is no UTF-8");
    }
  }

  latin1(count: number): string {
    const from = this.take(count);
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + from, count).toString("latin1");
  }

  /** The text of a byte string: Python 2 wrote UTF-8 where its programs had text. */
  byteText(count: number): string {
    const from = this.take(count);
    const bytes = this.bytes.subarray(from, this.at);
    if (bytes.every((byte) => byte < 128)) return Buffer.from(bytes).toString("latin1");
    try {
      return UTF8.decode(bytes);
    } catch {
      return Buffer.from(bytes).toString("latin1");
    }
  }

  /** The text up to the next line break, which is passed. */
  line(): string {
    return this.upToBreak((count) => this.latin1(count));
  }

  /** The same for a name, which may have any letters. */
  nameLine(): string {
    return this.upToBreak((count) => this.utf8(count));
  }

  private upToBreak(read: (count: number) => string): string {
    const end = this.bytes.indexOf(10, this.at);
    if (end < 0) throw new UnfinishedPickle("the pickle ends inside a line", this.path);
    const text = read(end - this.at);
    this.at++;
    return text;
  }

  /** A decimal integer. */
  decimal(text: string): number | bigint {
    if (text.length > MAX_DECIMAL_DIGITS) this.fail(`an integer of ${text.length} digits`);
    if (!/^[+-]?\d+$/.test(text)) this.fail(`${JSON.stringify(text)} is no integer`);
    return fromInteger(BigInt(text.replace(/^\+/, "")));
  }

  /** An integer in two's complement. */
  integer(count: number): number | bigint {
    if (count > MAX_INTEGER_BYTES) this.fail(`an integer of ${count} bytes`);
    const from = this.take(count);
    if (count === 0) return 0;
    const hex = Buffer.from(this.bytes.subarray(from, this.at)).reverse().toString("hex");
    return fromInteger(BigInt.asIntN(count * 8, BigInt(`0x${hex}`)));
  }

  push(value: unknown): void {
    if (++this.items > MAX_ITEMS) this.fail(`more than ${MAX_ITEMS} values`);
    this.stack.push(value);
  }

  /** Puts something on the stack that holds other values, and takes much more memory than the byte that asks for it. */
  pushContainer(value: object): void {
    if (++this.containers > FREE_CONTAINERS + this.bytes.length / CONTAINER_BYTES) {
      this.fail(`more than ${this.containers - 1} lists and dicts in ${this.bytes.length} bytes`);
    }
    this.push(value);
  }

  /** Counts what a call with these arguments copies. */
  charge(args: readonly unknown[]): void {
    for (const value of args) {
      if (Array.isArray(value)) this.copied += value.length * ITEM_BYTES;
      else if (value instanceof Map) this.copied += value.size * ITEM_BYTES;
      else if (typeof value === "string" || value instanceof Uint8Array) this.copied += value.length;
    }
    if (this.copied > MAX_COPIED) this.fail("calls that copy too much");
  }

  /** A key of a dict or a member of a set: nothing that can change. */
  key(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    const waiting: unknown[] = [value];
    for (let item = waiting.pop(); item !== undefined; item = waiting.pop()) {
      if (typeof item !== "object" || item === null || this.keys.has(item)) continue;
      const kind = changeable(item);
      if (kind !== null) this.fail(`a ${kind} as a key or a member of a set`);
      this.keys.add(item);
      if (Array.isArray(item)) for (const inner of item) if (inner !== undefined) waiting.push(inner);
    }
    return value;
  }

  private floor(): number {
    return this.marks.length === 0 ? 0 : (this.marks[this.marks.length - 1] as number);
  }

  pop(): unknown {
    if (this.stack.length <= this.floor()) this.fail("the stack is empty");
    return this.stack.pop();
  }

  top(): unknown {
    if (this.stack.length <= this.floor()) this.fail("the stack is empty");
    return this.stack[this.stack.length - 1];
  }

  mark(): void {
    if (this.marks.length >= MAX_ITEMS) this.fail("too many marks");
    this.marks.push(this.stack.length);
  }

  /** Takes everything above the last mark, and the mark. */
  popMark(): unknown[] {
    const from = this.marks.pop();
    if (from === undefined) this.fail("there is no mark");
    return this.stack.splice(from);
  }

  /** Python's POP: a mark goes as a value would. */
  drop(): unknown {
    if (this.marks.length === 0 || this.floor() !== this.stack.length) return this.pop();
    this.marks.pop();
    return undefined;
  }

  store(index: number): void {
    this.memo.set(index, this.top());
  }
  storeNext(): void {
    this.store(this.memo.size);
  }
  recall(index: number): void {
    const value = this.memo.get(index);
    if (value === undefined && !this.memo.has(index)) this.fail(`nothing was stored under ${index}`);
    this.push(value);
  }
}

// Pickles of protocol 2, opcode for opcode as Python's pickler writes them: what was written once is referred to.
import { Complex, Float, Int } from "../../tensor/complex.ts";
import { FormatError } from "../base/errors.ts";
import { NumpyScalar } from "../base/numpy-scalar.ts";
import { isPlainObject } from "../base/python-json.ts";
import {
  attributesOf,
  dequeLength,
  dictClassOf,
  exactKey,
  exactly,
  isByteArray,
  isFrozenSet,
} from "../base/python-origin.ts";
import { requireText } from "../base/well-formed.ts";
import { PythonName, PythonObject } from "./python-object.ts";

const MAX_DEPTH = 900;
/** Python's pickler adds this many items at once. */
const BATCH = 1000;
const UTF8 = new TextEncoder();

const CODE = {
  protocol: 0x80,
  stop: 0x2e,
  mark: 0x28,
  none: 0x4e,
  yes: 0x88,
  no: 0x89,
  int32: 0x4a,
  uint8: 0x4b,
  uint16: 0x4d,
  long1: 0x8a,
  long4: 0x8b,
  float: 0x47,
  text: 0x58,
  list: 0x5d,
  append: 0x61,
  appends: 0x65,
  emptyTuple: 0x29,
  tuple: 0x74,
  tuple1: 0x85,
  dict: 0x7d,
  setItem: 0x73,
  setItems: 0x75,
  global: 0x63,
  reduce: 0x52,
  make: 0x81,
  makeNamed: 0x92,
  stackGlobal: 0x93,
  pop: 0x30,
  popMark: 0x31,
  build: 0x62,
  persistent: 0x51,
  put: 0x71,
  putLong: 0x72,
  get: 0x68,
  getLong: 0x6a,
} as const;

/** A dict, whatever its keys. */
export class PickleDict {
  constructor(readonly pairs: readonly (readonly [unknown, unknown])[]) {}
}

/** A dtype of NumPy's: kind and size such as "f8", and the order of its bytes, "<", ">" or "|". */
export class NumpyDtype {
  constructor(
    readonly code: string,
    readonly order: string,
  ) {}
}

/** Writes values into one pickle. Classes above it say how objects that it does not know are written. */
export class PickleWriter {
  private bytes = new Uint8Array(1024);
  private view = new DataView(this.bytes.buffer);
  private at = 0;
  private readonly memo = new Map<unknown, number>();
  private readonly keys = new Map<string, object>();
  private stored = 0;
  private depth = 0;
  /** What is being written, and how many things had been stored before. */
  private readonly open = new Map<object, number>();

  constructor(
    protected readonly path: string,
    /** Writes an object and returns true, or returns false. */
    private readonly other: (value: object, writer: PickleWriter) => boolean = () => false,
  ) {
    this.code(CODE.protocol);
    this.code(2);
  }

  /** The pickle of a value; a writer writes one. */
  write(value: unknown): Uint8Array {
    this.value(value);
    this.code(CODE.stop);
    return this.bytes.slice(0, this.at);
  }

  private room(more: number): number {
    const from = this.at;
    this.at += more;
    if (this.at > this.bytes.length) {
      const larger = new Uint8Array(Math.max(2 * this.bytes.length, this.at));
      larger.set(this.bytes);
      this.bytes = larger;
      this.view = new DataView(larger.buffer);
    }
    return from;
  }
  private code(value: number): void {
    const at = this.room(1);
    this.bytes[at] = value;
  }
  private u32(value: number): void {
    const at = this.room(4);
    this.view.setUint32(at, value, true);
  }
  private raw(data: Uint8Array): void {
    const at = this.room(data.length);
    this.bytes.set(data, at);
  }

  /** Remembers what was written last under a key. */
  private store(key: unknown): void {
    const index = this.stored++;
    if (key !== undefined) this.memo.set(key, index);
    if (index < 256) {
      this.code(CODE.put);
      this.code(index);
    } else {
      this.code(CODE.putLong);
      this.u32(index);
    }
  }

  private recall(key: unknown): boolean {
    const index = this.memo.get(key);
    if (index === undefined) return false;
    if (index < 256) {
      this.code(CODE.get);
      this.code(index);
    } else {
      this.code(CODE.getLong);
      this.u32(index);
    }
    return true;
  }

  /** Any value. */
  value(value: unknown): void {
    switch (typeof value) {
      case "string":
        this.text(value);
        return;
      case "number":
        if (Number.isSafeInteger(value) && !Object.is(value, -0)) this.integer(value);
        else this.float(value);
        return;
      case "bigint":
        this.integer(value);
        return;
      case "boolean":
        this.code(value ? CODE.yes : CODE.no);
        return;
      case "object":
        if (value === null) this.code(CODE.none);
        else this.object(value);
        return;
    }
    throw this.unsaved(value, typeof value);
  }

  private object(value: object): void {
    if (this.recall(value)) return;
    // What leads back to it through something that can change is written twice, and the second one taken away again.
    const before = this.open.get(value);
    if (before === this.stored)
      throw new FormatError("a tuple or object that contains itself cannot be saved", this.path);
    if (++this.depth > MAX_DEPTH) throw new FormatError("the value is nested too deeply to be saved", this.path);
    this.open.set(value, this.stored);
    this.known(value);
    if (before === undefined) this.open.delete(value);
    else this.open.set(value, before);
    this.depth--;
  }

  private known(value: object): void {
    if (this.other(value, this)) return;
    if (value instanceof Int) this.integer(value.value);
    else if (value instanceof Float) this.float(value.value);
    else if (value instanceof PythonName) this.name(value.module, value.name);
    else if (value instanceof PythonObject) this.described(value);
    else if (value instanceof NumpyDtype) this.numpyDtype(value);
    else if (value instanceof NumpyScalar) {
      this.name(`${value.from}.multiarray`, "scalar");
      this.tuple([new NumpyDtype(value.code, value.order), value.bytes]);
      this.call(value);
    } else if (value instanceof PickleDict) this.dict(value.pairs, value);
    else if (value instanceof Complex) {
      this.name("__builtin__", "complex");
      this.tuple([new Float(value.re), new Float(value.im)]);
      this.call(value);
    } else if (value instanceof Uint8Array) this.byteString(value);
    else if (value instanceof Set) {
      this.name("__builtin__", isFrozenSet(value) ? "frozenset" : "set");
      this.tuple([Array.from(value, (item) => exactKey(value, item))]);
      this.call(value);
    } else if (Array.isArray(value)) {
      if (Object.isFrozen(value)) this.tuple(value, value);
      else if (dequeLength(value) !== undefined) this.deque(value);
      else this.list(value);
    } else if (value instanceof Map) this.pairs(value, [...value]);
    else if (isPlainObject(value)) this.pairs(value, Object.entries(value));
    else throw this.unsaved(value, value.constructor?.name ?? "object");
  }

  /** The error for a value of no file. A module, which is a function, and an optimiser have a state that has one. */
  private unsaved(value: unknown, kind: string): FormatError {
    const hasState = typeof (value as { stateDict?: unknown } | undefined)?.stateDict === "function";
    const name = hasState ? ((value as object).constructor?.name ?? kind) : kind;
    return new FormatError(`a ${name} cannot be saved${hasState ? ": save its stateDict()" : ""}`, this.path);
  }

  /** A dictionary of any class. */
  private pairs(holder: object, entries: readonly (readonly [unknown, unknown])[]): void {
    const pairs = entries.map(([key, value]) => [exactKey(holder, key), exactly(holder, key, value)] as const);
    const dict = dictClassOf(holder);
    if (dict === "dict") this.dict(pairs, holder);
    else if (dict === "Counter") {
      this.name("collections", "Counter");
      this.tuple([new PickleDict(pairs)]);
      this.call(holder);
    } else if (dict === "defaultdict") {
      this.name("collections", "defaultdict");
      this.tuple([attributesOf(holder) ?? null]);
      this.call(holder);
      this.items(pairs);
    } else {
      this.orderedDict(pairs, holder);
      const attributes = attributesOf(holder);
      if (attributes === undefined) return;
      this.value(attributes);
      this.build();
    }
  }

  /** An object of a class that is not there, as `loadTorch` described it. */
  private described(value: PythonObject): void {
    const { callee, how, args, kwargs, listItems, dictItems, state, stateSetter } = value;
    if (how === "storage" || how === "persistent") {
      throw new FormatError(
        `a ${how === "storage" ? "storage" : "persistent id"} by itself cannot be saved`,
        this.path,
      );
    }
    if (kwargs !== null && how === "call") {
      throw new FormatError(`the call of ${value.className} with named arguments cannot be saved`, this.path);
    }
    this.value(callee);
    this.tuple(args);
    if (kwargs !== null && !this.recall(kwargs)) this.pairs(kwargs, Object.entries(kwargs));
    this.code(how === "call" ? CODE.reduce : kwargs === null ? CODE.make : CODE.makeNamed);
    if (!this.storeAgain(value)) return;
    if (listItems !== null) {
      this.batches(listItems, CODE.append, CODE.appends, (item, i) => this.value(exactly(listItems, i, item)));
    }
    if (dictItems !== null) {
      const entries = dictItems instanceof Map ? [...dictItems] : Object.entries(dictItems);
      this.items(entries.map(([key, item]) => [exactKey(dictItems, key), exactly(dictItems, key, item)] as const));
    }
    if (state === undefined) return;
    if (stateSetter !== null) {
      // Called for what it does to the object: what it gives is dropped.
      this.value(stateSetter);
      this.recall(value);
      this.value(exactly(value, "state", state));
      this.code(CODE.tuple1 + 1);
      this.code(CODE.reduce);
      this.code(CODE.pop);
      return;
    }
    this.value(exactly(value, "state", state));
    this.build();
  }

  /** Stores what was written last, unless its own contents have written it already: then that is taken. */
  private storeAgain(key: unknown): boolean {
    if (key === undefined || !this.memo.has(key)) {
      this.store(key);
      return true;
    }
    this.code(CODE.pop);
    this.recall(key);
    return false;
  }

  private numpyDtype({ code, order }: NumpyDtype): void {
    const key = this.key(`dtype ${order}${code}`);
    if (this.recall(key)) return;
    this.name("numpy", "dtype");
    this.tuple([code, false, true]);
    this.call(key);
    const text = /^U(\d+)$/.exec(code);
    const sizes = text === null ? [-1, -1, 0] : [4 * Number(text[1]), 4, 8];
    this.tuple([3, order, null, null, null, ...sizes]);
    this.build();
  }

  /** What stands in the memo for something that is known by a text. */
  private key(text: string): object {
    const known = this.keys.get(text);
    if (known !== undefined) return known;
    const key = {};
    this.keys.set(text, key);
    return key;
  }

  integer(value: number | bigint): void {
    if (typeof value === "number" && value >= 0 && value < 0x10000) {
      this.code(value < 256 ? CODE.uint8 : CODE.uint16);
      this.code(value & 255);
      if (value >= 256) this.code(value >> 8);
    } else if (value >= -0x80000000 && value < 0x80000000) {
      this.code(CODE.int32);
      this.u32(Number(value) >>> 0);
    } else this.long(BigInt(value));
  }

  private long(value: bigint): void {
    let rest = value;
    const parts: number[] = [];
    // The last byte carries the sign.
    while (rest !== 0n && rest !== -1n) {
      parts.push(Number(rest & 255n));
      rest >>= 8n;
    }
    const last = parts.at(-1) ?? 0;
    if (rest === 0n ? last > 127 : last < 128) parts.push(rest === 0n ? 0 : 255);
    if (parts.length < 256) {
      this.code(CODE.long1);
      this.code(parts.length);
    } else {
      this.code(CODE.long4);
      this.u32(parts.length);
    }
    this.raw(Uint8Array.from(parts));
  }

  float(value: number): void {
    this.code(CODE.float);
    const at = this.room(8);
    this.view.setFloat64(at, value, false);
  }

  text(value: string): void {
    if (this.recall(value)) return;
    requireText(value, () => `${this.path}: the text ${JSON.stringify(value)}`);
    const bytes = UTF8.encode(value);
    this.code(CODE.text);
    this.u32(bytes.length);
    this.raw(bytes);
    this.store(value);
  }

  private byteString(value: Uint8Array): void {
    const text = Buffer.from(value.buffer, value.byteOffset, value.length).toString("latin1");
    // Python calls `bytes` for an empty one, which its own restricted loader refuses.
    if (isByteArray(value)) this.name("__builtin__", "bytearray");
    else this.name("_codecs", "encode");
    this.tuple([text, isByteArray(value) ? "latin-1" : "latin1"]);
    this.call(value);
  }

  /** A tuple. `key` stands for it when it is met again. */
  tuple(items: readonly unknown[], key?: unknown): void {
    if (items.length === 0) {
      this.code(CODE.emptyTuple);
      return;
    }
    if (items.length > 3) this.code(CODE.mark);
    for (const [i, item] of items.entries()) this.value(exactly(items, i, item));
    if (key !== undefined && this.memo.has(key)) {
      // Something in it led back to it, so that it has been written.
      if (items.length > 3) this.code(CODE.popMark);
      else for (const _ of items) this.code(CODE.pop);
      this.recall(key);
      return;
    }
    this.code(items.length > 3 ? CODE.tuple : CODE.tuple1 + items.length - 1);
    this.store(key);
  }

  private list(items: readonly unknown[]): void {
    this.code(CODE.list);
    this.store(items);
    this.batches(items, CODE.append, CODE.appends, (item, i) => this.value(exactly(items, i, item)));
  }

  private deque(items: readonly unknown[]): void {
    const maxlen = dequeLength(items);
    this.name("collections", "deque");
    this.tuple(maxlen === null ? [[]] : [[], maxlen]);
    this.call(items);
    this.batches(items, CODE.append, CODE.appends, (item, i) => this.value(exactly(items, i, item)));
  }

  /** A dict. `key` stands for it when it is met again. */
  dict(pairs: readonly (readonly [unknown, unknown])[], key?: unknown): void {
    this.code(CODE.dict);
    this.store(key);
    this.items(pairs);
  }

  /** An OrderedDict. `key` stands for it when it is met again. */
  orderedDict(pairs: readonly (readonly [unknown, unknown])[], key?: unknown): void {
    this.name("collections", "OrderedDict");
    this.tuple([]);
    this.call(key);
    this.items(pairs);
  }

  private items(pairs: readonly (readonly [unknown, unknown])[]): void {
    this.batches(pairs, CODE.setItem, CODE.setItems, ([key, value]) => {
      this.value(key);
      this.value(value);
    });
  }

  private batches<T>(items: readonly T[], one: number, many: number, write: (item: T, i: number) => void): void {
    for (let at = 0; at < items.length; at += BATCH) {
      const end = Math.min(at + BATCH, items.length);
      if (end - at > 1) this.code(CODE.mark);
      for (let i = at; i < end; i++) write(items[i] as T, i);
      this.code(end - at > 1 ? many : one);
    }
  }

  /** A class or function. */
  name(module: string, name: string): void {
    const line = `${module}\n${name}\n`;
    const key = this.key(line);
    if (this.recall(key)) return;
    const dot = name.lastIndexOf(".");
    if (dot > 0) {
      // This protocol has no names with dots: an attribute of what is before the last one.
      this.name("__builtin__", "getattr");
      this.name(module, name.slice(0, dot));
      this.text(name.slice(dot + 1));
      this.pair();
      this.code(CODE.reduce);
    } else if (/\n/.test(module + name)) {
      this.text(module);
      this.text(name);
      this.code(CODE.stackGlobal);
    } else {
      requireText(line, () => `${this.path}: the name ${JSON.stringify(line)}`);
      this.code(CODE.global);
      this.raw(UTF8.encode(line));
    }
    this.store(key);
  }

  /** A tuple of the two values on top. */
  pair(): void {
    this.code(CODE.tuple1 + 1);
  }

  /** Calls the function below the tuple on top. `key` stands for the result when it is met again. */
  call(key?: unknown): void {
    this.code(CODE.reduce);
    this.storeAgain(key);
  }
  /** An instance of the class below the tuple on top. */
  make(key?: unknown): void {
    this.code(CODE.make);
    this.store(key);
  }
  /** Gives the object below its state. */
  build(): void {
    this.code(CODE.build);
  }
  /** Makes the tuple on top a persistent id. */
  refer(): void {
    this.code(CODE.persistent);
  }
}

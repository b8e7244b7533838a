// JSON exactly as Python's json module writes it, and a strict, bounded parser for what Python programs produce:
// NaN and Infinity tokens, integers of any size, and floats that stay floats (1.0 is not 1).
// Objects become Maps, because JavaScript objects would reorder keys such as "10" and "2".
import { Float, Int } from "../../tensor/complex.ts";
import { setOwn } from "../../tensor/objects.ts";
import { asInPython, noteFloat } from "./python-origin.ts";

/**
 * What the parser returns and the writer accepts. Numbers that are integers are Python ints, all others floats;
 * a float with an integral value is a `Float`.
 */
export type PythonJson =
  | null
  | boolean
  | string
  | number
  | bigint
  | Float
  | Int
  | readonly PythonJson[]
  | ReadonlyMap<string, PythonJson>
  | { readonly [key: string]: PythonJson };

/** A parsed object: keys in the order of the file. */
export type PythonJsonObject = Map<string, PythonJson>;

/** Limits for text that comes from outside. */
export interface PythonJsonLimits {
  /** Longest text in UTF-16 units (or bytes, for bytes). */
  maxLength?: number;
  /** Deepest nesting of arrays and objects. */
  maxDepth?: number;
}

/** The text is not what a Python program would have written, or it exceeds a limit. */
export class PythonJsonError extends Error {
  override readonly name = "PythonJsonError";
  constructor(
    message: string,
    readonly offset: number,
  ) {
    super(`${message} at offset ${offset}`);
  }
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
const DEFAULT_MAX_LENGTH = 256 * 1024 * 1024;
const DEFAULT_MAX_DEPTH = 256;
// Python refuses to convert longer digit strings as well; the conversion takes quadratic time.
const MAX_INT_DIGITS = 4300;

/** Python's repr of a float. */
export function pythonFloatRepr(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  if (value === 0) return Object.is(value, -0) ? "-0.0" : "0.0";
  const [mantissa, exponentText] = Math.abs(value).toExponential().split("e") as [string, string];
  const exponent = Number(exponentText);
  const digits = mantissa.replace(".", "");
  const sign = value < 0 ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    const tail = digits.length > 1 ? `.${digits.slice(1)}` : "";
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${sign}${digits[0]}${tail}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${digits}`;
  if (digits.length <= exponent + 1) return `${sign}${digits.padEnd(exponent + 1, "0")}.0`;
  return `${sign}${digits.slice(0, exponent + 1)}.${digits.slice(exponent + 1)}`;
}

function floatToken(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "Infinity" : "-Infinity";
  return pythonFloatRepr(value);
}

/** Characters that JSON has a letter for. */
export const SHORT_ESCAPES: Readonly<Record<string, string>> = {
  '"': '\\"',
  "\\": "\\\\",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\b": "\\b",
  "\f": "\\f",
};

/** A JSON string with everything outside printable ASCII escaped, as Python does by default. */
export function pythonJsonString(text: string): string {
  const escaped = text.replace(/["\\]|[^ -~]/g, (unit) => {
    return SHORT_ESCAPES[unit] ?? `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
  return `"${escaped}"`;
}

/** How a value is laid out: Python's default `", "` and `": "`, or `separators=(",", ":")`. */
export interface PythonJsonStyle {
  compact?: boolean;
}

/** Writes `value` as `json.dumps(value)` would. */
export function pythonJsonStringify(value: PythonJson, style: PythonJsonStyle = {}): string {
  const comma = style.compact ? "," : ", ";
  const colon = style.compact ? ":" : ": ";
  const open = new Set<object>();
  const write = (item: PythonJson): string => {
    if (item === null) return "null";
    switch (typeof item) {
      case "boolean":
        return item ? "true" : "false";
      case "string":
        return pythonJsonString(item);
      case "bigint":
        return item.toString();
      case "number":
        return Number.isSafeInteger(item) && !Object.is(item, -0) ? String(item) : floatToken(item);
      case "object":
        return writeContainer(item as object);
      default:
        throw new TypeError(`Object of type ${typeof item} is not JSON serializable`);
    }
  };
  const writeContainer = (item: object): string => {
    if (item instanceof Float) return floatToken(item.value);
    if (item instanceof Int) return String(BigInt(item.value));
    if (open.has(item)) throw new TypeError("Circular reference detected");
    if (open.size > 10_000) throw new RangeError("value is nested too deeply");
    open.add(item);
    const text = Array.isArray(item)
      ? `[${item.map((inner, i) => write(asInPython(item, i, inner) as PythonJson)).join(comma)}]`
      : writeObject(item);
    open.delete(item);
    return text;
  };
  const writeObject = (item: object): string => {
    if (!(item instanceof Map) && !isPlainObject(item)) {
      throw new TypeError(`Object of type ${item.constructor?.name ?? "object"} is not JSON serializable`);
    }
    const entries = item instanceof Map ? [...item] : Object.entries(item);
    const parts = entries.map(([key, inner]) => {
      if (typeof key !== "string") throw new TypeError(`keys must be str, got ${typeof key}`);
      return `${pythonJsonString(key)}${colon}${write(asInPython(item, key, inner) as PythonJson)}`;
    });
    return `{${parts.join(comma)}}`;
  };
  return write(value);
}

/** True for `{}` literals and objects without a prototype. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** True when `value` can be written as Python JSON and read back as the same value. */
export function isPythonJson(value: unknown, depth = 0): value is PythonJson {
  if (value === null) return true;
  if (typeof value !== "object") return ["boolean", "string", "number", "bigint"].includes(typeof value);
  if (value instanceof Float || value instanceof Int) return true;
  if (depth > DEFAULT_MAX_DEPTH) return false;
  // An array with holes has no text.
  if (Array.isArray(value)) return Array.from(value).every((item) => isPythonJson(item, depth + 1));
  if (value instanceof Map) {
    return [...value].every(([key, item]) => typeof key === "string" && isPythonJson(item, depth + 1));
  }
  return isPlainObject(value) && Object.values(value).every((item) => isPythonJson(item, depth + 1));
}

/**
 * Turns a parsed value into plain JavaScript: Maps become objects without prototype tricks, floats become numbers, of
 * which it is noted that they were floats.
 */
export function toPlain(value: PythonJson): unknown {
  if (value instanceof Float || value instanceof Int) return value.value;
  if (Array.isArray(value)) {
    const items: unknown[] = [];
    for (const item of value) items.push(item instanceof Float ? noteFloat(items, items.length, item) : toPlain(item));
    return items;
  }
  if (value instanceof Map) {
    const result: Record<string, unknown> = {};
    for (const [key, item] of value) {
      setOwn(result, key, toPlain(item));
      noteFloat(result, key, item);
    }
    return result;
  }
  return value;
}

/** Parses text or UTF-8 bytes. Duplicate keys, trailing text, and anything beyond the limits are errors. */
export function parsePythonJson(source: string | Uint8Array, limits: PythonJsonLimits = {}): PythonJson {
  const maxLength = limits.maxLength ?? DEFAULT_MAX_LENGTH;
  if (source.length > maxLength) {
    throw new PythonJsonError(`text of ${source.length} units exceeds the limit of ${maxLength}`, 0);
  }
  let text: string;
  if (typeof source === "string") text = source;
  else {
    try {
      text = UTF8.decode(source);
    } catch {
      throw new PythonJsonError("text is not valid UTF-8", 0);
    }
  }
  return new Parser(text, limits.maxDepth ?? DEFAULT_MAX_DEPTH).document();
}

/** Parses text whose top level must be an object. */
export function parsePythonJsonObject(source: string | Uint8Array, limits?: PythonJsonLimits): PythonJsonObject {
  const value = parsePythonJson(source, limits);
  if (!(value instanceof Map)) throw new PythonJsonError("expected an object at the top level", 0);
  return value;
}

const ESCAPED: Record<string, string> = {
  '"': '"',
  "\\": "\\",
  "/": "/",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
};

const QUOTE = 34;
const DOT = 46;
const ZERO = 48;
const NINE = 57;
const BIG_E = 69;
const BRACKET = 91;
const BACKSLASH = 92;
const SMALL_E = 101;
const BRACE = 123;
const NUMBER = /-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?/y;
const PLAIN_RUN = /[^"\\\u0000-\u001f]*/y;
const WORDS: readonly (readonly [string, PythonJson])[] = [
  ["null", null],
  ["true", true],
  ["false", false],
  ["NaN", Number.NaN],
  ["Infinity", Number.POSITIVE_INFINITY],
  ["-Infinity", Number.NEGATIVE_INFINITY],
];

// Metadata says the same few words again and again: they are found rather than made. A kept string may hold on to the
// text that it comes from, so these are short.
const KEPT_LENGTH = 40;
const KEPT_TEXT = 4096;
const kept: string[] = new Array(256).fill("");

function keptString(text: string, start: number, end: number, hash: number): string {
  const known = kept[hash & 255] as string;
  if (known.length === end - start && text.startsWith(known, start)) return known;
  const found = text.slice(start, end);
  kept[hash & 255] = found;
  return found;
}

class Parser {
  private at = 0;

  constructor(
    private readonly text: string,
    private readonly maxDepth: number,
  ) {}

  document(): PythonJson {
    const value = this.value(0);
    this.space();
    if (this.at !== this.text.length) throw this.error("unexpected text after the value");
    return value;
  }

  private error(message: string): PythonJsonError {
    return new PythonJsonError(message, this.at);
  }

  private space(): void {
    const { text } = this;
    for (;;) {
      const unit = text.charCodeAt(this.at);
      if (unit !== 32 && unit !== 10 && unit !== 13 && unit !== 9) return;
      this.at++;
    }
  }

  private value(depth: number): PythonJson {
    if (depth > this.maxDepth) throw this.error(`nesting exceeds the limit of ${this.maxDepth}`);
    this.space();
    const first = this.text.charCodeAt(this.at);
    if (first === BRACE) return this.object(depth);
    if (first === BRACKET) return this.array(depth);
    if (first === QUOTE) return this.string();
    if (first > ZERO && first <= NINE) return this.positive();
    for (const [word, value] of WORDS) {
      if (this.text.startsWith(word, this.at)) {
        this.at += word.length;
        return value;
      }
    }
    return this.number();
  }

  private object(depth: number): PythonJsonObject {
    const result: PythonJsonObject = new Map();
    this.at++;
    this.space();
    if (this.text[this.at] === "}") {
      this.at++;
      return result;
    }
    for (;;) {
      this.space();
      if (this.text[this.at] !== '"') throw this.error("expected a key in double quotes");
      const keyAt = this.at;
      const key = this.string();
      if (result.has(key)) throw new PythonJsonError(`duplicate key ${pythonJsonString(key)}`, keyAt);
      this.space();
      if (this.text[this.at] !== ":") throw this.error("expected ':'");
      this.at++;
      result.set(key, this.value(depth + 1));
      if (this.next("}")) return result;
    }
  }

  private array(depth: number): PythonJson[] {
    const result: PythonJson[] = [];
    this.at++;
    this.space();
    if (this.text[this.at] === "]") {
      this.at++;
      return result;
    }
    for (;;) {
      result.push(this.value(depth + 1));
      if (this.next("]")) return result;
    }
  }

  /** Consumes a comma (false) or the closing bracket (true). */
  private next(close: string): boolean {
    this.space();
    const unit = this.text[this.at];
    if (unit === undefined) throw this.error(`text ends before '${close}'`);
    if (unit !== "," && unit !== close) throw this.error(`expected ',' or '${close}'`);
    this.at++;
    return unit === close;
  }

  private string(): string {
    const { text } = this;
    const start = this.at + 1;
    let end = start;
    let hash = 0;
    for (;;) {
      const unit = text.charCodeAt(end);
      if (unit === QUOTE) {
        this.at = end + 1;
        return end - start <= KEPT_LENGTH && text.length <= KEPT_TEXT
          ? keptString(text, start, end, hash)
          : text.slice(start, end);
      }
      if (unit === BACKSLASH || !(unit >= 32)) return this.stringWithEscapes();
      hash = (hash * 31 + unit) | 0;
      end++;
    }
  }

  private stringWithEscapes(): string {
    const { text } = this;
    this.at++;
    let result = "";
    for (;;) {
      PLAIN_RUN.lastIndex = this.at;
      const run = (PLAIN_RUN.exec(text) as RegExpExecArray)[0];
      result += run;
      this.at += run.length;
      const unit = text[this.at];
      if (unit === undefined) throw this.error("text ends inside a string");
      if (unit === '"') {
        this.at++;
        return result;
      }
      if (unit !== "\\") throw this.error("control character inside a string");
      result += this.escape();
    }
  }

  private escape(): string {
    const kind = this.text[this.at + 1] ?? "";
    if (kind === "u") {
      const hex = this.text.slice(this.at + 2, this.at + 6);
      if (!/^[0-9a-fA-F]{4}$/.test(hex)) throw this.error("\\u needs four hexadecimal digits");
      this.at += 6;
      return String.fromCharCode(Number.parseInt(hex, 16));
    }
    if (!Object.hasOwn(ESCAPED, kind)) throw this.error("unknown escape");
    this.at += 2;
    return ESCAPED[kind] as string;
  }

  // The common case, a short positive integer, without a regular expression.
  private positive(): PythonJson {
    const { text } = this;
    let value = 0;
    let at = this.at;
    for (;;) {
      const unit = text.charCodeAt(at);
      if (!(unit >= ZERO && unit <= NINE)) {
        if (unit === DOT || unit === SMALL_E || unit === BIG_E) return this.number();
        this.at = at;
        return value;
      }
      value = value * 10 + (unit - ZERO);
      at++;
      if (at - this.at > 15) return this.number();
    }
  }

  private number(): PythonJson {
    NUMBER.lastIndex = this.at;
    const match = NUMBER.exec(this.text);
    if (match === null) {
      const found = this.text[this.at];
      throw this.error(found === undefined ? "text ends where a value is expected" : "expected a value");
    }
    const token = match[0];
    const start = this.at;
    this.at += token.length;
    if (match[1] === undefined && match[2] === undefined) {
      if (token.length > MAX_INT_DIGITS) throw new PythonJsonError("integer has too many digits", start);
      const small = Number(token);
      if (Number.isSafeInteger(small)) return small === 0 ? 0 : small;
      return BigInt(token);
    }
    const value = Number(token);
    return Number.isInteger(value) ? new Float(value) : value;
  }
}

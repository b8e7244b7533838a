/** Python's `print`: values in the text that Python gives them, so that output can be compared line by line. */
import { Float, Int } from "../tensor/complex.ts";
import { Device } from "../tensor/device.ts";
import { pythonFloat } from "./number-text.ts";

const MAX_DEPTH = 64;
const NUMPY_PRECISION = 8;
const NUMPY_LINE = 75;
const NUMPY_THRESHOLD = 1000;
const NUMPY_EDGE = 3;

/**
 * Prints values as Python's print does, with a space between them: `True`, `None`, tensors and TensorDicts by their
 * text, arrays as tuples, typed arrays as NumPy shows them. @torch print
 * @example
 * ```ts
 * print([1, "a", null, true], tensor([1, 2])) // (1, 'a', None, True) tensor([1., 2.])
 * ```
 */
export function print(...values: unknown[]): void {
  console.log(values.map((value) => (typeof value === "string" ? value : pythonText(value))).join(" "));
}

/** The text of one value inside of another: strings in quotes. `around` are the objects that it is in. */
export function pythonText(value: unknown, around: readonly object[] = []): string {
  if (value === null || value === undefined) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") {
    return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : pythonFloat(value);
  }
  if (value instanceof Float) return pythonFloat(value.value);
  if (value instanceof Int) return String(value.value);
  // Modules are functions with a text of their own.
  if (typeof value === "function" && value.toString === Function.prototype.toString) return functionText(value);
  if (typeof value === "function") return String(value);
  if (typeof value === "object") return objectText(value, around);
  return String(value);
}

function functionText(value: { name: string }): string {
  return `<${/^class\b/.test(String(value)) ? `class '${value.name}'` : `function ${value.name || "<lambda>"}`}>`;
}

function objectText(value: object, around: readonly object[]): string {
  const again = around.includes(value) || around.length > MAX_DEPTH;
  const inner = (x: unknown): string => pythonText(x, [...around, value]);
  if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
    return arrayText(value as NodeJS.TypedArray, around.length > 0);
  }
  if (Array.isArray(value)) {
    // Sizes and named results have a text of their own.
    if (value.toString !== Array.prototype.toString) return String(value);
    return again ? "(...)" : `(${value.map(inner).join(", ")}${value.length === 1 ? "," : ""})`;
  }
  const prototype = Object.getPrototypeOf(value);
  if (Object.prototype.toString.call(value) === "[object Module]") return "<module>";
  if (value instanceof Map || prototype === Object.prototype || prototype === null) {
    if (again) return "{...}";
    const pairs = value instanceof Map ? [...value] : Object.entries(value);
    return `{${pairs.map(([key, x]) => `${inner(key)}: ${inner(x)}`).join(", ")}}`;
  }
  if (value instanceof Set) return value.size === 0 ? "set()" : `{${[...value].map(inner).join(", ")}}`;
  // Some classes have one text for themselves and another one inside of others.
  return around.length > 0 && value instanceof Device ? value.repr() : String(value);
}

/** NumPy's names of what typed arrays hold; those that go without saying are missing. */
const NUMPY_DTYPES: Readonly<Record<string, string>> = {
  Float32Array: "float32",
  Float16Array: "float16",
  Int8Array: "int8",
  Int16Array: "int16",
  Int32Array: "int32",
  Uint8Array: "uint8",
  Uint8ClampedArray: "uint8",
  Buffer: "uint8",
  Uint16Array: "uint16",
  Uint32Array: "uint32",
  BigUint64Array: "uint64",
};

/** An array alone, or inside of another value: `array([1., 2.], dtype=float32)`. */
function arrayText(array: NodeJS.TypedArray, inside: boolean): string {
  if (!inside) return numpyText(array);
  const dtype = NUMPY_DTYPES[array.constructor.name];
  const text = numpyText(array, "array(", ",");
  if (dtype === undefined) return `${text})`;
  const line = text.length - (text.lastIndexOf("\n") + 1) + `, dtype=${dtype})`.length;
  return `${text},${line > NUMPY_LINE ? "\n      " : " "}dtype=${dtype})`;
}

/** Python's repr of a string. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  const short: Record<string, string> = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
  const body = text.replace(/[\\'"\n\r\t]|[\u0000-\u001f\u007f-\u00a0\u00ad]/g, (c) => {
    if (c === "'" || c === '"') return short[c] ?? c;
    return short[c] ?? `\\x${c.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
  return quote + body + quote;
}

/** NumPy's text of a one-dimensional array, after `head`, with a comma or nothing between elements. */
function numpyText(array: NodeJS.TypedArray, head = "", comma = ""): string {
  const all = Array.from(array as ArrayLike<number | bigint>);
  const cut = all.length > NUMPY_THRESHOLD;
  const kept = cut ? [...all.slice(0, NUMPY_EDGE), ...all.slice(-NUMPY_EDGE)] : all;
  const single = array instanceof Float32Array;
  const isFloat = single || array instanceof Float64Array;
  const words = isFloat ? floatWords(kept as number[], single) : padded(kept.map(String));
  if (cut) words.splice(NUMPY_EDGE, 0, "...");
  return wrapped(words, head, comma);
}

function padded(words: string[]): string[] {
  const width = Math.max(0, ...words.map((word) => word.length));
  return words.map((word) => word.padStart(width));
}

/** Breaks the list where a line would be too long. */
function wrapped(words: readonly string[], head: string, comma: string): string {
  let line = `${head}[`;
  const lines: string[] = [];
  for (const [i, word] of words.entries()) {
    if (i > 0 && line.length + comma.length + 1 + word.length > NUMPY_LINE - 1) {
      lines.push(line + comma);
      line = `${" ".repeat(head.length + 1)}${word}`;
    } else line += i > 0 ? `${comma} ${word}` : word;
  }
  return [...lines, `${line}]`].join("\n");
}

/** The fewest digits that tell a number from its neighbours, at most eight after the point. */
function shortest(x: number, single: boolean, exponent: boolean): string {
  const write = (digits: number): string => (exponent ? x.toExponential(digits) : x.toFixed(digits));
  const same = (text: string): boolean => (single ? Math.fround(Number(text)) : Number(text)) === x;
  for (let digits = 0; digits < NUMPY_PRECISION; digits++) if (same(write(digits))) return write(digits);
  return write(NUMPY_PRECISION);
}

function floatWords(values: number[], single: boolean): string[] {
  const finite = values.filter(Number.isFinite);
  const sizes = finite.map(Math.abs).filter((x) => x > 0);
  const most = Math.max(0, ...sizes);
  const least = Math.min(Number.POSITIVE_INFINITY, ...sizes);
  const exponent = sizes.length > 0 && (most >= 1e16 || least < 1e-4 || most / least > 1000);
  const parts = values.map((x) => (Number.isFinite(x) ? parted(x, single, exponent) : null));
  const digits = Math.max(0, ...parts.map((part) => part?.fraction.length ?? 0));
  const power = Math.max(2, ...parts.map((part) => part?.power.length ?? 0));
  const words = values.map((x, i) => {
    const part = parts[i];
    if (part === null || part === undefined) return pythonFloat(x);
    // With an exponent all have the same number of digits; without, spaces stand for the missing ones.
    if (exponent)
      return `${part.whole}.${part.fraction.padEnd(digits, "0")}e${part.sign}${part.power.padStart(power, "0")}`;
    return `${part.whole}.${part.fraction.padEnd(digits, " ")}`;
  });
  return padded(words);
}

interface Parts {
  whole: string;
  fraction: string;
  sign: string;
  power: string;
}

function parted(x: number, single: boolean, exponent: boolean): Parts {
  const [mantissa, power = "+0"] = shortest(x, single, exponent).split("e") as [string, string | undefined];
  const [whole, fraction = ""] = mantissa.split(".") as [string, string | undefined];
  const minus = Object.is(x, -0) && !whole.startsWith("-") ? "-" : "";
  return {
    whole: minus + whole,
    fraction: fraction.replace(/0+$/, ""),
    sign: power.slice(0, 1),
    power: power.slice(1),
  };
}

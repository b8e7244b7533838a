// Damage to files, decided by a generator of numbers alone: the same seed damages in the same way.
import { type Choices, hostileNumbers } from "./choices.ts";
import { packNpy, packTail, packWithLength, packZip, type ZipPart } from "./containers.ts";
import { damagedPickle } from "./pickle-damage.ts";

/** Files of one thing to be read, by their path below its folder. */
export type Files = Map<string, Uint8Array>;

/** How the bytes of a format are taken apart, so that what is inside can be damaged and the outside stays right. */
export type Container = "none" | "zip" | "length" | "tail" | "npy" | "pickle";

const TRICKS = [
  "..",
  "../outside/secret",
  "/etc/passwd",
  "a\0b",
  "a/../../../outside/x",
  "",
  ".",
  "//",
  "C:/x",
  "a\\b",
];
const NAMES = [
  "__proto__",
  "constructor",
  "toString",
  "_type",
  "shape",
  "dtype",
  "keys",
  "nan",
  "\ud800",
  "é".repeat(200),
];
const VALUE = /-?\d+(?:\.\d+)?|"[^"\\]*"|'[^'\\]*'|true|false|null|True|False/g;
const TOKEN = /-?\d+(?:\.\d+)?|"[^"\\]*"|'[^'\\]*'|true|false|null|True|False|[[\]{}:,]/g;

function otherText(choices: Choices, size: number): string {
  const kind = choices.below(7);
  if (kind === 0) return String(choices.pick(hostileNumbers(size)));
  if (kind === 1) return JSON.stringify(choices.pick(TRICKS));
  if (kind === 2) return JSON.stringify(choices.pick(NAMES));
  if (kind === 3) return choices.pick(["null", "true", "[]", "{}", '""', "1e999", "-0", "0.5", "NaN", "[[]]", "[0]"]);
  if (kind === 4) return "[".repeat(choices.pick([10, 1000, 100_000]));
  if (kind === 5) return `${'{"a":'.repeat(2000)}1${"}".repeat(2000)}`;
  return `[${"0,".repeat(choices.pick([65, 5000]))}1]`;
}

/** A whole number that is close to another one, or nothing of the kind. */
function nearNumber(choices: Choices, word: string): string {
  const value = Number(word);
  return String(choices.pick([value + 1, value - 1, value * 2, value >> 1, -value, value + 0.5, value * 4 + 4, 0, 1]));
}

const DTYPES = {
  "torch.": ["float32", "int32", "float16", "bfloat16", "int64", "float64", "bool", "complex64", "uint8", "qint8"],
  "<": ["f4", "i4", "u4", "f8", "i8", "c8", "f2", "i2"],
  "": ["F32", "I32", "U32", "BF16", "F16", "I16", "I64", "F64", "BOOL", "U8", "I8", "F8_E4M3"],
};

/** A word that may well be good in the place of another one. */
function fittingWord(choices: Choices, word: string, alike: readonly string[]): string {
  if (/^-?\d+$/.test(word)) return choices.below(2) === 0 ? nearNumber(choices, word) : choices.pick(alike);
  const [, quote = "", start = "", rest = ""] = /^(["'])(torch\.|<)?(.*)\1$/.exec(word) ?? [];
  const known = DTYPES[start as keyof typeof DTYPES];
  if (quote !== "" && known.includes(rest)) return quote + start + choices.pick(known) + quote;
  if (/^(true|false)$/i.test(word)) return choices.pick(alike.concat(word[0] === "T" ? "False" : "true"));
  return choices.pick(alike);
}

const kindOf = (word: string) => (/^[-\d]/.test(word) ? "number" : /^["']/.test(word) ? "string" : "word");

/** A key with a plain value. */
const PAIR = /(["'])[^"'\\]*\1: ?(?:-?\d+|"[^"\\]*"|'[^'\\]*'|true|false|null|\[[^[\]{}]*\])/g;

/** Text in which values are others that fit better than most, or trade places, or a key comes twice. */
function gentleText(bytes: Uint8Array, choices: Choices): Uint8Array {
  let text = Buffer.from(bytes).toString("utf8");
  for (let i = choices.pick([0, 0, 1, 2]); i >= 0; i--) {
    const pairs = [...text.matchAll(PAIR)];
    const tokens = [...text.matchAll(VALUE)];
    if (tokens.length === 0) break;
    if (pairs.length > 0 && choices.below(6) === 0) {
      const [{ 0: pair }, { index }] = [choices.pick(pairs), choices.pick(pairs)];
      choices.done.push(`${pair.slice(0, 40)} again at ${index}`);
      text = `${text.slice(0, index)}${pair}, ${text.slice(index)}`;
      continue;
    }
    const { 0: word, index } = choices.pick(tokens);
    const alike = tokens.map((token) => token[0]).filter((other) => kindOf(other) === kindOf(word));
    const made = fittingWord(choices, word, alike);
    choices.done.push(`${word.slice(0, 30)} at ${index} becomes ${made.slice(0, 30)}`);
    text = text.slice(0, index) + made + text.slice(index + word.length);
  }
  return Buffer.from(text);
}

/** Text with some of its words replaced, doubled, left out or traded. */
function damagedText(bytes: Uint8Array, choices: Choices): Uint8Array {
  if (choices.below(2) === 0) return gentleText(bytes, choices);
  let text = Buffer.from(bytes).toString("utf8");
  for (let i = choices.pick([0, 0, 0, 1, 2]); i >= 0; i--) {
    const tokens = [...text.matchAll(choices.below(4) === 0 ? TOKEN : VALUE)];
    if (tokens.length === 0) break;
    const { 0: word, index } = choices.pick(tokens);
    const other = choices.pick(tokens)[0];
    const hostile = otherText(choices, bytes.length);
    const made = choices.pick([hostile, hostile, other, other, "", `${word},${word}`, `${word}:${word}`]);
    choices.done.push(`${word.slice(0, 30)} at ${index} becomes ${made.slice(0, 30)}`);
    text = text.slice(0, index) + made + text.slice(index + word.length);
  }
  return Buffer.from(text);
}

type Damage = (bytes: Buffer, choices: Choices, other: Uint8Array) => Uint8Array;

const filled: Damage = (bytes, choices) => {
  const start = choices.below(bytes.length);
  const end = Math.min(bytes.length, start + 1 + choices.below(32));
  const value = choices.pick([0, 255, -1]);
  for (let at = start; at < end; at++) bytes[at] = value === -1 ? choices.below(256) : value;
  choices.done.push(`bytes ${start} to ${end} become ${value === -1 ? "random" : value}`);
  return bytes;
};

const field: Damage = (bytes, choices) => {
  const width = choices.pick([1, 2, 4, 8].filter((n) => n <= bytes.length));
  // Fields mostly lie at multiples of their size, and near the ends.
  const near = choices.below(2) === 0 ? Math.min(bytes.length, 64) : bytes.length;
  let at = choices.below(near - width + 1);
  if (choices.below(4) === 0) at = bytes.length - width - choices.below(Math.min(64, bytes.length - width + 1));
  const value = choices.pick(hostileNumbers(bytes.length));
  const wide = Buffer.alloc(8);
  wide.writeBigInt64LE(value);
  wide.copy(bytes, at, 0, width);
  choices.done.push(`the ${width} bytes at ${at} become ${value}`);
  return bytes;
};

const flips: Damage = (bytes, choices) => {
  for (let i = choices.pick([0, 0, 1, 5]); i >= 0; i--) {
    const at = choices.below(bytes.length);
    bytes[at] = (bytes[at] as number) ^ (1 << choices.below(8));
    choices.done.push(`a bit at ${at}`);
  }
  return bytes;
};

const cut: Damage = (bytes, choices) => {
  const at =
    choices.below(3) === 0 ? choices.pick([0, 1, 4, 8, 16, 32, 64, bytes.length - 1]) : choices.below(bytes.length);
  choices.done.push(`cut at ${at}`);
  return bytes.subarray(0, Math.max(0, at));
};

const inserted: Damage = (bytes, choices) => {
  const at = choices.below(bytes.length + 1);
  const from = choices.below(bytes.length);
  const more = bytes.subarray(from, from + 1 + choices.below(64));
  choices.done.push(`${more.length} bytes from ${from} again at ${at}`);
  return Buffer.concat([bytes.subarray(0, at), more, bytes.subarray(at)]);
};

const removed: Damage = (bytes, choices) => {
  const at = choices.below(bytes.length);
  const length = 1 + choices.below(16);
  choices.done.push(`${length} bytes at ${at} are gone`);
  return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)]);
};

const spliced: Damage = (bytes, choices, other) => {
  const at = choices.below(bytes.length);
  const from = choices.below(other.length);
  choices.done.push(`another file's bytes from ${from} on at ${at}`);
  return Buffer.concat([bytes.subarray(0, at), other.subarray(from)]);
};

const KINDS: readonly Damage[] = [filled, field, field, field, flips, flips, cut, inserted, removed, spliced];

/** Bytes with one to three kinds of damage. */
function damagedBytes(bytes: Uint8Array, choices: Choices, other: Uint8Array): Uint8Array {
  let result: Uint8Array = bytes;
  for (let i = choices.pick([0, 0, 0, 1, 2]); i >= 0; i--) {
    if (result.length === 0) break;
    result = choices.pick(KINDS)(Buffer.from(result), choices, other);
  }
  return result;
}

function isText(bytes: Uint8Array): boolean {
  return bytes.length > 0 && bytes.every((byte) => byte === 10 || (byte >= 32 && byte !== 127));
}

function damagedPart(bytes: Uint8Array, choices: Choices, other: Uint8Array, name = ""): Uint8Array {
  if (/\.(pkl|pickle)$/.test(name) && choices.below(4) > 0) return damagedPickle(bytes, choices);
  if (isText(bytes) && choices.below(4) > 0) return damagedText(bytes, choices);
  return damagedBytes(bytes, choices, other);
}

/** Megabytes of zeros that a bomb unpacks to. */
const BOMB = Buffer.alloc(48 * 2 ** 20);

function damagedZip(parts: ZipPart[], choices: Choices, other: Uint8Array): ZipPart[] {
  const described = parts.filter(({ name, content }) => /\.(pkl|pickle|json)$/.test(name) && content.length > 0);
  const part = choices.pick(described.length > 0 && choices.below(3) > 0 ? described : parts);
  const kind = choices.below(12);
  if (kind < 8) {
    choices.done.push(`in ${part.name}`);
    part.content = damagedPart(part.content, choices, other, part.name);
    if (kind === 0) part.deflate = !part.deflate;
  } else if (kind === 8) {
    part.name = choices.pick([...TRICKS, ...NAMES, choices.pick(parts).name, `${part.name}/`, "x/".repeat(5000)]);
    choices.done.push(`an entry is named ${part.name.slice(0, 30)}`);
  } else if (kind === 9) {
    part.claimed = Number(BigInt.asUintN(32, choices.pick(hostileNumbers(part.content.length))));
    part.deflate = choices.below(3) > 0;
    choices.done.push(`${part.name} claims ${part.claimed} bytes`);
  } else if (kind === 10 && choices.below(8) === 0) {
    if (choices.below(2) === 0) part.claimed = part.content.length;
    part.content = BOMB;
    part.deflate = true;
    choices.done.push(`${part.name} is a bomb`);
  } else {
    parts.splice(choices.below(parts.length), 1);
    choices.done.push("an entry is gone");
  }
  return parts;
}

/** A file with damage: to its bytes as they are, or to a part, with the format's lengths and checksums made to fit. */
export function damagedFile(container: Container, bytes: Uint8Array, choices: Choices, other: Uint8Array): Uint8Array {
  const pack = { none: null, zip: null, pickle: null, length: packWithLength, tail: packTail, npy: packNpy }[container];
  if (choices.below(4) === 0) return damagedBytes(bytes, choices, other);
  if (container === "zip") return packZip(bytes, (parts) => damagedZip(parts, choices, other));
  if (container === "pickle" && choices.below(4) > 0) return damagedPickle(bytes, choices);
  if (pack === null) return damagedPart(bytes, choices, other);
  const onlyData = choices.below(8) === 0;
  const header = (part: Uint8Array) => (onlyData ? part : damagedPart(part, choices, other));
  const data = (part: Uint8Array) => (onlyData && part.length > 0 ? flips(Buffer.from(part), choices, other) : part);
  return pack(bytes, header, data);
}

/** What a name in a directory may be instead of a file with bytes. */
export type Odd = { link: string } | "directory" | "missing";

/** A directory with damage: to the bytes of a file, or to what is there under a name. */
export function damagedDirectory(files: Files, choices: Choices, other: Files): Map<string, Uint8Array | Odd> {
  const result: Map<string, Uint8Array | Odd> = new Map(files);
  const names = [...files.keys()];
  const texts = names.filter((name) => isText(files.get(name) as Uint8Array));
  const name = choices.pick(choices.below(3) > 0 && texts.length > 0 ? texts : names);
  const foreign = choices.pick([...other.values()]) ?? new Uint8Array(1);
  choices.done.push(`in ${name}`);
  const kind = choices.below(12);
  if (kind < 9) {
    result.set(name, damagedPart(files.get(name) as Uint8Array, choices, foreign, name));
  } else if (kind === 9) {
    const targets = ["/dev/zero", "/dev/full", "../outside/pipe", "../outside/secret", "..", name, "/nowhere"];
    result.set(name, { link: choices.pick(targets) });
    choices.done.push(`a link ${JSON.stringify(result.get(name))}`);
  } else if (kind === 10) {
    result.set(name, choices.pick(["directory", "missing"] as const));
    choices.done.push(String(result.get(name)));
  } else {
    result.set(name, foreign);
    choices.done.push("another file's bytes");
  }
  return result;
}

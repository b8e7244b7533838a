// What the words of a file mean: decimals as numbers, times in one unit, texts, UUIDs.
import { FormatError } from "../base/errors.ts";

const EXACT_POWERS = Array.from({ length: 23 }, (_, i) => 10 ** i);

/** A whole number divided by a power of ten, as the float64 that is nearest. */
export function decimalNumber(digits: bigint | number, scale: number): number {
  const near = Number(digits);
  // Both are exact, so that the quotient is rounded once.
  if (Number.isSafeInteger(near) && scale >= 0 && scale < EXACT_POWERS.length) {
    return near / (EXACT_POWERS[scale] as number);
  }
  return Number(`${digits}e${-scale}`);
}

/** Words of 32 bits, the lowest first, as one number with a sign. */
export function wideNumber(words: Uint32Array, at: number, count: number): bigint {
  let value = BigInt((words[at + count - 1] as number) | 0);
  for (let i = count - 2; i >= 0; i--) value = (value << 32n) | BigInt(words[at + i] as number);
  return value;
}

/** Nanoseconds of a unit: 0 seconds, 1 milliseconds, 2 microseconds, 3 nanoseconds. */
const FACTORS = [1_000_000_000n, 1_000_000n, 1000n, 1n] as const;
const UNITS = ["seconds", "milliseconds", "microseconds", "nanoseconds"] as const;

/** Times as int64 nanoseconds; what is in rows without one is no matter. @throws FormatError for one too far away */
export function nanoseconds(
  times: ArrayLike<bigint | number>,
  rows: number,
  unit: number,
  path?: string,
  valid?: (row: number) => boolean,
): BigInt64Array {
  const factor = FACTORS[unit] as bigint;
  if (factor === 1n && times instanceof BigInt64Array) return times.length === rows ? times : times.subarray(0, rows);
  const out = new BigInt64Array(rows);
  for (let i = 0; i < rows; i++) {
    const exact = BigInt(times[i] as bigint | number) * factor;
    out[i] = exact;
    if (out[i] !== exact && valid?.(i) !== false) {
      throw new FormatError(`the time of ${times[i]} ${UNITS[unit]} does not fit int64 nanoseconds`, path);
    }
  }
  return out;
}

/** A moment, by its distance from 1970. @throws FormatError for one that no date is */
export function dateOf(distance: bigint | number, unit: number, path?: string): Date {
  const near = Number(distance);
  let ms = near * 1000;
  if (unit > 0) ms = near;
  if (unit > 1)
    ms = Math.floor(Number.isSafeInteger(near) ? near / (unit === 2 ? 1000 : 1e6) : quotient(distance, unit));
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) throw new FormatError(`${distance} ${UNITS[unit]} from 1970 on are no date`, path);
  return date;
}

function quotient(distance: bigint | number, unit: number): number {
  const by = unit === 2 ? 1000n : 1_000_000n;
  const exact = BigInt(distance);
  const whole = exact / by;
  return Number(exact < 0n && whole * by !== exact ? whole - 1n : whole);
}

/** What pandas has where there is no time. */
export const NO_TIME = -(2n ** 63n);

/** Midnight of a day, counted from 1970 on. */
export function dayOf(days: number, path?: string): Date {
  const date = new Date(days * 86_400_000);
  if (Number.isNaN(date.getTime())) throw new FormatError(`${days} days from 1970 on are no date`, path);
  return date;
}

/** A whole number as programs have it: a bigint only where a number would lose digits. */
export function wholeNumber(value: bigint): number | bigint {
  const near = Number(value);
  return Number.isSafeInteger(near) ? near : value;
}

/** 16 bytes as the text of a UUID. */
export function uuidText(bytes: Uint8Array): string {
  const hex = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The number of 16 bits that a float16 is. */
export function halfNumber(bits: number): number {
  const [exponent, fraction] = [(bits >> 10) & 31, bits & 1023];
  const size =
    exponent === 31
      ? fraction === 0
        ? Number.POSITIVE_INFINITY
        : Number.NaN
      : exponent === 0
        ? fraction * 2 ** -24
        : (1 + fraction / 1024) * 2 ** (exponent - 15);
  return bits >> 15 === 0 ? size : -size;
}

/** Texts among bytes. */
export class Texts {
  private readonly buffer: Buffer;
  private readonly decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

  constructor(
    private readonly bytes: Uint8Array,
    private readonly path?: string,
  ) {
    this.buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** @throws FormatError for bytes that are no UTF-8 */
  at(from: number, to: number): string {
    const text = this.buffer.toString("utf8", from, to);
    // The short way puts a mark in place of what is no UTF-8, and texts may have that mark.
    if (text.includes("\ufffd")) {
      try {
        this.decoder.decode(this.bytes.subarray(from, to));
      } catch (error) {
        throw new FormatError("it has a text that is not UTF-8", this.path, error);
      }
    }
    return text;
  }
}

/** A copy of some bytes, as a plain array, of Node's buffers too. */
export function bytesAt(bytes: Uint8Array, from: number, to: number): Uint8Array {
  return new Uint8Array(bytes.subarray(from, to));
}

/** Objects of named values, one a row; null where there is none. */
export function objectsOf(
  names: readonly string[],
  lists: readonly (readonly unknown[])[],
  rows: number,
  valid: (row: number) => boolean,
): unknown[] {
  const plain = !names.includes("__proto__");
  return Array.from({ length: rows }, (_, i) => {
    if (!valid(i)) return null;
    if (!plain) return Object.fromEntries(names.map((name, k) => [name, (lists[k] as readonly unknown[])[i]]));
    const made: Record<string, unknown> = {};
    for (let k = 0; k < names.length; k++) made[names[k] as string] = (lists[k] as readonly unknown[])[i];
    return made;
  });
}

/** A map: an object by texts or numbers, pairs by anything else. @throws FormatError for a key that is there twice */
export function mapOf(
  keys: readonly unknown[],
  values: readonly unknown[],
  from: number,
  to: number,
  path?: string,
): unknown {
  const pairs: [unknown, unknown][] = [];
  const seen = new Set<unknown>();
  let named = true;
  for (let i = from; i < to; i++) {
    const key = keys[i];
    named &&= typeof key === "string" || typeof key === "number" || typeof key === "bigint";
    pairs.push([named ? String(key) : key, values[i]]);
    if (named && seen.size === seen.add(String(key)).size) {
      throw new FormatError(`a map has the key ${JSON.stringify(String(key))} twice`, path);
    }
  }
  return named ? Object.fromEntries(pairs) : pairs.map(([, value], i) => [keys[from + i], value]);
}

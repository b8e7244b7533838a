/** The text of tensors, as torch prints it. */

import * as texts from "../../generated/texts.ts";
import { clone, onCpu } from "../dispatch/copy.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { type BatchedStorage, batchOf } from "../tensor/batched.ts";
import { checkCall, inOrder } from "../tensor/checks.ts";
import { bool, type DType, defaultComplex, getDefaultDtype, int64 } from "../tensor/dtype.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { CONJ, NEG, type Tensor } from "../tensor/tensor.ts";
import { readNumbers, readWord } from "../tensor/values.ts";
import { fixed, scientific } from "./number-text.ts";
import { flatWords } from "./values.ts";

/** How tensors are printed. */
export interface PrintOptions {
  /** Digits after the point. */
  precision: number;
  /** Tensors with more elements are abbreviated. */
  threshold: number;
  /** Elements shown at each end of an abbreviated dimension. */
  edgeitems: number;
  /** Characters in a line. */
  linewidth: number;
  /** Scientific notation: always, never, or when the numbers need it (null). */
  sciMode: boolean | null;
}

/** What `setPrintoptions` takes: named sizes, then single options over them. */
export type PrintSettings = Partial<PrintOptions> & { profile?: "default" | "short" | "full" };

const PROFILES = {
  default: { precision: 4, threshold: 1000, edgeitems: 3, linewidth: 80 },
  short: { precision: 2, threshold: 1000, edgeitems: 2, linewidth: 80 },
  full: { precision: 4, threshold: Number.POSITIVE_INFINITY, edgeitems: 3, linewidth: 80 },
} as const;

const current: PrintOptions = { ...PROFILES.default, sciMode: null };

/**
 * Sets how tensors are printed. Every call sets `sciMode` anew: to what is given, else to null.
 * @throws TypeError for an unknown option, ValueError for a value that is no count
 * @example
 * ```ts
 * setPrintoptions({ precision: 2 });
 * const text = String(tensor([1 / 3]));
 * setPrintoptions({ profile: "default" });
 * text // tensor([0.33])
 * ```
 * @torch torch.set_printoptions
 */
export function setPrintoptions(settings: PrintSettings = {}): void {
  [settings = {}] = inOrder<[PrintSettings?]>("setPrintoptions", FUNCTIONS.setPrintoptions, arguments);
  const given = settings as Record<string, unknown>;
  if (settings.profile !== undefined && !(settings.profile in PROFILES)) {
    throw texts.unknownPrintProfile(undefined, settings.profile);
  }
  const next = { ...current, ...(settings.profile === undefined ? {} : PROFILES[settings.profile]) };
  for (const key of ["precision", "threshold", "edgeitems", "linewidth"] as const) {
    const value = settings[key];
    if (value === undefined) continue;
    const count = Number.isInteger(value) && value >= 0;
    if (!count && !(key === "threshold" && value === Number.POSITIVE_INFINITY)) {
      throw texts.printOptionNotACount(undefined, key, value);
    }
    next[key] = value;
  }
  if (next.precision > 64) throw texts.printPrecisionTooLarge(undefined);
  Object.assign(current, next);
  current.sciMode = (given.sciMode ?? given.sci_mode ?? null) as boolean | null;
}

/**
 * A copy of the print options.
 * @example
 * ```ts
 * getPrintoptions().precision // 4
 * ```
 * @torch torch.get_printoptions
 */
export function getPrintoptions(): PrintOptions {
  checkCall("getPrintoptions", FUNCTIONS.getPrintoptions, arguments);
  return { ...current };
}

/** One way to write all elements of a tensor. */
class Formatter {
  readonly floating: boolean;
  intMode = true;
  sciMode = false;
  width = 1;

  constructor(values: readonly Element[], floating: boolean) {
    this.floating = floating;
    if (floating) this.measure(values as readonly number[]);
    else for (const v of values) this.width = Math.max(this.width, wordText(v).length);
  }

  /** Zeros, infinities and NaN decide nothing. */
  private measure(values: readonly number[]): void {
    let least = Number.POSITIVE_INFINITY;
    let most = 0;
    for (const v of values) {
      if (v === 0 || !Number.isFinite(v)) continue;
      const a = Math.abs(v);
      if (a < least) least = a;
      if (a > most) most = a;
      if (this.intMode && !Number.isInteger(v)) this.intMode = false;
    }
    if (most === 0) return;
    this.sciMode = current.sciMode ?? (most / least > 1000 || most > 1e8 || least < 1e-4);
    for (const v of values) {
      if (v === 0 || !Number.isFinite(v)) continue;
      const text = this.sciMode ? scientific(v, current.precision) : this.plainText(v);
      if (text.length > this.width) this.width = text.length;
    }
  }

  private plainText(v: number): string {
    if (!this.intMode) return fixed(v, current.precision);
    return Number.isFinite(v) ? `${fixed(v, 0)}.` : fixed(v, 0);
  }

  format(v: Element): string {
    const text = !this.floating
      ? wordText(v)
      : this.sciMode
        ? scientific(v as number, current.precision)
        : this.plainText(v as number);
    return text.padStart(this.width);
  }
}

/** What a formatter writes: doubles, exact integers, bools. */
type Element = number | bigint | boolean;

const wordText = (v: Element): string => (typeof v === "boolean" ? (v ? "True" : "False") : String(v));

/** Reads elements by their position in memory, whatever the layout. */
class Reader {
  readonly t: Tensor;
  readonly parts: number;
  private readonly dense: boolean;
  private readonly all: Float64Array | null;
  private readonly words: BigInt64Array | BigUint64Array | null;

  constructor(source: Tensor, whole: boolean) {
    const resolve = whole && !(source._contiguous && source._bits === 0);
    const t = resolve ? clone(source, contiguousFormat) : source;
    this.t = t;
    this.parts = t.dtype.category === 3 ? 2 : 1;
    this.dense = whole;
    const d = t.dtype;
    const wide = d.category === 1 && d.itemsize === 8;
    this.words = whole && wide ? flatWords(t) : null;
    this.all =
      whole && !wide ? readNumbers(t._address(), d.id, t._numel, this.parts).slice(0, t._numel * this.parts) : null;
  }

  /** Part 0 (real) or 1 (imaginary) of the element at an offset from element 0. */
  at(offset: number, part: number): Element {
    const d = this.t.dtype;
    if (this.dense)
      return asElement(d, (this.words ?? (this.all as Float64Array))[offset * this.parts + part] as number);
    const address = this.t._address() + offset * d.itemsize;
    if (d.category === 1 && d.itemsize === 8) return readWord(address, d.isSigned);
    const x = readNumbers(address, d.id, 1, this.parts)[part] as number;
    const flip = ((this.t._bits & NEG) !== 0) !== (part === 1 && (this.t._bits & CONJ) !== 0);
    return asElement(d, flip ? -x : x);
  }
}

function asElement(d: DType, x: number | bigint): Element {
  return d.category === 0 ? x !== 0 : x;
}

/** Positions shown of a dimension: all, or both ends. */
function shown(size: number, summarize: boolean): number[] {
  const e = current.edgeitems;
  if (!summarize || size <= 2 * e) return Array.from({ length: size }, (_, i) => i);
  return Array.from({ length: 2 * e }, (_, i) => (i < e ? i : size - 2 * e + i));
}

/** Writes one tensor's elements in brackets. */
class Writer {
  private readonly reader: Reader;
  private readonly summarize: boolean;
  private readonly real: Formatter;
  private readonly imaginary: Formatter | null;
  private readonly shape: readonly number[];
  private readonly strides: readonly number[];

  constructor(given: Tensor) {
    const t = onCpu(given);
    this.summarize = t._numel > current.threshold;
    this.reader = new Reader(t, !this.summarize);
    this.shape = this.reader.t._shape;
    this.strides = this.reader.t._strides;
    const floating = t.dtype.category >= 2;
    this.real = new Formatter(this.sample(0), floating);
    this.imaginary = t.dtype.category === 3 ? new Formatter(this.sample(1), true) : null;
  }

  /** The elements that will be shown. */
  private sample(part: number): Element[] {
    const out: Element[] = [];
    if (this.summarize && current.edgeitems === 0 && this.shape.length > 1) return out;
    const walk = (dim: number, offset: number): void => {
      if (dim === this.shape.length) {
        out.push(this.reader.at(offset, part));
        return;
      }
      for (const i of shown(this.shape[dim] as number, this.summarize)) {
        walk(dim + 1, offset + i * (this.strides[dim] as number));
      }
    };
    walk(0, 0);
    return out;
  }

  private element(offset: number): string {
    const re = this.real.format(this.reader.at(offset, 0));
    if (this.imaginary === null) return re;
    const im = `${this.imaginary.format(this.reader.at(offset, 1))}j`.trimStart();
    return /^[+-]/.test(im) ? re + im : `${re}+${im}`;
  }

  write(dim: number, offset: number, indent: number): string {
    const left = this.shape.length - dim;
    if (left === 0) return this.element(offset);
    if (left === 1) return this.row(dim, offset, indent);
    const size = this.shape[dim] as number;
    const positions = shown(size, this.summarize);
    const parts = positions.map((i) => this.write(dim + 1, offset + i * (this.strides[dim] as number), indent + 1));
    if (positions.length < size) parts.splice(current.edgeitems, 0, "...");
    return `[${parts.join(`,${"\n".repeat(left - 1)}${" ".repeat(indent + 1)}`)}]`;
  }

  private row(dim: number, offset: number, indent: number): string {
    const width = this.real.width + 2 + (this.imaginary === null ? 0 : this.imaginary.width + 1);
    const perLine = Math.max(1, Math.floor((current.linewidth - indent) / width));
    const size = this.shape[dim] as number;
    const positions = shown(size, this.summarize);
    const items = positions.map((i) => this.element(offset + i * (this.strides[dim] as number)));
    if (this.summarize && current.edgeitems === 0) items.splice(0, items.length, "...");
    else if (positions.length < size) items.splice(current.edgeitems, 0, " ...");
    const lines: string[] = [];
    for (let i = 0; i < items.length; i += perLine) lines.push(items.slice(i, i + perLine).join(", "));
    return `[${lines.join(`,\n${" ".repeat(indent + 1)}`)}]`;
  }
}

/** The elements of a tensor in brackets, lines after the first indented. */
export function elementsText(t: Tensor, indent: number): string {
  return t._numel === 0 ? "[]" : new Writer(t).write(0, 0, indent);
}

/** Python's text of a tuple of sizes. */
export function tupleText(sizes: ArrayLike<number>): string {
  const list = Array.prototype.join.call(sizes, ", ");
  return sizes.length === 1 ? `(${list},)` : `(${list})`;
}

/** What follows the elements: device, size, dtype, gradient. */
function suffixes(t: Tensor): string[] {
  const d = t.dtype;
  const out: string[] = [];
  if (t.device.type !== "cpu") out.push(`device='${t.device}'`);
  if (t.isMeta) {
    out.push(`size=${tupleText(t._shape)}`);
    if (d !== getDefaultDtype()) out.push(`dtype=${d}`);
  } else if (t._numel === 0) {
    if (t._shape.length !== 1) out.push(`size=${tupleText(t._shape)}`);
    if (d !== getDefaultDtype()) out.push(`dtype=${d}`);
  } else {
    if (current.edgeitems === 0) out.push(`size=${tupleText(t._shape)}`);
    if (d !== getDefaultDtype() && d !== defaultComplex() && d !== int64 && d !== bool) out.push(`dtype=${d}`);
  }
  const gradFn = gradFnText(t);
  if (gradFn !== null) out.push(`grad_fn=<${gradFn}>`);
  else if (t.requiresGrad) out.push("requires_grad=True");
  return out;
}

/** The node's name; a view that may not be asked for its node is "Invalid". */
function gradFnText(t: Tensor): string | null {
  try {
    const name = t.gradFn?.name;
    return name === undefined ? null : (name.split("::").pop() as string);
  } catch (e) {
    if (e instanceof RuntimeError) return "Invalid";
    throw e;
  }
}

/** The text of a tensor; subclasses give their own prefix. @torch torch.Tensor.__repr__ */
export function repr(t: Tensor, prefix = "tensor("): string {
  const batch = batchOf(t);
  if (batch !== null) return batchText(batch);
  const indent = prefix.length;
  let text = prefix + (t.isMeta ? "..." : elementsText(t, indent));
  let last = text.length - text.lastIndexOf("\n") + 1;
  for (const suffix of suffixes(t)) {
    if (last + suffix.length + 2 > current.linewidth) {
      text += `,\n${" ".repeat(indent)}${suffix}`;
      last = indent + suffix.length;
    } else {
      text += `, ${suffix}`;
      last += suffix.length + 2;
    }
  }
  return `${text})`;
}

/** One example of many prints all of them. */
function batchText(batch: BatchedStorage): string {
  const value = repr(batch.value).replaceAll("\n", "\n    ");
  return `BatchedTensor(lvl=${batch.owner.depth}, bdim=${batch.dim}, value=\n    ${value}\n)`;
}

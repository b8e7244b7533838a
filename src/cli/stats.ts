// `zensor stats`: what the numbers of each tensor are like. Elements are read once, piece by piece.
import { scope } from "../api/scope.ts";
import type { DType } from "../tensor/dtype.ts";
import { Tensor } from "../tensor/tensor.ts";
import { color } from "./colors.ts";
import { FORMATS, type FormatName } from "./formats.ts";
import { tensorsIn } from "./inspect.ts";
import { keysOption } from "./keys.ts";
import { pause } from "./lifetime.ts";
import { say } from "./output.ts";
import { integersOf, numbersOf, numberText, pieces } from "./pieces.ts";
import { openSource, type TrustOptions } from "./source.ts";
import { counted, nameText, printable, table } from "./text.ts";

/** Options of the command. */
export interface StatsOptions extends TrustOptions {
  from?: string;
  keys?: string[];
  json?: boolean;
}

/** A complex number, real and imaginary. */
type Complex = readonly [number, number];

/** What is said of a tensor. Least, greatest, mean and deviation are of the finite elements; null without such. */
export interface Statistics {
  count: number;
  min: number | bigint | null;
  max: number | bigint | null;
  mean: number | Complex | null;
  /** The standard deviation, with n - 1 as torch has it; null for fewer than two elements. */
  std: number | null;
  nan: number;
  inf: number;
  zero: number;
}

/** Numbers and squares of how far they are from their mean, put together part by part. */
class Moments {
  n = 0;
  mean = 0;
  private squares = 0;

  add(n: number, mean: number, squares: number): void {
    if (n === 0) return;
    if (this.n === 0) {
      [this.n, this.mean, this.squares] = [n, mean, squares];
      return;
    }
    const total = this.n + n;
    const far = mean - this.mean;
    this.squares += squares + far * far * ((this.n * n) / total);
    this.mean += far * (n / total);
    this.n = total;
  }

  /** The values of a part that are finite. */
  addAll(values: Float64Array): void {
    let [n, sum] = [0, 0];
    for (const value of values) {
      if (!Number.isFinite(value)) continue;
      n++;
      sum += value;
    }
    // The sum of values that are near the largest number may have none.
    const mean = Number.isFinite(sum) ? sum / n : values.reduce((all, x) => all + (Number.isFinite(x) ? x / n : 0), 0);
    let squares = 0;
    for (const value of values) if (Number.isFinite(value)) squares += (value - mean) * (value - mean);
    this.add(n, mean, squares);
  }

  get variance(): number | null {
    return this.n < 2 ? null : this.squares / (this.n - 1);
  }
}

class Counting {
  nan = 0;
  inf = 0;
  zero = 0;
  min: number | bigint | null = null;
  max: number | bigint | null = null;
  readonly real = new Moments();
  readonly imaginary = new Moments();

  private base: bigint | null = null;

  constructor(private readonly dtype: DType) {}

  private bounds(least: number | bigint, greatest: number | bigint): void {
    if (this.min === null || least < this.min) this.min = least;
    if (this.max === null || greatest > this.max) this.max = greatest;
  }

  add(part: Tensor): void {
    const numbers = numbersOf(part);
    if (this.dtype.isComplex) {
      this.complex(numbers);
      return;
    }
    let [least, greatest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const value of numbers) {
      if (value === 0) this.zero++;
      if (Number.isNaN(value)) this.nan++;
      else if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) this.inf++;
      else {
        if (value < least) least = value;
        if (value > greatest) greatest = value;
      }
    }
    if (/^u?int64$/.test(this.dtype.name) && numbers.length > 0) {
      this.whole(numbers, integersOf(part));
      return;
    }
    this.real.addAll(numbers);
    if (least <= greatest) this.bounds(least, greatest);
  }

  /** 64-bit integers have more digits than numbers: large ones are counted from the first. */
  private whole(numbers: Float64Array, values: BigInt64Array | BigUint64Array): void {
    let [least, greatest] = [values[0] as bigint, values[0] as bigint];
    for (const value of values) {
      if (value < least) least = value;
      else if (value > greatest) greatest = value;
    }
    const short = (n: bigint) => (Number.isSafeInteger(Number(n)) ? Number(n) : n);
    this.bounds(short(least), short(greatest));
    this.base ??= Number.isSafeInteger(Number(values[0])) ? 0n : (values[0] as bigint);
    const { base } = this;
    if (base !== 0n) for (let i = 0; i < numbers.length; i++) numbers[i] = Number((values[i] as bigint) - base);
    this.real.addAll(numbers);
  }

  private complex(pairs: Float64Array): void {
    const [real, imaginary] = [new Float64Array(pairs.length / 2), new Float64Array(pairs.length / 2)];
    for (let i = 0; i < real.length; i++) {
      const [re, im] = [pairs[2 * i] as number, pairs[2 * i + 1] as number];
      if (re === 0 && im === 0) this.zero++;
      const isNan = Number.isNaN(re) || Number.isNaN(im);
      const isFinite = Number.isFinite(re) && Number.isFinite(im);
      if (isNan) this.nan++;
      else if (!isFinite) this.inf++;
      [real[i], imaginary[i]] = isFinite ? [re, im] : [Number.NaN, Number.NaN];
    }
    this.real.addAll(real);
    this.imaginary.addAll(imaginary);
  }

  private realMean(): number {
    const { base, real } = this;
    if (base === null || base === 0n) return real.mean;
    const whole = Math.trunc(real.mean);
    return Number(base + BigInt(whole)) + (real.mean - whole);
  }

  result(count: number): Statistics {
    const { min, max, nan, inf, zero, real, imaginary } = this;
    const isComplex = this.dtype.isComplex;
    const mean = real.n === 0 ? null : isComplex ? ([real.mean, imaginary.mean] as const) : this.realMean();
    const variance = real.variance;
    const std = variance === null ? null : Math.sqrt(variance + (isComplex ? (imaginary.variance ?? 0) : 0));
    return { count, min, max, mean, std, nan, inf, zero };
  }
}

/** Reads a tensor; null for one without elements (meta). */
export async function statisticsOf(tensor: Tensor): Promise<Statistics | null> {
  if (tensor.isMeta) return null;
  const counting = new Counting(tensor.dtype);
  for (const piece of pieces(tensor._shape)) {
    await pause();
    // What is made of a piece is as large as it is: it goes with it, whenever the collector comes.
    scope(() => counting.add(piece.of(tensor)));
  }
  return counting.result(tensor.numel());
}

interface Row {
  name: string;
  dtype: string;
  shape: readonly number[];
  statistics: Statistics | null;
}

function meanText(mean: Statistics["mean"]): string {
  if (mean === null) return "-";
  if (typeof mean === "number") return numberText(mean);
  const [re, im] = mean;
  return `${numberText(re)}${im < 0 ? "-" : "+"}${numberText(Math.abs(im))}j`;
}

function print(rows: readonly Row[], format: FormatName): void {
  const text = (value: number | bigint | null) => (value === null ? "-" : numberText(value));
  const cells = rows.map(({ name, dtype, shape, statistics: s }) => {
    const own = [nameText(name), dtype, `[${shape.join(", ")}]`];
    if (s === null) return [...own, ..."-------"];
    const means = [text(s.min), text(s.max), meanText(s.mean), text(s.std)];
    return [...own, ...means, String(s.zero), String(s.nan), String(s.inf)];
  });
  const titles = ["name", "dtype", "shape", "min", "max", "mean", "std", "zero", "nan", "inf"];
  const odd = rows.filter(({ statistics: s }) => s !== null && s.nan + s.inf > 0);
  const lines = table([titles, ...cells], "lllrrrrrrr");
  if (rows.length > 0) say(printable(lines[0] as string));
  for (const [i, row] of rows.entries()) {
    const line = printable(lines[i + 1] as string);
    say(odd.includes(row) ? color("red", line) : line);
  }
  const total = rows.reduce((sum, { statistics }) => sum + (statistics?.count ?? 0), 0);
  const told = odd.length === 0 ? "" : `; NaN or infinite elements in ${odd.length}`;
  say(`${FORMATS[format].title}: ${counted(rows.length, "tensor")}, ${counted(total, "element")}${told}`);
}

/** Prints statistics of the tensors of a file or a directory. */
export async function stats(path: string, options: StatsOptions): Promise<void> {
  const { td, format } = await openSource(path, options, keysOption(options.keys));
  const rows: Row[] = [];
  for (const { name, tensor, shape } of tensorsIn(td)) {
    const statistics = await statisticsOf(tensor instanceof Tensor ? tensor : tensor._values);
    rows.push({ name, dtype: tensor.dtype.name, shape, statistics });
  }
  if (!options.json) return print(rows, format);
  const plain = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);
  const tensors = rows.map(({ statistics, ...row }) => ({ ...row, ...statistics }));
  say(JSON.stringify({ format, tensors }, plain, 2));
}

// How far the elements of two tensors of the same shape are from each other.
import type { Tensor } from "../tensor/tensor.ts";
import { pause } from "./lifetime.ts";
import { bytesOf, indexAt, integersOf, numbersOf, numberText, pieces } from "./pieces.ts";

/** What counts as a difference. */
export interface Tolerance {
  atol: number;
  rtol: number;
  /** Bit by bit: 0 is not -0, and values that are no numbers have to have the same bits. */
  exact: boolean;
}

/** What differs. */
export interface Elements {
  differing: number;
  total: number;
  /** Largest |first - second|, where both are finite; null where no such element differs. */
  maxAbs: number | null;
  /** Largest |first - second| / |second|, where that is not 0. */
  maxRel: number | null;
  /** Where the largest difference is. */
  at: number[] | null;
  /** Elements of which one alone is no number, or infinite. */
  notFinite: number;
}

class Comparing {
  differing = 0;
  notFinite = 0;
  maxAbs = -1;
  maxRel = -1;
  place = -1;

  constructor(private readonly tolerance: Tolerance) {}

  /** Counts a difference of two finite numbers. */
  private count(far: number, size: number, place: number): void {
    this.differing++;
    if (far > this.maxAbs) [this.maxAbs, this.place] = [far, place];
    if (size !== 0 && far / size > this.maxRel) this.maxRel = far / size;
  }

  private odd(place: number): void {
    this.differing++;
    this.notFinite++;
    if (this.place < 0) this.place = place;
  }

  real(x: Float64Array, y: Float64Array, begin: number): void {
    const { atol, rtol } = this.tolerance;
    for (let i = 0; i < x.length; i++) {
      const [a, b] = [x[i] as number, y[i] as number];
      if (a === b || (Number.isNaN(a) && Number.isNaN(b))) continue;
      const far = Math.abs(a - b);
      if (!Number.isFinite(a) || !Number.isFinite(b)) this.odd(begin + i);
      else if (far > atol + rtol * Math.abs(b)) this.count(far, Math.abs(b), begin + i);
    }
  }

  complex(x: Float64Array, y: Float64Array, begin: number): void {
    const { atol, rtol } = this.tolerance;
    const same = (a: number, b: number) => a === b || (Number.isNaN(a) && Number.isNaN(b));
    for (let i = 0; i < x.length; i += 2) {
      const [a, b, c, d] = [x[i], x[i + 1], y[i], y[i + 1]] as [number, number, number, number];
      if (same(a, c) && same(b, d)) continue;
      const [far, size] = [Math.hypot(a - c, b - d), Math.hypot(c, d)];
      if (!Number.isFinite(far)) this.odd(begin + i / 2);
      else if (far > atol + rtol * size) this.count(far, size, begin + i / 2);
    }
  }

  /** 64-bit integers, of which numbers have not all digits. */
  integers(x: ArrayLike<bigint>, y: ArrayLike<bigint>, begin: number): void {
    const { atol, rtol } = this.tolerance;
    for (let i = 0; i < x.length; i++) {
      const [a, b] = [x[i] as bigint, y[i] as bigint];
      if (a === b) continue;
      const [far, size] = [Number(a > b ? a - b : b - a), Math.abs(Number(b))];
      if (far > atol + rtol * size) this.count(far, size, begin + i);
    }
  }

  /** Bits that differ; how far values are is told where they do. */
  bits(a: Tensor, b: Tensor, begin: number): void {
    const [x, y] = [bytesOf(a), bytesOf(b)];
    const { itemsize } = a.dtype;
    const before = this.differing;
    const bits = { differing: 0, first: -1 };
    for (let i = 0; i < x.length; i += itemsize) {
      let k = 0;
      while (k < itemsize && x[i + k] === y[i + k]) k++;
      if (k === itemsize) continue;
      bits.differing++;
      if (bits.first < 0) bits.first = begin + i / itemsize;
    }
    if (bits.differing === 0) return;
    this.values(a, b, begin);
    this.differing = before + bits.differing;
    if (this.place < 0) this.place = bits.first;
  }

  values(a: Tensor, b: Tensor, begin: number): void {
    const isWide = a.dtype === b.dtype && /^u?int64$/.test(a.dtype.name);
    if (isWide) this.integers(integersOf(a), integersOf(b), begin);
    else if (a.dtype.isComplex || b.dtype.isComplex) {
      this.complex(numbersOf(a.to("complex128")), numbersOf(b.to("complex128")), begin);
    } else this.real(numbersOf(a), numbersOf(b), begin);
  }
}

/** Compares the elements; null where none differ by more than the tolerance. */
export async function compareElements(a: Tensor, b: Tensor, tolerance: Tolerance): Promise<Elements | null> {
  const comparing = new Comparing(tolerance);
  const sameDtype = a.dtype === b.dtype;
  for (const piece of pieces(a._shape)) {
    await pause();
    const [x, y] = [piece.of(a), piece.of(b)];
    if (tolerance.exact && sameDtype) comparing.bits(x, y, piece.begin);
    else if (!sameDtype || !x.equal(y)) comparing.values(x, y, piece.begin);
  }
  const { differing, notFinite, maxAbs, maxRel, place } = comparing;
  if (differing === 0) return null;
  return {
    differing,
    total: a.numel(),
    maxAbs: maxAbs < 0 ? null : maxAbs,
    maxRel: maxRel < 0 ? null : maxRel,
    at: place < 0 ? null : indexAt(place, a._shape),
    notFinite,
  };
}

/** What differs, in a line. */
export function elementsText({ differing, total, maxAbs, maxRel, at, notFinite }: Elements): string {
  const place = at === null || at.length === 0 ? "" : ` at [${at.join(", ")}]`;
  const relative = maxRel === null ? "" : `, relative ${numberText(maxRel)}`;
  const far =
    maxAbs === null
      ? place === ""
        ? ""
        : `, the first${place}`
      : `, by at most ${numberText(maxAbs)}${place}${relative}`;
  const odd = notFinite === 0 ? "" : `, ${notFinite} of them NaN or infinite in one alone`;
  return `elements differ: ${differing} of ${total}${far}${odd}`;
}

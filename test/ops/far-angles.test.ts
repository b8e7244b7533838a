// Sines and cosines of far angles that lie as close to multiples of a quarter turn as numbers of their size can, where
// every bit of the reduction counts, beside values that are computed in whole numbers of a thousand and more bits.
import { expect, test } from "bun:test";
import * as z from "../../src/index.ts";

/** Bits behind the point. */
const BITS = 1400n;
const ONE = 1n << BITS;

/** arctan(1 / n), and so pi by Machin's formula. */
function arctanOfOneBy(n: bigint): bigint {
  let sum = 0n;
  let term = ONE / n;
  for (let k = 1n; term !== 0n; k += 2n) {
    sum += k % 4n === 1n ? term / k : -term / k;
    term /= n * n;
  }
  return sum;
}
const QUARTER = (16n * arctanOfOneBy(5n) - 4n * arctanOfOneBy(239n)) / 2n;

/** The sine (first = 1) or cosine (first = 0) of a small angle. */
function series(angle: bigint, first: 0n | 1n): bigint {
  let term = first === 1n ? angle : ONE;
  let sum = 0n;
  for (let k = first; term !== 0n; k += 2n) {
    sum += term;
    term = (-((term * angle) >> BITS) * angle) >> BITS;
    term /= (k + 1n) * (k + 2n);
  }
  return sum;
}

/** A fraction as the nearest number. */
function numberOf(x: bigint): number {
  const size = x < 0n ? -x : x;
  const drop = BigInt(Math.max(0, size.toString(2).length - 64));
  // Sixty-four bits, the last of which stands for all that follow.
  const top = (size >> drop) | (size % (1n << drop) === 0n ? 0n : 1n);
  return (x < 0n ? -1 : 1) * Number(top) * 2 ** Number(drop - BITS);
}

/** Sine and cosine of a whole number. */
function exact(x: bigint): [sin: number, cos: number] {
  const whole = x << BITS;
  const turns = (2n * whole + QUARTER) / (2n * QUARTER);
  const rest = whole - turns * QUARTER;
  const [s, c] = [series(rest, 1n), series(rest, 0n)];
  const [sin, cos] = [
    [s, c],
    [c, -s],
    [-s, -c],
    [-c, s],
  ][Number(turns % 4n)] as [bigint, bigint];
  return [numberOf(sin), numberOf(cos)];
}

/** The number of 53 bits times 2^e that lies closest to a multiple of a quarter turn, by continued fractions. */
function closest(e: bigint): bigint {
  let [a, b] = [QUARTER, ONE << e];
  let [m, before] = [1n, 0n];
  while (b !== 0n) {
    const next = (a / b) * m + before;
    if (next >= 1n << 53n) break;
    [before, m] = [m, next];
    [a, b] = [b, a % b];
  }
  return m << e;
}

const unit = (x: number): number => 2 ** (Math.floor(Math.log2(Math.abs(x))) - 52);

test("far angles beside multiples of a quarter turn", () => {
  const angles = Array.from({ length: 94 }, (_, i) => closest(BigInt(20 + 10 * i + (i % 7))));
  const wanted = angles.map(exact);
  // The one that is closest of all to a multiple.
  angles.push(6381956970095103n << 797n);
  wanted.push(exact(angles.at(-1) as bigint));
  expect(wanted.at(-1)?.[1]).toBe(-4.687165924254628e-19);
  const x = angles.map(Number);
  for (const sign of [1, -1]) {
    const t = z.tensor(
      x.map((one) => sign * one),
      { dtype: "float64" },
    );
    const found = [t.sin(), t.cos()].map((one) => one.typedArray() as Float64Array);
    const bad: string[] = [];
    for (const [i, [sin, cos]] of wanted.entries()) {
      for (const [k, right] of [sign * sin, cos].entries()) {
        const far = Math.abs(((found[k]?.[i] as number) - right) / unit(right));
        if (!(far <= 1))
          bad.push(`${["sin", "cos"][k]}(${sign * (x[i] as number)}): ${found[k]?.[i]}, not ${right}, ${far} units`);
      }
    }
    expect(bad).toEqual([]);
  }
});

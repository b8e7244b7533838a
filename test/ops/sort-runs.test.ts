// Long lines are put in order by the first digits of their keys, then each run of keys that share those by itself:
// keys that share many digits, some far away from all others, and such runs within runs.
import { describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";

const LENGTHS = [65, 300, 1000, 8191, 8192, 20000];
const DTYPES = ["float64", "int64", "float32", "int32", "int16", "uint8", "bfloat16"] as const;

/** Numbers whose keys are hard: of element i, with a source of numbers in [0, 1). */
const KEYS: Record<string, (i: number, random: () => number) => number> = {
  normal: (_, random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(6.28 * random()),
  "all in a small range, one far away": (i, random) => (i === 17 ? -1e9 : 1e6 + Math.floor(1000 * random()) / 1024),
  "few groups of many digits": (_, random) => Math.floor(3 * random()) * 2 ** 30 + Math.floor(2 ** 24 * random()),
  "groups of groups": (_, random) =>
    Math.floor(4 * random()) * 2 ** 40 + Math.floor(4 * random()) * 2 ** 20 + Math.floor(2 ** 12 * random()) / 2 ** 10,
  "runs of every length": (i) => 2 ** 35 * Math.floor(Math.sqrt(i)) + ((i * 7919) % 101),
  "sorted but for the last": (i) => (i % 64 === 63 ? i - 40 : i),
  "NaN and zeros of both signs": (_, random) => [NaN, 0, -0, Infinity, -Infinity, random()][Math.floor(6 * random())]!,
};

function source(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

/** As PyTorch orders them: NaN is the greatest. */
const compare = (a: number, b: number): number =>
  Number.isNaN(a) ? (Number.isNaN(b) ? 0 : 1) : Number.isNaN(b) ? -1 : a < b ? -1 : a > b ? 1 : 0;

describe.each(DTYPES)("lines of %s", (dtype) => {
  const integers = !dtype.includes("float");

  test.each(Object.keys(KEYS).filter((name) => !integers || !name.startsWith("NaN")))("%s", (name) => {
    for (const n of LENGTHS) {
      const random = source(n);
      const key = KEYS[name] as (typeof KEYS)[string];
      const x = z
        .tensor(
          Array.from({ length: n }, (_, i) => key(i, random)),
          { dtype: "float64" },
        )
        .to(dtype);
      const values = x.tolist() as (number | bigint)[];
      const numbers = values.map(Number);
      for (const descending of [false, true]) {
        const turn = descending ? -1 : 1;
        const order = numbers.map((_, i) => i).sort((a, b) => turn * compare(numbers[a]!, numbers[b]!) || a - b);
        const [sorted, at] = z.sort(x, { descending, stable: true });
        expect(at.tolist()).toEqual(order);
        expect(sorted.tolist()).toEqual(order.map((i) => values[i]));
      }
    }
  });
});

// Sampled rows of the kernel fixtures store a few values and weighted sums: what is wrong elsewhere shows as well.
import { describe, expect, test } from "bun:test";
import { readKernelFixtures } from "../ops/kernel-fixtures.ts";
import { runForm } from "../ops/kernel-run.ts";
import { allowanceAt, compareSamples, sampledPositions } from "../ops/kernel-samples.ts";
import type { Row } from "../ops/kernel-types.ts";
import { Adapter } from "./adapter.ts";
import type { Code } from "./case-types.ts";
import { isComplexCode, readElements } from "./elements.ts";

const { ops, rows } = readKernelFixtures();
const adapter = await Adapter.load();

interface Sampled {
  row: Row;
  i: number;
  code: Code;
  values: Float64Array;
  /** Components that are not sampled, in ascending order. */
  unseen: number[];
}

function unsampled(values: Float64Array, code: Code): number[] {
  const width = isComplexCode(code) ? 2 : 1;
  const seen = new Set(sampledPositions(values.length / width));
  return Array.from(values.keys()).filter((j) => !seen.has(Math.floor(j / width)));
}

const results: Sampled[] = rows
  .filter((row) => row.w !== undefined)
  .flatMap((row) =>
    runForm(adapter, ops[row.o], row).results.flatMap((t, i) => {
      if ((row.w?.[i] ?? []).length === 0) return [];
      const code = (row.rd as Code[])[i];
      const values = readElements(adapter.snapshot(t)) as Float64Array;
      return [{ row, i, code, values, unseen: unsampled(values, code) }];
    }),
  );

const compare = ({ row, i, code }: Sampled, values: Float64Array) => compareSamples(ops[row.o], row, i, code, values);

type Tampering = (values: Float64Array, unseen: number[]) => void;

function swap(values: Float64Array, a: number, b: number): void {
  const kept = values[a];
  values[a] = values[b];
  values[b] = kept;
}

/** Swaps unseen values that lie `distance` apart, each once. */
const swapApart =
  (distance: number): Tampering =>
  (values, unseen) => {
    const free = new Uint8Array(values.length + distance);
    for (const j of unseen) free[j] = 1;
    for (const j of unseen) {
      if (!free[j] || !free[j + distance]) continue;
      swap(values, j, j + distance);
      free[j + distance] = 0;
    }
  };

const flipEvery =
  (keep: (j: number, k: number) => boolean): Tampering =>
  (values, unseen) => {
    for (const [k, j] of unseen.entries()) if (keep(j, k)) values[j] = -values[j];
  };

const TAMPERINGS: Record<string, Tampering> = {
  "the sign of every value": flipEvery(() => true),
  "the sign of every second value": flipEvery((_, k) => k % 2 === 0),
  "the sign of one lane of eight": flipEvery((j) => j % 8 === 5),
  "the sign of the second half": (values, unseen) => flipEvery((_, k) => k >= unseen.length / 2)(values, unseen),
  "neighbours swapped": swapApart(1),
  "values four apart swapped": swapApart(4),
  "values of one lane swapped": swapApart(16),
  "all values reversed": (values, unseen) => {
    for (let k = 0; k < unseen.length >> 1; k++) swap(values, unseen[k], unseen[unseen.length - 1 - k]);
  },
};

/** Whether a tampered value is further off than a row's tolerance lets a value be: else nothing is wrong. */
function isWrong(s: Sampled, tampered: Float64Array): boolean {
  return s.unseen.some((j) => {
    const off = Math.abs(tampered[j] - s.values[j]);
    return Number.isNaN(off)
      ? Object.is(tampered[j], s.values[j]) === false
      : off > 2 * allowanceAt(ops[s.row.o], s.row, s.code, s.values, j);
  });
}

describe("rows that are sampled", () => {
  test("are many, and right as they are", () => {
    expect(results.length).toBeGreaterThan(1000);
    expect(results.filter((s) => compare(s, s.values) !== null)).toEqual([]);
  });

  for (const [turn, [name, apply]] of Object.entries(TAMPERINGS).entries()) {
    test(`fail with ${name} where no value is sampled`, () => {
      let [wrong, seen] = [0, 0];
      for (const [k, s] of results.entries()) {
        // Long results take their turns: each meets two kinds of tampering.
        if (s.values.length > 5000 && (k + turn) % 4 !== 0) continue;
        const values = s.values.slice();
        apply(values, s.unseen);
        if (!isWrong(s, values)) continue;
        wrong++;
        if (compare(s, values) !== null) seen++;
      }
      console.log(`${name}: ${seen} of ${wrong} tampered results are seen`);
      expect(wrong).toBeGreaterThan(results.length / 3);
      expect(seen / wrong).toBeGreaterThanOrEqual(0.99);
    });
  }
});

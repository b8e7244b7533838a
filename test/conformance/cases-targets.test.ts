// What operators do with targets whose elements lie in one place, or in the place of an operand, as a real PyTorch
// answered (bun run oracle --targets --agreeing): what it refuses is refused with its text. Cases that end in "here"
// are refused here alone: torch writes several values into one place, and which one stays is chance.
import { expect, test } from "bun:test";
import { join } from "node:path";
import schema from "../../generated/ops.json";
import { arange, empty, full, linspace, logspace, ones, randint, zeros } from "../../src/index.ts";
import { loadCaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { failuresOf } from "./programs.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-targets"));
const runner = await Runner.load();
const REPEATED =
  "unsupported operation: more than one element of the written-to tensor refers to a single memory location";
const placeOf = (c: Case): [key: string, kind: string] => c.id.split("/").slice(1, 3) as [string, string];

for (const kind of new Set(set.cases.map((c) => placeOf(c)[1]))) {
  test(`targets: ${kind}`, () => {
    const cases = set.cases.filter((c) => placeOf(c)[1] === kind);
    expect(failuresOf(set, runner, cases)).toEqual([]);
  });
}

/** Their results have one element, they only change what a tensor says of its memory, or torch has no such form. */
const NOTHING_REPEATS = [
  ..."all any bucketize.Scalar dot isin.Scalar_Tensor max mean min prod searchsorted.Scalar sum vdot".split(" "),
  ..."as_strided detach.inplace empty resize resize_as set std.unbiased var.unbiased".split(" "),
];

/** A quotient, whose targets are those of `div`. */
const OF_OTHERS = ["nn.functional.normalize"];

test("every operator with a target has its cases", () => {
  const known = new Set(set.cases.map((c) => placeOf(c).join("/")));
  const missing: string[] = [];
  for (const { key, variants, internal } of schema) {
    if (internal || key.startsWith("_")) continue;
    for (const form of ["out", "inplace"]) {
      const asked =
        (variants as readonly string[]).includes(form) &&
        ![...NOTHING_REPEATS, ...OF_OTHERS].includes(key) &&
        `${key} ${form}` !== "relu out";
      if (asked && !known.has(`${key}/${form} expanded`)) missing.push(`${key} ${form}`);
    }
  }
  expect(missing).toEqual([]);
  expect(set.cases.filter((c) => c.err?.msg.startsWith(REPEATED)).length).toBeGreaterThan(250);
});

test("sequences need a place for each of their elements; one number for all does not", () => {
  for (const dtype of ["float32", "int64", "float16"] as const) {
    const out = () => empty(1, { dtype }).expand(3);
    const calls = [
      () => arange(3, { out: out() }),
      () => arange(0, 6, 2, { out: out() }),
      () => linspace(0, 2, 3, { out: out() }),
      () => logspace(0, 2, 3, { out: out() }),
      () => randint(5, [3], { out: out() }),
    ];
    for (const call of calls) expect(call).toThrow(REPEATED);
    expect(zeros(3, { out: out() }).tolist()).toEqual([0, 0, 0]);
    expect(ones(3, { out: out() }).tolist()).toEqual([1, 1, 1]);
    expect(full([3], 2, { out: out() }).tolist()).toEqual([2, 2, 2]);
  }
});

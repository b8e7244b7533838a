// Runs golden cases of normalizations and attention: layouts, dtypes, gradients, refusals.
import { afterAll, describe, expect } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { testGolden } from "./golden.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-normalization"));
const runner = await Runner.load();

describe("golden cases of normalization", () => {
  const counted = testGolden(set, runner);
  afterAll(() => {
    expect(new Set(set.cases.map(({ op }) => op)).size).toBe(12);
    expect(counted.ran).toBe(set.cases.length);
  });
});

// Runs golden cases of operators on images: convolutions, pooling, padding, resizing, with gradients, in all layouts.
import { afterAll, describe, expect } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { testGolden } from "./golden.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-images"));
const runner = await Runner.load();

describe("golden cases of operators on images", () => {
  const counted = testGolden(set, runner);
  afterAll(() => {
    expect(new Set(set.cases.map(({ op }) => op)).size).toBe(26);
    expect(counted.ran).toBe(set.cases.length);
  });
});

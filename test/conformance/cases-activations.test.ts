// Runs golden cases of the activations: calls, gradients, errors.
import { afterAll, describe, expect } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { testGolden } from "./golden.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-activations"));
const runner = await Runner.load();

describe("golden cases of activations", () => {
  const counted = testGolden(set, runner);
  afterAll(() => {
    expect(new Set(set.cases.map(({ op }) => op)).size).toBe(20);
    expect(counted.ran).toBe(set.cases.length);
  });
});

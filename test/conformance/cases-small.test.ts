// Runs the committed golden cases of all families against the library.
import { afterAll, describe, expect } from "bun:test";
import { join } from "node:path";
import { loadCaseSet } from "./case-set.ts";
import { familyOf } from "./case-types.ts";
import { testGolden } from "./golden.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-small"));
const runner = await Runner.load();

describe("golden cases", () => {
  const counted = testGolden(set, runner);
  afterAll(() => {
    expect(new Set(set.cases.map(familyOf)).size).toBe(7);
    expect(counted.ran).toBe(set.cases.length);
  });
});

// How the test driver reads the reports of zig and bun, and which instruction sets it asks for.

import { expect, test } from "bun:test";
import { instructionSets } from "../../scripts/processor.ts";
import { junitCounts, STEPS, zigCounts } from "../../scripts/test-steps.ts";

test("zigCounts reads every form of zig's summary", () => {
  const summary = (tests: string) => `Build Summary: 3/3 steps succeeded; ${tests}\ntest success\n`;
  expect(zigCounts(summary("12/12 tests passed"))).toEqual({ passed: 12, failed: 0, skipped: 0 });
  expect(zigCounts(summary("2/3 tests passed (1 skipped)"))).toEqual({ passed: 2, failed: 0, skipped: 1 });
  const failing = "Build Summary: 1/3 steps succeeded (1 failed); 1/4 tests passed (1 skipped, 2 failed)\n";
  expect(zigCounts(failing)).toEqual({ passed: 1, failed: 2, skipped: 1 });
  expect(zigCounts("Build Summary: 0/3 steps succeeded (1 failed)\n")).toBeUndefined();
});

test("junitCounts reads the totals of bun's report", () => {
  const report =
    '<?xml version="1.0"?>\n<testsuites name="bun test" tests="7" assertions="9" failures="2" skipped="1">';
  expect(junitCounts(report)).toEqual({ passed: 4, failed: 2, skipped: 1 });
  expect(junitCounts("")).toBeUndefined();
});

test("the baseline can always be forced, and no set is both present and absent", () => {
  const { present, absent } = instructionSets();
  expect(present[0]).toBe("baseline");
  if (process.arch === "x64") expect([...present, ...absent].sort()).toEqual(["avx2", "avx512", "baseline"]);
});

test("steps have names of their own", () => {
  const names = STEPS.map((step) => step.name);
  expect(new Set(names).size).toBe(names.length);
});

// What the library weighs in a program: bounds on the engine's objects and functions, the same at every run.
import { beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { buildBundle, root } from "../../scripts/toolchain.mjs";
import type { Weight } from "../../scripts/weight.ts";

beforeAll(() => {
  buildBundle();
}, 120_000);

test("few objects and functions exist after import, and after three hundred calls", () => {
  // In a process of tests importing the library teaches the matchers.
  const { NODE_ENV: _, ...env } = process.env;
  const { stdout, stderr, exitCode } = Bun.spawnSync([process.execPath, join(root, "scripts", "weight.ts")], { env });
  if (exitCode !== 0) throw new Error(stderr.toString());
  const weight = JSON.parse(stdout.toString()) as Weight & { calls: number };
  console.log(JSON.stringify(weight));
  expect(weight.calls).toBeGreaterThanOrEqual(300);
  expect(weight.importFunctions).toBeLessThanOrEqual(1500);
  expect(weight.importObjects).toBeLessThanOrEqual(11_500);
  expect(weight.mixedFunctions).toBeLessThanOrEqual(3000);
  expect(weight.mixedObjects).toBeLessThanOrEqual(30_000);
});

// Random sequences of operations on all kinds of TensorDicts lead to what a plain model of arrays says: the same keys
// in the same order, values, shapes, locks, and memory shared by the same entries; what is refused changes nothing.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import fc from "fast-check";
import { compared, difference, programs, refused } from "./sequences/agreement.ts";
import { MAKERS } from "./sequences/draw.ts";
import { World } from "./sequences/perform.ts";

const RUNS = Number(process.env.ZENSOR_SEQUENCES ?? 2000);
const SEED = Number(process.env.ZENSOR_SEQUENCES_SEED ?? 1);
afterAll(() => World.remove(), 60_000);

test("sequences agree with the plain model", () => {
  const agrees = fc.property(programs, (program) => {
    return difference(program) === null;
  });
  const result = fc.check(agrees, { seed: SEED, numRuns: RUNS });
  // The smallest sequence that differs, as calls.
  expect(result.failed ? difference((result.counterexample as [number[][]])[0]) : null).toBeNull();
}, 300_000);

test("every operation was compared, and most were refused at times", () => {
  const operations = new Set(MAKERS.map(([op]) => op));
  expect([...operations].filter((op) => (compared.get(op) ?? 0) < 20)).toEqual([]);
  expect(refused.size).toBeGreaterThan(20);
});

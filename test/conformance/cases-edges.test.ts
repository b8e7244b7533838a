// Values, gradients, their gradients and products with tangents at zeros, ties, ends of domains, infinities and NaN, as
// a real PyTorch answered (bun run oracle --edges --agreeing). test/oracle/known.ts tells what is not as torch has it.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { isKnown, KNOWN } from "../oracle/known.ts";
import { loadCaseSet } from "./case-set.ts";
import type { Case } from "./case-types.ts";
import { testPrograms } from "./programs.ts";
import { Runner } from "./runner.ts";

const set = loadCaseSet(join(import.meta.dir, "../fixtures/cases-edges"));
const runner = await Runner.load();
const groups = testPrograms(set, runner, (name) => `at the edges of ${name}`);

test("there are enough of them, of many operators and of each kind", () => {
  const seconds = set.cases.flatMap(({ second }) => (second === undefined ? [] : [second]));
  expect(set.cases.length).toBeGreaterThan(1200);
  expect(groups.size).toBeGreaterThan(150);
  expect(seconds.filter(({ grads2 }) => Object.keys(grads2 ?? {}).length > 0).length).toBeGreaterThan(500);
  expect(seconds.filter(({ jvp }) => jvp !== undefined).length).toBeGreaterThan(500);
});

test("a falsified gradient of a gradient, and a falsified change, are seen", () => {
  const own = (c: Case) => {
    const { grads, grads2 = {}, jvp } = c.second ?? { grads: {} };
    const kinds = [Object.values(grads)[0], Object.values(grads2)[0], jvp].map((x) => x?.$t);
    return kinds.every((x) => x !== undefined && x.dt === "f64" && x.sh.length === 1) ? kinds : null;
  };
  const c = set.cases.find((one) => own(one) !== null && runner.run(set, one).status === "passed") as Case;
  for (const at of [0, 1, 2]) {
    const copy = structuredClone(c);
    const d = own(copy)?.[at] as { sh: number[] };
    d.sh = [...d.sh, 1];
    expect(runner.run(set, copy).reasons.join("; ")).toContain(["grad", "second grad", "jvp"][at] as string);
  }
});

test("what is known to differ says why, and is narrow", () => {
  for (const { why } of KNOWN) expect(why.length).toBeGreaterThan(10);
  const call = (name: string, args: (number | number[])[] = []) => ({
    leaves: [],
    calls: [{ id: 1, name, recv: 0, args, kw: {} }],
  });
  expect(isKnown(call("var", [[]]), ["leaf 0 grad: 1 of 2 values differ"], true)).toBe(true);
  expect(isKnown(call("var", [[0]]), ["leaf 0 grad: 1 of 2 values differ"], true)).toBe(false);
  expect(isKnown(call("prod"), ["leaf 0 second grad: 1 of 2 values differ, [0] is 1, expected 2"], true)).toBe(false);
  expect(isKnown(call("mul"), ["jvp: 1 of 2 values differ"], true)).toBe(false);
  expect(isKnown(call("clamp"), ["jvp: 1 of 2 values differ"], true)).toBe(true);
  expect(isKnown(call("clamp"), ["jvp: 1 of 2 values differ"], false)).toBe(false);
  const short = { id: 0, dt: "bf16" as const, sh: [2], values: [1, 2], rg: true };
  const rounded = ["leaf 0 grad: 1 of 2 values differ, [0] is 1, expected 2"];
  expect(isKnown({ ...call("layer_norm"), leaves: [short] }, rounded, false)).toBe(true);
  expect(isKnown({ ...call("layer_norm"), leaves: [{ ...short, dt: "f32" }] }, rounded, false)).toBe(false);
  expect(isKnown(call("floor_divide_"), ["var 0: 1 of 2 values differ"], false)).toBe(false);
  expect(isKnown(call("floor_divide_"), ["var 0: 1 of 2 values differ"], false, true)).toBe(true);
});

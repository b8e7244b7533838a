// What the mutation check changes, and that a change is made where it says.
import { expect, test } from "bun:test";
import { applied, mutantsOf } from "../../scripts/mutate/mutants.ts";
import { readLcov } from "../../scripts/mutate/reach.ts";

const SOURCE = `import { a } from "./a0.ts";
interface Sizes { 0: true }
export function f(x: number, y: 1 | 2): number {
  if (x >= 1 && !a) throw new Error("less than " + 1);
  const text = "sum " + x;
  return x * y + (text === "" ? 0 : 7);
}
export const formula = (g: Grad) => g.mul(true).sin();
`;

test("operators, comparisons, constants, conditions and methods of formulas are changed", () => {
  const found = mutantsOf("f.ts", SOURCE).map((m) => `${m.line} ${m.before} -> ${m.after}`);
  expect(found).toEqual([
    "4 && -> ||",
    "4 >= -> >",
    "4 1 -> 2",
    "4 !a -> a",
    "6 + -> -",
    "6 * -> /",
    "6 === -> !==",
    "6 0 -> 1",
    "6 7 -> 6",
    "8 sin -> cos",
    "8 mul -> div",
    "8 true -> false",
  ]);
});

test("what no call can see is left alone, what resembles it is not", () => {
  const changes = (file: string, source: string) => mutantsOf(file, source).map((m) => `${m.before} -> ${m.after}`);
  const kernel = "frame.begin(2, c); frame.operand(0, a, b, 0); frame.attr(3, x ? 1 : 0); size(x ? 1 : 0);";
  expect(changes("src/dispatch/matrix.ts", kernel)).toEqual(["0 -> 1", "3 -> 2", "0 -> 1", "1 -> 2", "0 -> 1"]);
  expect(changes("src/dispatch/copy.ts", kernel)).toEqual(["0 -> 1", "0 -> 1", "3 -> 2", "0 -> 1", "1 -> 2", "0 -> 1"]);
  const calls =
    "const f = (_a = 1, b = 2, inplace = false) => b; O.expand(x, [3], false); g(x, undefined, false, true);";
  expect(changes("f.ts", calls)).toEqual(["2 -> 1", "3 -> 2", "true -> false"]);
});

test("types, imports, errors and joined texts are left alone", () => {
  const lines = new Set(mutantsOf("f.ts", SOURCE).map((m) => m.line));
  expect([...lines]).toEqual([4, 6, 8]);
});

test("one mutant is one change", () => {
  for (const m of mutantsOf("f.ts", SOURCE)) {
    const changed = applied(SOURCE, m);
    expect(changed.slice(0, m.start) + m.before + changed.slice(m.start + m.after.length)).toBe(SOURCE);
    expect(changed).not.toBe(SOURCE);
  }
});

test("lines that ran are read from a coverage report", () => {
  const files = readLcov("SF:src/a.ts\nDA:1,3\nDA:2,0\nend_of_record\nSF:/repo/src/b.ts\nDA:9,1\n", "/repo");
  expect([...(files.get("src/a.ts") as Set<number>)]).toEqual([1]);
  expect([...(files.get("src/b.ts") as Set<number>)]).toEqual([9]);
});

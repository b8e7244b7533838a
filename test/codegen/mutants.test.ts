// What the mutation check changes, and that a change is made where it says.
import { expect, test } from "bun:test";
import { instrumented } from "../../scripts/mutate/instrument.ts";
import { applied, mutantsOf } from "../../scripts/mutate/mutants.ts";
import { mutants } from "../../scripts/mutate/switch.ts";

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

const PROGRAM = `
const half = { add: (x: number) => x / 2, sub: (x: number) => x * 2 };
function run(x: number, y: number, o?: typeof half): unknown[] {
  let s = 1;
  for (let i = 0; i < x; i++) s += i * (y - 1);
  if ((!o && s >= 3) || y === 2) s -= 2 + -y % 7;
  const rest = o?.add(s) ?? (x > 3 && y !== 4 ? 5 : x - y);
  return [s, rest, x * y / 2, { 3: true }, o !== undefined];
}
`;

test("a source with all mutants in it computes as the source does, and with one in force as that mutant does", () => {
  const given = [[4, 2], [3, 5, true], [0, 0], [7, 4], [4, 3, true], [3, 4]]; // biome-ignore format: a table
  const results = (source: string): string => {
    const code = new Bun.Transpiler({ loader: "ts" }).transformSync(`${source}; globalThis.ran = [run, half];`);
    new Function(code)();
    const [run, half] = (globalThis as unknown as { ran: [(...args: unknown[]) => unknown, unknown] }).ran;
    return JSON.stringify(given.map(([x, y, o]) => run(x, y, o === true ? half : undefined)));
  };
  const all = mutantsOf("f.ts", PROGRAM);
  const source = instrumented("f.ts", PROGRAM, all, 100);
  const plain = results(PROGRAM);
  expect(results(source)).toBe(plain);
  let seen = 0;
  for (const [i, m] of all.entries()) {
    mutants.on = 100 + i;
    const got = results(source);
    mutants.on = -1;
    expect(`${m.text} ${got}`).toBe(`${m.text} ${results(applied(PROGRAM, m))}`);
    if (got !== plain) seen++;
  }
  expect(all.length).toBeGreaterThan(30);
  expect(seen).toBeGreaterThan(25);
});

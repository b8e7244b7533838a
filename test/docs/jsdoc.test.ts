// Runs the `@example` of every generated function and of every source: the text of its last expression is what the
// comment behind it says.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import * as zensor from "../../src/index.ts";
import { examplesOf } from "./fences.ts";

const root = join(import.meta.dir, "..", "..");
const GENERATED = ["functional.ts", "method-functions.ts", "namespaces.ts"].map((name) =>
  join(root, "generated", name),
);

function sourcesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name))
    .sort();
}

// Sloppy code, because `with` puts all names of the package in reach and eval gives the last expression's value.
const evaluate = new Function("names", "code", "with (names) return eval(code);") as (
  names: object,
  code: string,
) => unknown;

// The same with promises: statements, and the last line's value.
const AsyncFunction = (async () => {}).constructor as new (...text: string[]) => typeof evaluate;
function evaluateLater(names: object, code: string): unknown {
  const at = code.trimEnd().lastIndexOf("\n") + 1;
  return new AsyncFunction("names", "code", `with (names) { ${code.slice(0, at)}\nreturn ${code.slice(at)} }`)(
    names,
    code,
  );
}

function shown(value: unknown): string {
  return Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype
    ? `[${value.map(shown).join(", ")}]`
    : String(value);
}

const seen = new Set<string>();
for (const file of [...GENERATED, ...sourcesUnder(join(root, "src"))]) {
  for (const { line, code, result } of examplesOf(readFileSync(file, "utf8"))) {
    // Aliases carry the example of what they stand for.
    if (seen.has(code)) continue;
    seen.add(code);
    test(`${relative(root, file)}:${line}: ${code}`, async () => {
      const value = code.includes("await ") ? await evaluateLater(zensor, code) : evaluate(zensor, code);
      expect(shown(value)).toBe(result);
    });
  }
}

test("there are examples", () => expect(seen.size).toBeGreaterThan(200));

test("every generated function that users call has an example", () => {
  const without: string[] = [];
  for (const file of GENERATED) {
    const functions = readFileSync(file, "utf8").matchAll(/\/\*\*\n((?: \*.*\n)*?) \*\/\n(?:export )?function (\w+)/g);
    // In-place forms have the text of the operator, with what they do besides.
    for (const [, text, name] of functions) {
      if (!text?.includes("@example") && !name?.endsWith("_")) without.push(name as string);
    }
  }
  expect(without).toEqual([]);
});

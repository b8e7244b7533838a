// Runs the `@example` of every generated function: the text of its last expression is what the comment says.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as zensor from "../../src/index.ts";
import { examplesOf } from "./fences.ts";

const source = readFileSync(join(import.meta.dir, "..", "..", "generated", "functional.ts"), "utf8");

// Sloppy code, because `with` puts all names of the package in reach and eval gives the last expression's value.
const evaluate = new Function("names", "code", "with (names) return eval(code);") as (
  names: object,
  code: string,
) => unknown;

function shown(value: unknown): string {
  return Array.isArray(value) && Object.getPrototypeOf(value) === Array.prototype
    ? `[${value.map(shown).join(", ")}]`
    : String(value);
}

const seen = new Set<string>();
for (const { line, code, result } of examplesOf(source)) {
  // Aliases carry the example of what they stand for.
  if (seen.has(code)) continue;
  seen.add(code);
  test(`functional.ts:${line}: ${code}`, () => {
    expect(shown(evaluate(zensor, code))).toBe(result);
  });
}

test("there are examples", () => expect(seen.size).toBeGreaterThan(50));

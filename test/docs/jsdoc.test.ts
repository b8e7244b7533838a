// Runs the `@example` of every generated function and of every source, and the examples of docs/members: the text of
// the last expression is what the comment behind it says.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { examplesUnder } from "../../scripts/docs/member-examples.ts";
import * as zensor from "../../src/index.ts";
import { type Example, examplesOf, splitExample } from "./fences.ts";

const root = join(import.meta.dir, "..", "..");
const GENERATED = ["functional.ts", "method-functions.ts", "methods.ts", "namespaces.ts"].map((name) =>
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
function check(file: string, { line, code, result }: Example): void {
  // Aliases carry the example of what they stand for.
  if (seen.has(code)) return;
  seen.add(code);
  test(`${file}:${line}: ${code}`, async () => {
    const value = code.includes("await ") ? await evaluateLater(zensor, code) : evaluate(zensor, code);
    expect(shown(value)).toBe(result);
  });
}

for (const file of [...GENERATED, ...sourcesUnder(join(root, "src"))]) {
  for (const example of examplesOf(readFileSync(file, "utf8"))) check(relative(root, file), example);
}
for (const { file, line, code } of examplesUnder(join(root, "docs", "members"))) {
  check(`docs/members/${file}`, splitExample(code.split("\n"), line));
}

test("there are examples", () => expect(seen.size).toBeGreaterThan(200));

// All examples of the API: of the generated functions, of every source, and of docs/members.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { examplesUnder } from "../../scripts/docs/member-examples.ts";
import { type Example, examplesOf, splitExample } from "./fences.ts";

export interface Located extends Example {
  file: string;
}

export const root = join(import.meta.dir, "..", "..");
const GENERATED = ["functional.ts", "method-functions.ts", "methods.ts", "namespaces.ts"].map((name) =>
  join(root, "generated", name),
);

function sourcesUnder(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .map((name) => join(folder, name))
    .sort();
}

/** Each once: aliases carry the example of what they stand for. */
export function allExamples(): Located[] {
  const all: Located[] = [];
  for (const path of [...GENERATED, ...sourcesUnder(join(root, "src"))]) {
    const file = relative(root, path);
    all.push(...examplesOf(readFileSync(path, "utf8")).map((example) => ({ file, ...example })));
  }
  for (const { file, line, code } of examplesUnder(join(root, "docs", "members"))) {
    all.push({ file: `docs/members/${file}`, ...splitExample(code.split("\n"), line) });
  }
  return [...new Map(all.toReversed().map((example) => [example.code, example])).values()].reverse();
}

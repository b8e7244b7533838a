/** generated/late.ts: finds, by name, what generated code calls in the rooms above it (src/autograd/registry.ts). */
import type { Model } from "../model/load.ts";
import { emitNodes } from "./nodes.ts";
import { emitOps } from "./ops.ts";

/** The names behind `prefix.` in a text, sorted. */
function namesBehind(prefix: string, text: string): string[] {
  const found = text.matchAll(new RegExp(`(?<![\\w$.])${prefix.replace("$", "\\$")}\\.(\\w+)`, "g"));
  return [...new Set([...found].map(([, name]) => name as string))].sort();
}

function finder(name: string, about: string, namespace: string, names: readonly string[]): string[] {
  const cases = names.map((one) => `    case "${one}":\n      return ${namespace}.${one};`);
  const body =
    names.length === 0 ? ["  return undefined;"] : ["  switch (name) {", ...cases, "  }", "  return undefined;"];
  return [
    `/** ${about} */`,
    `export function ${name}(${names.length === 0 ? "_" : ""}name: string): unknown {`,
    ...body,
    "}",
  ];
}

export function emitLate(model: Model): string {
  const composites = namesBehind("$C", emitOps(model));
  const formulas = namesBehind("F", emitNodes(model));
  const out = [
    'import * as C from "../src/autograd/composites.ts";',
    'import * as F from "../src/autograd/formulas.ts";',
    "",
    ...finder("compositeOf", "An operator that is written with others.", "C", composites),
    "",
    ...finder("formulaOf", "A helper that gradient formulas name.", "F", formulas),
  ];
  return `${out.join("\n")}\n`;
}

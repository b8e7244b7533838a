// What TypeScript and Zig must agree on stands in codegen/schema/ alone (abi.ts, codes.ts): both sides use the
// generated names, and no hand-written copy of the numbers remains beside them.

import { loadModel, type Model } from "../model/load.ts";
import { listFiles, readText, report, repositoryRoot, type Violation } from "./source-files.ts";

const SIDES = { TypeScript: /^src\/.*\.ts$/, Zig: /^zig\/src\/.*\.zig$/ } as const;

/** Numbers of another library's. */
const FOREIGN = /^src\/io\/hdf5\//;

/** Names with numbers, of which a copy could be made. */
interface Group {
  readonly name: string;
  readonly values: Readonly<Record<string, number>>;
}

const numbered = (names: readonly string[]): Group["values"] => Object.fromEntries(names.map((name, i) => [name, i]));

/** Every table of named numbers in the model. */
export function groupsOf(model: Pick<Model, "codes" | "job" | "dtypes" | "computes" | "statuses">): Group[] {
  return [
    ...model.codes,
    { name: "JobField", values: numbered(model.job.map((field) => field.name)) },
    { name: "DType", values: Object.fromEntries(model.dtypes.map(({ name, id }) => [name, id])) },
    { name: "Compute", values: numbered(model.computes) },
    { name: "Status", values: Object.fromEntries(model.statuses.map(({ name, code }) => [name, code])) },
  ];
}

const plain = (name: string): string => name.replaceAll("_", "").toLowerCase();

/** A number as both languages write it; undefined for anything else. */
function numberOf(text: string): number | undefined {
  const shifted = /^(\d+) << (\d+)$/.exec(text);
  const value = shifted === null ? Number(text.replaceAll("_", "")) : Number(shifted[1]) * 2 ** Number(shifted[2]);
  return Number.isNaN(value) ? undefined : value;
}

/** `name: 3`, `name = 3`, `const NAME: u32 = 1 << 4`: names that are given a number, with their lines. */
function namedNumbers(text: string): { name: string; value: number; line: number }[] {
  const found: { name: string; value: number; line: number }[] = [];
  text.split("\n").forEach((row, i) => {
    for (const [, name, number] of row.matchAll(/(\w+)(?:: \w+)? ?[:=] ?(-?\d[\w.]*(?: << \d+)?)(?=[\s,;})]|$)/g)) {
      const value = numberOf(number as string);
      if (value !== undefined) found.push({ name: plain(name as string), value, line: i + 1 });
    }
  });
  return found;
}

/** Groups of which a file gives names their numbers again: two, since one may be chance, or one element type. */
export function copiesIn(file: string, text: string, groups: readonly Group[]): Violation[] {
  if (FOREIGN.test(file)) return [];
  const numbers = namedNumbers(text);
  return groups.flatMap((group) => {
    const members = Object.entries(group.values).map(([name, value]) => ({ name: plain(name), value }));
    const hits = members.flatMap((m) => numbers.find((n) => n.value === m.value && n.name.endsWith(m.name)) ?? []);
    const type = group.name === "DType" && hits.some((n) => n.value > 0 && members.some((m) => m.name === n.name));
    if (!type && new Set(hits.map((hit) => hit.name)).size < 2) return [];
    const line = Math.min(...hits.map((hit) => hit.line));
    return [{ file, line, message: `a copy of ${group.name}: use the generated one (codegen/schema/codes.ts)` }];
  });
}

/** Attributes of a launch are named by their places. */
export function placesIn(file: string, text: string): Violation[] {
  const found: Violation[] = [];
  text.split("\n").forEach((row, i) => {
    if (!/\bframe\.attr\(\d+,|\bfr\.attr\w*\(\w+, \d|\.attrs\[\d+\]/.test(row)) return;
    found.push({ file, line: i + 1, message: "an attribute by its number: name it in codegen/schema/codes.ts" });
  });
  return found;
}

/** Groups that one side does not use: that side has numbers of its own, or nobody needs the group. */
export function unusedIn(side: string, texts: readonly string[], groups: readonly Group[]): Violation[] {
  const all = texts.join("\n");
  return groups
    .filter(({ name }) => !new RegExp(side === "Zig" ? `\\babi(_\\w+)?\\.${name}\\b` : `\\b${name}\\b`).test(all))
    .map(({ name }) => ({
      file: "codegen/schema/codes.ts",
      line: 0,
      message: `${name} is not used on the side of ${side}`,
    }));
}

function main(): number {
  const model = loadModel();
  const groups = groupsOf(model);
  const shared = groups.filter(({ name }) => model.codes.some((c) => c.name === name));
  const violations: Violation[] = [];
  let count = 0;
  for (const [side, pattern] of Object.entries(SIDES)) {
    const files = listFiles(repositoryRoot).filter((file) => pattern.test(file));
    const texts = files.map((file) => readText(repositoryRoot, file));
    violations.push(...unusedIn(side, texts, shared));
    files.forEach((file, i) => {
      const text = texts[i] as string;
      violations.push(...copiesIn(file, text, groups), ...placesIn(file, text));
    });
    count += files.length;
  }
  return report("boundary", violations, `${count} files without numbers of the boundary's own`);
}

if (import.meta.main) process.exitCode = main();

// The table of ratios, from results in memory or from files of JSON lines:
// `bun bench/compare.ts [--write] results.jsonl...`; `--write` puts it into RESULTS.md.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { median, medianInterval } from "./statistics.ts";

/** Seconds of every sample of a case; sample i of both sides was taken together. */
export interface Result {
  family: string;
  name: string;
  ours: number[];
  theirs: number[];
  peer: string | null;
  notes: string[];
}

function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return "";
  const units = [
    ["s", 1],
    ["ms", 1e-3],
    ["µs", 1e-6],
    ["ns", 1e-9],
  ] as const;
  const [name, size] = units.find(([, unit]) => seconds >= unit) ?? ["ns", 1e-9];
  return `${(seconds / size).toPrecision(3)} ${name}`;
}

function row(result: Result): string {
  const { family, name, ours, theirs, notes } = result;
  const cells = [family, name, duration(median(ours)), duration(Math.min(...ours))];
  if (theirs.length === 0) return `| ${[...cells, "", "", "", "", notes.join("; ")].join(" | ")} |`;
  const ratios = ours.map((seconds, i) => seconds / (theirs[i] as number));
  const [low, high] = medianInterval(ratios);
  const least = Math.min(...ours) / Math.min(...theirs);
  cells.push(duration(median(theirs)), duration(Math.min(...theirs)));
  cells.push(`**${median(ratios).toFixed(2)}** (${low.toFixed(2)} to ${high.toFixed(2)})`, least.toFixed(2));
  const words = result.peer === null || result.peer === "Python" ? notes : [`against ${result.peer}`, ...notes];
  return `| ${[...cells, words.join("; ")].join(" | ")} |`;
}

/** The geometric mean of the rows' ratios, and the largest of them. */
function summary(results: readonly Result[]): string {
  const ratios = results
    .filter(({ theirs }) => theirs.length > 0)
    .map(({ ours, theirs }) => median(ours.map((seconds, i) => seconds / (theirs[i] as number))));
  const mean = Math.exp(ratios.reduce((sum, ratio) => sum + Math.log(ratio), 0) / ratios.length);
  return `Geometric mean of ${ratios.length} ratios ${mean.toFixed(3)}, the largest ${Math.max(...ratios).toFixed(2)}.`;
}

/** A Markdown table. Ratios are ours divided by theirs: below 1 we are faster. */
export function table(results: readonly Result[]): string {
  const head = [
    "| family | case | ours, median | minimum | theirs, median | minimum | ratio (95 % interval) | of minima | notes |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  return [...head, ...results.map(row)].join("\n");
}

/** Families with a table of their own in RESULTS.md; the others share one. */
const APART: readonly string[] = ["collections", "io", "formats"];

/** Puts results into their tables in RESULTS.md. A table of which no family was run stays as it is. */
export function writeTable(head: string, results: readonly Result[]): void {
  const file = join(import.meta.dir, "RESULTS.md");
  let text = readFileSync(file, "utf8");
  const rest = results.filter(({ family }) => !APART.includes(family));
  if (rest.length > 0) text = withTable(text, "the table", head, rest);
  for (const name of APART) {
    const own = results.filter(({ family }) => family === name);
    if (own.length > 0) text = withTable(text, `the table of ${name}`, head, own, name === "collections");
  }
  writeFileSync(file, text);
}

/** Puts any table into its place in RESULTS.md. */
export function putTable(what: string, head: string, body: string): void {
  const file = join(import.meta.dir, "RESULTS.md");
  writeFileSync(file, withBody(readFileSync(file, "utf8"), what, head, body));
}

function withTable(text: string, what: string, head: string, results: readonly Result[], alike = false): string {
  return withBody(text, what, head, alike ? `${table(results)}\n\n${summary(results)}` : table(results));
}

function withBody(text: string, what: string, head: string, body: string): string {
  const [begin, end] = [`<!-- ${what} begins -->`, `<!-- ${what} ends -->`];
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`RESULTS.md has no place for ${what}`);
  const date = new Date().toISOString().slice(0, 10);
  return `${text.slice(0, from)}${begin}\n\n${head}. ${date}.\n\n${body}\n\n${text.slice(to)}`;
}

if (import.meta.main) {
  const files = process.argv.slice(2);
  if (files.length === 0) {
    console.error("usage: bun bench/compare.ts [--write] results.jsonl...");
    process.exit(2);
  }
  const write = files[0] === "--write";
  const all: Result[] = [];
  let first = "";
  for (const file of write ? files.slice(1) : files) {
    const lines = readFileSync(file, "utf8").trim().split("\n");
    const records = lines.map((line) => JSON.parse(line) as Result | { head: string });
    for (const record of records) if ("head" in record) first ||= record.head;
    all.push(...records.filter((record): record is Result => "ours" in record));
  }
  console.log(`${first}\n\n${table(all)}`);
  if (write) writeTable(first, all);
}

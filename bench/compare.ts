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

/** A Markdown table. Ratios are ours divided by theirs: below 1 we are faster. */
export function table(results: readonly Result[]): string {
  const head = [
    "| family | case | ours, median | minimum | theirs, median | minimum | ratio (95 % interval) | of minima | notes |",
    "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
  ];
  return [...head, ...results.map(row)].join("\n");
}

const BEGIN = "<!-- the table begins -->";
const END = "<!-- the table ends -->";

/** Replaces the table in RESULTS.md. */
export function writeTable(head: string, results: readonly Result[]): void {
  const file = join(import.meta.dir, "RESULTS.md");
  const text = readFileSync(file, "utf8");
  const [from, to] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (from < 0 || to < from) throw new Error(`${file} has no place for a table`);
  const date = new Date().toISOString().slice(0, 10);
  const body = `${BEGIN}\n\n${head}. ${date}.\n\n${table(results)}\n\n`;
  writeFileSync(file, text.slice(0, from) + body + text.slice(to));
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

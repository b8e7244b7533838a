// How the project's figures went, drawn from git: `bun run history [figure...]`. What a commit holds is read from it;
// what only a run of all checks knows (build seconds, tests run) is in docs/metrics.jsonl:
//   bun run history --record                        notes the last run here
//   bun run history --record LOG --commit NAME      or the one whose output is in a file, of some commit

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { plot } from "asciichart";
import { LAST_LINE, lastMetrics, type Metrics } from "./metrics.ts";
import { root } from "./toolchain.mjs";

const RECORDS = "docs/metrics.jsonl";
const WIDTH = 72;
const HEIGHT = 10;

/** One commit, or one recorded run. */
export interface Point {
  commit: string;
  /** The day, as 2026-11-22. */
  day: string;
  figures: Metrics;
}

function git(...words: string[]): string {
  const { stdout, exitCode, stderr } = Bun.spawnSync(["git", ...words], { cwd: root });
  if (exitCode !== 0) throw new Error(`git ${words.join(" ")}: ${stderr.toString().trim()}`);
  return stdout.toString();
}

/** The text of a file in a commit, "" where it was not there. */
function fileAt(commit: string, path: string): string {
  const { stdout, exitCode } = Bun.spawnSync(["git", "show", `${commit}:${path}`], { cwd: root, stderr: "ignore" });
  return exitCode === 0 ? stdout.toString() : "";
}

/** Bytes of files below some folders, from what `git ls-tree -r -l` prints. */
export function bytesBelow(tree: string, folder: RegExp): number {
  let bytes = 0;
  for (const [, size, path] of tree.matchAll(/^\d+ blob \w+ +(\d+)\t(.*)$/gm)) {
    if (folder.test(path as string)) bytes += Number(size);
  }
  return bytes;
}

/** Overloads of operators that users call, from generated/ops.json. */
export function overloadsIn(json: string): number | null {
  if (json === "") return null;
  return (JSON.parse(json) as { internal?: boolean }[]).filter((op) => !op.internal).length;
}

const UNITS: Record<string, number> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 };

/** Our median of a case in bench/RESULTS.md, in nanoseconds. */
export function medianIn(table: string, family: string, name: string): number | null {
  for (const line of table.split("\n")) {
    const cells = line.split("|").map((cell) => cell.trim());
    if (cells[1] !== family || cells[2] !== name) continue;
    const [, value, unit] = /^([\d.e+]+) (\S+)$/.exec(cells[3] as string) ?? [];
    return value === undefined ? null : Number(value) * (UNITS[unit as string] ?? Number.NaN);
  }
  return null;
}

/** The geometric mean of bench/SWEEP.md's ratios for some number of elements. */
export function sweepIn(table: string, elements: string): number | null {
  const row = table.split("\n").find((line) => line.startsWith(`| ${elements} `));
  const mean = row?.split("|")[3]?.trim();
  return mean === undefined ? null : Number(mean);
}

/** What a commit holds, as figures. */
function figuresAt(commit: string): Metrics {
  const tree = git("ls-tree", "-r", "-l", commit);
  const results = fileAt(commit, "bench/RESULTS.md");
  const tests = Bun.spawnSync(["git", "grep", "-hcE", "^ *(test|it)(\\.each.*)?\\(", commit, "--", "test"], {
    cwd: root,
  });
  const counts = tests.stdout.toString().split("\n").filter(Boolean);
  return {
    source_bytes: bytesBelow(tree, /^src\//),
    kernel_bytes: bytesBelow(tree, /^zig\/src\//),
    generator_bytes: bytesBelow(tree, /^codegen\//),
    test_bytes: bytesBelow(tree, /^test\/(?!fixtures\/).*\.ts$/),
    test_blocks: counts.length === 0 ? null : counts.reduce((sum, n) => sum + Number(n), 0),
    overloads: overloadsIn(fileAt(commit, "generated/ops.json")),
    add_ns: medianIn(results, "overhead", "add"),
    sweep_mean: sweepIn(fileAt(commit, "bench/SWEEP.md"), "1000 x 1000"),
  };
}

/** So many of a list, evenly, with its first and its last. */
export function thinned<T>(list: readonly T[], most: number): T[] {
  if (list.length <= most) return [...list];
  return Array.from({ length: most }, (_, i) => list[Math.round((i * (list.length - 1)) / (most - 1))] as T);
}

function commits(): { commit: string; day: string }[] {
  const lines = git("log", "--first-parent", "--reverse", "--format=%h %cs").trim().split("\n");
  return lines.map((line) => ({ commit: line.split(" ")[0] as string, day: line.split(" ")[1] as string }));
}

/** The runs that were recorded. */
export function recordsIn(text: string): Point[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Point);
}

/** One figure's values over the points that have it. */
export function seriesOf(points: readonly Point[], figure: string): { points: Point[]; values: number[] } {
  const having = points.filter((point) => typeof point.figures[figure] === "number");
  return { points: having, values: having.map((point) => point.figures[figure] as number) };
}

/** A chart of one figure, with its first and last points named; "" where there is nothing to draw. */
export function chart(figure: string, points: readonly Point[]): string {
  const series = seriesOf(points, figure);
  const [first, last] = [series.points[0], series.points.at(-1)];
  if (first === undefined || last === undefined) return "";
  const [from, to] = [series.values[0], series.values.at(-1)];
  const title = `${figure}: ${from} (${first.commit}, ${first.day}) to ${to} (${last.commit}, ${last.day})`;
  // What never changed has no line to draw.
  if (new Set(series.values).size === 1) return `${title}\n`;
  const digits = series.values.every(Number.isInteger) ? 0 : 2;
  const format = (x: number) => x.toFixed(digits).padStart(10);
  return `${title}\n${plot(thinned(series.values, WIDTH), { height: HEIGHT, format })}\n`;
}

/** The records with one more; a second one of a commit takes the place of the first. */
export function recorded(records: readonly Point[], one: Point): Point[] {
  return [...records.filter(({ commit }) => commit !== one.commit), one];
}

/** What is said of recorded figures: a line needs two points. */
export function recordedText(figure: string, records: readonly Point[]): string {
  const { points, values } = seriesOf(records, figure);
  const [only] = points;
  if (only === undefined) return "";
  if (points.length > 1) return `recorded ${chart(figure, records)}`;
  return `recorded ${figure}: ${values[0]} (${only.commit}, ${only.day}), the only record of it so far\n`;
}

function record(log: string, commit: string): number {
  const figures = existsSync(log) ? lastMetrics(readFileSync(log, "utf8")) : undefined;
  if (figures === undefined) {
    const advice = log === LAST_LINE ? "run `npm test` first" : "only a run of all checks prints them";
    console.error(`history: no figures of a run in ${log}: ${advice}`);
    return 1;
  }
  const [name, day] = git("show", "-s", "--format=%h %cs", commit).trim().split(" ") as [string, string];
  const file = join(root, RECORDS);
  const before = existsSync(file) ? recordsIn(readFileSync(file, "utf8")) : [];
  const lines = recorded(before, { commit: name, day, figures }).map((one) => `${JSON.stringify(one)}\n`);
  writeFileSync(file, lines.join(""));
  console.log(`${RECORDS}: ${name}, ${Object.keys(figures).length} figures; ${lines.length} recorded`);
  return 0;
}

function main(words: string[]): number {
  const options = { record: { type: "boolean" }, commit: { type: "string", default: "HEAD" } } as const;
  const { values, positionals: args } = parseArgs({ args: words, options, allowPositionals: true });
  if (values.record) return record(args[0] ?? LAST_LINE, values.commit);
  const points = thinned(commits(), WIDTH).map((one) => ({ ...one, figures: figuresAt(one.commit) }));
  const file = join(root, RECORDS);
  const records = existsSync(file) ? recordsIn(readFileSync(file, "utf8")) : [];
  const sources = [points, records];
  const known = sources.map((list) => [...new Set(list.flatMap((point) => Object.keys(point.figures)))]);
  const unknown = args.filter((name) => !known.flat().includes(name));
  if (unknown.length > 0) {
    console.error(`history: no figure ${unknown.join(", ")}; there are ${[...new Set(known.flat())].join(" ")}`);
    return 2;
  }
  sources.forEach((list, i) => {
    for (const figure of known[i] as string[]) {
      if (args.length > 0 && !args.includes(figure)) continue;
      const text = i === 0 ? chart(figure, list) : recordedText(figure, list);
      if (text !== "") console.log(text);
    }
  });
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));

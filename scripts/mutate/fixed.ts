// A few mutants, each with the test that is known to see it: what CI runs, so that a test that was weakened is noticed.
//   bun run mutants                 runs each test on its mutant; all must fail
//   bun run mutants --refresh       replaces mutants whose lines have gone by others that the same tests see
//   bun run mutants --from FILE     makes the list anew, from the verdicts of `bun run mutate --json FILE`
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../toolchain.mjs";
import { limitOf, mutated, runTest, scratch, type Verdict } from "./judge.ts";
import { type Named, readLines, sameMutant } from "./known.ts";
import { type Mutant, mutantsOf, shown } from "./mutants.ts";

interface Fixed extends Named {
  test: string;
}

const LIST = join(import.meta.dir, "fixed.jsonl");
const SIZE = 14;
/** Seconds: a test that takes longer is too slow for this list. */
const SLOWEST = 6;
/** Mutants of a file that are tried in the place of one that has gone. */
const TRIED = 12;

function mutantsIn(file: string): Mutant[] {
  const path = join(root, file);
  return existsSync(path) ? mutantsOf(file, readFileSync(path, "utf8")) : [];
}

function found(row: Named): Mutant | undefined {
  return mutantsIn(row.file).find((m) => sameMutant(row, m));
}

const rowOf = ({ file, within, text, before, after }: Mutant, test: string): Fixed => ({
  file,
  within,
  text,
  before,
  after,
  test,
});

const write = (rows: readonly Fixed[]): void =>
  writeFileSync(LIST, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

/** Another mutant of the file that the row's test sees, in the same function if there is one. */
async function instead(folder: string, row: Fixed, seconds: number): Promise<Fixed | null> {
  const near = (m: Mutant): number => (m.within === row.within ? 0 : 1);
  const candidates = mutantsIn(row.file).sort((a, b) => near(a) - near(b));
  for (const m of candidates.slice(0, TRIED)) {
    if (!(await mutated(folder, m, () => runTest(folder, row.test, limitOf(seconds))))) return rowOf(m, row.test);
  }
  return null;
}

async function refresh(folder: string): Promise<number> {
  const rows = readLines<Fixed>(LIST);
  const times = await timed(folder, new Set(rows.map((row) => row.test)));
  const kept: Fixed[] = [];
  for (const row of rows) {
    if (found(row) !== undefined) {
      kept.push(row);
      continue;
    }
    const other = await instead(folder, row, times.get(row.test) as number);
    console.log(other === null ? `left out: ${row.file}` : `${row.file}: ${other.text}`);
    if (other !== null) kept.push(other);
  }
  write(kept);
  return kept.length > 0 ? 0 : 1;
}

/** How long each test takes without a change. */
async function timed(folder: string, tests: ReadonlySet<string>): Promise<Map<string, number>> {
  const times = new Map<string, number>();
  for (const test of tests) {
    const start = performance.now();
    if (!(await runTest(folder, test, 120))) throw new Error(`${test} fails without any change`);
    times.set(test, (performance.now() - start) / 1000);
  }
  return times;
}

/** Mutants that a quick test saw, of as many files as there are. */
async function choose(folder: string, file: string): Promise<number> {
  const seen = readLines<Verdict>(file).filter((v) => v.caught?.endsWith(".test.ts") && v.file.endsWith(".ts"));
  const times = await timed(folder, new Set(seen.map((v) => v.caught as string)));
  const rows: Fixed[] = [];
  for (const v of seen) {
    const test = v.caught as string;
    if (rows.length === SIZE || (times.get(test) as number) > SLOWEST) continue;
    if (rows.some((r) => r.file === v.file) || found(v) === undefined) continue;
    rows.push(rowOf(v, test));
  }
  write(rows);
  console.log(`${rows.length} mutants in ${LIST}`);
  return rows.length > 0 ? 0 : 1;
}

async function check(folder: string): Promise<number> {
  const rows = readLines<Fixed>(LIST);
  const times = await timed(folder, new Set(rows.map((row) => row.test)));
  let caught = 0;
  for (const row of rows) {
    const m = found(row);
    if (m === undefined) {
      console.log(
        `no longer there: ${row.file} ${row.before} -> ${row.after}   ${row.text}\n  run: bun run mutants --refresh`,
      );
      continue;
    }
    const limit = limitOf(times.get(row.test) as number);
    if (await mutated(folder, m, () => runTest(folder, row.test, limit))) {
      console.log(`survived ${row.test}, which saw it: ${shown(m)}`);
    } else caught++;
  }
  console.log(`${caught} of ${rows.length} fixed mutants caught`);
  return rows.length > 0 && caught === rows.length ? 0 : 1;
}

const { values: flags } = parseArgs({
  options: { from: { type: "string" }, refresh: { type: "boolean", default: false } },
});
const folder = scratch();
try {
  if (flags.refresh) process.exitCode = await refresh(folder);
  else process.exitCode = flags.from === undefined ? await check(folder) : await choose(folder, flags.from);
} finally {
  rmSync(folder, { recursive: true });
}

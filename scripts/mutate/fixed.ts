// A few mutants, each with the test that is known to see it: what CI runs, so that a test that was weakened is noticed.
//   bun run mutants                 runs each test on its mutant; all must fail
//   bun run mutants --from FILE     makes the list anew, from the verdicts of `bun run mutate --json FILE`
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../toolchain.mjs";
import { limitOf, mutated, scratch, type Verdict } from "./judge.ts";
import { type Named, readLines, sameMutant } from "./known.ts";
import { type Mutant, mutantsOf, shown } from "./mutants.ts";
import { runTest } from "./reach.ts";

interface Fixed extends Named {
  test: string;
}

const LIST = join(import.meta.dir, "fixed.jsonl");
const SIZE = 14;
/** Seconds: a test that takes longer is too slow for this list. */
const SLOWEST = 6;
const ADVICE = "make the list anew: bun run mutate --json FILE, then bun run mutants --from FILE";

function found(row: Named): Mutant | undefined {
  return mutantsOf(row.file, readFileSync(join(root, row.file), "utf8")).find((m) => sameMutant(row, m));
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
    const { file, within, text, before, after, caught } = v;
    if (rows.length === SIZE || (times.get(caught as string) as number) > SLOWEST) continue;
    if (rows.some((r) => r.file === file) || found(v) === undefined) continue;
    rows.push({ file, within, text, before, after, test: caught as string });
  }
  writeFileSync(LIST, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
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
      console.log(`no longer there: ${row.file} ${row.before} -> ${row.after}   ${row.text}\n  ${ADVICE}`);
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

const { values: flags } = parseArgs({ options: { from: { type: "string" } } });
const folder = scratch();
try {
  process.exitCode = flags.from === undefined ? await check(folder) : await choose(folder, flags.from);
} finally {
  rmSync(folder, { recursive: true });
}

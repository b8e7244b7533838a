// All that can be run on a mutant in one process: each case of the fixtures by itself, and each test of the test files.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { at, type Collected, collected } from "./stand-in.ts";

export interface Item {
  name: string;
  /** A case of a fixture: short, and one of many. */
  small: boolean;
  /** What went wrong, or null. */
  run: () => Promise<string | null> | string | null;
}

/** Files whose cases are items of their own. */
const REPLAYED = /(random-cases|exact-cases|programs|cases-small|cases-oracle|meta|kernel-fixtures)\.test\.ts$/;
/** Tests of processes, of memory as a whole, of the checks themselves. */
const UNFIT = /leaks|too-long|enough|infer|coverage\.test|tamper|falsified|workers|durability/;

const readLines = <T>(file: string): T[] =>
  readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);

async function runTest({ before, work, after }: Collected): Promise<string | null> {
  try {
    for (const step of before) await step();
    await work();
    return null;
  } catch (e) {
    return String(e).slice(0, 300);
  } finally {
    for (const step of after) await step();
  }
}

/** Cases of the fixtures of a copy of the repository. */
async function cases(root: string): Promise<Item[]> {
  const load = (file: string) => import(join(root, "test", file));
  const { Adapter } = (await load("conformance/adapter.ts")) as typeof import("../../test/conformance/adapter.ts");
  const { runRandom } = (await load("ops/random-run.ts")) as typeof import("../../test/ops/random-run.ts");
  const { Runner } = (await load("conformance/runner.ts")) as typeof import("../../test/conformance/runner.ts");
  const { loadCaseSet } = (await load(
    "conformance/case-set.ts",
  )) as typeof import("../../test/conformance/case-set.ts");
  const { runProgram } = (await load("autograd/program-run.ts")) as typeof import("../../test/autograd/program-run.ts");
  const meta = (await load("conformance/run-meta.ts")) as typeof import("../../test/conformance/run-meta.ts");
  const adapter = await Adapter.load();
  const runner = await Runner.load();
  const fixtures = join(root, "test", "fixtures");
  const items: Item[] = [];
  const add = (name: string, run: Item["run"]) => items.push({ name, small: true, run });
  type Random = Parameters<typeof runRandom>[1];
  for (const file of readdirSync(join(fixtures, "random")).filter((f) => f.startsWith("calls"))) {
    for (const c of readLines<Random>(join(fixtures, "random", file)))
      add(`${file} ${c.id}`, () => runRandom(adapter, c));
  }
  for (const c of readLines<Random>(join(fixtures, "exact/calls.jsonl")))
    add(`exact ${c.id}`, () => runRandom(adapter, c));
  type Program = Parameters<typeof runProgram>[1];
  for (const [i, p] of readLines<Program>(join(fixtures, "random/programs.jsonl")).entries()) {
    add(`program ${i}`, () => runProgram(adapter, p));
  }
  const told = (o: { status: string; reasons: string[] }) => (o.status === "passed" ? null : o.reasons.join("; "));
  for (const name of ["cases-small", "cases-oracle"]) {
    const set = loadCaseSet(join(fixtures, name));
    for (const c of set.cases) add(`${name} ${c.id}`, () => told(runner.run(set, c)));
    if (name !== "cases-small") continue;
    const lines = meta.readMetaLines(join(fixtures, name, "meta.jsonl"));
    for (const c of set.cases.filter(meta.hasMetaForm)) {
      add(`meta ${c.id}`, () => told(meta.runOnMeta(runner, set, c, lines.get(c.id))));
    }
  }
  return items;
}

/** The tests of some folders of a copy whose files import stand-in.ts. */
async function tests(root: string, folders: readonly string[]): Promise<Item[]> {
  const files = (readdirSync(join(root, "test"), { recursive: true }) as string[])
    .map((name) => `test/${name}`)
    .filter((name) => name.endsWith(".test.ts") && folders.some((f) => name.startsWith(f)))
    .filter((name) => !REPLAYED.test(name) && !UNFIT.test(name))
    .sort();
  for (const file of files) {
    Object.assign(at, { file, prefix: "", before: [], after: [] });
    await import(join(root, file));
  }
  const fit = collected.filter((t) => !UNFIT.test(t.name));
  return fit.map((t) => ({ name: `${t.file} ${t.name}`, small: false, run: () => runTest(t) }));
}

/** The rows of the kernel fixtures. */
async function rows(root: string): Promise<Item[]> {
  const load = (file: string) => import(join(root, "test", file));
  const { Adapter } = (await load("conformance/adapter.ts")) as typeof import("../../test/conformance/adapter.ts");
  const fixtures = (await load("ops/kernel-fixtures.ts")) as typeof import("../../test/ops/kernel-fixtures.ts");
  const { runRow, rowName } = (await load("ops/kernel-run.ts")) as typeof import("../../test/ops/kernel-run.ts");
  const { ops, rows } = fixtures.readKernelFixtures();
  const adapter = await Adapter.load();
  return rows.map((row) => ({ name: rowName(row), small: true, run: () => runRow(adapter, ops[row.o], row) }));
}

/** `kernels`: with the rows of kernels too, which say nothing about TypeScript that the others do not. */
export async function allItems(
  root: string,
  folders: readonly string[],
  kernels: boolean,
  withCases: boolean,
): Promise<Item[]> {
  return [
    ...(kernels && withCases ? await rows(root) : []),
    ...(withCases ? await cases(root) : []),
    ...(folders.length > 0 ? await tests(root, folders) : []),
  ];
}

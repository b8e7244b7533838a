// Changes operators, comparisons, constants and conditions one at a time and runs the tests that reach them: what no
// test sees is listed.
//   bun run mutate [--count N] [--seed N] [--files PREFIX,...] [--tests PREFIX,...] [--all] [--json FILE]
//     [--again FILE]   the survivors of an earlier run's --json
// It works in a copy of the repository. `known.jsonl` beside this file lists mutants that no test can see, each with
// its reason.
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../toolchain.mjs";
import { applied, type Mutant, mutantsOf, shown } from "./mutants.ts";
import { type Reach, reachOf, runTest } from "./reach.ts";

/** Tests of operators; those of files and dictionaries take long and see little of them. */
const TESTS = [
  "conformance/",
  "ops/",
  "autograd/",
  "tensor/",
  "api/",
  "attack/calls",
  "attack/lists",
  "attack/storages",
]
  .map((name) => `test/${name}`)
  .join(",");

const { values: flags } = parseArgs({
  options: {
    count: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    files: { type: "string", default: "src/dispatch/,src/autograd/,generated/nodes.ts" },
    tests: { type: "string", default: TESTS },
    all: { type: "boolean", default: false },
    json: { type: "string" },
    again: { type: "string" },
  },
});

interface Known {
  file: string;
  within: string;
  text: string;
  before: string;
  after: string;
  reason: string;
}

interface Verdict extends Mutant {
  /** The test that fails, or null: it survived. */
  caught: string | null;
}

function filesUnder(prefixes: string, folder: string, keep: (name: string) => boolean): string[] {
  const wanted = prefixes.split(",");
  return (readdirSync(join(root, folder), { recursive: true }) as string[])
    .map((name) => join(folder, name))
    .filter((name) => keep(name) && wanted.some((prefix) => name.startsWith(prefix)))
    .sort();
}

function known(): Known[] {
  const file = join(import.meta.dir, "known.jsonl");
  if (!existsSync(file)) return [];
  const rows = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return rows.map((line) => JSON.parse(line) as Known);
}

const sameMutant = (a: Known | Mutant, b: Known | Mutant): boolean =>
  a.file === b.file && a.within === b.within && a.text === b.text && a.before === b.before && a.after === b.after;

/** A spread of the mutants, the same for the same seed. */
function sampled(all: Mutant[], count: number, seed: number): Mutant[] {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const keyed = all.map((m) => ({ m, key: next() }));
  return keyed
    .sort((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ m }) => m);
}

/** Survivors of an earlier run that are still there. */
function survivors(file: string, all: Mutant[]): Mutant[] {
  const rows = readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  const before = rows.map((line) => JSON.parse(line) as Verdict).filter((v) => v.caught === null);
  return all.filter((m) => before.some((v) => sameMutant(v, m)));
}

/** A copy of what the tests need; packages are linked. */
function scratch(): string {
  const folder = mkdtempSync(join(tmpdir(), "zensor-mutants-"));
  for (const name of ["src", "generated", "codegen", "bench", "scripts", "docs", "examples", "zig", "test", "build"]) {
    cpSync(join(root, name), join(folder, name), { recursive: true });
  }
  for (const name of ["package.json", "bunfig.toml", "tsconfig.json", "README.md"]) {
    cpSync(join(root, name), join(folder, name));
  }
  Bun.spawnSync(["ln", "-s", join(root, "node_modules"), join(folder, "node_modules")]);
  return folder;
}

/** Runs the tests that reach a mutant, the quickest first, until one fails. */
async function judge(folder: string, m: Mutant, reaches: Reach[]): Promise<Verdict> {
  const tests = reaches.filter((r) => r.lines.get(m.file)?.has(m.line));
  if (tests.length === 0) return { ...m, caught: null };
  const path = join(folder, m.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, applied(source, m));
  try {
    for (const { test, seconds } of tests) {
      if (!(await runTest(folder, test, 20 + 5 * seconds))) return { ...m, caught: test };
    }
    return { ...m, caught: null };
  } finally {
    writeFileSync(path, source);
  }
}

function report(verdicts: Verdict[], listed: Known[]): number {
  const survived = verdicts.filter((v) => v.caught === null);
  const news = survived.filter((v) => !listed.some((k) => sameMutant(k, v)));
  const caught = verdicts.length - survived.length;
  const share = ((100 * caught) / Math.max(verdicts.length, 1)).toFixed(1);
  for (const v of news) console.log(`survived: ${shown(v)}`);
  console.log(`${caught} of ${verdicts.length} caught (${share} %), ${survived.length - news.length} listed survivors`);
  return news.length;
}

async function main(): Promise<number> {
  const sources = ["src", "generated"].flatMap((f) => filesUnder(flags.files, f, (n) => n.endsWith(".ts")));
  const all = sources.flatMap((file) => mutantsOf(file, readFileSync(join(root, file), "utf8")));
  for (const k of known().filter((row) => !all.some((m) => sameMutant(row, m)))) {
    console.log(`listed, but no longer there: ${k.file} ${k.text}`);
  }
  const chosen = flags.again
    ? survivors(flags.again, all)
    : sampled(all, flags.all ? all.length : Number(flags.count), Number(flags.seed));
  console.log(`${chosen.length} of ${all.length} mutants in ${sources.length} files`);
  const folder = scratch();
  try {
    const reaches: Reach[] = [];
    for (const test of filesUnder(flags.tests, "test", (n) => n.endsWith(".test.ts"))) {
      reaches.push(await reachOf(folder, test));
    }
    reaches.sort((a, b) => a.seconds - b.seconds);
    const verdicts: Verdict[] = [];
    for (const m of chosen) {
      const v = await judge(folder, m, reaches);
      verdicts.push(v);
      console.log(`${verdicts.length} ${v.caught === null ? "SURVIVED" : `caught by ${v.caught}`} ${shown(m)}`);
    }
    if (flags.json !== undefined) writeFileSync(flags.json, verdicts.map((v) => `${JSON.stringify(v)}\n`).join(""));
    return report(verdicts, known()) > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

process.exit(await main());

// Changes operators, comparisons, constants and conditions one at a time and runs the tests that see them: what no test
// sees is listed.
//   bun run mutate [--all] [--count N] [--seed N] [--files PREFIX,...] [--tests PREFIX,...] [--json FILE]
//     [--jobs N] [--seconds N]   processes at a time, and what may be tried on one mutant
//     [--zig]          kernels instead of TypeScript, built for one instruction set: [--set native]; all of them that
//                      can be switched in one library with --all, or N of them, else each by itself
//     [--again FILE]   the survivors of an earlier run's --json
//     [--keep FOLDER]  the copy stays there, with its library, for the next run
//     [--no-cases]     of kernels' mutants: tests alone
// It works in a copy of the repository. `known.jsonl` beside this file lists mutants that are no errors, each with its
// reason; they are not counted.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../toolchain.mjs";
import { scratch, type Verdict, zigJudge } from "./judge.ts";
import { known, readLines, sameMutant } from "./known.ts";
import { type Mutant, mutantsOf, shown } from "./mutants.ts";
import { judgeAll } from "./population.ts";
import { instrumentKernels } from "./zig-instrument.ts";
import { zigMutantsOf } from "./zig-mutants.ts";

/** Tests of operators; those of files and dictionaries take long and see little of them. */
const TESTS = [
  "conformance/",
  "ops/",
  "autograd/",
  "tensor/",
  "api/",
  "nn/",
  "profiler/",
  "attack/lists",
  "attack/storages",
]
  .map((name) => `test/${name}`)
  .join(",");

/** Tests of kernels that take little time and many ways. */
const KERNEL_TESTS = ["ops/", "tensor/boundaries", "tensor/reuse", "tensor/own-storage", "tensor/blocks"]
  .map((name) => `test/${name}`)
  .join(",");

const { values: flags } = parseArgs({
  allowNegative: true,
  options: {
    count: { type: "string" },
    seed: { type: "string", default: "1" },
    zig: { type: "boolean", default: false },
    set: { type: "string", default: "native" },
    files: { type: "string" },
    tests: { type: "string" },
    all: { type: "boolean", default: false },
    jobs: { type: "string", default: "2" },
    seconds: { type: "string", default: "8" },
    json: { type: "string" },
    again: { type: "string" },
    keep: { type: "string" },
    cases: { type: "boolean", default: true },
  },
});

function filesUnder(prefixes: string, folder: string, keep: (name: string) => boolean): string[] {
  const wanted = prefixes.split(",");
  return (readdirSync(join(root, folder), { recursive: true }) as string[])
    .map((name) => join(folder, name))
    .filter((name) => keep(name) && wanted.some((prefix) => name.startsWith(prefix)))
    .sort();
}

/** All mutants in a random order, the same for the same seed. */
function shuffled(all: Mutant[], seed: number): Mutant[] {
  let state = seed >>> 0;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  const keyed = all.map((m) => ({ m, key: next() }));
  return keyed.sort((a, b) => a.key - b.key).map(({ m }) => m);
}

function allMutants(): Mutant[] {
  const folders = flags.zig ? ["zig"] : ["src", "generated"];
  const files =
    flags.files ?? (flags.zig ? "zig/src/cpu/,zig/src/core/" : "src/dispatch/,src/autograd/,generated/nodes.ts");
  const fits = (n: string) => (flags.zig ? n.endsWith(".zig") && !n.endsWith("_test.zig") : n.endsWith(".ts"));
  const sources = folders.flatMap((f) => filesUnder(files, f, fits));
  const find = flags.zig ? zigMutantsOf : mutantsOf;
  return sources.flatMap((file) => find(file, readFileSync(join(root, file), "utf8")));
}

const listed = known();
const isListed = (m: Mutant): boolean => listed.some((k) => sameMutant(k, m));

/** The mutants to be judged, in their order. */
function chosen(all: Mutant[]): Mutant[] {
  if (flags.again !== undefined) {
    const before = readLines<Verdict>(flags.again).filter((v) => v.caught === null && v.void === undefined);
    return all.filter((m) => before.some((v) => sameMutant(v, m)));
  }
  // All of them are asked of the listed ones too: one that a test sees is an error after all.
  const drawn = shuffled(all, Number(flags.seed));
  return flags.all ? drawn : drawn.filter((m) => !isListed(m));
}

/** Kernels are built and judged one at a time. */
async function judgeKernels(folder: string, mutants: readonly Mutant[], count: number): Promise<Verdict[]> {
  const judge = await zigJudge(folder, flags.set);
  const verdicts: Verdict[] = [];
  let counted = 0;
  for (const m of mutants) {
    if (counted >= count) break;
    const v = await judge(m);
    verdicts.push(v);
    if (v.void === undefined) counted++;
    console.log(`${counted} ${v.void ?? (v.caught === null ? "SURVIVED" : `caught by ${v.caught}`)} ${shown(m)}`);
    save(verdicts);
  }
  return verdicts;
}

function save(verdicts: readonly Verdict[]): void {
  if (flags.json !== undefined) writeFileSync(flags.json, verdicts.map((v) => `${JSON.stringify(v)}\n`).join(""));
}

/** Kernels stop many a process: their tests, which take long to load, come after all cases, for what is left. */
function stages(kernels: boolean): { cases: boolean; folders: string[] }[] {
  const tests = flags.tests ?? (kernels ? KERNEL_TESTS : TESTS);
  const folders = tests.split(",").filter((name) => name !== "");
  if (!kernels) return [{ cases: true, folders }];
  const cases = flags.cases ? [{ cases: true, folders: [] }] : [];
  return [...cases, ...(folders.length > 0 ? [{ cases: false, folders }] : [])];
}

/** The first of the drawn mutants, up to the last of `--count` that can be switched. */
function sampled(drawn: readonly number[], able: ReadonlySet<number>): number[] {
  const last = drawn
    .filter((id) => able.has(id))
    .slice(0, Number(flags.count))
    .at(-1);
  return drawn.slice(0, drawn.indexOf(last as number) + 1);
}

/** In one process: TypeScript, and the kernels' mutants that can be switched in one library. */
async function judgeTogether(folder: string, all: Mutant[], mutants: readonly Mutant[]): Promise<Verdict[]> {
  const kernels = flags.zig;
  const numbers = new Map(all.map((m, id) => [m, id]));
  const drawn = mutants.map((m) => numbers.get(m) as number);
  const able = kernels ? await instrumentKernels(folder, all, flags.set) : new Set(drawn);
  const asked = kernels && flags.count !== undefined ? sampled(drawn, able) : drawn;
  const limits = { kernels, seconds: Number(flags.seconds), jobs: Number(flags.jobs) };
  const found = new Map<number, Verdict>();
  const unfit = { caught: null, void: "decided when it is compiled" };
  const verdicts = () => asked.map((id) => found.get(id) ?? { ...(all[id] as Mutant), ...unfit });
  for (const { cases, folders } of stages(kernels)) {
    const left = asked.filter((id) => able.has(id) && (found.get(id)?.caught ?? null) === null);
    const judged = await judgeAll(folder, all, left, { ...limits, cases, folders });
    for (const [i, v] of judged.entries()) {
      const before = found.get(left[i] as number);
      const [reached, ran] = [(v.reached ?? 0) + (before?.reached ?? 0), (v.ran ?? 0) + (before?.ran ?? 0)];
      found.set(left[i] as number, { ...v, reached, ran });
    }
    save(verdicts());
  }
  return verdicts();
}

function report(verdicts: readonly Verdict[]): number {
  const refuted = verdicts.filter((v) => isListed(v) && v.caught !== null);
  for (const v of refuted) console.log(`listed, but caught by ${v.caught}: ${shown(v)}`);
  const counted = verdicts.filter((v) => v.void === undefined && !isListed(v));
  const survived = counted.filter((v) => v.caught === null);
  const caught = counted.length - survived.length;
  const share = ((100 * caught) / Math.max(counted.length, 1)).toFixed(1);
  for (const v of survived) console.log(`survived: ${shown(v)}`);
  const voids = [...new Set(verdicts.flatMap((v) => v.void ?? []))];
  const without = voids.map((why) => `, ${verdicts.filter((v) => v.void === why).length} ${why}`).join("");
  console.log(`${caught} of ${counted.length} caught (${share} %)${without}`);
  return survived.length;
}

async function main(): Promise<number> {
  const all = allMutants();
  const files = new Set(all.map((m) => m.file));
  const gone = listed.filter((k) => files.has(k.file) && !all.some((m) => sameMutant(k, m)));
  for (const k of gone) console.log(`listed, but no longer there: ${k.file} ${k.text}`);
  const mutants = chosen(all);
  const count = flags.all || flags.again !== undefined ? mutants.length : Number(flags.count ?? 60);
  console.log(`${Math.min(count, mutants.length)} of ${all.length} mutants in ${files.size} files`);
  const folder = scratch(flags.keep);
  try {
    const single = flags.zig && !flags.all;
    const drawn = mutants.slice(0, count);
    const verdicts = single ? await judgeKernels(folder, mutants, count) : await judgeTogether(folder, all, drawn);
    return report(verdicts) > 0 ? 1 : 0;
  } finally {
    if (flags.keep === undefined) rmSync(folder, { recursive: true });
  }
}

process.exit(await main());

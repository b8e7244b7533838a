// Changes operators, comparisons, constants and conditions one at a time and runs the tests that see them: what no test
// sees is listed.
//   bun run mutate [--count N] [--seed N] [--files PREFIX,...] [--tests PREFIX,...] [--all] [--json FILE]
//     [--zig]          kernels instead of TypeScript, built for one instruction set: [--set native]
//     [--again FILE]   the survivors of an earlier run's --json
// It works in a copy of the repository. `known.jsonl` beside this file lists mutants that are no errors, each with its
// reason; they are not counted.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { root } from "../toolchain.mjs";
import { type Judge, scratch, typescriptJudge, type Verdict, zigJudge } from "./judge.ts";
import { known, readLines, sameMutant } from "./known.ts";
import { type Mutant, mutantsOf, shown } from "./mutants.ts";
import { reachOf } from "./reach.ts";
import { zigMutantsOf } from "./zig-mutants.ts";

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
    zig: { type: "boolean", default: false },
    set: { type: "string", default: "native" },
    files: { type: "string" },
    tests: { type: "string", default: TESTS },
    all: { type: "boolean", default: false },
    json: { type: "string" },
    again: { type: "string" },
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

/** The mutants to be judged, in their order. */
function chosen(all: Mutant[]): Mutant[] {
  if (flags.again !== undefined) {
    const before = readLines<Verdict>(flags.again).filter((v) => v.caught === null && v.void === undefined);
    return all.filter((m) => before.some((v) => sameMutant(v, m)));
  }
  const listed = known();
  return shuffled(all, Number(flags.seed)).filter((m) => !listed.some((k) => sameMutant(k, m)));
}

async function judgeOf(folder: string): Promise<Judge> {
  if (flags.zig) return zigJudge(folder, flags.set);
  const reaches = [];
  for (const test of filesUnder(flags.tests, "test", (n) => n.endsWith(".test.ts"))) {
    reaches.push(await reachOf(folder, test));
  }
  return typescriptJudge(folder, reaches);
}

function report(verdicts: readonly Verdict[]): number {
  const counted = verdicts.filter((v) => v.void === undefined);
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
  const gone = known().filter((k) => files.has(k.file) && !all.some((m) => sameMutant(k, m)));
  for (const k of gone) console.log(`listed, but no longer there: ${k.file} ${k.text}`);
  const mutants = chosen(all);
  const count = flags.all || flags.again !== undefined ? mutants.length : Number(flags.count);
  console.log(`${Math.min(count, mutants.length)} of ${all.length} mutants in ${files.size} files`);
  const folder = scratch();
  try {
    const judge = await judgeOf(folder);
    const verdicts: Verdict[] = [];
    let counted = 0;
    for (const m of mutants) {
      if (counted >= count) break;
      const v = await judge(m);
      verdicts.push(v);
      if (v.void === undefined) counted++;
      console.log(`${counted} ${v.void ?? (v.caught === null ? "SURVIVED" : `caught by ${v.caught}`)} ${shown(m)}`);
      if (flags.json !== undefined) writeFileSync(flags.json, verdicts.map((x) => `${JSON.stringify(x)}\n`).join(""));
    }
    return report(verdicts) > 0 ? 1 : 0;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

process.exit(await main());

// Compares random programs with a real PyTorch, makes those that differ smaller, and writes them as golden cases:
//   bun run oracle [--count N] [--minutes N] [--seed N] [--op NAME,...] [--out FOLDER]
//     [--agreeing]                  writes those that agree instead, as cases to keep
//     [--edges]                     one or two operators on zeros, ties, ends of domains, infinities and NaN; with
//                                   second gradients and products with tangents
//     [--models]                    begins with operators of models: convolutions, losses, attention, tables
//     [--targets]                   every operator into targets that repeat elements or overlap operands, and in place
//   bun run conformance FOLDER      replays what was written
//   bun run oracle --tensordict [--texts]   sequences on TensorDicts instead; --texts: errors have the same texts
// Python is $ZENSOR_ORACLE_PYTHON, or python3; without torch there the program ends with status 2.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { Asked, findPython } from "../../bench/peer.ts";
import { root } from "../../scripts/toolchain.mjs";
import type { CaseSet } from "../conformance/case-set.ts";
import { Runner } from "../conformance/runner.ts";
import { Drawer, generatorOf, type Operator, operators } from "./draw.ts";
import { EdgeDrawer, WITHOUT_EDGES } from "./edges.ts";
import { isKnown } from "./known.ts";
import { ModelDrawer } from "./models.ts";
import { type Answer, addCase, type Program, question, shown } from "./program.ts";
import { smaller } from "./shrink.ts";
import { TargetDrawer, WITHOUT_TARGETS } from "./targets.ts";
import { compareSequences } from "./tensordict.ts";

const { values: flags } = parseArgs({
  options: {
    count: { type: "string", default: "2000" },
    minutes: { type: "string", default: "60" },
    seed: { type: "string", default: "1" },
    op: { type: "string" },
    agreeing: { type: "boolean", default: false },
    tensordict: { type: "boolean", default: false },
    texts: { type: "boolean", default: false },
    edges: { type: "boolean", default: false },
    models: { type: "boolean", default: false },
    targets: { type: "boolean", default: false },
    out: { type: "string", default: join(root, "build", "oracle") },
  },
});

function python(): string {
  try {
    const found = findPython("ZENSOR_ORACLE_PYTHON");
    if (found !== null) return found;
    console.error("no Python with torch: name one in ZENSOR_ORACLE_PYTHON");
  } catch (e) {
    console.error((e as Error).message);
  }
  process.exit(2);
}

const answers = flags.tensordict ? "answer_sequences.py" : "answer_programs.py";
const start = (): Asked => new Asked([python(), "-u", join(root, "scripts", "oracle", answers)]);
let peer = start();
const runner = await Runner.load();

interface Difference {
  /** None where both agree. */
  reasons: string[];
  answer: Answer;
}

/** What differs from torch's answer; odd where there is none. */
async function difference(p: Program): Promise<Difference | "odd"> {
  let answer: Answer;
  try {
    answer = (await peer.ask(question(p))) as Answer;
  } catch {
    // Some programs write past the end of torch's memory.
    console.log(`torch did not survive ${shown(p)}`);
    peer = start();
    return "odd";
  }
  if (answer.odd !== undefined) return "odd";
  const set: CaseSet = { cases: [], blob: new Uint8Array(0) };
  const c = addCase(set, "program", p, answer);
  const { status, reasons } = runner.run(set, c);
  return { reasons: status === "failed" ? reasons : [], answer };
}

/** What is wrong, without its numbers: two programs that fail for the same reason. */
const kindOf = (reason: string): string =>
  reason
    .replace(/step \d+/, "step")
    .replace(/var \d+/, "var")
    .replace(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/g, "#");

/** The smallest program found that still differs in the same way. */
async function shrunk(p: Program, kind: string): Promise<Program> {
  let best = p;
  for (let again = true; again; ) {
    again = false;
    for (const candidate of smaller(best)) {
      const d = await difference(candidate);
      if (d === "odd" || d.reasons.length === 0 || kindOf(d.reasons[0] as string) !== kind) continue;
      best = candidate;
      again = true;
      break;
    }
  }
  return best;
}

function chosen(): Operator[] {
  const leftOut = flags.edges ? WITHOUT_EDGES : flags.targets ? WITHOUT_TARGETS : undefined;
  const all = operators(join(root, "generated", "ops.json"), leftOut);
  const wanted = flags.op?.split(",");
  return wanted === undefined ? all : all.filter((op) => wanted.includes(op.key.split(".")[0] as string));
}

/** The answer of a call that is refused here, and of which torch leaves what nobody can tell. */
function refusedHere(reasons: readonly string[], { calls }: Program): Answer | null {
  const text = /raised RuntimeError: (unsupported operation: .*)/.exec(reasons[0] ?? "")?.[1];
  return text === undefined ? null : { err: { step: calls.length - 1, type: "RuntimeError", msg: text } };
}

/** So often arguments are drawn, until there is a program of each kind. */
const TRIES = 12;

/** Programs for each operator that writes into a target, and each kind of target. */
async function targets(): Promise<number> {
  const found: CaseSet = { cases: [], blob: new Uint8Array(0) };
  const counts = { programs: 0, odd: 0, different: 0 };
  const missing: string[] = [];
  for (const [n, op] of chosen().entries()) {
    if (!op.variants.some((form) => form === "out" || form === "inplace")) continue;
    const programs = new Map<string, Program>();
    for (let again = 0; again < TRIES; again++) {
      const random = generatorOf(Number(flags.seed) * 1_000_003 + 1000 * again + n);
      for (const { kind, program } of new TargetDrawer(runner.adapter, [op], random).programs(op)) {
        if (!programs.has(kind)) programs.set(kind, program);
      }
    }
    if (![...programs.keys()].some((kind) => kind.endsWith(" expanded"))) missing.push(op.key);
    for (const [kind, program] of programs) {
      counts.programs++;
      const d = await difference(program);
      if (d === "odd") counts.odd++;
      else if (d.reasons.length > 0) {
        counts.different++;
        console.log(`${op.key} ${kind}: ${shown(program)}\n    ${d.reasons.slice(0, 2).join("\n    ")}`);
      }
      if (d === "odd") continue;
      const here = flags.agreeing && d.answer.err === undefined ? refusedHere(d.reasons, program) : null;
      if (here !== null) addCase(found, `targets/${op.key}/${kind}/here`, program, here);
      else if ((d.reasons.length === 0) === flags.agreeing) {
        addCase(found, `targets/${op.key}/${kind}`, program, d.answer);
      }
    }
  }
  console.log(`${JSON.stringify(counts)}; no arguments found for ${missing.join(", ") || "none"}`);
  keep(found);
  return counts.different > 0 ? 1 : 0;
}

function keep(found: CaseSet): void {
  if (found.cases.length === 0) return;
  mkdirSync(flags.out, { recursive: true });
  writeFileSync(join(flags.out, "index.jsonl"), found.cases.map((c) => `${JSON.stringify(c)}\n`).join(""));
  writeFileSync(join(flags.out, "blob.bin"), found.blob);
  console.log(`${found.cases.length} cases in ${flags.out}`);
}

/** With edges the operators take turns. */
function drawn(ops: Operator[], n: number, random: () => number): Program {
  if (flags.models) return new ModelDrawer(runner.adapter, ops, random).draw();
  if (!flags.edges) return new Drawer(runner.adapter, ops, random).draw();
  return new EdgeDrawer(runner.adapter, [ops[n % ops.length] as Operator], random).draw();
}

async function main(): Promise<number> {
  const ops = chosen();
  const found: CaseSet = { cases: [], blob: new Uint8Array(0) };
  const counts = { programs: 0, calls: 0, odd: 0, known: 0, different: 0 };
  const kinds = new Map<string, number>();
  const end = performance.now() + Number(flags.minutes) * 60_000;
  console.log(`torch ${(await peer.hello).torch}, ${ops.length} operators`);
  for (let n = 0; n < Number(flags.count) && performance.now() < end; n++) {
    const seed = Number(flags.seed) * 1_000_003 + n;
    const p = drawn(ops, n, generatorOf(seed));
    if (p.calls.length === 0) continue;
    counts.programs++;
    counts.calls += p.calls.length;
    const d = await difference(p);
    if (d === "odd") {
      counts.odd++;
      continue;
    }
    if (d.reasons.length === 0) {
      if (flags.agreeing) addCase(found, `oracle/${seed}`, p, d.answer);
      continue;
    }
    if (isKnown(p, d.reasons, flags.edges, d.answer.err !== undefined)) {
      counts.known++;
      continue;
    }
    counts.different++;
    const last = p.calls[p.calls.length - 1] as Program["calls"][number];
    const kind = kindOf(d.reasons[0] as string) + (flags.edges ? ` ${last.name}` : "");
    const times = (kinds.get(kind) ?? 0) + 1;
    kinds.set(kind, times);
    if (times > 1 || flags.agreeing) continue;
    const small = await shrunk(p, kindOf(d.reasons[0] as string));
    const still = (await difference(small)) as Difference;
    const { name } = small.calls[small.calls.length - 1] as { name: string };
    addCase(found, `oracle/${name}/${seed}`, small, still.answer);
    console.log(`${seed} ${shown(small)}\n    ${still.reasons.slice(0, 2).join("\n    ")}`);
  }
  console.log(`${JSON.stringify(counts)}, ${kinds.size} kinds of differences`);
  keep(found);
  return counts.different > 0 ? 1 : 0;
}

async function sequences(): Promise<number> {
  const { count, minutes, seed, texts, out } = flags;
  console.log(`tensordict ${(await peer.hello).tensordict}`);
  const numbers = { count: Number(count), minutes: Number(minutes), seed: Number(seed) };
  return (await compareSequences(peer, { ...numbers, texts, out })) > 0 ? 1 : 0;
}

process.exitCode = await (flags.tensordict ? sequences() : flags.targets ? targets() : main());
await peer.close();

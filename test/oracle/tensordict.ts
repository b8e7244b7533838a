// Compares random sequences on TensorDicts with Python's tensordict, makes those that differ smaller and prints them:
//   bun run oracle --tensordict [--texts] [--count N] [--minutes N] [--seed N] [--out FOLDER]
// Each is kept in FOLDER/sequences.jsonl. compare.ts and draw.ts of test/tensordict/sequences know what differs.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Asked } from "../../bench/peer.ts";
import { differenceOf } from "../tensordict/sequences/compare.ts";
import { nextStep } from "../tensordict/sequences/draw.ts";
import { World } from "../tensordict/sequences/perform.ts";
import type { Outcome, Step } from "../tensordict/sequences/steps.ts";

/** What a sequence led to here; `crash`, if its last step threw what is no error of this library. */
interface Ran {
  steps: Step[];
  outcomes: Outcome[];
  crash?: string;
}

/** The sequence that numbers give, and what it leads to here; it ends with the first error. */
export function runHere(program: readonly (readonly number[])[]): Ran {
  const world = new World();
  const [steps, outcomes]: [Step[], Outcome[]] = [[], []];
  for (const numbers of program) {
    const step = nextStep(numbers, outcomes.at(-1)?.vars ?? [], steps.length, false);
    if (step === null) continue;
    steps.push(step);
    try {
      outcomes.push(world.run(step));
    } catch (error) {
      return { steps, outcomes, crash: String(error) };
    }
    if (outcomes.at(-1)?.err !== undefined) break;
  }
  return { steps, outcomes };
}

/** The numbers that sequences are drawn from. */
export const programs = fc.array(fc.array(fc.nat(255), { maxLength: 16 }), { minLength: 1, maxLength: 12 });

/** Where Python and we part, or null. */
async function difference(
  peer: Asked,
  program: readonly (readonly number[])[],
  texts: boolean,
): Promise<[string, Step[]] | null> {
  const { steps, outcomes, crash } = runHere(program);
  const theirs = ((await peer.ask({ steps })) as { outcomes: Outcome[] }).outcomes;
  for (const [i, ours] of outcomes.entries()) {
    if (theirs[i] === undefined) return null;
    const reason = differenceOf(ours, theirs[i], texts);
    if (reason !== null) return [`${(steps[i] as Step).op}: ${reason}`, steps.slice(0, i + 1)];
  }
  if (crash !== undefined)
    return [`${steps.at(-1)?.op}: ${crash} here, ${theirs[outcomes.length]?.err ?? "none"} expected`, steps];
  return null;
}

/** What is wrong, without its numbers: two sequences that differ for the same reason. */
const kindOf = (reason: string): string => reason.replace(/[-+]?\d+/g, "#").slice(0, 160);

/** Runs until the count or the time is reached; the number of kinds of differences. */
export async function compareSequences(
  peer: Asked,
  options: { count: number; minutes: number; seed: number; texts: boolean; out: string },
): Promise<number> {
  const end = performance.now() + options.minutes * 60_000;
  const known = new Set<string>();
  const batch = 100;
  let done = 0;
  while (done < options.count && performance.now() < end) {
    let found: string | null = null;
    const alike = fc.asyncProperty(programs, async (program) => {
      const reason = (await difference(peer, program, options.texts))?.[0] ?? null;
      const kind = reason === null ? null : kindOf(reason);
      // Shrinking stays with the kind it began with.
      if (kind === null || known.has(kind) || (found !== null && found !== kind)) return true;
      found = kind;
      return false;
    });
    const result = await fc.check(alike, { seed: options.seed * 1_000_003 + done, numRuns: batch });
    done += result.numRuns;
    if (!result.failed) continue;
    const [program] = result.counterexample as [number[][]];
    const [reason, steps] = (await difference(peer, program, options.texts)) as [string, Step[]];
    known.add(kindOf(reason));
    console.log(`${reason}\n${steps.map((s) => `    ${JSON.stringify(s)}`).join("\n")}`);
    mkdirSync(options.out, { recursive: true });
    appendFileSync(join(options.out, "sequences.jsonl"), `${JSON.stringify({ reason, steps })}\n`);
  }
  World.remove();
  console.log(`${done} sequences, ${known.size} kinds of differences`);
  return known.size;
}

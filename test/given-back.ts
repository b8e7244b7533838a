/** What tests of memory that is given back have in common: bytes that a call leaves, and runs with and without it. */
import { cpu, noGrad } from "../src/index.ts";
import { tensorsIn } from "../src/tensor/scope-state.ts";
import { giving } from "../src/tensor/temporaries.ts";
import { rounds } from "./campaign.ts";

/** Bytes of blocks that the tensors of a value have, as the allocator counts them. */
function bytesOf(value: unknown): number {
  const storages = new Set([...tensorsIn(value)].map((t) => t._storage));
  let sum = 0;
  for (const { kind, nbytes } of storages) if (kind === "heap") sum += Math.ceil(nbytes / 512) * 512;
  return sum;
}

/** Above what lies in JavaScript's memory or is parked with its owner. */
export const LEAST = 8192;

/** Bytes that a call leaves beside its result; a negative number when a collection came in between. */
function leftOnce<I>(call: (inputs: I) => unknown, make: () => I): number {
  const inputs = make();
  const own = bytesOf([inputs]);
  const before = cpu.memoryAllocated();
  let result: unknown;
  try {
    result = noGrad(() => call(inputs));
  } catch {
    return 0;
  }
  return cpu.memoryAllocated() - before - (bytesOf([inputs, result]) - own);
}

/** Bytes that a call leaves beside its result, tried again after a collection where it leaves some. */
export function left<I>(call: (inputs: I) => unknown, make: () => I): number {
  let found = leftOnce(call, make);
  for (let i = 0; i < 3 && found !== 0; i++) {
    Bun.gc(true);
    found = leftOnce(call, make);
  }
  return found;
}

/** The first thing in which two runs of a program differ, with what it gives back and without. */
function difference(seed: number, outcome: (seed: number) => readonly unknown[]): string | null {
  giving.enabled = false;
  let kept: readonly unknown[];
  try {
    kept = outcome(seed);
  } finally {
    giving.enabled = true;
  }
  const given = outcome(seed);
  for (let i = 0; i < Math.max(kept.length, given.length); i++) {
    if (kept[i] === given[i]) continue;
    return `seed ${seed}, value ${i}: ${String(kept[i]).slice(0, 300)} became ${String(given[i]).slice(0, 300)}`;
  }
  return null;
}

/**
 * Differences of random programs, at most six: of `few` of them, of `many` when everything is run, and of more until
 * ZENSOR_GIVEN_BACK_SECONDS are over.
 */
export function differences(outcome: (seed: number) => readonly unknown[], few: number, many: number): string[] {
  const wrong: string[] = [];
  const until = performance.now() + 1000 * Number(process.env.ZENSOR_GIVEN_BACK_SECONDS ?? 0);
  const programs = rounds(few, many);
  for (let seed = 1; (seed <= programs || performance.now() < until) && wrong.length <= 5; seed++) {
    const found = difference(seed, outcome);
    if (found !== null) wrong.push(found);
  }
  return wrong;
}

// What methods of collections make on their way goes back when they are done, and nothing else does: bytes are counted,
// and random programs see what they see where nothing is given back. ZENSOR_GIVEN_BACK_SECONDS goes on longer.
import { expect, test } from "bun:test";
import { cpu, manualSeed, noGrad, Tensor } from "../../src/index.ts";
import { giving } from "../../src/tensor/temporaries.ts";
import { Numbers } from "../autograd/given-back-programs.ts";
import { rounds } from "../campaign.ts";
import { type Any, CALLS, KINDS, read } from "./given-back-calls.ts";

/** Above what lies in JavaScript's memory or is parked with its owner. */
const LEAST = 8192;

/** Calls that leave something, by kind, and why. */
const EXCEPTIONS: Record<string, string> = {
  "lazy within, set at a number": "the row that is given is stacked for the program",
};

function bytesOf(values: unknown[]): number {
  const storages = new Set<Tensor["_storage"]>();
  const seen = new Set<unknown>();
  const open = [...values];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null || seen.has(value)) continue;
    seen.add(value);
    if (value instanceof Tensor) storages.add(value._storage);
    else if (value instanceof Map) open.push(...value.values());
    else if (!ArrayBuffer.isView(value)) {
      for (const key of Reflect.ownKeys(value)) open.push(Object.getOwnPropertyDescriptor(value, key)?.value);
    }
  }
  let sum = 0;
  for (const { kind, nbytes } of storages) if (kind === "heap") sum += Math.ceil(nbytes / 512) * 512;
  return sum;
}

/** Bytes that a call leaves beside its result; a negative number when a collection came in between. */
function left(call: (td: Any) => unknown, make: () => Any): number {
  const td = make();
  const own = bytesOf([td]);
  const before = cpu.memoryAllocated();
  let result: unknown;
  try {
    result = noGrad(() => call(td));
  } catch {
    return 0;
  }
  return cpu.memoryAllocated() - before - (bytesOf([td, result]) - own);
}

for (const [kind, make] of Object.entries(KINDS)) {
  test(`what calls leave beside their results: ${kind}`, () => {
    const wrong: string[] = [];
    for (const [name, call] of Object.entries(CALLS)) {
      let found = left(call, make);
      for (let i = 0; i < 3 && found !== 0; i++) {
        Bun.gc(true);
        found = left(call, make);
      }
      if (found >= LEAST && !(`${kind}, ${name}` in EXCEPTIONS)) wrong.push(`${name}: ${found}`);
    }
    expect(wrong).toEqual([]);
  });
}

/** Calls after one another, on what calls before gave; all that the program was ever given is read again at the end. */
function outcome(seed: number): string[] {
  const numbers = new Numbers(seed);
  manualSeed(seed);
  const kind = numbers.of(Object.keys(KINDS));
  const pool: Any[] = [(KINDS[kind] as () => Any)(), (KINDS.plain as () => Any)(), (KINDS.lazy as () => Any)()];
  const seen: unknown[] = [];
  const log: string[] = [kind];
  const names = Object.keys(CALLS);
  for (let i = 0; i < 3 + numbers.below(8); i++) {
    const td = numbers.of(pool);
    const name = numbers.of(names);
    try {
      const what = numbers.below(12);
      if (what === 0) td.lock_();
      else if (what === 1) td.unlock_();
      else if (what === 2) seen.push(td.get("a"));
      else if (what === 3) td.set("more", td.get("a"));
      else {
        const result = (CALLS[name] as (td: Any) => unknown)(td);
        seen.push(result);
        for (const one of Array.isArray(result) ? result.slice(0, 2) : [result]) {
          if (typeof one?.keys === "function" && one.batchSize?.length > 0 && one.bytes() < 2 ** 21) pool.push(one);
        }
        log.push(`${name}: ${read(result)}`);
      }
    } catch (error) {
      log.push(`${name}: ${(error as Error).message}`);
    }
  }
  for (const value of [...seen, ...pool]) {
    try {
      log.push(read(value));
    } catch (error) {
      log.push((error as Error).message);
    }
  }
  return log;
}

test("programs see what they see where nothing is given back", () => {
  const wrong: string[] = [];
  const until = performance.now() + 1000 * Number(process.env.ZENSOR_GIVEN_BACK_SECONDS ?? 0);
  const programs = rounds(150, 3000);
  for (let seed = 1; seed <= programs || performance.now() < until; seed++) {
    giving.enabled = false;
    let kept: string[];
    try {
      kept = outcome(seed);
    } finally {
      giving.enabled = true;
    }
    const given = outcome(seed);
    for (let i = 0; i < Math.max(kept.length, given.length); i++) {
      if (kept[i] === given[i]) continue;
      wrong.push(`seed ${seed}, line ${i}: ${kept[i]?.slice(0, 300)} became ${given[i]?.slice(0, 300)}`);
      break;
    }
    if (wrong.length > 5) break;
  }
  expect(wrong).toEqual([]);
}, 3_600_000);

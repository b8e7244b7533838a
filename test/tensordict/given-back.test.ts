// What methods of collections make on their way goes back when they are done, and nothing else does: bytes are counted,
// and random programs see what they see where nothing is given back. ZENSOR_GIVEN_BACK_SECONDS goes on longer.
import { expect, test } from "bun:test";
import { manualSeed } from "../../src/index.ts";
import { Numbers } from "../autograd/given-back-programs.ts";
import { differences, LEAST, left } from "../given-back.ts";
import { type Any, CALLS, KINDS, read } from "./given-back-calls.ts";

/** Calls that leave something, by kind, and why. */
const EXCEPTIONS: Record<string, string> = {
  "lazy within, set at a number": "the row that is given is stacked for the program",
};

for (const [kind, make] of Object.entries(KINDS)) {
  test(`what calls leave beside their results: ${kind}`, () => {
    const wrong: string[] = [];
    for (const [name, call] of Object.entries(CALLS)) {
      const found = left(call, make);
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
  expect(differences(outcome, 150, 3000)).toEqual([]);
}, 3_600_000);

// What the library gives back nobody can reach: programs with hooks, views, second gradients, retained graphs and
// errors half-way see the values that they see where nothing is given back. ZENSOR_GIVEN_BACK_SECONDS goes on longer.
import { expect, test } from "bun:test";
import { giving } from "../../src/tensor/temporaries.ts";
import { rounds } from "../campaign.ts";
import { outcome } from "./given-back-programs.ts";

/** The first thing in which two runs of a program differ. */
function difference(seed: number, steps: number): string | null {
  giving.enabled = false;
  let kept: unknown[];
  try {
    kept = outcome(seed, steps);
  } finally {
    giving.enabled = true;
  }
  const given = outcome(seed, steps);
  for (let i = 0; i < Math.max(kept.length, given.length); i++) {
    if (kept[i] !== given[i]) return `seed ${seed}, value ${i}: ${String(kept[i])} became ${String(given[i])}`;
  }
  return null;
}

test("programs see what they see where nothing is given back", () => {
  const wrong: string[] = [];
  const until = performance.now() + 1000 * Number(process.env.ZENSOR_GIVEN_BACK_SECONDS ?? 0);
  const programs = rounds(400, 4000);
  for (let seed = 1; seed <= programs || performance.now() < until; seed++) {
    const found = difference(seed, 6 + (seed % 25));
    if (found !== null) wrong.push(found);
    if (wrong.length > 5) break;
  }
  expect(wrong).toEqual([]);
}, 3_600_000);

// When memory is collected, on made-up programs: what collections of young objects leave, and when a full one follows.
import { expect, test } from "bun:test";
import { Pace } from "../../src/ffi/pace.ts";

const MIB = 2 ** 20;
const SIZES = { young: 32 * MIB, mostYoung: 192 * MIB, old: 128 * MIB };

interface Made {
  /** Bytes of a block. */
  block: number;
  /** Blocks that are in use at any time, and go old with a collection. */
  used: number;
  /** The part of all blocks that the program keeps. */
  kept: number;
  blocks: number;
}

/** Runs a program: what was alive at once at most, above what it keeps, and how many collections came. */
function run({ block, used, kept, blocks }: Made): { excess: number; young: number; full: number } {
  let [needed, old, fresh] = [0, 0, 0];
  const pace = new Pace(SIZES, () => needed + old + fresh);
  const counts = { excess: 0, young: 0, full: 0 };
  let sum = 0;
  for (let i = 0; i < blocks; i++) {
    if (pace.isDue) {
      const inUse = Math.min(fresh, used * block);
      old += inUse;
      fresh = 0;
      counts.young++;
      const full = pace.survey() > 1 || pace.isOutgrown;
      if (full) {
        old = inUse;
        counts.full++;
      }
      pace.collected(full);
    }
    pace.count(block);
    sum += kept;
    if (sum >= 1) {
      sum -= 1;
      needed += block;
    } else fresh += block;
    counts.excess = Math.max(counts.excess, old + fresh);
  }
  return counts;
}

test("a loop that keeps nothing has 64 MiB at most, whatever its blocks", () => {
  for (const block of [16 * 1024, 64 * 1024, MIB, 4 * MIB, 8 * MIB]) {
    for (const used of [0, 1, 2]) {
      const { excess } = run({ block, used, kept: 0, blocks: Math.ceil((4000 * MIB) / block) });
      expect(excess / MIB).toBeLessThanOrEqual(64 + (2 * block) / MIB);
    }
  }
});

test("of blocks larger than that it has few", () => {
  for (const block of [48 * MIB, 64 * MIB, 256 * MIB]) {
    const { excess } = run({ block, used: 1, kept: 0, blocks: 200 });
    expect(excess / block).toBeLessThanOrEqual(3);
  }
});

test("a program that keeps what it makes is asked seldom, and in full more seldom", () => {
  const all = run({ block: MIB, used: 0, kept: 1, blocks: 4000 });
  expect(all.young).toBeLessThan(40);
  expect(all.full).toBeLessThanOrEqual(6);
  const half = run({ block: MIB, used: 0, kept: 0.5, blocks: 4000 });
  expect(half.young).toBeLessThanOrEqual(170);
  // What it keeps looks like garbage, and is not: it has to grow ever more.
  expect(half.full).toBeLessThanOrEqual(16);
});

test("a long collection now and then changes nothing, long ones in a row do", () => {
  const pace = new Pace(SIZES, () => 0);
  const due = (): number => {
    let n = 0;
    for (; !pace.isDue; n++) pace.count(MIB);
    return n;
  };
  const collect = (ms: number): void => {
    pace.survey();
    pace.collected(false, performance.now() - ms, ms);
  };
  collect(0);
  expect(due()).toBe(33);
  collect(1000);
  expect(due()).toBe(33);
  for (let i = 0; i < 4; i++) collect(1000);
  expect(due()).toBe(49);
});

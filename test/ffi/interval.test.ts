// How many bytes lie between two collections, on made-up machines, and what the first results of a program take.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Interval } from "../../src/ffi/interval.ts";

const MIB = 2 ** 20;
const [LEAST, MOST] = [4 * MIB, 32 * MIB];
const CHOICES = [4, 8, 16, 32].map((n) => n * MIB);

const perMiB = (ms: number) => ms / MIB;
/** Writing a byte that is in the caches. */
const WRITE = perMiB(0.03);

/** Milliseconds: of a collection, of a fresh byte, of a byte of each age that the caches have lost. */
interface Made {
  collection: number;
  fresh: number;
  lost: number[];
}

function run(made: Made, collections: number, noise: () => number = () => 1) {
  let idle = 0;
  const interval: Interval = new Interval(LEAST, MOST, {
    fresh: () => made.fresh,
    idle: () => idle,
    lost(least, most) {
      const age = CHOICES.indexOf(most);
      if (age < 0 || least >= interval.bytes) return -1;
      return (made.lost[age] as number) * noise();
    },
  });
  const taken: number[] = [];
  for (let i = 0; i < collections; i++) {
    taken.push(interval.bytes);
    idle = Math.max(idle, interval.bytes);
    interval.collected(made.collection * noise());
  }
  return { interval, taken };
}

/** What a byte costs with an interval, as it is. */
function cost({ collection, lost }: Made, bytes: number): number {
  let sum = 0;
  let from = 0;
  for (const [age, to] of CHOICES.entries()) {
    if (from < bytes) sum += (to - from) * (lost[age] as number);
    from = to;
  }
  return WRITE + collection / bytes + sum / bytes;
}

const flat = (ms: number) => [1, 1, 1, 1].map((n) => perMiB(n * ms));

describe("the interval", () => {
  test("is the longest where collections are dear and caches lose nothing", () => {
    const { taken } = run({ collection: 0.4, fresh: 0, lost: flat(0.01) }, 8);
    expect(taken.map((n) => n / MIB)).toEqual([4, 4, 8, 16, 32, 32, 32, 32]);
  });

  test("grows when collections have cost what the memory will", () => {
    const fresh = perMiB(1);
    const { taken } = run({ collection: 0.5, fresh, lost: flat(0) }, 100);
    // One that counts for nothing; then 4 MiB more for 4 ms, 8 for 8, 16 for 16.
    const count = (n: number) => taken.filter((bytes) => bytes === n * MIB).length;
    expect([count(4), count(8), count(16)]).toEqual([1 + 8, 16, 32]);
    expect(taken.at(-1)).toBe(MOST);
  });

  test("is short where they are cheap and caches small", () => {
    const lost = [0.01, 0.01, 0.05, 0.05].map(perMiB);
    const { taken } = run({ collection: 0.1, fresh: perMiB(0.1), lost }, 200);
    expect(taken.at(-1)).toBe(8 * MIB);
  });

  test("follows a program whose collections become lighter", () => {
    const made = { collection: 0.8, fresh: 0, lost: [0.01, 0.01, 0.05, 0.05].map(perMiB) };
    const { interval } = run(made, 50);
    expect(interval.bytes).toBe(MOST);
    for (let i = 0; i < 100; i++) interval.collected(0.04);
    expect(interval.bytes).toBeLessThanOrEqual(8 * MIB);
    for (let i = 0; i < 200; i++) interval.collected(0.8);
    expect(interval.bytes).toBe(MOST);
  });

  test("costs little more than the best one, whatever the machine", () => {
    let state = 7;
    const random = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return state / 2 ** 32;
    };
    for (let k = 0; k < 300; k++) {
      let lost = 0;
      const made = {
        collection: 0.02 * 100 ** random(),
        fresh: perMiB(0.02 * 10 ** random()),
        lost: CHOICES.map(() => {
          lost += random() < 0.5 ? 0.05 * random() : 0;
          return perMiB(lost);
        }),
      };
      // One measurement in ten meets something else that runs.
      const { taken } = run(made, 1500, () => (random() < 0.1 ? 1 + 5 * random() : 1 + 0.1 * random()));
      const best = Math.min(...CHOICES.map((n) => cost(made, n)));
      const last = taken.slice(-200);
      const mean = last.reduce((sum, n) => sum + cost(made, n), 0) / last.length;
      expect(mean / best).toBeLessThan(1.3);
    }
  });
});

test("the first results of a program lie in few blocks", async () => {
  const index = join(import.meta.dir, "..", "..", "src", "index.ts");
  const code = `import { cpu, ones } from ${JSON.stringify(index)};
    const x = ones(1_000_000);
    const before = cpu.memoryReserved();
    for (let i = 0; i < 6; i++) x.abs();
    console.log(cpu.memoryReserved() - before);`;
  const child = Bun.spawn([process.execPath, "-e", code], { stdout: "pipe", stderr: "inherit" });
  expect(Number(await new Response(child.stdout).text())).toBeLessThan(18 * MIB);
});

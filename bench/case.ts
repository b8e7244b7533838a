// What a benchmark case is, and how one sample of it is taken.

/** One prepared side of a case. */
export interface Side {
  /** Does the work `n` times. Gives the seconds when only part of it counts, as with files removed afterwards. */
  run(n: number): number | undefined | Promise<number | undefined>;
  /** A few words for the table, such as the fastest setting. */
  note?: string;
  dispose?(): void;
}

/** The same work on two sides. */
export interface Case {
  name: string;
  /** Ours. */
  ours(): Side | Promise<Side>;
  /** What it is compared with: a case of peers/bench_torch.py by this name, or a side in this program. */
  theirs?: { label: string; side(): Side };
  /** Name of the other side in the table when Python runs it. */
  peer?: string;
  /** Python's case: its name there, when it is named otherwise, or its code. */
  python?: string | readonly [setup: string, statement: string];
  /** Repetitions of slow cases. */
  rounds?: number;
}

/** A side from the body of its loop. */
export function loop(body: () => unknown): Side {
  return {
    run(n) {
      for (let i = 0; i < n; i++) body();
      return undefined;
    },
  };
}

/** Seconds on the clock, or seconds that this program computed, all its threads together. */
export type Clock = "wall" | "cpu";

function now(clock: Clock): number {
  if (clock === "wall") return performance.now() / 1000;
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** Seconds of `n` repetitions; sides that take their own time give seconds on the wall. */
export async function sample(side: Side, n: number, clock: Clock = "wall"): Promise<number> {
  const start = now(clock);
  const own = await side.run(n);
  return own ?? now(clock) - start;
}

/** How long a side runs before it counts: compilers and caches take their time. */
const WARM_SECONDS = 0.3;

/** How many repetitions fill a sample, after warming up. */
export async function repetitions(side: Side, seconds: number): Promise<number> {
  let n = 1;
  let spent = 0;
  for (;;) {
    const t = Math.max(await sample(side, n), 1e-9);
    spent += t;
    const fitting = Math.max(1, Math.round((n * seconds) / t));
    if (spent >= WARM_SECONDS) return fitting;
    n = Math.min(2 * n, fitting);
  }
}

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
  /** Python's case, when it is named otherwise. */
  python?: string;
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

/** Seconds of `n` repetitions. */
export async function sample(side: Side, n: number): Promise<number> {
  const start = performance.now();
  const own = await side.run(n);
  return own ?? (performance.now() - start) / 1000;
}

/** How many repetitions fill a sample, found by doubling; this warms up too. */
export async function repetitions(side: Side, seconds: number): Promise<number> {
  let n = 1;
  for (;;) {
    const t = await sample(side, n);
    if (t >= seconds / 2 || n >= 2 ** 24) return Math.max(1, Math.round((n * seconds) / Math.max(t, 1e-9)));
    n *= 2;
  }
}

// What instrumented sources call (instrument.ts): every mutant is there, and the one whose number is `on` is in force.
// Loaded before anything else, as a global: sources of the copy have no import for it.

type Value = (a: never, b: never) => unknown;

const COMPUTE: Record<string, Value> = {
  "+": (a: number, b: number) => a + b,
  "-": (a: number, b: number) => a - b,
  "*": (a: number, b: number) => a * b,
  "/": (a: number, b: number) => a / b,
  "%": (a: number, b: number) => a % b,
  "<": (a: number, b: number) => a < b,
  "<=": (a: number, b: number) => a <= b,
  ">": (a: number, b: number) => a > b,
  ">=": (a: number, b: number) => a >= b,
  "===": (a: unknown, b: unknown) => a === b,
  "!==": (a: unknown, b: unknown) => a !== b,
};

/** Steps without end are cut off by an error; while it goes up, as many more are let through. */
const GRACE = 5_000_000;

/** As many mutants as can be told apart. */
export const ROOM = 1 << 13;

export class Switch {
  /** The mutant in force; below zero none. */
  on = Number(process.env.MUTANT ?? -1);
  /** Places that ran since this was cleared. */
  readonly hits = new Uint8Array(ROOM);
  steps = 0;
  most = Number.POSITIVE_INFINITY;

  private seen(id: number): void {
    this.hits[id] = 1;
    if (++this.steps <= this.most) return;
    this.steps = -GRACE;
    throw new Error("a mutant runs without end");
  }

  op(id: number, before: string, after: string, a: unknown, b: unknown): unknown {
    this.seen(id);
    return (COMPUTE[this.on === id ? after : before] as Value)(a as never, b as never);
  }

  and(id: number, a: unknown, b: () => unknown): unknown {
    this.seen(id);
    return this.on === id ? a || b() : a && b();
  }

  or(id: number, a: unknown, b: () => unknown): unknown {
    this.seen(id);
    return this.on === id ? a && b() : a || b();
  }

  one<T>(id: number, before: T, after: T): T {
    this.seen(id);
    return this.on === id ? after : before;
  }

  not(id: number, a: unknown): unknown {
    this.seen(id);
    return this.on === id ? a : !a;
  }
}

export const mutants = new Switch();
(globalThis as { __mutants?: Switch }).__mutants = mutants;

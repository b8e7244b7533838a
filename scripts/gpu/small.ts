// Small operators, where the way to the device takes the time: how fast they are queued, and when a result is there.
import * as z from "../../src/index.ts";
import { effortOf, isLate, type Part, type Run, reasonOf } from "./parts.ts";
import type { Row } from "./results.ts";
import { measure, onHost } from "./timing.ts";

const SIZES = [10, 100, 1000] as const;
/** Calls in a row: few enough that no queue is full. */
const CALLS = 200;
/** Such rows before what counts: compilers on both sides take their time. */
const WARM = 100;
const ROUNDS = 15;

const WORK: Readonly<Record<string, { body: (x: z.Tensor, y: z.Tensor) => z.Tensor; torch: string }>> = {
  add: { body: (x, y) => x.add(y), torch: "x + y" },
  mul: { body: (x, y) => x.mul(y), torch: "x * y" },
  "add in place": { body: (x, y) => x.add_(y), torch: "x.add_(y)" },
  sum: { body: (x) => x.sum(), torch: "x.sum()" },
  matmul: { body: (x, y) => x.matmul(y), torch: "x @ y" },
};

async function row(run: Run, name: string, n: number): Promise<Row> {
  const { body, torch } = WORK[name] as (typeof WORK)[string];
  const side = Math.floor(Math.sqrt(n));
  const shape = name === "matmul" ? [side, side] : [n];
  const elements = shape.reduce((a, b) => a * b);
  const described: Row = { name, elements };
  if (isLate(run)) return { ...described, note: "no time left" };
  const [x, y] = [z.ones(shape, { device: "cuda" }), z.ones(shape, { device: "cuda" })];
  const call = (): void => {
    const made = body(x, y);
    if (made !== x) made.dispose();
  };
  const queue = (n: number): number => {
    z.cuda.synchronize();
    const seconds = onHost(() => {
      for (let i = 0; i < n; i++) call();
    });
    z.cuda.synchronize();
    return seconds;
  };
  const each = (n: number): number =>
    onHost(() => {
      for (let i = 0; i < n; i++) {
        call();
        z.cuda.synchronize();
      }
    });
  try {
    const given = `x, y = (torch.ones(${shape.join(", ")}, device='cuda') for _ in range(2))`;
    const theirs = await run.peers.torch(given, torch);
    const calls = run.small ? 5 : CALLS;
    const rounds = run.small ? effortOf(run).rounds : ROUNDS;
    for (let i = 0; i < (run.small ? 1 : WARM); i++) {
      queue(calls);
      await theirs?.(calls);
    }
    const per = (once: (n: number) => number) => (): number => once(calls) / calls;
    const queued = await measure(
      { sample: 0, rounds },
      per(queue),
      theirs && (async () => (await theirs(calls)) / calls),
    );
    const whole = await measure({ sample: 0, rounds }, per(each));
    return { ...described, seconds: queued.seconds, least: queued.least, whole: whole.seconds, torch: queued.theirs };
  } catch (error) {
    return { ...described, note: reasonOf(error) };
  } finally {
    x.dispose();
    y.dispose();
  }
}

export const small: Part = async (run) => {
  for (const name of Object.keys(WORK)) {
    for (const n of run.small ? SIZES.slice(0, 1) : SIZES) run.results.add("small", await row(run, name, n));
  }
  return undefined;
};

// Times of work on a device: by its events where there are some, else by the clock between two synchronisations.
import { median } from "../../bench/statistics.ts";
import * as z from "../../src/index.ts";

/** An event as torch has it; older builds lack them. */
interface TimedEvent {
  record(): void;
  synchronize(): void;
  elapsedTime(end: TimedEvent): number;
}

type EventClass = new (options: { enableTiming: boolean }) => TimedEvent;

function eventClass(): EventClass | null {
  return (z.cuda as unknown as { Event?: EventClass }).Event ?? null;
}

export const clockName = (): string => (eventClass() === null ? "synchronised clock" : "events");

/** What is repeated; a fresh result is given back at once. */
export type Body = () => z.Tensor | undefined;

function repeat(body: Body, n: number): void {
  for (let i = 0; i < n; i++) body()?.dispose();
}

/** Seconds of `n` calls on the device. */
export function onDevice(body: Body, n: number): number {
  const Event = eventClass();
  if (Event === null) {
    z.cuda.synchronize();
    return onHost(() => {
      repeat(body, n);
      z.cuda.synchronize();
    });
  }
  const [begin, end] = [new Event({ enableTiming: true }), new Event({ enableTiming: true })];
  begin.record();
  repeat(body, n);
  end.record();
  end.synchronize();
  return begin.elapsedTime(end) / 1000;
}

/** Seconds that the host takes. */
export function onHost(body: () => unknown): number {
  const start = performance.now();
  body();
  return (performance.now() - start) / 1000;
}

/** The other side of a comparison: seconds of `n` calls there. */
export type Theirs = (n: number) => Promise<number>;

export interface Measured {
  seconds: number;
  least: number;
  theirs?: number;
}

export interface Effort {
  /** Seconds that a sample should last, and how many there are. */
  sample: number;
  rounds: number;
}

/** Samples in turn with the other side's, after calls that do not count. */
export async function measure(
  effort: Effort,
  once: (n: number) => number,
  theirs: Theirs | null = null,
): Promise<Measured> {
  once(1);
  const first = Math.max(once(1), 1e-7);
  const n = Math.max(1, Math.min(10_000, Math.round(effort.sample / first)));
  const [ours, others]: [number[], number[]] = [[], []];
  for (let round = 0; round < effort.rounds; round++) {
    ours.push(once(n) / n);
    if (theirs !== null) others.push((await theirs(n)) / n);
  }
  const found = { seconds: median(ours), least: Math.min(...ours) };
  return theirs === null ? found : { ...found, theirs: median(others) };
}

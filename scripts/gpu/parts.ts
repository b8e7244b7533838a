// What every part of a run on a GPU is given.

import type { Peers } from "./peers.ts";
import type { PartState, Results, Row } from "./results.ts";
import { type Body, type Effort, measure, onDevice, type Theirs } from "./timing.ts";

export interface Run {
  results: Results;
  /** Small sizes are for the stand-in: everything runs, nothing is measured. */
  small: boolean;
  peers: Peers;
  /** Where cases lie. */
  fixtures: string;
  /** `performance.now()` at which the part has to end. */
  until: number;
}

/** Runs a part of a run; what it gives is a word about how it went. */
export type Part = (run: Run) => Promise<Partial<PartState> | undefined>;

export const effortOf = (run: Run): Effort => (run.small ? { sample: 0, rounds: 1 } : { sample: 0.03, rounds: 5 });

export const isLate = (run: Run): boolean => performance.now() > run.until;

/** Why a measurement has no number; a failure that nobody expects goes on. */
export function reasonOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  if (code === "cuda_no_kernel") return `no kernel: ${/"([\w.]+)"/.exec(message ?? "")?.[1]}`;
  if (code === "out_of_memory") return "not enough memory";
  return `failed: ${String(message ?? error).split("\n")[0]}`;
}

/** One measurement, noted with its number or the reason why there is none. */
export async function measured(
  run: Run,
  part: string,
  row: Row,
  prepare: () => { body: Body; theirs?: Theirs | null; cublas?: Theirs | null; dispose(): void },
): Promise<Row> {
  let made: Row = row;
  if (isLate(run)) made = { ...row, note: "no time left" };
  else {
    try {
      const { body, theirs = null, cublas = null, dispose } = prepare();
      try {
        const found = await measure(effortOf(run), (n) => onDevice(body, n), theirs);
        made = { ...row, seconds: found.seconds, least: found.least, torch: found.theirs };
        if (cublas !== null) {
          const other = await measure({ ...effortOf(run), rounds: 3 }, (n) => onDevice(body, n), cublas);
          made.cublas = other.theirs === undefined ? undefined : (made.seconds! * other.theirs) / other.seconds;
        }
      } finally {
        dispose();
      }
    } catch (error) {
      made = { ...row, note: reasonOf(error) };
    }
  }
  run.results.add(part, made);
  return made;
}

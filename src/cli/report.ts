// What a check finds.
import { progressBar } from "./progress.ts";

const MIB = 2 ** 20;
/** Most problems that are listed. */
const MOST = 1000;

/** One thing that is wrong. */
export interface Problem {
  /** An entry, a file or a tensor; "" is the whole. */
  where: string;
  what: string;
}

/** Collects problems, and shows how far a check is. */
export class Report {
  readonly problems: Problem[] = [];
  /** The member of a folder that is being looked at; "" otherwise. */
  member = "";
  /** Checksums that were compared. */
  checksums = 0;
  private done = 0;
  private total = 0;
  private readonly bar;

  constructor(quiet: boolean) {
    this.bar = progressBar("MiB", quiet);
  }

  problem(where: string, what: string): void {
    if (this.problems.length >= MOST) return;
    const place = this.member === "" || where === "" ? this.member + where : `${this.member}/${where}`;
    this.problems.push({ where: place, what });
  }

  /** More bytes that will be looked at. */
  expect(nbytes: number): void {
    this.total += nbytes;
  }

  /** Bytes that were looked at. */
  advance(nbytes: number): void {
    this.done += nbytes;
    this.bar.update(Math.round(this.done / MIB), Math.max(1, Math.round(this.total / MIB)));
  }

  stop(): void {
    this.bar.stop();
  }
}

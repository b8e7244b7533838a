/** How often memory of one kind is worth a collection. */
import type { Interval } from "./interval.ts";

export interface Sizes {
  /** Bytes allocated between two collections of young objects, without an interval that finds out. */
  readonly young: number;
  /** As many when the program keeps what it makes. */
  readonly mostYoung: number;
  /** Growth since the last full collection that is worth another one. */
  readonly old: number;
}

/** Collections of young objects take so much of the time between them at most, while there is memory for fewer. */
const MOST_SHARE = 0.25;

/**
 * Counts what is allocated, and says when results that nobody uses any more may have piled up. A program that keeps
 * what it makes is asked ever less often.
 */
export class Pace {
  #young = 0;
  #patience: number;
  #liveBefore = 0;
  /** When the last collection ended. */
  #ended = -Infinity;
  #oldLimit: number;

  constructor(
    private sizes: Sizes,
    /** Bytes of blocks that somebody has. */
    private readonly live: () => number,
    private readonly interval: Interval | null = null,
  ) {
    this.#patience = this.#interval;
    this.#oldLimit = sizes.old;
  }

  /** Other sizes from now on. */
  set(sizes: Sizes): void {
    this.sizes = sizes;
    this.#patience = sizes.young;
    this.#oldLimit = Math.max(this.#oldLimit, sizes.old);
  }

  get #interval(): number {
    return this.interval === null ? this.sizes.young : this.interval.bytes;
  }

  /** A block of so many bytes is about to be made. */
  count(nbytes: number): void {
    this.#young += nbytes;
  }

  /** A counted block was given back by hand. */
  uncount(nbytes: number): void {
    this.#young = Math.max(0, this.#young - nbytes);
  }

  get isDue(): boolean {
    return this.#young > this.#patience;
  }

  /** Long enough for code that allocates without operators, which look themselves. */
  get isOverdue(): boolean {
    return this.#young > 2 * this.#patience;
  }

  /** By how often what is alive has outgrown what the last full collection left; above 1 another one is worth it. */
  get growth(): number {
    return this.live() / this.#oldLimit;
  }

  /** After a collection, of all or of young objects; the latter took so many milliseconds from `start` on, if any. */
  collected(full: boolean, start = performance.now(), ms = 0): void {
    const live = this.live();
    const { young, mostYoung, old } = this.sizes;
    if (ms > 0 && this.isDue) this.interval?.collected(ms);
    if (full) this.#oldLimit = Math.max(live + old, 2 * live);
    const isKept = live - this.#liveBefore >= 0.75 * this.#young;
    // Results that nobody writes are made so fast that collections would take most of the time.
    const isHeavy = this.#patience >= young && ms > MOST_SHARE * (start - this.#ended);
    this.#patience = isKept || isHeavy ? Math.min(2 * this.#patience, mostYoung) : this.#interval;
    this.#liveBefore = live;
    this.#young = 0;
    this.#ended = start + ms;
  }
}

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

/** What has survived collections of young objects that most did not, and is worth a full one. */
const SUSPECT = 12 * 2 ** 20;

/** Collections of young objects take so much of the time between them at most, while there is memory for fewer. */
const MOST_SHARE = 0.25;
const FEW = 4;
/** So many in a row have to. */
const MANY = 3;

/**
 * Counts what is allocated, and says when results that nobody uses any more may have piled up. A program that keeps
 * what it makes is asked ever less often.
 */
export class Pace {
  #young = 0;
  #blocks = 0;
  #patience: number;
  #liveBefore = 0;
  /** When the last collection ended. */
  #ended = -Infinity;
  #oldLimit: number;
  /**
   * Bytes that were in use when a collection came, mostly by what a caller's frame keeps of a statement: they are old
   * from then on.
   */
  #suspect = 0;
  #suspectLimit = SUSPECT;
  /** What was alive after the last collection of young objects. */
  #survived = 0;
  /** How many collections in a row took a large part of the time. */
  #heavy = 0;

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
    this.#blocks++;
  }

  /** A counted block was given back by hand. */
  uncount(nbytes: number): void {
    this.#young = Math.max(0, this.#young - nbytes);
  }

  /** Sooner when there is garbage already that such a collection does not find. */
  get isDue(): boolean {
    const shorter = Math.min(1, this.#suspect / this.#suspectLimit) * Math.min(SUSPECT, this.#patience);
    return this.#young > this.#patience - shorter / 2;
  }

  /** Long enough for code that allocates without operators, which look themselves. */
  get isOverdue(): boolean {
    return this.#young > 2 * this.#patience;
  }

  /**
   * After a collection of young objects: by how often what is alive has outgrown what the last full one left, or what
   * most likely is garbage has outgrown what is worth another; above 1 it is.
   */
  survey(): number {
    const live = this.live();
    if (!this.#isKept(live)) this.#suspect = Math.max(0, this.#suspect + live - this.#liveBefore);
    this.#survived = live;
    return Math.max(live / this.#oldLimit, this.#suspect / this.#suspectLimit);
  }

  /** The program keeps what it makes. Of a few large blocks that is not known yet. */
  #isKept(live: number): boolean {
    return this.#blocks >= FEW && live - this.#liveBefore >= 0.75 * this.#young;
  }

  /** Whatever the time that it takes. */
  get isOutgrown(): boolean {
    return this.#survived > 4 * this.#oldLimit;
  }

  /** After a collection, of all or of young objects; the latter took so many milliseconds from `start` on, if any. */
  collected(full: boolean, start = performance.now(), ms = 0): void {
    const live = this.live();
    const { young, mostYoung, old } = this.sizes;
    if (ms > 0 && this.isDue) this.interval?.collected(ms);
    const isKept = this.#isKept(live);
    if (full) {
      this.#oldLimit = Math.max(live + old, 2 * live);
      // In vain: what survives is in use.
      if (this.#suspect > this.#suspectLimit) {
        const isFreed = this.#survived - live > this.#suspect / 2;
        this.#suspectLimit = isFreed ? SUSPECT : Math.max(SUSPECT, Math.min(2 * this.#suspectLimit, live / 2));
      }
      this.#suspect = 0;
    }
    // Results that nobody writes are made so fast that collections would take most of the time.
    // One that took long on account of other programs says nothing.
    this.#heavy = ms > MOST_SHARE * (start - this.#ended) ? this.#heavy + 1 : 0;
    const isHeavy = this.#interval >= young && this.#heavy >= MANY;
    if (isKept) this.#patience = Math.min(2 * this.#patience, mostYoung);
    else this.#patience = isHeavy ? 1.5 * young : this.#interval;
    this.#liveBefore = live;
    this.#young = 0;
    this.#blocks = 0;
    this.#ended = start + ms;
  }
}

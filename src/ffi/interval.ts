/** How many bytes of results lie between two collections. */

/** What an interval follows. */
export interface Machine {
  /** Milliseconds that a byte takes which the system has to give first; 0 while nobody knows. */
  fresh(): number;
  /** Bytes that wait to be handed out. */
  idle(): number;
  /**
   * Milliseconds that a byte takes longer to write when so many bytes were handed out since its block was; negative
   * when no block has that age.
   */
  lost(least: number, most: number): number;
}

/** Ages of blocks are told apart up to the least interval, up to twice as many bytes, and so on. */
const AGES = 4;
/** One collection in so many is followed by a look at what the caches have lost, all of the first few are. */
const LOOK_EVERY = 16;
const FIRST_LOOKS = 4;
/** Another interval has to save so much of what is spent. */
const WORTH = 0.9;
/** Of what an age has lost, so much is believed at the next look where no block has that age. */
const FADING = 0.97;

/** `value` moves towards what was measured, up less than down: other programs make things longer, never shorter. */
function towards(value: number, measured: number): number {
  return value < 0 ? measured : value + Math.min((measured - value) / 2, value / 8);
}

/**
 * The interval that costs least. A short one has many collections. A long one has results written where the caches no
 * longer hold what was there, and takes memory that the system has to give first. All three are measured as the program
 * goes: how heavy a collection is depends on what is loaded, what caches hold on who else uses them.
 */
export class Interval {
  /** Bytes between two collections: a power of two times `least`. */
  bytes: number;
  /** Milliseconds of a collection, before one was made after the first. */
  #collection = -1;
  /** Milliseconds that collections took since the interval changed. */
  #spent = 0;
  #collections = 0;
  /** Milliseconds that a byte takes longer, by age. */
  readonly #lost: number[] = Array(AGES).fill(-1);

  constructor(
    private readonly least: number,
    private readonly most: number,
    private readonly machine: Machine,
  ) {
    this.bytes = least;
  }

  /** After a collection of young objects that took so many milliseconds. */
  collected(ms: number): void {
    // The first one of a program marks all that it has loaded.
    if (this.#collections++ === 0) return;
    this.#collection = towards(this.#collection, ms);
    this.#spent += ms;
    if (this.#collections <= FIRST_LOOKS || this.#collections % LOOK_EVERY === 0) this.#look();
    const now = this.#cost(this.bytes);
    if (this.bytes < this.most && this.#cost(2 * this.bytes) < WORTH * now) {
      // More memory is asked for when collections have cost as much as it will: whatever the program does next, it has
      // spent twice of what it had to at most.
      const missing = Math.max(0, 2 * this.bytes - this.machine.idle());
      if (this.#spent >= missing * this.machine.fresh()) this.#change(2 * this.bytes);
    } else if (this.bytes > this.least && this.#cost(this.bytes / 2) < WORTH * now) this.#change(this.bytes / 2);
  }

  #change(bytes: number): void {
    this.bytes = bytes;
    this.#spent = 0;
    // What the new one does to the caches is seen next.
    this.#collections = 1;
  }

  #look(): void {
    // Without writing: code and lists come into the caches, which is nothing that results have lost.
    this.machine.lost(0, 0);
    let from = 0;
    for (let age = 0; age < AGES; age++) {
      const to = this.least * 2 ** age;
      const lost = this.machine.lost(from, to);
      const known = this.#lost[age] as number;
      if (lost >= 0) this.#lost[age] = towards(known, lost);
      // What has not been seen for long is worth another try.
      else if (known > 0) this.#lost[age] = FADING * known;
      from = to;
    }
  }

  /**
   * Milliseconds that a byte of results takes on account of collections. The block that was handed out last is taken
   * first: before one is written again, all those were that are younger at the collection, and no others. What nobody
   * has seen is taken to be as the age below.
   */
  #cost(interval: number): number {
    let lost = 0;
    let known = 0;
    let from = 0;
    for (let age = 0; age < AGES && from < interval; age++) {
      const to = this.least * 2 ** age;
      const here = this.#lost[age] as number;
      if (here >= 0) known = here;
      lost += known * (to - from);
      from = to;
    }
    return this.#collection / interval + lost / interval;
  }
}

// Long work on the program's own thread, in slices between which timers and requests get their turn.

/** How long one slice takes, in milliseconds. */
const SLICE_MS = 4;

/** Tells when to pause: `if (slices.over) await slices.pause()` between small steps of the work. */
export class Slices {
  private end = performance.now() + SLICE_MS;

  /** Throws the reason of a signal that is aborted already. */
  constructor(private readonly signal?: AbortSignal) {
    signal?.throwIfAborted();
  }

  /** True when it is time for a pause. */
  get over(): boolean {
    return performance.now() >= this.end;
  }

  /** Lets everything else run that waits. Throws the reason of a signal that was aborted. */
  async pause(): Promise<void> {
    await new Promise<void>((resume) => setImmediate(resume));
    this.signal?.throwIfAborted();
    this.end = performance.now() + SLICE_MS;
  }
}

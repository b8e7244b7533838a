// One writer at a time in a directory, whichever process or Worker it is of: a lock of the system's on the directory.
// It goes with the process or the thread that holds it, so that none is ever left behind.

import { addressOf, native } from "../../ffi/library.ts";
import { fstatSync, statSync } from "../../runtime/node.ts";
import { runSteps, type Steps, wait } from "../base/steps.ts";

const EAGAIN = process.platform === "darwin" ? 35 : 11;
/** Milliseconds between two looks; more while the lock is not had. */
const FIRST_PAUSE = 0.2;
const LONGEST_PAUSE = 10;

/** Directories that this thread has locked. */
const mine = new Set<string>();

function identityOf({ dev, ino }: { dev: number; ino: number }): string {
  return `${dev}:${ino}`;
}

function identityAt(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false });
  return stat === undefined ? "" : identityOf(stat);
}

/** The right to write in a directory; dispose it. */
export class DirectoryLock {
  private constructor(
    private readonly descriptor: number,
    private readonly identity: string,
  ) {}

  /**
   * Steps until nobody else has the lock. Where the directory cannot be locked, as on some file servers, nothing is
   * waited for; nor is, at once, what this very thread does in the background.
   */
  static *taking(path: string, signal?: AbortSignal): Steps<DirectoryLock> {
    for (let pause = FIRST_PAUSE; ; pause = Math.min(LONGEST_PAUSE, 2 * pause)) {
      signal?.throwIfAborted();
      const lock = yield* wait(
        () => DirectoryLock.attempt(path, true),
        async () => DirectoryLock.attempt(path, false),
      );
      if (lock !== null) return lock;
      yield* wait(
        () => Bun.sleepSync(pause),
        () => Bun.sleep(pause),
      );
    }
  }

  /** `taking` at once. */
  static take(path: string): DirectoryLock {
    return runSteps(DirectoryLock.taking(path));
  }

  /** Null when somebody else has it. */
  private static attempt(path: string, evenMine: boolean): DirectoryLock | null {
    const name = new TextEncoder().encode(`${path}\0`);
    for (;;) {
      const before = identityAt(path);
      if (mine.has(before)) return evenMine ? new DirectoryLock(-1, "") : null;
      const descriptor = native.zs_io_lock(addressOf(name));
      if (descriptor === -EAGAIN) return null;
      if (descriptor < 0) return new DirectoryLock(-1, "");
      // Another directory may have taken the name meanwhile.
      const identity = identityOf(fstatSync(descriptor));
      if (identity !== identityAt(path)) {
        native.zs_io_unlock(descriptor);
        continue;
      }
      mine.add(identity);
      return new DirectoryLock(descriptor, identity);
    }
  }

  [Symbol.dispose](): void {
    if (this.descriptor < 0) return;
    mine.delete(this.identity);
    native.zs_io_unlock(this.descriptor);
  }
}

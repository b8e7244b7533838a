// Directories written whole: beside the target under another name, with which they trade places when every byte is on
// the disk. Whoever opens the target finds the old directory or the new one.
import { chmodSync, dirname, join, mkdirSync, statSync } from "../../runtime/node.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { guarded, OSError } from "../base/errors.ts";
import { swept, temporaryBeside } from "../base/leftovers.ts";
import { asSaid, rememberPath } from "../base/paths.ts";
import { realTarget } from "../base/places.ts";
import type { Steps } from "../base/steps.ts";
import { listedNow, looked, metadataOf, strangeIn } from "./directory-contents.ts";
import { DirectoryLock } from "./directory-lock.ts";
import { discarded, requireDescriptor, syncDirectories, syncUpward, tradeBack, tradePlaces } from "./durable.ts";
import { takeName } from "./naming.ts";

/** How a directory is replaced. */
export interface ReplaceOptions {
  /** False: a target that is not empty is an error. */
  existsok?: boolean;
  /** Lets two directories trade names; false where that cannot be done. */
  exchange?: (a: string, b: string) => boolean;
}

/** A directory that takes the place of another one in one step. */
export class AtomicDirectory {
  /** What will be replaced. */
  readonly target: string;
  /** Where the new directory is written. */
  readonly path: string;
  private readonly work: string;
  /** The outermost directory that was made for the target to lie in. */
  private outermost: string | undefined;

  constructor(
    target: string,
    private readonly options: ReplaceOptions = {},
  ) {
    this.target = realTarget(target);
    this.work = temporaryBeside(this.target);
    this.path = join(this.work, "new");
    for (const path of [this.work, this.path]) rememberPath(path, asSaid(target));
  }

  /** Makes the empty new directory, after a check that the target may be replaced. */
  begin(): void {
    this.check();
    const parent = dirname(this.target);
    requireDescriptor(this.target);
    this.outermost = guarded(parent, () => mkdirSync(parent, { recursive: true }));
    guarded(this.work, () => mkdirSync(this.work));
    guarded(this.path, () => mkdirSync(this.path));
  }

  /**
   * Puts the new directory in place. All its files must be on the disk. A disk takes its time, and so does giving back
   * the pages of old files.
   */
  *commit(signal?: AbortSignal): Steps<void> {
    this.check();
    this.takeOver();
    yield* syncDirectories(this.path);
    signal?.throwIfAborted();
    let done = false;
    while (!done) {
      // Whoever writes in the old directory, or appends to it, ends before.
      using _ = yield* DirectoryLock.taking(this.target, signal);
      done = this.trade();
    }
    yield* syncUpward(dirname(this.target), this.outermost);
    yield* this.abandon();
    // Only now: such a directory may hold the last whole content where names cannot be exchanged.
    yield* swept(this.target);
  }

  private takeOver(): void {
    const old = statSync(this.target, { throwIfNoEntry: false });
    if (old !== undefined) guarded(this.path, () => chmodSync(this.path, old.mode & 0o7777));
  }

  /** False when another one has taken the name meanwhile, which nothing had before. */
  private trade(): boolean {
    const { target, path } = this;
    this.check();
    if (statSync(target, { throwIfNoEntry: false }) === undefined) return takeName(path, target);
    const aside = tradePlaces(path, target, join(this.work, "old"), this.options.exchange);
    try {
      // What was put there since the look at it.
      this.mayReplace(listedNow(aside), aside);
    } catch (error) {
      tradeBack(path, target, aside, this.options.exchange);
      throw error;
    }
    return true;
  }

  /** Removes what was written so far. */
  abandon(): Steps<void> {
    return discarded(this.work);
  }

  private check(): void {
    const { target } = this;
    looked(target, (stat) => {
      if (!stat.isDirectory())
        throw new OSError(`${target} exists and is not a directory.`, { path: target, errno: 20, code: "ENOTDIR" });
      this.mayReplace(listedNow(target));
    });
  }

  private mayReplace(names: readonly string[], at = this.target): void {
    const { target } = this;
    if (names.length === 0) return;
    if (this.options.existsok === false) {
      throw new OSError(`${target} is not empty and existsok=False.`, { path: target, errno: 17, code: "EEXIST" });
    }
    if (!names.includes("meta.json") || metadataOf(at) === "other") {
      throw new RuntimeError(
        asSaid(
          `Refusing to replace ${target} with atomic=True: it is not empty and holds no saved tensordict ` +
            "(no meta.json).",
        ),
      );
    }
    const strange = strangeIn(at, names);
    if (strange !== null) {
      throw new RuntimeError(
        asSaid(
          `Refusing to replace ${target} with atomic=True: it holds ${strange}, which is no part of a tensordict.`,
        ),
      );
    }
  }
}

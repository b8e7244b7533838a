// Directories whose files are written aside and moved to their places when all of them are complete: what stops the
// save before leaves the old files as they were, and files that the save does not name stay.
import { dirname, join, lstatSync, mkdirSync, statSync } from "../../runtime/node.ts";
import { guarded, systemError } from "../base/errors.ts";
import { sweepLeftovers, swept } from "../base/leftovers.ts";
import type { Steps } from "../base/steps.ts";
import { checkPlace, makeDirectory } from "./directory-checks.ts";
import { DirectoryLock } from "./directory-lock.ts";
import {
  discarded,
  removed,
  replaced,
  requireDescriptor,
  syncDirectories,
  syncUpward,
  temporaryBeside,
} from "./durable.ts";
import { takeName } from "./naming.ts";

/** What the unfinished one is called inside of its target. */
const INSIDE = ".zensor";

/** How files get their places. */
export interface CommitOptions {
  /** Wait for the disk. */
  sync: boolean;
  /** Staged files that may replace none. */
  exclusive?: ReadonlySet<string>;
  /** Throws for what is in the way; runs before the first change. */
  check?: () => void;
  /** Runs last, before somebody else may write there. */
  done?: () => Steps<void>;
  /** Ends the waiting for others. */
  signal?: AbortSignal;
}

const unfinished = (target: string): string[] => [join(target, INSIDE), target];

/** Removes what saves of this kind left that were cut off: for a save that does not stage. */
export function sweepStaged(target: string): void {
  for (const each of unfinished(target)) sweepLeftovers(each);
}

/** A directory that is filled aside. */
export class StagedDirectory {
  /** Where it is filled: inside of the target if there is one, so that both are on one file system. */
  readonly path: string;
  private begun = false;
  /** The outermost directory that was made for it to lie in. */
  private outermost: string | undefined;

  constructor(readonly target: string) {
    const there = guarded(target, () => statSync(target, { throwIfNoEntry: false })?.isDirectory()) === true;
    this.path = there ? temporaryBeside(join(target, INSIDE)) : temporaryBeside(target);
  }

  /** Makes it. */
  begin(): void {
    const parent = dirname(this.path);
    requireDescriptor(this.target);
    this.outermost = guarded(parent, () => mkdirSync(parent, { recursive: true }));
    guarded(this.path, () => mkdirSync(this.path));
    this.begun = true;
  }

  /**
   * Moves everything to its place, in the order of `files`, when no other save is at work there. What drives it has no
   * signal: once it has begun to move files it ends.
   * @param directories those below the target, outer ones first; files and directories are named as they are staged
   */
  *commit(directories: readonly string[], files: readonly string[], options: CommitOptions): Steps<void> {
    const { target, path } = this;
    const { sync, check, done, signal } = options;
    // What has a name on the disk has its content there.
    if (sync) yield* syncDirectories(path);
    for (;;) {
      using _ = yield* DirectoryLock.taking(target, signal);
      check?.();
      if (lstatSync(target, { throwIfNoEntry: false }) !== undefined) {
        yield* this.moveInto(directories, files, options);
        if (done !== undefined) yield* done();
        break;
      }
      if (takeName(path, target)) break;
    }
    this.begun = false;
    for (const each of unfinished(target)) yield* swept(each);
    if (!sync) return;
    yield* syncDirectories(target);
    yield* syncUpward(dirname(target), this.outermost);
  }

  private *moveInto(directories: readonly string[], files: readonly string[], options: CommitOptions): Steps<void> {
    const { target, path } = this;
    const { sync, exclusive } = options;
    checkPlace(target, true);
    for (const directory of directories) {
      makeDirectory(this.place(directory));
      yield;
    }
    for (const [i, file] of files.entries()) {
      // The last one tells of the others.
      if (sync && i === files.length - 1) yield* syncDirectories(target);
      const place = this.place(file);
      if (exclusive?.has(file) !== true) yield* replaced(file, place);
      else if (!takeName(file, place)) throw systemError(17, place);
    }
    yield* removed(path);
  }

  /** Where a staged path belongs. */
  place(path: string): string {
    return this.target + path.slice(this.path.length);
  }

  /** Removes what was staged. */
  *abandon(): Steps<void> {
    if (this.begun) yield* discarded(this.path);
  }
}

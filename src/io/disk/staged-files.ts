// Files of a directory that is filled aside: at the end each is the one that was begun, and as long as it has to be.
// Programs that clean folders may have removed some meanwhile.
import { JobFlag } from "../../../generated/abi.ts";
import { closeSync, fstatSync, lstatSync, openSync } from "../../runtime/node.ts";
import { guarded } from "../base/errors.ts";
import type { Steps } from "../base/steps.ts";
import { lostError } from "./durable.ts";

interface Staged {
  path: string;
  /** Null where somebody else knows it. */
  nbytes: number | null;
  /** It is written in parts, and begun before them: 0 until it is. */
  inode: number | null;
}

/** Files that are checked between two pauses. */
const CHECKED_AT_ONCE = 64;

/** The files that jobs write. */
export class StagedFiles {
  private readonly files: Staged[] = [];

  /** Adds one; gives the flags of jobs that write it, of which only one may make it. */
  add(path: string, nbytes: number | null, inParts = false): number {
    this.files.push({ path, nbytes, inode: inParts ? 0 : null });
    return inParts ? 0 : JobFlag.create;
  }

  /** Makes those that are written in parts. */
  begin(): void {
    for (const file of this.files) {
      if (file.inode === null) continue;
      const descriptor = guarded(file.path, () => openSync(file.path, "wx", 0o644));
      file.inode = fstatSync(descriptor).ino;
      closeSync(descriptor);
    }
  }

  /** Throws unless every file is there as it was written; `place` gives the name that errors tell. */
  *requireWhole(place: (path: string) => string): Steps<void> {
    for (const [i, { path, nbytes, inode }] of this.files.entries()) {
      if (i % CHECKED_AT_ONCE === 0) yield;
      const now = lstatSync(path, { throwIfNoEntry: false });
      if (now === undefined || (nbytes !== null && now.size !== nbytes) || (inode !== null && now.ino !== inode))
        throw lostError(place(path));
    }
  }
}

// Files of a directory that is filled aside: at the end each is the one that was begun, and as long as it has to be.
// Programs that clean folders may have removed some meanwhile.
import { JobFlag } from "../../../generated/abi.ts";
import { closeSync, fstatSync, lstatSync, openSync } from "../../runtime/node.ts";
import { guarded } from "../base/errors.ts";
import type { Steps } from "../base/steps.ts";
import { lostError } from "./durable.ts";
import type { FileJobs } from "./file-jobs.ts";

interface Staged {
  path: string;
  /** Null where somebody else knows it. */
  nbytes: number | null;
  /** 0 where it is not known. */
  inode: number;
}

/** Files that are open until they are checked: no other can get the number of one that is removed. */
const MOST_OPEN = 16;
/** Files that are checked between two pauses. */
const CHECKED_AT_ONCE = 64;

/** The files that jobs write. */
export class StagedFiles {
  private readonly files: Staged[] = [];
  /** Those that are begun before their jobs, as what is written in parts has to be. */
  private readonly begun: Staged[] = [];
  private readonly descriptors: number[] = [];
  /** The jobs that make the others. */
  private readonly makers: { file: Staged; job: number }[] = [];

  constructor(private readonly jobs: FileJobs) {}

  /** Adds a file that somebody else writes. */
  add(path: string, nbytes: number | null = null): Staged {
    const file = { path, nbytes, inode: 0 };
    this.files.push(file);
    return file;
  }

  /** Adds a file that the next job writes, or the next ones do; gives the flag that they need. */
  next(path: string, nbytes: number, inParts = false): number {
    const file = this.add(path, nbytes);
    const begun = inParts || this.begun.length < MOST_OPEN;
    if (begun) this.begun.push(file);
    else this.makers.push({ file, job: this.jobs.length });
    return begun ? 0 : JobFlag.create;
  }

  /** Makes files, before any job runs. */
  begin(): void {
    for (const [i, file] of this.begun.entries()) {
      const descriptor = this.made(file.path);
      file.inode = fstatSync(descriptor).ino;
      if (i < MOST_OPEN) this.descriptors.push(descriptor);
      else closeSync(descriptor);
    }
  }

  private made(path: string): number {
    try {
      return openSync(path, "wx", 0o644);
    } catch {
      // Those that are kept open may be one too many.
      this.close();
      return guarded(path, () => openSync(path, "wx", 0o644));
    }
  }

  /** Lets go of them. */
  close(): void {
    for (const descriptor of this.descriptors.splice(0)) closeSync(descriptor);
  }

  /** Throws unless every file is there as it was written; `place` gives the name that errors tell. */
  *requireStaged(place: (path: string) => string): Steps<void> {
    for (const { file, job } of this.makers) file.inode = this.jobs.result(job).inode;
    for (const [i, { path, nbytes, inode }] of this.files.entries()) {
      if (i % CHECKED_AT_ONCE === 0) yield;
      const now = lstatSync(path, { throwIfNoEntry: false });
      if (now === undefined || (nbytes !== null && now.size !== nbytes) || (inode !== 0 && now.ino !== inode)) {
        throw lostError(place(path));
      }
    }
  }
}

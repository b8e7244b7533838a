// A file from its first byte to its name: it is written beside its target under a name that tells who writes it, and
// takes the target's name when it is complete. Programs that clean folders may remove it meanwhile: the very file that
// was written stands under the name at the end, or the save fails.
import { closeSync, dirname, fstatSync, lstatSync, openSync } from "../../runtime/node.ts";
import { guarded, systemError } from "../base/errors.ts";
import { swept, temporaryBeside } from "../base/leftovers.ts";
import { realTarget } from "../base/places.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import { discarded, lostError, replaced, requirePlain, synced } from "./durable.ts";
import { takeName } from "./naming.ts";
import { requireRoom } from "./room.ts";

/** How a file takes its name. */
export interface NameOptions {
  /** Flush file and directory to the disk. */
  fsync?: boolean | undefined;
  /** False: a file that has the name already is an error, and stays. */
  existsok?: boolean | undefined;
  signal?: AbortSignal | undefined;
}

/** A file that is being written. */
export class UnfinishedFile {
  /** What it will be called: links to that stay. */
  readonly target: string;
  /** What it is called until then. */
  readonly path: string;
  /** Keeps the number of the file from others while there is somebody to compare it. */
  private descriptor: number | null = null;

  /** @param path an absolute one */
  constructor(path: string) {
    this.target = realTarget(path);
    this.path = temporaryBeside(this.target);
  }

  /**
   * Makes it, empty; gives the descriptor.
   * @param nbytes how many bytes it will have at least: more than the disk has room for are an error
   */
  begin(nbytes = 0): number {
    const { path, target } = this;
    this.requireFile();
    requireRoom(target, nbytes);
    return (this.descriptor = guarded(path, () => openSync(path, "wx", 0o644)));
  }

  /** Takes notice of the file that somebody else has made under the unfinished name. */
  adopt(): void {
    this.descriptor = guarded(this.path, () => openSync(this.path, "r"));
  }

  /** Throws for what a file cannot replace. */
  requireFile(): void {
    const { target } = this;
    const stat = lstatSync(target, { throwIfNoEntry: false });
    if (stat === undefined || stat.isFile()) return;
    if (stat.isDirectory()) throw systemError(21, target);
    requirePlain(target);
  }

  /** Whether the name is still that of the file that was begun, or of one that was removed. */
  isWhole(nbytes: number | null): boolean {
    const { descriptor, path } = this;
    const now = lstatSync(path, { throwIfNoEntry: false, bigint: true });
    if (descriptor === null || now === undefined) return now !== undefined;
    const own = fstatSync(descriptor, { bigint: true });
    return own.ino === now.ino && own.dev === now.dev && (nbytes === null || own.size === BigInt(nbytes));
  }

  /**
   * Gives it its name.
   * @param nbytes how many it has, where that is known
   */
  *placing(nbytes: number | null, { fsync, existsok, signal }: NameOptions = {}): Steps<void> {
    signal?.throwIfAborted();
    const { path, target } = this;
    const look = (): void => {
      if (!this.isWhole(nbytes)) throw lostError(target);
    };
    if (existsok !== false) yield* replaced(path, target, look);
    else {
      look();
      if (!takeName(path, target)) throw systemError(17, target);
    }
    this.close();
    yield* swept(target);
    if (fsync) yield* synced(dirname(target));
  }

  /** `placing` at once. */
  place(nbytes: number | null, options?: NameOptions): void {
    runSteps(this.placing(nbytes, options));
  }

  /** What an error means: that of a file which somebody else removed names no missing file. */
  cause(error: unknown): unknown {
    const missing = (error as { code?: unknown } | null)?.code === "ENOENT";
    return missing && this.descriptor !== null && !this.isWhole(null) ? lostError(this.target) : error;
  }

  /** Removes it, unless it has its name. */
  *discarding(): Steps<void> {
    this.close();
    yield* discarded(this.path);
  }

  /** Lets go of it. */
  close(): void {
    const { descriptor } = this;
    this.descriptor = null;
    if (descriptor !== null) guarded(this.target, () => closeSync(descriptor));
  }
}

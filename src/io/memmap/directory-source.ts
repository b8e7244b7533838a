// Memory-mapped directories on disk, with the symbolic links in them.
import { dirname, existsSync, realpathNative, statSync } from "../../runtime/node.ts";
import { FormatError, guarded, OSError } from "../base/errors.ts";
import { Folder, isWithin } from "../disk/folder.ts";
import { readSmallFile } from "../disk/small-file.ts";
import { MAX_META_BYTES } from "./memmap-meta.ts";
import type { Linked, TreeSource } from "./tree.ts";

/** A directory on disk that is read. */
export class DirectorySource implements TreeSource {
  private readonly folder: Folder;
  private readonly seen = new Set<string>();

  constructor(root: string, followLinks = false) {
    this.folder = new Folder(root, followLinks);
  }

  small(path: string): Uint8Array {
    if (this.folder.followLinks) return readSmallFile(path, MAX_META_BYTES);
    try {
      return readSmallFile(path, MAX_META_BYTES, true);
    } catch (error) {
      if (!isLinkError(error)) throw error;
      this.folder.isLink(path);
      return readSmallFile(path, MAX_META_BYTES);
    }
  }

  exists(path: string): boolean {
    return existsSync(path);
  }

  isDirectory(path: string): boolean {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  }

  /** Throws for a link that leads out of the directory, or to a folder that it lies in. */
  enter(path: string, above: Linked | null): Linked | null {
    const isLink = this.folder.isLink(path);
    if (!isLink && above === null) return null;
    const real = guarded(path, () => realpathNative(path));
    const around = guarded(path, () => realpathNative(dirname(path)));
    for (let at: Linked | null = above; isLink && at !== null; at = at.above) if (at.real === real) throw holds(path);
    if (isLink && isWithin(around, real)) throw holds(path);
    const again = this.seen.has(real);
    this.seen.add(real);
    return { real, again, above };
  }

  /** Throws if one of these files is a link that leads out of the directory. */
  requireInside(paths: Iterable<string>): void {
    for (const path of paths) this.folder.isLink(path);
  }

  /** Whether links may lead anywhere. */
  get followLinks(): boolean {
    return this.folder.followLinks;
  }
}

function holds(path: string): FormatError {
  return new FormatError("it is a link to a folder that it lies in", path);
}

/** Whether something failed since a file is a symbolic link. */
export function isLinkError(error: unknown): boolean {
  return error instanceof OSError && error.code === "symlink";
}

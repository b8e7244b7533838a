// Folders of strangers: a symbolic link in one may lead anywhere. The folder's own path may be a link, as any path.
import { lstatSync, realpathNative, sep } from "../../runtime/node.ts";
import { guarded, OSError } from "../base/errors.ts";

/** What folders are read with. */
export interface FolderOptions {
  /** Follow symbolic links that lead out of the folder, which are refused otherwise. */
  followLinks?: boolean;
}

/** A folder that is read, and whether its links may lead out of it. */
export class Folder {
  #real: string | null = null;
  readonly #fine = new Set<string>();

  constructor(
    readonly root: string,
    readonly followLinks = false,
  ) {}

  /** Whether a path in the folder is a symbolic link itself. Throws for one that leads out of the folder. */
  isLink(path: string): boolean {
    if (!(guarded(path, () => lstatSync(path, { throwIfNoEntry: false }))?.isSymbolicLink() ?? false)) return false;
    if (this.followLinks) return true;
    this.#real ??= guarded(this.root, () => realpathNative(this.root));
    const target = guarded(path, () => realpathNative(path));
    if (isWithin(target, this.#real)) return true;
    const text = `${path} is a symbolic link out of the folder, to ${target}, and is not followed`;
    throw new OSError(`${text}. { followLinks: true } does that`, { path, code: "symlink" });
  }

  /** The path of a file of the folder, from names joined by "/". Throws if a link on it leads out of the folder. */
  place(location: string): string {
    let path = this.root;
    for (const part of location.split("/")) {
      path = path.endsWith(sep) ? path + part : path + sep + part;
      if (this.followLinks || this.#fine.has(path)) continue;
      this.isLink(path);
      this.#fine.add(path);
    }
    return path;
  }
}

/** Whether a path is a folder's, or in it. Both are without links. */
export function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

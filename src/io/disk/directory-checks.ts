// What may be in the way of a directory that is to be written.
import { lstatSync, mkdirSync, statSync } from "../../runtime/node.ts";
import { guarded, OSError } from "../base/errors.ts";

/** Makes a directory where none is. False when there is one already. */
export function makeDirectory(path: string): boolean {
  try {
    mkdirSync(path);
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") checkPlace(path);
    else
      guarded(path, () => {
        throw error;
      });
    return false;
  }
}

/** A file goes where nothing is, or where a file is that may be replaced. Returns whether there is one. */
export function checkFile(path: string, exclusive: boolean): boolean {
  const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (stat === undefined) return false;
  if (stat.isSymbolicLink()) throw throughLink(path);
  if (exclusive) throw new OSError(`The file ${path} already exists.`, { path, errno: 17, code: "EEXIST" });
  if (!stat.isFile()) throw new OSError(`${path} is not a regular file`, { path, code: "not_a_file" });
  return true;
}

function throughLink(path: string): OSError {
  return new OSError(`Refusing to write memory-mapped tensor through symlink ${path}.`, { path, code: "symlink" });
}

/** A directory goes where nothing is, or where a directory is already; `links`: a link to one will do. */
export function checkPlace(path: string, links = false): void {
  const stat = guarded(path, () => (links ? statSync : lstatSync)(path, { throwIfNoEntry: false }));
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) throw throughLink(path);
  if (!stat.isDirectory()) throw new OSError(`${path} exists and is no directory`, { path, errno: 20 });
}

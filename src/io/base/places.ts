// Where paths lead. They are made absolute once, where they come in, and as the system does it: the working directory
// may change, and so may links. To take ".." away by the text alone would lead elsewhere: into the working directory
// from "nothing/..", and beside a link instead of beside what it leads to.
import {
  basename,
  dirname,
  isAbsolute,
  join,
  lstatSync,
  readlinkSync,
  realpathNative,
  resolve,
  statSync,
} from "../../runtime/node.ts";
import { isUndecoded } from "./byte-names.ts";
import { FileNotFoundError, guarded, OSError, systemError } from "./errors.ts";
import { asSaid, rememberPath } from "./paths.ts";
import { requireText } from "./well-formed.ts";

/** What only the system can resolve. */
const PARENT = /(^|\/)\.\.(\/|$)/;
/** Endings that say that it is a directory. */
const DIRECTORY = /(^|\/)\.{0,2}$/;
/** As many as the system follows. */
const MOST_LINKS = 40;

/** A path as the system finds it, whether there is something or not. What ends like a directory must not be a file. */
export function systemPath(path: string): string {
  if (path === "") throw new FileNotFoundError(path);
  if (process.platform === "win32") return resolve(path);
  if (DIRECTORY.test(path)) {
    const stat = guarded(path, () => statSync(path, { throwIfNoEntry: false }));
    if (stat !== undefined && !stat.isDirectory()) throw systemError(20, path);
  }
  if (!PARENT.test(path)) return resolve(path);
  const parts = path.split("/");
  const from = parts.lastIndexOf("..") + 1;
  const begin = parts.slice(0, from).join("/");
  return resolve(
    guarded(path, () => realpathNative(begin)),
    ...parts.slice(from),
  );
}

/** The absolute path of one that the caller gave. Errors that name it, or what lies in it, name it as it was given. */
export function absolutePath(path: string): string {
  requireText(path, () => `the path ${JSON.stringify(path)}`);
  const full = systemPath(path);
  rememberPath(full, path);
  return full;
}

/** The same for a file that is to be made: its path does not end like that of a directory. */
export function absoluteFile(path: string): string {
  const full = absolutePath(path);
  if (DIRECTORY.test(path))
    throw new OSError(`[Errno 21] Is a directory: '${path}'`, { errno: 21, path, code: "EISDIR" });
  return full;
}

/** What the system calls things that are open and have no name, or none any more. */
const NAMELESS = /^\/proc\/|^\/dev\/fd\/| \(deleted\)$/;

/** A path without links; null for what is open and has no name, as a pipe that is the standard output. */
function openName(path: string): string | null {
  const real = realpathNative(path);
  if (!isAbsolute(real)) return null;
  // A name that is no UTF-8 is not what the runtime says it is, either.
  return (NAMELESS.test(real) || isUndecoded(real)) && lstatSync(real, { throwIfNoEntry: false }) === undefined
    ? null
    : real;
}

/** The path of a place without links, as far as it is there already. */
export function realPlace(path: string): string {
  const full = systemPath(path);
  try {
    return openName(full) ?? full;
  } catch {
    const parent = dirname(full);
    return parent === full ? full : join(realPlace(parent), basename(full));
  }
}

/** Where a link leads that leads somewhere. */
function namedPlace(link: string, target: string): string {
  const real = guarded(target, () => openName(link));
  if (real === null) throw new OSError(`${asSaid(target)} is not a regular file`, { path: target, code: "not_a_file" });
  return real;
}

/**
 * Where the system would make what is written to an absolute path: links are followed, the last one also to a place
 * where nothing is yet, so that links stay. Errors name it as the path was said.
 */
export function realTarget(target: string): string {
  let path = target;
  for (let links = 0; ; links++) {
    path = join(realPlace(dirname(path)), basename(path));
    const stat = guarded(target, () => lstatSync(path, { throwIfNoEntry: false }));
    if (stat?.isSymbolicLink() !== true) break;
    if (guarded(target, () => statSync(path, { throwIfNoEntry: false })) !== undefined) {
      path = namedPlace(path, target);
      break;
    }
    if (links === MOST_LINKS) throw systemError(40, target);
    const to = guarded(target, () => readlinkSync(path));
    path = systemPath(isAbsolute(to) ? to : `${dirname(path)}/${to}`);
  }
  if (path !== target) rememberPath(path, asSaid(target));
  return path;
}

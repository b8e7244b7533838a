// Giving finished files and directories their names, so that the look at what has a name and the change are one step:
// what comes into being between two steps would be lost.
import { addressOf, native } from "../../ffi/library.ts";
import {
  closeSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
} from "../../runtime/node.ts";
import { guarded, systemError } from "../base/errors.ts";

const EXCHANGE = 2;
const ENOENT = 2;
const EEXIST = 17;
const ENOTEMPTY = process.platform === "darwin" ? 66 : 39;
/** What a system or a file system says that has no such step: EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP. */
const UNKNOWN = process.platform === "darwin" ? [22, 78, 45, 102] : [22, 38, 95];
/** Below all of the system's. */
const UNSUPPORTED = 10_000;

function terminated(path: string): Uint8Array {
  return new TextEncoder().encode(`${path}\0`);
}

/** The error number, 0 for success. */
function renamed(from: string, to: string, how: number): number {
  const [a, b] = [terminated(from), terminated(to)];
  return -native.zs_io_rename(addressOf(a), addressOf(b), how);
}

/**
 * Gives two files or directories each other's names; whoever looks finds both at any moment. False when the system or
 * the file system cannot do that, or when one of them is missing; then nothing has changed.
 */
export function exchangeNames(a: string, b: string): boolean {
  return renamed(a, b, EXCHANGE) === 0;
}

/**
 * Gives a file or a directory a name that nothing has. False when something has it: that stays as it is.
 * @param one the system's step, where it has one
 */
export function takeName(made: string, path: string, one = renamed): boolean {
  const errno = one(made, path, 0);
  if (errno === 0) return true;
  if (errno === EEXIST || errno === ENOTEMPTY) return false;
  if (errno < UNSUPPORTED && !UNKNOWN.includes(errno)) throw systemError(errno, path);
  return guarded(made, () => lstatSync(made)).isDirectory() ? tookDirectory(made, path) : tookFile(made, path);
}

/** False when `make` finds that something is there. */
function isFree(path: string, make: () => void): boolean {
  try {
    make();
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") return false;
    return guarded(path, () => {
      throw error;
    });
  }
}

/** A new directory is replaced only as long as it is empty. */
function tookDirectory(made: string, path: string): boolean {
  if (!isFree(path, () => mkdirSync(path))) return false;
  try {
    renameSync(made, path);
    return true;
  } catch (error) {
    if (["ENOTEMPTY", "EEXIST"].includes((error as { code?: string }).code ?? "")) return false;
    rmdirSync(path);
    return guarded(path, () => {
      throw error;
    });
  }
}

/** A second name for the file; where files have one only, an empty file keeps the place. */
function tookFile(made: string, path: string): boolean {
  try {
    linkSync(made, path);
    unlinkSync(made);
    return true;
  } catch (error) {
    const { code, errno } = error as { code?: string; errno?: number };
    if (code === "EEXIST") return false;
    if (code === "ENOENT") throw systemError(ENOENT, path);
    if (errno === undefined) throw error;
  }
  if (!isFree(path, () => closeSync(openSync(path, "wx")))) return false;
  guarded(path, () => renameSync(made, path));
  return true;
}

// Errors of the file system, with the texts Python gives them.
import { getSystemErrorMap } from "../../runtime/node.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { nameError } from "../../tensor/stacks.ts";
import { finishedPath } from "./leftovers.ts";
import { asSaid } from "./paths.ts";

/**
 * A file or a directory could not be used.
 * @example
 * ```ts
 * try {
 *   io.loadNpy("nothing.npy");
 * } catch (error) {
 *   if (error instanceof io.OSError) [error.errno, error.path?.endsWith("nothing.npy")]
 * } // [2, true]
 * ```
 * @torch OSError
 */
export class OSError extends RuntimeError {
  /** The system's error number, 0 when there is none. */
  readonly errno: number;
  /** The file in question. */
  readonly path: string | undefined;
  constructor(message: string, details: { errno?: number; path?: string; code?: string; cause?: unknown } = {}) {
    super(asSaid(finishedPath(message)), { code: details.code ?? "os", cause: details.cause });
    nameError(this, "OSError");
    this.errno = details.errno ?? 0;
    this.path = details.path;
  }
}

/**
 * A file or a directory is missing.
 * @example
 * ```ts
 * try {
 *   io.loadNpy("nothing.npy");
 * } catch (error) {
 *   if (error instanceof io.FileNotFoundError) [error.code, error.errno]
 * } // [ENOENT, 2]
 * ```
 * @torch FileNotFoundError
 */
export class FileNotFoundError extends OSError {
  constructor(path: string, cause?: unknown) {
    super(`[Errno 2] No such file or directory: ${pythonQuote(path)}`, {
      errno: 2,
      path,
      code: "ENOENT",
      cause,
    });
    nameError(this, "FileNotFoundError");
  }
}

/**
 * The bytes of a file are not what its format says.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.npy");
 * try {
 *   io.loadNpy("a.npy");
 * } catch (error) {
 *   if (error instanceof io.FormatError) error.path?.endsWith("a.npy")
 * } // true
 * ```
 */
export class FormatError extends RuntimeError {
  /** The file, where one is known. */
  readonly path: string | undefined;
  constructor(message: string, path?: string, cause?: unknown) {
    super(asSaid(finishedPath(path === undefined ? message : `${path}: ${message}`)), { code: "format", cause });
    nameError(this, "FormatError");
    this.path = path;
  }
}

// The words of the C library; libuv's table covers the rest.
const TEXTS: Record<number, string> = {
  1: "Operation not permitted",
  2: "No such file or directory",
  5: "Input/output error",
  12: "Cannot allocate memory",
  13: "Permission denied",
  17: "File exists",
  20: "Not a directory",
  21: "Is a directory",
  24: "Too many open files",
  27: "File too large",
  28: "No space left on device",
  30: "Read-only file system",
  36: "File name too long",
  40: "Too many levels of symbolic links",
};

/** Python's quotes around a path: single, unless that would need an escape. */
function pythonQuote(text: string): string {
  return text.includes("'") && !text.includes('"') ? `"${text}"` : `'${text.replace(/'/g, "\\'")}'`;
}

/** An error for an error number of the system. */
export function systemError(errno: number, at: string): OSError {
  const path = finishedPath(at);
  if (errno === 2) return new FileNotFoundError(path);
  const known = getSystemErrorMap().get(-errno);
  const text = TEXTS[errno] ?? known?.[1] ?? "Unknown error";
  const hint = errno === 12 ? " (the system may have run out of mappings: see vm.max_map_count)" : "";
  return new OSError(`[Errno ${errno}] ${text}: ${pythonQuote(path)}${hint}`, {
    errno,
    path,
    code: known?.[0] ?? "os",
  });
}

function translated(path: string, error: unknown): unknown {
  const errno = (error as { errno?: unknown }).errno;
  return typeof errno === "number" && errno !== 0 ? systemError(Math.abs(errno), path) : error;
}

/** Runs a file system call of the runtime and gives its failures the same classes. */
export function guarded<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw translated(path, error);
  }
}

/** The same for calls that end later. */
export async function guardedLater<T>(path: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw translated(path, error);
  }
}

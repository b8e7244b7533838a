// Files that another program may replace while they are read: they are opened more than once, for what they say about
// themselves and for their bytes, and both must be of one file.
import { statSync } from "node:fs";
import { OSError } from "./errors.ts";

/** How often a file may be replaced while it is read. */
const MAX_ATTEMPTS = 50;

/** What tells a file from the one that takes its name; "" where there is none: who reads it has the error for that. */
export function fileIdentity(path: string): string {
  try {
    const { dev, ino, birthtimeNs } = statSync(path, { bigint: true });
    return `${dev}:${ino}:${birthtimeNs}`;
  } catch {
    return "";
  }
}

/** The error for a file that is not the one that was opened. */
export function replacedError(path: string): OSError {
  return new OSError(`${path} was replaced since it was opened`, { path, code: "replaced" });
}

/**
 * Runs what reads a file, again when the file was replaced meanwhile.
 * @param read gets what tells the file from others
 */
export function whileUnreplaced<T>(path: string, read: (identity: string) => T): T {
  for (let attempt = 1; ; attempt++) {
    const identity = fileIdentity(path);
    try {
      const value = read(identity);
      if (fileIdentity(path) === identity) return value;
    } catch (error) {
      if (fileIdentity(path) === identity || attempt === MAX_ATTEMPTS) throw error;
    }
    if (attempt === MAX_ATTEMPTS) throw new OSError(`${path} was replaced again and again`, { path, code: "replaced" });
  }
}

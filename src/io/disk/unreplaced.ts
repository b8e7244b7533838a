// Files and directories that another program may replace while they are read: they are opened more than once, for what
// they say about themselves and for their bytes, and both must be of one file or directory.
import { statSync } from "../../runtime/node.ts";
import { OSError } from "../base/errors.ts";
import { absolutePath } from "../base/places.ts";
import { runSteps, type Steps, wait } from "../base/steps.ts";

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

/** Whether a file is another one than it was, and is to be read once more. Throws after the last attempt. */
function isReplaced(path: string, before: string, attempt: number, error?: unknown): boolean {
  if (fileIdentity(path) === before) return false;
  if (attempt < MAX_ATTEMPTS) return true;
  throw error ?? new OSError(`${path} was replaced again and again`, { path, code: "replaced" });
}

/**
 * Runs what reads a file or a directory, again when that was replaced meanwhile; after a signal nothing is read again.
 * @param read gets what tells the file from others
 */
export function* unreplaced<T>(path: string, read: (identity: string) => Steps<T>, signal?: AbortSignal): Steps<T> {
  absolutePath(path);
  for (let attempt = 1; ; attempt++) {
    const identity = fileIdentity(path);
    try {
      const value = yield* read(identity);
      if (!isReplaced(path, identity, attempt)) return value;
    } catch (error) {
      if (signal?.aborted || !isReplaced(path, identity, attempt, error)) throw error;
    }
  }
}

/** `unreplaced` for what reads at once. */
export function whileUnreplaced<T>(path: string, read: (identity: string) => T): T {
  const reading = (identity: string): Steps<T> =>
    wait(
      () => read(identity),
      async () => read(identity),
    );
  return runSteps(unreplaced(path, reading));
}

// Putting finished files in place, so that a reader finds the old content or the new one, whole.

import {
  closeSync,
  dirname,
  existsSync,
  fsyncSync,
  join,
  lstatSync,
  openSync,
  parse,
  promises,
  readdirSync,
  readWithoutWaiting,
  renameSync,
  resolve,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from "../../runtime/node.ts";
import { guarded, guardedLater, OSError, systemError } from "../base/errors.ts";
import { sweepLeftovers, temporaryBeside } from "../base/leftovers.ts";
import { runSteps, runStepsLater, type Steps, wait } from "../base/steps.ts";
import { looked } from "./directory-contents.ts";
import { exchangeNames, takeName } from "./naming.ts";

export { temporaryBeside } from "../base/leftovers.ts";

/**
 * Throws when no more file can be opened: what makes directories has to know before, since without one they could not
 * be removed again.
 */
export function requireDescriptor(path: string): void {
  if (process.platform === "win32") return;
  closeSync(guarded(path, () => openSync(parse(resolve(path)).root, "r")));
}

/** Removes what a failed save began. The error that is on its way matters more than one of this. */
export function discardPath(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    try {
      removeTree(path);
    } catch {
      // A file system that takes no changes has nothing of it.
    }
  }
}

/** Removes empty directories from `path` up to `outermost`. */
export function discardEmpty(path: string, outermost: string): void {
  try {
    for (let at = path; at.length >= outermost.length; at = dirname(at)) rmdirSync(at);
  } catch {
    // Somebody else uses it.
  }
}

/** With one open directory at a time, where there is not one more. */
function removeTree(path: string): void {
  if (lstatSync(path).isDirectory()) {
    for (const name of readdirSync(path)) removeTree(join(path, name));
    rmdirSync(path);
  } else unlinkSync(path);
}

/** A device, a named pipe or a socket is not replaced by a file, whoever may do so: others need it. */
export function requirePlain(path: string): void {
  const stat = guarded(path, () => statSync(path, { throwIfNoEntry: false }));
  if (stat === undefined || stat.isFile() || stat.isDirectory()) return;
  throw new OSError(`${path} is not a regular file`, { path, code: "not_a_file" });
}

/** Gives a finished file the name of the old one. */
export function replaceFile(made: string, path: string): void {
  requirePlain(path);
  guarded(path, () => renameSync(made, path));
}

/** How a small file gets its name. */
export interface TextOptions {
  /** Wait until the disk has the new text before it takes the name. */
  sync?: boolean;
  /** Something that has the name already is an error. */
  exclusive?: boolean;
}

/**
 * Writes a small file beside `path` and gives it that name: who reads meanwhile finds the old text or the new one.
 */
export function replaceText(path: string, text: string, { sync = false, exclusive = false }: TextOptions = {}): void {
  const made = temporaryBeside(path);
  try {
    guarded(made, () => writeFileSync(made, text, { flag: "wx" }));
    if (sync) syncPath(made);
    if (!exclusive) replaceFile(made, path);
    else if (!takeName(made, path)) throw systemError(17, path);
    sweepLeftovers(path);
  } catch (error) {
    discardPath(made);
    throw error;
  }
}

/** Waits until the disk has a file, or the names in a directory. */
export function syncPath(path: string): void {
  if (process.platform === "win32") return;
  const fd = guarded(path, () => openSync(path, "r"));
  try {
    guarded(path, () => fsyncSync(fd));
  } finally {
    closeSync(fd);
  }
}

/** `syncPath` as a step: a disk may take a second. */
export function synced(path: string): Steps<void> {
  return wait(
    () => syncPath(path),
    async () => {
      if (process.platform === "win32") return;
      await guardedLater(path, async () => {
        const file = await promises.open(path, "r");
        try {
          await file.sync();
        } finally {
          await file.close();
        }
      });
    },
  );
}

/**
 * `replaceFile` as a step, after a look that nothing comes between. Giving back the pages of a large old file takes a
 * while: it stays open until that happens in the background.
 */
export function replaced(made: string, path: string, look: () => void = () => {}): Steps<void> {
  const replace = (): void => {
    look();
    replaceFile(made, path);
  };
  return wait(replace, async () => {
    requirePlain(path);
    const old = process.platform === "win32" ? null : await promises.open(path, readWithoutWaiting()).catch(() => null);
    try {
      replace();
    } finally {
      await old?.close();
    }
  });
}

/** `discardPath` as a step. */
export function discarded(path: string): Steps<void> {
  return wait(
    () => discardPath(path),
    () => promises.rm(path, { recursive: true, force: true }).catch(() => discardPath(path)),
  );
}

/** Removes a file or a directory, which may not be there. What cannot be removed is an error. */
export function removed(path: string): Steps<void> {
  const options = { recursive: true, force: true };
  return wait(
    () => guarded(path, () => rmSync(path, options)),
    () => guardedLater(path, () => promises.rm(path, options)),
  );
}

/** Steps until the disk has the names in a directory and, where directories were made for it, theirs. */
export function* syncUpward(path: string, outermost: string | undefined): Steps<void> {
  for (let at = path; ; at = dirname(at)) {
    yield* synced(at);
    if (outermost === undefined || at === dirname(outermost) || at === dirname(at)) return;
  }
}

/** Steps until the disk has the names in a directory and in all directories below it. */
export function* syncDirectories(path: string): Steps<void> {
  const entries = yield* wait(
    () => guarded(path, () => readdirSync(path, { withFileTypes: true })),
    () => guardedLater(path, () => promises.readdir(path, { withFileTypes: true })),
  );
  for (const entry of entries) if (entry.isDirectory()) yield* syncDirectories(join(path, entry.name));
  yield* synced(path);
}

const turns = new Map<string, Promise<unknown>>();

async function turn<T>(path: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(path);
  const mine = (async () => {
    await before?.catch(() => {});
    return await work();
  })();
  turns.set(path, mine);
  try {
    return await mine;
  } finally {
    if (turns.get(path) === mine) turns.delete(path);
  }
}

/**
 * Does work for a path when all that was asked for earlier is done: of two saves to one place the last one stays. No
 * signal ends it in one of its pauses.
 */
export function inTurn<T>(path: string, work: () => Steps<T>): Steps<T> {
  return wait(
    () => runSteps(work()),
    () => turn(path, () => runStepsLater(work())),
  );
}

/** Waits until the disk has a file, or a directory with everything in it. */
function syncTree(path: string): void {
  if (lstatSync(path).isDirectory()) {
    for (const name of guarded(path, () => readdirSync(path))) syncTree(join(path, name));
  }
  syncPath(path);
}

/**
 * Gives what is at `made` the name `target`, which has something already. Where names can be exchanged a reader finds
 * the old one or the new one; elsewhere nothing has the name for a moment. Returns where the old one is then.
 * @param aside where it is put when names cannot be exchanged
 */
export function tradePlaces(made: string, target: string, aside: string, exchange = exchangeNames): string {
  requirePlain(target);
  if (exchange(made, target)) return made;
  for (;;) {
    const moved = steppedAside(target, aside);
    try {
      if (takeName(made, target)) return aside;
    } catch (error) {
      if (moved) takeName(aside, target);
      throw error;
    }
    // Another writer took the name between the two steps: what stepped aside is older than what is there now.
    rmSync(aside, { recursive: true, force: true });
  }
}

/** Takes `tradePlaces` back, which said where the old one is. */
export function tradeBack(made: string, target: string, aside: string, exchange = exchangeNames): void {
  if (exchange(aside, target)) return;
  guarded(target, () => renameSync(target, made));
  takeName(aside, target);
}

/** False when nothing has the name: another writer is between his two steps. */
function steppedAside(target: string, aside: string): boolean {
  try {
    guarded(target, () => renameSync(target, aside));
    return true;
  } catch (error) {
    if ((error as OSError).code === "ENOENT" && !existsSync(target)) return false;
    throw error;
  }
}

/**
 * Gives a finished file or directory its name, when every byte of it is on the disk.
 * @param mayReplace throws for what must keep the name, which is at the path that it gets: it is asked before and, of a
 * directory, again when that has stepped aside. Null: nothing is replaced
 */
export function replaceDurably(made: string, path: string, mayReplace: ((at: string) => void) | null = () => {}): void {
  const target = resolve(path);
  syncTree(made);
  const one = guarded(target, () => lstatSync(made, { bigint: true }));
  while (!takeName(made, target)) {
    if (mayReplace === null) throw systemError(17, target);
    if (tookPlace(made, target, mayReplace)) break;
  }
  const now = guarded(target, () => lstatSync(target, { bigint: true }));
  if (now.ino !== one.ino || now.size !== one.size) throw lostError(target);
  syncPath(dirname(target));
  sweepLeftovers(target);
}

/** The error for unfinished work that another program removed or replaced, or that went with its folder. */
export function lostError(path: string): OSError {
  if (!existsSync(dirname(path))) return systemError(2, path);
  return new OSError(
    `${path}: another program removed or replaced it, or what was written of it, before it was complete`,
    {
      path,
      code: "replaced",
    },
  );
}

/** False when nothing has the name any more. */
function tookPlace(made: string, target: string, mayReplace: (at: string) => void): boolean {
  let isDirectory = false;
  const isThere = looked(target, (old) => {
    requirePlain(target);
    mayReplace(target);
    isDirectory = old.isDirectory();
  });
  if (!isThere) return false;
  if (!isDirectory && !statSync(made).isDirectory()) {
    guarded(target, () => renameSync(made, target));
    return true;
  }
  const aside = tradePlaces(made, target, temporaryBeside(target, "old"));
  try {
    if (lstatSync(aside, { throwIfNoEntry: false }) !== undefined) mayReplace(aside);
  } catch (error) {
    // It became something else since.
    tradeBack(made, target, aside);
    throw error;
  }
  // Before the old one goes, the disk has the new one under the name.
  syncPath(dirname(target));
  rmSync(aside, { recursive: true, force: true });
  return true;
}

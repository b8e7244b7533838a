// Putting finished files in place, so that a reader finds the old content or the new one, whole.
import {
  closeSync,
  fsyncSync,
  lstatSync,
  openSync,
  promises,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { exchangeNames } from "../ffi/system.ts";
import { guarded, guardedLater } from "./errors.ts";

/** A name beside a path that nothing has yet. */
export function temporaryBeside(path: string, what = "tmp"): string {
  return `${resolve(path)}.${what}-${process.pid}-${Math.random().toString(36).slice(2, 10)}`;
}

/** Gives a finished file the name of the old one. */
export function replaceFile(made: string, path: string): void {
  guarded(path, () => renameSync(made, path));
}

/**
 * Writes a small file beside `path` and gives it that name: who reads meanwhile finds the old text or the new one.
 * @param sync wait until the disk has the new text before it takes the name
 */
export function replaceText(path: string, text: string, sync = false): void {
  const made = temporaryBeside(path);
  try {
    guarded(made, () => writeFileSync(made, text, { flag: "wx" }));
    if (sync) syncPath(made);
    replaceFile(made, path);
  } catch (error) {
    rmSync(made, { force: true });
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

/** `syncPath` beside the program: a disk may take a second. */
export async function syncPathLater(path: string): Promise<void> {
  if (process.platform === "win32") return;
  await guardedLater(path, async () => {
    const file = await promises.open(path, "r");
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  });
}

/** `replaceFile` beside the program: giving back the pages of a large old file takes a while. */
export async function replaceFileLater(made: string, path: string): Promise<void> {
  await guardedLater(path, () => promises.rename(made, path));
}

/** Waits until the disk has the names in a directory and in all directories below it. */
export function syncDirectories(path: string): void {
  for (const entry of guarded(path, () => readdirSync(path, { withFileTypes: true }))) {
    if (entry.isDirectory()) syncDirectories(join(path, entry.name));
  }
  syncPath(path);
}

/** `syncDirectories` beside the program. */
export async function syncDirectoriesLater(path: string): Promise<void> {
  for (const entry of await guardedLater(path, () => promises.readdir(path, { withFileTypes: true }))) {
    if (entry.isDirectory()) await syncDirectoriesLater(join(path, entry.name));
  }
  await syncPathLater(path);
}

const turns = new Map<string, Promise<unknown>>();

/** Runs work for a path when all that was asked for earlier is done: of two saves to one place the last one stays. */
export async function inTurn<T>(path: string, work: () => Promise<T>): Promise<T> {
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
  if (exchange(made, target)) return made;
  guarded(target, () => renameSync(target, aside));
  try {
    replaceFile(made, target);
  } catch (error) {
    renameSync(aside, target);
    throw error;
  }
  return aside;
}

/**
 * Puts a finished file or directory in place of whatever has the name, when every byte of it is on the disk (see
 * `tradePlaces`).
 */
export function replaceDurably(made: string, path: string): void {
  const target = resolve(path);
  syncTree(made);
  const old = lstatSync(target, { throwIfNoEntry: false });
  if (old === undefined || (old.isFile() && !statSync(made).isDirectory())) replaceFile(made, target);
  else rmSync(tradePlaces(made, target, temporaryBeside(target, "old")), { recursive: true, force: true });
  syncPath(dirname(target));
}

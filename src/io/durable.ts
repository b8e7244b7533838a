// Putting finished files in place, so that a reader finds the old content or the new one, whole.
import { closeSync, fsyncSync, openSync, renameSync } from "node:fs";
import { resolve } from "node:path";
import { guarded } from "./errors.ts";

/** A name beside a path that nothing has yet. */
export function temporaryBeside(path: string, what = "tmp"): string {
  return `${resolve(path)}.${what}-${process.pid}-${Math.random().toString(36).slice(2, 10)}`;
}

/** Gives a finished file the name of the old one. */
export function replaceFile(made: string, path: string): void {
  guarded(path, () => renameSync(made, path));
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

// The life of one command: what interrupts it, and its temporary files, which go when it ends, however it ends.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EXIT } from "./errors.ts";

const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
const LONGEST_NAME = 100;

let controller: AbortController | null = null;
let folder: string | null = null;
/** What the temporary files stand for. */
const places = new Map<string, string>();

function removeFiles(): void {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  folder = null;
  places.clear();
}

function interrupt(): void {
  // Whoever asks twice does not wait for what is under way.
  if (controller?.signal.aborted) {
    removeFiles();
    process.exit(EXIT.interrupted);
  }
  controller?.abort();
}

/** Tells when the user or the system wants the command to end. From the first call on they do not end it at once. */
export function interruption(): AbortSignal {
  if (controller === null) {
    controller = new AbortController();
    for (const name of SIGNALS) process.on(name, interrupt);
  }
  return controller.signal;
}

/** For long work that waits for nothing: lets an interruption through if it would not end the process. */
export async function pause(): Promise<void> {
  if (controller === null) return;
  await new Promise<void>((resume) => setImmediate(resume));
  controller?.signal.throwIfAborted();
}

/**
 * A path in the system's folder for temporary files where nothing is. It ends like the place that it stands for, and is
 * removed with everything there when the command ends.
 */
export function temporaryFor(place: string): string {
  interruption();
  if (folder === null) {
    folder = mkdtempSync(join(tmpdir(), "zensor-"));
    process.once("exit", removeFiles);
  }
  const inner = join(folder, String(places.size));
  mkdirSync(inner);
  // Of a key in a store only letters, digits and dots inside of the name are taken.
  const [, last = ""] = /([^/]*)\/*$/.exec(place) as RegExpExecArray;
  const name = last.replace(/[^\w.-]/g, "_").slice(-LONGEST_NAME);
  const path = join(inner, /^\.*$/.test(name) ? "object" : name);
  places.set(path, place);
  return path;
}

/** A text in which temporary files have the names of what they stand for. */
export function withPlaces(text: string): string {
  return [...places].reduce((told, [path, place]) => told.replaceAll(path, () => place), text);
}

/** Ends the command: its temporary files are removed, and signals end the process again. */
export function endCommand(): void {
  removeFiles();
  process.off("exit", removeFiles);
  for (const name of SIGNALS) process.off(name, interrupt);
  controller = null;
}

// The life of one command: what interrupts it, and its temporary files, which go when it ends, however it ends.
import { rmSync } from "node:fs";
import { finishedPath } from "../io/base/leftovers.ts";
import { EXIT } from "./errors.ts";

const SIGNALS = { SIGHUP: 1, SIGINT: 2, SIGTERM: 15 } as const;
type Signal = keyof typeof SIGNALS;
const NAMES = Object.keys(SIGNALS) as Signal[];

let controller: AbortController | null = null;
/** The signal that came first. */
let received: Signal | null = null;
let folder: string | null = null;
/** Removes what is unfinished elsewhere. */
let undo: (() => void) | null = null;
/** What the temporary files stand for. */
const places = new Map<string, string>();

function removeFiles(): void {
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  folder = null;
  places.clear();
  undo?.();
  undo = null;
}

function interrupt(signal: Signal): void {
  received ??= signal;
  // Whoever asks twice does not wait for what is under way.
  if (controller?.signal.aborted) {
    removeFiles();
    process.exit(EXIT.signalled + SIGNALS[received]);
  }
  controller?.abort();
}

/** Tells when the user or the system wants the command to end. From the first call on they do not end it at once. */
export function interruption(): AbortSignal {
  if (controller === null) {
    controller = new AbortController();
    for (const name of NAMES) process.on(name, interrupt);
  }
  return controller.signal;
}

/** What a command that was interrupted ends with, and the word for it. */
export function interrupted(): { exitCode: number; word: string } {
  const signal = received ?? "SIGINT";
  const words = { SIGHUP: "hung up", SIGINT: "interrupted", SIGTERM: "terminated" };
  return { exitCode: EXIT.signalled + SIGNALS[signal], word: words[signal] };
}

/** For long work that waits for nothing: lets an interruption through if it would not end the process. */
export async function pause(): Promise<void> {
  if (controller === null) return;
  await new Promise<void>((resume) => setImmediate(resume));
  controller?.signal.throwIfAborted();
}

/** The temporary files of this command. */
export const temporaries = {
  get folder(): string | null {
    return folder;
  },
  get count(): number {
    return places.size;
  },
  /** Where they are; the folder is removed when the command ends. */
  use(path: string): void {
    folder = path;
    process.once("exit", removeFiles);
  },
  /** What to do if the command is ended in the middle of a step. */
  undoBy(work: (() => void) | null): void {
    undo = work;
  },
  /** Errors tell the place for which a file stands. */
  add(path: string, place: string): void {
    places.set(path, place);
  },
};

/** A text in which temporary files have the names of what they stand for. */
export function withPlaces(text: string): string {
  // Errors of files tell paths of unfinished work as they will be.
  const names = [...places].flatMap(([path, place]) =>
    [path, finishedPath(path)].map((name) => [name, place] as const),
  );
  return names.reduce((told, [name, place]) => told.replaceAll(name, () => place), text);
}

/** Ends the command: its temporary files are removed, and signals end the process again. */
export function endCommand(): void {
  removeFiles();
  process.off("exit", removeFiles);
  for (const name of NAMES) process.off(name, interrupt);
  controller = null;
  received = null;
}

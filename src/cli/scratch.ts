// Temporary files of commands, in the system's folder for them: what a killed command left there goes at the next one.
import { mkdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { finishedPath, sweepLeftovers, temporaryBeside } from "../io/base/leftovers.ts";
import { interruption, temporaries } from "./lifetime.ts";

const LONGEST_NAME = 100;

/** A new folder beside a path, of which a later one removes what a killed command left. */
export function folderBeside(path: string): string {
  sweepLeftovers(path);
  const folder = temporaryBeside(path);
  mkdirSync(folder, { mode: 0o700 });
  return folder;
}

/**
 * A path in the system's folder for temporary files where nothing is. It ends like the place that it stands for, and is
 * removed with everything there when the command ends.
 */
export function temporaryFor(place: string): string {
  interruption();
  if (temporaries.folder === null) temporaries.use(folderBeside(join(tmpdir(), "zensor")));
  const inner = join(temporaries.folder as string, String(temporaries.count));
  mkdirSync(inner);
  // Of a key in a store only letters, digits and dots inside of the name are taken.
  const [, last = ""] = /([^/]*)\/*$/.exec(place) as RegExpExecArray;
  const name = last.replace(/[^\w.-]/g, "_").slice(-LONGEST_NAME);
  const path = join(inner, /^\.*$/.test(name) ? "object" : name);
  temporaries.add(path, place);
  // Errors of files tell paths of unfinished work as they will be.
  temporaries.add(finishedPath(path), place);
  return path;
}

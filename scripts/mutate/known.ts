// Mutants that compute the same, or that only take longer: known.jsonl, each with its reason.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Mutant } from "./mutants.ts";

export type Named = Pick<Mutant, "file" | "within" | "text" | "before" | "after"> & { nth?: number };

export interface Known extends Named {
  reason: string;
}

export function readLines<T>(file: string): T[] {
  if (!existsSync(file)) return [];
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as T);
}

export const known = (): Known[] => readLines(join(import.meta.dir, "known.jsonl"));

/** A name without `nth` stands for all such changes of its line. */
export const sameMutant = (a: Named, b: Named): boolean =>
  a.file === b.file &&
  a.within === b.within &&
  a.text === b.text &&
  a.before === b.before &&
  a.after === b.after &&
  (a.nth === undefined || b.nth === undefined || a.nth === b.nth);

// What a row of the seeds' manifest is, and how one is run.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHdf5 } from "../../src/ffi/hdf5.ts";

/** What every scope has: a folder of its own for files. */
export interface BaseScope {
  dir: string;
}

/** One statement of a seed document. */
export interface Row<S> {
  /** Line of the document. */
  line: number;
  /** The statement there. */
  python: string;
  /** Ours. The scope holds the document's variables, so rows run in order. */
  code(s: S): unknown;
  /** The exact text that is printed; a pattern where the document prints unseeded random numbers; null for nothing. */
  prints: string | RegExp | null;
  /** Where we differ from the document, or the document from today's library: why. */
  reason?: string;
  /** An optional engine, without which the row is skipped. */
  needs?: "hdf5";
}

/** All rows of one document, in order. */
export interface Seed {
  seed: string;
  rows: readonly Row<BaseScope>[];
}

/** The rows of a document over a scope type of their own. */
export function defineSeed<S extends BaseScope>(seed: string, rows: readonly Row<S>[]): Seed {
  return { seed, rows: rows as unknown as readonly Row<BaseScope>[] };
}

/** Whether a row's engine is missing here. */
export function isWithoutEngine(row: Row<BaseScope>): boolean {
  return row.needs === "hdf5" && findHdf5().library === null;
}

/** A fresh scope; `remove` deletes its folder. */
export function openScope(): { scope: BaseScope; remove(): void } {
  const dir = mkdtempSync(join(tmpdir(), "zensor-seed-"));
  return { scope: { dir }, remove: () => rmSync(dir, { recursive: true, force: true }) };
}

/** Runs `body` and gives what it printed, without the last line end. */
export async function captured(body: () => unknown): Promise<string> {
  const lines: string[] = [];
  const log = console.log;
  const write = process.stdout.write;
  console.log = (...values: unknown[]) => {
    lines.push(`${values.map((value) => (typeof value === "string" ? value : String(value))).join(" ")}\n`);
  };
  process.stdout.write = ((text: string | Uint8Array) => {
    lines.push(typeof text === "string" ? text : new TextDecoder().decode(text));
    return true;
  }) as typeof process.stdout.write;
  try {
    await body();
  } finally {
    console.log = log;
    process.stdout.write = write;
  }
  return lines.join("").replace(/\n$/, "");
}

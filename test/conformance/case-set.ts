// Loads a golden-case directory: index.jsonl (one case a line) and blob.bin (raw storages).
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Case } from "./case-types.ts";

export interface CaseSet {
  cases: Case[];
  blob: Uint8Array;
}

/** Reads a directory; a malformed line or a storage outside the blob is an error naming the line. */
export function loadCaseSet(dir: string): CaseSet {
  const blob = new Uint8Array(readFileSync(join(dir, "blob.bin")));
  const cases: Case[] = [];
  const seen = new Set<string>();
  const lines = readFileSync(join(dir, "index.jsonl"), "utf8").split("\n");
  for (const [n, line] of lines.entries()) {
    if (line === "") continue;
    let c: Case;
    try {
      c = JSON.parse(line) as Case;
    } catch (e) {
      throw new Error(`${dir}/index.jsonl:${n + 1}: ${(e as Error).message}`);
    }
    if (typeof c.id !== "string" || !Array.isArray(c.S)) throw new Error(`${dir}/index.jsonl:${n + 1}: not a case`);
    if (seen.has(c.id)) throw new Error(`${dir}/index.jsonl:${n + 1}: duplicate id ${c.id}`);
    for (const [off, len] of c.S) {
      if (off < 0 || len < 0 || off + len > blob.length) throw new Error(`${c.id}: storage outside blob.bin`);
    }
    seen.add(c.id);
    c.args ??= [];
    cases.push(c);
  }
  return { cases, blob };
}

/** A private copy of one storage of a case; -1 is the empty storage. */
export function storageBytes(set: CaseSet, c: Case, s: number): Uint8Array {
  if (s < 0) return new Uint8Array(0);
  const entry = c.S[s];
  if (!entry) throw new Error(`${c.id}: no storage ${s}`);
  return set.blob.slice(entry[0], entry[0] + entry[1]);
}

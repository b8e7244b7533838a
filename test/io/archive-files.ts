// What the tests of archives share: files made by Python, a room for files, and damage done to bytes.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FormatError, OSError } from "../../src/io/base/errors.ts";

/** The bytes of fixture files by name. */
export function decoded(files: Record<string, string>): Map<string, Buffer> {
  return new Map(Object.entries(files).map(([name, text]) => [name, Buffer.from(text, "base64")]));
}

/** A directory for one test file; call `remove` at the end. */
export function roomFor(what: string): { path: string; file(name: string, bytes: Uint8Array): string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), `zensor-${what}-`));
  return {
    path,
    file(name, bytes) {
      const made = join(path, name);
      writeFileSync(made, bytes);
      return made;
    },
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** The same random numbers every time: 32 bits from a seed. */
export function randomNumbers(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
}

/** Copies with one to three bits flipped. */
export function* flipped(bytes: Uint8Array, count: number, seed: number): Generator<Buffer> {
  const next = randomNumbers(seed);
  for (let i = 0; i < count; i++) {
    const copy = Buffer.from(bytes);
    for (let k = next() % 3; k >= 0; k--) {
      const at = next() % copy.length;
      copy[at] = (copy[at] as number) ^ (1 << (next() % 8));
    }
    yield copy;
  }
}

/** Runs a reader on bad bytes: it succeeds, or it throws an error of files. Says which. */
export function survives(run: () => void, allowed: (error: Error) => boolean = () => false): "read" | "refused" {
  try {
    run();
    return "read";
  } catch (error) {
    if (error instanceof FormatError || error instanceof OSError || allowed(error as Error)) return "refused";
    throw error;
  }
}

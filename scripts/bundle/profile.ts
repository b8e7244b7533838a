/**
 * Finds what programs of a user's kind touch: the files that the smallest one evaluates, and the functions that
 * `programs.ts` calls. It only decides what comes into being together, never what a program computes.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { libraryFile } from "../toolchain.mjs";
import { planCells } from "./cells.ts";
import { bun, profileFile, readFlatFile, writeNoting } from "./parts.ts";

/** Runs in a process of its own, with a core that notes what is touched. */
const program = (core: string, programs: string, out: string) => `
  const { programs } = await import(${JSON.stringify(programs)});
  const get = require(${JSON.stringify(core)});
  const zensor = new Proxy({}, { get: (_, name) => get(name) });
  programs.smallest(zensor);
  const eager = [...globalThis.evaluated];
  for (const run of Object.values(programs)) run(zensor);
  const found = { eager, evaluated: [...evaluated], touched: [...touched] };
  await Bun.write(${JSON.stringify(out)}, JSON.stringify(found));`;

/** Writes profile.json anew. */
export function writeProfile(folder: string): void {
  const flat = readFlatFile(folder);
  const core = join(folder, "noting.js");
  const out = join(folder, "touched.json");
  const plan = planCells(flat, { eager: [], called: {} });
  writeNoting({ flat, plan }, core);
  bun(["-e", program(core, join(import.meta.dir, "programs.ts"), out)], { ZENSOR_LIBRARY: libraryFile() });
  const { eager, evaluated, touched } = require(out) as Record<"eager" | "evaluated" | "touched", string[]>;
  const called: Record<string, string[]> = Object.fromEntries(evaluated.map((file) => [file, []]));
  for (const one of touched) {
    const [file, name] = one.split(" ") as [string, string];
    (called[file] ??= []).push(name);
  }
  const sorted = Object.entries(called).sort(([a], [b]) => (a < b ? -1 : 1));
  const profile = {
    eager: eager.sort(),
    called: Object.fromEntries(sorted.map(([file, names]) => [file, names.sort()])),
  };
  writeFileSync(profileFile, `${JSON.stringify(profile, null, 1)}\n`);
}

/**
 * Finds what programs of a user's kind touch: the files that the smallest one evaluates, and the functions that
 * `programs.ts` calls. It only decides what comes into being together, never what a program computes.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { libraryFile } from "../toolchain.mjs";
import { type Profile, planCells } from "./cells.ts";
import { bun, profileFile, readFlatFile, writeNoting } from "./parts.ts";

/** Runs in a process of its own, with a core that notes what is touched: each with the program's call that did. */
const program = (core: string, programs: string, out: string) => `
  Error.stackTraceLimit = Infinity;
  const found = [];
  let running = "smallest";
  const noted = (kind) => ({
    seen: new Set(),
    add(name) {
      if (this.seen.has(name)) return;
      this.seen.add(name);
      const site = /programs\\.ts:\\d+:\\d+/.exec(new Error().stack)?.[0] ?? "";
      found.push({ kind, name, program: running, site });
    },
  });
  globalThis.evaluated = noted("file");
  globalThis.touched = noted("function");
  const { programs } = await import(${JSON.stringify(programs)});
  const get = require(${JSON.stringify(core)});
  const zensor = new Proxy({}, { get: (_, name) => get(name) });
  for (const [name, run] of Object.entries(programs)) {
    running = name;
    run(zensor);
  }
  await Bun.write(${JSON.stringify(out)}, JSON.stringify(found));`;

interface Found {
  kind: "file" | "function";
  name: string;
  program: string;
  site: string;
}

/** Writes profile.json anew. */
export function writeProfile(folder: string): void {
  const flat = readFlatFile(folder);
  const core = join(folder, "noting.js");
  const out = join(folder, "touched.json");
  const plan = planCells(flat, { evaluated: {}, calls: [] });
  writeNoting({ flat, plan }, core);
  bun(["-e", program(core, join(import.meta.dir, "programs.ts"), out)], { ZENSOR_LIBRARY: libraryFile() });
  const found = JSON.parse(readFileSync(out, "utf8")) as Found[];
  const files = found.filter((one) => one.kind === "file").sort((a, b) => (a.name < b.name ? -1 : 1));
  const functions = found.filter((one) => one.kind === "function");
  const calls = [...Map.groupBy(functions, (one) => `${one.program} ${one.site}`).values()];
  const profile: Profile = {
    evaluated: Object.fromEntries(files.map((one) => [one.name, one.program])),
    calls: calls.map((all) => ({ program: all[0]?.program ?? "", functions: all.map((one) => one.name) })),
  };
  writeFileSync(profileFile, `${JSON.stringify(profile, null, 1)}\n`);
}

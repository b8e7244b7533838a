// The figures of a run of all checks, as the one line that precedes its totals.

import { existsSync, mkdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { CallPath } from "./measure.ts";
import { libraryFile, root, toolEnv } from "./toolchain.mjs";
import type { Weight } from "./weight.ts";

/** Where the line of the last whole run is left. */
export const LAST_LINE = join(root, "build", "logs", "metrics.txt");

/** Figures by name; null where there is none, as for the seconds of a build that was not needed. */
export type Metrics = Record<string, number | null>;

/** `metrics: library_bytes=3858712 build_seconds=none`. */
export function metricsLine(metrics: Metrics): string {
  const fields = Object.entries(metrics).map(([name, value]) => `${name}=${value ?? "none"}`);
  return `metrics: ${fields.join(" ")}`;
}

/** Reads such a line; undefined for any other. */
export function parseMetrics(line: string): Metrics | undefined {
  if (!/^metrics:( \w+=(none|-?\d+(\.\d+)?))+$/.test(line)) return undefined;
  const fields = line.split(" ").slice(1);
  return Object.fromEntries(
    fields.map((field) => {
      const [name, value] = field.split("=") as [string, string];
      return [name, value === "none" ? null : Number(value)];
    }),
  );
}

/** The figures of the last such line of a run's output, whatever a log puts before its lines. */
export function lastMetrics(log: string): Metrics | undefined {
  const lines = Bun.stripANSI(log).split(/\r?\n/);
  const found = lines.map((line) => parseMetrics(line.slice(Math.max(line.indexOf("metrics:"), 0)).trimEnd()));
  return found.findLast((one) => one !== undefined);
}

interface Measured {
  operators: number;
  covered: number;
  /** The share of overloads that lack no kernel on CUDA devices. */
  onCuda: number;
  paths: CallPath[];
}

async function measure(): Promise<Measured | undefined> {
  const words = [process.execPath, join(root, "scripts", "measure.ts")];
  const child = Bun.spawn(words, { cwd: root, env: toolEnv({}), stdout: "pipe", stderr: "ignore", timeout: 60_000 });
  const text = await new Response(child.stdout).text();
  return (await child.exited) === 0 ? (JSON.parse(text) as Measured) : undefined;
}

/** What the library weighs in a program (scripts/weight.ts); undefined where it is not built. */
async function weigh(): Promise<Weight | undefined> {
  const words = [process.execPath, join(root, "scripts", "weight.ts")];
  const child = Bun.spawn(words, { cwd: root, env: toolEnv({}), stdout: "pipe", stderr: "ignore", timeout: 60_000 });
  const text = await new Response(child.stdout).text();
  return (await child.exited) === 0 ? (JSON.parse(text) as Weight) : undefined;
}

/**
 * The figures of a run. `call_natives`, `call_blocks` and `call_bytes` are of the small calls of measure.ts together:
 * native functions called, blocks taken from the allocator and their bytes.
 */
export async function metricsOf(tests: number, buildNote: string | undefined): Promise<Metrics> {
  const library = libraryFile();
  const [measured, weight] = [await measure(), await weigh()];
  const sum = (key: "natives" | "blocks" | "bytes") => measured?.paths.reduce((total, path) => total + path[key], 0);
  const share = measured === undefined ? null : Number((measured.covered / measured.operators).toFixed(4));
  return {
    library_bytes: existsSync(library) ? statSync(library).size : null,
    build_seconds: Number(/^native build: ([\d.]+) s/.exec(buildNote ?? "")?.[1] ?? Number.NaN) || null,
    tests,
    operators: measured?.operators ?? null,
    case_coverage: share,
    cuda_coverage: measured === undefined ? null : Number(measured.onCuda.toFixed(4)),
    call_natives: sum("natives") ?? null,
    call_blocks: sum("blocks") ?? null,
    call_bytes: sum("bytes") ?? null,
    import_objects: weight?.importObjects ?? null,
    import_functions: weight?.importFunctions ?? null,
    mixed_objects: weight?.mixedObjects ?? null,
    mixed_functions: weight?.mixedFunctions ?? null,
  };
}

/** Makes the line of a run and keeps it for `bun run history --record`. */
export async function reportMetrics(tests: number, buildNote: string | undefined): Promise<string> {
  const line = metricsLine(await metricsOf(tests, buildNote));
  mkdirSync(dirname(LAST_LINE), { recursive: true });
  writeFileSync(LAST_LINE, `${line}\n`);
  return line;
}

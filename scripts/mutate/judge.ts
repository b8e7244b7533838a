// Runs the tests on one mutant, in a copy of the repository, until one fails.
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import { findZig, libraryFile, root, ToolError, toolEnv } from "../toolchain.mjs";
import { applied, type Mutant } from "./mutants.ts";

export interface Verdict extends Mutant {
  /** The test that fails, or null: it survived. */
  caught: string | null;
  /** Why it is no program of its own. */
  void?: string;
  /** How many items reach it, and how many were run (population.ts). */
  reached?: number;
  ran?: number;
}

export type Judge = (m: Mutant) => Promise<Verdict>;

const COPIED = ["src", "generated", "codegen", "bench", "scripts", "docs", "examples", "test"];
const BUILT = ["zig", "build"];
/** What other steps of the tests make meanwhile. */
const MADE = /^(?:docs\/api|build\/(?!lib$|bin$|stamp\.txt$)[^/]+)$/;

/** A copy of what the tests need; packages are linked. One that is kept gets its sources anew, but no library. */
export function scratch(kept?: string): string {
  const folder = kept ?? mkdtempSync(join(tmpdir(), "zensor-mutants-"));
  const fresh = !existsSync(join(folder, "zig"));
  for (const name of fresh ? [...COPIED, ...BUILT] : COPIED) {
    rmSync(join(folder, name), { recursive: true, force: true });
    const filter = (from: string) => !MADE.test(relative(root, from).replaceAll(sep, "/"));
    cpSync(join(root, name), join(folder, name), { recursive: true, filter });
  }
  for (const name of ["package.json", "bunfig.toml", "tsconfig.json", "README.md"]) {
    cpSync(join(root, name), join(folder, name));
  }
  if (fresh) Bun.spawnSync(["ln", "-s", join(root, "node_modules"), join(folder, "node_modules")]);
  return folder;
}

/** Runs a test file; false when it fails or takes too long. */
export async function runTest(
  root: string,
  test: string,
  seconds: number,
  flags: readonly string[] = [],
  variables: Record<string, string> = {},
): Promise<boolean> {
  const words = [process.execPath, "test", "--timeout", "120000", "--bail", ...flags, test];
  const env = { ...process.env, CI: "true", NO_COLOR: "1", ...variables };
  const options = { cwd: root, env, stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const child = Bun.spawn(words, { ...options, timeout: Math.ceil(seconds * 1000), killSignal: "SIGKILL" });
  return (await child.exited) === 0;
}

/** Does something while a mutant is in its file. */
export async function mutated<T>(folder: string, m: Mutant, work: () => Promise<T>): Promise<T> {
  const path = join(folder, m.file);
  const source = readFileSync(path, "utf8");
  writeFileSync(path, applied(source, m));
  try {
    return await work();
  } finally {
    writeFileSync(path, source);
  }
}

/** What a test may take: many times what it takes, since a mutant may run without end. */
export const limitOf = (seconds: number): number => 20 + 5 * seconds;

/** Tests of kernels, the quickest first; `threads` sets ZENSOR_NUM_THREADS. */
const KERNEL_TESTS: readonly { test: string; threads?: string }[] = [
  { test: "test/autograd/programs.test.ts" },
  { test: "test/conformance/cases-small.test.ts" },
  { test: "test/ops/exact-cases.test.ts" },
  { test: "test/ops/random-cases.test.ts" },
  { test: "test/tensor/reduce.test.ts" },
  { test: "test/autograd/gradcheck.test.ts" },
  { test: "test/ops/kernel-fixtures.test.ts" },
  { test: "test/ops/kernel-fixtures.test.ts", threads: "1" },
  { test: "test/ffi/workers.test.ts" },
  { test: "test/api/" },
];
const BUILD_LIMIT_MS = 240_000;

/** Builds the kernels of one instruction set; false when they do not compile. */
async function built(folder: string, set: string): Promise<boolean> {
  const zig = findZig();
  if (zig === undefined) throw new ToolError("zig is not installed: run `npm install` or `bun install`");
  const place = ["--build-file", join(folder, "zig", "build.zig"), "--prefix", join(folder, "build")];
  const args = [...place, "--cache-dir", join(folder, ".zig-cache"), "-Doptimize=ReleaseFast", `-Donly=${set}`];
  const options = { cwd: folder, env: toolEnv(), stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const child = Bun.spawn([zig, "build", ...args], { ...options, timeout: BUILD_LIMIT_MS, killSignal: "SIGKILL" });
  return (await child.exited) === 0;
}

/** The unit tests of Zig. */
async function unitTests(folder: string): Promise<boolean> {
  const args = ["--build-file", join(folder, "zig", "build.zig"), "--cache-dir", join(folder, ".zig-cache")];
  const options = { cwd: folder, env: toolEnv(), stdin: "ignore", stdout: "ignore", stderr: "ignore" } as const;
  const words = [findZig() as string, "build", "test", ...args];
  return (await Bun.spawn(words, { ...options, timeout: BUILD_LIMIT_MS, killSignal: "SIGKILL" }).exited) === 0;
}

/** Runs one of KERNEL_TESTS. */
function kernelTest(folder: string, at: number, seconds: number): Promise<boolean> {
  const { test, threads } = KERNEL_TESTS[at] as (typeof KERNEL_TESTS)[number];
  return runTest(folder, test, seconds, [], threads === undefined ? {} : { ZENSOR_NUM_THREADS: threads });
}

/** How long each takes without a change. One that fails then would see every mutant: that is an error. */
async function kernelTimes(folder: string): Promise<number[]> {
  const times: number[] = [];
  for (const [at, { test }] of KERNEL_TESTS.entries()) {
    const start = performance.now();
    if (!(await kernelTest(folder, at, 300))) throw new Error(`${test} fails without any change`);
    times.push((performance.now() - start) / 1000);
  }
  return times;
}

/**
 * Builds each mutant for one instruction set and runs the tests of kernels. One that gives the same machine code is no
 * other program there: the code belongs to another set, or what was changed can make no difference.
 */
export async function zigJudge(folder: string, set: string): Promise<Judge> {
  const library = join(folder, libraryFile().slice(root.length + 1));
  if (!(await built(folder, set))) throw new ToolError(`the library does not build for ${set}`);
  const plain = Bun.hash(readFileSync(library));
  const times = await kernelTimes(folder);
  return (m) =>
    mutated(folder, m, async () => {
      if (!(await built(folder, set))) return { ...m, caught: null, void: "does not compile" };
      if (Bun.hash(readFileSync(library)) === plain) return { ...m, caught: null, void: `the same code for ${set}` };
      for (const [at, { test, threads }] of KERNEL_TESTS.entries()) {
        const name = threads === undefined ? test : `${test} with one thread`;
        if (!(await kernelTest(folder, at, limitOf(times[at] as number)))) return { ...m, caught: name };
      }
      return { ...m, caught: (await unitTests(folder)) ? null : "zig's unit tests" };
    });
}

// The steps of the test driver. A step whose input does not exist fails; nothing is left out silently.

import { closeSync, existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join, resolve, sep } from "node:path";
import { isFetchAllowed, runThere } from "./foreign.ts";
import { instructionSets } from "./processor.ts";
import { assembleAll, findPtxas, spilling, versionOf } from "./ptx/assemble.ts";
import { summary } from "./ptx/table.ts";
import { findZig, libraryIsCurrent, root, toolEnv, tsc } from "./toolchain.mjs";

/** What a step found: counts, what its programs printed, and a few words for its line. */
export interface Outcome {
  passed: number;
  failed: number;
  skipped: number;
  output: string;
  note?: string;
}

export interface Step {
  name: string;
  run(): Outcome | Promise<Outcome>;
  /** Runs with nothing beside it, when all before it have ended; none after it begins before. */
  alone?: boolean;
  /** Runs with `--all` only, or when it is named: what it is, for the line that says what was left out. */
  beyond?: string;
}

/**
 * Whether everything is run (`--all`): all instruction sets and platforms, and whatever takes its time. Tests read it
 * from the environment (test/campaign.ts).
 */
export const isWhole = process.argv.includes("--all");
if (isWhole) process.env.ZENSOR_TEST_ALL = "1";
/** What the library has to be built for. */
const scope = isWhole ? "all" : "dev";

interface Finished {
  ok: boolean;
  output: string;
}

type Env = Record<string, string>;

const LIMIT_MS = 30 * 60_000;
const TEST_LIMIT_MS = 120_000;

const NO_LIBRARY = "this needs the native library, built from the present sources: run the build step";

function outcome(ok: boolean, output: string, note?: string): Outcome {
  return { passed: ok ? 1 : 0, failed: ok ? 0 : 1, skipped: 0, output, note };
}

/** Runs a command with both output streams in one log, in the order in which they were written. */
async function command(name: string, words: string[], env: Env = {}): Promise<Finished> {
  const log = join(root, "build", "logs", `${name}.log`);
  mkdirSync(join(root, "build", "logs"), { recursive: true });
  const fd = openSync(log, "w");
  const start = performance.now();
  // CI makes `bun test` refuse a forgotten test.only and refuse to write snapshots.
  const options = { cwd: root, env: toolEnv({ CI: "true", NO_COLOR: "1", ...env }) };
  const child = Bun.spawn(words, { ...options, stdin: "ignore", stdout: fd, stderr: fd, timeout: LIMIT_MS });
  const code = await child.exited;
  closeSync(fd);
  let output = readFileSync(log, "utf8");
  if (child.signalCode !== null) {
    const seconds = ((performance.now() - start) / 1000).toFixed(0);
    output += `\nended by ${child.signalCode} after ${seconds} s: ${words.join(" ")}\n`;
  }
  return { ok: code === 0, output };
}

/** A bun program of the repository as one step. */
function program(name: string, file: string, args: string[] = []): Step {
  return {
    name,
    async run() {
      const path = resolve(root, file);
      if (!existsSync(path)) return outcome(false, `${file} does not exist`);
      const { ok, output } = await command(name, [process.execPath, path, ...args]);
      return outcome(ok, output);
    },
  };
}

function zig(name: string, args: string[]): Promise<Finished> {
  const file = findZig();
  if (file === undefined) return Promise.resolve({ ok: false, output: "zig is not installed" });
  return command(name, [file, ...args]);
}

const build: Step = {
  name: "build",
  alone: true,
  async run() {
    const words = [process.execPath, join(root, "scripts", "run.mjs"), "build", ...(isWhole ? [] : ["--dev"])];
    const { ok, output } = await command("build", words);
    return outcome(ok, output, /^native build: .*$/m.exec(output)?.[0]);
  },
};

const zigFormat: Step = {
  name: "zig-fmt",
  async run() {
    const { ok, output } = await zig("zig-fmt", ["fmt", "--check", "zig", "generated"]);
    return outcome(ok, ok ? "" : `these files are not in zig fmt's form (run: zig fmt zig generated):\n${output}`);
  },
};

/** Reads "12/13 tests passed (1 skipped)" of zig's build summary. */
export function zigCounts(output: string): Omit<Outcome, "output"> | undefined {
  const counts = /Build Summary:.*?(\d+)\/(\d+) tests passed(?: \(([^)]*)\))?/.exec(output);
  if (counts === null) return undefined;
  const skipped = Number(/(\d+) skipped/.exec(counts[3] ?? "")?.[1] ?? 0);
  const passed = Number(counts[1]);
  return { passed, skipped, failed: Number(counts[2]) - passed - skipped };
}

const zigTests: Step = {
  name: "zig",
  async run() {
    const args = ["build", "test", "--build-file", join(root, "zig", "build.zig"), "--summary", "all"];
    const { ok, output } = await zig("zig", [...args, "--cache-dir", join(root, ".zig-cache")]);
    const counts = zigCounts(output);
    if (counts === undefined) return outcome(false, `${output}\nzig ran no tests`);
    if (!ok && counts.failed === 0) counts.failed = 1;
    return { ...counts, output };
  },
};

/** Reads the totals of bun's JUnit report. */
export function junitCounts(report: string): Omit<Outcome, "output"> | undefined {
  const head = /<testsuites\b[^>]*>/.exec(report)?.[0];
  if (head === undefined) return undefined;
  const count = (name: string) => Number(new RegExp(`\\s${name}="(\\d+)"`).exec(head)?.[1] ?? 0);
  const failed = count("failures") + count("errors");
  return { passed: count("tests") - failed - count("skipped"), failed, skipped: count("skipped") };
}

async function bunTest(name: string, filters: string[], env: Env = {}): Promise<Outcome> {
  if (!libraryIsCurrent({ scope })) return outcome(false, NO_LIBRARY);
  const report = join(root, "build", "logs", `${name}.xml`);
  rmSync(report, { force: true });
  const flags = ["--timeout", String(TEST_LIMIT_MS), "--only-failures"];
  const reporter = ["--reporter=junit", `--reporter-outfile=${report}`];
  const { ok, output } = await command(name, [process.execPath, "test", ...flags, ...reporter, ...filters], env);
  const counts = existsSync(report) ? junitCounts(readFileSync(report, "utf8")) : undefined;
  if (counts === undefined) return outcome(false, `${output}\nbun test ended without a report`);
  // An error outside of any test, as in a file that does not load, fails the run but no test case.
  if (!ok && counts.failed === 0) counts.failed = 1;
  if (ok && counts.passed + counts.failed === 0) return outcome(false, `${output}\nbun test ran no test`);
  return { ...counts, output };
}

function add(a: Outcome, b: Outcome): Outcome {
  return {
    passed: a.passed + b.passed,
    failed: a.failed + b.failed,
    skipped: a.skipped + b.skipped,
    output: b.failed > 0 ? a.output + b.output : a.output,
  };
}

/** The operators with the instruction sets that the library does not take by itself, the first on one thread. */
const instructionSetTests: Step = {
  name: "isa",
  beyond: "operators with each other instruction set, and with one thread",
  async run() {
    let sum: Outcome = { passed: 0, failed: 0, skipped: 0, output: "" };
    const { present, absent } = instructionSets();
    // test/ops runs on the last one, with all threads. Where there is no other one, it does on one thread here.
    const others = present.length > 1 ? present.slice(0, -1) : present;
    for (const [i, set] of others.entries()) {
      const env: Env = { ZENSOR_ISA: set, ...(i === 0 ? { ZENSOR_NUM_THREADS: "1" } : {}) };
      const result = await bunTest(`isa-${set}`, ["test/ops/"], env);
      sum = add(sum, { ...result, output: `${JSON.stringify(env)}\n${result.output}\n` });
    }
    // One skip for each set that this processor lacks, so that the totals tell.
    const lacking = absent.length > 0 ? `; not on this processor: ${absent.join(", ")}` : "";
    const note = `${others[0]} on one thread${others.slice(1).map((set) => `, ${set}`)}${lacking}`;
    return { ...sum, skipped: sum.skipped + absent.length, note };
  },
};

/** Tests of the built file's cells: what they import of the sources is taken from it. */
const BUILT = ["ops", "tensor", "autograd", "nn", "func", "distributions"];

const builtTests: Step = {
  name: "built",
  beyond: "tests with the built file in the place of the sources",
  run: () => bunTest("built", ["--preload", "./test/built.ts", ...BUILT.map((folder) => `test/${folder}/`)]),
};

const examples: Step = {
  name: "examples",
  async run() {
    const folder = join(root, "examples");
    // Those that take arguments, minutes or weights have tests of their own.
    const isTested = (file: string): boolean => existsSync(join(root, "test", "docs", file.replace(/ts$/, "test.ts")));
    const all = existsSync(folder) ? readdirSync(folder) : [];
    const files = all.filter((file) => file.endsWith(".ts") && !isTested(file));
    if (files.length === 0) return outcome(false, "there is no examples/*.ts");
    if (!libraryIsCurrent({ scope })) return outcome(false, NO_LIBRARY);
    let sum: Outcome = { passed: 0, failed: 0, skipped: 0, output: "" };
    for (const file of files.sort()) {
      const { ok, output } = await command(`example-${file}`, [process.execPath, join(folder, file)]);
      sum = add(sum, outcome(ok, `examples/${file}\n${output}\n`));
    }
    return sum;
  },
};

/** Changes that tests are known to see must go on being seen. */
async function fixedMutants(): Promise<Outcome> {
  if (!libraryIsCurrent({ scope })) return outcome(false, NO_LIBRARY);
  const { ok, output } = await command("mutants", [process.execPath, join(root, "scripts", "mutate", "fixed.ts")]);
  return outcome(ok, output, /^\d+ of \d+ fixed mutants caught$/m.exec(output)?.[0]);
}

/**
 * The GPU kernels, each assembled for the oldest GPUs that run it: accepted, and with no registers put aside. For newer
 * ones `bun run ptx:table` does it.
 */
async function assembledKernels(): Promise<Outcome> {
  const ptxas = findPtxas();
  if (ptxas === null) return { passed: 0, failed: 0, skipped: 1, output: "", note: "no ptxas (scripts/engines.sh)" };
  const all = await assembleAll(ptxas, "oldest");
  const wrong = spilling(all);
  return outcome(wrong.length === 0, wrong.join("\n"), summary(all, versionOf(ptxas)));
}

/**
 * Kernels, files and TensorDict on the Linux platforms that this machine is not (scripts/foreign.ts). One row of three
 * of each operator; under the emulator of six, and no mappings of hundreds of gigabytes, for which it keeps a table of
 * pages: it takes minutes for all of them, which `bun run foreign` runs.
 */
const THERE = [
  "ops/kernel-fixtures",
  "tensordict/tensordict",
  "tensordict/memmap",
  "tensordict/memmap-large",
  "io/torch-file",
  "io/npy",
  "io/zip",
];

const foreign: Step = {
  name: "foreign",
  beyond: "ARM64 and musl",
  async run() {
    let sum: Outcome = { passed: 0, failed: 0, skipped: 0, output: "" };
    const notes: string[] = [];
    for (const place of ["arm64", "musl"]) {
      const result = isFetchAllowed()
        ? await runThere(
            place,
            THERE.filter((file) => place !== "arm64" || file !== "tensordict/memmap-large").map((file) =>
              join("test", `${file}.test.ts`),
            ),
            { ZENSOR_FIXTURE_STEP: place === "arm64" ? "6" : "3" },
          )
        : { passed: 0, failed: 0, output: "", absent: "not fetched" };
      sum = add(sum, { ...result, skipped: result.absent === undefined ? 0 : 1 });
      notes.push(result.absent === undefined ? place : `${place}: ${result.absent}`);
    }
    return { ...sum, note: notes.join("; ") };
  },
};

const modules = "node_modules";

/** Folders of tests that take minutes begin first, so that none is left alone at the end. */
const LONG = ["cuda", "attack", "tensordict", "package", "cli", "docs", "fuzz"];

/** The folders of `test/` that have tests, each a process of its own: its memory goes with it, and so does a crash. */
export function testFolders(): string[] {
  const folders = [...new Bun.Glob("*/**/*.test.ts").scanSync(join(root, "test"))].map((file) => file.split(sep)[0]);
  const rank = (folder: string) => (LONG.includes(folder) ? LONG.indexOf(folder) : LONG.length);
  return ([...new Set(folders)] as string[]).sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

/** `npm test bun` is all of them. */
const folderTests: Step[] = testFolders().map((folder) => ({
  name: `test/${folder}`,
  run: () => bunTest(`test-${folder}`, [`test/${folder}/`]),
  ...(folder === "package" ? { beyond: "packing and installing the npm packages" } : {}),
}));

/** All steps, in the order in which they are started. */
export const STEPS: readonly Step[] = [
  program("types", tsc, ["--noEmit"]),
  program("generated", "codegen/main.ts", ["--check"]),
  program("format", join(modules, "@biomejs", "biome", "bin", "biome"), [
    "ci",
    "--colors=off",
    "--max-diagnostics=100",
  ]),
  program("imports", "codegen/verify/imports.ts"),
  program("boundary", "codegen/verify/boundary.ts"),
  program("tidy", "codegen/verify/tidy.ts"),
  zigFormat,
  build,
  foreign,
  zigTests,
  ...folderTests,
  { name: "ptxas", run: assembledKernels, beyond: "NVIDIA's assembler on all GPU kernels" },
  { name: "mutants", run: fixedMutants, beyond: "known changes that tests have to catch" },
  instructionSetTests,
  builtTests,
  { ...program("docs", join("scripts", "docs", "main.ts")), beyond: "the API site" },
  examples,
];

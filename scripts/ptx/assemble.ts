// Assembles the GPU kernels with NVIDIA's ptxas, as the driver does when it loads them: what each takes of a GPU.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { findZig, root, ToolError, toolEnv } from "../toolchain.mjs";
import { shortened } from "./pack.ts";

/** Turing, Ampere, Hopper and Blackwell: the first and the newest generations that are served, and two between. */
export const TARGETS = ["sm_75", "sm_80", "sm_90", "sm_100"] as const;

export type Target = (typeof TARGETS)[number];

/** What one kernel, or a function that kernels call, takes. */
export interface Use {
  name: string;
  /** A function has no registers of its own. */
  isKernel: boolean;
  registers: number;
  /** Bytes of a thread's own memory, of registers that are put aside there (written and read), of a block's memory. */
  stack: number;
  spills: number;
  shared: number;
  /** Bytes of machine code. */
  code: number;
}

/** One family for one kind of GPU. */
export interface Assembled {
  family: string;
  target: Target;
  uses: Use[];
}

/** scripts/engines.sh fetches it; `ZENSOR_PTXAS` names another. Null where there is none. */
export function findPtxas(): string | null {
  const given = process.env.ZENSOR_PTXAS;
  if (given) return given;
  const fetched = join(root, ".cache", "engines", "ptxas", "ptxas");
  return existsSync(fetched) ? fetched : Bun.which("ptxas");
}

export function versionOf(ptxas: string): string {
  const { stdout } = Bun.spawnSync([ptxas, "--version"]);
  return /release ([\d.]+)/.exec(stdout.toString())?.[1] ?? "unknown";
}

/** What `ptxas -v` says. */
export function readVerbose(text: string): Use[] {
  const found: Use[] = [];
  const kernels = new Set<string>();
  let now: Use | undefined;
  for (const line of text.split("\n")) {
    const kernel = /Compiling entry function '([^']+)'/.exec(line)?.[1];
    if (kernel !== undefined) kernels.add(kernel);
    const name = /Function properties for (\S+)/.exec(line)?.[1];
    if (name !== undefined) {
      now = { name, isKernel: kernels.has(name), registers: 0, stack: 0, spills: 0, shared: 0, code: 0 };
      found.push(now);
    }
    const frame = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/.exec(line);
    if (frame !== null && now !== undefined) {
      now.stack = Number(frame[1]);
      now.spills = Number(frame[2]) + Number(frame[3]);
    }
    const registers = /Used (\d+) registers/.exec(line)?.[1];
    // The kernel's own line follows it at once; what it calls is told afterwards.
    if (registers !== undefined && now?.isKernel) {
      now.registers = Number(registers);
      now.shared = Number(/(\d+) bytes smem/.exec(line)?.[1] ?? 0);
    }
  }
  return found;
}

/** Bytes of the sections `.text.<name>` of an ELF file. */
export function codeSizes(b: Buffer): Map<string, number> {
  const [table, size, count] = [Number(b.readBigUInt64LE(40)), b.readUInt16LE(58), b.readUInt16LE(60)];
  const names = Number(b.readBigUInt64LE(table + b.readUInt16LE(62) * size + 24));
  const found = new Map<string, number>();
  for (let at = table; at < table + count * size; at += size) {
    const start = names + b.readUInt32LE(at);
    const name = b.toString("latin1", start, b.indexOf(0, start));
    if (name.startsWith(".text.")) found.set(name.slice(6), Number(b.readBigUInt64LE(at + 32)));
  }
  return found;
}

/** Compiles the kernels; the files of the families, with the names that the library has. */
export function ptxFiles(): string[] {
  const zig = findZig();
  if (zig === undefined) throw new ToolError("zig is not installed");
  const folder = join(root, "build", "ptx");
  rmSync(folder, { recursive: true, force: true });
  const words = [zig, "build", "ptx", "--build-file", join(root, "zig", "build.zig"), "--prefix", folder];
  const made = Bun.spawnSync([...words, "--cache-dir", join(root, ".zig-cache")], { cwd: root, env: toolEnv() });
  if (made.exitCode !== 0) throw new ToolError(`zig build ptx failed:\n${made.stderr}`);
  const share = join(folder, "share", "ptx");
  const files = readdirSync(share).sort();
  for (const name of files) {
    const file = join(share, name);
    writeFileSync(file, shortened(readFileSync(file, "utf8")));
  }
  return files.map((name) => join(share, name));
}

/** Assembles one family; what was assembled before is read. */
export async function assemble(ptxas: string, file: string, target: Target): Promise<Assembled> {
  const family = basename(file, ".ptx");
  const folder = join(root, "build", "ptxas");
  mkdirSync(folder, { recursive: true });
  const digest = createHash("sha256")
    .update(`${versionOf(ptxas)} `)
    .update(readFileSync(file))
    .digest("hex");
  const kept = join(folder, `${family}-${target}-${digest.slice(0, 16)}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, "utf8")) as Assembled;
  const cubin = join(folder, `${family}-${target}.${process.pid}.cubin`);
  const words = [ptxas, "-v", `-arch=${target}${headOf(file).exact ? "a" : ""}`, "-o", cubin, file];
  const child = Bun.spawn(words, { cwd: root, stdout: "ignore", stderr: "pipe" });
  const text = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new ToolError(`ptxas refuses ${family} for ${target}:\n${text.slice(0, 2000)}`);
  const sizes = codeSizes(readFileSync(cubin));
  rmSync(cubin);
  const uses = readVerbose(text).map((use) => ({ ...use, code: sizes.get(use.name) ?? 0 }));
  if (!uses.some((use) => use.isKernel && use.code > 0)) throw new ToolError(`ptxas made nothing of ${family}`);
  const result: Assembled = { family, target, uses };
  for (const name of readdirSync(folder)) {
    if (name.startsWith(`${family}-${target}-`)) rmSync(join(folder, name), { force: true });
  }
  writeFileSync(kept, JSON.stringify(result));
  return result;
}

/** The generation that a family is made for, and whether it is for that one alone. */
function headOf(file: string): { oldest: number; exact: boolean } {
  const [, digits, letter] = /^\.target sm_(\d+)(a?)/m.exec(readFileSync(file, "utf8")) ?? [];
  return { oldest: Number(digits), exact: letter === "a" };
}

/** The targets that can run a family: from its oldest one on, or that one alone. */
function targetsOf(file: string): readonly Target[] {
  const { oldest, exact } = headOf(file);
  const of = (target: Target) => Number(target.slice(3));
  return TARGETS.filter((target) => (exact ? of(target) === oldest : of(target) >= oldest));
}

/** All families, two at a time, for all targets that can run them, or for the oldest of each alone. */
export async function assembleAll(ptxas: string, which: "all" | "oldest" = "all"): Promise<Assembled[]> {
  const jobs = ptxFiles().flatMap((file) => {
    const targets = targetsOf(file);
    return (which === "all" ? targets : targets.slice(0, 1)).map((target) => ({ file, target }));
  });
  const results: Assembled[] = [];
  const work = async () => {
    for (let job = jobs.shift(); job !== undefined; job = jobs.shift()) {
      results.push(await assemble(ptxas, job.file, job.target));
    }
  };
  await Promise.all([work(), work()]);
  return results.sort((a, b) => `${a.family} ${a.target}`.localeCompare(`${b.family} ${b.target}`));
}

/** Families whose kernels may put registers aside, and why. */
export const MAY_SPILL: Readonly<Record<string, string>> = {};

/** Kernels, and functions that they call, which put registers aside. */
export function spilling(all: readonly Assembled[]): string[] {
  return all
    .filter(({ family }) => MAY_SPILL[family] === undefined)
    .flatMap(({ target, uses }) =>
      uses.filter((use) => use.spills > 0).map((use) => `${use.name} (${target}): ${use.spills} bytes of spills`),
    );
}

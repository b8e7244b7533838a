// Programs of their own for tests: what is opened once in a process, or ends it, cannot be tested inside of the runner.

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { findZig, libraryFile, root, toolEnv } from "../../scripts/toolchain.mjs";

export { root };

/** A folder that tests may write to. */
export const scratch = join(root, "build", "test");
mkdirSync(scratch, { recursive: true });

export interface Finished {
  exitCode: number;
  signal: string | null;
  stdout: string;
  stderr: string;
}

type Env = Record<string, string>;

/** The environment without the settings that a caller of the tests may have made. */
function cleanEnv(env: Env): Env {
  const inherited: Env = {};
  for (const [key, value] of Object.entries(process.env)) {
    if (value !== undefined && !key.startsWith("ZENSOR_")) inherited[key] = value;
  }
  return { ...inherited, ...env };
}

/** Runs lines of TypeScript; `z` is the package. */
export function runCode(code: string, env: Env = {}): Finished {
  const text = `const z = await import(${JSON.stringify(join(root, "src", "index.ts"))});\n${code}`;
  return runProgram([process.execPath, "-e", text], env);
}

/** Runs a program to its end. */
export function runProgram(words: string[], env: Env = {}): Finished {
  const child = Bun.spawnSync(words, { cwd: root, env: cleanEnv(env), stdout: "pipe", stderr: "pipe" });
  return {
    exitCode: child.exitCode,
    signal: child.signalCode === null || child.signalCode === undefined ? null : String(child.signalCode),
    stdout: child.stdout.toString(),
    stderr: child.stderr.toString(),
  };
}

/** What lines of TypeScript print, as JSON. `caught(f)` gives an error's name, code and message, or the value. */
export function evaluate(code: string, env: Env = {}): unknown {
  const helper = `const caught = (f) => {
    try { return { value: f() }; } catch (e) { return { name: e.name, code: e.code, message: e.message }; }
  };\n`;
  const { exitCode, signal, stdout, stderr } = runCode(helper + code, env);
  if (exitCode !== 0) throw new Error(`the program ended with ${signal ?? exitCode}:\n${stderr}`);
  return JSON.parse(stdout);
}

/** Compiles a Zig file to a shared library; its path. */
export function compileLibrary(source: string, name: string): string {
  const zig = findZig();
  if (zig === undefined) throw new Error("zig is not installed");
  const file = join(scratch, process.platform === "win32" ? `${name}.dll` : `lib${name}.so`);
  const words = ["build-lib", "-dynamic", "-lc", "-fstrip", "-OReleaseSmall", `-femit-bin=${file}`, source];
  const made = Bun.spawnSync([zig, ...words], { cwd: scratch, env: toolEnv() as Env, stderr: "pipe" });
  if (made.exitCode !== 0 || !existsSync(file)) throw new Error(`${source} does not compile:\n${made.stderr}`);
  return file;
}

/** The library that the tests run against. */
export const library = process.env.ZENSOR_LIBRARY ?? libraryFile();

// The inner loop: generates, builds the library for this machine's processor, and runs the tests that the changes since
// the last commit reach. `--watch` does so again whenever a file is saved.

import { spawnSync } from "node:child_process";
import { existsSync, watch } from "node:fs";
import { join } from "node:path";
import { reachedTests } from "./reach.ts";
import { buildBundle, buildLibrary, describeBuild, root, ToolError, toolEnv, tsc } from "./toolchain.mjs";

const WATCHED = ["src", "codegen", "zig", "test"];
/** Editors save in several steps. */
const SETTLE_MS = 150;

function run(words: string[]): { ok: boolean; output: string } {
  const { status, stdout, stderr } = spawnSync(words[0] as string, words.slice(1), {
    cwd: root,
    env: toolEnv(),
    encoding: "utf8",
    maxBuffer: 2 ** 28,
  });
  return { ok: status === 0, output: `${stdout}${stderr}` };
}

/** Paths that differ from the last commit, those that git does not know included. */
function changedPaths(): string[] {
  const lines = (words: string[]) =>
    run(words)
      .output.split("\n")
      .filter((line) => line !== "");
  const changed = lines(["git", "diff", "--name-only", "HEAD"]);
  return [...changed, ...lines(["git", "ls-files", "--others", "--exclude-standard"])];
}

/** One step with its time; what it printed only when it failed. */
function step(name: string, work: () => { ok: boolean; output: string; note?: string }): boolean {
  const start = performance.now();
  const { ok, output, note = "" } = work();
  const seconds = ((performance.now() - start) / 1000).toFixed(1);
  console.log(`${ok ? "ok  " : "FAIL"} ${name.padEnd(9)} ${seconds.padStart(6)} s  ${note}`);
  if (!ok) console.log(output.trimEnd());
  return ok;
}

function build(): { ok: boolean; output: string; note?: string } {
  try {
    const note = describeBuild(buildLibrary({ scope: "dev" }));
    buildBundle();
    return { ok: true, output: "", note };
  } catch (error) {
    if (!(error instanceof ToolError)) throw error;
    return { ok: false, output: error.message };
  }
}

function tests(paths: readonly string[]): { ok: boolean; output: string; note?: string } {
  const reached = reachedTests(paths).filter((path) => existsSync(join(root, path)));
  if (reached.length === 0) return { ok: true, output: "", note: "no test is reached" };
  // The driver of devices is opened once in a process, the tests' own before anything asks for another.
  const cuda = (path: string) => path.startsWith("test/cuda");
  const groups = [reached.filter((path) => !cuda(path)), reached.filter(cuda)].filter((group) => group.length > 0);
  const words = [process.execPath, "test", "--timeout", "120000", "--only-failures"];
  const done = groups.map((group) => run([...words, ...group]));
  const output = done.map((group) => group.output).join("");
  const counts = [...output.matchAll(/^\s*(\d+ (?:pass|fail|skip))$/gm)].map((m) => m[1]).join(", ");
  return { ok: done.every((group) => group.ok), output, note: `${counts} in ${reached.join(" ")}` };
}

function round(paths: readonly string[]): boolean {
  return (
    step("generate", () => run([process.execPath, join(root, "codegen", "main.ts")])) &&
    step("build", build) &&
    step("types", () => run([process.execPath, tsc, "--noEmit"])) &&
    step("tests", () => tests(paths))
  );
}

function loop(): void {
  const waiting = new Set<string>();
  let timer: Timer | undefined;
  const begin = () => {
    const paths = [...waiting];
    waiting.clear();
    console.log(`\n${paths.join(" ")}`);
    round(paths);
  };
  for (const folder of WATCHED) {
    watch(join(root, folder), { recursive: true }, (_event, name) => {
      if (name === null || name.includes(".zig-cache")) return;
      waiting.add(`${folder}/${name}`);
      clearTimeout(timer);
      timer = setTimeout(begin, SETTLE_MS);
    });
  }
  console.log(`watching ${WATCHED.join(", ")}`);
}

const ok = round(changedPaths());
if (process.argv.includes("--watch")) loop();
else process.exitCode = ok ? 0 : 1;

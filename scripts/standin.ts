// Builds the stand-in for the CUDA driver (test/cuda/standin), and prints its path as the last line:
// bun run cuda:standin. Programs use it through ZENSOR_LIBCUDA; what they then see is emulated.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { findZig, root, ToolError, toolEnv } from "./toolchain.mjs";

const sources = join(root, "test", "cuda", "standin");
const folder = join(root, "build", "standin");

/** Speed matters: a test may run a hundred million elements. */
const FLAGS = ["build-lib", "-dynamic", "-lc", "-fstrip", "-OReleaseFast", "--name", "standin"];

function digest(): string {
  const hash = createHash("sha256").update(`${FLAGS.join(" ")} ${process.arch}`);
  for (const name of readdirSync(sources).sort()) {
    if (name.endsWith(".zig")) hash.update(`\0${name}\0`).update(readFileSync(join(sources, name)));
  }
  return hash.digest("hex").slice(0, 16);
}

/** The library's path; it is built unless its sources are those of the last build. */
export function buildStandin(): string {
  const file = join(folder, `libstandin-${digest()}.so`);
  if (existsSync(file)) return file;
  const zig = findZig();
  if (zig === undefined) throw new ToolError("zig is not installed");
  mkdirSync(folder, { recursive: true });
  const made = `${file}.${process.pid}`;
  const words = [...FLAGS, `-femit-bin=${made}`, join(sources, "standin.zig")];
  const { status, stderr } = spawnSync(zig, words, { cwd: folder, env: toolEnv(), encoding: "utf8" });
  if (status !== 0) throw new ToolError(`the stand-in does not build:\n${stderr}`);
  for (const name of readdirSync(folder)) {
    if (/^libstandin-\w+\.so$/.test(name)) rmSync(join(folder, name), { force: true });
  }
  renameSync(made, file);
  return file;
}

if (import.meta.main) console.log(buildStandin());

// Builds the native library for every platform from this one: `bun scripts/cross.ts [target...]`. Checks what can be
// checked without that platform: the file's kind, its processor, and that every function is exported. Prints a table.

import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { SYMBOLS } from "../generated/symbols.ts";
import { findZig, root, toolEnv } from "./toolchain.mjs";

interface Target {
  triple: string;
  file: string;
  /** What the first bytes of such a file say. */
  is(bytes: Buffer): boolean;
}

const elf = (machine: number) => (b: Buffer) => b.readUInt32BE(0) === 0x7f454c46 && b.readUInt16LE(18) === machine;
const machO = (cpu: number) => (b: Buffer) => b.readUInt32LE(0) === 0xfeedfacf && b.readUInt32LE(4) === cpu;

function pe(machine: number) {
  return (b: Buffer) => {
    const at = b.readUInt32LE(60);
    return (
      b.toString("latin1", 0, 2) === "MZ" && b.readUInt32BE(at) === 0x50450000 && b.readUInt16LE(at + 4) === machine
    );
  };
}

const TARGETS: readonly Target[] = [
  { triple: "x86_64-linux-gnu", file: "lib/libzensor.so", is: elf(62) },
  { triple: "x86_64-linux-musl", file: "lib/libzensor.so", is: elf(62) },
  { triple: "aarch64-linux-gnu", file: "lib/libzensor.so", is: elf(183) },
  { triple: "aarch64-linux-musl", file: "lib/libzensor.so", is: elf(183) },
  { triple: "x86_64-macos", file: "lib/libzensor.dylib", is: machO(0x01000007) },
  { triple: "aarch64-macos", file: "lib/libzensor.dylib", is: machO(0x0100000c) },
  { triple: "x86_64-windows-gnu", file: "bin/zensor.dll", is: pe(0x8664) },
];

interface Result {
  triple: string;
  ok: boolean;
  text: string;
}

/** What is wrong with a built library, empty when nothing is. */
function objections(target: Target, file: string): string {
  if (!existsSync(file)) return `made no ${target.file}`;
  const bytes = readFileSync(file);
  if (!target.is(bytes)) return "is a file of another kind";
  const missing = Object.keys(SYMBOLS).filter((name) => !bytes.includes(`${name}\0`));
  return missing.length === 0 ? "" : `does not export ${missing.slice(0, 3).join(", ")}`;
}

function build(zig: string, target: Target): Result {
  const prefix = join(root, "build", "cross", target.triple);
  const options = ["--prefix", prefix, "--cache-dir", join(root, ".zig-cache"), "-Doptimize=ReleaseFast"];
  const start = performance.now();
  const made = spawnSync(zig, ["build", `-Dtarget=${target.triple}`, ...options], {
    cwd: join(root, "zig"),
    env: toolEnv(),
    encoding: "utf8",
  });
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  const file = join(prefix, target.file);
  const wrong = made.status === 0 ? objections(target, file) : `does not build:\n${made.stderr.trim()}`;
  const size = wrong === "" ? `${(statSync(file).size / 1e6).toFixed(2)} MB | ${seconds} s` : wrong;
  return { triple: target.triple, ok: wrong === "", text: size };
}

const wanted = process.argv.slice(2);
const unknown = wanted.filter((name) => !TARGETS.some((t) => t.triple === name));
const zig = findZig();
if (unknown.length > 0 || zig === undefined) {
  console.error(zig === undefined ? "zig is not installed" : `unknown: ${unknown.join(" ")}`);
  process.exit(2);
}
console.log("| target | library | build |\n| --- | --- | --- |");
let failed = 0;
for (const target of TARGETS.filter((t) => wanted.length === 0 || wanted.includes(t.triple))) {
  const { triple, ok, text } = build(zig, target);
  console.log(ok ? `| \`${triple}\` | ${text} |` : `| \`${triple}\` | FAILED: ${text} |`);
  if (!ok) failed++;
}
process.exitCode = failed === 0 ? 0 : 1;

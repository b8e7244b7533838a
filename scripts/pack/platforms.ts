// The platforms that zensor is built for, from any of them.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SYMBOLS } from "../../generated/symbols.ts";
import { findZig, root, ToolError, zigBuild } from "../toolchain.mjs";
import { readBinary } from "./binary.ts";

export interface Platform {
  /** The package, and how its fields say what it is for. */
  name: string;
  text: string;
  os: "linux" | "darwin" | "win32";
  cpu: "x64" | "arm64";
  libc?: "glibc" | "musl";
  /** The library's file, zig's name of the target, and where its build leaves the file. */
  file: string;
  triple: string;
  built: string;
}

const LINUX = { os: "linux", file: "libzensor.so", built: "lib/libzensor.so" } as const;
const MACOS = { os: "darwin", file: "libzensor.dylib", built: "lib/libzensor.dylib" } as const;
const GNU = { ...LINUX, libc: "glibc" } as const;
const MUSL = { ...LINUX, libc: "musl" } as const;

export const PLATFORMS: readonly Platform[] = [
  { name: "zensor-linux-x64-gnu", text: "Linux on x86-64", cpu: "x64", triple: "x86_64-linux-gnu", ...GNU },
  { name: "zensor-linux-x64-musl", text: "Linux on x86-64 (musl)", cpu: "x64", triple: "x86_64-linux-musl", ...MUSL },
  { name: "zensor-linux-arm64-gnu", text: "Linux on ARM64", cpu: "arm64", triple: "aarch64-linux-gnu", ...GNU },
  {
    name: "zensor-linux-arm64-musl",
    text: "Linux on ARM64 (musl)",
    cpu: "arm64",
    triple: "aarch64-linux-musl",
    ...MUSL,
  },
  { name: "zensor-darwin-arm64", text: "macOS on Apple silicon", cpu: "arm64", triple: "aarch64-macos", ...MACOS },
  { name: "zensor-darwin-x64", text: "macOS on x86-64", cpu: "x64", triple: "x86_64-macos", ...MACOS },
  {
    name: "zensor-win32-x64",
    text: "Windows on x86-64",
    os: "win32",
    cpu: "x64",
    triple: "x86_64-windows-gnu",
    file: "zensor.dll",
    built: "bin/zensor.dll",
  },
];

const KINDS: Record<string, string> = {
  "linux x64": "elf 62",
  "linux arm64": "elf 183",
  "darwin x64": `mach-o ${0x01000007}`,
  "darwin arm64": `mach-o ${0x0100000c}`,
  "win32 x64": `pe ${0x8664}`,
};

/** What every system of a kind has; a library needs nothing else. */
const PRESENT: Record<string, RegExp> = {
  glibc: /^(lib(c|m|dl|pthread)|ld-linux-(x86-64|aarch64))\.so\.\d$/,
  musl: /^libc\.so$/,
  darwin: /^\/usr\/lib\/libSystem\.B\.dylib$/,
  win32: /^(kernel32|ntdll|api-ms-win-crt-[a-z]+-l1-1-0|msvcrt)\.dll$/i,
};

/** The oldest system that Bun itself starts on: nothing newer may be asked for. */
const OLDEST: Record<string, string> = { glibc: "GLIBC_2.17", darwin: "macOS 13.0" };

/** What is wrong with a built library, empty when nothing is. */
export function objections(platform: Platform, file: string): string {
  if (!existsSync(file)) return `made no ${platform.file}`;
  const bytes = readFileSync(file);
  const { kind, needed, exports, since } = readBinary(bytes);
  const system = platform.libc ?? platform.os;
  if (kind !== KINDS[`${platform.os} ${platform.cpu}`]) return `is a file of another kind: ${kind}`;
  if (bytes.includes(root)) return `holds the path ${root}`;
  const missing = Object.keys(SYMBOLS).filter((name) => !exports.has(name));
  if (missing.length > 0) return `does not export ${missing.slice(0, 3).join(", ")}`;
  const foreign = needed.filter((name) => !PRESENT[system]?.test(name));
  if (foreign.length > 0) return `needs ${foreign.join(", ")}`;
  const newer = new Intl.Collator("en", { numeric: true }).compare(since ?? "", OLDEST[system] ?? "") > 0;
  return newer ? `needs ${since}, and Bun ${OLDEST[system]} only` : "";
}

/** True where programs are linked with musl: the loader of the other C library is not there. */
function isMusl(): boolean {
  const arch = process.arch === "x64" ? "x86_64" : "aarch64";
  return existsSync(`/lib/ld-musl-${arch}.so.1`) && !existsSync("/lib64/ld-linux-x86-64.so.2");
}

export function hostPlatform(): Platform {
  const libc = process.platform !== "linux" ? undefined : isMusl() ? "musl" : "glibc";
  const found = PLATFORMS.find((p) => p.os === process.platform && p.cpu === process.arch && p.libc === libc);
  if (found === undefined) throw new ToolError(`there is no package for ${process.platform} on ${process.arch}`);
  return found;
}

/** Compiles the library for a platform; gives the file. */
export function crossBuild(platform: Platform, flags: readonly string[] = []): string {
  const zig = findZig();
  if (zig === undefined) throw new ToolError("zig is not installed");
  const prefix = join(root, "build", "cross", platform.triple);
  const { status, stderr } = zigBuild(zig, prefix, [`-Dtarget=${platform.triple}`, ...flags], "pipe");
  if (status !== 0) throw new ToolError(`the library for ${platform.triple} does not build:\n${stderr}`);
  const file = join(prefix, platform.built);
  const wrong = objections(platform, file);
  if (wrong !== "") throw new ToolError(`the library for ${platform.triple} ${wrong}`);
  return file;
}

// Finds, installs and drives the tools of this repository: bun, zig and the native library.
// Runs under node and under bun, and imports nothing that has to be installed first.

import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  accessSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { availableParallelism, homedir } from "node:os";
import { basename, delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const modules = join(root, "node_modules");
const zigCache = join(root, ".zig-cache");
const windows = process.platform === "win32";

/** The TypeScript compiler. Tools that import it as a library need its last version written in JavaScript. */
export const tsc = join(modules, "typescript-native", "bin", "tsc");
export const tscInJavaScript = join(modules, "typescript", "lib", "tsc.js");

const exe = windows ? ".exe" : "";
const zigPackage = `@zigc/${process.platform}-${process.arch}`;

/** A failure that needs one line of text and no stack. */
export class ToolError extends Error {}

/** @param {string} file @returns {any} */
function readJson(file) {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** @param {string} file */
function isRealBinary(file) {
  // A package whose install script was blocked leaves a text stub of a few hundred bytes in place of the program.
  return existsSync(file) && statSync(file).size > 1e6;
}

/** @param {string} program */
function starts(program) {
  return spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;
}

/** @type {string | undefined} */
let knownBun;

/**
 * The bun program of node_modules, or the one running this script.
 * @returns {string | undefined}
 */
export function findBun() {
  if (knownBun !== undefined) return knownBun;
  const vendor = join(modules, "@oven");
  const vendored = existsSync(vendor) ? readdirSync(vendor) : [];
  // Faster builds before the ones for old processors; whichever starts on this machine is taken.
  vendored.sort((a, b) => Number(a.includes("baseline")) - Number(b.includes("baseline")));
  const candidates = [
    join(modules, "bun", "bin", "bun.exe"),
    ...vendored.map((name) => join(vendor, name, "bin", `bun${exe}`)),
  ].filter(isRealBinary);
  if (process.versions.bun !== undefined) candidates.push(process.execPath);
  knownBun = candidates.find(starts);
  return knownBun;
}

/** @returns {string | undefined} */
export function findZig() {
  const file = join(modules, zigPackage, "bin", `zig${exe}`);
  return isRealBinary(file) ? file : undefined;
}

/**
 * The environment for every tool: bun and zig first on PATH, all caches of zig inside the repository.
 * @param {Record<string, string | undefined>} [extra]
 */
export function toolEnv(extra = {}) {
  /** @type {Record<string, string | undefined>} */
  const env = { ...process.env, ...extra };
  const path = Object.keys(env).find((key) => key.toUpperCase() === "PATH") ?? "PATH";
  env[path] = [...toolFolders(), join(modules, ".bin"), env[path] ?? ""].join(delimiter);
  env.ZIG_LOCAL_CACHE_DIR = zigCache;
  env.ZIG_GLOBAL_CACHE_DIR = join(zigCache, "global");
  return env;
}

/** Folders in which `bun` and `zig` start the right programs. */
function toolFolders() {
  const bun = findBun();
  const zig = findZig();
  const folders = [bun, zig].filter((file) => file !== undefined).map((file) => dirname(file));
  if (windows) return folders;
  // bun may be installed under the name bun.exe: links give both their plain names.
  const links = join(modules, ".zensor-bin");
  try {
    mkdirSync(links, { recursive: true });
    if (bun !== undefined) link(bun, join(links, "bun"));
    if (zig !== undefined) link(zig, join(links, "zig"));
  } catch {
    return folders; // a read-only node_modules: the folders themselves have to do
  }
  return [links, ...folders];
}

/** @param {string} target @param {string} file */
function link(target, file) {
  try {
    symlinkSync(target, file);
  } catch {
    rmSync(file, { force: true });
    symlinkSync(target, file);
  }
}

/**
 * @param {string[]} command
 * @param {{ env?: Record<string, string | undefined>, quiet?: boolean }} [options]
 * @returns {number} the exit status
 */
export function run(command, { env = process.env, quiet = false } = {}) {
  const [program = "", ...args] = command;
  const shell = windows && !/\.exe$/i.test(program);
  const stdio = quiet ? "ignore" : "inherit";
  const result = spawnSync(program, args, { cwd: root, stdio, shell, env });
  if (result.error) throw new ToolError(`cannot start ${program}: ${result.error.message}`);
  return result.status ?? 1;
}

/** What is missing from node_modules: nothing when every dependency is there in the locked version. */
function missingPackages() {
  const manifest = readJson(join(root, "package.json"));
  const lockFile = join(root, "package-lock.json");
  const locked = existsSync(lockFile) ? readJson(lockFile).packages : {};
  const names = Object.keys({ ...manifest.dependencies, ...manifest.devDependencies });
  return names.filter((name) => {
    const file = join(modules, name, "package.json");
    if (!existsSync(file)) return true;
    const wanted = locked[`node_modules/${name}`]?.version;
    return wanted !== undefined && readJson(file).version !== wanted;
  });
}

/** The install command of the package manager that started this script. */
function installer() {
  const agent = process.env.npm_config_user_agent ?? "";
  const execPath = process.env.npm_execpath ?? "";
  const npmFlags = ["install", "--ignore-scripts", "--no-audit", "--no-fund"];
  const bunFlags = ["install", "--ignore-scripts"];
  if (process.versions.bun !== undefined) return [process.execPath, ...bunFlags];
  if (agent.startsWith("bun/") && execPath !== "") return [execPath, ...bunFlags];
  if (agent.startsWith("npm/") && execPath.endsWith(".js")) return [process.execPath, execPath, ...npmFlags];
  return ["npm", ...npmFlags];
}

/** Caches move into the repository when the home folder cannot be written. */
function installEnv() {
  const cache = join(root, ".cache");
  try {
    accessSync(homedir(), constants.W_OK);
    return process.env;
  } catch {
    return {
      ...process.env,
      npm_config_cache: join(cache, "npm"),
      BUN_INSTALL_CACHE_DIR: join(cache, "bun"),
    };
  }
}

/**
 * Puts bun's program where its install script would have put it, so that `npx bun` works: without that script there is
 * a text that says so.
 */
function placeBun() {
  const bun = findBun();
  const folder = join(modules, "bun", "bin");
  if (bun === undefined || !existsSync(folder)) return;
  for (const name of ["bun.exe", "bunx.exe"]) {
    const file = join(folder, name);
    if (isRealBinary(file)) continue;
    const fresh = `${file}.${process.pid}`;
    try {
      try {
        linkSync(bun, fresh);
      } catch {
        copyFileSync(bun, fresh); // from another file system
      }
      renameSync(fresh, file);
    } catch {
      rmSync(fresh, { force: true }); // a read-only node_modules
    }
  }
}

/** Installs the tools unless they are there already; no install script is needed or run. */
export function ensureInstalled() {
  installMissing();
  placeBun();
}

function installMissing() {
  let missing = missingPackages();
  if (missing.length === 0 && findZig() !== undefined && findBun() !== undefined) return;
  const command = installer();
  console.log("installing the tools that package.json names (the first time about 650 MB on disk)");
  const env = installEnv();
  if (run(command, { env }) !== 0) throw new ToolError(`"${command.join(" ")}" failed`);
  knownBun = undefined;
  missing = missingPackages();
  if (missing.length > 0) throw new ToolError(`still missing after the install: ${missing.join(", ")}`);
  if (findZig() === undefined) installPlatformPackage(command, env);
  if (findBun() === undefined) throw new ToolError(`no bun program starts on ${process.platform}-${process.arch}`);
}

/**
 * A lockfile written on one platform may lack the zig package of another: fetch it by name, in zig's version.
 * @param {string[]} command
 * @param {Record<string, string | undefined>} env
 */
function installPlatformPackage(command, env) {
  const { version } = readJson(join(modules, "@zigc", "cli", "package.json"));
  if (run([...command, "--no-save", `${zigPackage}@${version}`], { env }) !== 0 || findZig() === undefined) {
    throw new ToolError(`there is no zig for this machine: ${zigPackage}@${version} cannot be installed`);
  }
}

/**
 * Every file under a folder, sorted, without the folders that zig makes.
 * @param {string} folder
 * @returns {string[]}
 */
function filesUnder(folder) {
  if (!existsSync(folder)) return [];
  const found = [];
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === ".zig-cache" || entry.name === "zig-out") continue;
    const file = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...filesUnder(file));
    else found.push(file);
  }
  return found.sort();
}

/**
 * What a library is built for. "all": every instruction set and GPUs, for tests and releases. "dev": this machine's
 * instruction set, and GPUs, whose kernels tests run on the stand-in. "own": what this machine itself can run.
 * @typedef {"all" | "dev" | "own"} Scope
 */

/** @param {Scope} scope */
function scopeFlags(scope) {
  if (scope === "all") return [];
  return scope === "own" && !hasGpu() ? ["-Donly=native", "-Dgpu=false"] : ["-Donly=native"];
}

/** Whether there is an NVIDIA driver, by files that it makes: on Linux, in Linux on Windows, and on Windows. */
export function hasGpu() {
  const system = join(process.env.SystemRoot ?? "C:\\Windows", "System32", "nvcuda.dll");
  return (windows ? [system] : ["/dev/nvidiactl", "/dev/dxg"]).some((file) => existsSync(file));
}

/** A digest over everything the native build reads, but for its flags. */
function sourceDigest() {
  const generated = filesUnder(join(root, "generated")).filter((file) => !/\.(ts|md|json)$/.test(file));
  const hash = createHash("sha256").update(zigPackage);
  const steps = ["name-kernels.ts", "pack.ts"].map((name) => join(root, "scripts", "ptx", name));
  for (const file of [...filesUnder(join(root, "zig")), ...steps, ...generated]) {
    const content = readFileSync(file);
    hash.update(`\0${relative(root, file)}\0${content.length}\0`).update(content);
  }
  return hash.digest("hex");
}

/**
 * What a library is marked with.
 * @param {string} digest of the sources
 * @param {Scope} scope
 */
const stampOf = (digest, scope) => `${digest} ${zigFlags(scope).join(" ")}`;

/** The native library's file, whether it exists or not. */
export function libraryFile() {
  if (windows) return join(root, "build", "bin", "zensor.dll");
  return join(root, "build", "lib", `libzensor.${process.platform === "darwin" ? "dylib" : "so"}`);
}

const stampFile = join(root, "build", "stamp.txt");

/** @param {Scope} scope */
function zigFlags(scope) {
  const given = (process.env.ZENSOR_ZIG_FLAGS ?? "").split(" ").filter((flag) => flag !== "");
  return [...given, ...scopeFlags(scope)];
}

/**
 * Whether the native library exists and was built from the sources as they are now.
 * @param {{ scope?: Scope }} [options] the least that it has to be built for
 */
export function libraryIsCurrent({ scope = "all" } = {}) {
  if (!existsSync(libraryFile()) || !existsSync(stampFile)) return false;
  const stamp = readFileSync(stampFile, "utf8");
  const digest = sourceDigest();
  const scopes = /** @type {Scope[]} */ (["all", "dev", "own"]);
  return scopes.slice(0, scopes.indexOf(scope) + 1).some((enough) => stamp === stampOf(digest, enough));
}

/** Zig's cache knows files by their absolute places: that of a folder that was copied would give the old folder's. */
function requireOwnCache() {
  const note = join(zigCache, "place.txt");
  if (existsSync(note) && readFileSync(note, "utf8") === root) return;
  rmSync(zigCache, { recursive: true, force: true });
  mkdirSync(zigCache, { recursive: true });
  writeFileSync(note, root);
}

/**
 * Starts a build of the library. All of them are started alike: Zig finds what an earlier one left, also for another
 * platform, by the words and the places.
 * @param {string} zig
 * @param {string} prefix where it installs
 * @param {readonly string[]} flags
 * @param {"inherit" | "pipe"} stdio
 */
export function zigBuild(zig, prefix, flags, stdio) {
  requireOwnCache();
  // Left to itself it has one step at a time under way on two cores.
  const jobs = `-j${availableParallelism() + 1}`;
  const where = ["--build-file", join(root, "zig", "build.zig"), "--prefix", prefix, "--cache-dir", zigCache];
  const result = spawnSync(zig, ["build", jobs, ...where, "-Doptimize=ReleaseFast", ...flags], {
    cwd: root,
    env: toolEnv(),
    stdio,
    encoding: "utf8",
  });
  if (result.error) throw new ToolError(`cannot start ${zig}: ${result.error.message}`);
  return result;
}

/**
 * Builds the native library when its sources changed since the last build.
 * @param {{ force?: boolean, scope?: Scope }} [options]
 * @returns {{ built: boolean, seconds: number, megabytes: number, file: string }}
 */
export function buildLibrary({ force = false, scope = "all" } = {}) {
  const zig = findZig();
  if (zig === undefined) throw new ToolError("zig is not installed: run `npm install` or `bun install`");
  const file = libraryFile();
  if (!force && libraryIsCurrent({ scope }))
    return { built: false, seconds: 0, megabytes: statSync(file).size / 1e6, file };
  // Taken before the build: what changes meanwhile is built the next time.
  const stamp = stampOf(sourceDigest(), scope);
  const start = performance.now();
  const { status } = zigBuild(zig, join(root, "build"), zigFlags(scope), "inherit");
  const seconds = (performance.now() - start) / 1000;
  if (status !== 0) throw new ToolError("the native library does not build (see above)");
  if (!existsSync(file)) throw new ToolError(`zig build succeeded but made no ${relative(root, file)}`);
  writeFileSync(stampFile, stamp);
  return { built: true, seconds, megabytes: statSync(file).size / 1e6, file };
}

/**
 * Writes a map of sources that maps nothing beside a bundle. bun reads the map before it gives a program its first
 * stack, a tenth of a second for one of the whole library; where there is none, it says so below each error.
 * @param {string} file
 */
export function writeEmptyMap(file) {
  const map = { version: 3, sources: [basename(file)], sourcesContent: [""], names: [], mappings: "AAAA" };
  writeFileSync(`${file}.map`, `${JSON.stringify(map)}\n`);
}

/**
 * Whether a file of a folder is newer than another file.
 * @param {string} folder
 * @param {string} file
 */
function isNewer(folder, file) {
  const time = statSync(file).mtimeMs;
  return readdirSync(folder).some((name) => statSync(join(folder, name)).mtimeMs > time);
}

/**
 * Makes the files that `import "zensor"` loads, unless they are there and no source is newer.
 * @param {{ force?: boolean }} [options]
 * @returns {boolean} whether it was made
 */
export function buildBundle({ force = false } = {}) {
  const { bundleFile, bundleIsCurrent } = createRequire(import.meta.url)("../src/bundle.cjs");
  if (!force && bundleIsCurrent() && !isNewer(join(root, "scripts", "bundle"), bundleFile)) return false;
  const bun = findBun();
  if (bun === undefined) throw new ToolError("bun is not installed");
  const command = [bun, join(root, "scripts", "bundle", "main.ts")];
  if (run(command, { env: toolEnv(), quiet: true }) !== 0) {
    rmSync(bundleFile, { force: true });
    throw new ToolError("the library does not bundle; this tells why: bun scripts/bundle/main.ts");
  }
  return true;
}

/**
 * One line about a build, for people.
 * @param {{ built: boolean, seconds: number, megabytes: number, file: string }} result
 */
export function describeBuild({ built, seconds, megabytes, file }) {
  const size = `${relative(root, file)} ${megabytes.toFixed(2)} MB`;
  return built ? `native build: ${seconds.toFixed(1)} s, ${size}` : `native build: up to date, ${size}`;
}

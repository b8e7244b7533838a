/** Finds, loads and checks the native library. Beside it only memory.ts, frame.ts and system.ts import bun:ffi. */

import { CString, dlopen, type FFIFunction, ptr, suffix } from "bun:ffi";
import { ABI_HASH } from "../../generated/abi.ts";
import { CUDA, FILES, NATIVES } from "../../generated/symbols.ts";
import { existsSync } from "../runtime/node.ts";
import { checkWhole } from "./library-file.ts";

const NAME = process.platform === "win32" ? "zensor.dll" : `libzensor.${suffix}`;

/** The package that holds this platform's library, as users install it beside this one. */
const PACKAGE = `zensor-${process.platform}-${process.arch}${process.platform === "linux" ? "-gnu or -musl" : ""}`;

/**
 * Where the platform's package has the library, null without one. Each is named in full within its own `try`: so
 * bundlers take those along that are installed for their target, as a file beside the bundle or within the executable.
 */
function packaged(): string | null {
  if (process.platform === "linux" && process.arch === "x64") {
    try {
      return require("zensor-linux-x64-gnu").default;
    } catch {}
    try {
      return require("zensor-linux-x64-musl").default;
    } catch {}
  } else if (process.platform === "linux" && process.arch === "arm64") {
    try {
      return require("zensor-linux-arm64-gnu").default;
    } catch {}
    try {
      return require("zensor-linux-arm64-musl").default;
    } catch {}
  } else if (process.platform === "darwin" && process.arch === "arm64") {
    try {
      return require("zensor-darwin-arm64").default;
    } catch {}
  } else if (process.platform === "darwin" && process.arch === "x64") {
    try {
      return require("zensor-darwin-x64").default;
    } catch {}
  } else if (process.platform === "win32" && process.arch === "x64") {
    try {
      return require("zensor-win32-x64").default;
    } catch {}
  }
  return null;
}

/** Folders where a library may lie: a clone's build, beside a bundle of this code, beside the executable. */
function folders(): string[] {
  const here = folderOf(import.meta.path);
  const build = `${folderOf(folderOf(here))}/build`;
  const own = isAbsolute(here) ? [here, `${build}/lib`, `${build}/bin`] : [];
  return [...new Set([...own, folderOf(Bun.main), folderOf(process.execPath)])];
}

/** Where a package manager mostly puts the platform's package: to ask there is quicker than to import it. */
function beside(): string[] {
  const here = folderOf(import.meta.path);
  if (!isAbsolute(here)) return [];
  const kinds = process.platform === "linux" ? ["-gnu", "-musl"] : [""];
  return kinds.map((kind) => `${folderOf(folderOf(here))}/zensor-${process.platform}-${process.arch}${kind}`);
}

// Node's own functions for paths and files would take longer to load than the library.
function folderOf(file: string): string {
  return file.slice(0, Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\"), 0));
}

function isAbsolute(file: string): boolean {
  return /^([\\/]|[A-Za-z]:)/.test(file);
}

function within(places: readonly string[], name: string): string | null {
  return places.map((folder) => `${folder}/${name}`).find((file) => Bun.file(file).size > 0) ?? null;
}

/** A bundler gives the name of the file that it put beside the bundle, which may be imported by a program elsewhere. */
function placed(file: string | null): string | null {
  if (file === null || isAbsolute(file)) return file;
  const bundle = /[( ](?:file:\/\/)?([^( ][^(\n]*?):\d+:\d+\)?$/m.exec(new Error().stack ?? "")?.[1];
  return within(bundle === undefined ? folders() : [folderOf(bundle), ...folders()], file);
}

function findLibrary(): string {
  // What somebody asked for is taken, or refused when it is loaded; nothing else stands in for it.
  const forced = process.env.ZENSOR_LIBRARY;
  if (forced) {
    if (existsSync(forced)) return forced;
    throw new Error(`zensor: ZENSOR_LIBRARY names ${forced}, which does not exist`);
  }
  const found = within([...folders(), ...beside()], NAME) ?? placed(packaged());
  if (found !== null) return found;
  throw new Error(
    `zensor: the native library was not found: no ${NAME} in ${folders().join(", ")}, ` +
      `and no package ${PACKAGE} is installed. Add that package in the version of zensor (\`bun add\` does so unless ` +
      "optional packages are left out), or name a library in ZENSOR_LIBRARY; in a clone, `bun run build` makes it.",
  );
}

const REMEDY = "Rebuild it with `bun run build`, or install zensor and its platform package in one version.";

function otherVersion(file: string, hash: string): Error {
  return new Error(
    `zensor: ${file} was built for another version of this package ` +
      `(its ABI is ${hash}, this code needs ${ABI_HASH}). ${REMEDY}`,
  );
}

const HASH_ONLY = { zs_abi_hash: NATIVES.zs_abi_hash };

/** The ABI of a library that lacks functions, undefined for a file that is no library of this package. */
function hashOf(file: string): string | undefined {
  try {
    return new CString(dlopen(file, HASH_ONLY).symbols.zs_abi_hash() as never).toString();
  } catch {
    return undefined;
  }
}

function load(file: string) {
  // What lies within a compiled executable cannot be opened, and is as whole as that is.
  if (!/^(\/\$bunfs\/|[A-Z]:[\\/]~BUN)/.test(file)) checkWhole(file);
  try {
    return dlopen(file, NATIVES);
  } catch (error) {
    const hash = hashOf(file);
    if (hash !== undefined && hash !== ABI_HASH) throw otherVersion(file, hash);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`zensor: ${file} cannot be loaded, or is no library of this package (${reason}). ${REMEDY}`);
  }
}

const path = findLibrary();
const library = load(path);

type Natives = Record<keyof typeof NATIVES | keyof typeof FILES | keyof typeof CUDA, (...args: number[]) => number>;

/** Opens the functions of a kind when one of them is first asked for. */
const late: ProxyHandler<object> = {
  get(_, name) {
    const table = [FILES, CUDA].find((one) => Object.hasOwn(one, name));
    if (table === undefined) return undefined;
    const opened = dlopen(path, table as Record<string, FFIFunction>);
    held.push(opened);
    Object.assign(native, opened.symbols);
    return native[name as keyof Natives];
  },
};

/** What is open: it stays so. */
const held: unknown[] = [library];

/** The native functions, typed by the generated tables. */
export const native: Natives = Object.assign(Object.create(new Proxy({}, late)), library.symbols);

function checkAbi(): void {
  const hash = new CString(native.zs_abi_hash() as never).toString();
  if (hash !== ABI_HASH) throw otherVersion(path, hash);
}
checkAbi();

type Call = (...args: number[]) => number;

/** A kernel's function that reads the frame, and the one with `arity` addresses to read where it has one. */
export function openKernel(symbol: string, arity: number | null): [call: Call, fast: Call | null] {
  const table: Record<string, FFIFunction> = { [symbol]: { args: ["f64"], returns: "i32" } };
  if (arity !== null) {
    const addresses = new Array<"ptr">(arity + 1).fill("ptr");
    table[`${symbol}_fast`] = { args: ["u32", ...addresses, "f64"], returns: "i32" };
  }
  const opened = dlopen(path, table);
  held.push(opened);
  const found = opened.symbols as unknown as Record<string, Call>;
  return [found[symbol] as Call, found[`${symbol}_fast`] ?? null];
}

/** Where the loaded library is. */
export const libraryPath = path;

/** The NUL-terminated text at an address. */
export function textAt(address: number): string {
  return new CString(address as never).toString();
}

/** The address of a typed array's first byte. The array must stay reachable during the call. */
export function addressOf(view: NodeJS.TypedArray): number {
  return view.byteLength === 0 ? 0 : (ptr(view) as number);
}

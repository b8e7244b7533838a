/** Finds, loads and checks the native library. Beside it only memory.ts, frame.ts and system.ts import bun:ffi. */

import { CString, dlopen, ptr, suffix } from "bun:ffi";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ABI_HASH } from "../../generated/abi.ts";
import { SYMBOLS } from "../../generated/symbols.ts";
import { checkWhole } from "./library-file.ts";

function candidates(): string[] {
  const root = join(dirname(import.meta.path), "..", "..");
  const name = process.platform === "win32" ? "zensor.dll" : `libzensor.${suffix}`;
  const forced = process.env.ZENSOR_LIBRARY;
  if (forced) return [forced];
  return [join(root, "build", "lib", name), join(root, "build", "bin", name), join(root, "lib", name)];
}

function findLibrary(): string {
  const places = candidates();
  for (const place of places) if (existsSync(place)) return place;
  throw new Error(
    `zensor: the native library was not found at ${places.join(" or ")}. ` +
      "Build it with `bun run build`, or name it in ZENSOR_LIBRARY.",
  );
}

function otherVersion(file: string, hash: string): Error {
  return new Error(
    `zensor: ${file} was built for another version of this package ` +
      `(its ABI is ${hash}, this code needs ${ABI_HASH}). Rebuild it with \`bun run build\`.`,
  );
}

const HASH_ONLY = { zs_abi_hash: SYMBOLS.zs_abi_hash };

/** The ABI of a library that lacks functions, undefined for a file that is no library of this package. */
function hashOf(file: string): string | undefined {
  try {
    return new CString(dlopen(file, HASH_ONLY).symbols.zs_abi_hash() as never).toString();
  } catch {
    return undefined;
  }
}

function load(file: string) {
  checkWhole(file);
  try {
    return dlopen(file, SYMBOLS);
  } catch (error) {
    const hash = hashOf(file);
    if (hash !== undefined && hash !== ABI_HASH) throw otherVersion(file, hash);
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(
      `zensor: ${file} cannot be loaded, or is no library of this package (${reason}). ` +
        "Rebuild it with `bun run build`.",
    );
  }
}

const path = findLibrary();
const library = load(path);

/** The native functions, typed by the generated table. */
export const native = library.symbols as unknown as {
  [K in keyof typeof SYMBOLS]: (...args: number[]) => number;
};

function checkAbi(): void {
  const hash = new CString(native.zs_abi_hash() as never).toString();
  if (hash !== ABI_HASH) throw otherVersion(path, hash);
}
checkAbi();

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

/** Finds, loads and checks the native library. With memory.ts and frame.ts the only importer of bun:ffi. */

import { CString, dlopen, ptr, suffix } from "bun:ffi";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { ABI_HASH } from "../../generated/abi.ts";
import { SYMBOLS } from "../../generated/symbols.ts";

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

const path = findLibrary();
const library = dlopen(path, SYMBOLS);

/** The native functions, typed by the generated table. */
export const native = library.symbols as unknown as {
  [K in keyof typeof SYMBOLS]: (...args: number[]) => number;
};

function checkAbi(): void {
  const hash = new CString(native.zs_abi_hash() as never).toString();
  if (hash !== ABI_HASH) {
    throw new Error(
      `zensor: ${path} was built for another version of this package ` +
        `(its ABI is ${hash}, this code needs ${ABI_HASH}). Rebuild it with \`bun run build\`.`,
    );
  }
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
  return view.byteLength === 0 ? 0 : (ptr(view) as unknown as number);
}

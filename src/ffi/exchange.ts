/** Two names of the file system that trade places in one step: a call of the C library that the runtime lacks. */
import { dlopen, ptr } from "bun:ffi";

type Exchange = (a: string, b: string) => boolean;

const AT_FDCWD = -100;
const RENAME_EXCHANGE = 2;
const RENAME_SWAP = 2;

/** A zero-terminated path. */
function terminated(path: string): Uint8Array {
  return new TextEncoder().encode(`${path}\0`);
}

function onLinux(library: string): Exchange {
  const args = ["i32", "ptr", "i32", "ptr", "u32"] as const;
  const { renameat2 } = dlopen(library, { renameat2: { args, returns: "i32" } }).symbols;
  return (a, b) => {
    return renameat2(AT_FDCWD, ptr(terminated(a)), AT_FDCWD, ptr(terminated(b)), RENAME_EXCHANGE) === 0;
  };
}

function onMac(): Exchange {
  const args = ["ptr", "ptr", "u32"] as const;
  const { renamex_np } = dlopen("/usr/lib/libSystem.B.dylib", { renamex_np: { args, returns: "i32" } }).symbols;
  return (a, b) => renamex_np(ptr(terminated(a)), ptr(terminated(b)), RENAME_SWAP) === 0;
}

function find(): Exchange {
  const musl = `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`;
  const libraries = process.platform === "linux" ? ["libc.so.6", musl] : [];
  for (const library of libraries) {
    try {
      return onLinux(library);
    } catch {
      // Another C library, or one from before 2018.
    }
  }
  try {
    if (process.platform === "darwin") return onMac();
  } catch {
    // A system without the call.
  }
  return () => false;
}

let exchange: Exchange | null = null;

/**
 * Gives two files or directories each other's names; whoever looks finds both at any moment. False when the system or
 * the file system cannot do that, or when one of them is missing; then nothing has changed.
 */
export function exchangeNames(a: string, b: string): boolean {
  if (a.includes("\0") || b.includes("\0")) return false;
  exchange ??= find();
  return exchange(a, b);
}

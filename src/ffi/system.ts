/** Calls of the C library that the runtime does not have. Where the system lacks one, nothing happens. */
import { dlopen, ptr } from "bun:ffi";

const MADV_DONTNEED = 4;

type Forget = (address: number, nbytes: number) => void;
type Read = (file: string, bytes: Uint8Array, offset: number) => number;

/** The C libraries to look in. */
function libraries(): string[] {
  if (process.platform === "darwin") return ["/usr/lib/libSystem.B.dylib"];
  if (process.platform !== "linux") return [];
  return ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];
}

/** What `make` finds in the first library that has it. */
function find<T>(make: (library: string) => T): T | null {
  for (const library of libraries()) {
    try {
      return make(library);
    } catch {
      // Another C library, or one that is too old.
    }
  }
  return null;
}

/** A zero-terminated path. */
function terminated(path: string): Uint8Array {
  return new TextEncoder().encode(`${path}\0`);
}

function forgetOf(library: string): Forget {
  const { madvise } = dlopen(library, { madvise: { args: ["usize", "usize", "i32"], returns: "i32" } }).symbols;
  return (address, nbytes) => {
    madvise(address as never, nbytes as never, MADV_DONTNEED);
  };
}

function readOf(library: string): Read {
  const { open, pread, close } = dlopen(library, {
    open: { args: ["ptr", "i32"], returns: "i32" },
    pread: { args: ["i32", "ptr", "usize", "i64"], returns: "i64" },
    close: { args: ["i32"], returns: "i32" },
  }).symbols;
  return (file, bytes, offset) => {
    const fd = open(ptr(terminated(file)), 0);
    if (fd < 0) return 0;
    const count = Number(pread(fd, ptr(bytes), bytes.length as never, offset));
    close(fd);
    return count;
  };
}

let forget: Forget | null | undefined;
let read: Read | null | undefined;

/**
 * Takes the pages of a shared mapping of a file out of this process; they are read again when they are used. With any
 * other kind of memory their content would be lost. The address is that of the mapping.
 */
export function forgetPages(address: number, nbytes: number): void {
  if (forget === undefined) forget = find(forgetOf);
  forget?.(address, nbytes);
}

/**
 * Reads bytes at an offset of a file; gives how many. Node's functions for files would take longer to load than the
 * native library.
 */
export function readBytes(file: string, bytes: Uint8Array, offset: number): number {
  if (read === undefined) read = find(readOf);
  return read?.(file, bytes, offset) ?? 0;
}

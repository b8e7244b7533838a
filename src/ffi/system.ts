/** Calls of the C library that the runtime does not have. Where the system lacks one, nothing happens. */
import { dlopen, ptr } from "bun:ffi";

const AT_FDCWD = -100;
/** The number of the system call `renameat2`. */
const RENAMEAT2 = process.arch === "arm64" ? 276 : 316;
const RENAME_EXCHANGE = 2;
const RENAME_SWAP = 2;
const MADV_DONTNEED = 4;

type Exchange = (a: string, b: string) => boolean;
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

function exchangeOf(library: string): Exchange {
  if (process.platform === "darwin") {
    const args = ["ptr", "ptr", "u32"] as const;
    const { renamex_np } = dlopen(library, { renamex_np: { args, returns: "i32" } }).symbols;
    return (a, b) => renamex_np(ptr(terminated(a)), ptr(terminated(b)), RENAME_SWAP) === 0;
  }
  // By its number: musl had no function of this name before 2024.
  const args = ["i64", "i64", "ptr", "i64", "ptr", "i64"] as const;
  const { syscall } = dlopen(library, { syscall: { args, returns: "i64" } }).symbols;
  return (a, b) => {
    const [from, to] = [ptr(terminated(a)), ptr(terminated(b))];
    return Number(syscall(RENAMEAT2, AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE)) === 0;
  };
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

let exchange: Exchange | null | undefined;
let forget: Forget | null | undefined;
let read: Read | null | undefined;

/**
 * Gives two files or directories each other's names; whoever looks finds both at any moment. False when the system or
 * the file system cannot do that, or when one of them is missing; then nothing has changed.
 */
export function exchangeNames(a: string, b: string): boolean {
  if (a.includes("\0") || b.includes("\0")) return false;
  if (exchange === undefined) exchange = find(exchangeOf);
  return exchange?.(a, b) ?? false;
}

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

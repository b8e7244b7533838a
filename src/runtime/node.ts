/**
 * Node's modules, loaded when a function of theirs is first called: loading these takes as long as a quarter of this
 * library.
 */
interface Modules {
  fs: typeof import("node:fs");
  "fs/promises": typeof import("node:fs/promises");
  os: typeof import("node:os");
  path: typeof import("node:path");
  util: typeof import("node:util");
}

/** A function of a module that loads the module at its first call. */
function later<M extends keyof Modules, F extends keyof Modules[M]>(module: M, name: F): Modules[M][F] {
  let found: ((...args: unknown[]) => unknown) | undefined;
  const call = (...args: unknown[]) => {
    found ??= (process.getBuiltinModule(`node:${module}`) as Modules[M])[name] as typeof found;
    return found?.(...args);
  };
  return call as Modules[M][F];
}

export const chmodSync = later("fs", "chmodSync");
export const closeSync = later("fs", "closeSync");
export const existsSync = later("fs", "existsSync");
export const fstatSync = later("fs", "fstatSync");
export const fsyncSync = later("fs", "fsyncSync");
export const linkSync = later("fs", "linkSync");
export const lstatSync = later("fs", "lstatSync");
export const mkdirSync = later("fs", "mkdirSync");
export const openSync = later("fs", "openSync");
export const readFileSync = later("fs", "readFileSync");
export const readSync = later("fs", "readSync");
export const readdirSync = later("fs", "readdirSync");
export const readlinkSync = later("fs", "readlinkSync");
export const renameSync = later("fs", "renameSync");
export const rmSync = later("fs", "rmSync");
export const rmdirSync = later("fs", "rmdirSync");
export const statSync = later("fs", "statSync");
export const statfsSync = later("fs", "statfsSync");
export const truncateSync = later("fs", "truncateSync");
export const unlinkSync = later("fs", "unlinkSync");
export const writeFileSync = later("fs", "writeFileSync");
export const writeSync = later("fs", "writeSync");

export const promises = {
  open: later("fs/promises", "open"),
  readdir: later("fs/promises", "readdir"),
  rm: later("fs/promises", "rm"),
  statfs: later("fs/promises", "statfs"),
};

/** The system's own realpath: the module's other one takes ".." away before it looks. */
export function realpathNative(path: string): string {
  return process.getBuiltinModule("node:fs").realpathSync.native(path);
}

/** Flags for opening a file that must not wait, as a pipe without a writer would. */
export function readWithoutWaiting(): number {
  const { constants } = process.getBuiltinModule("node:fs");
  return constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);
}

export const availableParallelism = later("os", "availableParallelism");
export const hostname = later("os", "hostname");
export const totalmem = later("os", "totalmem");

export const basename = later("path", "basename");
export const dirname = later("path", "dirname");
export const extname = later("path", "extname");
export const isAbsolute = later("path", "isAbsolute");
export const join = later("path", "join");
export const parse = later("path", "parse");
export const resolve = later("path", "resolve");
export const sep = process.platform === "win32" ? "\\" : "/";

export const getSystemErrorMap = later("util", "getSystemErrorMap");

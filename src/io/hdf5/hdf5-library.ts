// The engine that opens HDF5 files with the C library.

import { findHdf5, type Hdf5Library } from "../../ffi/hdf5.ts";
import { existsSync, resolve, statSync } from "../../runtime/node.ts";
import { FormatError, guarded, systemError } from "../base/errors.ts";
import type { Hdf5Engine, Hdf5Handle, Hdf5Mode } from "./hdf5-engine.ts";
import { failureOf, NativeHandle } from "./hdf5-native.ts";
import { cText, Identifiers } from "./hdf5-types.ts";

const READ_ONLY = 0;
const READ_WRITE = 1;
const TRUNCATE = 2;
const EXCLUSIVE = 4;
/** Closing a file closes whatever of it is open. */
const CLOSE_STRONG = 3;

/** The engine that calls the C library. */
class NativeEngine implements Hdf5Engine {
  readonly name: string;
  constructor(private readonly library: Hdf5Library) {
    this.name = `libhdf5 ${library.version} (${library.name})`;
  }

  open(path: string, mode: Hdf5Mode): Hdf5Handle {
    const full = resolve(path);
    const { call, id } = this.library;
    using ids = new Identifiers(this.library, () => failureOf(this.library, full));
    const access = ids.keep(call.H5Pcreate(id.H5P_CLS_FILE_ACCESS_ID));
    ids.check(call.H5Pset_fclose_degree(access, CLOSE_STRONG));
    // Files that every version can read, as h5py writes them.
    const bounds = new Int32Array(2);
    ids.check(call.H5Pget_libver_bounds(access, bounds.subarray(0, 1), bounds.subarray(1)));
    ids.check(call.H5Pset_libver_bounds(access, 0, bounds[1] as number));
    const name = cText(full);
    const how = mode === "a" ? (existsSync(full) ? "r+" : "x") : mode;
    if (how === "r" || how === "r+") {
      // Opening a pipe would wait for its other end.
      if (!guarded(full, () => statSync(full)).isFile()) throw new FormatError("not a regular file", full);
      const file = call.H5Fopen(name, how === "r" ? READ_ONLY : READ_WRITE, access);
      if (file < 0n) throw failureOf(this.library, full);
      return new NativeHandle(this.library, full, file);
    }
    if (existsSync(full)) {
      if (how !== "w") throw systemError(17, full);
      if (!statSync(full).isFile()) throw new FormatError("not a regular file", full);
    }
    const file = call.H5Fcreate(name, how === "w" ? TRUNCATE : EXCLUSIVE, 0n, access);
    if (file < 0n) throw failureOf(this.library, full);
    return new NativeHandle(this.library, full, file);
  }
}

/** The C library's engine; null with a reason where there is no library. */
export function nativeEngine(): { engine: Hdf5Engine | null; problem: string } {
  const { library, problem } = findHdf5();
  return { engine: library === null ? null : new NativeEngine(library), problem };
}

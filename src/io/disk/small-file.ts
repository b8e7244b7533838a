// Small files read whole with one native call, into room that is used again: directories of tensors have one per level.

import { JOB_SIZE, JobField, JobFlag } from "../../../generated/abi.ts";
import { addressOf, native } from "../../ffi/library.ts";
import { lstatSync, readFileSync } from "../../runtime/node.ts";
import { FormatError, guarded, OSError } from "../base/errors.ts";
import { jobError, resultAt } from "./file-jobs.ts";

const FIRST_ROOM = 64 * 1024;
// Longer paths than the system takes are refused here already.
const MAX_PATH = 4096;
const UTF8 = new TextEncoder();
/** Over a buffer of its own: the compiler moves the bytes of a short array that is a constant of compiled code. */
const job = new Float64Array(new ArrayBuffer(8 * JOB_SIZE));
const name = new Uint8Array(MAX_PATH + 1);
let room = new Uint8Array(FIRST_ROOM);

/**
 * The bytes of a file of at most `limit` bytes; valid until the next call. Anything but a regular file is an error,
 * with `noFollow` also a symbolic link to one.
 */
export function readSmallFile(path: string, limit: number, noFollow = false): Uint8Array {
  if (process.platform === "win32") {
    if (noFollow && (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ?? false)) {
      throw new OSError(`${path} is a symbolic link`, { path, code: "symlink" });
    }
    return guarded(path, () => readFileSync(path));
  }
  if (path.includes("\0")) throw new OSError("embedded null byte in a file name", { path });
  const { read, written } = UTF8.encodeInto(path, name.subarray(0, MAX_PATH));
  if (read < path.length) throw new OSError(`[Errno 36] File name too long: '${path}'`, { path, errno: 36 });
  name[written] = 0;
  for (;;) {
    job.fill(0);
    job[JobField.path] = addressOf(name);
    job[JobField.data] = addressOf(room);
    job[JobField.nbytes] = room.length;
    const flags = JobFlag.read | (noFollow ? JobFlag.noFollow : 0);
    job[JobField.flags] = flags;
    const failed = native.zs_io_run(addressOf(job), 1, 1);
    const result = resultAt(job, 0);
    if (failed !== 0) throw jobError({ path, flags, nbytes: room.length }, result);
    const { fileSize, mapped } = result;
    if (mapped < room.length) {
      const bytes = room.subarray(0, mapped);
      if (room.length > FIRST_ROOM) room = new Uint8Array(FIRST_ROOM);
      return bytes;
    }
    if (fileSize > limit) throw new FormatError(`${fileSize} bytes are more than ${limit}`, path);
    // A device gives bytes without end and has no size.
    if (fileSize < mapped) throw new FormatError("it is no regular file", path);
    room = new Uint8Array(fileSize + 1);
  }
}

// Whether a disk has room for what is to be written: told before the first byte, since work without end would come
// before the last.
import { dirname, lstatSync, statfsSync } from "../../runtime/node.ts";
import { OSError } from "../base/errors.ts";

const ENOSPC = 28;
/** What systems count the blocks of a file in. */
const BLOCK_BYTES = 512;
/** Of btrfs, XFS and bcachefs: copies of files share blocks there, and take no room. */
const SHARING = [0x9123683e, 0x58465342, 0xca451a4e];

/** Less is not asked for: its first byte is about its last, and small files are written often. */
const LEAST_ASKED = 2 ** 20;

/** Deflate makes nothing smaller than this: two bits for 258 bytes. */
export const MOST_DEFLATED = 1032;

/** Bytes of a disk that a file has. */
export function takenBy(path: string): number {
  try {
    const stat = lstatSync(path, { throwIfNoEntry: false });
    return stat?.isFile() ? stat.blocks * BLOCK_BYTES : 0;
  } catch {
    // What is in the way is found when it is written.
    return 0;
  }
}

/** The first directory above a path that is there. */
function statfsAbove(path: string): ReturnType<typeof statfsSync> | null {
  for (let at = dirname(path); ; at = dirname(at)) {
    try {
      return statfsSync(at);
    } catch {
      if (at === dirname(at)) return null;
    }
  }
}

/**
 * Throws `OSError` (ENOSPC) when the disk of a path has less free room than so many bytes, if they are a MiB or more.
 * @param copied how many of them are copied from other files
 */
export function requireRoom(path: string, nbytes: number, copied = 0): void {
  if (!(nbytes >= LEAST_ASKED)) return;
  const found = statfsAbove(path);
  // Some file systems say nothing.
  if (found === null || Number(found.blocks) === 0) return;
  // Of an ext4 disk a part is the superuser's.
  const free = Number(process.getuid?.() === 0 ? found.bfree : found.bavail) * Number(found.bsize);
  const needed = Math.ceil(SHARING.includes(Number(found.type)) ? nbytes - copied : nbytes);
  if (needed <= free) return;
  throw new OSError(`[Errno 28] No space left on device: '${path}' takes ${needed} bytes, and ${free} are free`, {
    path,
    code: "ENOSPC",
    errno: ENOSPC,
  });
}

// ZIP archives, read by ranges: the directory at the end, then one entry at a time. Entries that overlap, lie outside
// of the file, have unsafe or repeated names, or whose two headers differ are refused before any of them is read.
import { FormatError } from "../base/errors.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { readZipDirectory, type ZipDirectoryLimits, type ZipEntry } from "./zip-directory.ts";
import { zlib } from "./zlib.ts";

/** The largest growth that deflate's coding allows: 258 bytes from two bits. */
const DEFLATE_RATIO = 1032;

/** Compressed entries of any archive may become so many bytes together, those of a large one a multiple of it. */
const FREE_BYTES = 2 ** 30;
const TOTAL_RATIO = 200;
/** The same for entries that describe others. */
const FREE_SMALL = 2 ** 20;
const SMALL_RATIO = 100;
/** Bytes of a compressed entry that are looked at before the rest. */
const BEGINNING_BYTES = 2048;

/** Bytes that are compared in one step. */
const VERIFY_PART = 2 ** 18;

/** An archive whose directory was read and checked. It holds no open file. */
export class ZipFile {
  constructor(
    readonly path: string,
    /** Bytes of the archive. */
    readonly size: number,
    /** Files by name, in the order of the directory. */
    readonly entries: ReadonlyMap<string, ZipEntry>,
  ) {}

  /** The entry of this name. Throws `FormatError`. */
  entry(name: string): ZipEntry {
    const entry = this.entries.get(name);
    if (entry === undefined) throw new FormatError(`it has no entry ${JSON.stringify(name)}`, this.path);
    return entry;
  }

  /**
   * The content of an entry of at most `limit` bytes, compared with its checksum. Throws `FormatError` when it is
   * longer, when it is not what the directory says, or when the archive has changed since it was opened.
   */
  read(entry: ZipEntry, limit: number): Uint8Array {
    if (entry.nbytes > limit) throw this.bad(entry, `its ${entry.nbytes} bytes are more than ${limit}`);
    const payload = FileRanges.with(this.path, (file) => {
      if (file.size !== this.size) throw new FormatError("the archive has changed since it was opened", this.path);
      return file.read(entry.offset, entry.compressedBytes);
    });
    const bytes = entry.method === "stored" ? payload : this.inflate(entry, payload);
    if (zlib().crc32(bytes) !== entry.crc) throw this.checksumDiffers(entry);
    return bytes;
  }

  /**
   * Compares a stored entry with its checksum, in steps between which the program may go on. The bytes come through a
   * small room: pages of a mapping would count as this process's memory.
   */
  *verifying(file: FileRanges, entry: ZipEntry): Steps<void> {
    const room = new Uint8Array(Math.min(VERIFY_PART, entry.nbytes));
    let crc = 0;
    for (let at = 0; at < entry.nbytes; at += VERIFY_PART) {
      const part = room.subarray(0, Math.min(VERIFY_PART, entry.nbytes - at));
      file.readInto(entry.offset + at, part);
      crc = zlib().crc32(part, crc);
      yield;
    }
    if (crc !== entry.crc) throw this.checksumDiffers(entry);
  }

  /** `read` for an entry that describes others: those hardly repeat themselves, and what does is a trap. */
  readSmall(entry: ZipEntry, limit: number): Uint8Array {
    if (entry.method !== "stored" && entry.nbytes > FREE_SMALL + entry.compressedBytes * SMALL_RATIO) {
      throw this.bad(entry, `its ${entry.nbytes} bytes are compressed to ${entry.compressedBytes}`);
    }
    return this.read(entry, limit);
  }

  /** The first bytes of an entry that is compressed: all or some of them, unless it is damaged. */
  beginning(entry: ZipEntry): Uint8Array {
    const payload = FileRanges.with(this.path, (file) => {
      return file.read(entry.offset, Math.min(entry.compressedBytes, BEGINNING_BYTES));
    });
    try {
      const finishFlush = zlib().constants.Z_SYNC_FLUSH;
      return zlib().inflateRawSync(payload, { finishFlush, maxOutputLength: BEGINNING_BYTES * DEFLATE_RATIO + 1 });
    } catch (error) {
      throw this.bad(entry, `damaged deflate data (${(error as Error).message})`);
    }
  }

  /** Throws if compressed entries become more than `maxBytes`, by default more than an archive of this size may say. */
  requireTotal(maxBytes: number = Math.max(FREE_BYTES, this.size * TOTAL_RATIO)): void {
    let total = 0;
    for (const { method, nbytes } of this.entries.values()) if (method !== "stored") total += nbytes;
    if (total <= maxBytes) return;
    const most = `more than ${maxBytes} are read only if maxBytes says so`;
    throw new FormatError(`${this.size} bytes would become ${total}: ${most}`, this.path);
  }

  /** Throws unless deflate could make so many bytes from those that there are. */
  requireGrowth(entry: ZipEntry): void {
    if (entry.nbytes > entry.compressedBytes * DEFLATE_RATIO) {
      throw this.bad(entry, "it cannot grow to the size it claims");
    }
  }

  private inflate(entry: ZipEntry, payload: Uint8Array): Uint8Array {
    this.requireGrowth(entry);
    try {
      // One byte more than claimed is enough to see that a claim is wrong.
      const options = { maxOutputLength: entry.nbytes + 1, info: true } as const;
      const result = zlib().inflateRawSync(payload, options);
      if (result.buffer.length === entry.nbytes && result.engine.bytesWritten === payload.length) return result.buffer;
    } catch (error) {
      const code = (error as { code?: unknown }).code;
      if (code !== "ERR_BUFFER_TOO_LARGE") throw this.bad(entry, `damaged deflate data (${(error as Error).message})`);
    }
    throw this.sizesDiffer(entry);
  }

  /** The error for content that is longer or shorter than the directory says. */
  sizesDiffer(entry: ZipEntry): FormatError {
    return this.bad(entry, "its sizes are not those of its content");
  }

  /** The error for content of another checksum. */
  checksumDiffers(entry: ZipEntry): FormatError {
    return this.bad(entry, "its content does not match its checksum");
  }

  /** The error for an entry. */
  bad(entry: ZipEntry, what: string): FormatError {
    return new FormatError(`entry ${JSON.stringify(entry.name)}: ${what}`, this.path);
  }
}

/**
 * Opens an archive: reads its directory and the header of every entry, no content. Throws `FormatError` for anything
 * that is not a plain archive: other compression than deflate, encryption, several volumes, unsafe names.
 */
export function readZip(path: string, limits: ZipDirectoryLimits = {}): ZipFile {
  return runSteps(readingZip(path, limits));
}

/** `readZip` in steps: directories of thousands of entries take a while. */
export function* readingZip(path: string, limits: ZipDirectoryLimits = {}): Steps<ZipFile> {
  const file = new FileRanges(path);
  try {
    return new ZipFile(file.path, file.size, yield* readZipDirectory(file, limits));
  } finally {
    file.close();
  }
}

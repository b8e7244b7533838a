// Reading parts of a file: what a format's directory or header needs, without the data.
import { closeSync, fstatSync, openSync, readSync, readWithoutWaiting } from "../../runtime/node.ts";
import { FormatError, guarded } from "../base/errors.ts";
import { systemPath } from "../base/places.ts";

/** Bytes that are fetched at once when small parts lie close together. */
const WINDOW = 4096;

/** An open regular file of which ranges are read. It must be closed. */
export class FileRanges {
  readonly path: string;
  readonly size: number;
  private readonly fd: number;
  private window: { start: number; bytes: Uint8Array } = { start: 0, bytes: new Uint8Array(0) };

  constructor(path: string) {
    this.path = systemPath(path);
    // Without O_NONBLOCK the opening of a named pipe would wait for somebody to write into it.
    this.fd = guarded(this.path, () => openSync(this.path, readWithoutWaiting()));
    const stat = fstatSync(this.fd);
    if (!stat.isFile()) {
      closeSync(this.fd);
      throw new FormatError("not a regular file", this.path);
    }
    this.size = stat.size;
  }

  /** Opens a file, hands it to `use` and closes it. */
  static with<T>(path: string, use: (file: FileRanges) => T): T {
    const file = new FileRanges(path);
    try {
      return use(file);
    } finally {
      file.close();
    }
  }

  /** Bytes of a range that must lie inside of the file; checked before memory is taken for it. */
  read(offset: number, nbytes: number): Uint8Array {
    this.check(offset, nbytes);
    const bytes = new Uint8Array(nbytes);
    this.readInto(offset, bytes);
    return bytes;
  }

  /** Fills `bytes` from a range that must lie inside of the file. */
  readInto(offset: number, bytes: Uint8Array): void {
    const nbytes = bytes.length;
    this.check(offset, nbytes);
    let at = 0;
    while (at < nbytes) {
      const got = guarded(this.path, () => readSync(this.fd, bytes, at, nbytes - at, offset + at));
      if (got === 0) throw new FormatError("the file became shorter while it was read", this.path);
      at += got;
    }
  }

  /** Like `read` for a few bytes, with one system call for neighbours. Valid until the next call. */
  peek(offset: number, nbytes: number): Uint8Array {
    this.check(offset, nbytes);
    const inside = offset - this.window.start;
    if (inside < 0 || inside + nbytes > this.window.bytes.length) {
      const length = Math.min(Math.max(nbytes, WINDOW), this.size - offset);
      this.window = { start: offset, bytes: this.read(offset, length) };
    }
    const start = offset - this.window.start;
    return this.window.bytes.subarray(start, start + nbytes);
  }

  close(): void {
    closeSync(this.fd);
  }

  private check(offset: number, nbytes: number): void {
    const valid = Number.isSafeInteger(offset) && Number.isSafeInteger(nbytes) && offset >= 0 && nbytes >= 0;
    if (valid && offset + nbytes <= this.size) return;
    throw new FormatError(`bytes ${offset} to ${offset + nbytes} lie outside of its ${this.size} bytes`, this.path);
  }
}

// Files that are written bit by bit: beside the target, which they replace when they are complete.
import { closeSync, fstatSync, openSync, readSync, statSync, writeSync } from "../../runtime/node.ts";
import { guarded, OSError } from "../base/errors.ts";
import { absoluteFile } from "../base/places.ts";
import { runSteps } from "../base/steps.ts";
import { syncPath } from "../disk/durable.ts";
import { UnfinishedFile } from "../disk/unfinished-file.ts";

/** Bytes that are collected before they are written. */
const BUFFER_BYTES = 2 ** 20;

/** A file that takes bytes and texts until it is finished. Without `finish` nothing of it stays. */
export class TableFile {
  readonly path: string;
  private readonly file: UnfinishedFile;
  private descriptor: number | null;
  private size = 0;
  private parts: Uint8Array[] = [];
  private waiting = 0;

  /** @param nbytes how many bytes it will have at least */
  constructor(
    path: string,
    private readonly fsync = false,
    nbytes = 0,
  ) {
    this.file = new UnfinishedFile(absoluteFile(path));
    this.path = this.file.target;
    this.descriptor = this.file.begin(nbytes);
  }

  /** Takes the next bytes, which must not change any more. */
  write(data: Uint8Array | string): void {
    const bytes = typeof data === "string" ? Buffer.from(data) : data;
    this.parts.push(bytes);
    this.waiting += bytes.length;
    if (this.waiting >= BUFFER_BYTES) this.flush();
  }

  private flush(): void {
    const { descriptor } = this;
    if (descriptor === null) throw new OSError(`${this.path} is written already`, { path: this.path });
    for (const bytes of this.parts) {
      for (let at = 0; at < bytes.length; ) {
        at += guarded(this.path, () => writeSync(descriptor, bytes, at, bytes.length - at));
      }
      this.size += bytes.length;
    }
    this.parts = [];
    this.waiting = 0;
  }

  /** Puts the file in place. */
  finish(): void {
    this.flush();
    this.descriptor = null;
    try {
      if (this.fsync) syncPath(this.file.path);
      this.file.place(this.size, { fsync: this.fsync });
    } catch (error) {
      throw this.file.cause(error);
    }
  }

  /** Leaves what was there before. */
  discard(): void {
    this.descriptor = null;
    runSteps(this.file.discarding());
  }

  /** Runs what writes, and finishes; an error leaves what was there before. */
  static replace(path: string, fsync: boolean, write: (file: TableFile) => void): void {
    const file = new TableFile(path, fsync);
    try {
      write(file);
      file.finish();
    } catch (error) {
      file.discard();
      throw error;
    }
  }
}

/** The bytes of a file, piece by piece; each piece is an array of its own. */
export function* piecesOf(path: string, pieceBytes = BUFFER_BYTES): Generator<Uint8Array> {
  const descriptor = guarded(path, () => openSync(path, "r"));
  try {
    if (guarded(path, () => fstatSync(descriptor)).isDirectory()) {
      throw new OSError(`[Errno 21] Is a directory: '${path}'`, { errno: 21, path, code: "EISDIR" });
    }
    for (;;) {
      const piece = new Uint8Array(pieceBytes);
      const count = guarded(path, () => readSync(descriptor, piece, 0, pieceBytes, null));
      if (count === 0) return;
      yield piece.subarray(0, count);
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Files of so many bytes are read by one call. */
const AT_ONCE = 2 ** 24;

/** A file whose bytes are read where they are needed; of one that is no plain file, all of them at once. */
export function openedBytes(path: string): {
  size: number;
  read(at: number, length: number): Uint8Array;
  close(): void;
} {
  const here = (all: Uint8Array) => {
    return { size: all.length, read: (at: number, length: number) => all.subarray(at, at + length), close: () => {} };
  };
  const { size, isPlain } = guarded(path, () => {
    const stat = statSync(path);
    return { size: stat.size, isPlain: stat.isFile() };
  });
  if (!isPlain || size <= AT_ONCE) return here(joined([...piecesOf(path)]));
  const descriptor = guarded(path, () => openSync(path, "r"));
  const read = (at: number, length: number) => {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const count = guarded(path, () => readSync(descriptor, bytes, done, length - done, at + done));
      if (count === 0) throw new OSError(`${path} has become shorter while it was read`, { path });
      done += count;
    }
    return bytes;
  };
  return { size, read, close: () => closeSync(descriptor) };
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((n, piece) => n + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** The texts of a file, piece by piece; UTF-8, without a byte order mark. */
export function* textsOf(path: string, pieceBytes?: number): Generator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (const piece of piecesOf(path, pieceBytes)) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

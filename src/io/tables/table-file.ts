// Files that are written bit by bit: beside the target, which they replace when they are complete.
import { closeSync, fstatSync, openSync, readSync, writeSync } from "../../runtime/node.ts";
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

/** The texts of a file, piece by piece; UTF-8, without a byte order mark. */
export function* textsOf(path: string, pieceBytes?: number): Generator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  for (const piece of piecesOf(path, pieceBytes)) yield decoder.decode(piece, { stream: true });
  yield decoder.decode();
}

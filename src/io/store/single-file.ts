// Files written whole: beside the target under another name, which takes its place when everything is there.

import { JobFlag } from "../../../generated/abi.ts";
import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { claiming } from "../base/claims.ts";
import { realTarget } from "../base/places.ts";
import { runSteps, runStepsLater, type Steps, wait } from "../base/steps.ts";
import { inTurn, synced } from "../disk/durable.ts";
import { type BackgroundOptions, FileJobs, PART_BYTES, writing } from "../disk/file-jobs.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { type Piece, pieceBytes } from "../disk/pieces.ts";
import { MOST_DEFLATED, requireRoom } from "../disk/room.ts";
import { UnfinishedFile } from "../disk/unfinished-file.ts";
import { layingOutZip, type ZipWriteEntry, type ZipWriteOptions } from "../zip/zip-write.ts";
import { isRemote, type RemoteOptions, RemotePlace } from "./s3.ts";

/** Pieces up to this many bytes are written together with small neighbours, */
const SMALL = 16 * 1024;
/** up to this many bytes in one go. */
const JOINED_BYTES = 2 ** 20;

function isSmall(piece: Piece): boolean {
  const { data } = piece;
  const inMemory = data instanceof Uint8Array || ("address" in data && data.file === undefined);
  return inMemory && pieceBytes(piece) <= SMALL;
}

/** Copies of small neighbours in one piece: every piece opens the file, which takes longer than to copy such a one. */
function joined(pieces: readonly Piece[]): Piece {
  const first = pieces[0] as Piece;
  if (pieces.length === 1) return first;
  const bytes = new Uint8Array(pieces.reduce((sum, piece) => sum + pieceBytes(piece), 0));
  let at = 0;
  for (const { data } of pieces) {
    if (data instanceof Uint8Array) bytes.set(data, at);
    else if (data.nbytes > 0) copyBytes(addressOf(bytes) + at, (data as TensorBytes).address, data.nbytes);
    at += data instanceof Uint8Array ? data.length : data.nbytes;
  }
  return { offset: first.offset, data: bytes };
}

function* withNeighboursJoined(pieces: readonly Piece[]): Generator<Piece> {
  let group: Piece[] = [];
  let [end, nbytes] = [0, 0];
  for (const piece of pieces) {
    const fits = isSmall(piece) && piece.offset === end && nbytes < JOINED_BYTES;
    if (group.length > 0 && !fits) {
      yield joined(group);
      group = [];
      nbytes = 0;
    }
    end = piece.offset + pieceBytes(piece);
    nbytes += pieceBytes(piece);
    if (isSmall(piece)) group.push(piece);
    else {
      yield piece;
      nbytes = 0;
    }
  }
  if (group.length > 0) yield joined(group);
}

/** How a file is written. */
export interface FileWriteOptions {
  /** Threads that write. */
  numThreads?: number;
  /** Flush file and directory to the disk before the old file is replaced. */
  fsync?: boolean;
  /** For places such as "s3://bucket/file", which are written in the background only. */
  remote?: RemoteOptions;
}

/** How a file is written that may be refused its name. */
interface PlaceOptions extends FileWriteOptions {
  /** False: a file that is there is an error, and stays. */
  existsok?: boolean;
}

/** Bytes of all pieces, and how many of them are copied from files. */
function bytesOf(pieces: readonly Piece[]): { nbytes: number; copied: number } {
  let [nbytes, copied] = [0, 0];
  for (const piece of pieces) {
    const { data } = piece;
    nbytes += pieceBytes(piece);
    if (!(data instanceof Uint8Array) && ("path" in data || ("file" in data && data.file))) copied += data.nbytes;
  }
  return { nbytes, copied };
}

/** A file that is laid out, but not yet written. Readers of an older file keep it whole. */
export class FileWrite {
  readonly path: string;
  private readonly file: UnfinishedFile | null;
  private readonly jobs = new FileJobs();

  constructor(
    path: string,
    private readonly pieces: readonly Piece[],
    private readonly options: PlaceOptions = {},
  ) {
    this.file = isRemote(path) ? null : new UnfinishedFile(path);
    this.path = this.file?.target ?? path;
    if (this.file === null) return;
    const { nbytes, copied } = bytesOf(pieces);
    requireRoom(this.path, nbytes, copied);
    for (const piece of withNeighboursJoined(pieces)) this.add(piece, this.file.path);
  }

  private add({ offset, data }: Piece, path: string): void {
    const nbytes = pieceBytes({ offset, data });
    if (nbytes === 0) return;
    const flags = JobFlag.writable | JobFlag.noFollow;
    for (let at = 0; at < nbytes; at += PART_BYTES) {
      const part = writing(data, at, Math.min(PART_BYTES, nbytes - at));
      this.jobs.add({ ...part, path, offset: offset + at, flags: flags | part.flags });
    }
  }

  /**
   * Writes everything and puts the file in place.
   * @param written runs when all is written, before the file at the path it gets has its name: another save may take
   * that right after
   */
  run<T = void>(written: (path: string) => T = () => undefined as T): T {
    return runSteps(this.writing({}, written));
  }

  /**
   * The same while the program goes on. The sources must not change until then.
   * @param written runs as in `run`
   */
  runInBackground<T = void>(options: BackgroundOptions = {}, written?: (path: string) => T): Promise<T> {
    return runStepsLater(this.writing(options, written), options.signal);
  }

  /** `run` in steps. */
  *writing<T = void>(options: BackgroundOptions, written: (path: string) => T = () => undefined as T): Steps<T> {
    using _ = yield* claiming(this.pieces);
    if (this.file !== null) return yield* this.writingFile(this.file, options, written);
    yield* wait(
      () => {
        const { path } = this;
        throw new RuntimeError(`${path} can only be written in the background: use the form that returns a promise`);
      },
      () => this.upload(options),
    );
    return written(this.path);
  }

  private *writingFile<T>(file: UnfinishedFile, options: BackgroundOptions, written: (path: string) => T): Steps<T> {
    const { jobs, pieces } = this;
    const { fsync, existsok, numThreads = 1 } = this.options;
    const nbytes = pieces.reduce((end, piece) => {
      const size = pieceBytes(piece);
      return size === 0 ? end : Math.max(end, piece.offset + size);
    }, 0);
    try {
      file.begin();
      const failed = yield* wait(
        () => jobs.run(numThreads),
        () => jobs.runInBackground(numThreads, options),
      );
      if (failed !== 0) jobs.throwFirstFailure();
      if (fsync) yield* synced(file.path);
      const result = written(file.path);
      yield* inTurn(file.target, () => file.placing(nbytes, { fsync, existsok, signal: options.signal }));
      return result;
    } catch (error) {
      const cause = file.cause(error);
      yield* file.discarding();
      throw cause;
    }
  }

  private async upload({ onProgress, signal }: BackgroundOptions): Promise<void> {
    const place = new RemotePlace(this.path, { ...this.options.remote, ...(signal === undefined ? {} : { signal }) });
    const total = this.pieces.length;
    await place.write(place.key, this.pieces);
    onProgress?.(total, total);
  }
}

/** Before the checksums, which would take as long as to write it all. */
function requireZipRoom(path: string, entries: readonly ZipWriteEntry[]): void {
  let [nbytes, copied] = [0, 0];
  for (const { data, deflate } of entries) {
    if ("zeros" in data) continue;
    const size = data instanceof Uint8Array ? data.length : data.nbytes;
    nbytes += deflate ? size / MOST_DEFLATED : size;
    if (!deflate && !(data instanceof Uint8Array) && "file" in data && data.file) copied += size;
  }
  requireRoom(realTarget(path), nbytes, copied);
}

/**
 * Steps that write a zip archive: its checksums are computed before anything is written. A signal leaves the file that
 * was there before.
 * @param written gives the result (see `FileWrite.run`)
 */
export function* writingZip<T = void>(
  path: string,
  plan: () => readonly ZipWriteEntry[],
  style: ZipWriteOptions["style"],
  options: PlaceOptions & BackgroundOptions,
  written?: (path: string) => T,
): Steps<T> {
  const entries = plan();
  using _ = yield* claiming(entries);
  if (!isRemote(path)) requireZipRoom(path, entries);
  const { pieces } = yield* layingOutZip(entries, { style });
  return yield* new FileWrite(path, pieces, options).writing(options, written);
}

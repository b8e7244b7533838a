// Objects in an S3 store through the runtime's client: places, ranges with retries, listings, uploads in parts.
import { S3Client, type S3File } from "bun";
import { addressOf, windowOn } from "../../ffi/memory.ts";
import { ValueError } from "../../tensor/errors.ts";
import { checkFile } from "../../tensor/values.ts";
import { FileNotFoundError, FormatError, OSError } from "../base/errors.ts";
import { Slices } from "../base/slices.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { type Piece, pieceBytes } from "../disk/pieces.ts";
import { gatherInSlices } from "../disk/strided-bytes.ts";
import { changedError, fetchRange, isSameVersion, mergedVersion, type ObjectVersion, versionOf } from "./ranges.ts";

/** How a remote store is reached, and how hard it is tried. */
export interface RemoteOptions {
  /** The client; by default one that takes its keys and its endpoint from the environment, as Bun does. */
  client?: S3Client;
  /** Requests at the same time. */
  concurrency?: number;
  /** How often a request that failed for a passing reason is made again. */
  retries?: number;
  /** Milliseconds after which a request that brings nothing has failed, 60 seconds by default. */
  timeout?: number;
  /** Called with the bytes that are done and those of the whole. */
  onProgress?: (done: number, total: number) => void;
  /** Stops at once, also a request that hangs; what was being written does not appear, unless the store had it all. */
  signal?: AbortSignal;
}

/** Bytes of one request. */
const RANGE_BYTES = 8 * 2 ** 20;
/** Bytes of one part of an upload; S3 allows 10,000 parts. */
const PART_BYTES = 8 * 2 ** 20;
const MOST_PARTS = 9000;
const FIRST_DELAY_MS = 100;
const TIMEOUT_MS = 60_000;
/** How long an address can be used that the client makes for one request. */
const URL_SECONDS = 3600;
const MOST_SHORT_PAGES = 100;
/** What will not go away by trying again. */
const FINAL = new Set(
  (
    "NoSuchKey NoSuchBucket AccessDenied InvalidAccessKeyId SignatureDoesNotMatch InvalidRange " +
    "ERR_S3_MISSING_CREDENTIALS"
  ).split(" "),
);

/** True for places such as "s3://bucket/folder". */
export function isRemote(path: string): boolean {
  return path.startsWith("s3://");
}

/** A listed object. */
export interface RemoteObject {
  key: string;
  size: number;
}

function isSize(size: unknown): boolean {
  return typeof size === "number" && Number.isSafeInteger(size) && size >= 0;
}

/** A bucket, and a prefix in it. */
export class RemotePlace {
  readonly bucket: string;
  readonly key: string;
  private readonly client: S3Client;
  private readonly retries: number;
  /** The objects that were seen so far. */
  private readonly versions = new Map<string, ObjectVersion>();

  constructor(
    readonly url: string,
    readonly options: RemoteOptions = {},
  ) {
    const match = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/.exec(url);
    if (match === null) throw new ValueError(`${url} is no place in an S3 store: write s3://bucket/folder`);
    this.bucket = match[1] as string;
    this.key = (match[2] ?? "").replace(/\/+$/, "");
    this.client = options.client ?? new S3Client();
    this.retries = options.retries ?? 4;
  }

  /** The name of an object for messages. */
  name(key: string): string {
    return `s3://${this.bucket}/${key}`;
  }

  private file(key: string): S3File {
    return this.client.file(key, { bucket: this.bucket });
  }

  /** Makes a request, again after a pause when it failed for a reason that may pass. */
  private async attempt<T>(key: string, request: () => Promise<T>): Promise<T> {
    for (let round = 0; ; round++) {
      this.options.signal?.throwIfAborted();
      try {
        return await this.stoppable(request());
      } catch (error) {
        this.options.signal?.throwIfAborted();
        const code = (error as { code?: string }).code ?? "";
        if ((error as { name?: string }).name === "AbortError" || error instanceof OSError) throw error;
        if (code === "NoSuchKey") throw new FileNotFoundError(this.name(key), error);
        if (FINAL.has(code) || round >= this.retries) {
          if (error instanceof FormatError) throw error;
          const message = `${this.name(key)}: ${(error as Error).message}${code === "" ? "" : ` (${code})`}`;
          throw new OSError(message, { path: this.name(key), code: code || "s3", cause: error });
        }
        await this.stoppable(Bun.sleep(FIRST_DELAY_MS * 2 ** round));
      }
    }
  }

  /** What a request brings, unless nothing comes for too long. */
  private async timely<T>(request: Promise<T>): Promise<T> {
    const limit = this.options.timeout ?? TIMEOUT_MS;
    const late = Promise.withResolvers<never>();
    const timer = setTimeout(() => late.reject(new Error(`nothing came for ${limit} ms`)), limit);
    try {
      return await this.stoppable(Promise.race([request, late.promise]));
    } finally {
      clearTimeout(timer);
    }
  }

  /** What comes, or the signal's reason as soon as it stops everything: the store may never answer. */
  private async stoppable<T>(work: Promise<T>): Promise<T> {
    const { signal } = this.options;
    if (signal === undefined) return await work;
    const stopped = Promise.withResolvers<never>();
    const stop = () => stopped.reject(signal.reason);
    // Nobody waits for it once it is stopped.
    work.catch(() => {});
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop, { once: true });
    try {
      return await Promise.race([work, stopped.promise]);
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  /** Bytes of an object. */
  async size(key: string): Promise<number> {
    return (await this.stat(key)).size;
  }

  /** Bytes of an object, and what changes with its content. */
  async stat(key: string): Promise<{ size: number; etag: string }> {
    const { size, etag, lastModified } = await this.attempt(key, () => this.timely(this.file(key).stat()));
    if (!isSize(size)) throw new FormatError(`the store says that it has ${size} bytes`, this.name(key));
    this.know(key, versionOf(etag, lastModified, size));
    return { size, etag };
  }

  /** Notes which object has a name: all that is read under it from here on has to be of that one. */
  private know(key: string, version: ObjectVersion): void {
    const known = this.versions.get(key);
    if (known !== undefined && !isSameVersion(known, version)) throw changedError(this.name(key));
    this.versions.set(key, known === undefined ? version : mergedVersion(known, version));
  }

  /** Whether there is such an object. */
  async exists(key: string): Promise<boolean> {
    return await this.attempt(key, () => this.timely(this.file(key).exists()));
  }

  /** Exactly the bytes [begin, end) of an object, the one that was seen under this name before. */
  async range(key: string, begin: number, end: number): Promise<Uint8Array> {
    if (end <= begin) return new Uint8Array(0);
    const name = this.name(key);
    return await this.attempt(key, async () => {
      const url = this.client.presign(key, { bucket: this.bucket, method: "GET", expiresIn: URL_SECONDS });
      const request = { url, name, begin, end, version: this.versions.get(key) ?? null };
      const { bytes, version } = await fetchRange(request, (promise) => this.timely(promise));
      this.know(key, version);
      return bytes;
    });
  }

  /** Reads [begin, end) of an object to an address, in pieces. */
  async readInto(
    key: string,
    begin: number,
    end: number,
    address: number,
    onBytes: (n: number) => void,
  ): Promise<void> {
    for (let at = begin; at < end; at += RANGE_BYTES) {
      const stop = Math.min(end, at + RANGE_BYTES);
      const bytes = await this.range(key, at, stop);
      new Uint8Array(windowOn(address + (at - begin), bytes.length)).set(bytes);
      onBytes(bytes.length);
    }
  }

  /** All objects below the prefix, at most `most`. */
  async list(most = 1_000_000): Promise<RemoteObject[]> {
    const prefix = this.key === "" ? "" : `${this.key}/`;
    const found: RemoteObject[] = [];
    const keys = new Set<string>();
    let pages = 0;
    let continuationToken: string | undefined;
    for (;;) {
      const page = await this.attempt(prefix, () => {
        const input = { prefix, ...(continuationToken === undefined ? {} : { continuationToken }) };
        return this.timely(this.client.list(input, { bucket: this.bucket }));
      });
      for (const { key, size = 0, eTag, lastModified } of page.contents ?? []) {
        if (!isSize(size)) throw new FormatError(`the store says that it has ${size} bytes`, this.name(key));
        if (!key.startsWith(prefix)) throw new FormatError(`the store lists ${this.name(key)} as well`, this.url);
        if (keys.has(key)) throw new FormatError(`the store lists ${this.name(key)} twice`, this.url);
        keys.add(key);
        this.versions.set(key, versionOf(eTag, lastModified, size));
        found.push({ key, size });
      }
      if (found.length > most) throw new FormatError(`more than ${most} objects`, this.url);
      continuationToken = page.isTruncated ? page.nextContinuationToken : undefined;
      if (continuationToken === undefined) return found;
      // Pages may be short now and then; they must not go on for ever.
      if (++pages > MOST_SHORT_PAGES + found.length / 100) {
        throw new FormatError(`the store's listing does not end after ${pages} pages`, this.url);
      }
    }
  }

  async delete(key: string): Promise<void> {
    this.versions.delete(key);
    await this.attempt(key, () => this.file(key).delete());
  }

  /**
   * Writes an object from pieces; where none is, it has zeros. Small objects go in one request, others in parts. The
   * object appears when all of it is there: until then, and for ever when this fails, the old one stays.
   */
  async write(key: string, pieces: readonly Piece[], onBytes: (n: number) => void = () => {}): Promise<void> {
    this.versions.delete(key);
    const ordered = [...pieces].filter((piece) => pieceBytes(piece) > 0).sort((a, b) => a.offset - b.offset);
    const total = ordered.reduce((end, piece) => Math.max(end, piece.offset + pieceBytes(piece)), 0);
    if (total <= PART_BYTES) {
      const whole = new Uint8Array(total);
      for (const piece of ordered) for await (const [at, bytes] of chunks(piece, PART_BYTES)) whole.set(bytes, at);
      await this.attempt(key, () => written(this.file(key).write(whole)));
      onBytes(total);
      return;
    }
    const partSize = Math.max(PART_BYTES, Math.ceil(total / MOST_PARTS / 2 ** 20) * 2 ** 20);
    const writer = this.file(key).writer({ partSize, queueSize: 4, retry: Math.max(1, this.retries) });
    let done = 0;
    const put = async (bytes: Uint8Array) => {
      // A writer that is not ended leaves the object as it was.
      this.options.signal?.throwIfAborted();
      writer.write(bytes);
      done += bytes.length;
      await this.stoppable(written(Promise.resolve(writer.flush())));
      onBytes(bytes.length);
    };
    try {
      for (const piece of ordered) {
        while (done < piece.offset) await put(new Uint8Array(Math.min(PART_BYTES, piece.offset - done)));
        for await (const [, bytes] of chunks(piece, PART_BYTES)) await put(bytes);
      }
      await this.stoppable(written(Promise.resolve(writer.end())));
    } catch (error) {
      this.options.signal?.throwIfAborted();
      if ((error as { name?: string }).name === "AbortError") throw error;
      throw new OSError(`${this.name(key)}: ${(error as Error).message}`, {
        path: this.name(key),
        code: "s3",
        cause: error,
      });
    }
  }
}

/** Requests that write, also those for which nobody waits any more. */
const writing = new Set<Promise<unknown>>();

function written<T>(request: Promise<T>): Promise<T> {
  writing.add(request);
  const end = () => writing.delete(request);
  request.then(end, end);
  return request;
}

/** Waits for requests that were given up and may still write: what removes their objects would come before them. */
export async function writesEnded(mostMs: number): Promise<void> {
  if (writing.size === 0) return;
  const late = Promise.withResolvers<void>();
  // Whoever is done before does not wait for the timer at its end.
  const timer = setTimeout(late.resolve, mostMs);
  await Promise.race([Promise.allSettled([...writing]), late.promise]);
  clearTimeout(timer);
}

/** Parts of a piece with their place in the object. The bytes are copied: the client keeps them for a while. */
async function* chunks(piece: Piece, most: number): AsyncGenerator<[number, Uint8Array]> {
  const { data, offset } = piece;
  const nbytes = pieceBytes(piece);
  for (let at = 0; at < nbytes; at += most) {
    const length = Math.min(most, nbytes - at);
    if (data instanceof Uint8Array) yield [offset + at, data.slice(at, at + length)];
    else if ("strided" in data) {
      // Over a buffer of its own, so that the bytes stay where they are while the program goes on.
      const bytes = new Uint8Array(new ArrayBuffer(length));
      const part = { ...data, tensor: data.strided, offset: at, nbytes: length };
      await gatherInSlices(part, addressOf(bytes), bytes, new Slices());
      yield [offset + at, bytes];
    } else if ("address" in data) {
      const bytes = new Uint8Array(windowOn(data.address + at, length)).slice();
      checkFile("writing to a store");
      yield [offset + at, bytes];
    } else yield [offset + at, FileRanges.with(data.path, (file) => file.read(data.offset + at, length))];
  }
}

/** Runs tasks, a few at a time; the first failure ends it. */
export async function together<T>(
  items: readonly T[],
  concurrency: number,
  task: (item: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  let failed = false;
  const worker = async () => {
    while (next < items.length && !failed) {
      try {
        await task(items[next++] as T);
      } catch (error) {
        failed = true;
        throw error;
      }
    }
  };
  const workers = Array.from({ length: Math.max(1, Math.min(concurrency, items.length)) }, worker);
  const results = await Promise.allSettled(workers);
  for (const result of results) if (result.status === "rejected") throw result.reason;
}

// Single files of any format between an S3 store and the disk.
import { dirname, promises } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { guardedLater, OSError } from "../base/errors.ts";
import { absoluteFile, absolutePath } from "../base/places.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runStepsLater } from "../base/steps.ts";
import { synced } from "../disk/durable.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { UnfinishedFile } from "../disk/unfinished-file.ts";
import { type RemoteOptions, RemotePlace, together } from "./s3.ts";

/** Bytes of one request. */
const RANGE_BYTES = 8 * 2 ** 20;
const CONCURRENCY = 8;

/** How an object becomes a file. */
export interface DownloadOptions extends RemoteOptions {
  /** Flush file and directory to the disk before the old file is replaced. */
  fsync?: boolean;
}

/** Throws `OSError` when the disk of a folder has less free room than so many bytes from a store. */
export async function requireRoom(folder: string, nbytes: number, url: string): Promise<void> {
  const { bavail, bsize, blocks } = await guardedLater(folder, () => promises.statfs(folder));
  // Some file systems say nothing.
  if (blocks === 0 || nbytes <= bavail * bsize) return;
  throw new OSError(`${url}: its ${nbytes} bytes are more than the ${bavail * bsize} that are free in ${folder}`, {
    path: url,
    code: "ENOSPC",
    errno: 28,
  });
}

/**
 * Copies an object of an S3 store to a file, in ranges of 8 MiB of which some are on their way at the same time. The
 * file appears when all of it is there: until then, and when this fails or is stopped, an old one stays. Then any
 * reader opens it: `await io.download("s3://models/one.pt", "one.pt"); const state = io.loadTorch("one.pt");`
 * @param url "s3://bucket/key"
 * @throws FileNotFoundError for an object that is not there, OSError when the store or the disk fails, or when the
 * object was replaced meanwhile
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * await io.upload("a.safetensors", "s3://examples/a.safetensors", { client });
 * await io.download("s3://examples/a.safetensors", "back.safetensors", { client });
 * loadSafetensors("back.safetensors").a // tensor([0, 1, 2])
 * ```
 */
export async function download(url: string, path: string, options: DownloadOptions = {}): Promise<void> {
  [url, path, options = {}] = inOrder<Parameters<typeof download>>("download", FUNCTIONS.download, arguments);
  const { concurrency = CONCURRENCY, onProgress, signal } = options;
  const place = new RemotePlace(url, options);
  const made = new UnfinishedFile(absoluteFile(path));
  const { target, path: temporary } = made;
  const { size, etag } = await place.stat(place.key);
  await requireRoom(dirname(target), size, url);
  try {
    made.begin();
    const file = await guardedLater(temporary, () => promises.open(temporary, "r+"));
    try {
      await guardedLater(temporary, () => file.truncate(size));
      const starts = Array.from({ length: Math.ceil(size / RANGE_BYTES) }, (_, i) => i * RANGE_BYTES);
      let done = 0;
      await together(starts, concurrency, async (start) => {
        const bytes = await place.range(place.key, start, Math.min(size, start + RANGE_BYTES));
        for (let at = 0; at < bytes.length; ) {
          const { bytesWritten } = await guardedLater(target, () =>
            file.write(bytes, at, bytes.length - at, start + at),
          );
          at += bytesWritten;
        }
        done += bytes.length;
        onProgress?.(done, size);
      });
      signal?.throwIfAborted();
      const after = await place.stat(place.key);
      if (after.etag !== etag || after.size !== size) {
        throw new OSError(`${url} was replaced while it was read`, { path: url, code: "changed" });
      }
    } finally {
      await file.close();
    }
    if (options.fsync) await runStepsLater(synced(temporary));
    await runStepsLater(made.placing(size, { fsync: options.fsync }));
  } catch (error) {
    const cause = made.cause(error);
    await runStepsLater(made.discarding());
    throw cause;
  }
}

/**
 * Copies a file to an object of an S3 store, in parts. The object appears when all of it is there: until then, and when
 * this fails or is stopped, an old one stays: `await io.upload("one.pt", "s3://models/one.pt")`.
 * @param url "s3://bucket/key"
 * @throws FileNotFoundError for a file that is not there, OSError when the store fails
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * await io.upload("a.safetensors", "s3://examples/models/a.safetensors", { client });
 * await client.file("models/a.safetensors", { bucket: "examples" }).exists() // true
 * ```
 */
export async function upload(path: string, url: string, options: RemoteOptions = {}): Promise<void> {
  [path, url, options = {}] = inOrder<Parameters<typeof upload>>("upload", FUNCTIONS.upload, arguments);
  const place = new RemotePlace(url, options);
  const { size, path: source } = FileRanges.with(absolutePath(path), (file) => file);
  let done = 0;
  await place.write(place.key, [{ offset: 0, data: { path: source, offset: 0, nbytes: size } }], (n) => {
    done += n;
    options.onProgress?.(done, size);
  });
}

// Places in S3 stores of which every format is read and written: through copies among the temporary files, unless the
// format has a direct way (see remote.ts).
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { FileNotFoundError, FormatError, guarded } from "../io/base/errors.ts";
import { INDEX_ENDING, isIndexPath, type ShardIndex } from "../io/disk/shard-index.ts";
import { remoteIndex, shardKey } from "../io/safetensors/remote-safetensors.ts";
import { METADATA_FILE } from "../io/snapshot/snapshot-manifest.ts";
import { download, requireRoom, upload } from "../io/store/remote-file.ts";
import { RemotePlace, together, writesEnded } from "../io/store/s3.ts";
import { type FormatName, formatByEnding, formatNamed, formatOf, hasDirectWay } from "./formats.ts";
import { interruption } from "./lifetime.ts";
import { inMebibytes, progressBar } from "./progress.ts";
import { temporaryFor } from "./scratch.ts";
import type { Reached } from "./source.ts";

/** Files at the same time; each is a request of up to 8 MiB. */
const CONCURRENCY = 8;

/** Indices of checkpoints that a folder in a store is searched for. */
const INDICES = ["model.safetensors", "diffusion_pytorch_model.safetensors", "pytorch_model.bin"].map(
  (name) => name + INDEX_ENDING,
);

function below(place: RemotePlace, name: string): string {
  return place.key === "" ? name : `${place.key}/${name}`;
}

/** The format of what is at a place; null for a file whose content tells it. */
async function formatIn(place: RemotePlace, from: string | undefined): Promise<FormatName | null> {
  if (from !== undefined) return formatNamed(from);
  const named = formatByEnding(place.key);
  if (named !== null) return named === "safetensors" || named === "torchsnapshot" ? named : null;
  if (isIndexPath(place.key)) return "sharded";
  if (await place.exists(below(place, "meta.json"))) return "memmap";
  if (await place.exists(below(place, METADATA_FILE))) return "torchsnapshot";
  for (const name of INDICES) if (await place.exists(below(place, name))) return "sharded";
  // Where nothing is, a directory is what is missed.
  return place.key !== "" && (await place.exists(place.key)) ? null : "memmap";
}

/** Finds out the format of a source in a store, and copies it to this machine if it has no direct way. */
export async function reachRemote(url: string, from?: string, quiet = false): Promise<Reached> {
  const place = new RemotePlace(url, { signal: interruption() });
  const format = await formatIn(place, from);
  const index = format === "sharded" ? await indexIn(place) : null;
  if (index?.kind === "safetensors" || (format !== null && hasDirectWay(format)))
    return { at: url, format: format as FormatName };
  const at = temporaryFor(url);
  const bar = progressBar("MiB", quiet);
  try {
    if (format === "torchsnapshot") await downloadTree(place, at, inMebibytes(bar));
    else if (index !== null) return { at: await downloadShards(place, index, at, inMebibytes(bar)), format: "sharded" };
    else await download(url, at, { signal: interruption(), onProgress: inMebibytes(bar) });
  } finally {
    bar.stop();
  }
  return { at, format: format ?? (await formatOf(at)) };
}

/** The path of a file below a directory. Names that lead elsewhere are refused. */
function pathBelow(root: string, name: string, url: string): string {
  const parts = name.split("/");
  const odd = name.includes("\0") || (process.platform === "win32" && /[\\:]/.test(name));
  if (odd || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new FormatError(`the object ${JSON.stringify(name)} can be no file of a directory`, url);
  }
  return join(root, ...parts);
}

type Advance = (done: number, total: number) => void;

/** The index that a place in a store means: itself, or the one in a folder. */
async function indexIn(place: RemotePlace): Promise<ShardIndex> {
  if (isIndexPath(place.key)) return await remoteIndex(place, place.key);
  for (const name of INDICES)
    if (await place.exists(below(place, name))) return await remoteIndex(place, below(place, name));
  throw new FileNotFoundError(place.name(below(place, INDICES[0] as string)));
}

/** Copies an index and the files that it names; gives the path of the index. */
async function downloadShards(place: RemotePlace, index: ShardIndex, root: string, advance: Advance): Promise<string> {
  const key = index.path.slice(`s3://${place.bucket}/`.length);
  const name = key.slice(key.lastIndexOf("/") + 1);
  const keys = [[name, key], ...[...index.shards.keys()].map((file) => [file, shardKey(key, file)])] as [
    string,
    string,
  ][];
  const files = [];
  for (const [file, from] of keys) {
    files.push({ url: place.name(from), path: pathBelow(root, file, place.url), size: await place.size(from) });
  }
  await downloadFiles(place, root, files, advance);
  return join(root, name);
}

interface RemoteFile {
  url: string;
  path: string;
  size: number;
}

async function downloadTree(place: RemotePlace, root: string, advance: Advance): Promise<void> {
  const prefix = below(place, "");
  // Some programs make empty objects that stand for directories.
  const objects = (await place.list()).filter(({ key, size }) => size > 0 || !key.endsWith("/"));
  const files = objects.map(({ key, size }) => ({
    url: place.name(key),
    path: pathBelow(root, key.slice(prefix.length), place.url),
    size,
  }));
  if (!files.some(({ path }) => path === join(root, METADATA_FILE))) {
    throw new FileNotFoundError(place.name(below(place, METADATA_FILE)));
  }
  await downloadFiles(place, root, files, advance);
}

async function downloadFiles(
  place: RemotePlace,
  root: string,
  files: readonly RemoteFile[],
  advance: Advance,
): Promise<void> {
  const total = files.reduce((sum, { size }) => sum + size, 0);
  await requireRoom(dirname(root), total, place.url);
  for (const folder of new Set(files.map(({ path }) => dirname(path)))) {
    guarded(folder, () => mkdirSync(folder, { recursive: true }));
  }
  const { signal } = place.options;
  let done = 0;
  await together(files, CONCURRENCY, async ({ url, path, size }) => {
    await download(url, path, { concurrency: 1, ...(signal === undefined ? {} : { signal }) });
    done += size;
    advance(done, total);
  });
}

function filesOf(root: string, name = "", found: string[] = []): string[] {
  for (const entry of guarded(root, () => readdirSync(join(root, name), { withFileTypes: true }))) {
    const inner = name === "" ? entry.name : `${name}/${entry.name}`;
    if (entry.isDirectory()) filesOf(root, inner, found);
    else found.push(inner);
  }
  return found;
}

/** How long requests that were given up may still take. */
const MOST_ENDING_MS = 5000;

/** Removes what a save that failed has left in a store where nothing was before. */
export async function removeRemains(url: string): Promise<void> {
  await writesEnded(MOST_ENDING_MS);
  const place = new RemotePlace(url);
  for (const { key } of await place.list()) await place.delete(key);
}

/** Puts a finished file or snapshot into a store. An object that was there is replaced when all of it is. */
export async function sendRemote(made: string, url: string, format: FormatName, quiet = false): Promise<void> {
  const signal = interruption();
  const bar = progressBar("MiB", quiet);
  try {
    if (format === "torchsnapshot") await uploadTree(made, url, signal, inMebibytes(bar));
    else await upload(made, url, { signal, onProgress: inMebibytes(bar) });
  } finally {
    bar.stop();
  }
}

/** Snapshots: the manifest comes last, as on a disk. */
async function uploadTree(root: string, url: string, signal: AbortSignal, advance: Advance): Promise<void> {
  const place = new RemotePlace(url);
  const sizes = new Map(filesOf(root).map((name) => [name, statSync(join(root, name)).size]));
  const total = [...sizes.values()].reduce((sum, size) => sum + size, 0);
  let done = 0;
  const send = async (name: string) => {
    await upload(join(root, name), place.name(below(place, name)), { signal });
    done += sizes.get(name) as number;
    advance(done, total);
  };
  try {
    const names = [...sizes.keys()].filter((name) => name !== METADATA_FILE);
    await together(names, CONCURRENCY, send);
    await send(METADATA_FILE);
  } catch (error) {
    await removeRemains(url);
    throw error;
  }
}

// Checkpoints of torch.save in several files, with an index that says in which of them each tensor is.

import { FormatError } from "../base/errors.ts";
import { isPlainObject } from "../base/python-json.ts";
import type { Steps } from "../base/steps.ts";
import type { UnknownOptions } from "../base/unknown-array.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import type { FolderOptions } from "../disk/folder.ts";
import { requireShard, ShardFolder } from "../disk/shard-index.ts";
import { unreplaced } from "../disk/unreplaced.ts";
import { loadingTorch, type TorchLoadOptions } from "./torch-file.ts";

/** How they are loaded. */
export type ShardLoadOptions = TorchLoadOptions & FolderOptions & UnknownOptions & BackgroundOptions;

/** The paths of the files that an index names. Throws `FormatError` when one is missing. */
export function shardPaths(path: string, followLinks = false): string[] {
  const folder = new ShardFolder(path, followLinks);
  return [...folder.index.shards.keys()].map((file) => folder.place(file));
}

/**
 * What the files hold by name, in the order of the index: each file has to be there, with what the index names and
 * nothing else.
 */
export function loadingShards(path: string, options: ShardLoadOptions = {}): Steps<Record<string, unknown>> {
  const { followLinks, ...rest } = options;
  return unreplaced(path, () => loadingOnce(path, followLinks === true, rest), options.signal);
}

function* loadingOnce(
  path: string,
  followLinks: boolean,
  options: Omit<ShardLoadOptions, "followLinks">,
): Steps<Record<string, unknown>> {
  const folder = new ShardFolder(path, followLinks);
  const { index } = folder;
  const places = [...index.shards.keys()].map((file) => [file, folder.place(file)] as const);
  const found = new Map<string, unknown>();
  for (const [file, place] of places) {
    const value = yield* loadingTorch(place, options);
    if (!isPlainObject(value))
      throw new FormatError(`the shard ${JSON.stringify(file)} holds no tensors by name`, index.path);
    // What was left out is not there.
    if (options.unknown !== "skip") requireShard(index, file, new Set(Object.keys(value)));
    for (const name of index.shards.get(file) as readonly string[]) found.set(name, value[name]);
  }
  const result: Record<string, unknown> = Object.create(null);
  for (const name of index.fileOf.keys()) if (found.get(name) !== undefined) result[name] = found.get(name);
  return result;
}

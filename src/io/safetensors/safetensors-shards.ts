// The headers of several safetensors files as that of one collection.
import { FormatError } from "../base/errors.ts";
import { requireShard, type ShardIndex } from "../disk/shard-index.ts";
import { namesIn, type SafetensorsHeader, type SafetensorsUnknown } from "./safetensors-header.ts";

/** The structure of one file says nothing about others. */
const OF_ONE_FILE = "tensordict";

/** Throws `FormatError` for an index of files of torch's. */
export function requireSafetensors({ kind, path }: ShardIndex): void {
  if (kind === "safetensors") return;
  throw new FormatError("its files are those of torch.save, not of safetensors: `load` reads them", path);
}

/**
 * The header of all files together, in the order of the index: places of bytes count within each tensor's own file.
 * Its strings are those that all files have. Throws `FormatError` where a file does not have what the index says.
 */
export function joinedHeader(index: ShardIndex, headers: ReadonlyMap<string, SafetensorsHeader>): SafetensorsHeader {
  for (const [file, header] of headers) requireShard(index, file, new Set(namesIn(header)));
  const joined: SafetensorsHeader = { entries: new Map(), unknown: new Map(), metadata: new Map(), dataStart: 0 };
  for (const [name, file] of index.fileOf) {
    const { entries, unknown } = headers.get(file) as SafetensorsHeader;
    const entry = entries.get(name);
    if (entry !== undefined) joined.entries.set(name, entry);
    else joined.unknown.set(name, unknown.get(name) as SafetensorsUnknown);
  }
  const [first, ...others] = [...headers.values()].map(({ metadata }) => metadata);
  for (const [key, text] of first ?? []) {
    if (key !== OF_ONE_FILE && others.every((other) => other.get(key) === text)) joined.metadata.set(key, text);
  }
  return joined;
}

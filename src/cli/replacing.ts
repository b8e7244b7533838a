// Directories that --force replaces: such as commands make, and nothing else in them.

import { lstatSync } from "node:fs";
import { pathIn, systemName } from "../io/base/byte-names.ts";
import { FormatError } from "../io/base/errors.ts";
import { isUnfinished } from "../io/base/leftovers.ts";
import { listedNow, metadataOf, strangeIn, unnamedIn } from "../io/disk/directory-contents.ts";
import { Snapshot } from "../io/snapshot/snapshot.ts";
import { type ManifestEntry, METADATA_FILE } from "../io/snapshot/snapshot-manifest.ts";

function locationsOf(entry: ManifestEntry): string[] {
  switch (entry.type) {
    case "Tensor":
    case "object":
      return [entry.location];
    case "ChunkedTensor":
      return entry.chunks.map(({ tensor }) => tensor.location);
    case "ShardedTensor":
    case "DTensor":
      return entry.shards.map(({ tensor }) => tensor.location);
    default:
      return [];
  }
}

/** A file below a directory that is not among these; null when there is none. */
function otherThan(known: ReadonlySet<string>, root: string, names: readonly string[], below = ""): string | null {
  for (const name of names) {
    const [inner, path] = [below + name, pathIn(root, below + name)];
    const stat = lstatSync(systemName(path), { throwIfNoEntry: false });
    if (stat === undefined || (isUnfinished(name) && !stat.isSymbolicLink())) continue;
    if (stat.isFile() && known.has(inner)) continue;
    const found = stat.isDirectory() ? otherThan(known, root, listedNow(path), `${inner}/`) : inner;
    if (found !== null) return found;
  }
  return null;
}

function problemOfSnapshot(path: string, names: readonly string[]): string | null {
  let snapshot: Snapshot;
  try {
    snapshot = new Snapshot(path);
  } catch (error) {
    if (error instanceof FormatError) return "has a manifest that is not one of a snapshot";
    throw error;
  }
  const known = new Set([METADATA_FILE, ...[...snapshot.manifest.values()].flatMap(locationsOf)]);
  return strangeText(otherThan(known, path, names));
}

function strangeText(name: string | null): string | null {
  return name === null ? null : `holds ${name}, which is no part of it`;
}

/** Why a directory must stay; null when it may be replaced. */
export function problemOfReplacing(path: string): string | null {
  const names = listedNow(path);
  if (names.length === 0) return null;
  if (names.includes(METADATA_FILE)) return problemOfSnapshot(path, names);
  if (!names.includes("meta.json")) return "is no memory-mapped directory (it has no meta.json)";
  if (metadataOf(path) !== "own") return "has a meta.json that is not one of a memory-mapped directory";
  return strangeText(strangeIn(path, names) ?? unnamedIn(path, names));
}

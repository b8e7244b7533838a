// The objects below a place in an S3 store as directories and files.
import type { DirectoryEntry } from "../io/disk/directory-tree.ts";
import { RemotePlace } from "../io/store/s3.ts";
import { CliError } from "./errors.ts";
import { interruption } from "./lifetime.ts";

interface Level {
  entries: DirectoryEntry[];
  levels: Map<string, Level>;
}

function newLevel(): Level {
  return { entries: [], levels: new Map() };
}

function inOrder({ entries, levels }: Level): DirectoryEntry[] {
  for (const level of levels.values()) inOrder(level);
  return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Everything below a place, down to a level, by name. */
export async function remoteEntries(
  url: string,
  maxDepth: number,
): Promise<{ name: string; entries: DirectoryEntry[] }> {
  const place = new RemotePlace(url, { signal: interruption() });
  const objects = await place.list();
  if (objects.length === 0) {
    const isFile = place.key !== "" && (await place.exists(place.key));
    throw new CliError(
      isFile ? `${url} is a file; \`zensor inspect ${url}\` shows what is in it.` : `${url} is empty.`,
    );
  }
  const root = newLevel();
  for (const { key, size } of objects) {
    const parts = (place.key === "" ? key : key.slice(place.key.length + 1)).split("/");
    const name = parts.pop() as string;
    let level: Level | undefined = root;
    for (const [depth, part] of parts.slice(0, maxDepth).entries()) {
      let inner: Level | undefined = level.levels.get(part);
      if (inner === undefined) {
        inner = newLevel();
        level.levels.set(part, inner);
        level.entries.push(depth + 1 < maxDepth ? { name: part, entries: inner.entries } : { name: part });
      }
      level = inner;
    }
    // A name that ends with a slash stands for its directory.
    if (parts.length < maxDepth && name !== "") level.entries.push({ name, size });
  }
  return { name: url.replace(/\/+$/, "").replace(/^.*\//, ""), entries: inOrder(root) };
}

// What a command reads: a place and its format, opened.
import { existsSync } from "node:fs";
import { rememberPath } from "../io/base/paths.ts";
import { systemPath } from "../io/base/places.ts";
import { isRemote } from "../io/store/s3.ts";
import type { Td } from "../tensordict/core/state.ts";
import { reachable } from "./byte-paths.ts";
import { NO_TENSORS, type Opened, openCollection, type Trust } from "./collections.ts";
import { type FormatName, formatNamed, formatOf } from "./formats.ts";
import type { Keys } from "./keys.ts";
import { recoded } from "./python-tree.ts";
import { sizeOption } from "./text.ts";

/** An opened source. */
export interface Source extends Opened {
  path: string;
  format: FormatName;
}

/** A source where it can be opened: at its place, or as a copy on this machine. */
export interface Reached {
  at: string;
  format: FormatName;
}

/** How much a source is trusted. */
export interface TrustOptions {
  /** Follow symbolic links that lead out of a folder. */
  followLinks?: boolean | undefined;
  /** Most bytes that compressed entries of an archive may become. */
  maxBytes?: string | undefined;
}

/** How a source is opened. */
export interface SourceOptions extends TrustOptions {
  /** The format, where the user names it. */
  from?: string | undefined;
  /** Show no progress. */
  quiet?: boolean | undefined;
}

/** What readers are told of it. */
export function trustOf({ followLinks, maxBytes }: TrustOptions): Trust {
  const limit = maxBytes === undefined ? {} : { maxBytes: sizeOption("max-bytes", maxBytes, 0, 0) };
  return { ...(followLinks === undefined ? {} : { followLinks }), ...limit };
}

/**
 * Where a source can be opened, and its format: found out, or named by the user. What is in a store and cannot be used
 * there is copied first.
 */
export async function reach(path: string, { from, quiet }: SourceOptions = {}): Promise<Reached> {
  if (isRemote(path)) return await (await import("./remote-copy.ts")).reachRemote(path, from, quiet);
  const at = reachable(path);
  // Readers tell paths as they were given, and those that they make absolute themselves, too.
  if (existsSync(at)) rememberPath(systemPath(at), path);
  return { at, format: from === undefined ? await formatOf(at) : formatNamed(from) };
}

type Part = (td: Td) => Td;
const whole: Part = (td) => td;

/** Datasets are read one by one, so that only those of a part are. */
async function openHdf5Part(path: string, at: string, part: Part): Promise<Source | null> {
  const [{ TensorDict }, { hasStructure }] = await Promise.all([
    import("../tensordict/index.ts"),
    import("./structure.ts"),
  ]);
  using file = TensorDict.fromH5(at, { mode: "r", batchSize: [] });
  // What is kept in a structure is no dataset that could be read by itself.
  if (hasStructure(file as Td)) return null;
  return { path, format: "hdf5", td: part(file as Td), lost: [], tree: null };
}

/**
 * Opens what was reached.
 * @param part gives the part of it that is wanted; of what is used in a store, only that is transferred
 */
export async function openReached(
  path: string,
  { at, format }: Reached,
  options: SourceOptions = {},
  part: Part = whole,
): Promise<Source> {
  const trust = trustOf(options);
  if (isRemote(at)) {
    const remote = await (await import("./remote.ts")).openRemote(at, format);
    const td = await remote.fetch(part(remote.td), options.quiet === true);
    return { path, format, lost: remote.lost, flat: remote.flat, ...recoded(td, remote.tree, path) };
  }
  if (format === "hdf5" && part !== whole) {
    const opened = await openHdf5Part(path, at, part);
    if (opened !== null) return opened;
  }
  const opened = await openCollection(at, format, trust);
  if (part === whole) return { path, format, ...opened };
  return { path, format, ...opened, ...recoded(part(opened.td), opened.tree, path) };
}

/** A source of which entries were asked for: files that are none are not missed. */
export function ofEntries(source: Source): Source {
  return { ...source, lost: source.lost.filter((line) => !line.startsWith(NO_TENSORS)) };
}

/**
 * Opens what is at a path or in a store.
 * @param keys the entries that are wanted, all by default
 * @param which all that was named has to be there, or is looked for in other sources as well
 */
export async function openSource(
  path: string,
  options: SourceOptions = {},
  keys: Keys | null = null,
  which: "all" | "some" = "all",
): Promise<Source> {
  const source = await openReached(path, await reach(path, options), options, await partOf(keys, which));
  return keys === null ? source : ofEntries(source);
}

/** A part by its entries. */
async function partOf(keys: Keys | null, which: "all" | "some" = "all"): Promise<Part> {
  if (keys === null) return whole;
  const { take } = await import("./selection.ts");
  return (td) => take(td, keys[which](td), null);
}

/** What a source is, without its bytes where these would be transferred. */
export async function openOutline(
  path: string,
  options: SourceOptions = {},
  keys: Keys | null = null,
): Promise<Source> {
  const reached = await reach(path, options);
  const part = await partOf(keys);
  if (!isRemote(reached.at)) return await openReached(path, reached, options, part);
  const { td, lost, tree } = await (await import("./remote.ts")).openRemote(path, reached.format);
  if (part === whole) return { path, format: reached.format, td, lost, tree };
  return { path, format: reached.format, lost, ...recoded(part(td), tree, path) };
}

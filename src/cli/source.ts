// What a command reads: a place and its format, opened.
import { isRemote } from "../io/store/s3.ts";
import { type Opened, openCollection, type Trust } from "./collections.ts";
import { type FormatName, formatNamed, formatOf } from "./formats.ts";
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
  return { at: path, format: from === undefined ? await formatOf(path) : formatNamed(from) };
}

type Part = (td: Opened["td"]) => Opened["td"];
const whole: Part = (td) => td;

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
    return { path, format, lost: remote.lost, ...recoded(td, remote.tree, path) };
  }
  const { td, lost, tree } = await openCollection(at, format, trust);
  if (part === whole) return { path, format, td, lost, tree };
  return { path, format, lost, ...recoded(part(td), tree, path) };
}

/** Opens what is at a path or in a store. */
export async function openSource(path: string, options: SourceOptions = {}): Promise<Source> {
  return await openReached(path, await reach(path, options), options);
}

/** What a source is, without its bytes where these would be transferred. */
export async function openOutline(path: string, options: SourceOptions = {}): Promise<Source> {
  const reached = await reach(path, options);
  if (!isRemote(reached.at)) return await openReached(path, reached, options);
  const { td, lost, tree } = await (await import("./remote.ts")).openRemote(path, reached.format);
  return { path, format: reached.format, td, lost, tree };
}

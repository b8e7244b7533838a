// `zensor tree`: the files of a directory, on this machine or in a store.
import { statSync } from "node:fs";
import { directoryEntries, directoryTree, entriesTree, treeUnder } from "../io/disk/directory-tree.ts";
import { isRemote } from "../io/store/s3.ts";
import { reachable } from "./byte-paths.ts";
import { CliError } from "./errors.ts";
import { say } from "./output.ts";
import { countOption } from "./text.ts";

/** Options of the command. */
export interface TreeOptions {
  branches?: boolean;
  depth?: string;
  followLinks?: boolean;
  json?: boolean;
}

/** Prints the tree of a directory. */
export async function tree(path: string, options: TreeOptions): Promise<void> {
  const maxDepth = countOption("depth", options.depth, 64);
  const followLinks = options.followLinks === true;
  const style = { style: options.branches ? "branches" : "indent", maxDepth, followLinks } as const;
  if (isRemote(path)) {
    const { name, entries } = await (await import("./remote-tree.ts")).remoteEntries(path, maxDepth);
    say(options.json ? JSON.stringify({ path, entries }, null, 2) : entriesTree(name, entries, style));
    return;
  }
  const at = reachable(path);
  const stat = statSync(at, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  if (!stat.isDirectory()) throw new CliError(`${path} is a file; \`zensor inspect ${path}\` shows what is in it.`);
  if (options.json) say(JSON.stringify({ path, entries: directoryEntries(at, maxDepth, followLinks) }, null, 2));
  else if (at === path) say(directoryTree(path, style));
  else say(treeUnder(path.replace(/\/+$/, "").replace(/^.*\//s, ""), at, style));
}

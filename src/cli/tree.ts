// `zensor tree`: the files of a directory.
import { statSync } from "node:fs";
import { directoryEntries, directoryTree } from "../io/directory-tree.ts";
import { isRemote } from "../io/s3.ts";
import { CliError } from "./errors.ts";
import { countOption } from "./text.ts";

/** Prints the tree of a directory. */
export function tree(path: string, options: { branches?: boolean; depth?: string; json?: boolean }): void {
  if (isRemote(path)) throw new CliError(`${path}: only directories of this machine are shown as a tree.`);
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  if (!stat.isDirectory()) throw new CliError(`${path} is a file; \`zensor inspect ${path}\` shows what is in it.`);
  const maxDepth = countOption("depth", options.depth, 64);
  if (options.json) {
    console.log(JSON.stringify({ path, entries: directoryEntries(path, maxDepth) }, null, 2));
    return;
  }
  console.log(directoryTree(path, { style: options.branches ? "branches" : "indent", maxDepth }));
}

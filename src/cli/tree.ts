// `zensor tree`: the files of a directory.
import { statSync } from "node:fs";
import { directoryTree } from "../io/directory-tree.ts";
import { CliError } from "./errors.ts";
import { countOption } from "./text.ts";

/** Prints the tree of a directory. */
export function tree(path: string, options: { branches?: boolean; depth?: string }): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  if (!stat.isDirectory()) throw new CliError(`${path} is a file; \`zensor inspect ${path}\` shows what is in it.`);
  const maxDepth = countOption("depth", options.depth, 64);
  console.log(directoryTree(path, { style: options.branches ? "branches" : "indent", maxDepth }));
}

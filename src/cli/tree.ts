// `zensor tree`: the files of a directory.
import { statSync } from "node:fs";
import { directoryTree } from "../io/directory-tree.ts";
import { CliError, EXIT } from "./errors.ts";
import type { CliOptions } from "./main.ts";

/** Reads a count given as an option. */
export function countOption(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1024) {
    throw new CliError(`--${name} takes a number from 1 to 1024, got ${JSON.stringify(text)}.`, EXIT.usage);
  }
  return value;
}

/** Prints the tree of a directory. */
export function tree(path: string, options: CliOptions): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  if (!stat.isDirectory()) throw new CliError(`${path} is a file; \`zensor inspect ${path}\` shows what is in it.`);
  const maxDepth = countOption("depth", options.depth, 64);
  console.log(directoryTree(path, { style: options.branches ? "branches" : "indent", maxDepth }));
}

// Prints a directory as a tree, in the indented form or with box-drawing branches.
import { lstatSync, readdirSync } from "node:fs";
import { basename, join, resolve } from "node:path";

/** How a directory is shown. */
export interface DirectoryTreeOptions {
  /** "indent" puts every level four spaces to the right; "branches" draws `├──` and `└──`. */
  style?: "indent" | "branches";
  /** Deepest level shown. */
  maxDepth?: number;
  /** Largest number of lines; the rest is summarised in a last line. */
  maxLines?: number;
}

interface Node {
  name: string;
  directory: boolean;
}

/** A file, or a directory and what is in it. */
export interface DirectoryEntry {
  name: string;
  /** Bytes of a file. */
  size?: number;
  /** Entries of a directory, by name; missing below the deepest level. */
  entries?: DirectoryEntry[];
}

/** Files and directories below `path`, down to a level. */
export function directoryEntries(path: string, maxDepth = 64): DirectoryEntry[] {
  return list(path, "branches").map(({ name, directory }) => {
    const child = join(path, name);
    if (!directory) return { name, size: lstatSync(child).size };
    return maxDepth > 1 ? { name, entries: directoryEntries(child, maxDepth - 1) } : { name };
  });
}

function list(path: string, style: "indent" | "branches"): Node[] {
  const nodes = readdirSync(path, { withFileTypes: true }).map((entry) => ({
    name: entry.name,
    directory: entry.isDirectory(),
  }));
  // The indented form names the files of a level after its directories; branches are in plain name order.
  return nodes.sort((a, b) => {
    if (style === "indent" && a.directory !== b.directory) return a.directory ? -1 : 1;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  });
}

// Control characters in names could move the cursor of a terminal.
function shown(name: string): string {
  return name.replace(/[\u0000-\u001f\u007f-\u009f]/g, (unit) => {
    return `\\x${unit.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

function* walk(
  path: string,
  prefix: string,
  depth: number,
  options: Required<DirectoryTreeOptions>,
): Generator<string> {
  if (depth >= options.maxDepth) return;
  const nodes = list(path, options.style);
  for (const [i, node] of nodes.entries()) {
    const last = i === nodes.length - 1;
    const child = join(path, node.name);
    if (options.style === "indent") {
      yield `${prefix}${shown(node.name)}${node.directory ? "/" : ""}`;
      if (node.directory) yield* walk(child, `${prefix}    `, depth + 1, options);
    } else {
      yield `${prefix}${last ? "└── " : "├── "}${shown(node.name)}`;
      if (node.directory) yield* walk(child, `${prefix}${last ? "    " : "│   "}`, depth + 1, options);
    }
  }
}

/** The tree of `path` as text, one line per file or directory. */
export function directoryTree(path: string, options: DirectoryTreeOptions = {}): string {
  const full = { style: "indent" as const, maxDepth: 64, maxLines: 10_000, ...options };
  const lines: string[] = full.style === "indent" ? [`${shown(basename(resolve(path)))}/`] : [];
  let hidden = 0;
  for (const line of walk(path, full.style === "indent" ? "    " : "", 0, full)) {
    if (lines.length < full.maxLines) lines.push(line);
    else hidden++;
  }
  if (hidden > 0) lines.push(`... (${hidden} more)`);
  return lines.join("\n");
}

/** Prints the tree of `path`. */
export function printDirectoryTree(path: string, options: DirectoryTreeOptions = {}): void {
  console.log(directoryTree(path, options));
}

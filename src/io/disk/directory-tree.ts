// Prints a directory as a tree, in the indented form or with box-drawing branches.
import { basename, join, lstatSync, readdirSync, resolve } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { guarded } from "../base/errors.ts";
import { FUNCTIONS } from "../base/signatures.ts";

/** How a directory is shown. */
export interface DirectoryTreeOptions {
  /** "indent" puts every level four spaces to the right; "branches" draws `├──` and `└──`. */
  style?: "indent" | "branches";
  /** Deepest level shown. */
  maxDepth?: number;
  /** Largest number of lines; the rest is summarised in a last line. */
  maxLines?: number;
}

/** Lists what is in a folder; `inside` is null for a file. */
type Folder = () => { name: string; inside: Folder | null }[];

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
  return sorted(folderAt(path)(), "branches").map(({ name, inside }) => {
    const child = join(path, name);
    if (inside === null) return { name, size: guarded(child, () => lstatSync(child)).size };
    return maxDepth > 1 ? { name, entries: directoryEntries(child, maxDepth - 1) } : { name };
  });
}

function folderAt(path: string): Folder {
  return () =>
    guarded(path, () => readdirSync(path, { withFileTypes: true })).map((entry) => ({
      name: entry.name,
      inside: entry.isDirectory() ? folderAt(join(path, entry.name)) : null,
    }));
}

function folderOf(entries: readonly DirectoryEntry[]): Folder {
  return () =>
    entries.map(({ name, size, entries: inner = [] }) => ({
      name,
      inside: size === undefined ? folderOf(inner) : null,
    }));
}

function sorted(nodes: ReturnType<Folder>, style: "indent" | "branches"): ReturnType<Folder> {
  // The indented form names the files of a level after its directories; branches are in plain name order.
  return nodes.sort((a, b) => {
    if (style === "indent" && (a.inside === null) !== (b.inside === null)) return a.inside === null ? 1 : -1;
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
  folder: Folder,
  prefix: string,
  depth: number,
  options: Required<DirectoryTreeOptions>,
): Generator<string> {
  if (depth >= options.maxDepth) return;
  const nodes = sorted(folder(), options.style);
  for (const [i, { name, inside }] of nodes.entries()) {
    const last = i === nodes.length - 1;
    if (options.style === "indent") {
      yield `${prefix}${shown(name)}${inside === null ? "" : "/"}`;
      if (inside !== null) yield* walk(inside, `${prefix}    `, depth + 1, options);
    } else {
      yield `${prefix}${last ? "└── " : "├── "}${shown(name)}`;
      if (inside !== null) yield* walk(inside, `${prefix}${last ? "    " : "│   "}`, depth + 1, options);
    }
  }
}

function treeOf(root: string, folder: Folder, options: DirectoryTreeOptions): string {
  const full = { style: "indent" as const, maxDepth: 64, maxLines: 10_000, ...options };
  const lines: string[] = full.style === "indent" ? [`${shown(root)}/`] : [];
  let hidden = 0;
  for (const line of walk(folder, full.style === "indent" ? "    " : "", 0, full)) {
    if (lines.length < full.maxLines) lines.push(line);
    else hidden++;
  }
  if (hidden > 0) lines.push(`... (${hidden} more)`);
  return lines.join("\n");
}

/**
 * The tree of `path` as text, one line per file or directory.
 * @example
 * ```ts
 * new TensorDict({ a: ones(2) }, []).memmap("data");
 * directoryTree("data") // data/
 * //     a.memmap
 * //     meta.json
 * ```
 */
export function directoryTree(path: string, options: DirectoryTreeOptions = {}): string {
  [path, options = {}] = inOrder<Parameters<typeof directoryTree>>("directoryTree", FUNCTIONS.directoryTree, arguments);
  return treeOf(basename(resolve(path)), folderAt(path), options);
}

/** The tree of entries that were listed elsewhere, below a directory of this name. */
export function entriesTree(
  root: string,
  entries: readonly DirectoryEntry[],
  options: DirectoryTreeOptions = {},
): string {
  return treeOf(root, folderOf(entries), options);
}

/**
 * Prints the tree of `path`.
 * @example
 * ```ts
 * new TensorDict({ a: ones(2) }, []).memmap("data");
 * printDirectoryTree("data") // data/
 * //     a.memmap
 * //     meta.json
 * ```
 */
export function printDirectoryTree(path: string, options: DirectoryTreeOptions = {}): void {
  [path, options = {}] = inOrder<Parameters<typeof printDirectoryTree>>(
    "printDirectoryTree",
    FUNCTIONS.printDirectoryTree,
    arguments,
  );
  console.log(directoryTree(path, options));
}

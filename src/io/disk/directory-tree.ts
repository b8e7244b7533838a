// Prints a directory as a tree, in the indented form or with box-drawing branches.
import type { Stats } from "node:fs";
import { basename, lstatSync, resolve, statSync } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { namesIn, pathIn, shownName, systemName } from "../base/byte-names.ts";
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
  /** Show what is in directories that symbolic links lead to, each once. */
  followLinks?: boolean;
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
export function directoryEntries(path: string, maxDepth = 64, followLinks = false): DirectoryEntry[] {
  const listed = (folder: Folder, at: string, depth: number): DirectoryEntry[] => {
    return sorted(folder(), "branches").map(({ name, inside }) => {
      const child = pathIn(at, name);
      if (inside === null) return { name, size: statOf(child, followLinks)?.size ?? 0 };
      return depth < maxDepth ? { name, entries: listed(inside, child, depth + 1) } : { name };
    });
  };
  return listed(folderAt(path, followLinks), path, 1);
}

/** A link is what it leads to where links are followed, and somewhere. Undefined for what is gone by now. */
function statOf(path: string, followLinks: boolean): Stats | undefined {
  const place = systemName(path);
  const found = followLinks ? guarded(path, () => statSync(place, { throwIfNoEntry: false })) : undefined;
  return found ?? guarded(path, () => lstatSync(place, { throwIfNoEntry: false }));
}

/**
 * @param seen directories that were shown, by device and number
 * @param linked a link led here: what was shown before is not shown again, so that circles end
 */
function folderAt(path: string, followLinks: boolean, seen = new Set<string>(), linked = false): Folder {
  return () => {
    if (followLinks) {
      const { dev, ino } = statOf(path, true) ?? {};
      const place = `${dev}:${ino}`;
      if (linked && seen.has(place)) return [];
      seen.add(place);
    }
    return guarded(path, () => namesIn(path)).map((name) => {
      const child = pathIn(path, name);
      const isLink = followLinks && statOf(child, false)?.isSymbolicLink() === true;
      const inside = statOf(child, followLinks)?.isDirectory() === true;
      return { name, inside: inside ? folderAt(child, followLinks, seen, isLink) : null };
    });
  };
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
  return shownName(name).replace(/[\u0000-\u001f\u007f-\u009f]/g, (unit) => {
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
  const full = { style: "indent" as const, maxDepth: 64, maxLines: 10_000, followLinks: false, ...options };
  const lines: string[] = full.style === "indent" ? [`${shown(root)}/`] : [];
  let hidden = 0;
  for (const line of walk(folder, full.style === "indent" ? "    " : "", 0, full)) {
    if (lines.length < full.maxLines) lines.push(line);
    else hidden++;
  }
  if (hidden > 0) lines.push(`... (${hidden} more)`);
  return lines.join("\n");
}

/** The tree of a directory under another name. */
export function treeUnder(root: string, path: string, options: DirectoryTreeOptions): string {
  return treeOf(root, folderAt(path, options.followLinks === true), options);
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
  return treeOf(basename(resolve(path)), folderAt(path, options.followLinks === true), options);
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

// Reads the structure of a memory-mapped directory. Nothing is skipped silently: a file, a directory or a value that
// the metadata names and that is not there is an error.
import { join, sep } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { ValueError } from "../../tensor/errors.ts";
import { FileNotFoundError, FormatError } from "../base/errors.ts";
import { encodeKey, isSafeRawName } from "../base/keys.ts";
import { absolutePath } from "../base/places.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import type { FolderOptions } from "../disk/folder.ts";
import { DirectorySource } from "./directory-source.ts";
import { type DirectoryMeta, readMeta } from "./memmap-meta.ts";
import { readNested } from "./nested-read.ts";
import type { LazyNode, Linked, TensorDictNode, TreeNode, TreeSource } from "./tree.ts";
import { MAX_TREE_DEPTH } from "./tree-layout.ts";

/** How to read. */
export interface ReadOptions {
  /** Only this sub-tree: "a/b" or ["a", "b"]. */
  subpath?: string | readonly string[];
  /** False: names are the keys as they are, before their encoded forms are tried. */
  robustKey?: boolean;
  /** Deepest nesting of directories. */
  maxDepth?: number;
  /** Most entries in all directories together. */
  maxEntries?: number;
}

/** Entries that directories may add which links lead to once more. */
const MOST_AGAIN = 10_000;

/** Where is read, how names are found, and what reading may still use up; `entries` is shared by all directories. */
class Budget {
  constructor(
    readonly source: TreeSource,
    private readonly total: { entries: number; again: number },
    private readonly depth: number,
    readonly robust: boolean,
    /** Reads that wait. */
    private readonly waiting: (() => void)[],
    private readonly linked: Linked | null = null,
  ) {}

  /** For the directory at a path. */
  into(path: string): Budget {
    const linked = this.source.enter?.(path, this.linked) ?? null;
    if (linked === this.linked) return this;
    const inner = new Budget(this.source, this.total, this.depth, this.robust, this.waiting, linked);
    inner.spend(1, path);
    return inner;
  }

  /** Reads the directory at a path when it is its turn, and hands it on. */
  read(path: string, put: (node: TreeNode) => void): void {
    this.waiting.push(() => put(readNode(path, this.into(path))));
  }

  /** For the directories inside `path`. */
  deeper(path: string): Budget {
    if (this.depth <= 0) throw new FormatError("directories are nested too deeply", path);
    return new Budget(this.source, this.total, this.depth - 1, this.robust, this.waiting, this.linked);
  }

  spend(entries: number, path: string): void {
    this.total.entries -= entries;
    if (this.total.entries < 0) throw new FormatError("too many entries", path);
    if (this.linked?.again !== true) return;
    this.total.again -= entries;
    if (this.total.again < 0) throw new FormatError("links lead to the same folders again and again", path);
  }
}

/** The directory of a sub-tree. */
function subtreePath(budget: Budget, prefix: string, subpath: string | readonly string[]): string {
  const keys = typeof subpath === "string" ? subpath.split("/").filter((key) => key !== "") : subpath;
  if (typeof subpath !== "string" && (keys.length === 0 || !keys.every((key) => typeof key === "string"))) {
    throw new ValueError("subpath must be a string path or a (nested) tuple of strings.");
  }
  let path = prefix;
  let at = budget;
  for (const key of keys) {
    path = childDirectory(at, path, key);
    at = at.into(path);
  }
  if (keys.length > 0 && !budget.source.exists(join(path, "meta.json"))) {
    const shown = typeof subpath === "string" ? `'${subpath}'` : `(${keys.map((key) => `'${key}'`).join(", ")})`;
    throw new ValueError(`No tensordict found under subpath ${shown} (missing meta.json in ${path}).`);
  }
  return path;
}

/**
 * Reads the whole structure below `prefix`; no tensor is mapped yet.
 * @example
 * ```ts
 * new TensorDict({ a: zeros(2, 3) }, [2]).memmap("data");
 * io.readDirectory("data").kind // tensordict
 * ```
 */
export function readDirectory(prefix: string, options: ReadOptions & FolderOptions = {}): TreeNode {
  [prefix, options = {}] = inOrder<Parameters<typeof readDirectory>>(
    "readDirectory",
    FUNCTIONS.readDirectory,
    arguments,
  );
  const root = absolutePath(prefix);
  return readTree(new DirectorySource(root, options.followLinks), root, options);
}

/** Reads the structure of a tree whose root has the absolute path `root`. */
export function readTree(source: TreeSource, root: string, options: ReadOptions = {}): TreeNode {
  return runSteps(readingTree(source, root, options));
}

/** `readTree` in steps, one for each directory. */
export function* readingTree(source: TreeSource, root: string, options: ReadOptions = {}): Steps<TreeNode> {
  const waiting: (() => void)[] = [];
  const node = readRoot(source, root, options, waiting);
  // Reads add what lies deeper behind those that wait.
  for (const read of waiting) {
    yield;
    read();
  }
  return node;
}

function readRoot(source: TreeSource, root: string, options: ReadOptions, waiting: (() => void)[]): TreeNode {
  const { subpath, robustKey = true, maxEntries = 10_000_000, maxDepth = MAX_TREE_DEPTH } = options;
  const total = { entries: maxEntries, again: MOST_AGAIN };
  const budget = new Budget(source, total, maxDepth, robustKey, waiting);
  return readNode(subpath === undefined ? root : subtreePath(budget, root, subpath), budget);
}

function readNode(path: string, budget: Budget): TreeNode {
  const metaPath = within(path, "meta.json");
  return build(path, readMeta(budget.source.small(metaPath), metaPath), budget);
}

function build(path: string, meta: DirectoryMeta, budget: Budget): TreeNode {
  switch (meta.kind) {
    case "tensordict":
      return readLevelNode(path, meta, budget);
    case "lazy":
      return readLazy(path, meta, budget);
    case "tensorclass":
      return readClass(path, meta, budget);
    case "nonTensor": {
      const pickle = join(path, "other.pickle");
      if (!meta.hasData && !budget.source.exists(pickle)) throw new FileNotFoundError(pickle);
      const { className, data } = meta;
      return { kind: "nonTensor", path, className, data, pickle: meta.hasData ? null : pickle };
    }
    case "nonTensorStack": {
      const { data, stackDim, device } = meta;
      // Written by Python when some value is not JSON; an ordinary stack has a list here.
      const pickle = data === "pickle.pkl" ? join(path, "pickle.pkl") : null;
      if (pickle !== null && !budget.source.exists(pickle)) throw new FileNotFoundError(pickle);
      return { kind: "nonTensorStack", path, stackDim, device, data, pickle };
    }
  }
}

function readClass(
  path: string,
  { className, qualified, extras }: Extract<DirectoryMeta, { kind: "tensorclass" }>,
  budget: Budget,
): TreeNode {
  const place = join(path, "_tensordict");
  const below = budget.deeper(path).into(place);
  const metaPath = within(place, "meta.json");
  const meta = readMeta(budget.source.small(metaPath), metaPath);
  const inner = build(place, meta, below);
  if (inner.kind !== "tensordict" && inner.kind !== "lazy") {
    throw new FormatError("_tensordict holds no TensorDict", path);
  }
  return { kind: "tensorclass", path, className, qualified, extras, inner };
}

function readLevelNode(
  path: string,
  meta: Extract<DirectoryMeta, { kind: "tensordict" }>,
  budget: Budget,
): TensorDictNode {
  const inner = budget.deeper(path);
  // Python loads all tensors first, then what has a directory of its own.
  const entries: TensorDictNode["entries"] = new Map();
  const collections: string[] = [];
  inner.spend(meta.entries.size, path);
  for (const [key, entry] of meta.entries) {
    if (entry.kind === "collection") {
      collections.push(key);
      continue;
    }
    if (entry.isNested) {
      if (meta.entries.get(`${key}.shape`)?.kind === "leaf") {
        throw new FormatError(`entries ${JSON.stringify(key)} and "${key}.shape" have one file`, path);
      }
      entries.set(key, readNested(budget.source, leafPath(budget, path, key), key, entry));
      continue;
    }
    entries.set(key, { kind: "leaf", path: leafPath(budget, path, key), offset: 0, meta: entry });
  }
  for (const key of collections) inner.read(childDirectory(budget, path, key), (node) => entries.set(key, node));
  const { className, batchSize, device, names } = meta;
  return { kind: "tensordict", path, className, batchSize, device, names, entries };
}

/** `join` for a name that has been checked, without looking for dots in it. */
function within(path: string, name: string): string {
  return path.endsWith(sep) ? path + name : path + sep + name;
}

function leafPath({ source, robust }: Budget, path: string, key: string): string {
  const encoded = encodeKey(key);
  const usual = within(path, `${encoded}.memmap`);
  if (encoded !== key && isSafeRawName(key, true) && !(robust && source.exists(usual))) {
    const raw = join(path, `${key}.memmap`);
    if (source.exists(raw)) return raw;
  }
  return usual;
}

function childDirectory({ source, robust }: Budget, path: string, key: string): string {
  const encoded = encodeKey(key);
  const usual = within(path, encoded);
  if (encoded !== key && isSafeRawName(key) && !(robust && source.exists(usual))) {
    const raw = join(path, key);
    if (source.exists(raw)) return raw;
  }
  return usual;
}

function readLazy(path: string, meta: Extract<DirectoryMeta, { kind: "lazy" }>, budget: Budget): LazyNode {
  const members: TreeNode[] = [];
  const inner = budget.deeper(path);
  const { source } = budget;
  let count = 0;
  for (; source.isDirectory(join(path, String(count))); count++) {
    const place = count;
    inner.spend(1, path);
    inner.read(join(path, String(place)), (node) => {
      members[place] = node;
    });
  }
  if (count === 0) throw new FormatError("a lazy stack without members", path);
  // The format has no count; a gap means that a member was lost.
  const next = join(path, String(count + 1));
  if (source.isDirectory(next)) throw new FileNotFoundError(join(path, String(count)));
  return { kind: "lazy", path, stackDim: meta.stackDim, stackDimName: meta.stackDimName, members };
}

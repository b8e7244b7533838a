// Makes saved tensors longer: files grow first, and only then the metadata of all levels says so.

import { JobFlag } from "../../../generated/abi.ts";
import { join, lstatSync, renameSync, rmSync, statSync, truncateSync, writeFileSync } from "../../runtime/node.ts";
import { FormatError, guarded, systemError } from "../base/errors.ts";
import { parsePythonJsonObject, pythonJsonStringify } from "../base/python-json.ts";
import { discardPath, syncPath } from "../disk/durable.ts";
import { FileJobs } from "../disk/file-jobs.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { readSmallFile } from "../disk/small-file.ts";
import { MAX_META_BYTES } from "./memmap-meta.ts";
import type { LeafNode, TensorDictNode, TreeNode } from "./tree.ts";

/** New metadata that waits for its turn, under the name that Python's library gives it. */
const PENDING = ".meta.json.append.tmp";

/** Rows for one tensor. */
export interface LeafGrowth {
  leaf: LeafNode;
  bytes: TensorBytes;
}

/** Every TensorDict in a tree, the outermost first. */
export function levelsOf(node: TreeNode, found: TensorDictNode[] = []): TensorDictNode[] {
  switch (node.kind) {
    case "tensordict":
      found.push(node);
      for (const entry of node.entries.values())
        if (entry.kind !== "leaf" && entry.kind !== "nested") levelsOf(entry, found);
      break;
    case "lazy":
      for (const member of node.members) levelsOf(member, found);
      break;
    case "tensorclass":
      levelsOf(node.inner, found);
      break;
    default:
  }
  return found;
}

/**
 * Brings an append that was killed midway to its end: while the outermost level's new metadata waits, nothing has
 * changed yet and all of it is dropped; otherwise every level gets its own.
 * @returns true when something was changed
 */
export function finishAppend(levels: readonly TensorDictNode[]): boolean {
  const pending = levels.filter(({ path }) => lstatSync(join(path, PENDING), { throwIfNoEntry: false })?.isFile());
  if (pending.length === 0) return false;
  const drop = pending[0] === levels[0];
  // The outermost file is the sign, and so the last that is dropped.
  for (const { path } of drop ? pending.reverse() : pending) {
    const file = join(path, PENDING);
    guarded(file, () => (drop ? rmSync(file) : renameSync(file, join(path, "meta.json"))));
    syncPath(path);
  }
  return true;
}

/** The `meta.json` of a level whose first dimension has `rows` rows, else unchanged. */
function grownText(level: TensorDictNode, rows: number): string {
  const file = join(level.path, "meta.json");
  const root = parsePythonJsonObject(readSmallFile(file, MAX_META_BYTES), { maxLength: MAX_META_BYTES });
  for (const [key, entry] of level.entries) {
    if (entry.kind !== "leaf") continue;
    const saved = root.get(key);
    if (!(saved instanceof Map)) throw new FormatError("it changed while it was read", file);
    saved.set("shape", [rows, ...entry.meta.shape.slice(1)]);
  }
  root.set("shape", [rows, ...level.batchSize.slice(1)]);
  return pythonJsonStringify(root);
}

/** Returns what takes the rows back. */
function growFiles(growth: readonly LeafGrowth[]): () => void {
  const jobs = new FileJobs();
  const sizes = growth.map(({ leaf: { path } }) =>
    guarded(path, () => statSync(path, { throwIfNoEntry: false })?.size ?? null),
  );
  for (const [i, { leaf, bytes }] of growth.entries()) {
    if (bytes.nbytes === 0) continue;
    const { nbytes } = leaf.meta;
    if (nbytes > (sizes[i] ?? 0)) throw new FormatError(`${sizes[i] ?? 0} bytes are fewer than ${nbytes}`, leaf.path);
    const create = nbytes === 0 ? JobFlag.create : 0;
    const flags = JobFlag.write | JobFlag.writable | JobFlag.noFollow | JobFlag.fsync | create;
    jobs.add({ path: leaf.path, offset: nbytes, nbytes: bytes.nbytes, data: bytes.address, flags, keep: bytes.keep });
  }
  const undo = () => {
    for (const [i, { leaf }] of growth.entries()) {
      const size = sizes[i] as number | null;
      if (size === null) discardPath(leaf.path);
      else if ((statSync(leaf.path, { throwIfNoEntry: false })?.size ?? 0) > size) truncateSync(leaf.path, size);
    }
  };
  if (jobs.run() !== 0) {
    undo();
    jobs.throwFirstFailure();
  }
  return undo;
}

/**
 * Appends to files that were checked against `levels`, all levels of the directory, the outermost first. A failure
 * leaves what was saved.
 * @param rows how many rows there are afterwards
 */
export function appendRows(levels: readonly TensorDictNode[], growth: readonly LeafGrowth[], rows: number): void {
  const texts = levels.map((level) => grownText(level, rows));
  const pending = levels.map(({ path }) => join(path, PENDING));
  for (const file of pending) if (lstatSync(file, { throwIfNoEntry: false }) !== undefined) throw systemError(17, file);
  const undo = growFiles(growth);
  try {
    for (const [i, file] of pending.entries()) {
      guarded(file, () => writeFileSync(file, texts[i] as string, { flag: "wx" }));
      syncPath(file);
      // The outermost name is the sign that nothing has changed yet: the disk has it before the others.
      if (i === 0) syncPath(levels[i]?.path as string);
    }
    for (const { path } of levels) syncPath(path);
  } catch (error) {
    for (const file of pending.reverse()) discardPath(file);
    undo();
    throw error;
  }
  for (const { path } of levels) {
    const file = join(path, PENDING);
    guarded(file, () => renameSync(file, join(path, "meta.json")));
    syncPath(path);
  }
}

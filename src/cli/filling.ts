// Targets whose elements are computed: tensors get files of their own first, which are filled piece by piece, so that
// nothing has to fit into memory.
import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { guarded } from "../io/base/errors.ts";
import { attributesOf, noteAttributes } from "../io/base/python-origin.ts";
import { temporaryBeside } from "../io/disk/durable.ts";
import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { nativeBytes } from "../io/disk/tensor-bytes.ts";
import { isRemote } from "../io/store/s3.ts";
import { torchClasses } from "../io/torch/torch-classes.ts";
import { windows } from "../io/zip/zip-write.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isLazy, isNested, make, stateOf, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { findPath, type Path } from "./keys.ts";
import { SEPARATOR } from "./losses.ts";
import { NO_STATE } from "./python-tree.ts";
import { temporaryFor } from "./scratch.ts";
import { type Prepared, place, type Target } from "./target.ts";
import { writeCollection } from "./writing.ts";

/** Bytes that are copied between two looks at a signal. */
const PIECE_BYTES = 8 * 2 ** 20;

/** Fills tensors, each at the place that it has for a path. */
export type Fill = (at: (path: Path) => Tensor, background: BackgroundOptions) => Promise<void>;

/** The entry at a path; members of a lazy stack are numbers. Dots in keys may have made levels since. */
export function entryAtPath(td: Td, path: Path): Entry {
  const found = path.reduce<Entry | undefined>((level, key) => {
    const at = level as Td | undefined;
    if (at === undefined || at instanceof Tensor) return undefined;
    return isLazy(at) ? (at.members[Number(key)] as Entry | undefined) : at._own(key);
  }, td as Entry);
  if (found !== undefined) return found;
  const other = findPath(td, path.join(SEPARATOR).split(SEPARATOR));
  if (other === null) throw new Error(`no entry ${path.join(SEPARATOR)}`);
  return entryAtPath(td, other);
}

/** Copies a tensor into the file of a mapped one. Pages of mappings would count as this process's memory. */
export async function copyInto(target: Tensor, source: Tensor, signal: AbortSignal | undefined): Promise<void> {
  const { file } = nativeBytes(target);
  if (file === undefined) {
    target.copy_(source.detach());
    return;
  }
  const fd = guarded(file.path, () => openSync(file.path, "r+"));
  try {
    let at = file.offset;
    for (const part of windows(nativeBytes(source), PIECE_BYTES)) {
      for (let done = 0; done < part.length; ) {
        const from = done;
        done += guarded(file.path, () => writeSync(fd, part, from, part.length - from, at + from));
      }
      at += part.length;
      // Lets an interruption through.
      await Bun.sleep(0);
      signal?.throwIfAborted();
    }
  } finally {
    closeSync(fd);
  }
}

/** A collection with other tensors in the place of some. */
export function replaceTensors(td: Td, changed: ReadonlyMap<Entry, Tensor>): Td {
  if (isNonTensor(td)) return td;
  if (isLazy(td)) {
    const members = td.members.map((member) => replaceTensors(member, changed));
    return make.lazy(members, td.stackDim, td.stackDimName);
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    const other = changed.get(entry);
    if (other !== undefined) entries.set(key, other);
    else if (entry instanceof Tensor || isNested(entry)) entries.set(key, entry);
    else entries.set(key, replaceTensors(entry as Td, changed) as Entry);
  }
  const state = stateOf(td);
  return td._kind === "tensorclass" ? td._like(entries, state) : make.tensordict(entries, state);
}

/** Files for tensors that are like those at these paths, by number: any key may be in the path. */
function filesLike(td: Td, paths: readonly Path[], folder: string): Map<Entry, Tensor> {
  const outlines = [...new Set(paths.map((path) => entryAtPath(td, path)))];
  const numbered = new Map(outlines.map((outline, i) => [String(i), (outline as Tensor).detach() as Entry]));
  const files = make.tensordict(numbered, NO_STATE).memmapLike(folder) as Td;
  return new Map(outlines.map((outline, i) => [outline, files._own(String(i)) as Tensor]));
}

/** A tensor as what it stands for: a parameter, one that requires gradients, with attributes. */
export function likeBefore(made: Tensor, before: Tensor): Tensor {
  const grad = before.requiresGrad && made.dtype.category >= 2;
  const like = torchClasses.isParameter(before) ? torchClasses.parameter(made, grad) : made.requiresGrad_(grad);
  const attributes = attributesOf(before);
  if (attributes !== undefined) noteAttributes(like, attributes);
  return like;
}

/**
 * Writes a target of which the tensors at some paths are filled first.
 * @param whole these are all tensors that it has
 */
export async function placeFilled(
  target: Target,
  prepared: Prepared,
  paths: readonly Path[],
  whole: boolean,
  fill: Fill,
): Promise<void> {
  const { path: to, format, numThreads } = target;
  const { td, tree } = prepared;
  await place(target, async (made, background) => {
    if (whole && format === "memmap" && !isRemote(to)) {
      const filled = td.memmapLike(made) as Td;
      await fill((path) => entryAtPath(filled, path) as Tensor, background);
      return;
    }
    const scratch = isRemote(made) ? temporaryFor(to) : temporaryBeside(made);
    try {
      const files = filesLike(td, paths, scratch);
      await fill((path) => files.get(entryAtPath(td, path)) as Tensor, background);
      for (const [outline, file] of files) files.set(outline, likeBefore(file, outline as Tensor));
      const filled = replaceTensors(td, files);
      await writeCollection({ td: filled, tree }, made, format, { numThreads, ...background });
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
}

// Loads archives of memory-mapped directories: tensors are views of one mapping of the file.

import type { MapMode } from "../../io/disk/mapping.ts";
import { ArchiveTensors } from "../../io/memmap/archive-tensors.ts";
import { MemmapArchive } from "../../io/memmap/memmap-archive.ts";
import { readTree } from "../../io/memmap/memmap-read.ts";
import { type LeafNode, leavesOf } from "../../io/memmap/tree.ts";
import { CPU, type Device } from "../../tensor/device.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import type { Td } from "../core/state.ts";
import { buildTree, type PickleChoice } from "./tree-load.ts";

/** How an archive is loaded. */
export interface ArchiveLoadOptions {
  subpath?: string | readonly string[];
  mode?: MapMode;
  robustKey?: boolean;
  pickles?: PickleChoice;
  maxBytes?: number;
  /** The path that the archive is about to get. */
  name?: string;
}

function metaTensors(leaves: readonly LeafNode[]): Map<LeafNode, Tensor> {
  return new Map(
    leaves.map((leaf) => [leaf, makeContiguous(Storage.meta(leaf.meta.nbytes), leaf.meta.shape, leaf.meta.dtype)]),
  );
}

/** Loads what an archive holds, to "meta" or to the CPU; for a GPU its tensors are only to be read from there. */
export function loadArchive(path: string, device: Device, options: ArchiveLoadOptions): Td {
  const archive = new MemmapArchive(path);
  archive.zip.requireTotal(options.maxBytes);
  const { subpath, robustKey = true } = options;
  const node = readTree(archive, archive.zip.path, { robustKey, ...(subpath === undefined ? {} : { subpath }) });
  const leaves = leavesOf(node);
  const { mode = "c", name } = options;
  const reader = new ArchiveTensors(archive, mode, { device, ...(name === undefined ? {} : { name }) });
  const tensors =
    device.type === "meta" ? metaTensors(leaves) : new Map(leaves.map((leaf) => [leaf, reader.tensor(leaf)]));
  return buildTree(node, {
    tensors,
    device: device.type === "meta" ? device : CPU,
    pickles: options.pickles ?? "refuse",
    onDisk: false,
    source: archive,
  });
}

// TensorDicts in S3 stores: memory-mapped directories as objects, of which parts are loaded by range.

import { marks } from "../../dispatch/staging.ts";
import { Claims } from "../../io/base/claims.ts";
import { type PlaceOptions, placeOf } from "../../io/disk/placing.ts";
import { readTree } from "../../io/memmap/memmap-read.ts";
import { RemoteDirectory, remoteSubtree, writeRemoteDirectory } from "../../io/memmap/remote-directory.ts";
import { type LeafNode, leavesOf } from "../../io/memmap/tree.ts";
import { selectKeys, selectRows, type TreeKey } from "../../io/memmap/tree-select.ts";
import { type RemoteOptions, RemotePlace } from "../../io/store/s3.ts";
import { inOrder } from "../../tensor/checks.ts";
import { CPU } from "../../tensor/device.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import type { Td } from "../core/state.ts";
import { planTree, requireSavable } from "./memmap-save.ts";
import { placeTd } from "./placing.ts";
import { buildTree, type PickleChoice } from "./tree-load.ts";

/** What of a remote directory is loaded. */
export interface RemoteLoadOptions extends RemoteOptions, PlaceOptions {
  /** Only this sub-tree. */
  subpath?: string | readonly string[];
  /** Only these entries, nested keys too. */
  keys?: readonly TreeKey[];
  /** Only the rows from the first to before the second, along the first batch dimension. */
  rows?: readonly [number, number];
  /** What to do with Python pickles. */
  pickles?: PickleChoice;
}

/**
 * Loads a TensorDict from a directory in an S3 store, such as "s3://bucket/folder", into memory or to a device.
 * Metadata is read first; of the tensors only the bytes that are asked for are transferred, several ranges at a time,
 * and again when a request fails for a passing reason.
 *
 * @throws FileNotFoundError when there is no directory, or a tensor of it is missing
 * @throws FormatError when the metadata is wrong, or an object is shorter than its tensor
 * @example
 * ```ts
 * await saveRemote(new TensorDict({ a: arange(4), b: ones(4) }, [4]), "s3://examples/data",
 *   { client });
 * (await loadRemote("s3://examples/data", { client, keys: ["a"], rows: [1, 3] })).get("a") // tensor([1, 2])
 * ```
 */
export async function loadRemote(url: string, options: RemoteLoadOptions = {}): Promise<Td> {
  [url, options = {}] = inOrder<Parameters<typeof loadRemote>>("loadRemote", FUNCTIONS.loadRemote, arguments);
  const { subpath, keys, rows, pickles = "refuse", device = null, ...remote } = options;
  placeOf({ device });
  const here = marks.here();
  const directory = await RemoteDirectory.open(new RemotePlace(remoteSubtree(url, subpath), remote));
  let node = readTree(directory, directory.root);
  if (keys !== undefined) node = selectKeys(node, keys);
  if (rows !== undefined) node = selectRows(node, rows[0], rows[1]);
  const leaves = leavesOf(node);
  const filled = leaves.filter((leaf) => leaf.meta.nbytes > 0);
  directory.requireWhole(filled);
  const tensors = new Map<LeafNode, Tensor>();
  for (const leaf of leaves) {
    tensors.set(leaf, makeContiguous(Storage.allocate(leaf.meta.nbytes), leaf.meta.shape, leaf.meta.dtype));
  }
  await directory.read(filled.map((leaf) => ({ leaf, address: (tensors.get(leaf) as Tensor).dataPtr() })));
  const td = buildTree(node, { tensors, device: CPU, pickles, onDisk: false, source: directory });
  return here(() => placeTd(td, { device }, "loadRemote"));
}

/** How a directory is saved. */
export interface RemoteSaveOptions extends RemoteOptions {
  /** Encode keys that are no safe file names. */
  robustKey?: boolean;
}

/**
 * Saves a TensorDict to a directory in an S3 store, in the layout of a memory-mapped directory: downloaded, it can be
 * loaded with `loadMemmap`. Large tensors go in parts. Metadata comes last, the root's at the very end, so that a new
 * directory is there when it is complete; one that is written over is a mixture until then.
 * @example
 * ```ts
 * await saveRemote(new TensorDict({ a: arange(4) }, [4]), "s3://examples/data", { client });
 * (await loadRemote("s3://examples/data", { client })).get("a") // tensor([0, 1, 2, 3])
 * ```
 */
export async function saveRemote(td: Td, url: string, options: RemoteSaveOptions = {}): Promise<void> {
  [td, url, options = {}] = inOrder<Parameters<typeof saveRemote>>("saveRemote", FUNCTIONS.saveRemote, arguments);
  requireSavable(td, "memory-mapped");
  const { robustKey = true, ...remote } = options;
  const claims = new Claims();
  try {
    const context = { options: { robustKey, copyExisting: true }, like: false, inplace: false, claims };
    const { write } = planTree(td, "/", context);
    await writeRemoteDirectory(new RemotePlace(url, remote), write, robustKey);
  } finally {
    claims.release();
  }
}

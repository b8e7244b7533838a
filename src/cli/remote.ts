// Directories and safetensors files in S3 stores. Headers and metadata are read first; of the tensors only the bytes
// that are asked for are transferred.
import { FormatError } from "../io/base/errors.ts";
import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { readTree } from "../io/memmap/memmap-read.ts";
import { RemoteDirectory } from "../io/memmap/remote-directory.ts";
import { type LeafNode, leavesOf, type TreeNode } from "../io/memmap/tree.ts";
import { RemoteSafetensors } from "../io/safetensors/remote-safetensors.ts";
import { SafetensorsListing } from "../io/safetensors/safetensors-header.ts";
import { RemotePlace, together } from "../io/store/s3.ts";
import { CPU } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, Tensor } from "../tensor/tensor.ts";
import { entriesOf, isLazy, isNested, make, stateOf, type Td } from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { saveRemote } from "../tensordict/disk/remote.ts";
import { buildTree } from "../tensordict/disk/tree-load.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { openAnyClass } from "./any-class.ts";
import { fromSafetensors } from "./collections.ts";
import { CliError } from "./errors.ts";
import type { FormatName } from "./formats.ts";
import { interruption } from "./lifetime.ts";
import { inMebibytes, progressBar } from "./progress.ts";
import type { PythonNode } from "./python-values.ts";
import { removeRemains } from "./remote-copy.ts";
import { withoutStructure } from "./structure.ts";

/** Requests at the same time. */
const CONCURRENCY = 8;
const PART_BYTES = 8 * 2 ** 20;

/** Where the bytes of a tensor are. */
interface Origin {
  key: string;
  offset: number;
}

/** A source in a store, of which no tensor was transferred yet. */
export class RemoteSource {
  private readonly origins = new Map<Storage, Origin>();
  /** The collection; its tensors are on "meta". */
  td!: Td;
  /** What the collection does not tell. */
  lost: readonly string[] = [];
  /** What its levels were in Python. */
  tree: PythonNode | null = null;
  /** Names are those of a file without levels. */
  flat = false;
  /** The tree of a directory. */
  node: TreeNode | null = null;

  constructor(readonly place: RemotePlace) {}

  /** A tensor that stands for the bytes at a place. */
  outline(dtype: DType, shape: readonly number[], nbytes: number, origin: Origin): Tensor {
    const storage = Storage.meta(nbytes);
    this.origins.set(storage, origin);
    return makeContiguous(storage, shape, dtype);
  }

  private range(tensor: Tensor): { key: string; begin: number; nbytes: number } {
    const { key, offset } = this.origins.get(tensor._storage) as Origin;
    const { itemsize } = tensor.dtype;
    // Rows of a tensor lie next to each other.
    return { key, begin: offset + tensor._offset * itemsize, nbytes: tensor.numel() * itemsize };
  }

  /** The bytes of a tensor, in parts. */
  async *parts(tensor: Tensor): AsyncGenerator<Uint8Array> {
    const { key, begin, nbytes } = this.range(tensor);
    for (let at = 0; at < nbytes; at += PART_BYTES) {
      yield await this.place.range(key, begin + at, begin + Math.min(nbytes, at + PART_BYTES));
    }
  }

  /** Transfers the tensors of a part of the collection into memory. */
  async fetch(td: Td, quiet: boolean): Promise<Td> {
    const made = new Map<Tensor, Tensor>();
    const wanted = this.copied(td, made);
    const ranges = [...made].map(([outline, tensor]) => ({ ...this.range(outline), tensor }));
    const total = ranges.reduce((sum, { nbytes }) => sum + nbytes, 0);
    const bar = progressBar("MiB", quiet);
    const advance = inMebibytes(bar);
    let done = 0;
    try {
      await together(ranges, CONCURRENCY, async ({ key, begin, nbytes, tensor }) => {
        if (nbytes === 0) return;
        await this.place.readInto(key, begin, begin + nbytes, tensor.dataPtr(), (n) => {
          done += n;
          advance(done, total);
        });
      });
    } finally {
      bar.stop();
    }
    return wanted;
  }

  private copied(td: Td, made: Map<Tensor, Tensor>): Td {
    if (isNonTensor(td)) return td;
    if (isLazy(td)) {
      const { members, stackDim, stackDimName } = td;
      return make.lazy(
        members.map((member) => this.copied(member, made)),
        stackDim,
        stackDimName,
      );
    }
    const entries = new Map<string, Entry>();
    for (const [key, entry] of entriesOf(td)) {
      if (isNested(entry)) entries.set(key, entry._over(roomFor(entry._values, made)));
      else if (entry instanceof Tensor) entries.set(key, roomFor(entry, made));
      else entries.set(key, this.copied(entry as Td, made));
    }
    return td._like(entries, stateOf(td));
  }
}

/** A tensor in memory for one that is in the store. */
function roomFor(outline: Tensor, made: Map<Tensor, Tensor>): Tensor {
  const storage = Storage.allocate(outline.numel() * outline.dtype.itemsize);
  const tensor = makeContiguous(storage, outline._shape, outline.dtype);
  made.set(outline, tensor);
  return tensor;
}

class OutlineListing extends SafetensorsListing {
  constructor(
    private readonly source: RemoteSource,
    listing: SafetensorsListing,
  ) {
    super(listing.path, listing.header);
  }
  tensor(name: string): Tensor {
    const { dtype, shape, begin, end } = this.entry(name);
    const origin = { key: this.source.place.key, offset: this.header.dataStart + begin };
    return this.source.outline(dtype, shape, end - begin, origin);
  }
}

async function openDirectory(source: RemoteSource): Promise<Td> {
  const directory = await RemoteDirectory.open(source.place);
  const node = readTree(directory, directory.root);
  const leaves = leavesOf(node);
  directory.requireWhole(leaves.filter(({ meta }) => meta.nbytes > 0));
  const begin = `s3:/${source.place.bucket}/`.length;
  const outline = (leaf: LeafNode): [LeafNode, Tensor] => {
    const { dtype, shape, nbytes } = leaf.meta;
    return [leaf, source.outline(dtype, shape, nbytes, { key: leaf.path.slice(begin), offset: leaf.offset })];
  };
  source.node = node;
  using _ = openAnyClass();
  const tensors = new Map(leaves.map(outline));
  return buildTree(node, { tensors, device: CPU, pickles: "refuse", onDisk: false, source: directory });
}

/** Reads the headers of a directory or a safetensors file in a store. */
export async function openRemote(url: string, format: FormatName): Promise<RemoteSource> {
  const signal = interruption();
  const source = new RemoteSource(new RemotePlace(url, { signal }));
  if (format === "safetensors") {
    using _ = openAnyClass();
    const opened = await fromSafetensors(new OutlineListing(source, await RemoteSafetensors.open(url, { signal })));
    Object.assign(source, opened);
  } else Object.assign(source, withoutStructure(await openDirectory(source), url));
  return source;
}

async function isFree(place: RemotePlace): Promise<boolean> {
  try {
    return (await place.list(0)).length === 0;
  } catch (error) {
    // More than none.
    if (error instanceof FormatError) return false;
    throw error;
  }
}

/** Refuses a place where something is. A file may be replaced, a directory is not. */
export async function refuseRemote(url: string, format: FormatName, force: boolean): Promise<void> {
  const place = new RemotePlace(url);
  if (place.key === "") throw new CliError(`${url} is a whole bucket: name a place in it.`);
  if (format !== "memmap" && format !== "torchsnapshot") {
    if (force || !(await place.exists(place.key))) return;
    throw new CliError(`${url} exists already. Choose another target, or pass --force to replace it.`);
  }
  if (await isFree(place)) return;
  throw new CliError(`${url} exists already, and directories in stores are not replaced. Choose another target.`);
}

/** Saves a directory; one that is not complete is removed again. */
export async function writeRemote(td: Td, url: string, options: BackgroundOptions): Promise<void> {
  const { signal, onProgress } = options;
  try {
    const stop = signal === undefined ? {} : { signal };
    await saveRemote(td, url, { ...stop, onProgress: inMebibytes({ update: onProgress ?? (() => {}), stop() {} }) });
    signal?.throwIfAborted();
  } catch (error) {
    await removeRemains(url);
    throw error;
  }
}

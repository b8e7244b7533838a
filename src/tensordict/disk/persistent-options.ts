// How TensorDicts over HDF5 files are opened.
import { type PythonJson, toPlain } from "../../io/base/python-json.ts";
import type { UnknownOptions } from "../../io/base/unknown-array.ts";
import { MOST_DEFLATED, requireRoom } from "../../io/disk/room.ts";
import type { Hdf5File, Hdf5Values } from "../../io/hdf5/hdf5.ts";
import type { Hdf5Layout, Hdf5Mode } from "../../io/hdf5/hdf5-engine.ts";
import { nest } from "../../io/hdf5/hdf5-values.ts";
import { checkOptions } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import type { DType } from "../../tensor/dtype.ts";
import { KeyError, NotImplementedError, RuntimeError, TypeError } from "../../tensor/errors.ts";
import { numelOf, Size } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, Tensor } from "../../tensor/tensor.ts";
import { startsWith } from "../core/convert.ts";
import { PERSISTENT } from "../core/signatures.ts";
import { isNested, isNonTensor, make, outlinesOf, type Td, type ValueTd } from "../core/state.ts";
import type { CollectionOptions, SizeLike } from "../core/types.ts";

/** A group inside an open file. */
export interface Hdf5Group {
  /** The open file. */
  file: Hdf5File;
  /** Names joined by "/"; "" is the file itself. */
  path?: string;
}

/** How a PersistentTensorDict is opened, and how the datasets that it writes are stored. */
export interface PersistentOptions extends Hdf5Layout {
  /** The file. Either this or `group` is given. */
  filename?: string;
  /** @internal Where the file is while it has another path still. */
  written?: string;
  /** An open file, or a group in it; closing it is left to whoever opened it. */
  group?: Hdf5File | Hdf5Group;
  /** As in h5py: "r" (the default), "r+", "w", "w-", "x" or "a". */
  mode?: Hdf5Mode;
  /** Leading dimensions that all entries share; none by default. */
  batchSize?: SizeLike;
  /** Where what is read goes. */
  device?: CollectionOptions["device"];
  /** Names of the batch dimensions. */
  names?: CollectionOptions["names"];
  /** Read values that another program wrote, one per element of the batch, as a stack. */
  nonTensorAsStack?: boolean;
  /**
   * What becomes of datasets whose elements neither tensors nor JavaScript have, as compound ones: "describe", the
   * default, gives an `io.UnknownArray` with their bytes, "skip" leaves them out, "refuse" is an error.
   */
  unknown?: UnknownOptions["unknown"];
}

/** How `fromH5` opens a file. */
export interface FromH5Options {
  /** `"r"`, the default, or `"r+"` for writing. */
  mode?: Hdf5Mode;
  /** Without it every level gets the longest leading shape that its entries share. */
  batchSize?: SizeLike;
  /** The most batch dimensions. */
  batchDims?: number;
  /** Read values that another program wrote, one per element of the batch, as a stack. */
  nonTensorAsStack?: boolean;
  /** Where what is read goes. */
  device?: CollectionOptions["device"];
  /**
   * What becomes of datasets whose elements neither tensors nor JavaScript have, as compound ones: "describe", the
   * default, gives an `io.UnknownArray` with their bytes, "skip" leaves them out, "refuse" is an error.
   */
  unknown?: UnknownOptions["unknown"];
}

function bytesOf(td: Td): number {
  let nbytes = 0;
  for (const [, entry] of outlinesOf(td)) {
    if (entry instanceof Tensor) nbytes += entry._numel * entry.dtype.itemsize;
    else if (!isNested(entry) && !isNonTensor(entry)) nbytes += bytesOf(entry as Td);
  }
  return nbytes;
}

/** Throws `OSError` when the disk has no room for a new file with these tensors. */
export function requireRoomFor(td: Td, path: string, { compression }: Hdf5Layout): void {
  requireRoom(path, compression ? bytesOf(td) / MOST_DEFLATED : bytesOf(td));
}

/** Moves an object to a path, over what may be there. */
export function moveOver(file: Hdf5File, from: string, to: string, aside: string): void {
  // Out of the way first: either path may lie below the other.
  file.move(from, aside);
  try {
    if (file.kind(to) !== null) file.remove(to);
    file.move(aside, to);
  } catch (error) {
    file.move(aside, from);
    throw error;
  }
}

/** How datasets are stored. */
export function layoutOf(options: PersistentOptions): Hdf5Layout {
  const names = ["compression", "compressionOpts", "shuffle", "chunks", "maxShape"];
  return Object.fromEntries(Object.entries(options).filter(([name]) => names.includes(name)));
}

/** A key with a slash would become groups, and be another key when it is read. */
export function requireNoSlash(key: string): void {
  if (!key.includes("/")) return;
  throw new KeyError(
    `The key ${JSON.stringify(key)} cannot be saved in an HDF5 file, where a slash leads into a group. ` +
      "A nested key such as ['a', 'b'] does the same.",
  );
}

/** Throws for options that are none, and unless either a file or a group is given. */
export function requireOptions(options: PersistentOptions): void {
  if (typeof options !== "object" || options === null) {
    throw new TypeError("PersistentTensorDict() takes an object with a filename or a group");
  }
  checkOptions("PersistentTensorDict", PERSISTENT, options);
  if ((options.filename === undefined) !== (options.group === undefined)) return;
  throw new RuntimeError("Either group or filename must be provided, and not both.");
}

/** The error for a tensor that files cannot keep. */
export function noGradients(): RuntimeError {
  return new RuntimeError("Cannot set a tensor that has requires_grad=True.");
}

/** Shape and dtype of a tensor without its elements: for listing and printing only. */
export function outlineTensor(dtype: DType, shape: readonly number[]): Tensor {
  return makeContiguous(Storage.borrow(0, numelOf(shape) * dtype.itemsize, null), shape, dtype);
}

/** A shape as Python prints it. */
export function pythonTuple(shape: readonly number[]): string {
  return `(${shape.join(", ")}${shape.length === 1 ? "," : ""})`;
}

/** Throws for an option of methods that change keys in place. */
export function refuseInPlace(name: string, options: unknown): void {
  if ((options as { inplace?: boolean } | undefined)?.inplace !== true) return;
  throw new NotImplementedError(`Cannot call ${name} in place on a PersistentTensorDict. Call toTensorDict() first.`);
}

/** The values of a dataset for each element of a batch. */
function rowsOf(values: readonly unknown[], shape: readonly number[], batch: readonly number[]): unknown[] {
  const inner = shape.slice(batch.length);
  const step = numelOf(inner);
  return Array.from({ length: numelOf(batch) }, (_, i) => nest(values.slice(i * step, (i + 1) * step), inner));
}

/** Whether a file could have such a key. */
export function isHdf5Key(key: string): boolean {
  return key.isWellFormed() && !key.split("/").some((part) => part === "" || part === ".");
}

/** An entry of the values that a dataset holds; as a stack of a batch where `asStack` says so and the shape allows. */
export function valueOf(
  { values: found, shape, stack }: Hdf5Values,
  batch: Size,
  device: Device,
  asStack: boolean,
): ValueTd {
  const values = found.map((value) => toPlain(value as PythonJson));
  const rows = asStack && batch.length > 0 && startsWith(shape, batch);
  let made: ValueTd;
  if (stack !== null) made = make.nonTensorStack(values, { batchSize: Size.fromList([...stack]), device, names: null });
  else if (rows) made = make.nonTensorStack(rowsOf(values, shape, batch), { batchSize: batch, device, names: null });
  else made = make.nonTensor(nest(values, shape), { batchSize: batch, device, names: null });
  // What the file has: 2.0 is no 2.
  made._raw = nest(found, stack ?? shape) as PythonJson;
  return made;
}

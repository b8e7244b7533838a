// Tensors inside a file: views of one mapping, made when the first is asked for.

import { copyBytes } from "../../ffi/memory.ts";
import { CPU, type Device } from "../../tensor/device.ts";
import type { DType } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { checkFile } from "../../tensor/values.ts";
import { FormatError } from "../base/errors.ts";
import { systemPath } from "../base/places.ts";
import { type MapMode, mapFile } from "./mapping.ts";
import { fileIdentity, replacedError } from "./unreplaced.ts";

/** Addresses of elements are multiples of this: kernels want them aligned. */
export function alignmentOf(dtype: DType): number {
  return dtype.isComplex ? dtype.itemsize / 2 : dtype.itemsize;
}

/** What else is known of a file. */
export interface TensorFileOptions {
  /** Of the file that the caller has read (see `fileIdentity`); another one that has its path by then is an error. */
  identity?: string;
  /** The path that it is about to get. */
  name?: string;
  /** Where its tensors go. On the CPU they begin at addresses that kernels want. */
  device?: Device;
}

/** A file whose tensors are views of one mapping. The caller has checked that they lie inside of `size` bytes. */
export class TensorFile {
  readonly path: string;
  private storage: Storage | null = null;

  constructor(
    path: string,
    /** Bytes of the file that are mapped; a file that is shorter by then is an error. */
    readonly size: number,
    /** "c" (the default) keeps changes private, "r+" writes through. */
    readonly mode: MapMode = "c",
    private readonly options: TensorFileOptions = {},
  ) {
    this.path = systemPath(path);
  }

  /** Address of a place in the file. It is valid as long as something holds on to `anchor()`. */
  address(offset: number, nbytes: number): number {
    if (!(offset >= 0) || !(nbytes >= 0) || offset + nbytes > this.size) {
      throw new FormatError(`bytes ${offset} to ${offset + nbytes} lie outside of the file`, this.path);
    }
    return this.anchor().ptr + offset;
  }

  /** The mapping. */
  anchor(): Storage {
    this.storage ??= this.map();
    return this.storage;
  }

  private map(): Storage {
    const { identity, name } = this.options;
    const storage = mapFile(this.path, this.mode, this.size, name);
    if (identity !== undefined && fileIdentity(this.path) !== identity) throw replacedError(this.path);
    return storage;
  }

  /**
   * A row-major tensor whose bytes begin at `offset`. They are read when they are used. For the CPU, elements at
   * addresses that are no multiple of their size are copied: kernels want them aligned.
   */
  tensor(dtype: DType, shape: readonly number[], offset: number): Tensor {
    let nbytes = dtype.itemsize;
    for (const n of shape) nbytes *= n;
    if (nbytes === 0) return makeContiguous(Storage.allocate(0), shape, dtype);
    const address = this.address(offset, nbytes);
    const { device = CPU } = this.options;
    if (device !== CPU || address % alignmentOf(dtype) === 0) {
      return makeContiguous(Storage.borrow(address, nbytes, this.anchor()), shape, dtype);
    }
    if (this.mode === "r+")
      throw new FormatError(`the ${dtype} at ${offset} is not aligned: it cannot be mapped`, this.path);
    const copy = Storage.allocate(nbytes);
    // Asked for again: making room may collect a mapping that nobody asks any more.
    copyBytes(copy.ptr, this.anchor().ptr + offset, nbytes);
    checkFile("reading a tensor");
    return makeContiguous(copy, shape, dtype);
  }
}

// Tensors whose bytes are a mapped file or shared memory.

import { JobFlag } from "../../../generated/abi.ts";
import type { IndexPart } from "../../api/indexing-parse.ts";
import { repr } from "../../api/printing.ts";
import { OSError } from "../../io/base/errors.ts";
import { absolutePath } from "../../io/base/places.ts";
import {
  anonymousStorage,
  type MapMode,
  makingFile,
  mapFile,
  mapFlags,
  mappedFileOf,
  runMapping,
  sparseFile,
} from "../../io/disk/mapping.ts";
import { nativeBytes } from "../../io/disk/tensor-bytes.ts";
import { installChecks } from "../../tensor/checks.ts";
import { type DType, type DTypeLike, getDefaultDtype, toDType } from "../../tensor/dtype.ts";
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import { contiguousStrides, numelOf } from "../../tensor/size.ts";
import type { Storage } from "../../tensor/storage.ts";
import { isContiguousGeometry, Tensor, VersionCounter } from "../../tensor/tensor.ts";
import { MAPPED_METHODS, MAPPED_STATICS } from "../core/signatures.ts";

/** Where a mapped tensor is kept. */
export interface MappedOptions {
  /** By default the tensor's own. */
  dtype?: DTypeLike;
  /** A file; without it the tensor lives in anonymous shared memory. */
  filename?: string;
  /** True: an existing file may be used. */
  existsok?: boolean;
}

/** Options of `MemoryMappedTensor.fromTensor`. */
export interface FromTensorOptions extends Omit<MappedOptions, "dtype"> {
  /** Copy a tensor that is mapped from another file already. */
  copyExisting?: boolean;
  /** False: only shape and dtype are taken, the bytes stay zero. */
  copyData?: boolean;
}

function checkedShape(shape: number | readonly number[]): number[] {
  const list = typeof shape === "number" ? [shape] : [...shape];
  if (list.length > 64 || !list.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    throw new ValueError(`[${list.join(", ")}] is no shape`);
  }
  return list;
}

function bytesOf(shape: readonly number[], dtype: DType): number {
  const nbytes = numelOf(shape) * dtype.itemsize;
  if (!Number.isSafeInteger(nbytes)) throw new ValueError(`a tensor of shape [${shape.join(", ")}] is too large`);
  return nbytes;
}

/**
 * A tensor in a mapped file: bytes are read when they are used, and written through.
 *
 * When somebody else cuts the file short, or the disk is full when a part is written that the file did not have yet,
 * the operator that comes to that part fails with an error that names the file (code "file_fault" or "ENOSPC"), each
 * time until it is mended. An error ends no loop of JavaScript over `typedArray()`: what it reads there are zeros, what
 * it writes there is lost, and the next operator or save has the error.
 * @example
 * ```ts
 * const t = MemoryMappedTensor.fromTensor(arange(3), { filename: "t.memmap" });
 * t.add_(1);
 * [t.filename.endsWith("t.memmap"), MemoryMappedTensor.fromFilename("t.memmap", { shape: [3],
 *   dtype: "int64" })] // [true, MemoryMappedTensor([1, 2, 3])]
 * ```
 * @torch tensordict.MemoryMappedTensor
 */
export class MemoryMappedTensor extends Tensor {
  /** @internal */
  static _over(storage: Storage, shape: readonly number[], dtype: DType): MemoryMappedTensor {
    const strides = contiguousStrides(shape);
    const flat = isContiguousGeometry(shape, strides);
    return new MemoryMappedTensor(storage, 0, shape, strides, dtype, numelOf(shape), flat, new VersionCounter());
  }

  /** Absolute path of the file. @torch MemoryMappedTensor.filename */
  get filename(): string {
    const path = mappedFileOf(this._storage)?.path ?? null;
    if (path === null) throw new RuntimeError("The MemoryMappedTensor has no file associated.");
    return path;
  }

  /** Writes changed bytes to the disk and waits for it. */
  flush(): void {
    mappedFileOf(this._storage)?.flush();
  }

  /** @internal Views by basic indexing stay memory-mapped tensors. */
  override _derive(view: Tensor): Tensor {
    if (view._storage === this._storage) Object.setPrototypeOf(view, MemoryMappedTensor.prototype);
    return view;
  }

  /** As a tensor prints, with its class's name. */
  override toString(): string {
    return repr(this, "MemoryMappedTensor(");
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
  override [Symbol.toPrimitive](hint: "number" | "string" | "default"): number | string | boolean {
    return hint === "string" ? this.toString() : super[Symbol.toPrimitive](hint);
  }

  /** Zero-filled (sparse) and not read until used. @torch MemoryMappedTensor.empty */
  static empty(shape: number | readonly number[], options: MappedOptions = {}): MemoryMappedTensor {
    const dtype = options.dtype === undefined ? getDefaultDtype() : toDType(options.dtype);
    const sizes = checkedShape(shape);
    const nbytes = bytesOf(sizes, dtype);
    const storage =
      options.filename === undefined
        ? anonymousStorage(nbytes)
        : sparseFile(absolutePath(options.filename), nbytes, { existsok: options.existsok === true });
    return MemoryMappedTensor._over(storage, sizes, dtype);
  }
  /** Filled with zeros. @torch MemoryMappedTensor.zeros */
  static zeros(shape: number | readonly number[], options: MappedOptions = {}): MemoryMappedTensor {
    const made = MemoryMappedTensor.empty(shape, options);
    if (options.existsok === true) made.zero_();
    return made;
  }
  /** Filled with ones. @torch MemoryMappedTensor.ones */
  static ones(shape: number | readonly number[], options: MappedOptions = {}): MemoryMappedTensor {
    return MemoryMappedTensor.full(shape, 1, options);
  }
  /** Filled with one value. @torch MemoryMappedTensor.full */
  static full(
    shape: number | readonly number[],
    value: number | boolean,
    options: MappedOptions = {},
  ): MemoryMappedTensor {
    const make = () => {
      const made = MemoryMappedTensor.empty(shape, options);
      made.fill_(value as number);
      return made;
    };
    return options.filename === undefined ? make() : makingFile(absolutePath(options.filename), make);
  }
  /** Of the shape and dtype of another. @torch MemoryMappedTensor.empty_like */
  static emptyLike(t: Tensor, options: MappedOptions = {}): MemoryMappedTensor {
    return MemoryMappedTensor.empty(t._shape, { dtype: t.dtype, ...options });
  }
  /** Zeros of the shape and dtype of another. @torch MemoryMappedTensor.zeros_like */
  static zerosLike(t: Tensor, options: MappedOptions = {}): MemoryMappedTensor {
    return MemoryMappedTensor.zeros(t._shape, { dtype: t.dtype, ...options });
  }
  /** Ones of the shape and dtype of another. @torch MemoryMappedTensor.ones_like */
  static onesLike(t: Tensor, options: MappedOptions = {}): MemoryMappedTensor {
    return MemoryMappedTensor.ones(t._shape, { dtype: t.dtype, ...options });
  }
  /** One value in the shape and dtype of another. @torch MemoryMappedTensor.full_like */
  static fullLike(t: Tensor, value: number, options: MappedOptions = {}): MemoryMappedTensor {
    return MemoryMappedTensor.full(t._shape, value, { dtype: t.dtype, ...options });
  }

  /** Copies a tensor into a file or into shared memory. @torch MemoryMappedTensor.from_tensor */
  static fromTensor(t: Tensor, options: FromTensorOptions = {}): MemoryMappedTensor {
    const path = options.filename === undefined ? null : absolutePath(options.filename);
    if (t instanceof MemoryMappedTensor) {
      const own = mappedFileOf(t._storage)?.path ?? null;
      if (path === null || own === path) return t;
      if (own !== null && options.copyExisting !== true) throw otherFile(own);
    }
    const shape = [...t._shape];
    if (options.copyData === false) return MemoryMappedTensor.empty(shape, { ...options, dtype: t.dtype });
    const nbytes = bytesOf(shape, t.dtype);
    if (path === null) {
      const made = MemoryMappedTensor._over(anonymousStorage(nbytes), shape, t.dtype);
      if (nbytes > 0) made.copy_(t.detach());
      return made;
    }
    if (nbytes === 0) return MemoryMappedTensor.empty(shape, { dtype: t.dtype });
    const bytes = nativeBytes(t);
    const exclusive = options.existsok === true ? 0 : JobFlag.exclusive;
    const flags = JobFlag.write | JobFlag.create | JobFlag.replace | JobFlag.noFollow | exclusive | mapFlags("r+");
    const job = { path, nbytes, data: bytes.address, flags, keep: bytes.keep };
    const [storage] = makingFile(path, () => runMapping([job], "r+"));
    return MemoryMappedTensor._over(storage as Storage, shape, t.dtype);
  }

  /** Maps an existing file. A file that is too small is an error. @torch MemoryMappedTensor.from_filename */
  static fromFilename(
    filename: string,
    options: { dtype?: DTypeLike; shape: number | readonly number[]; mode?: MapMode; index?: IndexPart },
  ): Tensor {
    const dtype = options.dtype === undefined ? getDefaultDtype() : toDType(options.dtype);
    const shape = checkedShape(options.shape);
    const nbytes = bytesOf(shape, dtype);
    const storage = nbytes === 0 ? anonymousStorage(0) : openForUse(filename, nbytes, options.mode);
    const whole = MemoryMappedTensor._over(storage, shape, dtype);
    return options.index === undefined ? whole : whole.at(options.index);
  }
}
installChecks(MemoryMappedTensor, MAPPED_STATICS);
installChecks(MemoryMappedTensor.prototype, MAPPED_METHODS);

// Writable files are mapped read-write, others with private changes.
function openForUse(path: string, nbytes: number, mode: MapMode | undefined): Storage {
  const filename = absolutePath(path);
  if (mode !== undefined) return mapFile(filename, mode, nbytes);
  try {
    return mapFile(filename, "r+", nbytes);
  } catch (error) {
    if (error instanceof OSError && (error.errno === 13 || error.errno === 30)) return mapFile(filename, "r", nbytes);
    throw error;
  }
}

/** The error for moving a mapped tensor to another file without saying so. */
export function otherFile(path: string): RuntimeError {
  return new RuntimeError(
    `A filename was provided but the tensor already has a file associated (${path}). ` +
      "To copy the tensor onto the new location, pass copy_existing=True.",
    { code: "other_file" },
  );
}

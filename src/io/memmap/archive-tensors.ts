// Tensors of an archive: views of one mapping where they are stored, copies where they are compressed.

import { addressOf } from "../../ffi/library.ts";
import { copyBytes } from "../../ffi/memory.ts";
import { totalmem } from "../../runtime/node.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import type { MapMode } from "../disk/mapping.ts";
import { TensorFile, type TensorFileOptions } from "../disk/tensor-file.ts";
import type { ZipEntry } from "../zip/zip-directory.ts";
import type { MemmapArchive } from "./memmap-archive.ts";
import type { LeafNode } from "./tree.ts";

/** Makes the tensors of one archive. */
export class ArchiveTensors {
  private readonly file: TensorFile;
  /** What may still be decompressed: it has to fit into memory. */
  private room = totalmem();

  constructor(
    private readonly archive: MemmapArchive,
    private readonly mode: MapMode,
    options: TensorFileOptions = {},
  ) {
    this.file = new TensorFile(archive.zip.path, archive.zip.size, mode, options);
  }

  /** The tensor of a leaf. Throws `FormatError` for an entry that is missing, too short or damaged. */
  tensor(leaf: LeafNode): Tensor {
    const { dtype, shape, nbytes } = leaf.meta;
    if (nbytes === 0) return this.file.tensor(dtype, shape, 0);
    const entry = this.archive.entryAt(leaf.path);
    if (entry.nbytes < nbytes) {
      throw new FormatError(`has ${entry.nbytes} bytes, its shape needs ${nbytes}`, leaf.path);
    }
    if (entry.method === "stored") return this.file.tensor(dtype, shape, entry.offset);
    if (this.mode === "r+") {
      throw new FormatError(
        "is compressed: writes cannot reach the file. Save the archive without compression.",
        leaf.path,
      );
    }
    return makeContiguous(this.inflated(entry, leaf), shape, dtype);
  }

  private inflated(entry: ZipEntry, leaf: LeafNode): Storage {
    this.room -= entry.nbytes;
    if (this.room < 0) throw new FormatError("its tensors are larger than the memory of this machine", leaf.path);
    const bytes = this.archive.zip.read(entry, entry.nbytes);
    const storage = Storage.allocate(leaf.meta.nbytes);
    copyBytes(storage.ptr, addressOf(bytes), leaf.meta.nbytes);
    return storage;
  }
}

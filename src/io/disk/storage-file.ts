// Storages inside of a file, for formats whose tensors share them.
import { copyBytes } from "../../ffi/memory.ts";
import { Storage } from "../../tensor/storage.ts";
import { checkFile } from "../../tensor/values.ts";
import { TensorFile } from "./tensor-file.ts";

/** The largest element whose address must be a multiple of its size. */
const ALIGNMENT = 8;

/** The bytes of storages inside of one file: mapped where they are aligned, copied elsewhere. */
export class StorageFile {
  private readonly file: TensorFile;

  constructor(path: string, size: number) {
    this.file = new TensorFile(path, size);
  }

  storage(offset: number, nbytes: number): Storage {
    if (nbytes === 0) return Storage.allocate(0);
    const address = this.file.address(offset, nbytes);
    if (address % ALIGNMENT === 0) return Storage.borrow(address, nbytes, this.file.anchor());
    const copy = Storage.allocate(nbytes);
    copyBytes(copy.ptr, address, nbytes);
    checkFile("reading a storage");
    return copy;
  }
}

/** Memory, storages, overlaps, mapped files. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "internalOverlap",
    error: "RuntimeError",
    code: "internal_overlap",
    text:
      "unsupported operation: more than one element of the written-to tensor refers to a single memory location. " +
      "Please clone() the tensor before performing the operation.",
  },
  {
    name: "partialOverlap",
    error: "RuntimeError",
    code: "partial_overlap",
    text:
      "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single " +
      "memory location. Please clone() the tensor before performing the operation.",
  },
  {
    name: "outOfMemory",
    error: "OutOfMemoryError",
    code: "out_of_memory",
    text:
      "[enforce fail at alloc_cpu] DefaultCPUAllocator: can't allocate memory: you tried to allocate " +
      "{bytes} bytes.",
  },
  {
    name: "scopesCross",
    error: "TypeError",
    code: "type",
    text: "scopes must end in the reverse order of their beginning",
  },
  {
    name: "contiguousPreserves",
    error: "RuntimeError",
    code: "runtime",
    text: "preserve memory format is unsupported by the contiguous operator",
  },
  {
    name: "resizeNeedsNoGrad",
    error: "RuntimeError",
    code: "runtime",
    text: "cannot resize variables that require grad",
  },
  {
    name: "resizePreserves",
    error: "RuntimeError",
    code: "runtime",
    text: "Unsupported memory formatPreserve",
  },
  {
    name: "setOfWrongType",
    error: "RuntimeError",
    code: "runtime",
    text: "Could not set tensor of type {source} to a tensor of type {own}",
  },
  {
    name: "setFromNoStorage",
    error: "TypeError",
    code: "type",
    text: "set_(): argument 'source' must be a Tensor or a storage",
  },
  {
    name: "setFromWrongStorage",
    error: "RuntimeError",
    code: "runtime",
    text: "Expected a Storage of the tensor's own dtype",
  },
  {
    name: "noWorkMemory",
    error: "OutOfMemoryError",
    code: "out_of_memory",
    text: "{op}: no memory for the work buffers",
  },
  {
    name: "mappedFileShorter",
    error: "RuntimeError",
    code: "file_fault",
    text: "{op}: a mapped file became shorter",
  },
  {
    name: "nativeCallFailed",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: the native call failed with status {status}",
  },
  {
    name: "fillValueRank",
    error: "RuntimeError",
    code: "runtime",
    text: "fill_ only supports 0-dimension value tensor but got tensor with {rank} dimensions.",
  },
  {
    name: "sizeAndStrideLengths",
    error: "RuntimeError",
    code: "runtime",
    text: "unequal size length ({sizes}) and stride length ({strides})",
  },
  {
    name: "invalidStorageOffset",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor: invalid storage offset {offset}",
  },
  {
    name: "negativeStrides",
    error: "RuntimeError",
    code: "runtime",
    text: "Tensor: negative strides are not supported: {strides}",
  },
  {
    name: "setOutOfBounds",
    error: "RuntimeError",
    code: "runtime",
    text:
      "setStorage: sizes {sizes}, strides {strides}, storage offset {offset}, and itemsize {itemsize} requiring " +
      "a storage size of {needed} are out of bounds for storage of size {size}",
  },
  {
    name: "notCloneable",
    error: "TypeError",
    code: "not_cloneable",
    text:
      "tensors and dtypes cannot be cloned or posted as objects: send " +
      "toShared(MemoryMappedTensor.fromTensor(tensor)) or tensor.typedArray(), and a dtype by its name",
  },
  {
    name: "storageDetached",
    error: "RuntimeError",
    code: "detached",
    text: "this tensor shares memory with an ArrayBuffer that was transferred or resized since",
  },
  {
    name: "storageNotAllocated",
    error: "RuntimeError",
    code: "runtime",
    text: "The tensor has a non-zero number of elements, but its data is not allocated yet.",
  },
  {
    name: "storageTooSmall",
    error: "RuntimeError",
    code: "storage_resized",
    text: "this tensor needs {end} bytes of its storage, which was resized to {size} bytes since",
  },
  {
    name: "storageNotResizable",
    error: "RuntimeError",
    code: "runtime",
    text: "Trying to resize storage that is not resizable",
  },
  {
    name: "noExportMemory",
    error: "OutOfMemoryError",
    code: "out_of_memory",
    text: "no memory for an exported block",
  },
  {
    name: "typedArrayTooLong",
    error: "RuntimeError",
    code: "runtime",
    text: "a typed array holds at most {most} bytes, not {bytes}: take it of a part",
  },
  {
    name: "disposed",
    error: "DisposedError",
    code: "disposed",
    text: "this tensor was disposed",
  },
  {
    name: "notAStorage",
    error: "TypeError",
    code: "type",
    text: "an UntypedStorage is what untypedStorage() of a tensor gives",
  },
  {
    name: "noElementsOnMeta",
    error: "NotImplementedError",
    code: "not_implemented",
    text: "Not available for 'meta' device type",
  },
  {
    name: "invalidStorageSize",
    error: "RuntimeError",
    code: "runtime",
    text: "invalid storage size {size}",
  },
  {
    name: "storageIndexOutOfRange",
    error: "IndexError",
    code: "index",
    text: "index {index} out of range for storage of size {size}",
  },
  {
    name: "fileShorter",
    error: "RuntimeError",
    code: "file_fault",
    text: "{op}: the file {path} is shorter than when it was mapped",
  },
  {
    name: "noStagingMemory",
    error: "OutOfMemoryError",
    code: "out_of_memory",
    text: "zensor: no memory for the staging block",
  },
  {
    name: "listTooLong",
    error: "RuntimeError",
    code: "list_too_long",
    text: "{op}: a list of {count} elements is too long",
  },
  {
    name: "tooManyParts",
    error: "RuntimeError",
    code: "list_too_long",
    text: "{op}: {count} parts are too many",
  },
  {
    name: "mappedDiskFull",
    error: "RuntimeError",
    code: "ENOSPC",
    text: "{op}: No space left on device for the mapped file {path}",
  },
  {
    name: "mappedDiskFailed",
    error: "RuntimeError",
    code: "EIO",
    text: "{op}: the disk could not give or take a part of the mapped file {path}",
  },
] as const satisfies readonly TextSchema[];

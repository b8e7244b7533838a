// The bytes of a tensor as they go into files: row-major, little-endian, without gaps.
import { NotImplementedError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { fileBehind } from "./mapping.ts";
import type { StridedBytes } from "./strided-bytes.ts";

/** Bytes that lie in a file: they are copied from there without being taken into memory. */
export interface FileBytes {
  path: string;
  offset: number;
  nbytes: number;
}

/** Where a tensor's bytes are, and what keeps them there. */
export interface TensorBytes {
  address: number;
  nbytes: number;
  /** Must stay reachable while the address is in use. */
  keep: Tensor;
  /** The file that has the same bytes, when they may be copied from there. */
  file?: FileBytes;
}

let fromFiles = false;

/**
 * From now on tensors in mapped files are written from those files, without taking them into memory. For programs that
 * change no tensor: what was written to a private mapping would be lost.
 */
export function copyMappedFiles(on: boolean): void {
  fromFiles = on;
}

/** Copies up to this many bytes are made at once: whoever lays out files joins pieces that are smaller still. */
export const AT_ONCE_BYTES = 16 * 1024;

/** Contiguous bytes of a tensor; only a tensor with gaps or pending conjugation is copied. */
export function nativeBytes(tensor: Tensor): TensorBytes {
  requireBytes(tensor);
  const plain = inPlace(tensor) ? tensor : tensor.detach().resolveConj().resolveNeg().contiguous();
  const nbytes = plain._numel * plain.dtype.itemsize;
  // dataPtr moves tiny blocks to an address that stays valid while native threads run.
  const address = nbytes === 0 ? 0 : plain.dataPtr();
  const source = fromFiles && nbytes > 0 ? fileBehind(plain._storage) : null;
  if (source === null) return { address, nbytes, keep: plain };
  const file = { path: source.path as string, offset: source.offsetOf(address), nbytes };
  return { address, nbytes, keep: plain, file };
}

/** Like `nativeBytes`, for bytes that are written later: a large tensor is copied when it is its turn. */
export function bytesToWrite(tensor: Tensor): TensorBytes | StridedBytes {
  const nbytes = tensor._numel * tensor.dtype.itemsize;
  if (inPlace(tensor) || nbytes <= AT_ONCE_BYTES || tensor.device.type !== "cpu") return nativeBytes(tensor);
  requireBytes(tensor);
  const strided = tensor.detach();
  // One without bytes says so before anything is written.
  void strided._storage.ptr;
  return { strided, nbytes };
}

function requireBytes(tensor: Tensor): void {
  if (tensor.isMeta) throw new NotImplementedError("Cannot copy out of meta tensor; no data!");
}

/** A contiguous copy with a storage of its own. */
export function denseCopy(tensor: Tensor): Tensor {
  return tensor.detach().clone().resolveConj().resolveNeg().contiguous();
}

function inPlace(tensor: Tensor): boolean {
  return tensor._bits === 0 && tensor._contiguous;
}

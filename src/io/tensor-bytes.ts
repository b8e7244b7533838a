// The bytes of a tensor as they go into files: row-major, little-endian, without gaps.
import type { Tensor } from "../tensor/tensor.ts";
import { fileBehind } from "./mapping.ts";

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

/** Contiguous bytes of a tensor; only a tensor with gaps or pending conjugation is copied. */
export function nativeBytes(tensor: Tensor): TensorBytes {
  const plain = tensor._bits === 0 && tensor._contiguous ? tensor : denseCopy(tensor);
  const nbytes = plain._numel * plain.dtype.itemsize;
  // dataPtr moves tiny blocks to an address that stays valid while native threads run.
  const address = nbytes === 0 ? 0 : plain.dataPtr();
  const source = fromFiles && nbytes > 0 ? fileBehind(plain._storage) : null;
  if (source === null) return { address, nbytes, keep: plain };
  const file = { path: source.path as string, offset: source.offsetOf(address), nbytes };
  return { address, nbytes, keep: plain, file };
}

function denseCopy(tensor: Tensor): Tensor {
  let plain = tensor.detach();
  if (plain.isConj()) plain = plain.resolveConj();
  if (plain.isNeg()) plain = plain.resolveNeg();
  return plain.contiguous();
}

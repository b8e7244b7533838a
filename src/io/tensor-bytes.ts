// The bytes of a tensor as they go into files: row-major, little-endian, without gaps.
import type { Tensor } from "../tensor/tensor.ts";

/** Where a tensor's bytes are, and what keeps them there. */
export interface TensorBytes {
  address: number;
  nbytes: number;
  /** Must stay reachable while the address is in use. */
  keep: Tensor;
}

/** Bytes that lie in a file: they are copied from there without being taken into memory. */
export interface FileBytes {
  path: string;
  offset: number;
  nbytes: number;
}

/** Contiguous bytes of a tensor; only a tensor with gaps or pending conjugation is copied. */
export function nativeBytes(tensor: Tensor): TensorBytes {
  const plain = tensor._bits === 0 && tensor._contiguous ? tensor : denseCopy(tensor);
  const nbytes = plain._numel * plain.dtype.itemsize;
  // dataPtr moves tiny blocks to an address that stays valid while native threads run.
  return { address: nbytes === 0 ? 0 : plain.dataPtr(), nbytes, keep: plain };
}

function denseCopy(tensor: Tensor): Tensor {
  let plain = tensor.detach();
  if (plain.isConj()) plain = plain.resolveConj();
  if (plain.isNeg()) plain = plain.resolveNeg();
  return plain.contiguous();
}

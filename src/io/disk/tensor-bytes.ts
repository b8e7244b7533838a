// The bytes of a tensor as they go into files: row-major, little-endian, without gaps.
import { marks } from "../../dispatch/staging.ts";
import { NotImplementedError } from "../../tensor/errors.ts";
import type { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { fileBehind } from "./mapping.ts";
import type { TensorBytes } from "./pieces.ts";
import type { StridedBytes } from "./strided-bytes.ts";

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
  const plain = inPlace(tensor) ? tensor : tensor.detach().cpu().resolveConj().resolveNeg().contiguous();
  const nbytes = plain._numel * plain.dtype.itemsize;
  // dataPtr moves tiny blocks to an address that stays valid while native threads run.
  const address = nbytes === 0 ? 0 : plain.dataPtr();
  if (nbytes > 0 && isLent(plain._storage)) return new LentBytes(plain, nbytes);
  const source = fromFiles && nbytes > 0 ? fileBehind(plain._storage) : null;
  const block = blockBehind(plain._storage);
  if (source === null) return { address, nbytes, keep: plain, block };
  const file = { path: source.path as string, offset: source.offsetOf(address), nbytes };
  return { address, nbytes, keep: plain, block, file };
}

/** True for bytes that a user's array holds, which may be transferred away at any time. */
export function isLent(storage: Storage): boolean {
  return storage.lent !== null;
}

/** The block behind a storage, an allocated or a pinned one, or the mapping as a negative address; 0 for a user's. */
export function blockBehind(storage: Storage): number {
  const owner = storage.root;
  if (owner.kind === "heap" || owner.kind === "pinned") return owner.address;
  return owner.kind === "mapped" ? -owner.address : 0;
}

/** Bytes of a user's array: whoever uses their address asks for it then, and hears when they are gone. */
class LentBytes implements TensorBytes {
  readonly block = 0;
  constructor(
    readonly keep: Tensor,
    readonly nbytes: number,
  ) {}
  get address(): number {
    return this.keep._address();
  }
}

/** Like `nativeBytes`, for bytes that are written later: a large tensor is copied when it is its turn. */
export function bytesToWrite(tensor: Tensor): TensorBytes | StridedBytes {
  const nbytes = tensor._numel * tensor.dtype.itemsize;
  if (inPlace(tensor) || nbytes <= AT_ONCE_BYTES || tensor.isMeta) return nativeBytes(tensor);
  requireBytes(tensor);
  const strided = tensor.detach();
  // One that lacks bytes says so before anything is written.
  strided._address();
  return { strided, nbytes, here: marks.here() };
}

function requireBytes(tensor: Tensor): void {
  if (tensor.isMeta) throw new NotImplementedError("Cannot copy out of meta tensor; no data!");
}

/** A contiguous copy with a storage of its own, on the CPU. */
export function denseCopy(tensor: Tensor): Tensor {
  if (tensor.isCuda) return tensor.detach().cpu().resolveConj().resolveNeg().contiguous();
  return tensor.detach().clone().resolveConj().resolveNeg().contiguous();
}

function inPlace(tensor: Tensor): boolean {
  return tensor._bits === 0 && tensor._contiguous && !tensor.isCuda;
}

// What a file is made of.
import type { Tensor } from "../../tensor/tensor.ts";
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
  /** The block that they are in: see `blockBehind`. */
  block: number;
  /** The file that has the same bytes, when they may be copied from there. */
  file?: FileBytes;
}

/** Bytes of a file: a header that was made here, those of a tensor, or a part of another file. */
export interface Piece {
  /** Where in the file they begin. Between pieces the file has zeros. */
  offset: number;
  data: Uint8Array | TensorBytes | StridedBytes | FileBytes;
}

/** Number of bytes of a piece. */
export function pieceBytes({ data }: Piece): number {
  return data instanceof Uint8Array ? data.length : data.nbytes;
}

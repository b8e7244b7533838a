// What a file is made of.
import type { StridedBytes } from "./strided-bytes.ts";
import type { FileBytes, TensorBytes } from "./tensor-bytes.ts";

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

// Tensors piece by piece, in the order of their rows, so that large ones are not taken into memory whole.
import type { Tensor } from "../tensor/tensor.ts";

/** Elements that are worked on at once. */
const PIECE = 2 ** 20;

/** A part of every tensor of a shape. */
export interface Piece {
  /** The place of its first element in the order of rows. */
  begin: number;
  /** The part of a tensor of that shape, in one dimension; a copy where its elements are not next to each other. */
  of(tensor: Tensor): Tensor;
}

/** The parts of a shape. */
export function* pieces(shape: readonly number[], most = PIECE): Generator<Piece> {
  const sizes = shape.map((_, i) => shape.slice(i).reduce((product, n) => product * n, 1));
  const walk = function* (indices: readonly number[], begin: number): Generator<Piece> {
    const depth = indices.length;
    const select = (tensor: Tensor) => indices.reduce((part, i) => part.select(0, i), tensor.detach());
    const total = sizes[depth] ?? 1;
    if (total === 0) return;
    if (total <= most) {
      yield { begin, of: (tensor) => select(tensor).reshape(-1) };
      return;
    }
    const [length, row] = [shape[depth] as number, sizes[depth + 1] ?? 1];
    const rows = Math.floor(most / row);
    for (let i = 0; i < length; i += Math.max(1, rows)) {
      if (rows === 0) yield* walk([...indices, i], begin + i * row);
      else {
        const n = Math.min(rows, length - i);
        yield { begin: begin + i * row, of: (tensor) => select(tensor).narrow(0, i, n).reshape(-1) };
      }
    }
  };
  yield* walk([], 0);
}

/** The indices of an element by its place in the order of rows. */
export function indexAt(place: number, shape: readonly number[]): number[] {
  const index: number[] = [];
  let rest = place;
  for (const n of [...shape].reverse()) {
    index.unshift(rest % n);
    rest = Math.floor(rest / n);
  }
  return index;
}

/** Elements as JavaScript's numbers; complex ones as pairs. 64-bit integers may be rounded. */
export function numbersOf(part: Tensor): Float64Array {
  const wide = part.to(part.dtype.isComplex ? "complex128" : "float64").contiguous();
  return new Float64Array(bytesOf(wide).buffer as ArrayBuffer);
}

/** The bytes of a tensor of one dimension as they are. */
export function bytesOf(part: Tensor): Uint8Array {
  if (part.numel() === 0) return new Uint8Array(0);
  // A single element is contiguous whatever its stride is, and no bytes can be seen with a stride.
  const plain = part.resolveConj().resolveNeg();
  const dense = part.numel() === 1 ? plain.reshape(-1).asStrided([1], [1], plain.storageOffset()) : plain.contiguous();
  const bytes = dense.view("uint8").typedArray() as Uint8Array;
  return bytes.slice();
}

/** Elements of 64-bit integers. */
export function integersOf(part: Tensor): BigInt64Array | BigUint64Array {
  const { buffer } = bytesOf(part);
  return part.dtype.name === "uint64"
    ? new BigUint64Array(buffer as ArrayBuffer)
    : new BigInt64Array(buffer as ArrayBuffer);
}

/** A number for people: whole ones as they are, others with six digits. */
export function numberText(value: number | bigint): string {
  if (typeof value === "bigint" || Number.isSafeInteger(value)) return String(value);
  const [digits = "", power] = value.toPrecision(6).split("e");
  const short = digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
  return power === undefined ? short : `${short}e${power}`;
}

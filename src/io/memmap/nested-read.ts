// Reads what a directory says about a nested tensor: one file with the sizes of its components, one with all elements.
import { FormatError } from "../base/errors.ts";
import { type FoundLeaf, MAX_META_BYTES } from "./memmap-meta.ts";
import type { NestedNode, TreeSource } from "./tree.ts";

const SIZE_BYTES = 8;
/** A tensor has 64 dimensions at most, and the first one counts the components. */
const MAX_RANK = 63;

/** The file with the sizes of the nested tensor whose elements are in `path`. */
export function sizesPath(path: string): string {
  return path.replace(/\.memmap$/, ".shape.memmap");
}

/** Sizes of int64 as numbers. */
function readSizes(source: TreeSource, path: string, count: number): Float64Array {
  const needed = count * SIZE_BYTES;
  if (needed > MAX_META_BYTES) throw new FormatError(`${needed} bytes of sizes are too many`, path);
  // Nothing is as large as the metadata claims before the file turns out to be.
  const bytes = source.small(path);
  if (bytes.length < needed) throw new FormatError(`has ${bytes.length} bytes, its sizes need ${needed}`, path);
  const view = new DataView(bytes.buffer, bytes.byteOffset, needed);
  const sizes = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    const size = view.getInt32(i * SIZE_BYTES + 4, true) * 2 ** 32 + view.getUint32(i * SIZE_BYTES, true);
    if (!Number.isSafeInteger(size) || size < 0) throw new FormatError(`${size} is no size`, path);
    sizes[i] = size;
  }
  return sizes;
}

/** The elements of all components together. */
function elementsOf(sizes: Float64Array, count: number, rank: number): number {
  if (rank === 0) return count;
  let total = 0;
  for (let i = 0; i < sizes.length; i += rank) {
    let n = 1;
    for (let dim = 0; dim < rank; dim++) {
      n *= sizes[i + dim] as number;
      if (!Number.isSafeInteger(n)) return n;
    }
    total += n;
  }
  return total;
}

/**
 * A nested tensor whose elements lie in the file `path`, from its entry in `meta.json`: the shape there is that of the
 * sizes, [number of components, dimensions of each].
 * @throws FormatError for sizes that are none, or that are too large
 */
export function readNested(source: TreeSource, path: string, key: string, meta: FoundLeaf): NestedNode {
  const [count = 0, rank = 0] = meta.shape;
  if (meta.shape.length !== 2 || count === 0 || rank > MAX_RANK) {
    throw new FormatError(`entry ${JSON.stringify(key)}: [${meta.shape.join(", ")}] is no shape of sizes`, path);
  }
  const file = sizesPath(path);
  const sizes = rank === 0 ? new Float64Array(0) : readSizes(source, file, count * rank);
  const elements = elementsOf(sizes, count, rank);
  const nbytes = elements * meta.dtype.itemsize;
  if (!Number.isSafeInteger(nbytes)) throw new FormatError("the components are too large", file);
  const values = { ...meta, isNested: false, shape: [elements], nbytes };
  return { kind: "nested", path, count, rank, sizes, values: { kind: "leaf", path, offset: 0, meta: values } };
}

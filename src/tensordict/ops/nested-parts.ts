// Nested tensors from the parts that torch pickles: all elements, and sizes, strides and offsets of the components.
import { FormatError } from "../../io/base/errors.ts";
import { int64 } from "../../tensor/dtype.ts";
import { contiguousStrides, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { MAX_NESTED_RANK, NestedTensor } from "../core/nested.ts";
import { catTensors } from "../core/tensor-ops.ts";

/** The whole numbers in a part, which a file could give any type. */
function numbersOf(part: unknown, what: string, path: string): { numbers: Float64Array; shape: readonly number[] } {
  if (!(part instanceof Tensor) || part.dtype !== int64 || part.isMeta) {
    throw new FormatError(`the ${what} of a nested tensor are no int64 tensor`, path);
  }
  const numbers = Float64Array.from(part.reshape([-1]).tolist() as number[], Number);
  if (!numbers.every((n) => Number.isSafeInteger(n) && n >= 0)) {
    throw new FormatError(`the ${what} of a nested tensor hold something else`, path);
  }
  return { numbers, shape: part._shape };
}

interface Component {
  shape: number[];
  strides: number[];
  offset: number;
  elements: number;
}

/** Throws unless a component lies within `available` elements. */
function checkPlace({ shape, strides, offset, elements }: Component, available: number, path: string): void {
  const last = shape.reduce((at, n, dim) => at + (n - 1) * (strides[dim] as number), offset);
  const inside = elements === 0 || (Number.isSafeInteger(last) && last < available);
  if (!Number.isSafeInteger(elements) || !inside) {
    throw new FormatError(`a component of a nested tensor reaches beyond its ${available} elements`, path);
  }
}

/**
 * The nested tensor that torch pickled as `[elements, sizes, strides, offsets]`. Components that follow each other are
 * views of the elements, others are copied.
 * @throws FormatError for parts that are none, or that do not fit together
 */
export function nestedFromParts(parts: readonly unknown[], path: string): NestedTensor {
  const [values] = parts;
  if (parts.length !== 4 || !(values instanceof Tensor) || values.ndim !== 1 || !values.isContiguous()) {
    throw new FormatError("a nested tensor without its elements", path);
  }
  const offsets = numbersOf(parts[3], "offsets", path);
  const count = offsets.numbers.length;
  // Without components torch writes sizes of no dimension, with any number in them.
  if (count === 0 && values.numel() === 0) return new NestedTensor(values, new Float64Array(0), 0, 0);
  const sizes = numbersOf(parts[1], "sizes", path);
  const strides = numbersOf(parts[2], "strides", path);
  const [rows, rank] = sizes.shape as [number, number];
  const fit = sizes.shape.length === 2 && rows === count && sameSizes(sizes.shape, strides.shape);
  if (!fit || count === 0 || rank > MAX_NESTED_RANK || offsets.shape.length !== 1) {
    throw new FormatError("the sizes of a nested tensor do not fit its components", path);
  }
  let total = 0;
  let inOrder = true;
  const components = Array.from({ length: count }, (_, i): Component => {
    const row = (numbers: Float64Array) => Array.from(numbers.subarray(i * rank, (i + 1) * rank));
    const shape = row(sizes.numbers);
    const elements = shape.reduce((product, n) => product * n, 1);
    const one = { shape, strides: row(strides.numbers), offset: offsets.numbers[i] as number, elements };
    checkPlace(one, values.numel(), path);
    inOrder &&= one.offset === total && (elements === 0 || sameSizes(one.strides, contiguousStrides(shape)));
    total += elements;
    return one;
  });
  // A stride of 0 could make much of little.
  if (total > values.numel()) throw new FormatError("a nested tensor has more elements than it was saved with", path);
  if (inOrder && total === values.numel()) return new NestedTensor(values, sizes.numbers, count, rank);
  const flat = components.map(({ shape, strides: steps, offset }) =>
    values.asStrided(shape, steps, values.storageOffset() + offset).reshape([-1]),
  );
  return new NestedTensor(catTensors(flat, 0), sizes.numbers, count, rank);
}

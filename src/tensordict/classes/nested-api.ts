// Making nested tensors: the functions of `torch.nested`.
import { asTensor, type TensorData } from "../../api/tensor-data.ts";
import { inOrder } from "../../tensor/checks.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { type DTypeLike, toDType } from "../../tensor/dtype.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { MAX_NESTED_RANK, NestedTensor } from "../core/nested.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { catTensors, zeros } from "../core/tensor-ops.ts";

export { NestedTensor } from "../core/nested.ts";

/** How a nested tensor is made. */
export interface NestedOptions {
  /** dtype of all components; by default that of the first. */
  dtype?: DTypeLike;
  /** By default that of the first. */
  device?: DeviceLike;
}

function build(list: readonly (Tensor | TensorData)[], options: NestedOptions): NestedTensor {
  if (!Array.isArray(list)) {
    throw new TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor");
  }
  const tensors = list.map((item) => (item instanceof Tensor ? item : asTensor(item)));
  const first = tensors[0];
  if (first === undefined) {
    return new NestedTensor(zeros([0], options), new Float64Array(0), 0, 0);
  }
  const rank = first.ndim;
  if (rank > MAX_NESTED_RANK) throw new RuntimeError(`components have at most ${MAX_NESTED_RANK} dimensions`);
  for (const [i, t] of tensors.entries()) {
    if (t.ndim === rank) continue;
    throw new RuntimeError(
      "All Tensors given to nested_tensor must have the same dimension. " +
        `Found dimension ${t.ndim} for Tensor at index ${i} and dimension ${rank} for Tensor at index 0.`,
    );
  }
  const dtype = options.dtype === undefined ? first.dtype : toDType(options.dtype);
  const flat = tensors.map((t) =>
    t
      .to(options.device ?? first.device)
      .to(dtype)
      .reshape([-1]),
  );
  const sizes = Float64Array.from(tensors.flatMap((t) => [...t._shape]));
  return new NestedTensor(catTensors(flat, 0), sizes, tensors.length, rank);
}

/**
 * A nested tensor with copies of these tensors, which may differ in their sizes.
 * @param list tensors, or arrays of numbers, of the same number of dimensions; they get the dtype of the first
 * @throws RuntimeError when the numbers of dimensions differ
 * @torch torch.nested.nested_tensor (layout torch.strided)
 * @example
 * ```ts
 * nested.nestedTensor([ones(2, 3), zeros(1, 3)]).size(2) // 3
 * ```
 */
export function nestedTensor(
  list: readonly (Tensor | TensorData)[],
  options: NestedOptions & { requiresGrad?: boolean } = {},
): NestedTensor {
  [list, options = {}] = inOrder<Parameters<typeof nestedTensor>>("nestedTensor", FUNCTIONS.nestedTensor, arguments);
  const made = build(list, options).detach();
  if (options.requiresGrad) made._values.requiresGrad_(true);
  return made;
}

/**
 * Like `nestedTensor`, but gradients of the result reach the tensors it was made of. A nested tensor stays what it is.
 * @example
 * ```ts
 * nested.asNestedTensor([ones(2), zeros(1)]).toPaddedTensor(-1) // tensor([[ 1.,  1.],
 * //         [ 0., -1.]])
 * ```
 * @torch torch.nested.as_nested_tensor
 */
export function asNestedTensor(
  list: readonly (Tensor | TensorData)[] | NestedTensor,
  options: NestedOptions = {},
): NestedTensor {
  [list, options = {}] = inOrder<Parameters<typeof asNestedTensor>>(
    "asNestedTensor",
    FUNCTIONS.asNestedTensor,
    arguments,
  );
  if (!(list instanceof NestedTensor)) return build(list, options);
  const typed = options.dtype === undefined ? list : list.to(toDType(options.dtype));
  return options.device === undefined ? typed : typed.to(options.device);
}

/**
 * One dense tensor: components at the beginning of each dimension, `padding` behind them.
 * @example
 * ```ts
 * nested.toPaddedTensor(nested.nestedTensor([[1, 2], [3]]), 0) // tensor([[1., 2.],
 * //         [3., 0.]])
 * ```
 * @torch torch.nested.to_padded_tensor
 */
export function toPaddedTensor(input: NestedTensor, padding: number | boolean, outputSize?: readonly number[]): Tensor {
  [input, padding, outputSize] = inOrder<Parameters<typeof toPaddedTensor>>(
    "toPaddedTensor",
    FUNCTIONS.toPaddedTensor,
    arguments,
  );
  return input.toPaddedTensor(padding, outputSize);
}

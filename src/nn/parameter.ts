/** Parameters and buffers: tensors that a module registers when they become its attributes. */

import { checkedArguments } from "../tensor/checks.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { Tensor } from "../tensor/tensor.ts";
import { CONSTRUCTORS } from "./signatures.ts";

/**
 * A leaf that shares the tensor's bytes and wants gradients.
 * @throws RuntimeError when gradients are wanted of integers or bools
 * @example
 * ```ts
 * new nn.Parameter(ones(2)) // Parameter containing:
 * // tensor([1., 1.], requires_grad=True)
 * ```
 * @torch torch.nn.Parameter
 */
export class Parameter extends Tensor {
  constructor(...given: [data: Tensor, requiresGrad?: boolean | { requiresGrad?: boolean }]) {
    type Checked = [Tensor, boolean?];
    const [data, requiresGrad = true] = checkedArguments("Parameter", CONSTRUCTORS.Parameter, given) as Checked;
    if (requiresGrad && data.dtype.category < 2) {
      throw new RuntimeError("Only Tensors of floating point and complex dtype can require gradients");
    }
    super(
      data._storage,
      data._offset,
      data._shape,
      data._strides,
      data.dtype,
      data._numel,
      data._contiguous,
      data._version,
    );
    this._bits = data._bits;
    if (requiresGrad) this.requiresGrad_(true);
    take(this);
  }
  /** As PyTorch prints it. */
  override toString(): string {
    return `Parameter containing:\n${super.toString()}`;
  }
}

/**
 * A tensor that shares the bytes of `data` and becomes a buffer of the module whose attribute it is: state, but nothing
 * to learn. `persistent` says whether `stateDict` has it.
 * @example
 * ```ts
 * class Counter extends nn.Module {
 *   count = new nn.Buffer(zeros(1));
 * }
 * new Counter().stateDict().count // tensor([0.])
 * ```
 * @torch torch.nn.Buffer
 */
export class Buffer extends Tensor {
  /**
   * Whether the state of the module has it.
   * @example
   * ```ts
   * new nn.Buffer(ones(1), { persistent: false }).persistent // false
   * ```
   * @torch torch.nn.Buffer.persistent
   */
  readonly persistent: boolean;

  constructor(...given: [data: Tensor, options?: { persistent?: boolean }]) {
    type Checked = [Tensor, { persistent?: boolean }?];
    const [data, options = {}] = checkedArguments("Buffer", CONSTRUCTORS.Buffer, given) as Checked;
    super(
      data._storage,
      data._offset,
      data._shape,
      data._strides,
      data.dtype,
      data._numel,
      data._contiguous,
      data._version,
    );
    this._bits = data._bits;
    this._requiresGrad = data.requiresGrad;
    this.persistent = options.persistent !== false;
    take(this);
  }
}

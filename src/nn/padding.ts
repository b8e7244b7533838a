/** Layers that add elements around their input. */

import { functionalPad } from "../autograd/composites-sampling.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Scalar } from "../tensor/complex.ts";
import { ValueError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { checkDiscreet } from "./forward-checks.ts";
import { Module } from "./module.ts";
import { numberOf, numberText } from "./numbers.ts";
import { settings } from "./options.ts";
import { MODULE } from "./signatures.ts";
import { sizesText, tuple } from "./windows.ts";

type Sizes = number | readonly number[];

/** Options of layers that pad. */
export interface PadOptions {
  /** How many elements are added in front and behind, for the last dimension first; or one number for all. */
  padding?: Sizes;
}

/** Options of `ConstantPad1d` and its like. */
export interface ConstantPadOptions extends PadOptions {
  /** What is added. */
  value?: Scalar;
}

/** What these layers share. */
abstract class Pad extends Module {
  /** How many elements are added in front and behind, for the last dimension first. */
  padding: readonly number[];
  /** @internal */
  constructor(padding: Sizes, dims: number) {
    super();
    this.padding = tuple(padding, 2 * dims);
  }
  override extraRepr(): string {
    return sizesText(this.padding);
  }
}
installChecks(Pad.prototype, MODULE);

/** Elements from the other side are there for signals, images and volumes of a rank of their own. */
function requireRank(input: Tensor, dims: number): void {
  if (input.ndim === dims + 1 || input.ndim === dims + 2) return;
  throw new ValueError(`expected ${dims + 1}D or ${dims + 2}D input (got ${input.ndim}D input)`);
}

/**
 * Adds what lies beside the edge, mirrored around signals.
 * @example
 * ```ts
 * new nn.ReflectionPad1d(1)(tensor([[1, 2, 3]])) // tensor([[2., 1., 2., 3., 2.]])
 * ```
 * @torch torch.nn.ReflectionPad1d
 */
export class ReflectionPad1d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReflectionPad1d", [padding, ...none], {}).padding, 1);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "reflect", null);
  }
}
checkDiscreet(ReflectionPad1d, "ReflectionPad1d");

/**
 * Adds what lies beside the edge, mirrored around images.
 * @example
 * ```ts
 * new nn.ReflectionPad2d(1)(ones(1, 3, 4)).shape // torch.Size([1, 5, 6])
 * ```
 * @torch torch.nn.ReflectionPad2d
 */
export class ReflectionPad2d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReflectionPad2d", [padding, ...none], {}).padding, 2);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "reflect", null);
  }
}
checkDiscreet(ReflectionPad2d, "ReflectionPad2d");

/**
 * Adds what lies beside the edge, mirrored around volumes.
 * @example
 * ```ts
 * new nn.ReflectionPad3d(1)(ones(1, 3, 4, 5)).shape // torch.Size([1, 5, 6, 7])
 * ```
 * @torch torch.nn.ReflectionPad3d
 */
export class ReflectionPad3d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReflectionPad3d", [padding, ...none], {}).padding, 3);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "reflect", null);
  }
}
checkDiscreet(ReflectionPad3d, "ReflectionPad3d");

/**
 * Adds the elements at the edge around signals.
 * @example
 * ```ts
 * new nn.ReplicationPad1d(1)(tensor([[1, 2, 3]])) // tensor([[1., 1., 2., 3., 3.]])
 * ```
 * @torch torch.nn.ReplicationPad1d
 */
export class ReplicationPad1d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReplicationPad1d", [padding, ...none], {}).padding, 1);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "replicate", null);
  }
}
checkDiscreet(ReplicationPad1d, "ReplicationPad1d");

/**
 * Adds the elements at the edge around images.
 * @example
 * ```ts
 * new nn.ReplicationPad2d(1)(ones(1, 3, 4)).shape // torch.Size([1, 5, 6])
 * ```
 * @torch torch.nn.ReplicationPad2d
 */
export class ReplicationPad2d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReplicationPad2d", [padding, ...none], {}).padding, 2);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "replicate", null);
  }
}
checkDiscreet(ReplicationPad2d, "ReplicationPad2d");

/**
 * Adds the elements at the edge around volumes.
 * @example
 * ```ts
 * new nn.ReplicationPad3d(1)(ones(1, 3, 4, 5)).shape // torch.Size([1, 5, 6, 7])
 * ```
 * @torch torch.nn.ReplicationPad3d
 */
export class ReplicationPad3d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ReplicationPad3d", [padding, ...none], {}).padding, 3);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "replicate", null);
  }
}
checkDiscreet(ReplicationPad3d, "ReplicationPad3d");

/**
 * Adds zeros around signals.
 * @example
 * ```ts
 * new nn.ZeroPad1d(1)(tensor([[1, 2, 3]])) // tensor([[0., 1., 2., 3., 0.]])
 * ```
 * @torch torch.nn.ZeroPad1d
 */
export class ZeroPad1d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ZeroPad1d", [padding, ...none], {}).padding, 1);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", 0);
  }
}
checkDiscreet(ZeroPad1d, "ZeroPad1d");

/**
 * Adds zeros around images.
 * @example
 * ```ts
 * new nn.ZeroPad2d(1)(ones(1, 3, 4)).shape // torch.Size([1, 5, 6])
 * ```
 * @torch torch.nn.ZeroPad2d
 */
export class ZeroPad2d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ZeroPad2d", [padding, ...none], {}).padding, 2);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", 0);
  }
}
checkDiscreet(ZeroPad2d, "ZeroPad2d");

/**
 * Adds zeros around volumes.
 * @example
 * ```ts
 * new nn.ZeroPad3d(1)(ones(1, 3, 4, 5)).shape // torch.Size([1, 5, 6, 7])
 * ```
 * @torch torch.nn.ZeroPad3d
 */
export class ZeroPad3d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("ZeroPad3d", [padding, ...none], {}).padding, 3);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", 0);
  }
}
checkDiscreet(ZeroPad3d, "ZeroPad3d");

/**
 * Adds a number around signals.
 * @example
 * ```ts
 * new nn.ConstantPad1d(1, 9)(tensor([[1, 2, 3]])) // tensor([[9., 1., 2., 3., 9.]])
 * ```
 * @torch torch.nn.ConstantPad1d
 */
export class ConstantPad1d extends Pad {
  /** What is added. */
  value: number;
  constructor(padding: Sizes | ConstantPadOptions, ...rest: [value?: Scalar | ConstantPadOptions]) {
    const o = settings<Required<ConstantPadOptions>>("ConstantPad1d", [padding, ...rest], {});
    super(o.padding, 1);
    this.value = numberOf(this, "value", o.value);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", this.value);
  }
  override extraRepr(): string {
    return `padding=${sizesText(this.padding)}, value=${numberText(this, "value")}`;
  }
}
installChecks(ConstantPad1d.prototype, MODULE);
checkDiscreet(ConstantPad1d, "ConstantPad1d");

/**
 * Adds a number around images.
 * @example
 * ```ts
 * new nn.ConstantPad2d(1, 9)(ones(1, 3, 4)).shape // torch.Size([1, 5, 6])
 * ```
 * @torch torch.nn.ConstantPad2d
 */
export class ConstantPad2d extends Pad {
  /** What is added. */
  value: number;
  constructor(padding: Sizes | ConstantPadOptions, ...rest: [value?: Scalar | ConstantPadOptions]) {
    const o = settings<Required<ConstantPadOptions>>("ConstantPad2d", [padding, ...rest], {});
    super(o.padding, 2);
    this.value = numberOf(this, "value", o.value);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", this.value);
  }
  override extraRepr(): string {
    return `padding=${sizesText(this.padding)}, value=${numberText(this, "value")}`;
  }
}
installChecks(ConstantPad2d.prototype, MODULE);
checkDiscreet(ConstantPad2d, "ConstantPad2d");

/**
 * Adds a number around volumes.
 * @example
 * ```ts
 * new nn.ConstantPad3d(1, 9)(ones(1, 3, 4, 5)).shape // torch.Size([1, 5, 6, 7])
 * ```
 * @torch torch.nn.ConstantPad3d
 */
export class ConstantPad3d extends Pad {
  /** What is added. */
  value: number;
  constructor(padding: Sizes | ConstantPadOptions, ...rest: [value?: Scalar | ConstantPadOptions]) {
    const o = settings<Required<ConstantPadOptions>>("ConstantPad3d", [padding, ...rest], {});
    super(o.padding, 3);
    this.value = numberOf(this, "value", o.value);
  }
  override forward(input: Tensor): Tensor {
    return functionalPad(input, this.padding, "constant", this.value);
  }
  override extraRepr(): string {
    return `padding=${sizesText(this.padding)}, value=${numberText(this, "value")}`;
  }
}
installChecks(ConstantPad3d.prototype, MODULE);
checkDiscreet(ConstantPad3d, "ConstantPad3d");

/**
 * Adds elements from the other side around signals.
 * @example
 * ```ts
 * new nn.CircularPad1d(1)(tensor([[1, 2, 3]])) // tensor([[3., 1., 2., 3., 1.]])
 * ```
 * @torch torch.nn.CircularPad1d
 */
export class CircularPad1d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("CircularPad1d", [padding, ...none], {}).padding, 1);
  }
  override forward(input: Tensor): Tensor {
    requireRank(input, 1);
    return functionalPad(input, this.padding, "circular", null);
  }
}
checkDiscreet(CircularPad1d, "CircularPad1d");

/**
 * Adds elements from the other side around images.
 * @example
 * ```ts
 * new nn.CircularPad2d(1)(ones(1, 3, 4)).shape // torch.Size([1, 5, 6])
 * ```
 * @torch torch.nn.CircularPad2d
 */
export class CircularPad2d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("CircularPad2d", [padding, ...none], {}).padding, 2);
  }
  override forward(input: Tensor): Tensor {
    requireRank(input, 2);
    return functionalPad(input, this.padding, "circular", null);
  }
}
checkDiscreet(CircularPad2d, "CircularPad2d");

/**
 * Adds elements from the other side around volumes.
 * @example
 * ```ts
 * new nn.CircularPad3d(1)(ones(1, 3, 4, 5)).shape // torch.Size([1, 5, 6, 7])
 * ```
 * @torch torch.nn.CircularPad3d
 */
export class CircularPad3d extends Pad {
  constructor(padding: Sizes | PadOptions, ...none: []) {
    super(settings<Required<PadOptions>>("CircularPad3d", [padding, ...none], {}).padding, 3);
  }
  override forward(input: Tensor): Tensor {
    requireRank(input, 3);
    return functionalPad(input, this.padding, "circular", null);
  }
}
checkDiscreet(CircularPad3d, "CircularPad3d");

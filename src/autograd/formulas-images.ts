/** Gradients of convolutions, pooling, padding and resizing. */

import { SamplingMode } from "../../generated/abi.ts";
import * as O from "../../generated/ops.ts";
import { frontOf, meansMode } from "../dispatch/sampling.ts";
import { numelOf } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Ints = readonly number[];
type Geometry = [stride: Ints, padding: Ints, dilation: Ints, transposed: boolean, outputPadding: Ints, groups: number];

export function convolutionInputBackward(grad: Tensor, weight: Tensor, size: Ints, ...rest: Geometry): Tensor {
  return O.convolution_input_backward(grad, weight, size, ...rest);
}

export function convolutionWeightBackward(grad: Tensor, input: Tensor, size: Ints, ...rest: Geometry): Tensor {
  return O.convolution_weight_backward(grad, input, size, ...rest);
}

/** A convolution is linear in its images and in its weights: the gradient of a gradient is one of changed operands. */
export function convolutionAgain(input: Tensor, weight: Tensor, ...rest: Geometry): Tensor {
  return O.convolution(input, weight, null, ...rest);
}

export function convolutionBiasBackward(grad: Tensor): Tensor {
  return grad.sum([0, ...grad._shape.slice(2).map((_, d) => d + 2)]);
}

export function constantPadBackward(grad: Tensor, pad: Ints): Tensor {
  return O.constant_pad_nd(
    grad,
    pad.map((n) => -n),
    0,
  );
}

export function maxPoolBackward(
  grad: Tensor,
  indices: Tensor,
  size: Ints,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  dilation: Ints,
  dims: number,
): Tensor {
  return O.max_pool_backward(grad, indices, size, kernel, stride, padding, dilation, dims);
}

/** The elements of a plane at indices. */
export function maxPoolDoubleBackward(grad: Tensor, indices: Tensor, dims: number): Tensor {
  const planes = O.reshape(grad, [...grad._shape.slice(0, -dims), numelOf(grad._shape.slice(-dims))]);
  const places = O.reshape(indices, [...indices._shape.slice(0, -dims), numelOf(indices._shape.slice(-dims))]);
  return O.reshape(O.gather(planes, -1, places, false), indices._shape);
}

export function averagePoolBackward(
  grad: Tensor,
  size: Ints,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
  dims: number,
): Tensor {
  return O.avg_pool_backward(grad, size, kernel, stride, padding, ceil, include, divisor, dims);
}

/** Averages are linear: the gradient of the gradient is an average. */
export function averagePoolAgain(
  grad: Tensor,
  kernel: Ints,
  stride: Ints,
  padding: Ints,
  ceil: boolean,
  include: boolean,
  divisor: number | null,
  dims: number,
): Tensor {
  const average = dims === 2 ? O.avg_pool2d : O.avg_pool3d;
  return average(grad, kernel, stride, padding, ceil, include, divisor);
}

export function adaptiveAverageBackward(grad: Tensor, size: Ints, dims: number): Tensor {
  return O.adaptive_avg_pool_backward(grad, size, dims);
}

export function adaptiveAverageAgain(grad: Tensor, size: Ints, dims: number): Tensor {
  const out = size.slice(-dims);
  return dims === 2 ? O._adaptive_avg_pool2d(grad, out) : O._adaptive_avg_pool3d(grad, out);
}

export function reflectionPadBackward(grad: Tensor, size: Ints, padding: Ints, dims: number): Tensor {
  return O.image_sample_backward(grad, size, SamplingMode.reflect, frontOf(padding), [], dims);
}

export function replicationPadBackward(grad: Tensor, size: Ints, padding: Ints, dims: number): Tensor {
  return O.image_sample_backward(grad, size, SamplingMode.replicate, frontOf(padding), [], dims);
}

export function nearestBackward(
  grad: Tensor,
  size: Ints,
  exact: boolean,
  _out: Ints,
  scales: Ints,
  dims: number,
): Tensor {
  const mode = exact ? SamplingMode.nearestExact : SamplingMode.nearest;
  return O.image_sample_backward(grad, size, mode, [], scales, dims);
}

export function meansBackward(
  grad: Tensor,
  size: Ints,
  cubic: boolean,
  _out: Ints,
  corners: boolean,
  scales: Ints,
  dims: number,
): Tensor {
  return O.image_sample_backward(grad, size, meansMode(cubic, corners), [], scales, dims);
}

export function imageSampleBackward(
  grad: Tensor,
  size: Ints,
  mode: number,
  front: Ints,
  scales: Ints,
  dims: number,
): Tensor {
  return O.image_sample_backward(grad, size, mode, front, scales, dims);
}

/** What is chosen or averaged does not depend on the elements: the gradient of the gradient is a choice again. */
export function imageSampleAgain(
  grad: Tensor,
  size: Ints,
  mode: number,
  front: Ints,
  scales: Ints,
  dims: number,
): Tensor {
  return O.image_sample(grad, size.slice(-dims), mode, front, scales, dims);
}

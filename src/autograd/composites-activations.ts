/** Activations of nn.functional: what torch does before the kernel, and which form it calls. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { shortNumber } from "../dispatch/fits.ts";
import { batchOf } from "../tensor/batched.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { bfloat16, float32, float64 } from "../tensor/dtype.ts";
import { drop } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";

const SELU_ALPHA = 1.6732632423543772;
const SELU_SCALE = 1.0507009873554805;

export function gelu(input: Tensor, approximate: string): Tensor {
  if (approximate === "none") return O.gelu(input);
  if (approximate !== "tanh") throw texts.geluApproximation("gelu");
  return O.gelu_tanh(input);
}

export function silu(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.silu_(input) : O.silu(input);
}

export function mish(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.mish_(input) : O.mish(input);
}

export function softplus(input: Tensor, beta: number, threshold: number): Tensor {
  return O.softplus(input, beta, threshold);
}

export function elu(input: Tensor, alpha: number, inplace: boolean): Tensor {
  return inplace ? eluInplace(input, alpha) : O.elu(input, alpha, 1, 1);
}

export function eluInplace(input: Tensor, alpha: number): Tensor {
  return O._elu_(input, alpha, 1, 1);
}

export function selu(self: Tensor): Tensor {
  return O.elu(self, SELU_ALPHA, SELU_SCALE, 1);
}

export function seluInplace(self: Tensor): Tensor {
  return O._elu_(self, SELU_ALPHA, SELU_SCALE, 1);
}

export function functionalSelu(input: Tensor, inplace: boolean): Tensor {
  return inplace ? seluInplace(input) : selu(input);
}

export function functionalCelu(input: Tensor, alpha: number, inplace: boolean): Tensor {
  return inplace ? O._celu_(input, alpha) : O.celu(input, alpha);
}

export function celuInplace(self: Tensor, alpha: number): Tensor {
  return O._celu_(self, alpha);
}

export function hardswish(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.hardswish_(input) : O.hardswish(input);
}

export function hardsigmoid(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.hardsigmoid_(input) : O.hardsigmoid(input);
}

export function hardtanh(input: Tensor, minVal: Scalar, maxVal: Scalar, inplace: boolean): Tensor {
  if (scalarToNumber(minVal) > scalarToNumber(maxVal)) throw texts.hardtanhBounds("hardtanh");
  return inplace ? O.hardtanh_(input, minVal, maxVal) : O.hardtanh(input, minVal, maxVal);
}

export function hardtanhInplace(input: Tensor, minVal: Scalar, maxVal: Scalar): Tensor {
  return O.hardtanh_(input, minVal, maxVal);
}

export function relu6(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.hardtanh_(input, 0, 6) : O.hardtanh(input, 0, 6);
}

export function leakyRelu(input: Tensor, negativeSlope: number, inplace: boolean): Tensor {
  return inplace ? leakyReluInplace(input, negativeSlope) : O.leaky_relu(input, negativeSlope);
}

export function leakyReluInplace(input: Tensor, negativeSlope: number): Tensor {
  return O._leaky_relu_(input, negativeSlope);
}

export function logsigmoid(input: Tensor): Tensor {
  // Its result is contiguous whatever the input is, as torch's.
  return O.log_sigmoid(input.contiguous());
}

export function softsign(input: Tensor): Tensor {
  const size = O.abs(input);
  const whole = O.add(size, 1, 1);
  drop(size);
  const r = O.div(input, whole, null);
  drop(whole);
  return r;
}

export function tanhshrink(input: Tensor): Tensor {
  const bent = O.tanh(input);
  const r = O.sub(input, bent, 1);
  drop(bent);
  return r;
}

export function functionalHardshrink(input: Tensor, lambd: number): Tensor {
  return O.hardshrink(input, lambd);
}

export function softshrink(input: Tensor, lambd: number): Tensor {
  return O.softshrink(input, lambd);
}

export function functionalThreshold(input: Tensor, threshold: Scalar, value: Scalar, inplace: boolean): Tensor {
  return inplace ? O._threshold_(input, threshold, value) : O.op_threshold(input, threshold, value);
}

export function thresholdInplace(self: Tensor, threshold: Scalar, value: Scalar): Tensor {
  return O._threshold_(self, threshold, value);
}

/** One slope for all elements, or one for each channel, the second dimension. */
export function prelu(self: Tensor, weight: Tensor): Tensor {
  if (self.dtype !== weight.dtype) {
    throw texts.preluPromotion("prelu", self.dtype.scalarType, weight.dtype.scalarType);
  }
  const count = weight.numel();
  if (count !== 1) {
    if (self.ndim === 0) throw texts.preluOfScalar("prelu");
    const channels = self.ndim > 1 ? (self._shape[1] as number) : 1;
    if (channels !== count) throw texts.preluParameters("prelu", count, channels);
  }
  if (weight.ndim > 1) throw texts.preluWeightRank("prelu", weight.ndim);
  const shape = self._shape.map((_, i) => (i === 1 ? count : 1));
  if (self.ndim === 1) shape[0] = count;
  const slopes = O.view(weight, shape);
  const r = O._prelu_kernel(self, slopes);
  drop(slopes);
  return r;
}

export function glu(input: Tensor, dim: number): Tensor {
  return O.glu(input, dim);
}

/** Slopes below zero, drawn in the order of the elements; one elsewhere. */
function drawnSlopes(input: Tensor, lower: number, upper: number): Tensor {
  const dtype = input.dtype === float64 ? float64 : float32;
  const below = O.le(input, 0);
  const ones = O.ones_like(input, dtype, null, false, null);
  if (input.device.type !== "cpu" || batchOf(input) !== null) {
    return O.where(below, O.empty_like(ones, null, null, false, null).uniform_(lower, upper), ones);
  }
  const [low, high] = dtype === float64 ? [lower, upper] : [Math.fround(lower), Math.fround(upper)];
  const count = Number(below.sum().item());
  const drawn = O.empty([count], float64, input.device, false, null).uniform_(low, high);
  return O.masked_scatter(ones, below, drawn.to(dtype));
}

/** leakyRelu whose slope is drawn for each element while training, and lies between the bounds otherwise. */
export function rrelu(input: Tensor, lower: number, upper: number, training: boolean, inplace: boolean): Tensor {
  if (!Number.isFinite(lower)) throw texts.rreluBound("rrelu", "lower", shortNumber(lower));
  if (!Number.isFinite(upper)) throw texts.rreluBound("rrelu", "upper", shortNumber(upper));
  if (lower > upper) throw texts.rreluBounds("rrelu");
  if (!training) return leakyRelu(input, (lower + upper) / 2, inplace);
  const { dtype } = input;
  if (dtype !== float32 && dtype !== float64 && dtype !== bfloat16) {
    throw texts.notImplementedFor("rrelu", "rrelu_with_noise_out_cpu", dtype.scalarType);
  }
  const slopes = drawnSlopes(input, lower, upper);
  if (dtype !== bfloat16) return inplace ? O.mul_(input, slopes) : O.mul(input, slopes);
  const r = O.mul(input, slopes).to(dtype);
  return inplace ? O.copy_(input, r, false) : r;
}

export function rreluInplace(input: Tensor, lower: number, upper: number, training: boolean): Tensor {
  return rrelu(input, lower, upper, training, true);
}

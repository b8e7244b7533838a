/** Functions of nn.functional written with other operators. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { checkOutGradients } from "../dispatch/out.ts";
import { drawnForDropout, dropoutRun } from "../dispatch/random-fill.ts";
import { type DType, float64, toReal } from "../tensor/dtype.ts";
import { warn } from "../tensor/errors.ts";
import { numelOf } from "../tensor/size.ts";
import { drop } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { matmul, unsafeView } from "./composites-matrix.ts";
import { reshape } from "./composites-views.ts";

function inDtype(t: Tensor, dtype: DType | null): Tensor {
  return dtype === null || dtype === t.dtype ? t : O._to_copy(t, dtype, null, null, false);
}

export function softmax(self: Tensor, dim: number, dtype: DType | null, out?: Tensor): Tensor {
  if (out !== undefined) checkOutGradients("softmax", out, [self]);
  const x = inDtype(self, dtype);
  const r = O._softmax(x, dim, out);
  if (x !== self) drop(x);
  return r;
}

export function logSoftmax(self: Tensor, dim: number, dtype: DType | null, out?: Tensor): Tensor {
  if (out !== undefined) checkOutGradients("log_softmax", out, [self]);
  const x = inDtype(self, dtype);
  const r = O._log_softmax(x, dim, out);
  if (x !== self) drop(x);
  return r;
}

/** torch's old rule for a missing dimension. */
function implicitDim(name: string, rank: number): number {
  warn(`Implicit dimension choice for ${name} has been deprecated. Change the call to include dim=X as an argument.`);
  return rank === 0 || rank === 1 || rank === 3 ? 0 : 1;
}

export function functionalSoftmax(input: Tensor, dim: number | null, dtype: DType | null): Tensor {
  return softmax(input, dim ?? implicitDim("softmax", input.ndim), dtype);
}

export function functionalLogSoftmax(input: Tensor, dim: number | null, dtype: DType | null): Tensor {
  return logSoftmax(input, dim ?? implicitDim("log_softmax", input.ndim), dtype);
}

export function softmin(input: Tensor, dim: number | null, dtype: DType | null): Tensor {
  return softmax(O.neg(input), dim ?? implicitDim("softmin", input.ndim), dtype);
}

export function functionalRelu(input: Tensor, inplace: boolean): Tensor {
  return inplace ? O.relu_(input) : O.relu(input);
}

export function functionalReluInplace(input: Tensor): Tensor {
  return O.relu_(input);
}

export function linear(input: Tensor, weight: Tensor, bias: Tensor | null): Tensor {
  if (input.ndim === 0 || weight.ndim === 0) throw texts.linearOfScalars("linear", input.ndim, weight.ndim);
  if (bias === null) return matmul(input, O.t(weight));
  if (input.ndim === 2) return O.addmm(bias, input, O.t(weight), 1, 1);
  if (bias.ndim > 0 && input._contiguous) {
    const lead = input._shape.slice(0, -1);
    const flat = reshape(input, [numelOf(lead), input._shape[input.ndim - 1] as number]);
    const r = O.addmm(bias, flat, O.t(weight), 1, 1);
    drop(flat);
    return unsafeView(r, [...lead, r._shape[1] as number]);
  }
  return O.add_(matmul(input, O.t(weight)), bias, 1);
}

/** Zeroes elements at random and scales the others up; the numbers are those of `bernoulli_`, except on CUDA. */
export function dropout(input: Tensor, p: number, training: boolean, inplace: boolean): Tensor {
  if (!(p >= 0 && p <= 1)) throw texts.dropoutProbability("dropout", p);
  if (p === 0 || !training || input._numel === 0) return input;
  if (p === 1) return inplace ? input.mul_(input.newZeros([])) : input.mul(input.newZeros([]));
  const run = inplace ? 0 : dropoutRun(input);
  const kept = 1 - p;
  if (run > 0) return droppedByThreads(input, kept, run);
  const noise = O.empty_like(input, toReal(input.dtype), null, false, null).bernoulli_(kept).div_(kept);
  return inplace ? input.mul_(noise) : input.mul(noise);
}

/** Each element is rounded once, after the scale; single threads take elements in the order of their indices. */
function droppedByThreads(input: Tensor, kept: number, run: number): Tensor {
  const format = run === 1 ? contiguousFormat : null;
  const mask = drawnForDropout(run, () => O.empty_like(input, null, null, false, format).bernoulli_(kept));
  const scale = input.dtype === float64 ? 1 / kept : Math.fround(1 / Math.fround(kept));
  return input.mul(mask).mul(scale);
}

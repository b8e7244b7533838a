/** Softmax, its logarithm, and their gradients: dense operands for the kernel. */

import { SoftmaxAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as texts from "../../generated/texts.ts";
import * as frame from "../ffi/frame.ts";
import type { DType } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { drop, dropCopy } from "../tensor/temporaries.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { empty } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { copyInto, denseOf } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { requireExact } from "./matrix.ts";
import { prepareOut } from "./out.ts";
import { requireNoInternalOverlap } from "./overlap.ts";

function requireFloating(name: string, t: Tensor, dim: number): void {
  const d = t.dtype;
  if (d.category === 2 && d.itemsize > 1) return;
  const last = t._shape.length === 0 || dim === t._shape.length - 1;
  throw texts.notImplementedFor(name, `${name}_${last ? "lastdim_" : ""}kernel_impl`, d.scalarType);
}

function launch(kernel: Kernel, target: Tensor, sources: readonly Tensor[], dim: number, name: string): Tensor {
  const dense = target._contiguous && target._bits === 0;
  const r = dense ? target : empty(target._shape, target.dtype, target._storage.device);
  const inputs = sources.map(denseOf);
  frame.begin(inputs.length + 1, r.dtype.compute);
  frame.operand(0, r._address(), r.dtype.id, r._shape, r._strides, 0);
  for (let i = 0; i < inputs.length; i++) {
    const t = inputs[i] as Tensor;
    frame.operand(i + 1, t._address(), t.dtype.id, t._shape, t._strides, 0);
  }
  frame.attr(SoftmaxAttr.dim, dim);
  kernel.run(r._storage.device, name, r.dtype.scalarType);
  for (let i = 0; i < inputs.length; i++) dropCopy(inputs[i] as Tensor, sources[i]);
  if (dense) return target;
  copyInto(target, r);
  drop(r);
  return target;
}

function forward(kernel: Kernel, name: string, self: Tensor, dim: number, out: Tensor | undefined): Tensor {
  requireKept(self._storage);
  const d = wrapDim(dim, self._shape.length, name);
  let r: Tensor;
  if (out === undefined) r = empty(self._shape, self.dtype, self._storage.device);
  else {
    requireExact(out, self.dtype, name);
    prepareOut(out, self._shape);
    requireNoInternalOverlap(out, name);
    r = out;
  }
  if (!hasWork(r)) return r;
  requireFloating(name, self, d);
  return launch(kernel, r, [self], d, name);
}

export function softmax(self: Tensor, dim: number, out: Tensor | undefined): Tensor {
  return forward(K.softmax_softmax, "softmax", self, dim, out);
}

export function logSoftmax(self: Tensor, dim: number, out: Tensor | undefined): Tensor {
  return forward(K.softmax_log_softmax, "log_softmax", self, dim, out);
}

function backward(kernel: Kernel, name: string, grad: Tensor, result: Tensor, dim: number): Tensor {
  requireKept(grad._storage);
  const d = wrapDim(dim, grad._shape.length, name);
  const r = empty(grad._shape, grad.dtype, grad._storage.device);
  if (!hasWork(r)) return r;
  return launch(kernel, r, [grad, result], d, name);
}

export function softmaxBackward(grad: Tensor, output: Tensor, dim: number, _dtype: DType): Tensor {
  return backward(K.softmax_softmax_backward, "softmax", grad, output, dim);
}

export function logSoftmaxBackward(grad: Tensor, output: Tensor, dim: number, _dtype: DType): Tensor {
  return backward(K.softmax_log_softmax_backward, "log_softmax", grad, output, dim);
}

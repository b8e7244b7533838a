/** Attention by blocks, and its gradients: operands for the kernels, where the rows of heads lie without gaps. */

import { AttentionAttr } from "../../generated/abi.ts";
import * as K from "../../generated/kernels.ts";
import * as frame from "../ffi/frame.ts";
import { float32, float64 } from "../tensor/dtype.ts";
import { requireKept } from "../tensor/storage.ts";
import { dropCopy } from "../tensor/temporaries.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { empty, emptyLike } from "./allocate.ts";
import { hasWork } from "./backend.ts";
import { denseOf } from "./copy.ts";
import type { Kernel } from "./kernel.ts";
import { type Named, named } from "./named.ts";

type Optional = Tensor | null;

function launch(kernel: Kernel, operands: readonly Tensor[], mask: Optional, causal: boolean, scale: number): void {
  const [first] = operands as [Tensor];
  // The kernels know no flags, and queries that are conjugated are none of theirs.
  const plain = operands.map((t) => (t._bits === 0 ? t : denseOf(t)));
  frame.begin(operands.length + 1, first.dtype.compute);
  for (const [i, t] of plain.entries()) frame.operand(i, t._address(), t.dtype.id, t._shape, t._strides, 0);
  if (mask === null) frame.operand(operands.length, 0, float32.id, [0], [1], 0);
  else frame.operand(operands.length, mask._address(), mask.dtype.id, mask._shape, mask._strides, 0);
  frame.attr(AttentionAttr.scale, scale);
  frame.attr(AttentionAttr.causal, causal ? 1 : 0);
  kernel.run(first._storage.device, "scaled_dot_product_attention", first.dtype.scalarType);
  for (const [i, t] of plain.entries()) dropCopy(t, operands[i]);
}

/** Batch x heads x positions x features; the mask has the sizes of the scores. */
export function attention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  causal: boolean,
  scale: number,
): Named<readonly ["output", "logsumexp"]> {
  for (const t of [query, key, value]) requireKept(t._storage);
  const { device } = query._storage;
  const [b, h, n] = query._shape as [number, number, number, number];
  const width = value._shape[3] as number;
  // As PyTorch the result lies as the queries do.
  const alike = width === query._shape[3];
  const out = alike ? emptyLike(query) : empty([b, h, n, width], query.dtype, device);
  const logs = empty([b, h, n], query.dtype === float64 ? float64 : float32, device);
  if (hasWork(out)) launch(K.attention_forward, [out, logs, query, key, value], mask, causal, scale);
  return named("_scaled_dot_product_flash_attention_for_cpu", ["output", "logsumexp"], [out, logs]);
}

const DERIVATIVES = ["grad_query", "grad_key", "grad_value"] as const;

export function attentionBackward(
  grad: Tensor,
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  out: Tensor,
  logs: Tensor,
  causal: boolean,
  scale: number,
): Named<typeof DERIVATIVES> {
  requireKept(grad._storage);
  const targets = [query, key, value].map((t) => emptyLike(t));
  if (hasWork(targets[0] as Tensor)) {
    const operands = [...targets, grad, query, key, value, out, logs];
    launch(K.attention_backward, operands, mask, causal, scale);
  }
  return named("_scaled_dot_product_flash_attention_for_cpu_backward", DERIVATIVES, targets);
}

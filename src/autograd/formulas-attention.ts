/** Gradients of attention: one kernel; those of the gradients are computed again with recorded operators. */
import * as O from "../../generated/ops.ts";
import { batchOf } from "../tensor/batched.ts";
import { bool, float32, int64 } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { recomputed } from "./formulas-recomputed.ts";
import type { Gradients } from "./node.ts";

type Optional = Tensor | null;

/** What is added to scores: -inf for keys that do not count. */
export function additiveMask(mask: Tensor, like: Tensor): Tensor {
  if (mask.dtype !== bool) return mask;
  return O.zeros_like(mask, like.dtype, null, false, null).maskedFill(mask.logicalNot(), -Infinity);
}

/** Which keys each query sees: those up to its own place. */
export function causalMask(like: Tensor, rows: number, columns: number): Tensor {
  const places = (n: number): Tensor => O.arange(n, int64, like.device, false);
  return O.ge(O.unsqueeze(places(rows), 1), places(columns));
}

/** Softmax along the last dimension; lines of -inf alone become zeros. */
export function safeSoftmax(scores: Tensor): Tensor {
  const powers = O._softmax(scores, -1);
  const none = O.eq(scores, -Infinity).all(-1, { keepdim: true });
  return O.where(none, O.zeros_like(powers, null, null, false, null), powers);
}

/** Heads of keys and values, once for each head of queries. */
export function repeatedHeads(t: Tensor, heads: number): Tensor {
  const times = heads / (t._shape[t.ndim - 3] as number);
  return times === 1 ? t : t.repeatInterleave(times, -3);
}

/** Gradients of repeated heads, added up. */
function joinedHeads(grad: Tensor, like: Tensor): Tensor {
  const [b, h, n, e] = like._shape as [number, number, number, number];
  if (grad._shape[1] === h) return grad;
  return grad.view([b, h, (grad._shape[1] as number) / h, n, e]).sum(2);
}

/** How much each query takes of each key. */
function powersOf(query: Tensor, keys: Tensor, mask: Optional, causal: boolean, scale: number): Tensor {
  let scores = query.matmul(keys.mT).mul(scale);
  if (mask !== null) scores = scores.add(additiveMask(mask, query).to(query.dtype));
  if (causal) {
    const seen = causalMask(query, query._shape[2] as number, keys._shape[2] as number);
    scores = scores.maskedFill(seen.logicalNot(), -Infinity);
  }
  return safeSoftmax(scores);
}

/** Attention with recorded operators. */
export function attentionByOperators(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  causal: boolean,
  scale: number,
): Tensor {
  const wide = query.dtype.itemsize < 4 ? float32 : query.dtype;
  const [q, k, v] = [query, key, value].map((t) => t.to(wide)) as [Tensor, Tensor, Tensor];
  const heads = q._shape[1] as number;
  const [keys, values] = [repeatedHeads(k, heads), repeatedHeads(v, heads)];
  return powersOf(q, keys, mask, causal, scale).matmul(values).to(query.dtype);
}

/** The gradients of queries, keys and values with recorded operators. */
export function attentionGradients(
  grad: Tensor,
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  causal: boolean,
  scale: number,
): Tensor[] {
  const wide = query.dtype.itemsize < 4 ? float32 : query.dtype;
  const [g, q, k, v] = [grad, query, key, value].map((t) => t.to(wide)) as [Tensor, Tensor, Tensor, Tensor];
  const heads = q._shape[1] as number;
  const [keys, values] = [repeatedHeads(k, heads), repeatedHeads(v, heads)];
  const powers = powersOf(q, keys, mask, causal, scale);
  const slopes = g.matmul(values.mT);
  const inner = slopes
    .sub(slopes.mul(powers).sum(-1, { keepdim: true }))
    .mul(powers)
    .mul(scale);
  const ofKeys = joinedHeads(inner.mT.matmul(q).contiguous(), k);
  const ofValues = joinedHeads(powers.mT.matmul(g).contiguous(), v);
  return [inner.matmul(keys).to(query.dtype), ofKeys.to(key.dtype), ofValues.to(value.dtype)];
}

const isExample = (...tensors: readonly Optional[]): boolean => tensors.some((t) => t !== null && batchOf(t) !== null);

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
  needs: readonly boolean[],
): Gradients {
  const parts = isExample(grad, query, key, value)
    ? attentionGradients(grad, query, key, value, mask, causal, scale)
    : O._scaled_dot_product_flash_attention_for_cpu_backward(grad, query, key, value, mask, out, logs, causal, scale);
  return needs.map((wanted, i) => (wanted ? (parts[i] as Tensor) : null));
}

export function attentionDoubleBackward(
  grads: Gradients,
  grad: Tensor,
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  causal: boolean,
  scale: number,
  needs: readonly boolean[],
): Gradients {
  const body = (...t: Optional[]): readonly Optional[] => {
    const [g, q, k, v] = t as [Tensor, Tensor, Tensor, Tensor];
    return attentionGradients(g, q, k, v, mask, causal, scale);
  };
  return recomputed([grad, query, key, value], needs, body, grads);
}

/** Whether there are elements of every kind. */
export const hasElements = (...shapes: readonly (readonly number[])[]): boolean => shapes.every((s) => numelOf(s) > 0);

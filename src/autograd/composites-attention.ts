/** Scaled dot product attention: torch's checks, then the kernel by blocks, or other operators beside it. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { requireBroadcastInto } from "../dispatch/allocate.ts";
import { requiresGrad } from "../dispatch/mode.ts";
import { batchOf } from "../tensor/batched.ts";
import { bool, type DType, float32, int64 } from "../tensor/dtype.ts";
import { numelOf, sameSizes } from "../tensor/size.ts";
import { type Tensor, wrapDim } from "../tensor/tensor.ts";
import { dropout } from "./composites-nn.ts";
import { additiveMask, causalMask, repeatedHeads, safeSoftmax } from "./formulas-attention.ts";

type Optional = Tensor | null;

/** torch's C++ names of dtypes. */
const cppName = (d: DType): string => d.cppName;

function requireOperands(q: Tensor, k: Tensor, v: Tensor, mask: Optional, causal: boolean): void {
  if (q.dtype !== k.dtype || q.dtype !== v.dtype) {
    throw texts.attentionDtypes(undefined, cppName(q.dtype), cppName(k.dtype), cppName(v.dtype));
  }
  if (q.ndim < 2 || k.ndim < 2 || v.ndim < 2) throw texts.attentionRanks(undefined, q.ndim, k.ndim, v.ndim);
  if (mask === null) return;
  if (mask.dtype !== bool && mask.dtype !== float32 && mask.dtype !== q.dtype) {
    throw texts.attentionMaskDtype(undefined, cppName(mask.dtype), cppName(q.dtype));
  }
  if (causal) throw texts.attentionCausalMask(undefined);
}

/** Sizes of the leading dimensions of all operands; null where they do not broadcast. */
function leadOf(shapes: readonly (readonly number[])[]): number[] | null {
  const rank = Math.max(...shapes.map((s) => s.length));
  const lead: number[] = [];
  for (let d = 0; d < rank; d++) {
    let size = 1;
    for (const s of shapes) {
      const n = s[d - rank + s.length] ?? 1;
      if (n === 1) continue;
      if (size !== 1 && size !== n) return null;
      size = n;
    }
    lead.push(size);
  }
  return lead;
}

interface Blocked {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly mask: Optional;
  /** The sizes of the result. */
  readonly shape: readonly number[];
}

/** Operands as the kernel takes them: batch x heads x positions x features; null where it does not serve. */
function blocked(q: Tensor, k: Tensor, v: Tensor, mask: Optional, grouped: boolean): Blocked | null {
  for (const t of [q, k, v, mask]) {
    if (t === null) continue;
    if (t.device.type === "cuda" || batchOf(t) !== null) return null;
  }
  if (q.dtype.category !== 2 || q.dtype.itemsize < 2 || (mask !== null && requiresGrad(mask))) return null;
  const kept = grouped ? 3 : 2;
  if (grouped && (q.ndim < 3 || k.ndim < 3 || v.ndim < 3)) return null;
  const lead = leadOf([q, k, v].map((t) => t._shape.slice(0, t.ndim - kept)));
  const [n, e] = q._shape.slice(-2) as [number, number];
  const [s, width] = v._shape.slice(-2) as [number, number];
  if (mask !== null && mask.dtype !== bool && mask.dtype !== q.dtype) return null;
  if (lead === null || k._shape[k.ndim - 1] !== e || k._shape[k.ndim - 2] !== s) return null;
  const heads = grouped ? (q._shape[q.ndim - 3] as number) : (lead.at(-1) ?? 1);
  const shared = grouped ? (k._shape[k.ndim - 3] as number) : heads;
  if (grouped && (v._shape[v.ndim - 3] !== shared || shared === 0 || heads % shared !== 0)) return null;
  const outer = grouped ? lead : lead.slice(0, -1);
  const batch = numelOf(outer);
  if (batch * heads * n * e * s * width === 0) return null;
  const whole = [...outer, ...(grouped || lead.length > 0 ? [heads] : [])];
  const laid = (t: Tensor, h: number): Tensor => {
    const tail = t._shape.slice(-2);
    const wide = [...outer, ...(grouped || lead.length > 0 ? [h] : []), ...tail];
    const x = sameSizes(t._shape, wide) ? t : O.expand(t, wide, false);
    return x.ndim === 4 ? x : x.ndim < 4 ? padded(x) : x.reshape([batch, h, ...tail]);
  };
  let m: Optional = null;
  if (mask !== null) {
    const sizes = [...whole, n, s];
    const fits = mask.ndim >= 2 && mask.ndim <= sizes.length && leadOf([sizes, mask._shape]);
    if (!fits || !sameSizes(fits, sizes)) return null;
    m = O.expand(mask, sizes, false);
    m = m.ndim === 4 ? m : m.ndim < 4 ? padded(m) : m.reshape([batch, heads, n, s]);
  }
  const [query, key, value] = [laid(q, heads), laid(k, shared), laid(v, shared)];
  return { query, key, value, mask: m, shape: [...whole, n, width] };
}

/** Whether no operand is repeated along its leading dimensions, and features lie side by side. */
const alike = (q: Tensor, k: Tensor, v: Tensor): boolean =>
  [q, k, v].every((t) => t._strides[t.ndim - 1] === 1) &&
  [k, v].every((t) => t.ndim === q.ndim && sameSizes(t._shape.slice(0, -2), q._shape.slice(0, -2)));

function padded(t: Tensor): Tensor {
  let x = t;
  while (x.ndim < 4) x = O.unsqueeze(x, 0);
  return x;
}

export function scaledDotProductAttention(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  dropoutP: number,
  causal: boolean,
  scale: number | null,
  grouped: boolean,
): Tensor {
  requireOperands(query, key, value, mask, causal);
  const factor = scale ?? 1 / Math.sqrt(query._shape[query.ndim - 1] as number);
  if (dropoutP === 0) {
    const b = blocked(query, key, value, mask, grouped);
    if (b !== null) {
      const op = O._scaled_dot_product_flash_attention_for_cpu;
      const r = op(b.query, b.key, b.value, b.mask, causal, factor)[0];
      if (b.shape.length === 4 && alike(query, key, value)) return r;
      // torch computes these with all scores at once, whose product lies as it is written.
      if (b.shape.length >= 4) return r.contiguous().view(b.shape);
      let x = r.contiguous();
      while (x.ndim > b.shape.length) x = O.squeeze_dim(x, 0);
      return x;
    }
  }
  return bySoftmax(query, key, value, mask, dropoutP, causal, factor, grouped)[0];
}

/** What torch says of numbers that are not floats: its steps go on with float32. */
function requireFloats(q: Tensor, mask: Optional): void {
  if (q.dtype.category > 1) return;
  if (q.dtype === bool) throw texts.mmDtypes(undefined, "float", "bool");
  if (mask?.dtype === bool) throw texts.valueOverflow(undefined, "int64_t");
  if (q.dtype !== int64) throw texts.mmDtypes(undefined, "float", q.dtype.cppName);
  throw texts.scalarTypeDiffers(undefined, "Float", "Long");
}

/** With all scores at once; gives the weights as well. */
export function bySoftmax(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  mask: Optional,
  dropoutP: number,
  causal: boolean,
  scale: number,
  grouped: boolean,
): [result: Tensor, weights: Tensor] {
  const short = query.dtype.category === 2 && query.dtype.itemsize < 4;
  const [q, k, v] = short ? [query.to(float32), key.to(float32), value.to(float32)] : [query, key, value];
  const root = Math.sqrt(Math.abs(scale));
  const [rows, columns] = [q._shape[q.ndim - 2] as number, k._shape[k.ndim - 2] as number];
  requireFloats(q, mask);
  const added = causal ? causalMask(q, rows, columns) : mask;
  let [keys, values] = [k, v];
  if (grouped) {
    const heads = q._shape[wrapDim(-3, q.ndim)] as number;
    const fits = [k, v].every((t) => heads % (t._shape[t.ndim - 3] as number) === 0);
    if (!fits) throw texts.attentionHeads(undefined);
    [keys, values] = [repeatedHeads(k, heads), repeatedHeads(v, heads)];
  }
  let scores = q.mul(scale < 0 ? -root : root).matmul(keys.mul(root).mT);
  if (added !== null) {
    const bias = additiveMask(added, scores).to(scores.dtype);
    requireBroadcastInto(scores._shape, bias._shape);
    scores = scores.add(bias);
  }
  const weights = dropout(safeSoftmax(scores), dropoutP, true, false);
  const r = weights.matmul(values);
  return short ? [r.to(query.dtype), weights.to(query.dtype)] : [r, weights];
}

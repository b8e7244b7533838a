/** What multi-head attention computes: projections, attention of each head, and the last linear map. */

import * as O from "../../generated/ops.ts";
import { scaledDotProductAttention } from "../autograd/composites-attention.ts";
import { dropout, linear, softmax } from "../autograd/composites-nn.ts";
import { bool, type DType } from "../tensor/dtype.ts";
import { AssertionError, RuntimeError, warn } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";

type Optional = Tensor | null;

/** What of a `MultiheadAttention` a call reads. */
interface Heads {
  readonly in_proj_weight: Optional;
  readonly q_proj_weight: Optional;
  readonly k_proj_weight: Optional;
  readonly v_proj_weight: Optional;
  readonly in_proj_bias: Optional;
  readonly bias_k: Optional;
  readonly bias_v: Optional;
  readonly out_proj: { readonly weight: Tensor; readonly bias: Optional };
  readonly embedDim: number;
  readonly numHeads: number;
  readonly headDim: number;
  readonly dropout: number;
  readonly batchFirst: boolean;
  readonly addZeroAttn: boolean;
  readonly training: boolean;
}

/** The trailing arguments of `forward`, all given. */
export interface AttentionArguments {
  readonly keyPaddingMask: Optional;
  readonly needWeights: boolean;
  readonly attnMask: Optional;
  readonly averageAttnWeights: boolean;
  readonly isCausal: boolean;
}

/** A mask as what is added to scores. */
export function canonicalMask(mask: Optional, name: string, target: DType, other: Optional, otherName = ""): Optional {
  if (mask === null) return null;
  const { dtype } = mask;
  if (dtype !== bool && dtype.category !== 2) {
    throw new AssertionError(`only bool and floating types of ${name} are supported`);
  }
  if (other !== null && other.dtype !== dtype) {
    warn(`Support for mismatched ${name} and ${otherName} is deprecated. Use same type for both instead.`);
  }
  if (dtype !== bool) return mask;
  return O.zeros_like(mask, target, null, false, null).maskedFill_(mask, -Infinity);
}

const tupleText = (sizes: readonly number[]): string => `(${sizes.join(", ")})`;

/** Whether there is a batch; refuses ranks that do not go together. */
function isBatched(q: Tensor, k: Tensor, v: Tensor, padding: Optional, mask: Optional, heads: number): boolean {
  const rank = q.ndim;
  if (rank !== 2 && rank !== 3) {
    throw new AssertionError(`query should be unbatched 2D or batched 3D tensor but received ${rank}-D query tensor`);
  }
  const [kind, wanted] = rank === 3 ? ["batched (3-D)", 2] : ["unbatched (2-D)", 1];
  if (k.ndim !== rank || v.ndim !== rank) {
    throw new AssertionError(
      `For ${kind} \`query\`, expected \`key\` and \`value\` to be ${rank}-D but found ${k.ndim}-D and ` +
        `${v.ndim}-D tensors respectively`,
    );
  }
  if (padding !== null && padding.ndim !== wanted) {
    throw new AssertionError(
      `For ${kind} \`query\`, expected \`key_padding_mask\` to be \`None\` or ${wanted}-D but found ` +
        `${padding.ndim}-D tensor instead`,
    );
  }
  if (mask !== null && mask.ndim !== 2 && mask.ndim !== 3) {
    throw new AssertionError(
      `For ${kind} \`query\`, expected \`attn_mask\` to be \`None\`, 2-D or 3-D but found ${mask.ndim}-D tensor ` +
        "instead",
    );
  }
  if (rank === 2 && mask?.ndim === 3) {
    const expected = [heads, q._shape[0] as number, k._shape[0] as number];
    if (!sameSizes(mask._shape, expected)) {
      throw new AssertionError(
        `Expected \`attn_mask\` shape to be ${tupleText(expected)} but got ${String(mask.shape)}`,
      );
    }
  }
  return rank === 3;
}

/** Batch x positions x features, whichever dimension comes first. */
const batchFront = (t: Tensor, batchFirst: boolean): Tensor => (batchFirst ? t : O.transpose(t, 0, 1));

function parts(t: Optional, count: number): Optional[] {
  return t === null ? new Array(count).fill(null) : (O.chunk(t, count, 0) as Tensor[]);
}

/** Queries, keys and values by their linear maps; operands that are one tensor share a product. */
function projected(m: Heads, q: Tensor, k: Tensor, v: Tensor): [Tensor, Tensor, Tensor] {
  const w = m.in_proj_weight;
  const b = m.in_proj_bias;
  if (w !== null && q === k && k === v) return O.chunk(linear(q, w, b), 3, -1) as [Tensor, Tensor, Tensor];
  const e = m.embedDim;
  if (w !== null && k === v) {
    const [ofQuery, rest] = O.split_with_sizes(w, [e, 2 * e], 0) as [Tensor, Tensor];
    const [bq, br] = b === null ? [null, null] : (O.split_with_sizes(b, [e, 2 * e], 0) as [Tensor, Tensor]);
    const [keys, values] = O.chunk(linear(k, rest, br), 2, -1) as [Tensor, Tensor];
    return [linear(q, ofQuery, bq), keys, values];
  }
  const weights = w === null ? [m.q_proj_weight, m.k_proj_weight, m.v_proj_weight] : parts(w, 3);
  const biases = parts(b, 3);
  if (w === null) requireWidths(q, k, v, weights as Tensor[]);
  return [q, k, v].map((t, i) => linear(t, weights[i] as Tensor, biases[i] as Optional)) as [Tensor, Tensor, Tensor];
}

function requireWidths(q: Tensor, k: Tensor, v: Tensor, weights: readonly Tensor[]): void {
  const [e] = q._shape.slice(-1) as [number];
  for (const [i, [name, t]] of (
    [
      ["query", q],
      ["key", k],
      ["value", v],
    ] as const
  ).entries()) {
    const expected = [e, t._shape[t.ndim - 1] as number];
    const { _shape, shape } = weights[i] as Tensor;
    if (!sameSizes(_shape, expected)) {
      throw new AssertionError(`expecting ${name} weights shape of ${tupleText(expected)}, but got ${String(shape)}`);
    }
  }
}

function requireSizes(m: Heads, q: Tensor, k: Tensor, v: Tensor): void {
  const [e] = q._shape.slice(-1) as [number];
  if (e !== m.embedDim) throw new AssertionError(`was expecting embedding dimension of ${m.embedDim}, but got ${e}`);
  if (m.in_proj_weight === null) {
    if (sameSizes(k._shape.slice(0, 2), v._shape.slice(0, 2))) return;
    const [first, second] = [k, v].map((t) => `torch.Size([${t._shape.slice(0, 2).join(", ")}])`);
    throw new AssertionError(`key's sequence and batch dims ${first} do not match value's ${second}`);
  }
  if (!sameSizes(k._shape, v._shape)) {
    throw new AssertionError(`key shape ${String(k.shape)} does not match value shape ${String(v.shape)}`);
  }
}

/** Batch or one, heads or one, queries, keys. */
function maskOfHeads(mask: Tensor, n: number, heads: number, rows: number, columns: number): Tensor {
  const expected = mask.ndim === 2 ? [rows, columns] : [n * heads, rows, columns];
  if (!sameSizes(mask._shape, expected)) {
    throw new RuntimeError(
      `The shape of the ${mask.ndim}D attn_mask is ${String(mask.shape)}, but should be ${tupleText(expected)}.`,
    );
  }
  return mask.ndim === 2 ? mask.view([1, 1, rows, columns]) : mask.reshape([n, heads, rows, columns]);
}

/** One more key that every query may see. */
function widened(mask: Optional): Optional {
  if (mask === null) return null;
  const shape = [...mask._shape.slice(0, -1), 1];
  return O.cat([mask, mask.newZeros(shape)], -1);
}

/** The result, and the weights where they are asked for. */
export function attend(m: Heads, query: Tensor, key: Tensor, value: Tensor, o: AttentionArguments): [Tensor, Optional] {
  let padding = canonicalMask(o.keyPaddingMask, "key_padding_mask", query.dtype, o.attnMask, "attn_mask");
  let mask = canonicalMask(o.attnMask, "attn_mask", query.dtype, null);
  const batched = isBatched(query, key, value, padding, mask, m.numHeads);
  const first = m.batchFirst && batched;
  if (o.isCausal && mask === null) {
    throw new RuntimeError(
      "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method " +
        "`generate_square_subsequent_mask` to create this mask.",
    );
  }
  // Only without weights and padding the hint is taken for the mask.
  const causal = o.isCausal && padding === null && !o.needWeights;
  if (causal) mask = null;
  const batch = (t: Tensor): Tensor => (batched ? t : O.unsqueeze(t, 1));
  const [x, y, z] = [query, key, value].map(batch) as [Tensor, Tensor, Tensor];
  requireSizes(m, x, y, z);
  const same = (a: Tensor, b: Tensor): boolean => a === b;
  const asOne = same(query, key) && same(key, value);
  const operands = asOne ? [x, x, x] : same(key, value) ? [x, y, y] : [x, y, z];
  const maps = projected(m, ...(operands as [Tensor, Tensor, Tensor])).map((t) => batchFront(t, first));
  let [q, k, v] = maps as [Tensor, Tensor, Tensor];
  const [n, rows] = q._shape as [number, number];
  const own = k._shape[1] as number;
  let scores = mask === null ? null : maskOfHeads(mask, n, m.numHeads, rows, own);
  if (padding !== null && !batched) padding = O.unsqueeze(padding, 0);
  const appended: [Tensor, Tensor][] = [];
  if (m.bias_k !== null && m.bias_v !== null) appended.push([m.bias_k, m.bias_v]);
  if (m.addZeroAttn) appended.push([k.newZeros([1, 1, m.embedDim]), v.newZeros([1, 1, m.embedDim])]);
  for (const [ofKeys, ofValues] of appended) {
    const shape = [n, 1, m.embedDim];
    k = O.cat([k, O.expand(ofKeys, shape, false)], 1);
    v = O.cat([v, O.expand(ofValues, shape, false)], 1);
    [scores, padding] = [widened(scores), widened(padding)];
  }
  const columns = k._shape[1] as number;
  if (padding !== null) {
    requirePadding(padding, columns, n);
    const ofKeys = padding.view([n, 1, 1, columns]);
    scores = scores === null ? ofKeys.expand(n, 1, rows, columns) : scores.add(ofKeys);
  }
  const heads = [q, k, v].map((t) => O.permute(t.unflatten(-1, [m.numHeads, m.headDim]), [0, 2, 1, 3]));
  [q, k, v] = heads as [Tensor, Tensor, Tensor];
  const p = m.training ? m.dropout : 0;
  const [r, weights] = o.needWeights
    ? withWeights(q, k, v, scores, p)
    : [scaledDotProductAttention(q, k, v, scores, p, causal, null, false), null];
  // What is dropped behind it follows the order in memory, which is torch's: positions before the batch.
  const straight = first && p === 0;
  const joined = O.permute(r, straight ? [0, 2, 1, 3] : [2, 0, 1, 3]).flatten(-2);
  const mapped = linear(joined, m.out_proj.weight, m.out_proj.bias);
  const out = first && !straight ? O.transpose(mapped, 0, 1) : mapped;
  const result = batched ? out : O.squeeze_dim(out, 1);
  if (weights === null) return [result, null];
  const shown = o.averageAttnWeights ? weights.mean(1) : weights;
  return [result, batched ? shown : O.squeeze_dim(shown, 0)];
}

function requirePadding(padding: Tensor, columns: number, n: number): void {
  if (padding._shape[0] !== n) {
    throw new AssertionError(`Expected key_padded_mask.shape[0] to be ${n}, but got ${padding._shape[0]}`);
  }
  if (padding._shape[1] !== columns) {
    throw new AssertionError(`Expected key_padded_mask.shape[1] to be ${columns}, but got ${padding._shape[1]}`);
  }
}

function withWeights(q: Tensor, k: Tensor, v: Tensor, mask: Optional, p: number): [Tensor, Tensor] {
  let scores = q.mul(Math.sqrt(1 / (q._shape[3] as number))).matmul(k.mT);
  if (mask !== null) scores = scores.add(mask);
  const powers = softmax(scores, -1, null);
  const weights = p > 0 ? dropout(powers, p, true, false) : powers;
  return [weights.matmul(v), weights];
}

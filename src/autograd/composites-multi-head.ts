/** What multi-head attention computes: projections, attention of each head, and the last linear map. */

import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { bool, type DType } from "../tensor/dtype.ts";
import { sameSizes } from "../tensor/size.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { scaledDotProductAttention } from "./composites-attention.ts";
import { dropout, linear, softmax } from "./composites-nn.ts";

const OP = "multi_head_attention_forward";

type Optional = Tensor | null;

/** What of a `MultiheadAttention` a call reads. */
export interface Heads {
  /** Whether there are three projections; by default where there is no matrix for all. */
  readonly separate?: boolean;
  /** Keys and values of all heads that stand for what is projected, where there are any. */
  readonly fixed?: readonly [keys: Optional, values: Optional];
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
  if (dtype !== bool && dtype.category !== 2) throw texts.multiHeadMaskKind(OP, name);
  if (other !== null && other.dtype !== dtype) texts.multiHeadMasksDiffer(name, otherName);
  if (dtype !== bool) return mask;
  return O.zeros_like(mask, target, null, false, null).maskedFill_(mask, -Infinity);
}

const tupleText = (sizes: readonly number[]): string => `(${sizes.join(", ")})`;

/** Whether there is a batch; refuses ranks that do not go together. */
function isBatched(q: Tensor, k: Tensor, v: Tensor, padding: Optional, mask: Optional, heads: number): boolean {
  const rank = q.ndim;
  if (rank !== 2 && rank !== 3) throw texts.multiHeadQueryRank(OP, rank);
  const [kind, wanted] = rank === 3 ? ["batched (3-D)", 2] : ["unbatched (2-D)", 1];
  if (k.ndim !== rank || v.ndim !== rank) throw texts.multiHeadRanks(OP, kind, rank, k.ndim, v.ndim);
  if (padding !== null && padding.ndim !== wanted) throw texts.multiHeadPaddingRank(OP, kind, wanted, padding.ndim);
  if (mask !== null && mask.ndim !== 2 && mask.ndim !== 3) throw texts.multiHeadMaskRank(OP, kind, mask.ndim);
  if (rank === 2 && mask?.ndim === 3) {
    const expected = [heads, q._shape[0] as number, k._shape[0] as number];
    if (!sameSizes(mask._shape, expected)) {
      throw texts.multiHeadMaskShape(OP, tupleText(expected), String(mask.shape));
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
      throw texts.multiHeadWeightsShape(OP, name, tupleText(expected), String(shape));
    }
  }
}

function requireSizes(m: Heads, q: Tensor, k: Tensor, v: Tensor): void {
  const [e] = q._shape.slice(-1) as [number];
  if (e !== m.embedDim) throw texts.multiHeadWidth(OP, m.embedDim, e);
  if (m.headDim * m.numHeads !== e) throw texts.multiHeadHeads(OP, e, m.numHeads);
  if (m.separate ?? m.in_proj_weight === null) {
    if (!sameSizes(k._shape.slice(0, 2), v._shape.slice(0, 2))) {
      const [first, second] = [k, v].map((t) => `torch.Size([${t._shape.slice(0, 2).join(", ")}])`);
      throw texts.multiHeadKeyDims(OP, first as string, second as string);
    }
    for (const name of ["q_proj_weight", "k_proj_weight", "v_proj_weight"] as const) {
      if (m[name] === null) throw texts.multiHeadWeightMissing(OP, "True", name);
    }
    return;
  }
  if (!sameSizes(k._shape, v._shape)) throw texts.multiHeadKeyShape(OP, String(k.shape), String(v.shape));
  if (m.in_proj_weight === null) throw texts.multiHeadWeightMissing(OP, "False", "in_proj_weight");
}

/** Batch or one, heads or one, queries, keys. */
function maskOfHeads(mask: Tensor, n: number, heads: number, rows: number, columns: number): Tensor {
  const expected = mask.ndim === 2 ? [rows, columns] : [n * heads, rows, columns];
  if (!sameSizes(mask._shape, expected)) {
    throw texts.multiHeadMaskSize(OP, mask.ndim, String(mask.shape), tupleText(expected));
  }
  return mask.ndim === 2 ? mask.view([1, 1, rows, columns]) : mask.reshape([n, heads, rows, columns]);
}

/** One more key that every query may see. */
function widened(mask: Optional): Optional {
  if (mask === null) return null;
  const shape = [...mask._shape.slice(0, -1), 1];
  return O.cat([mask, mask.newZeros(shape)], -1);
}

/** Biases for keys and values come together, and not beside fixed ones. */
function requireBiases({ bias_k, bias_v, fixed = [null, null] }: Heads): void {
  if (bias_k !== null && bias_v !== null) {
    if (fixed[0] !== null) throw texts.multiHeadStaticBias(OP, "key");
    if (fixed[1] !== null) throw texts.multiHeadStaticBias(OP, "value");
  } else {
    if (bias_k !== null) throw texts.multiHeadLoneBias(OP, "bias_k", "bias_v");
    if (bias_v !== null) throw texts.multiHeadLoneBias(OP, "bias_v", "bias_k");
  }
}

/** Batch x positions x features as batch x heads x positions x features of a head. */
function headsOf(m: Heads, t: Tensor): Tensor {
  return O.permute(t.unflatten(-1, [m.numHeads, m.headDim]), [0, 2, 1, 3]);
}

/** The same of what is given for all heads. */
function fixedOr(m: Heads, at: 0 | 1, projected: Tensor, n: number): Tensor {
  const given = m.fixed?.[at] ?? null;
  if (given === null) {
    const [batch, positions] = projected._shape as [number, number];
    if (batch !== n && projected._numel !== 0) {
      throw texts.invalidShape(OP, `[${positions}, ${n * m.numHeads}, ${m.headDim}]`, projected._numel);
    }
    return headsOf(m, projected);
  }
  const name = at === 0 ? "static_k" : "static_v";
  for (const [dim, expected] of [
    [0, n * m.numHeads],
    [2, m.headDim],
  ] as const) {
    const got = given.size(dim);
    if (got !== expected) throw texts.multiHeadStaticSize(OP, name, dim, expected, got);
  }
  return given.unflatten(0, [n, m.numHeads]);
}

/** Queries, keys and values of all heads, and the masks, with keys and values that are appended. */
function prepared(
  m: Heads,
  [q, k, v]: readonly [Tensor, Tensor, Tensor],
  scores: Optional,
  padding: Optional,
): [q: Tensor, k: Tensor, v: Tensor, scores: Optional] {
  const [n, rows] = q._shape as [number, number];
  const masks = (): void => {
    [scores, padding] = [widened(scores), widened(padding)];
  };
  requireBiases(m);
  if (m.bias_k !== null && m.bias_v !== null) {
    const shape = [n, 1, m.embedDim];
    k = O.cat([k, O.expand(m.bias_k, shape, false)], 1);
    v = O.cat([v, O.expand(m.bias_v, shape, false)], 1);
    masks();
  }
  let [keys, values] = [fixedOr(m, 0, k, n), fixedOr(m, 1, v, n)];
  if (m.addZeroAttn) {
    const shape = [n, m.numHeads, 1, m.headDim];
    keys = O.cat([keys, keys.newZeros(shape)], 2);
    values = O.cat([values, values.newZeros(shape)], 2);
    masks();
  }
  const columns = keys._shape[2] as number;
  if (padding !== null) {
    requirePadding(padding, columns, n);
    const ofKeys = padding.view([n, 1, 1, columns]);
    scores = scores === null ? ofKeys.expand(n, 1, rows, columns) : scores.add(ofKeys);
  }
  return [headsOf(m, q), keys, values, scores];
}

/** The result, and the weights where they are asked for. */
export function attend(m: Heads, query: Tensor, key: Tensor, value: Tensor, o: AttentionArguments): [Tensor, Optional] {
  const batched = isBatched(query, key, value, o.keyPaddingMask, o.attnMask, m.numHeads);
  let padding = canonicalMask(o.keyPaddingMask, "key_padding_mask", query.dtype, o.attnMask, "attn_mask");
  const first = m.batchFirst && batched;
  if (o.isCausal && o.attnMask === null) throw texts.multiHeadCausal(OP);
  // Only without weights and padding the hint is taken for the mask.
  const causal = o.isCausal && padding === null && !o.needWeights;
  const mask = causal ? null : canonicalMask(o.attnMask, "attn_mask", query.dtype, null);
  const batch = (t: Tensor): Tensor => (batched ? t : O.unsqueeze(t, 1));
  const [x, y, z] = [query, key, value].map(batch) as [Tensor, Tensor, Tensor];
  requireSizes(m, x, y, z);
  const same = (a: Tensor, b: Tensor): boolean => a === b;
  const asOne = same(query, key) && same(key, value);
  const operands = asOne ? [x, x, x] : same(key, value) ? [x, y, y] : [x, y, z];
  const maps = projected(m, ...(operands as [Tensor, Tensor, Tensor])).map((t) => batchFront(t, first));
  const [n, rows] = (maps[0] as Tensor)._shape as [number, number];
  const own = (maps[1] as Tensor)._shape[1] as number;
  const added = mask === null ? null : maskOfHeads(mask, n, m.numHeads, rows, own);
  if (padding !== null && !batched) padding = O.unsqueeze(padding, 0);
  const [q, k, v, scores] = prepared(m, maps as [Tensor, Tensor, Tensor], added, padding);
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

export function multiHeadAttentionForward(
  query: Tensor,
  key: Tensor,
  value: Tensor,
  embedDim: number,
  numHeads: number,
  inProjWeight: Optional,
  inProjBias: Optional,
  biasK: Optional,
  biasV: Optional,
  addZeroAttn: boolean,
  dropoutP: number,
  outProjWeight: Tensor,
  outProjBias: Optional,
  training: boolean,
  keyPaddingMask: Optional,
  needWeights: boolean,
  attnMask: Optional,
  separate: boolean,
  qProjWeight: Optional,
  kProjWeight: Optional,
  vProjWeight: Optional,
  staticK: Optional,
  staticV: Optional,
  averageAttnWeights: boolean,
  isCausal: boolean,
): [Tensor, Optional] {
  const heads: Heads = {
    separate,
    in_proj_weight: separate ? null : inProjWeight,
    q_proj_weight: qProjWeight,
    k_proj_weight: kProjWeight,
    v_proj_weight: vProjWeight,
    in_proj_bias: inProjBias,
    bias_k: biasK,
    bias_v: biasV,
    fixed: [staticK, staticV],
    out_proj: { weight: outProjWeight, bias: outProjBias },
    embedDim,
    numHeads,
    headDim: Math.floor(embedDim / numHeads),
    dropout: dropoutP,
    batchFirst: false,
    addZeroAttn,
    training,
  };
  const given = { keyPaddingMask, needWeights, attnMask, averageAttnWeights, isCausal };
  return attend(heads, query, key, value, given);
}

function requirePadding(padding: Tensor, columns: number, n: number): void {
  for (const [dim, expected] of [n, columns].entries()) {
    const got = padding._shape[dim] as number;
    if (got !== expected) throw texts.multiHeadPaddingSize(OP, dim, expected, got);
  }
}

function withWeights(q: Tensor, k: Tensor, v: Tensor, mask: Optional, p: number): [Tensor, Tensor] {
  let scores = q.mul(Math.sqrt(1 / (q._shape[3] as number))).matmul(k.mT);
  if (mask !== null && mask.dtype !== q.dtype) {
    throw texts.baddbmmDtypes(OP, mask.dtype.cppName, q.dtype.cppName, k.dtype.cppName);
  }
  if (mask !== null) scores = scores.add(mask);
  const powers = softmax(scores, -1, null);
  const weights = p > 0 ? dropout(powers, p, true, false) : powers;
  return [weights.matmul(v), weights];
}

// Which results must agree bit for bit and how closely the others must agree.
import type { Case, Code } from "./case-types.ts";

export interface Tolerance {
  exact: boolean;
  rtol: number;
  atol: number;
}

const EXACT: Tolerance = { exact: true, rtol: 0, atol: 0 };

/** torch.testing's defaults. */
const DEFAULTS: Partial<Record<Code, [rtol: number, atol: number]>> = {
  f16: [1e-3, 1e-5],
  bf16: [1.6e-2, 1e-5],
  f32: [1.3e-6, 1e-5],
  c64: [1.3e-6, 1e-5],
  c32: [1e-3, 1e-5],
  f64: [1e-7, 1e-7],
  c128: [1e-7, 1e-7],
};

/** Ops that only move, compare or select elements, whatever the dtype. */
const MOVING = new Set(
  `view reshape view_as reshape_as as_strided expand expand_as t transpose permute movedim moveaxis swapaxes swapdims
  squeeze unsqueeze select narrow narrow_copy slice diagonal unbind split split_with_sizes chunk tensor_split hsplit
  vsplit dsplit unfold flatten unflatten detach alias T H mT mH broadcast_to broadcast_tensors expand_copy view_copy
  view_as_real view_as_complex real imag ravel clone contiguous copy_ fill fill_ zero_ set_ resize_ resize_as_ to
  type_as item tolist index index_put index_select index_fill index_copy gather scatter take take_along_dim put
  masked_fill masked_select masked_scatter where nonzero nonzero_static argwhere cat concat stack hstack vstack dstack
  column_stack row_stack tile repeat repeat_interleave flip fliplr flipud roll rot90 diag diag_embed diagflat
  diagonal_scatter select_scatter slice_scatter as_strided_scatter tril triu meshgrid block_diag atleast_1d atleast_2d
  atleast_3d conj conj_physical resolve_conj resolve_neg positive constant_pad_nd unsafe_chunk unsafe_split
  nn.functional.pixel_shuffle nn.functional.pixel_unshuffle nn.functional.channel_shuffle nn.functional.pad
  zeros ones full empty eye zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty
  empty_strided new_empty_strided empty_permuted scalar_tensor arange randint randint_like randperm tril_indices
  triu_indices combinations cartesian_prod neg abs sign sgn ceil floor trunc round frac maximum minimum fmax fmin max
  min amax amin aminmax argmax argmin cummax cummin sort argsort msort topk kthvalue median nanmedian mode unique
  unique_consecutive eq ne lt le gt ge isclose isfinite isinf isnan isposinf isneginf isreal isin signbit equal
  allclose logical_and logical_or logical_not logical_xor bitwise_and bitwise_or bitwise_xor bitwise_not
  bitwise_left_shift bitwise_right_shift all any count_nonzero searchsorted bucketize bincount clamp clamp_min
  clamp_max copysign nextafter heaviside nan_to_num relu nn.functional.relu nn.functional.relu6
  nn.functional.hardtanh nn.functional.threshold nn.functional.hardshrink nn.functional.one_hot bfloat16 bool byte
  char double float half int long short cfloat __rand__ __ror__ __rxor__ bernoulli multinomial random_ bernoulli_
  rand randn rand_like randn_like uniform normal exponential`.split(/\s+/),
);

/** Arithmetic that IEEE defines to the last bit: exact in f32 and f64. */
const IEEE = new Set("add sub mul div true_divide __radd__ __rsub__ __rmul__ rsub square".split(" "));

/** torch's vector library rounds square roots correctly only most of the time: one unit in the last place. */
const ONE_ULP: Partial<Record<Code, Tolerance>> = {
  f32: { exact: false, rtol: 2 ** -23, atol: 0 },
  f64: { exact: false, rtol: 2 ** -52, atol: 0 },
};

/** Results that accumulate or reorder long sums: looser in f32. */
const LOOSE_NAMES =
  `linalg\\. fft\\. masked\\. nn\\.functional\\. special\\. matmul mm bmm addmm addbmm baddbmm addmv addr mv dot vdot
  inner tensordot einsum sum mean prod var std cumsum cumprod norm dist cdist logsumexp logcumsumexp nansum nanmean cov
  corrcoef stft istft trace trapz trapezoid cumulative svd lu cholesky pinverse matrix_exp logdet renorm kron
  triangular __rmatmul__ polygamma lgamma digamma igamma histogram quantile nanquantile pow float_power __rpow__
  softmax log_softmax`.split(/\s+/);
const LOOSE = new RegExp(`^(${LOOSE_NAMES.join("|")})`);

const PROMO_INEXACT = new Set(["pow", "atan2"]);

function isReal(code: Code): boolean {
  return code !== "c32" && code !== "c64" && code !== "c128";
}

function byDtype(code: Code, loose: boolean): Tolerance {
  const [rtol, atol] = DEFAULTS[code] ?? [0, 0];
  if (rtol === 0) return EXACT;
  if (loose && (code === "f32" || code === "c64")) return { exact: false, rtol: 1e-4, atol: 1e-5 };
  return { exact: false, rtol, atol };
}

/** What a case asks for beside its operator's tolerance. */
export function looser(t: Tolerance, { loose = 1 }: Case): Tolerance {
  return loose === 1 ? t : { ...t, rtol: t.rtol * loose, atol: t.atol * loose };
}

/** Tolerance for a result of a case. */
export function resultTolerance(c: Case, code: Code): Tolerance {
  return looser(ownTolerance(c, code), c);
}

function ownTolerance(c: Case, code: Code): Tolerance {
  if (c.fam === "index" || c.fam === "rng" || c.op === "nn_init") return EXACT;
  const complexArithmetic = !isReal(code) && ["mul", "div", "add", "sub"].includes(c.op);
  if (c.fam === "promo") return PROMO_INEXACT.has(c.op) || complexArithmetic ? byDtype(code, false) : EXACT;
  if (MOVING.has(c.op) && !(c.op === "abs" && c.dt !== undefined && !isReal(c.dt))) {
    // scatter with a reduction, round to decimals and sgn of complex numbers compute.
    const computes = c.kw?.reduce !== undefined || c.kw?.decimals !== undefined || (c.op === "sgn" && !isReal(code));
    if (!computes) return EXACT;
  }
  if (IEEE.has(c.op) && c.kw?.alpha === undefined && (code === "f32" || code === "f64")) return EXACT;
  if (c.op === "sqrt" && ONE_ULP[code] !== undefined) return ONE_ULP[code];
  return byDtype(code, LOOSE.test(c.op));
}

/** Gradients and random programs: the looser f32 bound. */
export function gradientTolerance(code: Code): Tolerance {
  return byDtype(code, true);
}

/** An in-place result compared with `out`: complex dtypes get the bound that the recorder used. */
export function inPlaceTolerance(c: Case, code: Code): Tolerance {
  const t = resultTolerance(c, code);
  return !isReal(code) && t.rtol < 1e-5 ? { exact: false, rtol: 1e-5, atol: 1e-8 } : t;
}

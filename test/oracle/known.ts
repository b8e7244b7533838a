// Where we differ from torch, and why that stays: at the edges of domains torch contradicts itself (its jvp and its
// gradients have formulas of their own), or what it says is chance, or less than the definition.
import type { Call, Program } from "./program.ts";

interface Known {
  op: RegExp;
  /** What is said to differ. */
  what: RegExp;
  /** Of the call, and of the program that it belongs to. */
  where?: (call: Call, facts: Facts) => boolean;
  why: string;
}

/** What of a whole program narrows an entry. */
interface Facts {
  /** Some leaf is a short float, or complex. */
  readonly short: boolean;
  readonly complex: boolean;
  /** It ends with an error in torch. */
  readonly failed: boolean;
}

const isShort = (_: Call, { short }: Facts): boolean => short;

const noDims = ({ args, kw }: Call): boolean =>
  [...args, ...Object.values(kw)].some((x) => Array.isArray(x) && x.length === 0);

/** In programs of every kind. */
const EVERYWHERE: readonly Known[] = [
  {
    op: /./,
    what: /message .*not implemented for.*expected .*(not implemented for|does not support automatic)/,
    why: "which of several kernels of one operator first lacks a dtype depends on layouts",
  },
  {
    op: /^(batch_norm|instance_norm)$/,
    what: /message .*not implemented for.*expected "mean\(\): could not infer/,
    why: "likewise: which step says so",
  },
  { op: /./, what: /zensor has no b?complex32/, why: "there is no such dtype yet" },
  {
    op: /^(var|std)(_mean)?$/,
    what: /grad/,
    where: noDims,
    why: "no dimensions are all of them, but torch's gradient counts one element",
  },
  {
    op: /^view$/,
    what: /var \d+: \d+ of \d+ values differ, \[\d+\] is 127, expected -1/,
    why: "the sign bit of a result that is no number is chance",
  },
  { op: /^meshgrid$/, what: /Expected 0D or 1D tensor/, why: "torch prints the elements of the tensor, not its sizes" },
  {
    op: /^conv_transpose\dd$/,
    what: /Output size is too small/,
    why: "torch's slow and its fast path refuse different sizes, and which is taken depends on sizes, too",
  },
  { op: /^conv_transpose\dd$/, what: /strides/, why: "integers go through another path, likewise" },
  {
    op: /^masked_scatter_?$/,
    what: /var/,
    why: "torch reads past the end of a source that is too short",
  },
  {
    op: /^(log_)?softmax$/,
    what: /leaf \d+ grad: \d of \d+ values differ/,
    where: ({ kw }, { short }) => short || kw.dtype !== undefined,
    why: "gradients of short floats are converted before they are computed, or behind it: the last digit",
  },
  {
    op: /^scaled_dot_product_attention$/,
    what: /_is_view|step \d+ nn\S+: (message|raised|error class)|backward: raised/,
    why: "torch computes in other steps where operands are repeated, and does not compare all of their sizes",
  },
  {
    op: /^scaled_dot_product_attention$/,
    what: /leaf \d+ grad|var \d+: 1 of/,
    where: isShort,
    why: "the result is rounded before its gradient",
  },
  { op: /^conv\dd$/, what: /strides/, why: "torch gives the channels-last order sometimes" },
  {
    op: /^interpolate$/,
    what: /var \d+: \d+ of/,
    where: isShort,
    why: "short floats are rounded once here, after both dimensions",
  },
  { op: /^bilinear$/, what: /backward: no error.*modified by an inplace/, why: "its step does not need that operand" },
  {
    op: /^(prod|sum|mean|addcdiv|ldexp|nll_loss|cross_entropy)$/,
    what: /backward: no error/,
    why: "torch fails at its own gradient's dtype",
  },
  {
    op: /./,
    what: /the derivative for 'inplace|expected NotImplementedError: one of/,
    why: "torch has no formula in place",
  },
  {
    op: /^(cosine_embedding_loss|clamp_?)$/,
    what: /error class|size of tensor a/,
    why: "of two errors torch finds the other one first",
  },
  {
    op: /^(linear|matmul|conv\dd|conv_transpose\dd|binary_cross_entropy|group_norm)$/,
    what: /multiplied|mismatch|must be a matrix|broadcast|expanded size|mixed dtype|the same dtype|be the same/,
    why: "sizes or dtypes that do not fit, said of another step",
  },
  { op: /^threshold_?$/, what: /without overflow|written-to/, why: "a number said not to fit another dtype; no check" },
  {
    op: /^(layer|group)_norm$/,
    what: /leaf \d+ grad/,
    where: isShort,
    why: "the gradient of two elements is rounding alone",
  },
  {
    op: /^(slice|select)_scatter$/,
    what: /strides|_version|storage offset/,
    why: "torch copies the gaps of a view, too",
  },
  {
    op: /^(kthvalue|median|mode)$/,
    what: /grad/,
    why: "which of equal elements stands at a rank is chance",
  },
  { op: /^nanmedian$/, what: /var/, why: "torch reads elements that an expanded tensor has not" },
  {
    op: /^(floor_divide|fmod|remainder|div|index_fill)_$/,
    what: /var/,
    where: (_, { failed }) => failed,
    why: "torch has written a part before it finds the error",
  },
  { op: /^(logcumsumexp|pow)$/, what: /grad.*NaN/, why: "torch's gradient of logcumsumexp leaves NaN out" },
  {
    op: /^(atan|arctan)_?$/,
    what: /var/,
    where: (_, { complex }) => complex,
    why: "the side of a cut is the sign of a zero that was lost before",
  },
  { op: /^(threshold|triu|tril)_$/, what: /more than one element of the written-to/, why: "torch does not look" },
  {
    op: /loss$|^clamp$/,
    what: /message ".*(on a|with a|with two) bool|clamp is not supported/,
    why: "the operator that refuses a dtype is another step's",
  },
  { op: /^scatter_$/, what: /without overflow.*out of bounds/, why: "of two errors torch finds the other one first" },
  { op: /^(pixel_(un)?shuffle|channel_shuffle)$/, what: /_is_view/, why: "torch copies what stays as it is" },
  { op: /^(addr|instance_norm|hardtanh_|norm)$/, what: /step/, why: "of two errors torch finds the other one first" },
  { op: /^aminmax$/, what: /modified by an inplace/, why: "one step there, two here" },
  {
    op: /^bincount$/,
    what: /requires_grad|is_leaf/,
    why: "weights have no gradient, which torch says when it is asked for",
  },
  {
    op: /^(batch|instance)_norm$/,
    what: /var \d+: 1 of/,
    where: isShort,
    why: "a mean of short floats that is zero but for rounding",
  },
  { op: /^mode$/, what: /var.*NaN/, why: "a sort without an order of NaN comes before torch's count" },
  { op: /^soft_margin_loss$/, what: /grad.*NaN/, why: "torch divides infinities where the loss is large" },
  { op: /^as_strided$/, what: /out of bounds for storage/, why: "a result of torch's has more room than it needs" },
  { op: /^(celu|selu|elu)_$/, what: /modified by an inplace/, why: "the tensor that was changed is named otherwise" },
  { op: /^interpolate$/, what: /_version/, why: "torch writes into a fresh tensor" },
  { op: /^pow$/, what: /grad: 1 of/, where: isShort, why: "short floats: the last digit" },
  { op: /^isfinite$/, what: /_version/, why: "torch multiplies in place" },
  { op: /^adaptive_\w+$|^(diagonal|select)_scatter$/, what: /_version/, why: "torch writes into a fresh tensor" },
  { op: /^(index|scatter)_reduce_$/, what: /does not support automatic/, why: "of two errors, likewise" },
  {
    op: /^pairwise_distance$/,
    what: /modified by an inplace/,
    why: "the tensor that was changed is named by the operator that made it",
  },
  { op: /^embedding_bag$/, what: /but got null/, why: "null is this language's None" },
  {
    op: /^(\w+_loss|pad|max_pool1d)$/,
    what: /_version|_is_view/,
    why: "torch writes in place here, or into a fresh tensor",
  },
  { op: /^pad$/, what: /some elements of the input tensor and the written-to tensor/, why: "circular: likewise" },
  { op: /^isin$/, what: /view size is not compatible/, why: "torch looks for one element in a contiguous tensor only" },
  {
    op: /^(embedding|addbmm)$/,
    what: /IndexError|Dimension specified as/,
    why: "before torch looks at the operands its gradient's formula does",
  },
  {
    op: /^interpolate$/,
    what: /grad/,
    where: ({ kw }) => kw.scale_factor !== undefined,
    why: "torch's gradient of signals and volumes forgets the factor where it is nearly 1 or 2, its result does not",
  },
];

const AT_EDGES: readonly Known[] = [
  { op: /^(index_copy|put|scatter)_?$/, what: /jvp/, why: "the last of several writes into one place is chance" },
  {
    op: /^(var|std)(_mean)?$/,
    what: /jvp/,
    where: noDims,
    why: "no dimensions are all of them, but torch's gradient counts one element",
  },
  {
    op: /^(clamp(_min|_max)?|maximum|minimum|fmax|fmin|max|min|amax|amin|median|nanmedian)_?$/,
    what: /jvp/,
    why: "beside a NaN torch's jvp and its gradient say different things",
  },
  {
    op: /^(div|true_divide|addcdiv|lerp|atan2|hypot|cumprod|addcmul|norm|b?addb?m[mv]|addr)_?$/,
    what: /jvp.*(NaN|Infinity)/,
    why: "infinite terms of a jvp are added in another order: their sum is no number, or is one",
  },
  {
    op: /^(logcumsumexp|xlogy|pow|prod|polygamma|var|std|mse_loss)_?$/,
    what: /jvp.*(NaN|Infinity)/,
    why: "likewise, after an infinite slope",
  },
  { op: /^vector_norm$/, what: /jvp/, why: "a square below the least normal number is rounded" },
  { op: /^mode$/, what: /var/, why: "a sort without an order of NaN comes before torch's count" },
  {
    op: /^sinc_?$/,
    what: /second grad/,
    why: "beside zero a difference of nearly equal numbers is divided by a square",
  },
  { op: /^(acosh|arccosh|acos)$/, what: /var|grad|jvp/, why: "torch loses the sign of an imaginary zero" },
  {
    op: /^(nan)?quantile$/,
    what: /grad|jvp/,
    why: "which of equal elements stands at a rank is chance: torch's sort is not stable there",
  },
  {
    op: /^(huber_loss|smooth_l1_loss|l1_loss)$/,
    what: /second grad/,
    why: "a gradient that is no number is multiplied by zero, or kept out",
  },
  {
    op: /^(logcumsumexp|cumprod|prod|pow|polygamma|div)_?$/,
    what: /grad.*(NaN|Infinity)/,
    why: "a gradient that is no number, or infinite, meets a zero",
  },
  {
    op: /^(remainder|fmod|atanh|sgn|log1p|polygamma)$/,
    what: /var/,
    why: "torch has no numbers below the least normal one",
  },
  { op: /^(hypot|addcdiv)$/, what: /grad/, why: "likewise, there" },
  {
    op: /^b?addb?m[mv]_?$/,
    what: /var/,
    why: "a factor of infinity, or of zero, is multiplied into each product or their sum",
  },
  { op: /^logit_?$/, what: /plain grad/, why: "torch's kernel loses the sign of a zero" },
  { op: /^logit_?$/, what: /second grad.*NaN/, why: "where the argument was brought to a bound nothing depends on it" },
  { op: /^index_fill_?$/, what: /Index to scalar/, why: "torch has no gradient of an index without elements" },
];

export const KNOWN: readonly Known[] = [...EVERYWHERE, ...AT_EDGES];

/** Whether all that differs is known; what belongs to edges, only `atEdges`. `failed`: torch answers with an error. */
export function isKnown(
  { calls, leaves }: Pick<Program, "calls" | "leaves">,
  reasons: readonly string[],
  atEdges: boolean,
  failed = false,
): boolean {
  const list = atEdges ? KNOWN : EVERYWHERE;
  const has = (dtypes: RegExp): boolean =>
    leaves.some(({ dt }) => dtypes.test(dt)) || calls.some((call) => dtypes.test(JSON.stringify(call)));
  const facts = { short: has(/\bb?f16\b|"half"|bfloat16/), complex: has(/\bc(64|128)\b|\$c|"cfloat"/), failed };
  return calls.some((call) => {
    const name = call.name.split(".").at(-1) as string;
    return reasons.every((reason) =>
      list.some(({ op, what, where }) => op.test(name) && what.test(reason) && (where?.(call, facts) ?? true)),
    );
  });
}

// What the sweep measures: operators with the same work in Python, element types, and layouts of the first operand.
import {
  arange,
  cat,
  contiguousFormat,
  type DTypeLike,
  F,
  fmax,
  isclose,
  isin,
  lerp,
  logaddexp,
  logicalAnd,
  logicalXor,
  manualSeed,
  maximum,
  minimum,
  rand,
  randint,
  randn,
  searchsorted,
  stack,
  type Tensor,
  where,
} from "zensor";

/** Operands of a row: `x` has the layout, the others are plain. */
export interface Operands {
  x: Tensor;
  /** Numbers from 1 to 6 where they are integers. */
  y: Tensor;
  /** Half true. */
  mask: Tensor;
  /** Random positions along the last dimension and along the first, one for each element. */
  last: Tensor;
  first: Tensor;
  /** Random rows. */
  rows: Tensor;
  /** Sixty-four numbers from 0 on. */
  edges: Tensor;
}

export type Operator = readonly [name: string, ours: (o: Operands) => unknown, python: string];

export const OPERATORS: readonly Operator[] = [
  ["abs", ({ x }) => x.abs(), "x.abs()"],
  ["neg", ({ x }) => x.neg(), "-x"],
  ["square", ({ x }) => x.square(), "x.square()"],
  ["exp", ({ x }) => x.exp(), "x.exp()"],
  ["log", ({ x }) => x.log(), "x.log()"],
  ["log1p", ({ x }) => x.log1p(), "x.log1p()"],
  ["sqrt", ({ x }) => x.sqrt(), "x.sqrt()"],
  ["tanh", ({ x }) => x.tanh(), "x.tanh()"],
  ["sigmoid", ({ x }) => x.sigmoid(), "x.sigmoid()"],
  ["sin", ({ x }) => x.sin(), "x.sin()"],
  ["relu", ({ x }) => x.relu(), "x.relu()"],
  ["clamp", ({ x }) => x.clamp(2, 50), "x.clamp(2, 50)"],
  ["isnan", ({ x }) => x.isnan(), "x.isnan()"],
  ["logicalNot", ({ x }) => x.logicalNot(), "x.logical_not()"],
  ["bitwiseNot", ({ x }) => x.bitwiseNot(), "x.bitwise_not()"],
  ["add a number", ({ x }) => x.add(3), "x + 3"],
  ["mul a number", ({ x }) => x.mul(3), "x * 3"],
  ["pow 3", ({ x }) => x.pow(3), "x ** 3"],
  ["to float32", ({ x }) => x.to("float32", { copy: true }), "x.to(torch.float32, copy=True)"],
  ["to bfloat16", ({ x }) => x.to("bfloat16", { copy: true }), "x.to(torch.bfloat16, copy=True)"],
  ["to int32", ({ x }) => x.to("int32", { copy: true }), "x.to(torch.int32, copy=True)"],
  ["to int64", ({ x }) => x.to("int64", { copy: true }), "x.to(torch.int64, copy=True)"],
  ["to uint8", ({ x }) => x.to("uint8", { copy: true }), "x.to(torch.uint8, copy=True)"],
  ["to bool", ({ x }) => x.to("bool", { copy: true }), "x.to(torch.bool, copy=True)"],
  ["clone", ({ x }) => x.clone(), "x.clone()"],
  [
    "contiguous",
    ({ x }) => x.clone({ memoryFormat: contiguousFormat }),
    "x.clone(memory_format=torch.contiguous_format)",
  ],
  ["add", ({ x, y }) => x.add(y), "x + y"],
  ["sub", ({ x, y }) => x.sub(y), "x - y"],
  ["mul", ({ x, y }) => x.mul(y), "x * y"],
  ["div", ({ x, y }) => x.div(y), "x / y"],
  ["floorDivide", ({ x, y }) => x.floorDivide(y), "x // y"],
  ["remainder", ({ x, y }) => x.remainder(y), "x % y"],
  ["maximum", ({ x, y }) => maximum(x, y), "torch.maximum(x, y)"],
  ["minimum", ({ x, y }) => minimum(x, y), "torch.minimum(x, y)"],
  ["eq", ({ x, y }) => x.eq(y), "x == y"],
  ["lt", ({ x, y }) => x.lt(y), "x < y"],
  ["logicalAnd", ({ x, y }) => logicalAnd(x, y), "torch.logical_and(x, y)"],
  ["bitwiseAnd", ({ x, y }) => x.bitwiseAnd(y), "x & y"],
  ["atan2", ({ x, y }) => x.atan2(y), "x.atan2(y)"],
  ["lerp", ({ x, y }) => lerp(x, y, 0.3), "torch.lerp(x, y, 0.3)"],
  ["addcmul", ({ x, y }) => x.addcmul(y, y), "x.addcmul(y, y)"],
  ["where", ({ x, y, mask }) => where(mask, x, y), "torch.where(mask, x, y)"],
  ["maskedFill", ({ x, mask }) => x.maskedFill(mask, 1), "x.masked_fill(mask, 1)"],
  ["sum", ({ x }) => x.sum(), "x.sum()"],
  ["sum 0", ({ x }) => x.sum(0), "x.sum(0)"],
  ["sum 1", ({ x }) => x.sum(1), "x.sum(1)"],
  ["mean 1", ({ x }) => x.mean(1), "x.mean(1)"],
  ["var 1", ({ x }) => x.var(1), "x.var(1)"],
  ["prod 1", ({ x }) => x.prod(1), "x.prod(1)"],
  ["max", ({ x }) => x.max(), "x.max()"],
  ["min", ({ x }) => x.min(), "x.min()"],
  ["amax 0", ({ x }) => x.amax(0), "x.amax(0)"],
  ["max 1", ({ x }) => x.max(1), "x.max(1)"],
  ["argmax", ({ x }) => x.argmax(), "x.argmax()"],
  ["all", ({ x }) => x.all(), "x.all()"],
  ["any 1", ({ x }) => x.any(1), "x.any(1)"],
  ["cumsum 0", ({ x }) => x.cumsum(0), "x.cumsum(0)"],
  ["cumsum 1", ({ x }) => x.cumsum(1), "x.cumsum(1)"],
  ["cumprod 1", ({ x }) => x.cumprod(1), "x.cumprod(1)"],
  ["softmax 0", ({ x }) => x.softmax(0), "x.softmax(0)"],
  ["softmax 1", ({ x }) => x.softmax(1), "x.softmax(1)"],
  ["logSoftmax 1", ({ x }) => x.logSoftmax(1), "x.log_softmax(1)"],
  ["gather 1", ({ x, last }) => x.gather(1, last), "x.gather(1, last)"],
  ["gather 0", ({ x, first }) => x.gather(0, first), "x.gather(0, first)"],
  ["indexSelect 0", ({ x, rows }) => x.indexSelect(0, rows), "x.index_select(0, rows)"],
  ["indexSelect 1", ({ x, rows }) => x.indexSelect(1, rows), "x.index_select(1, rows)"],
  ["scatterAdd 1", ({ x, y, last }) => x.scatterAdd(1, last, y), "x.scatter_add(1, last, y)"],
  ["cat 1", ({ x }) => cat([x, x], 1), "torch.cat([x, x], 1)"],
  ["stack 0", ({ x }) => stack([x, x]), "torch.stack([x, x])"],
  ["flip 1", ({ x }) => x.flip(1), "x.flip(1)"],
  ["sort 1", ({ x }) => x.sort(1), "x.sort(1)"],
  ["topk 1", ({ x }) => x.topk(5), "x.topk(5)"],
  ["acos", ({ x }) => x.acos(), "x.acos()"],
  ["acosh", ({ x }) => x.acosh(), "x.acosh()"],
  ["asin", ({ x }) => x.asin(), "x.asin()"],
  ["asinh", ({ x }) => x.asinh(), "x.asinh()"],
  ["atan", ({ x }) => x.atan(), "x.atan()"],
  ["atanh", ({ x }) => x.atanh(), "x.atanh()"],
  ["ceil", ({ x }) => x.ceil(), "x.ceil()"],
  ["floor", ({ x }) => x.floor(), "x.floor()"],
  ["round", ({ x }) => x.round(), "x.round()"],
  ["trunc", ({ x }) => x.trunc(), "x.trunc()"],
  ["frac", ({ x }) => x.frac(), "x.frac()"],
  ["cos", ({ x }) => x.cos(), "x.cos()"],
  ["tan", ({ x }) => x.tan(), "x.tan()"],
  ["cosh", ({ x }) => x.cosh(), "x.cosh()"],
  ["sinh", ({ x }) => x.sinh(), "x.sinh()"],
  ["deg2rad", ({ x }) => x.deg2rad(), "x.deg2rad()"],
  ["digamma", ({ x }) => x.digamma(), "x.digamma()"],
  ["lgamma", ({ x }) => x.lgamma(), "x.lgamma()"],
  ["erf", ({ x }) => x.erf(), "x.erf()"],
  ["erfc", ({ x }) => x.erfc(), "x.erfc()"],
  ["erfinv", ({ x }) => x.erfinv(), "x.erfinv()"],
  ["exp2", ({ x }) => x.exp2(), "x.exp2()"],
  ["expm1", ({ x }) => x.expm1(), "x.expm1()"],
  ["log2", ({ x }) => x.log2(), "x.log2()"],
  ["log10", ({ x }) => x.log10(), "x.log10()"],
  ["logit", ({ x }) => x.logit(), "x.logit()"],
  ["reciprocal", ({ x }) => x.reciprocal(), "x.reciprocal()"],
  ["rsqrt", ({ x }) => x.rsqrt(), "x.rsqrt()"],
  ["sign", ({ x }) => x.sign(), "x.sign()"],
  ["signbit", ({ x }) => x.signbit(), "x.signbit()"],
  ["sinc", ({ x }) => x.sinc(), "x.sinc()"],
  ["isfinite", ({ x }) => x.isfinite(), "x.isfinite()"],
  ["isinf", ({ x }) => x.isinf(), "x.isinf()"],
  ["nanToNum", ({ x }) => x.nanToNum(), "x.nan_to_num()"],
  ["clampMin", ({ x }) => x.clampMin(2), "x.clamp_min(2)"],
  ["eq a number", ({ x }) => x.eq(3), "x == 3"],
  ["div a number", ({ x }) => x.div(3), "x / 3"],
  ["remainder a number", ({ x }) => x.remainder(3), "x % 3"],
  ["fmod", ({ x, y }) => x.fmod(y), "x.fmod(y)"],
  ["pow", ({ x, y }) => x.pow(y), "x.pow(y)"],
  ["copysign", ({ x, y }) => x.copysign(y), "x.copysign(y)"],
  ["fmax", ({ x, y }) => fmax(x, y), "torch.fmax(x, y)"],
  ["gcd", ({ x, y }) => x.gcd(y), "torch.gcd(x, y)"],
  ["hypot", ({ x, y }) => x.hypot(y), "x.hypot(y)"],
  ["nextafter", ({ x, y }) => x.nextafter(y), "x.nextafter(y)"],
  ["heaviside", ({ x, y }) => x.heaviside(y), "x.heaviside(y)"],
  ["logaddexp", ({ x, y }) => logaddexp(x, y), "torch.logaddexp(x, y)"],
  ["xlogy", ({ x, y }) => x.xlogy(y), "x.xlogy(y)"],
  ["ldexp", ({ x, y }) => x.ldexp(y), "x.ldexp(y)"],
  ["bitwiseXor", ({ x, y }) => x.bitwiseXor(y), "x ^ y"],
  ["logicalXor", ({ x, y }) => logicalXor(x, y), "torch.logical_xor(x, y)"],
  ["addcdiv", ({ x, y }) => x.addcdiv(y, y), "x.addcdiv(y, y)"],
  ["isclose", ({ x, y }) => isclose(x, y), "torch.isclose(x, y)"],
  ["mse loss", ({ x, y }) => F.mseLoss(x, y), "torch.nn.functional.mse_loss(x, y)"],
  ["smooth l1 loss", ({ x, y }) => F.smoothL1Loss(x, y), "torch.nn.functional.smooth_l1_loss(x, y)"],
  ["min 0", ({ x }) => x.min(0), "x.min(0)"],
  ["amin 1", ({ x }) => x.amin(1), "x.amin(1)"],
  ["argmin 0", ({ x }) => x.argmin(0), "x.argmin(0)"],
  ["logsumexp 1", ({ x }) => x.logsumexp(1), "x.logsumexp(1)"],
  ["norm", ({ x }) => x.norm(), "x.norm()"],
  ["norm 1", ({ x }) => x.norm(2, 1), "x.norm(2, 1)"],
  ["nansum", ({ x }) => x.nansum(), "x.nansum()"],
  ["std", ({ x }) => x.std(), "x.std()"],
  ["std 0", ({ x }) => x.std(0), "x.std(0)"],
  ["median", ({ x }) => x.median(), "x.median()"],
  ["median 1", ({ x }) => x.median(1), "x.median(1)"],
  ["mode 1", ({ x }) => x.mode(1), "x.mode(1)"],
  ["kthvalue 1", ({ x }) => x.kthvalue(5, 1), "x.kthvalue(5, 1)"],
  ["quantile 1", ({ x }) => x.quantile(0.3, 1), "x.quantile(0.3, 1)"],
  ["cummax 1", ({ x }) => x.cummax(1), "x.cummax(1)"],
  ["logcumsumexp 1", ({ x }) => x.logcumsumexp(1), "x.logcumsumexp(1)"],
  ["diff", ({ x }) => x.diff(), "x.diff()"],
  ["equal", ({ x }) => x.equal(x), "x.equal(x)"],
  ["repeat", ({ x }) => x.repeat(2, 1), "x.repeat(2, 1)"],
  ["repeatInterleave 0", ({ x }) => x.repeatInterleave(2, 0), "x.repeat_interleave(2, 0)"],
  ["roll 1", ({ x }) => x.roll(3, 1), "x.roll(3, 1)"],
  ["rot90", ({ x }) => x.rot90(), "x.rot90()"],
  ["tile", ({ x }) => x.tile(1, 2), "x.tile(1, 2)"],
  ["unfold", ({ x }) => x.unfold(1, 4, 4).contiguous(), "x.unfold(1, 4, 4).contiguous()"],
  ["argsort 0", ({ x }) => x.argsort(0), "x.argsort(0)"],
  ["searchsorted", ({ x, edges }) => searchsorted(edges, x), "torch.searchsorted(edges, x)"],
  ["isin", ({ x, edges }) => isin(x, edges), "torch.isin(x, edges)"],
  ["unique", ({ x }) => x.unique(), "x.unique()"],
  ["nonzero", ({ mask }) => mask.nonzero(), "mask.nonzero()"],
  ["maskedSelect", ({ x, mask }) => x.maskedSelect(mask), "x.masked_select(mask)"],
  ["maskedScatter", ({ x, y, mask }) => x.maskedScatter(mask, y), "x.masked_scatter(mask, y)"],
  ["indexAdd 0", ({ x, y, rows }) => x.indexAdd(0, rows, y), "x.index_add(0, rows, y)"],
  ["indexCopy 0", ({ x, y, rows }) => x.indexCopy(0, rows, y), "x.index_copy(0, rows, y)"],
  ["indexFill 1", ({ x, rows }) => x.indexFill(1, rows, 1), "x.index_fill(1, rows, 1)"],
  ["at rows", ({ x, rows }) => x.at(rows), "x[rows]"],
  ["at rows and columns", ({ x, last, first }) => x.at(last, first), "x[last, first]"],
  [
    "indexPut, added",
    ({ x, y, last, first }) => x.indexPut([last, first], y, true),
    "x.index_put((last, first), y, True)",
  ],
  ["scatter 1", ({ x, y, last }) => x.scatter(1, last, y), "x.scatter(1, last, y)"],
  ["take", ({ x, last }) => x.take(last), "x.take(last)"],
  ["takeAlongDim", ({ x, first }) => x.takeAlongDim(first, 0), "x.take_along_dim(first, 0)"],
];

export const DTYPES = ["float32", "float64", "bfloat16", "int32", "int64", "uint8", "bool"] as const;
export const LAYOUTS = ["contiguous", "transposed", "every second column", "broadcast"] as const;

/** Rows and columns. */
export const SIZES = [1000, 32] as const;

type Layout = (typeof LAYOUTS)[number];

/** The shape that holds `x`, and how `x` is seen in it. */
function laid(layout: Layout, n: number): { shape: [number, number]; view(x: Tensor): Tensor; python: string } {
  switch (layout) {
    case "contiguous":
      return { shape: [n, n], view: (x) => x, python: "" };
    case "transposed":
      return { shape: [n, n], view: (x) => x.t(), python: ".t()" };
    case "every second column":
      return { shape: [n, 2 * n], view: (x) => x.slice(1, 0, 2 * n, 2), python: "[:, ::2]" };
    case "broadcast":
      return { shape: [1, n], view: (x) => x.expand(n, n), python: `.expand(${n}, ${n})` };
  }
}

/** Makes operands of one kind. */
export function operands(dtype: string, layout: Layout, n: number): Operands {
  const { shape, view } = laid(layout, n);
  manualSeed(1);
  return {
    x: view(values(dtype, shape, 100)),
    y: values(dtype, [n, n], 7),
    mask: rand([n, n]).gt(0.5),
    last: randint(0, n, [n, n]),
    first: randint(0, n, [n, n]),
    rows: randint(0, n, [n]),
    edges: arange(64).to(dtype as DTypeLike),
  };
}

function values(dtype: string, shape: number[], below: number): Tensor {
  if (dtype === "bool") return rand(shape).gt(0.5);
  if (/int/.test(dtype)) return randint(1, below, shape, { dtype: dtype as DTypeLike });
  return randn(shape).to(dtype as DTypeLike);
}

/** The same in Python. */
export function pythonSetup(dtype: string, layout: Layout, n: number): string {
  const { shape, python } = laid(layout, n);
  const make = (size: string, below: number) => {
    if (dtype === "bool") return `(torch.rand(${size}) > 0.5)`;
    if (/int/.test(dtype)) return `torch.randint(1, ${below}, (${size}), dtype=torch.${dtype})`;
    return `torch.randn(${size}).to(torch.${dtype})`;
  };
  const square = `${n}, ${n}`;
  return [
    "torch.manual_seed(1)",
    `x = ${make(shape.join(", "), 100)}${python}`,
    `y = ${make(square, 7)}`,
    `mask = torch.rand(${square}) > 0.5`,
    `last, first = torch.randint(0, ${n}, (${square})), torch.randint(0, ${n}, (${square}))`,
    `rows = torch.randint(0, ${n}, (${n},))`,
    `edges = torch.arange(64).to(torch.${dtype})`,
  ].join("\n");
}

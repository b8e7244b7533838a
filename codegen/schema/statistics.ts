/** Reductions of other kinds: logarithms of sums, quantiles. */
import type { OpSchema } from "../model/types.ts";

const all = { kind: "op", args: { self: "Tensor" }, variants: ["function", "method", "out"] } as const;

const quantiles = {
  kind: "composite",
  grad: "composite",
  kwargs: { interpolation: ["String", "linear"] },
  variants: ["function", "method", "out"],
} as const;

export const ops = [
  {
    ...all,
    name: "logsumexp",
    args: { self: "Tensor", dim: "Dims", keepdim: ["Bool", false] },
    impl: "reduce_logs.logsumexp",
    node: "LogsumexpBackward0",
    doc:
      "The logarithm of the sum of the exponentials over one or several dimensions, computed without overflow. " +
      "Integers and bools give the default float dtype.",
    grad: { self: "logsumexpBackward(grad, self, result, dim, keepdim)" },
    throws: ["IndexError for a dimension out of range", "RuntimeError for an `out` of integers or bools"],
    example: "tensor([0, 0]).logsumexp(0) // tensor(0.6931)",
  },
  {
    ...quantiles,
    name: "quantile",
    args: { self: "Tensor", q: "Tensor", dim: "Dim?", keepdim: ["Bool", false] },
    impl: "composites.quantile",
    doc: "Quantiles for each of several shares, along a new first dimension.",
  },
  {
    ...quantiles,
    name: "quantile",
    overload: "scalar",
    args: { self: "Tensor", q: "Float", dim: "Dim?", keepdim: ["Bool", false] },
    impl: "composites.quantile",
    doc:
      "The element below which the share `q` of the elements lies, along a dimension, or of all " +
      'elements. Between two of them `interpolation` decides: "linear", "lower", "higher", "midpoint" or "nearest".',
    throws: ["RuntimeError for a share beyond 0 and 1, and for dtypes other than float32 and float64"],
    example: "tensor([1, 2, 3, 4]).quantile(0.5) // tensor(2.5000)",
  },
  {
    ...quantiles,
    name: "nanquantile",
    args: { self: "Tensor", q: "Tensor", dim: "Dim?", keepdim: ["Bool", false] },
    impl: "composites.nanquantile",
    doc: "As `quantile` of several shares, without the elements that are no numbers.",
  },
  {
    ...quantiles,
    name: "nanquantile",
    overload: "scalar",
    args: { self: "Tensor", q: "Float", dim: "Dim?", keepdim: ["Bool", false] },
    impl: "composites.nanquantile",
    doc:
      "As `quantile` without the elements that are no numbers, along a dimension, or of all " +
      'elements. Between two of them `interpolation` decides: "linear", "lower", "higher", "midpoint" or "nearest".',
    throws: ["RuntimeError for a share beyond 0 and 1, and for dtypes other than float32 and float64"],
    example: "tensor([1, NaN, 3]).nanquantile(0.5) // tensor(2.)",
  },
  {
    ...all,
    name: "nansum",
    args: { self: "Tensor", dim: "Dims?", keepdim: ["Bool", false] },
    kwargs: { dtype: "DType?" },
    kernels: { cpu: ["reduce.sum"] },
    impl: "reduce_nan.nansum",
    node: "NansumBackward0",
    doc:
      "The sum over one or several dimensions, all of them without a dimension; elements that are no " +
      "numbers count as 0.",
    grad: { self: "nansumBackward(grad, self, dim, keepdim)" },
    throws: ["NotImplementedError for complex tensors"],
    example: "tensor([1, NaN, 2]).nansum() // tensor(3.)",
  },
  {
    name: "nanmean",
    kind: "composite",
    grad: "composite",
    variants: ["function", "method", "out"],
    args: { self: "Tensor", dim: "Dims?", keepdim: ["Bool", false] },
    kwargs: { dtype: "DType?" },
    impl: "composites.nanmean",
    doc: "The mean over one or several dimensions of the elements that are numbers.",
    throws: ["NotImplementedError for integers, bools and complex tensors"],
    example: "tensor([1, NaN, 3]).nanmean() // tensor(2.)",
  },
  {
    name: "diff",
    kind: "composite",
    grad: "composite",
    variants: ["function", "method", "out"],
    args: { self: "Tensor", n: ["Int", 1], dim: ["Dim", -1], prepend: "Tensor?", append: "Tensor?" },
    impl: "composites.diff",
    doc:
      "What each element along a dimension is more than the one before it, `n` times over. `prepend` " +
      "and `append` are " +
      "joined to the ends first.",
    throws: ["RuntimeError for a negative order and for a tensor without dimensions"],
    example: "tensor([1, 3, 2]).diff() // tensor([ 2., -1.])",
  },
] as const satisfies readonly OpSchema[];

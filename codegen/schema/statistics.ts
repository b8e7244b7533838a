/** Reductions of other kinds: logarithms of sums, quantiles. */
import type { OpSchema } from "../model/types.ts";

const all = { kind: "op", args: { self: "Tensor" }, variants: ["function", "method", "out"] } as const;

const quantiles = {
  kind: "composite",
  grad: "composite",
  kwargs: { interpolation: ["String", "linear"] },
  variants: ["function", "method", "out"],
} as const;

/** What torch has no kernel for. */
const unordered = ["bool", "complex", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"] as const;
const modeless = ["complex", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"] as const;
const picked = {
  kind: "op",
  args: { self: "Tensor", dim: ["Dim", -1], keepdim: ["Bool", false] },
  variants: ["function", "method", "out"],
  results: ["values", "indices"],
  nonDifferentiable: [1],
  kernels: { cpu: ["sort.pick"] },
  grad: { self: "selectedBackward(grad, dim, result1, self.shape, keepdim)" },
} as const;
const ofAll = {
  kind: "op",
  args: { self: "Tensor" },
  variants: ["function", "method"],
  batch: "whole",
  kernels: { cpu: ["sort.pick"] },
  grad: { self: "extremeBackward(grad, self, result)" },
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
    jvp: "reduction",
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
    checkedAs: { by: "kernel" },
    args: { self: "Tensor", dim: "Dims?", keepdim: ["Bool", false] },
    kwargs: { dtype: "DType?" },
    kernels: { cpu: ["reduce.sum"] },
    impl: "reduce_nan.nansum",
    node: "NansumBackward0",
    doc:
      "The sum over one or several dimensions, all of them without a dimension; elements that are no " +
      "numbers count as 0.",
    grad: { self: "nansumBackward(grad, self, dim, keepdim)" },
    jvp: "reduction",
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
  {
    ...ofAll,
    batch: "each",
    name: "median",
    realGradients: true,
    impl: "order_statistics.median",
    refuses: [{ dtypes: unordered, kernel: "median_cpu" }],
    node: "MedianBackward0",
    doc: "The element in the middle of all, the lower one of two; NaN if there is one.",
    throws: ["NotImplementedError for bools and complex tensors"],
    example: "tensor([3, 1, 2, 9]).median() // tensor(2.)",
    jvp: "reduction",
  },
  {
    ...picked,
    name: "median",
    realGradients: true,
    overload: "dim",
    args: { self: "Tensor", dim: "Dim", keepdim: ["Bool", false] },
    impl: "order_statistics.medianDim",
    refuses: [{ dtypes: unordered, kernel: "median_out" }],
    node: "MedianBackward1",
    doc: "The elements in the middle along a dimension, the lower one of two, and where they are; NaN if there is one.",
    example: "tensor([[3, 1, 2], [9, 7, 8]]).median(1).values // tensor([2., 8.])",
    jvp: { self: "selectedTangent(tangent, dim, result1, keepdim)" },
  },
  {
    ...ofAll,
    batch: "each",
    name: "nanmedian",
    realGradients: true,
    impl: "order_statistics.nanmedian",
    node: "NanmedianBackward0",
    doc: "As `median` of the elements that are numbers.",
    throws: ["NotImplementedError for bools and complex tensors"],
    example: "tensor([3, NaN, 1, 2]).nanmedian() // tensor(2.)",
    jvp: "reduction",
  },
  {
    ...picked,
    name: "nanmedian",
    realGradients: true,
    overload: "dim",
    args: { self: "Tensor", dim: "Dim", keepdim: ["Bool", false] },
    impl: "order_statistics.nanmedianDim",
    node: "NanmedianBackward1",
    doc: "As `median` along a dimension, of the elements that are numbers.",
    example: "tensor([[3, NaN, 2]]).nanmedian(1).values // tensor([2.])",
    jvp: { self: "selectedTangent(tangent, dim, result1, keepdim)" },
  },
  {
    ...picked,
    name: "mode",
    realGradients: true,
    impl: "order_statistics.mode",
    refuses: [{ dtypes: modeless, kernel: "mode_cpu" }],
    node: "ModeBackward0",
    doc: "The most frequent element along a dimension, the least of several, and where it is last.",
    throws: ["NotImplementedError for complex tensors"],
    example: "tensor([3, 1, 3, 2]).mode().values // tensor(3.)",
    jvp: { self: "selectedTangent(tangent, dim, result1, keepdim)" },
  },
  {
    ...picked,
    name: "kthvalue",
    realGradients: true,
    args: { self: "Tensor", k: "Int", dim: ["Dim", -1], keepdim: ["Bool", false] },
    impl: "order_statistics.kthvalue",
    refuses: [{ dtypes: unordered, kernel: "kthvalue_cpu" }],
    node: "KthvalueBackward0",
    doc: "The `k`-th smallest element along a dimension, counted from one, and where it is.",
    throws: ["RuntimeError for a `k` out of range", "NotImplementedError for bools and complex tensors"],
    example: "tensor([3, 1, 4, 1, 5]).kthvalue(3).values // tensor(3.)",
    jvp: { self: "selectedTangent(tangent, dim, result1, keepdim)" },
  },
  {
    name: "bincount",
    kind: "composite",
    grad: "composite",
    batch: { refused: "the size of the result depends on the elements of each example" },
    args: { self: "Tensor", weights: "Tensor?", minlength: ["Int", 0] },
    variants: ["function", "method"],
    impl: "composites.bincount",
    doc:
      "How often each whole number from 0 on occurs in a vector, or the sum of the weights of its places; at least " +
      "`minlength` counts.",
    throws: [
      "RuntimeError for negative numbers and for weights of another length",
      "NotImplementedError but for integers",
    ],
    example: "bincount(tensor([1n, 3n, 3n])) // tensor([0, 1, 0, 2])",
  },
] as const satisfies readonly OpSchema[];

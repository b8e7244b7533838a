/** Reductions: sums, products, means, extremes, truth values, moments and running sums. */
import type { OpSchema } from "../model/types.ts";

const all = { kind: "op", args: { self: "Tensor" }, variants: ["function", "method", "out"] } as const;
const byDim = { ...all, args: { self: "Tensor", dim: "Dim", keepdim: ["Bool", false] } } as const;
const byDims = { ...all, args: { self: "Tensor", dim: "Dims?", keepdim: ["Bool", false] } } as const;
const typed = { dtype: "DType?" } as const;
const pair = { ...byDim, results: ["values", "indices"], nonDifferentiable: [1] } as const;
const close = { self: "Tensor", other: "Tensor", rtol: ["Float", 1e-5], atol: ["Float", 1e-8], equal_nan: ["Bool", false] } as const;
const selected = "selectedBackward(grad, dim, result1, self.shape, keepdim)";
const tied = "extremeBackward(grad, self, result, dim, keepdim)";

export const ops = [
  {
    ...all, name: "sum", kwargs: typed, kernels: ["reduce.sum"], impl: "reduce.sum", node: "SumBackward0",
    doc: "The sum of all elements. Integers and bools are summed in int64; `dtype` converts the elements first.",
    grad: { self: "grad.expand(self.shape)" },
    example: "tensor([[1, 2], [3, 4]]).sum() // tensor(10.)",
  },
  {
    ...byDims, name: "sum", overload: "dim_IntList", kwargs: typed, kernels: ["reduce.sum"], impl: "reduce.sumDims", node: "SumBackward1",
    doc: "The sum over one or several dimensions; all of them without a dimension.",
    grad: { self: "sumBackward(grad, self.shape, dim, keepdim)" },
    throws: ["IndexError for a dimension out of range", "RuntimeError for a dimension given twice"],
    example: "tensor([[1, 2], [3, 4]]).sum(0, { keepdim: true }) // tensor([[4., 6.]])",
  },
  {
    ...all, name: "mean", kwargs: typed, kernels: ["reduce.sum"], impl: "reduce.mean", node: "MeanBackward0",
    doc: "The mean of all elements, which must be floating or complex.",
    grad: { self: "meanBackward(grad, self.shape, null, false)" },
    throws: ["NotImplementedError for integers and bools"],
    example: "tensor([[1, 2], [3, 4]]).mean() // tensor(2.5000)",
  },
  {
    ...byDims, name: "mean", overload: "dim", kwargs: typed, kernels: ["reduce.sum"], impl: "reduce.meanDims", node: "MeanBackward1",
    doc: "The mean over one or several dimensions.",
    grad: { self: "meanBackward(grad, self.shape, dim, keepdim)" },
    example: "tensor([[1, 2], [3, 4]]).mean(0) // tensor([2., 3.])",
  },
  {
    ...all, name: "prod", kwargs: typed, kernels: ["reduce.prod"], impl: "reduce.prod", node: "ProdBackward0",
    doc: "The product of all elements. Integers and bools are multiplied in int64.",
    grad: { self: "prodBackward(grad, self, null, false)" },
    example: "tensor([2, 3, 4]).prod() // tensor(24.)",
  },
  {
    ...byDim, name: "prod", overload: "dim_int", kwargs: typed, kernels: ["reduce.prod"], impl: "reduce.prodDim", node: "ProdBackward1",
    doc: "The product over one dimension.",
    grad: { self: "prodBackward(grad, self, dim, keepdim)" },
    example: "tensor([[1, 2], [3, 4]]).prod(1) // tensor([ 2., 12.])",
  },
  {
    ...all, name: "max", kernels: ["reduce.max"], impl: "reduce_extremes.max", node: "MaxBackward1",
    doc: "The largest element; NaN if there is one.",
    grad: { self: "extremeBackward(grad, self, result, null, false)" },
    throws: ["RuntimeError for a tensor without elements", "NotImplementedError for complex tensors"],
    example: "tensor([1, 5, 3]).max() // tensor(5.)",
  },
  {
    name: "max", overload: "other", kind: "composite", args: { self: "Tensor", other: "Tensor" }, variants: ["function", "method", "out"],
    impl: "composites.maxOther", grad: "composite",
    doc: "The larger of two elements; the same as `maximum`.",
    example: "tensor([1, 5]).max(tensor([3, 2])) // tensor([3., 5.])",
  },
  {
    ...pair, name: "max", overload: "dim", kernels: ["reduce.arg_max"], impl: "reduce_extremes.maxDim", node: "MaxBackward0",
    doc: "The largest elements along a dimension and the positions of the first of them.",
    grad: { self: selected },
    example: "tensor([[1, 5], [7, 2]]).max(1).values // tensor([5., 7.])",
  },
  {
    ...all, name: "min", kernels: ["reduce.min"], impl: "reduce_extremes.min", node: "MinBackward1",
    doc: "The smallest element; NaN if there is one.",
    grad: { self: "extremeBackward(grad, self, result, null, false)" },
    throws: ["RuntimeError for a tensor without elements", "NotImplementedError for complex tensors"],
    example: "tensor([4, 2, 3]).min() // tensor(2.)",
  },
  {
    name: "min", overload: "other", kind: "composite", args: { self: "Tensor", other: "Tensor" }, variants: ["function", "method", "out"],
    impl: "composites.minOther", grad: "composite",
    doc: "The smaller of two elements; the same as `minimum`.",
    example: "tensor([1, 5]).min(tensor([3, 2])) // tensor([1., 2.])",
  },
  {
    ...pair, name: "min", overload: "dim", kernels: ["reduce.arg_min"], impl: "reduce_extremes.minDim", node: "MinBackward0",
    doc: "The smallest elements along a dimension and the positions of the first of them.",
    grad: { self: selected },
    example: "tensor([[1, 5], [7, 2]]).min(1).indices // tensor([0, 1])",
  },
  {
    ...byDims, name: "amax", kernels: ["reduce.max"], impl: "reduce_extremes.amax", node: "AmaxBackward0",
    doc: "The largest elements over one or several dimensions. The gradient is shared equally among ties.",
    grad: { self: tied },
    throws: ["RuntimeError for a tensor without elements and no dimension"],
    example: "tensor([[1, 5], [7, 2]]).amax(1) // tensor([5., 7.])",
  },
  {
    ...byDims, name: "amin", kernels: ["reduce.min"], impl: "reduce_extremes.amin", node: "AminBackward0",
    doc: "The smallest elements over one or several dimensions. The gradient is shared equally among ties.",
    grad: { self: tied },
    throws: ["RuntimeError for a tensor without elements and no dimension"],
    example: "tensor([[1, 5], [7, 2]]).amin(1) // tensor([1., 2.])",
  },
  {
    ...all, name: "argmax", args: { self: "Tensor", dim: "Dim?", keepdim: ["Bool", false] }, kernels: ["reduce.arg_max"], impl: "reduce_extremes.argmax", grad: "none",
    doc: "The position of the first largest element along a dimension, or among all elements in row-major order.",
    throws: ["IndexError for a tensor without elements"],
    example: "tensor([[1, 5], [7, 2]]).argmax() // tensor(2)",
  },
  {
    ...all, name: "argmin", args: { self: "Tensor", dim: "Dim?", keepdim: ["Bool", false] }, kernels: ["reduce.arg_min"], impl: "reduce_extremes.argmin", grad: "none",
    doc: "The position of the first smallest element along a dimension, or among all elements in row-major order.",
    throws: ["IndexError for a tensor without elements"],
    example: "tensor([[1, 5], [7, 2]]).argmin(1) // tensor([0, 1])",
  },
  {
    ...all, name: "all", kernels: ["reduce.min"], impl: "reduce.all", grad: "none",
    doc: "True when every element is nonzero.",
    example: "tensor([1, 0]).all() // tensor(False)",
  },
  {
    ...byDims, name: "all", overload: "dims", kernels: ["reduce.min"], impl: "reduce.allDims", grad: "none",
    doc: "True where every element over the dimensions is nonzero; an empty list of dimensions reduces nothing.",
    example: "tensor([[1, 0], [1, 1]]).all(1) // tensor([False,  True])",
  },
  {
    ...all, name: "any", kernels: ["reduce.max"], impl: "reduce.any", grad: "none",
    doc: "True when some element is nonzero.",
    example: "tensor([1, 0]).any() // tensor(True)",
  },
  {
    ...byDims, name: "any", overload: "dims", kernels: ["reduce.max"], impl: "reduce.anyDims", grad: "none",
    doc: "True where some element over the dimensions is nonzero; an empty list of dimensions reduces nothing.",
    example: "tensor([[1, 0], [0, 0]]).any(1) // tensor([ True, False])",
  },
  {
    name: "equal", kind: "op", args: { self: "Tensor", other: "Tensor" }, variants: ["function", "method"], kernels: ["reduce.equal"], impl: "reduce_close.equal", grad: "none",
    doc: "True when both tensors have the same shape and equal elements, of any dtypes. NaN equals nothing.",
    example: "equal(tensor([1, 2]), tensor([1, 2])) // true",
  },
  {
    name: "isclose", kind: "op", args: close, variants: ["function", "method"], kernels: ["reduce.isclose"], impl: "reduce_close.isclose", grad: "none",
    doc: "True where |self - other| <= atol + rtol * |other|, or both are equal; with `equalNan` also where both are NaN.",
    throws: ["RuntimeError when the dtypes differ or a tolerance is negative"],
    example: "isclose(tensor([1, 2]), tensor([1.0000001, 2.1])) // tensor([ True, False])",
  },
  {
    name: "allclose", kind: "op", args: close, variants: ["function", "method"], kernels: ["reduce.isclose"], impl: "reduce_close.allclose", grad: "none",
    doc: "True when all elements are close in the sense of `isclose`.",
    throws: ["RuntimeError when the dtypes differ or a tolerance is negative"],
    example: "allclose(tensor([1, 2]), tensor([1, 2.00000001])) // true",
  },
  {
    ...all, name: "cumsum", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", dim: "Dim" }, kwargs: typed, kernels: ["scan.sum"], impl: "reduce_scan.cumsum", node: "CumsumBackward0",
    doc: "The running sum along a dimension. Integers and bools are summed in int64.",
    grad: { self: "cumsumBackward(grad, dim)" },
    example: "tensor([1, 2, 3]).cumsum(0) // tensor([1., 3., 6.])",
  },
  {
    ...byDims, name: "var", aliases: ["variance"], overload: "dim", args: { self: "Tensor", dim: "Dims?", unbiased: ["Bool", true], keepdim: ["Bool", false] }, kernels: ["reduce.moments"], impl: "reduce_moments.variDims", node: "VarBackward0",
    doc: "The variance over one or several dimensions; `unbiased: false` divides by the count itself.",
    grad: { self: "varBackward(grad, self, dim, unbiased ? 1 : 0, keepdim)" },
    throws: ["NotImplementedError for integers and bools"],
    example: "tensor([[1, 3], [2, 6]]).var(1) // tensor([2., 8.])",
  },
  {
    ...all, name: "var", aliases: ["variance"], overload: "correction", args: { self: "Tensor", dim: "Dims?" }, kwargs: { correction: "Scalar?", keepdim: ["Bool", false] }, kernels: ["reduce.moments"], impl: "reduce_moments.vari", node: "VarBackward0",
    doc: "The variance, with the count less `correction` (1 unless given) as the divisor.",
    grad: { self: "varBackward(grad, self, dim, correction, keepdim)" },
    example: "tensor([1, 3]).var({ correction: 0 }) // tensor(1.)",
  },
  {
    ...all, name: "var", aliases: ["variance"], overload: "unbiased", args: { self: "Tensor", unbiased: ["Bool", true] }, kernels: ["reduce.moments"], impl: "reduce_moments.variUnbiased", node: "VarBackward0",
    doc: "The variance of all elements.",
    grad: { self: "varBackward(grad, self, null, unbiased ? 1 : 0, false)" },
    example: "tensor([1, 3]).var(false) // tensor(1.)",
  },
  {
    ...byDims, name: "std", overload: "dim", args: { self: "Tensor", dim: "Dims?", unbiased: ["Bool", true], keepdim: ["Bool", false] }, kernels: ["reduce.moments"], impl: "reduce_moments.stdDims", node: "StdBackward0",
    doc: "The standard deviation over one or several dimensions; `unbiased: false` divides by the count itself.",
    grad: { self: "stdBackward(grad, self, result, dim, unbiased ? 1 : 0, keepdim)" },
    throws: ["NotImplementedError for integers and bools"],
    example: "tensor([[1, 3], [2, 6]]).std(1) // tensor([1.4142, 2.8284])",
  },
  {
    ...all, name: "std", overload: "correction", args: { self: "Tensor", dim: "Dims?" }, kwargs: { correction: "Scalar?", keepdim: ["Bool", false] }, kernels: ["reduce.moments"], impl: "reduce_moments.std", node: "StdBackward0",
    doc: "The standard deviation, with the count less `correction` (1 unless given) as the divisor.",
    grad: { self: "stdBackward(grad, self, result, dim, correction, keepdim)" },
    example: "tensor([1, 3]).std({ correction: 0 }) // tensor(1.)",
  },
  {
    ...all, name: "std", overload: "unbiased", args: { self: "Tensor", unbiased: ["Bool", true] }, kernels: ["reduce.moments"], impl: "reduce_moments.stdUnbiased", node: "StdBackward0",
    doc: "The standard deviation of all elements.",
    grad: { self: "stdBackward(grad, self, result, null, unbiased ? 1 : 0, false)" },
    example: "tensor([1, 3]).std(false) // tensor(1.)",
  },
  {
    kind: "op", variants: ["function"], name: "var_mean", kernels: ["reduce.moments"], results: ["var", "mean"], node: "VarMeanBackward0", overload: "dim", args: { self: "Tensor", dim: "Dims?", unbiased: ["Bool", true], keepdim: ["Bool", false] }, impl: "reduce_moments.varMeanDims",
    doc: "The variance and the mean over one or several dimensions.",
    grad: { self: "varMeanBackward(grads, self, dim, unbiased ? 1 : 0, keepdim)" },
    example: "varMean(tensor([[1, 3], [2, 6]]), 1).mean // tensor([2., 4.])",
  },
  {
    kind: "op", variants: ["function"], name: "var_mean", kernels: ["reduce.moments"], results: ["var", "mean"], node: "VarMeanBackward0", overload: "correction", args: { self: "Tensor", dim: "Dims?" }, kwargs: { correction: "Scalar?", keepdim: ["Bool", false] }, impl: "reduce_moments.varMean",
    doc: "The variance, with the count less `correction` as the divisor, and the mean.",
    grad: { self: "varMeanBackward(grads, self, dim, correction, keepdim)" },
  },
  {
    kind: "op", variants: ["function"], name: "var_mean", kernels: ["reduce.moments"], results: ["var", "mean"], node: "VarMeanBackward0", overload: "unbiased", args: { self: "Tensor", unbiased: ["Bool", true] }, impl: "reduce_moments.varMeanUnbiased",
    doc: "The variance and the mean of all elements.",
    grad: { self: "varMeanBackward(grads, self, null, unbiased ? 1 : 0, false)" },
  },
  {
    kind: "op", variants: ["function"], name: "std_mean", kernels: ["reduce.moments"], results: ["std", "mean"], node: "StdMeanBackward0", overload: "dim", args: { self: "Tensor", dim: "Dims?", unbiased: ["Bool", true], keepdim: ["Bool", false] }, impl: "reduce_moments.stdMeanDims",
    doc: "The standard deviation and the mean over one or several dimensions.",
    grad: { self: "stdMeanBackward(grads, self, result0, dim, unbiased ? 1 : 0, keepdim)" },
    example: "stdMean(tensor([[1, 3], [2, 6]]), 1).mean // tensor([2., 4.])",
  },
  {
    kind: "op", variants: ["function"], name: "std_mean", kernels: ["reduce.moments"], results: ["std", "mean"], node: "StdMeanBackward0", overload: "correction", args: { self: "Tensor", dim: "Dims?" }, kwargs: { correction: "Scalar?", keepdim: ["Bool", false] }, impl: "reduce_moments.stdMean",
    doc: "The standard deviation, with the count less `correction` as the divisor, and the mean.",
    grad: { self: "stdMeanBackward(grads, self, result0, dim, correction, keepdim)" },
  },
  {
    kind: "op", variants: ["function"], name: "std_mean", kernels: ["reduce.moments"], results: ["std", "mean"], node: "StdMeanBackward0", overload: "unbiased", args: { self: "Tensor", unbiased: ["Bool", true] }, impl: "reduce_moments.stdMeanUnbiased",
    doc: "The standard deviation and the mean of all elements.",
    grad: { self: "stdMeanBackward(grads, self, result0, null, unbiased ? 1 : 0, false)" },
  },
] as const satisfies readonly OpSchema[];

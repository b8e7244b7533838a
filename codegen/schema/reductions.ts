/** Reductions: sums, products, means, extremes, truth values, moments and running sums. */
import type { OpSchema } from "../model/types.ts";

const all = { kind: "op", args: { self: "Tensor" }, variants: ["function", "method", "out"] } as const;
const byDim = { ...all, args: { self: "Tensor", dim: "Dim", keepdim: ["Bool", false] } } as const;
const byDims = { ...all, args: { self: "Tensor", dim: "Dims?", keepdim: ["Bool", false] } } as const;
const typed = { dtype: "DType?" } as const;
const pair = { ...byDim, results: ["values", "indices"], nonDifferentiable: [1] } as const;
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
    ...pair, name: "max", overload: "dim", kernels: ["reduce.arg_max"], impl: "reduce_extremes.maxDim", node: "MaxBackward0",
    doc: "The largest elements along a dimension and the positions of the first of them.",
    grad: { self: selected },
    example: "tensor([[1, 5], [7, 2]]).max(1).values // tensor([5., 7.])",
  },
  {
    name: "max", overload: "other", kind: "composite", args: { self: "Tensor", other: "Tensor" }, variants: ["function", "method", "out"],
    impl: "composites.maxOther", grad: "composite",
    doc: "The larger of two elements; the same as `maximum`.",
    example: "tensor([1, 5]).max(tensor([3, 2])) // tensor([3., 5.])",
  },
  {
    ...all, name: "min", kernels: ["reduce.min"], impl: "reduce_extremes.min", node: "MinBackward1",
    doc: "The smallest element; NaN if there is one.",
    grad: { self: "extremeBackward(grad, self, result, null, false)" },
    throws: ["RuntimeError for a tensor without elements", "NotImplementedError for complex tensors"],
    example: "tensor([4, 2, 3]).min() // tensor(2.)",
  },
  {
    ...pair, name: "min", overload: "dim", kernels: ["reduce.arg_min"], impl: "reduce_extremes.minDim", node: "MinBackward0",
    doc: "The smallest elements along a dimension and the positions of the first of them.",
    grad: { self: selected },
    example: "tensor([[1, 5], [7, 2]]).min(1).indices // tensor([0, 1])",
  },
  {
    name: "min", overload: "other", kind: "composite", args: { self: "Tensor", other: "Tensor" }, variants: ["function", "method", "out"],
    impl: "composites.minOther", grad: "composite",
    doc: "The smaller of two elements; the same as `minimum`.",
    example: "tensor([1, 5]).min(tensor([3, 2])) // tensor([1., 2.])",
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
] as const satisfies readonly OpSchema[];

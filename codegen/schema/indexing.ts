/** Operators that read or write chosen elements. */
import type { OpSchema } from "../model/types.ts";

const op = { kind: "op", variants: ["function", "method"] } as const;
const writing = { kind: "op", variants: ["function", "method", "inplace"] } as const;
const full = { kind: "op", variants: ["function", "method", "inplace", "out"] } as const;
const reading = { kind: "op", variants: ["function", "method", "out"] } as const;
const composite = { kind: "composite", grad: "composite" } as const;

export const ops = [
  {
    name: "index", kind: "op", variants: [], internal: true, args: { self: "Tensor", indices: "Tensor?[]" }, kernels: ["index.get"], impl: "indexing.index", node: "IndexBackward0",
    grad: { self: "indexBackward(grad, self.shape, indices)" },
    doc: "Elements at index tensors and masks; null takes a whole dimension.",
  },
  {
    ...writing, name: "index_put", args: { self: "Tensor", indices: "Tensor?[]", values: "Tensor", accumulate: ["Bool", false] }, kernels: ["index.put"], impl: "indexing.indexPut", node: "IndexPutBackward0",
    grad: { self: "indexPutBackward(grad, indices, accumulate)", values: "indexOf(grad, indices)" },
    doc: "The tensor with the elements at index tensors and masks replaced by `values`, which broadcast; with `accumulate` they are added. Where an element is named more than once, the last value stays.",
    throws: ["IndexError for an index outside its dimension", "RuntimeError when the values do not broadcast or have another dtype"],
    example: "zeros(3).indexPut([[0, 2]], tensor([5, 6])) // tensor([5., 0., 6.])",
  },
  {
    ...reading, name: "index_select", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index" }, impl: "indexing.indexSelect", node: "IndexSelectBackward0",
    grad: { self: "indexSelectBackward(grad, self.shape, dim, index)" },
    doc: "The parts along a dimension that a vector of positions names, in its order.",
    throws: ["IndexError for a position outside the dimension"],
    example: "tensor([10, 20, 30]).indexSelect(0, [2, 0]) // tensor([30., 10.])",
  },
  {
    ...full, name: "index_add", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", source: "Tensor" }, kwargs: { alpha: ["Scalar", 1] }, impl: "indexing.indexAdd", node: "IndexAddBackward0",
    grad: { self: "grad", source: "scaled(grad.indexSelect(dim, index), alpha)" },
    doc: "The tensor with alpha * source added at the parts along a dimension that a vector of positions names.",
    throws: ["IndexError for a position outside the dimension", "RuntimeError when shapes or dtypes do not match"],
    example: "zeros(3).indexAdd(0, [0, 0, 2], tensor([1, 2, 3])) // tensor([3., 0., 3.])",
  },
  {
    ...full, name: "index_copy", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", source: "Tensor" }, impl: "indexing.indexCopy", node: "IndexCopyBackward0",
    grad: { self: "grad.indexFill(dim, index, 0)", source: "grad.indexSelect(dim, index)" },
    doc: "The tensor with the parts along a dimension that a vector of positions names replaced by those of source.",
    throws: ["IndexError for a position outside the dimension", "RuntimeError when shapes or dtypes do not match"],
    example: "zeros(3).indexCopy(0, [2, 0], tensor([1, 2])) // tensor([2., 0., 1.])",
  },
  {
    ...writing, name: "index_fill", overload: "int_Tensor", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", value: "Tensor" }, impl: "indexing.indexFillTensor", node: "IndexFillBackward1",
    grad: { self: "grad.indexFill(dim, index, 0)", value: "grad.indexSelect(dim, index).sum()" },
    doc: "The tensor with the parts along a dimension that a vector of positions names set to a 0-dim tensor's value.",
  },
  {
    ...writing, name: "index_fill", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", value: "Scalar" }, impl: "indexing.indexFill", node: "IndexFillBackward0",
    grad: { self: "grad.indexFill(dim, index, 0)" },
    doc: "The tensor with the parts along a dimension that a vector of positions names set to a number.",
    throws: ["IndexError for a position outside the dimension"],
    example: "zeros(3).indexFill(0, [0, 2], 7) // tensor([7., 0., 7.])",
  },
  {
    ...reading, name: "gather", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index" }, kwargs: { sparse_grad: ["Bool", false] }, impl: "indexing.gather", node: "GatherBackward0",
    grad: { self: "gatherBackward(grad, self.shape, dim, index)" },
    doc: "For each element of `index`, the element of self at that place along `dim` and at the same place along the other dimensions.",
    throws: ["RuntimeError for an index outside the dimension, or an index larger than self along another one"],
    example: "tensor([[1, 2], [3, 4]]).gather(1, [[1], [0]]) // tensor([[2.],\n        [3.]])",
  },
  {
    ...full, name: "scatter", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", src: "Tensor" }, impl: "indexing.scatter", node: "ScatterBackward0",
    grad: { self: "grad.scatter(dim, index, 0)", src: "scatterSourceBackward(grad, dim, index, src.shape)" },
    doc: "The tensor with the elements that `index` names along `dim` replaced by those of `src`. Where an element is named more than once, the last one stays.",
    throws: ["RuntimeError for an index outside the dimension, or shapes or dtypes that do not match"],
    example: "zeros(3).scatter(0, [2, 0], tensor([5, 6])) // tensor([6., 0., 5.])",
  },
  {
    ...full, name: "scatter", overload: "value", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", value: "Scalar" }, impl: "indexing.scatterValue", node: "ScatterBackward1",
    grad: { self: "grad.scatter(dim, index, 0)" },
    doc: "The tensor with the elements that `index` names along `dim` set to a number.",
  },
  {
    ...full, name: "scatter", overload: "reduce", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", src: "Tensor" }, kwargs: { reduce: "String" }, impl: "indexing.scatterReduceSrc", node: "NotImplemented",
    grad: { "self, src": "noScatterReduceGradient()" },
    doc: "The tensor with the elements of `src` added (`reduce` \"add\") or multiplied (\"multiply\") into the elements that `index` names. It has no gradient.",
  },
  {
    ...full, name: "scatter", overload: "value_reduce", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", value: "Scalar" }, kwargs: { reduce: "String" }, impl: "indexing.scatterReduceValue", node: "NotImplemented",
    grad: { self: "noScatterReduceGradient()" },
    doc: "As with a tensor, for one number.",
  },
  {
    ...full, name: "scatter_add", args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", src: "Tensor" }, impl: "indexing.scatterAdd", node: "ScatterAddBackward0",
    grad: { self: "grad", src: "scatterSourceBackward(grad, dim, index, src.shape)" },
    doc: "The tensor with each element of `src` added to the element that `index` names along `dim`.",
    throws: ["RuntimeError for an index outside the dimension, or shapes or dtypes that do not match"],
    example: "zeros(3).scatterAdd(0, [0, 0, 2], tensor([1, 2, 3])) // tensor([3., 0., 3.])",
  },
  {
    ...writing, name: "masked_fill", overload: "Tensor", args: { self: "Tensor", mask: "Tensor", value: "Tensor" }, kernels: ["ternary.where"], impl: "indexing.maskedFillTensor", node: "MaskedFillBackward1",
    grad: { self: "grad.maskedFill(mask, 0)", value: "maskedFillValueBackward(grad, mask)" },
    doc: "The tensor with a 0-dim tensor's value where the mask is true; the mask broadcasts.",
  },
  {
    ...writing, name: "masked_fill", args: { self: "Tensor", mask: "Tensor", value: "Scalar" }, kernels: ["ternary.where"], impl: "indexing.maskedFill", node: "MaskedFillBackward0",
    grad: { self: "grad.maskedFill(mask, 0)" },
    doc: "The tensor with a number where the mask is true; the mask broadcasts.",
    throws: ["RuntimeError when the mask is not bool or the number does not fit the dtype"],
    example: "tensor([1, 2, 3]).maskedFill(tensor([1, 2, 3]).gt(1), 0) // tensor([1., 0., 0.])",
  },
  {
    ...reading, name: "masked_select", args: { self: "Tensor", mask: "Tensor" }, kernels: ["index_mask.select", "index_mask.count"], impl: "indexing.maskedSelect", node: "MaskedSelectBackward0",
    grad: { self: "maskedSelectBackward(grad, self.shape, mask)" },
    doc: "The elements where the mask is true, row by row, as a vector. Tensor and mask broadcast.",
    throws: ["RuntimeError when the mask is not bool"],
    example: "tensor([1, 2, 3]).maskedSelect(tensor([1, 2, 3]).ne(2)) // tensor([1., 3.])",
  },
  {
    ...writing, name: "masked_scatter", args: { self: "Tensor", mask: "Tensor", source: "Tensor" }, kernels: ["index_mask.scatter"], impl: "indexing.maskedScatter", node: "MaskedScatterBackward0",
    grad: { self: "grad.maskedFill(mask, 0)", source: "maskedScatterBackward(grad, mask, source.shape)" },
    doc: "The tensor with the elements where the mask is true replaced by those of `source`, one after another.",
    throws: ["RuntimeError when `source` has too few elements or another dtype"],
    example: "zeros(3).maskedScatter(tensor([1, 0, 1]).ne(0), tensor([5, 6])) // tensor([5., 0., 6.])",
  },
  {
    ...reading, name: "take", args: { self: "Tensor", index: "Tensor|Index" }, impl: "indexing.take", node: "TakeBackward0",
    grad: { self: "takeBackward(grad, self.shape, index)" },
    doc: "The elements at positions of the tensor read row by row; the result has the shape of `index`.",
    throws: ["IndexError for a position outside the tensor"],
    example: "tensor([[1, 2], [3, 4]]).take([0, 3]) // tensor([1., 4.])",
  },
  {
    ...writing, name: "put", args: { self: "Tensor", index: "Tensor|Index", source: "Tensor", accumulate: ["Bool", false] }, impl: "indexing.put", node: "PutBackward0",
    grad: { self: "putBackward(grad, index, accumulate)", source: "grad.take(index).reshape(source.shape)" },
    doc: "The tensor with the elements at positions of it read row by row replaced by those of `source`, or added to with `accumulate`.",
    throws: ["IndexError for a position outside the tensor"],
    example: "zeros(3).put([2], tensor([7])) // tensor([0., 0., 7.])",
  },
  {
    ...op, name: "nonzero", variants: ["function", "method", "out"], args: { self: "Tensor" }, kernels: ["index_mask.nonzero"], impl: "indexing.nonzero", grad: "none",
    doc: "Coordinates of the elements that are not zero: int64, one row for each.",
    example: "tensor([0, 5, 7]).nonzero() // tensor([[1],\n        [2]])",
  },
  {
    ...composite, name: "nonzero", overload: "as_tuple", variants: ["function", "method"], args: { self: "Tensor" }, kwargs: { as_tuple: "Bool" }, impl: "composites.nonzeroAsTuple", multiOutput: true,
    doc: "With `asTuple`, the coordinates as one vector for each dimension.",
  },
  {
    ...composite, name: "where", overload: "condition", variants: ["function"], args: { condition: "Tensor" }, impl: "composites.whereNonzero", multiOutput: true,
    doc: "With a condition alone, the coordinates of its true elements, one vector for each dimension.",
  },
  {
    ...composite, name: "argwhere", variants: ["function", "method"], args: { self: "Tensor" }, impl: "composites.argwhere",
    doc: "Coordinates of the elements that are not zero, one row for each.",
    example: "argwhere(tensor([0, 5])) // tensor([[1]])",
  },
  {
    ...composite, name: "take_along_dim", variants: ["function", "method", "out"], args: { self: "Tensor", indices: "Tensor|Index", dim: ["Dim?", null] }, impl: "composites.takeAlongDim",
    doc: "The elements at the places that `indices` names along a dimension, the other dimensions broadcasting; without a dimension, of the tensor read row by row.",
    throws: ["RuntimeError when the numbers of dimensions differ"],
    example: "takeAlongDim(tensor([[3, 1]]), tensor([[1n, 0n]]), 1) // tensor([[1., 3.]])",
  },
] as const satisfies readonly OpSchema[];

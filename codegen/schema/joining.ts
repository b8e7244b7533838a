/** Operators that put tensors together or repeat them. */
import type { OpSchema } from "../model/types.ts";

const composite = { kind: "composite", grad: "composite" } as const;

export const ops = [
  {
    name: "cat", aliases: ["concat", "concatenate"], kind: "op", variants: ["function", "out"], args: { tensors: "TensorList", dim: ["Dim", 0] }, kernels: ["copy.copy"], impl: "joining.cat", node: "CatBackward0",
    grad: { tensors: "catBackward(grad, tensors.shape, dim)" },
    doc: "The tensors one after another along a dimension that they have. Dtypes promote; empty vectors are left out.",
    throws: ["RuntimeError when other sizes differ", "ValueError for an empty list"],
    example: "cat([tensor([1, 2]), tensor([3])]) // tensor([1., 2., 3.])",
  },
  {
    name: "stack", kind: "op", variants: ["function", "out"], args: { tensors: "TensorList", dim: ["Dim", 0] }, kernels: ["copy.copy"], impl: "joining.stack", node: "StackBackward0",
    grad: { tensors: "grad.unbind(dim)" },
    doc: "Tensors of one shape one after another along a new dimension. Dtypes promote.",
    throws: ["RuntimeError when the shapes differ or the list is empty"],
    example: "stack([tensor([1, 2]), tensor([3, 4])]) // tensor([[1., 2.],\n        [3., 4.]])",
  },
  { ...composite, name: "hstack", variants: ["function", "out"], args: { tensors: "TensorList" }, impl: "composites.hstack", doc: "Tensors side by side: along the second dimension, vectors along their own.", example: "hstack([tensor([1]), tensor([2])]) // tensor([1., 2.])" },
  { ...composite, name: "vstack", aliases: ["rowStack"], variants: ["function", "out"], args: { tensors: "TensorList" }, impl: "composites.vstack", doc: "Tensors on top of each other: along the first dimension, vectors as rows.", example: "vstack([tensor([1]), tensor([2])]) // tensor([[1.],\n        [2.]])" },
  { ...composite, name: "dstack", variants: ["function", "out"], args: { tensors: "TensorList" }, impl: "composites.dstack", doc: "Tensors behind each other: along the third dimension.", example: "dstack([tensor([1]), tensor([2])]).shape // torch.Size([1, 1, 2])" },
  { ...composite, name: "column_stack", variants: ["function", "out"], args: { tensors: "TensorList" }, impl: "composites.columnStack", doc: "Tensors side by side, vectors as columns.", example: "columnStack([tensor([1]), tensor([2])]) // tensor([[1., 2.]])" },
  {
    name: "repeat", kind: "op", variants: ["method"], args: { self: "Tensor", repeats: "Sizes" }, impl: "joining.repeat", node: "RepeatBackward0",
    grad: { self: "repeatBackward(grad, repeats, self.shape)" },
    doc: "A copy of the tensor repeated along each dimension; more numbers than dimensions add dimensions in front.",
    throws: ["RuntimeError for fewer numbers than dimensions"],
    example: "tensor([1, 2]).repeat(2) // tensor([1., 2., 1., 2.])",
  },
  { ...composite, name: "tile", variants: ["function", "method"], args: { self: "Tensor", dims: "Sizes" }, impl: "composites.tile", doc: "A copy of the tensor repeated along its last dimensions.", example: "tensor([1, 2]).tile(2) // tensor([1., 2., 1., 2.])" },
  {
    name: "_repeat_each", kind: "op", variants: [], internal: true, args: { self: "Tensor", count: "Int", dim: "Int" }, impl: "joining.repeatEach", node: "ViewBackward0",
    grad: { self: "repeatEachBackward(grad, self.shape, count, dim)" },
    doc: "Each part along a dimension several times in a row.",
  },
  { ...composite, name: "repeat_interleave", overload: "self_int", variants: ["function", "method"], args: { self: "Tensor", repeats: "Int", dim: ["Dim?", null] }, kwargs: { output_size: "Int?" }, impl: "composites.repeatInterleave", doc: "Each part along a dimension several times in a row; without a dimension, of the tensor read row by row.", throws: ["RuntimeError for negative repeats"], example: "tensor([1, 2]).repeatInterleave(2) // tensor([1., 1., 2., 2.])" },
  { ...composite, name: "repeat_interleave", overload: "self_Tensor", variants: ["function", "method"], args: { self: "Tensor", repeats: "Tensor|Index", dim: ["Dim?", null] }, kwargs: { output_size: "Int?" }, impl: "composites.repeatInterleaveTensor", doc: "Each part along a dimension as often as `repeats` says for it." },
  { ...composite, name: "repeat_interleave", overload: "Tensor", variants: ["function"], args: { repeats: "Tensor" }, kwargs: { output_size: "Int?" }, impl: "composites.repeatInterleavePositions", doc: "The positions 0, 1, …, each as often as `repeats` says for it." },
] as const satisfies readonly OpSchema[];

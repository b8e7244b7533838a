/** Views: other geometry over the same storage. */
import type { OpSchema } from "../model/types.ts";

const view = { kind: "view", variants: ["function", "method"] } as const;
const method = { kind: "view", variants: ["method"] } as const;
const composite = { kind: "composite", grad: "composite", variants: ["function", "method"] } as const;
const unflat = "grad.reshape(self.shape)";

export const ops = [
  {
    ...method, name: "view", args: { self: "Tensor", size: "Size" }, impl: "views.view", node: "ViewBackward0", grad: { self: unflat },
    doc: "The same elements with another shape; one size may be -1. No copy is made.",
    throws: ["RuntimeError when the strides do not allow it"],
    example: "arange(6).view(2, 3) // tensor([[0, 1, 2],\n//         [3, 4, 5]])",
  },
  {
    ...method, name: "view", overload: "dtype", args: { self: "Tensor", dtype: "DType" }, impl: "views_dtype.viewDtype", grad: "none",
    doc: "The same bytes read as another dtype; the last dimension grows or shrinks with the element size.",
    throws: ["RuntimeError when sizes, strides or offset do not divide"],
  },
  {
    ...composite, name: "reshape", args: { self: "Tensor", shape: "Size" }, impl: "composites.reshape",
    doc: "The same elements with another shape: a view where possible, else a copy.",
    example: "arange(4).reshape(2, 2) // tensor([[0, 1],\n//         [2, 3]])",
  },
  { ...composite, variants: ["method"], name: "view_as", args: { self: "Tensor", other: "Tensor" }, impl: "composites.viewAs", doc: "A view with the shape of another tensor." },
  { ...composite, variants: ["method"], name: "reshape_as", args: { self: "Tensor", other: "Tensor" }, impl: "composites.reshapeAs", doc: "The same elements with the shape of another tensor." },
  {
    name: "_unsafe_view", kind: "op", variants: [], internal: true, args: { self: "Tensor", size: "Size" }, impl: "views.unsafeView", node: "UnsafeViewBackward0", grad: { self: unflat },
    doc: "The view of a fresh copy.",
  },
  {
    ...view, name: "as_strided", variants: ["function", "method", "inplace"], args: { self: "Tensor", size: "Sizes", stride: "Sizes", storage_offset: "Int?" },
    impl: "views.asStrided", node: "AsStridedBackward0", inplaceNode: "AsStridedBackward1", grad: { self: "asStridedGrad(grad, self.shape, self.strides, self.offset, size, stride, storageOffset)" },
    doc: "A view with given sizes, strides and offset, in elements, into the storage.",
    throws: ["RuntimeError when the region reaches beyond the storage"],
    example: "arange(4).asStrided([2, 2], [1, 2]) // tensor([[0, 2],\n//         [1, 3]])",
  },
  {
    ...method, name: "expand", args: { self: "Tensor", size: "Size" }, kwargs: { implicit: ["Bool", false] }, impl: "views.expand", node: "ExpandBackward0", grad: { self: "sumTo(grad, self.shape)" },
    doc: "A view with dimensions of size one stretched, stride 0; -1 keeps a size.",
    example: "tensor([[1], [2]]).expand(2, 2) // tensor([[1., 1.],\n//         [2., 2.]])",
  },
  { ...composite, variants: ["method"], name: "expand_as", args: { self: "Tensor", other: "Tensor" }, impl: "composites.expandAs", doc: "The tensor expanded to the shape of another." },
  { ...composite, name: "broadcast_to", args: { self: "Tensor", size: "Size" }, impl: "composites.broadcastTo", doc: "The tensor expanded to a shape." },
  {
    ...view, name: "t", variants: ["function", "method", "inplace"], args: { self: "Tensor" }, impl: "views.t", node: "TBackward0", inplaceNode: "TBackward1", grad: { self: "grad.t()" },
    doc: "A matrix transposed; vectors and scalars as they are.",
    example: "tensor([[1, 2]]).t() // tensor([[1.],\n//         [2.]])",
  },
  {
    ...view, name: "transpose", aliases: ["swapaxes", "swapdims"], variants: ["function", "method", "inplace"], args: { self: "Tensor", dim0: "Dim", dim1: "Dim" }, impl: "views.transpose",
    node: "TransposeBackward0", inplaceNode: "TransposeBackward1", grad: { self: "grad.transpose(dim0, dim1)" },
    doc: "Two dimensions exchanged.",
    example: "arange(6).view(2, 3).transpose(0, 1).shape // torch.Size([3, 2])",
  },
  {
    ...view, name: "permute", args: { self: "Tensor", dims: "Size" }, impl: "views.permute", node: "PermuteBackward0", grad: { self: "permuteBackward(grad, dims)" },
    doc: "The dimensions in another order.",
    example: "arange(6).view(1, 2, 3).permute(2, 0, 1).shape // torch.Size([3, 1, 2])",
  },
  { ...composite, name: "movedim", aliases: ["moveaxis"], args: { self: "Tensor", source: "Dims", destination: "Dims" }, impl: "composites.movedim", doc: "Dimensions moved to other places; the others keep their order." },
  { name: "numpy_T", kind: "composite", variants: [], internal: true, grad: "composite", args: { self: "Tensor" }, impl: "composites.reverseDims", doc: "All dimensions reversed." },
  { name: "T", kind: "composite", variants: ["property"], grad: "composite", args: { self: "Tensor" }, impl: "composites.reverseDims", doc: "All dimensions reversed." },
  { name: "mT", kind: "composite", variants: ["property"], grad: "composite", args: { self: "Tensor" }, impl: "composites.matrixTranspose", doc: "The last two dimensions exchanged." },
  {
    ...view, name: "squeeze", variants: ["function", "method", "inplace"], args: { self: "Tensor" }, impl: "views.squeezeAll", node: "SqueezeBackward0", inplaceNode: "SqueezeBackward3", grad: { self: unflat },
    doc: "Without its dimensions of size one.",
    example: "zeros(1, 2, 1).squeeze().shape // torch.Size([2])",
  },
  {
    ...view, name: "squeeze", overload: "dim", variants: ["function", "method", "inplace"], args: { self: "Tensor", dim: "Dim" }, impl: "views.squeeze", node: "SqueezeBackward1", inplaceNode: "SqueezeBackward4", grad: { self: unflat },
    doc: "Without one dimension, if its size is one.",
  },
  {
    ...view, name: "squeeze", overload: "dims", variants: ["function", "method", "inplace"], args: { self: "Tensor", dim: "Dims" }, impl: "views.squeeze", node: "SqueezeBackward2", inplaceNode: "SqueezeBackward5", grad: { self: unflat },
    doc: "Without the named dimensions whose size is one.",
  },
  {
    ...view, name: "unsqueeze", variants: ["function", "method", "inplace"], args: { self: "Tensor", dim: "Dim" }, impl: "views.unsqueeze", node: "UnsqueezeBackward0", inplaceNode: "UnsqueezeBackward1", grad: { self: unflat },
    doc: "With a new dimension of size one.",
    example: "tensor([1, 2]).unsqueeze(1).shape // torch.Size([2, 1])",
  },
  {
    ...view, name: "select", args: { self: "Tensor", dim: "Dim", index: "Int" }, impl: "views.select", node: "SelectBackward0", grad: { self: "selectBackward(grad, self.shape, dim, index)" },
    doc: "One position of a dimension, which goes away.",
    throws: ["IndexError when the index is out of range"],
    example: "arange(6).view(2, 3).select(0, 1) // tensor([3, 4, 5])",
  },
  {
    name: "slice", kind: "view", variants: ["method"], args: { self: "Tensor", dim: ["Dim", 0], start: "Int?", end: "Int?", step: ["Int", 1] }, impl: "views.slice", node: "SliceBackward0",
    grad: { self: "sliceBackward(grad, self.shape, dim, start, end, step)" },
    doc: "A range of positions of a dimension; bounds are clamped.",
    throws: ["ValueError when the step is not positive"],
    example: "arange(5).slice(0, 1, 4, 2) // tensor([1, 3])",
  },
  { ...composite, name: "narrow", args: { self: "Tensor", dim: "Dim", start: "Int", length: "Int" }, impl: "composites.narrow", doc: "`length` positions of a dimension from `start` on." },
  { ...composite, name: "narrow", overload: "Tensor", args: { self: "Tensor", dim: "Dim", start: "Tensor", length: "Int" }, impl: "composites.narrow", doc: "`length` positions of a dimension from a 0-dim tensor's value on." },
  {
    ...view, name: "diagonal", args: { self: "Tensor", offset: ["Int", 0], dim1: ["Dim", 0], dim2: ["Dim", 1] }, impl: "views.diagonal", node: "DiagonalBackward0",
    grad: { self: "diagonalBackward(grad, self.shape, offset, dim1, dim2)" },
    doc: "The diagonal of two dimensions, as the last dimension.",
    example: "arange(4).view(2, 2).diagonal() // tensor([0, 3])",
  },
  {
    ...view, name: "unbind", multiOutput: true, args: { self: "Tensor", dim: ["Dim", 0] }, impl: "views_split.unbind", node: "UnbindBackward0", grad: { self: "unbindBackward(grads, self.shape, dim)" },
    doc: "All positions of a dimension, as a list of views.",
    example: "arange(4).view(2, 2).unbind()[1] // tensor([2, 3])",
  },
  {
    ...view, name: "split", multiOutput: true, args: { self: "Tensor", split_size: "Int", dim: ["Dim", 0] }, impl: "views_split.split", node: "SplitBackward0",
    grad: { self: "splitBackward(grads, self.shape, splitSize, dim)" },
    doc: "Consecutive parts of a size; the last may be smaller.",
    example: "arange(5).split(2)[2] // tensor([4])",
  },
  {
    ...view, name: "split", overload: "sizes", multiOutput: true, args: { self: "Tensor", split_size: "Sizes", dim: ["Dim", 0] }, impl: "views_split.splitWithSizes", node: "SplitWithSizesBackward0",
    grad: { self: "joinParts(grads, self.shape, dim, splitSize)" },
    doc: "Consecutive parts of the given sizes.",
  },
  {
    ...view, name: "split_with_sizes", multiOutput: true, args: { self: "Tensor", split_sizes: "Sizes", dim: ["Dim", 0] }, impl: "views_split.splitWithSizes", node: "SplitWithSizesBackward0",
    grad: { self: "joinParts(grads, self.shape, dim, splitSizes)" },
    doc: "Consecutive parts of the given sizes.",
    throws: ["RuntimeError when the sizes do not add up"],
  },
  { ...composite, name: "chunk", multiOutput: true, args: { self: "Tensor", chunks: "Int", dim: ["Dim", 0] }, impl: "composites.chunk", doc: "At most so many parts of equal size; the last may be smaller.", throws: ["RuntimeError when `chunks` is not positive"] },
  { ...composite, name: "tensor_split", multiOutput: true, args: { self: "Tensor", sections: "Int", dim: ["Dim", 0] }, impl: "composites.tensorSplit", doc: "So many parts; the first ones are one longer when the size does not divide." },
  { ...composite, name: "tensor_split", overload: "indices", multiOutput: true, args: { self: "Tensor", indices: "Sizes", dim: ["Dim", 0] }, impl: "composites.tensorSplitAt", doc: "Parts cut at the given positions." },
  { ...composite, name: "tensor_split", overload: "tensor", multiOutput: true, args: { self: "Tensor", tensor_indices_or_sections: "Tensor", dim: ["Dim", 0] }, impl: "composites.tensorSplitBy", doc: "Parts given by a tensor: a count or positions." },
  {
    ...method, name: "unfold", args: { self: "Tensor", dimension: "Dim", size: "Int", step: "Int" }, impl: "views.unfold", node: "UnfoldBackward0", grad: { self: "unfoldBackward(grad, self.shape, dimension, size, step)" },
    doc: "All windows of a size along a dimension, `step` apart, as a new last dimension.",
    example: "arange(4).unfold(0, 2, 1) // tensor([[0, 1],\n//         [1, 2],\n//         [2, 3]])",
  },
  { ...composite, name: "flatten", args: { self: "Tensor", start_dim: ["Dim", 0], end_dim: ["Dim", -1] }, impl: "composites.flatten", doc: "A range of dimensions made one: a view where possible, else a copy.", throws: ["RuntimeError when the range is reversed"] },
  { ...composite, name: "unflatten", args: { self: "Tensor", dim: "Dim", sizes: "Sizes" }, impl: "composites.unflatten", doc: "One dimension made several; one size may be -1." },
  { ...composite, name: "ravel", args: { self: "Tensor" }, impl: "composites.ravel", doc: "One dimension: a view where possible, else a copy." },
  { ...view, name: "alias", variants: [], internal: true, args: { self: "Tensor" }, impl: "views.alias", node: "AliasBackward0", grad: { self: "grad" }, doc: "A view of everything." },
  { ...composite, name: "detach", args: { self: "Tensor" }, impl: "composites.detach", doc: "The same elements and version without history." },
  { ...view, name: "view_as_real", args: { self: "Tensor" }, impl: "views_dtype.viewAsReal", node: "ViewAsRealBackward0", grad: { self: "grad.contiguous().viewAsComplex()" }, doc: "A complex tensor as pairs of reals in a new last dimension.", throws: ["TypeError for tensors that are not complex"] },
  { ...view, name: "view_as_complex", args: { self: "Tensor" }, impl: "views_dtype.viewAsComplex", node: "ViewAsComplexBackward0", grad: { self: "grad.contiguous().resolveConj().viewAsReal()" }, doc: "Pairs of reals in the last dimension as complex numbers." },
  { ...composite, name: "real", args: { self: "Tensor" }, impl: "composites.real", doc: "The real parts, as a view; a real tensor is returned itself." },
  { ...composite, name: "imag", args: { self: "Tensor" }, impl: "composites.imag", doc: "The imaginary parts, as a view.", throws: ["RuntimeError for real tensors"] },
  { ...composite, name: "conj", args: { self: "Tensor" }, impl: "composites.conj", doc: "The conjugate, as a view with the conjugate bit; a real tensor is returned itself." },
  { ...view, name: "_conj", variants: [], internal: true, args: { self: "Tensor" }, impl: "views_dtype.conjView", node: "ConjBackward0", grad: { self: "conj(grad)" }, doc: "The conjugate view." },
  { ...view, name: "_neg_view", variants: [], internal: true, args: { self: "Tensor" }, impl: "views_dtype.negView", node: "NegViewBackward0", grad: { self: "grad.neg()" }, doc: "The negative view." },
  { ...composite, name: "resolve_conj", args: { self: "Tensor" }, impl: "composites.resolveConj", doc: "A copy without the conjugate bit; the tensor itself when it has none." },
  { ...composite, name: "resolve_neg", args: { self: "Tensor" }, impl: "composites.resolveNeg", doc: "A copy without the negative bit; the tensor itself when it has none." },
] as const satisfies readonly OpSchema[];

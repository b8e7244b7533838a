/** Products of matrices and vectors, and what belongs to them. */
import type { OpSchema } from "../model/types.ts";

const op = { kind: "op", variants: ["function", "method", "out"] } as const;
const composite = { kind: "composite", grad: "composite", variants: ["function", "method", "out"] } as const;
const factors = { beta: ["Scalar", 1], alpha: ["Scalar", 1] } as const;
const gemm = ["matmul.gemm"] as const;
const sameDtype = "RuntimeError when the dtypes differ or the sizes do not fit";

export const ops = [
  {
    ...op, name: "mm", args: { self: "Tensor", mat2: "Tensor" }, kernels: gemm, impl: "matrix.mm", node: "MmBackward0",
    grad: { self: "mmSelfBackward(grad, mat2, self._strides, 1)", mat2: "mmOtherBackward(grad, self, mat2._strides, 1)" },
    doc: "The product of two matrices of one dtype.",
    throws: [sameDtype],
    example: "mm(tensor([[1, 2]]), tensor([[3], [4]])) // tensor([[11.]])",
  },
  {
    ...op, name: "bmm", args: { self: "Tensor", mat2: "Tensor" }, kernels: gemm, impl: "matrix.bmm", node: "BmmBackward0",
    grad: { self: "grad.bmm(conj(mat2.transpose(1, 2)))", mat2: "conj(self.transpose(1, 2)).bmm(grad)" },
    doc: "The products of two batches of matrices, of shapes (b, n, m) and (b, m, p).",
    throws: [sameDtype],
    example: "bmm(tensor([[[1, 2]]]), tensor([[[3], [4]]])) // tensor([[[11.]]])",
  },
  {
    ...op, name: "addmm", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", mat1: "Tensor", mat2: "Tensor" }, kwargs: factors,
    kernels: gemm, impl: "matrix.addmm", node: "AddmmBackward0",
    grad: {
      self: "scaled(grad, beta)",
      mat1: "mmSelfBackward(grad, mat2, mat1._strides, alpha)",
      mat2: "mmOtherBackward(grad, mat1, mat2._strides, alpha)",
    },
    doc: "beta * self + alpha * (mat1 @ mat2); self is expanded to the product's shape. With beta = 0 self is not read.",
    throws: [sameDtype],
    example: "addmm(tensor([1]), tensor([[1, 2]]), tensor([[3], [4]]), { alpha: 10 }) // tensor([[111.]])",
  },
  {
    ...op, name: "baddbmm", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", batch1: "Tensor", batch2: "Tensor" }, kwargs: factors,
    kernels: gemm, impl: "matrix.baddbmm", node: "BaddbmmBackward0",
    grad: {
      self: "scaled(grad, beta)",
      batch1: "scaled(grad.bmm(conj(batch2.transpose(1, 2))), alpha)",
      batch2: "scaled(conj(batch1.transpose(1, 2)).bmm(grad), alpha)",
    },
    doc: "beta * self + alpha * (batch1 @ batch2) for batches of matrices.",
    throws: [sameDtype],
    example: "baddbmm(tensor([1]), tensor([[[1, 2]]]), tensor([[[3], [4]]])) // tensor([[[12.]]])",
  },
  {
    ...op, name: "addbmm", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", batch1: "Tensor", batch2: "Tensor" }, kwargs: factors,
    kernels: gemm, impl: "matrix.addbmm", node: "AddbmmBackward0",
    grad: {
      self: "scaled(grad, beta)",
      batch1: "scaled(overBatch(grad, batch1.shape).bmm(conj(batch2.transpose(1, 2))), alpha)",
      batch2: "scaled(conj(batch1.transpose(1, 2)).bmm(overBatch(grad, batch1.shape)), alpha)",
    },
    doc: "beta * self + alpha * the sum over the batch of batch1 @ batch2.",
    throws: [sameDtype],
    example: "addbmm(tensor([[1]]), tensor([[[1, 2]]]), tensor([[[3], [4]]])) // tensor([[12.]])",
  },
  {
    ...op, name: "mv", args: { self: "Tensor", vec: "Tensor" }, kernels: gemm, impl: "matrix_vector.mv", node: "MvBackward0",
    grad: { self: "grad.outer(conj(vec))", vec: "conj(self).t().mv(grad)" },
    doc: "The product of a matrix and a vector.",
    throws: [sameDtype],
    example: "mv(tensor([[1, 2], [3, 4]]), tensor([1, 10])) // tensor([21., 43.])",
  },
  {
    ...op, name: "addmv", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", mat: "Tensor", vec: "Tensor" }, kwargs: factors,
    kernels: gemm, impl: "matrix_vector.addmv", node: "AddmvBackward0",
    grad: {
      self: "scaled(grad, beta)",
      mat: "scaled(grad.outer(conj(vec)), alpha)",
      vec: "scaled(conj(mat.t()).mv(grad), alpha)",
    },
    doc: "beta * self + alpha * (mat @ vec).",
    throws: [sameDtype],
    example: "addmv(tensor([1]), tensor([[1, 2]]), tensor([1, 10])) // tensor([22.])",
  },
  {
    ...op, name: "dot", args: { self: "Tensor", tensor: "Tensor" }, kernels: gemm, impl: "matrix_vector.dot", node: "DotBackward0",
    grad: { self: "grad.mul(conj(tensor))", tensor: "grad.mul(conj(self))" },
    doc: "The sum of the products of two vectors' elements.",
    throws: [sameDtype],
    example: "dot(tensor([1, 2]), tensor([3, 4])) // tensor(11.)",
  },
  {
    ...op, name: "vdot", args: { self: "Tensor", other: "Tensor" }, kernels: gemm, impl: "matrix_vector.vdot", node: "VdotBackward0",
    grad: { self: "conj(grad).mul(other)", other: "grad.mul(self)" },
    doc: "The dot product of the first vector's conjugate and the second.",
    throws: [sameDtype],
    example: "vdot(tensor([1, 2]), tensor([3, 4])) // tensor(11.)",
  },
  {
    ...composite, name: "addr", variants: ["function", "method", "inplace", "out"], args: { self: "Tensor", vec1: "Tensor", vec2: "Tensor" }, kwargs: factors,
    impl: "composites.addr",
    doc: "beta * self + alpha * the outer product of two vectors, with type promotion.",
    throws: ["RuntimeError unless vec1 and vec2 have one dimension"],
    example: "addr(tensor([[1, 1]]), tensor([10]), tensor([1, 2])) // tensor([[11., 21.]])",
  },
  {
    ...composite, name: "matmul", args: { self: "Tensor", other: "Tensor" }, impl: "composites.matmul",
    doc: "The matrix product: of vectors (dot), matrices, and of batches of matrices, whose batch dimensions broadcast.",
    throws: [sameDtype],
    example: "matmul(tensor([[1, 2], [3, 4]]), tensor([1, 10])) // tensor([21., 43.])",
  },
  {
    ...composite, name: "outer", aliases: ["ger"], args: { self: "Tensor", vec2: "Tensor" }, impl: "composites.outer",
    doc: "The products of all pairs of two vectors' elements.",
    throws: ["RuntimeError unless both have one dimension"],
    example: "outer(tensor([1, 2]), tensor([10, 20])) // tensor([[10., 20.],\n//         [20., 40.]])",
  },
  {
    ...composite, name: "inner", args: { self: "Tensor", other: "Tensor" }, impl: "composites.inner",
    doc: "The dot products along the last dimensions; with a 0-dim tensor, the product.",
    throws: [sameDtype],
    example: "inner(tensor([1, 2]), tensor([3, 4])) // tensor(11.)",
  },
] as const satisfies readonly OpSchema[];

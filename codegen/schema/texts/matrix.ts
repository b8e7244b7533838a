/** Products of matrices and vectors. */
import type { TextSchema } from "../../model/types.ts";

export const texts = [
  {
    name: "matmulOfScalars",
    error: "RuntimeError",
    code: "runtime",
    text: "both arguments to matmul need to be at least 1D, but they are {a}D and {b}D",
  },
  {
    name: "notAVector",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: Expected 1-D argument {argument}, but got {rank}-D",
  },
  {
    name: "innerDtypes",
    error: "RuntimeError",
    code: "runtime",
    text: "both inputs should have same dtype",
  },
  {
    name: "innerShapes",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "inner() the last dimension must match on both input tensors but got shapes {a} and {b}",
  },
  {
    name: "linearOfScalars",
    error: "RuntimeError",
    code: "runtime",
    text: "both arguments to linear need to be at least 1D, but they are {input}D and {weight}D",
  },
  {
    name: "matrixVectorRanks",
    error: "RuntimeError",
    code: "runtime",
    text: "vector + matrix @ vector expected, got {self}, {mat}, {vec}",
  },
  {
    name: "matrixVectorSizes",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "size mismatch, got input ({input}), mat ({mat}), vec ({vec})",
  },
  {
    name: "addmvDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "addmv input tensors must have the same dtype, but got {self}, {mat}, and {vec}",
  },
  {
    name: "vectorsExpected",
    error: "RuntimeError",
    code: "runtime",
    text: "1D tensors expected, but got {a}D and {b}D tensors",
  },
  {
    name: "dotDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "dot : expected both vectors to have same dtype, but found {a} and {b}",
  },
  {
    name: "dotSizes",
    error: "RuntimeError",
    code: "shape_mismatch",
    text:
      "inconsistent tensor size, expected tensor [{a}] and src [{b}] to have the same number of elements, but " +
      "got {a} and {b} elements respectively",
  },
  {
    name: "addrNotAVector",
    error: "RuntimeError",
    code: "runtime",
    text: "addr: Expected 1-D argument {argument}, but got {rank}-D",
  },
  {
    name: "addrBoolArgument",
    error: "RuntimeError",
    code: "runtime",
    text: "Boolean {argument} only supported for Boolean results.",
  },
  {
    name: "addrFloatArgument",
    error: "RuntimeError",
    code: "runtime",
    text: "For integral input tensors, argument {argument} must not be a floating point number.",
  },
  {
    name: "addrInputRank",
    error: "RuntimeError",
    code: "runtime",
    text: "2D tensor expected, got {rank}D tensor for input",
  },
  {
    name: "addrSizes",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "size mismatch, {sizes}",
  },
  {
    name: "selfNotAMatrix",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: self must be a matrix, got {rank}-D tensor",
  },
  {
    name: "mat2NotAMatrix",
    error: "RuntimeError",
    code: "runtime",
    text: "{op}: mat2 must be a matrix, got {rank}-D tensor",
  },
  {
    name: "shapesDoNotMultiply",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "{op}: mat1 and mat2 shapes cannot be multiplied ({a} and {b})",
  },
  {
    name: "mmDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "expected m1 and m2 to have the same dtype, but got: {a} != {b}",
  },
  {
    name: "mat2Dtype",
    error: "RuntimeError",
    code: "dtype",
    text: "{left} and mat2 must have the same dtype, but got {a} and {b}",
  },
  {
    name: "batch1Rank",
    error: "RuntimeError",
    code: "runtime",
    text: "batch1 must be a 3D tensor",
  },
  {
    name: "batch2Rank",
    error: "RuntimeError",
    code: "runtime",
    text: "batch2 must be a 3D tensor",
  },
  {
    name: "batch2Size",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {got}.",
  },
  {
    name: "scalarTypeDiffers",
    error: "RuntimeError",
    code: "dtype",
    text: "expected scalar type {wanted} but found {got}",
  },
  {
    name: "baddbmmDtypes",
    error: "RuntimeError",
    code: "dtype",
    text: "Input dtypes must be the same, got: input {input}, batch1: {batch1}, batch2: {batch2}",
  },
  {
    name: "batchesDiffer",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "batch1 and batch2 must have same number of batches, got {batch1} and {batch2}",
  },
  {
    name: "addbmmSizes",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "Incompatible matrix sizes for bmm ({n}x{m} and {rows}x{columns})",
  },
] as const satisfies readonly TextSchema[];

/** Norms. */
import type { OpSchema } from "../model/types.ts";

const over = { dim: "Dims?", keepdim: ["Bool", false] } as const;
const refusals = [
  "NotImplementedError for integers and bools",
  "RuntimeError for a dtype that would lose digits, and where there are no elements to find the greatest or least of",
] as const;
const norm = {
  name: "norm",
  kind: "composite",
  direct: true,
  grad: "composite",
  kwargs: { dtype: "DType?" },
  throws: refusals,
} as const;

export const ops = [
  {
    namespace: "linalg",
    name: "vector_norm",
    kind: "op",
    args: { self: "Tensor", ord: ["Scalar", 2], ...over },
    kwargs: { dtype: "DType?" },
    variants: ["function", "out"],
    kernels: {
      cpu: [
        "reduce.sum_squares",
        "reduce.sum_sizes",
        "reduce.sum_presences",
        "reduce.max_size",
        "reduce.min_size",
        "reduce.sum_numbers",
      ],
    },
    impl: "norms.vectorNorm",
    node: "LinalgVectorNormBackward0",
    doc:
      "The norm of order `ord` of the elements, as of one vector, over one or several dimensions, all of them " +
      "without a dimension: the root of that order of the sum of the powers of their sizes; the number of those that " +
      "are not zero (0), the greatest (Infinity) or the least (-Infinity) size.",
    grad: { self: "vectorNormBackward(grad, self, ord, result, dim, keepdim)" },
    jvp: "reduction",
    throws: refusals,
    example: "linalg.vectorNorm(tensor([3, -4])) // tensor(5.)",
  },
  {
    ...norm,
    args: { self: "Tensor", p: "Scalar?", ...over },
    variants: ["function", "method", "out"],
    impl: "composites.norm",
    doc: "The norm of the elements as of one vector, of order 2 unless told, over one or several dimensions.",
    example: "tensor([[3, -4], [0, 2]]).norm({ dim: 1 }) // tensor([5., 2.])",
  },
  {
    ...norm,
    overload: "String",
    args: { self: "Tensor", p: "String", ...over },
    variants: ["function", "method", "out"],
    impl: "composites.normByName",
    doc: '"fro" is the order 2. There are no norms of matrices by their singular values.',
  },
] as const satisfies readonly OpSchema[];

/** Operators that combine elements which positions bring together. */
import type { OpSchema } from "../model/types.ts";

const full = { kind: "op", variants: ["function", "method", "inplace", "out"] } as const;

export const ops = [
  {
    ...full,
    name: "scatter_reduce",
    realGradients: true,
    overload: "two",
    checkedAs: { by: "structured" },
    batch: "index",
    args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", src: "Tensor", reduce: "String" },
    kwargs: { include_self: ["Bool", true] },
    kernels: { cpu: ["index.put"] },
    impl: "indexing.scatterReduce",
    node: "ScatterReduceBackward0",
    grad: { "self, src": "scatterReduceBackward(grad, self, dim, index, src, reduce, includeSelf, result)" },
    jvp: { "self, src": "scatterReduceTangent(tangents, self, dim, index, src, reduce, includeSelf, result)" },
    doc:
      "The tensor with the elements of `src` combined into those that `index` names along `dim`: their `reduce` " +
      '"sum", "prod", "mean", "amax" or "amin", with what was there unless `includeSelf` is false.',
    throws: ["RuntimeError for an index outside the dimension, or shapes or dtypes that do not match"],
    example: 'ones(3).scatterReduce(0, [0, 0, 2], tensor([1, 2, 3]), "sum") // tensor([4., 1., 4.])',
  },
  {
    ...full,
    name: "index_reduce",
    realGradients: true,
    checkedAs: { by: "structured" },
    batch: "each",
    args: { self: "Tensor", dim: "Dim", index: "Tensor|Index", source: "Tensor", reduce: "String" },
    kwargs: { include_self: ["Bool", true] },
    kernels: { cpu: ["index.put"] },
    impl: "indexing.indexReduce",
    node: "IndexReduceBackward0",
    grad: { "self, source": "indexReduceBackward(grad, self, dim, index, source, reduce, includeSelf, result)" },
    jvp: { "self, source": "indexReduceTangent(tangents, self, dim, index, source, reduce, includeSelf, result)" },
    doc:
      "The tensor with the parts of `source` combined into those along a dimension that a vector of positions names: " +
      'their `reduce` "prod", "mean", "amax" or "amin", with what was there unless `includeSelf` is false.',
    throws: ["IndexError for a position outside the dimension", "RuntimeError when shapes or dtypes do not match"],
    example: 'ones(3).indexReduce(0, [0, 0, 2], tensor([2, 3, 4]), "prod") // tensor([6., 1., 4.])',
  },
] as const satisfies readonly OpSchema[];

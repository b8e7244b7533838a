/** Sorting. */
import type { OpSchema } from "../model/types.ts";

const both = ["function", "method"] as const;
const pair = {
  kind: "op",
  results: ["values", "indices"],
  nonDifferentiable: [1],
  variants: ["function", "method", "out"],
} as const;
const grad = { self: "sortedBackward(grad, self.shape, dim, result1)" } as const;

export const ops = [
  {
    ...pair,
    name: "sort",
    args: { self: "Tensor", dim: ["Dim", -1], descending: ["Bool", false] },
    kernels: { cpu: ["sort.sort"] },
    impl: "sorting.sort",
    node: "SortBackward0",
    grad: grad,
    jvp: { self: "sortedTangent(tangent, dim, result1)" },
    doc:
      "The elements in order along a dimension, and where each was. NaN is the greatest value. Equal " +
      "elements keep their order.",
    throws: ["TypeError for complex tensors"],
    example: "tensor([3, 1, 2]).sort().values // tensor([1., 2., 3.])",
  },
  {
    ...pair,
    name: "sort",
    overload: "stable",
    args: { self: "Tensor" },
    kwargs: { dim: ["Dim", -1], descending: ["Bool", false], stable: "Bool?" },
    kernels: { cpu: ["sort.sort"] },
    impl: "sorting.sortStable",
    node: "SortBackward1",
    grad: grad,
    jvp: { self: "sortedTangent(tangent, dim, result1)" },
    doc: "As `sort`; every sort here is stable.",
    example: "tensor([2, 1, 2]).sort({ stable: true, descending: true }).indices // tensor([0, 2, 1])",
  },
  {
    name: "argsort",
    kind: "op",
    variants: both,
    args: { self: "Tensor", dim: ["Dim", -1], descending: ["Bool", false] },
    kernels: { cpu: ["sort.sort"] },
    impl: "sorting.argsort",
    grad: "none",
    doc: "The positions that sort the elements along a dimension.",
    throws: ["TypeError for complex tensors"],
    example: "tensor([3, 1, 2]).argsort() // tensor([1, 2, 0])",
  },
  {
    name: "argsort",
    overload: "stable",
    kind: "op",
    variants: both,
    args: { self: "Tensor" },
    kwargs: { dim: ["Dim", -1], descending: ["Bool", false], stable: ["Bool", false] },
    kernels: { cpu: ["sort.sort"] },
    impl: "sorting.argsortStable",
    grad: "none",
    doc: "As `argsort`; every sort here is stable.",
  },
  {
    ...pair,
    name: "topk",
    args: { self: "Tensor", k: "Int", dim: ["Dim", -1], largest: ["Bool", true], sorted: ["Bool", true] },
    kernels: { cpu: ["sort.topk"] },
    impl: "sorting.topk",
    node: "TopkBackward0",
    grad: grad,
    jvp: { self: "sortedTangent(tangent, dim, result1)" },
    doc:
      "The `k` largest (or smallest) elements along a dimension in order, and where they are; of equal " +
      "ones the first.",
    throws: ["RuntimeError for more elements than there are", "NotImplementedError for bool tensors"],
    example: "tensor([3, 1, 4, 1, 5]).topk(2).values // tensor([5., 4.])",
  },
] as const satisfies readonly OpSchema[];

/** Sets of elements, and runs of equal ones. */
import type { OpSchema } from "../model/types.ts";

const found = {
  kind: "composite",
  grad: "composite",
  variants: ["function", "method"],
  batch: { refused: "the size of the result depends on the elements of each example" },
} as const;
const refusals = ["NotImplementedError for complex tensors", "RuntimeError for dimensions of size zero"] as const;
const sorted = { self: "Tensor", sorted: ["Bool", true] } as const;
const inverse = { return_inverse: "Bool", return_counts: ["Bool", false], dim: ["Int?", null] } as const;
const counts = { return_counts: "Bool", dim: ["Int?", null] } as const;
const several =
  "The same in a list, with where each element of the tensor is among them (`returnInverse`) and how often each " +
  "of them occurs (`returnCounts`).";

export const ops = [
  {
    ...found,
    name: "unique",
    args: sorted,
    kwargs: { dim: ["Int?", null] },
    impl: "composites.unique",
    doc:
      "The different elements in ascending order, or with a dimension the different slices along it; `sorted` " +
      "changes nothing. A NaN equals nothing.",
    throws: refusals,
    example: "tensor([3, 1, 3]).unique() // tensor([1., 3.])",
  },
  {
    ...found,
    name: "unique",
    overload: "inverse",
    listResult: true,
    args: { ...sorted, ...inverse },
    impl: "composites.uniqueInverse",
    doc: several,
    example: "tensor([3, 1, 3]).unique({ returnInverse: true })[1] // tensor([1, 0, 1])",
  },
  {
    ...found,
    name: "unique",
    overload: "counts",
    listResult: true,
    args: sorted,
    kwargs: counts,
    impl: "composites.uniqueCounts",
    doc: several,
    example: "tensor([3, 1, 3]).unique({ returnCounts: true })[1] // tensor([1, 2])",
  },
  {
    ...found,
    name: "unique_consecutive",
    args: { self: "Tensor" },
    kwargs: { dim: ["Int?", null] },
    impl: "composites.uniqueConsecutive",
    doc: "The first of each run of equal elements, or with a dimension of equal slices along it. A NaN equals nothing.",
    throws: refusals,
    example: "tensor([1, 1, 2, 1]).uniqueConsecutive() // tensor([1., 2., 1.])",
  },
  {
    ...found,
    name: "unique_consecutive",
    overload: "inverse",
    listResult: true,
    args: { self: "Tensor", ...inverse },
    impl: "composites.uniqueConsecutiveInverse",
    doc: several,
    example: "tensor([1, 1, 2]).uniqueConsecutive({ returnInverse: true })[1] // tensor([0, 0, 1])",
  },
  {
    ...found,
    name: "unique_consecutive",
    overload: "counts",
    listResult: true,
    args: { self: "Tensor" },
    kwargs: counts,
    impl: "composites.uniqueConsecutiveCounts",
    doc: several,
    example: "tensor([1, 1, 2]).uniqueConsecutive({ returnCounts: true })[1] // tensor([2, 1])",
  },
] as const satisfies readonly OpSchema[];

/** Searching in sorted tensors and in sets. */
import type { OpSchema } from "../model/types.ts";

const search = { kind: "op", variants: ["function", "out"], grad: "none" } as const;
const options = { out_int32: ["Bool", false], right: ["Bool", false] } as const;
const sides = { ...options, side: "String?", sorter: "Tensor?" } as const;
const positions = { ...search, kernels: { cpu: ["search.searchsorted"] } } as const;
const sets = { ...search, kwargs: { assume_unique: ["Bool", false], invert: ["Bool", false] }, ofBools: true } as const;
const short = ["float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"] as const;

export const ops = [
  {
    ...positions,
    name: "searchsorted",
    overload: "Tensor",
    checkedAs: { by: "kernel" },
    batch: "each",
    args: { sorted_sequence: "Tensor", self: "Tensor" },
    kwargs: sides,
    impl: "searching.searchsorted",
    refuses: [{ dtypes: ["bool", "complex", ...short], kernel: "searchsorted_out_cpu" }],
    doc:
      "Where each value would go in its sorted row: before elements that are equal, with `right` " +
      "behind them. The rows " +
      "are the last dimension of `sortedSequence`, one for all values or one for each row of them.",
    throws: ["RuntimeError when the shapes do not fit", "NotImplementedError for bools and complex tensors"],
    example: "searchsorted(tensor([1, 3, 5]), tensor([3, 6])) // tensor([1, 3])",
  },
  {
    ...positions,
    name: "searchsorted",
    overload: "Scalar",
    checkedAs: { by: "kernel" },
    batch: "each",
    args: { sorted_sequence: "Tensor", self: "Scalar" },
    kwargs: sides,
    impl: "searching.searchsorted",
    doc: "Where a number would go in a sorted row.",
  },
  {
    ...positions,
    name: "bucketize",
    overload: "Tensor",
    checkedAs: { by: "kernel" },
    batch: "own",
    args: { self: "Tensor", boundaries: "Tensor" },
    kwargs: options,
    impl: "searching.bucketize",
    doc:
      "Which of the intervals between sorted boundaries each value lies in; with `right` the left " +
      "bound belongs to it.",
    throws: ["RuntimeError unless the boundaries are one row"],
    example: "bucketize(tensor([3, 6]), tensor([1, 3, 5])) // tensor([1, 3])",
  },
  {
    ...positions,
    name: "bucketize",
    overload: "Scalar",
    checkedAs: { by: "kernel" },
    batch: "each",
    args: { self: "Scalar", boundaries: "Tensor" },
    kwargs: options,
    impl: "searching.bucketize",
    doc: "Which of the intervals between sorted boundaries a number lies in.",
  },
  {
    ...sets,
    name: "isin",
    overload: "Tensor_Tensor",
    checkedAs: { by: "structured" },
    batch: "each",
    args: { elements: "Tensor", test_elements: "Tensor" },
    kernels: { cpu: ["search.isin"] },
    impl: "searching.isin",
    refuses: [{ dtypes: [...short], kernel: "isin_default_cpu" }],
    doc: "True where an element is among the test elements; with `invert` where it is not. A NaN is among nothing.",
    throws: ["NotImplementedError for bools and complex tensors"],
    example: "isin(tensor([1, 2, 3]), tensor([3, 1])) // tensor([ True, False,  True])",
  },
  {
    ...sets,
    name: "isin",
    overload: "Tensor_Scalar",
    checkedAs: { by: "structured" },
    batch: "own",
    args: { elements: "Tensor", test_element: "Scalar" },
    kernels: { cpu: ["search.isin"] },
    impl: "searching.isin",
    doc: "True where an element equals the number.",
  },
  {
    ...sets,
    name: "isin",
    overload: "Scalar_Tensor",
    checkedAs: { by: "structured" },
    batch: "each",
    args: { element: "Scalar", test_elements: "Tensor" },
    kernels: { cpu: ["search.isin"] },
    impl: "searching.isin",
    doc: "True when a number is among the test elements.",
  },
] as const satisfies readonly OpSchema[];

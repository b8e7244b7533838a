/** Reductions of other kinds: logarithms of sums. */
import type { OpSchema } from "../model/types.ts";

const all = { kind: "op", args: { self: "Tensor" }, variants: ["function", "method", "out"] } as const;

export const ops = [
  {
    ...all,
    name: "logsumexp",
    args: { self: "Tensor", dim: "Dims", keepdim: ["Bool", false] },
    impl: "reduce_logs.logsumexp",
    node: "LogsumexpBackward0",
    doc:
      "The logarithm of the sum of the exponentials over one or several dimensions, computed without overflow. " +
      "Integers and bools give the default float dtype.",
    grad: { self: "logsumexpBackward(grad, self, result, dim, keepdim)" },
    throws: ["IndexError for a dimension out of range", "RuntimeError for an `out` of integers or bools"],
    example: "tensor([0, 0]).logsumexp(0) // tensor(0.6931)",
  },
] as const satisfies readonly OpSchema[];

/** Running extremes, logarithms of running sums of exponentials. */
import type { OpSchema } from "../model/types.ts";

const pair = {
  kind: "op",
  args: { self: "Tensor", dim: "Dim" },
  variants: ["function", "method", "out"],
  results: ["values", "indices"],
  nonDifferentiable: [1],
} as const;

/** What torch has no kernel for. */
const unordered = ["complex", "float8_e4m3fn", "float8_e5m2", "uint16", "uint32", "uint64"] as const;

export const ops = [
  {
    ...pair,
    name: "cummax",
    realGradients: true,
    kernels: { cpu: ["scan.cummax"] },
    impl: "reduce_scan.cummax",
    refuses: [{ dtypes: unordered, kernel: "cummax_cpu" }],
    node: "CummaxBackward0",
    doc: "The greatest element so far along a dimension, and where it was found last. A NaN stays from where it is.",
    grad: { self: "cumulatedBackward(grad, self.shape, dim, result1)" },
    jvp: { self: "sortedTangent(tangent, dim, result1)" },
    throws: ["NotImplementedError for complex tensors", "IndexError for a dimension out of range"],
    example: "tensor([1, 3, 2]).cummax(0).values // tensor([1., 3., 3.])",
  },
  {
    ...pair,
    name: "cummin",
    realGradients: true,
    kernels: { cpu: ["scan.cummin"] },
    impl: "reduce_scan.cummin",
    refuses: [{ dtypes: unordered, kernel: "cummin_cpu" }],
    node: "CumminBackward0",
    doc: "The least element so far along a dimension, and where it was found last. A NaN stays from where it is.",
    grad: { self: "cumulatedBackward(grad, self.shape, dim, result1)" },
    jvp: { self: "sortedTangent(tangent, dim, result1)" },
    throws: ["NotImplementedError for complex tensors", "IndexError for a dimension out of range"],
    example: "tensor([3, 1, 2]).cummin(0).indices // tensor([0, 1, 1])",
  },
  {
    name: "logcumsumexp",
    kind: "op",
    args: { self: "Tensor", dim: "Dim" },
    variants: ["function", "method", "out"],
    kernels: { cpu: ["scan.logcumsumexp"] },
    impl: "reduce_scan.logcumsumexp",
    refuses: [{ dtypes: ["bool", "integral", "float8_e4m3fn", "float8_e5m2"], kernel: "logcumsumexp_out_cpu" }],
    node: "LogcumsumexpBackward0",
    doc: "The logarithm of the running sum of the exponentials along a dimension, computed without overflow.",
    grad: { self: "logcumsumexpBackward(grad, self, result, dim)" },
    jvp: { self: "logcumsumexpTangent(tangent, self, result, dim)" },
    throws: ["NotImplementedError for integers and bools", "IndexError for a dimension out of range"],
    example: "tensor([0, 0]).logcumsumexp(0) // tensor([0.0000, 0.6931])",
  },
] as const satisfies readonly OpSchema[];

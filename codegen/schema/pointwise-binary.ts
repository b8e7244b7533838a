/** Further pointwise operators of two: a bound, sums of powers in the domain of logarithms. */
import type { OpSchema } from "../model/types.ts";

const forms = ["function", "method", "inplace", "out"] as const;
const floats = ["f32", "f64"] as const;
const short = ["float8_e4m3fn", "float8_e5m2"] as const;
const lower = { kind: "pointwise", name: "clamp_min", variants: forms, promote: "arith", checksFirst: true } as const;
const upper = { ...lower, name: "clamp_max" } as const;
const logs = {
  kind: "pointwise",
  args: { self: "Tensor", other: "Tensor" },
  variants: ["function", "method", "out"],
  promote: "arith",
  fast: floats,
} as const;

export const ops = [
  {
    ...lower,
    args: { self: "Tensor", min: "Scalar" },
    kernels: { cpu: ["binary.maximum"] },
    impl: "arith.clampMin",
    node: "ClampMinBackward0",
    doc: "Each element, or the number where it is less than that.",
    grad: { self: "clampBackward(grad, self, min, null)" },
    throws: ["NotImplementedError for complex tensors", "RuntimeError for a bound that the dtype does not hold"],
    example: "tensor([-1, 2]).clampMin(0) // tensor([0., 2.])",
  },
  {
    ...lower,
    overload: "Tensor",
    args: { self: "Tensor", min: "Tensor" },
    kernels: { cpu: ["binary.maximum"] },
    impl: "arith.clampMin",
    refuses: [{ dtypes: ["complex", ...short], kernel: "maximum_cpu" }],
    node: "ClampMinBackward1",
    doc: "The larger of two elements; NaN if either is.",
    grad: { self: "clampBackward(grad, self, min, null)", min: "lowerBoundBackward(grad, self, min)" },
    example: "tensor([-1, 2]).clampMin(tensor([0, 3])) // tensor([0., 3.])",
  },
  {
    ...upper,
    args: { self: "Tensor", max: "Scalar" },
    kernels: { cpu: ["binary.minimum"] },
    impl: "arith.clampMax",
    node: "ClampMaxBackward0",
    doc: "Each element, or the number where it is greater than that.",
    grad: { self: "clampBackward(grad, self, null, max)" },
    throws: ["NotImplementedError for complex tensors", "RuntimeError for a bound that the dtype does not hold"],
    example: "tensor([-1, 2]).clampMax(0) // tensor([-1.,  0.])",
  },
  {
    ...upper,
    overload: "Tensor",
    args: { self: "Tensor", max: "Tensor" },
    kernels: { cpu: ["binary.minimum"] },
    impl: "arith.clampMax",
    refuses: [{ dtypes: ["complex", ...short], kernel: "minimum_cpu" }],
    node: "ClampMaxBackward1",
    doc: "The smaller of two elements; NaN if either is.",
    grad: { self: "clampBackward(grad, self, null, max)", max: "upperBoundBackward(grad, self, max)" },
    example: "tensor([-1, 2]).clampMax(tensor([0, 1])) // tensor([-1.,  1.])",
  },
  {
    ...logs,
    name: "logaddexp",
    kernels: { cpu: ["binary.logaddexp"] },
    refuses: [{ dtypes: ["bool", "integral", ...short], kernel: "logaddexp_cpu" }],
    node: "LogaddexpBackward0",
    doc: "log(exp(self) + exp(other)), computed without overflow.",
    grad: {
      self: "grad.div(conj(other.sub(self).exp().add(1)))",
      other: "grad.div(conj(self.sub(other).exp().add(1)))",
    },
    throws: ["NotImplementedError for integers and bools"],
    example: "logaddexp(tensor([0]), tensor([0])) // tensor([0.6931])",
  },
  {
    ...logs,
    name: "logaddexp2",
    kernels: { cpu: ["binary.logaddexp2"] },
    refuses: [{ dtypes: ["bool", "integral", "complex", ...short], kernel: "logaddexp2_cpu" }],
    node: "Logaddexp2Backward0",
    doc: "The logarithm to base 2 of 2^self + 2^other, computed without overflow.",
    grad: {
      self: "logaddexp2Backward(grad, self, other)",
      other: "logaddexp2Backward(grad, other, self)",
    },
    throws: ["NotImplementedError for integers, bools and complex tensors"],
    example: "logaddexp2(tensor([0]), tensor([0])) // tensor([1.])",
  },
] as const satisfies readonly OpSchema[];

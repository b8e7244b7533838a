/** Derivatives that are one kernel: a gradient times the slope at a result. */
import type { OpSchema } from "../model/types.ts";

const derivative = {
  kind: "pointwise",
  args: { grad_output: "Tensor", output: "Tensor" },
  variants: [],
  internal: true,
  promote: "arith",
} as const;
const floats = ["f32", "f64"] as const;

export const ops = [
  {
    ...derivative,
    name: "tanh_backward",
    kernels: { cpu: ["binary.tanh_backward"] },
    fast: floats,
    node: "TanhBackwardBackward0",
    doc: "The gradient of tanh.",
    grad: {
      grad_output: "tanhBackward(grad, conj(output))",
      output: "tanhDoubleBackward(grad, gradOutput, output)",
    },
    jvp: {
      grad_output: "tanhBackward(tangent, output)",
      output: "tanhDoubleBackward(tangent, gradOutput, output)",
    },
  },
  {
    ...derivative,
    name: "sigmoid_backward",
    kernels: { cpu: ["binary.sigmoid_backward"] },
    fast: floats,
    node: "SigmoidBackwardBackward0",
    doc: "The gradient of sigmoid.",
    grad: {
      grad_output: "sigmoidBackward(grad, conj(output))",
      output: "sigmoidDoubleBackward(grad, gradOutput, output)",
    },
    jvp: {
      grad_output: "sigmoidBackward(tangent, output)",
      output: "sigmoidDoubleBackward(tangent, gradOutput, output)",
    },
  },
  {
    ...derivative,
    name: "threshold_backward",
    kernels: { cpu: ["binary.threshold_backward"] },
    fast: floats,
    node: "ThresholdBackwardBackward0",
    doc: "The gradient where the result is above zero.",
    grad: {
      grad_output: "thresholdBackward(grad, output)",
      output: "zerosOf(grad)",
    },
  },
] as const satisfies readonly OpSchema[];

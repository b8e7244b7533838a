/** Functions of nn.functional, and the softmax family. */
import type { OpSchema } from "../model/types.ts";

const functional = { namespace: "nn.functional", kind: "composite", grad: "composite", variants: ["function"] } as const;
const internal = { kind: "op", variants: [], internal: true } as const;

export const ops = [
  {
    ...internal, name: "_softmax", variants: ["out"], args: { self: "Tensor", dim: "Dim" }, kernels: ["softmax.softmax"], impl: "softmax.softmax", node: "SoftmaxBackward0",
    grad: { self: "softmaxBackward(grad, result, dim, self.dtype)" },
    doc: "Softmax of floating-point elements.",
  },
  {
    ...internal, name: "_log_softmax", variants: ["out"], args: { self: "Tensor", dim: "Dim" }, kernels: ["softmax.log_softmax"], impl: "softmax.logSoftmax", node: "LogSoftmaxBackward0",
    grad: { self: "logSoftmaxBackward(grad, result, dim, self.dtype)" },
    doc: "Logarithm of the softmax of floating-point elements.",
  },
  {
    ...internal, name: "_softmax_backward_data", args: { grad_output: "Tensor", output: "Tensor", dim: "Dim", input_dtype: "DType" },
    kernels: ["softmax.softmax_backward"], impl: "softmax.softmaxBackward", node: "SoftmaxBackwardDataBackward0",
    grad: { "grad_output, output": "softmaxDoubleBackward(grad, gradOutput, output, dim)" },
    doc: "The gradient of softmax.",
  },
  {
    ...internal, name: "_log_softmax_backward_data", args: { grad_output: "Tensor", output: "Tensor", dim: "Dim", input_dtype: "DType" },
    kernels: ["softmax.log_softmax_backward"], impl: "softmax.logSoftmaxBackward", node: "LogSoftmaxBackwardDataBackward0",
    grad: { "grad_output, output": "logSoftmaxDoubleBackward(grad, gradOutput, output, dim)" },
    doc: "The gradient of log_softmax.",
  },
  {
    name: "softmax", kind: "composite", grad: "composite", variants: ["function", "method", "out"], args: { self: "Tensor", dim: "Dim", dtype: "DType?" },
    impl: "composites.softmax",
    doc: "exp(x) divided by its sum along a dimension. With `dtype` the input is converted first.",
    throws: ["NotImplementedError for integers"],
    example: "tensor([0, 0]).softmax(0) // tensor([0.5000, 0.5000])",
  },
  {
    name: "log_softmax", kind: "composite", grad: "composite", variants: ["function", "method", "out"], args: { self: "Tensor", dim: "Dim", dtype: "DType?" },
    impl: "composites.logSoftmax",
    doc: "The logarithm of softmax, computed without overflow. With `dtype` the input is converted first.",
    throws: ["NotImplementedError for integers"],
    example: "tensor([0, 0]).logSoftmax(0) // tensor([-0.6931, -0.6931])",
  },
  {
    ...functional, name: "softmax", args: { input: "Tensor", dim: "Dim?" }, kwargs: { dtype: "DType?" }, impl: "composites.functionalSoftmax",
    doc: "exp(x) divided by its sum along `dim`.",
    example: "nn.functional.softmax(tensor([0, 0]), 0) // tensor([0.5000, 0.5000])",
  },
  {
    ...functional, name: "log_softmax", args: { input: "Tensor", dim: "Dim?" }, kwargs: { dtype: "DType?" }, impl: "composites.functionalLogSoftmax",
    doc: "The logarithm of softmax along `dim`.",
    example: "nn.functional.logSoftmax(tensor([0, 0]), 0) // tensor([-0.6931, -0.6931])",
  },
  {
    ...functional, name: "softmin", args: { input: "Tensor", dim: "Dim?" }, kwargs: { dtype: "DType?" }, impl: "composites.softmin",
    doc: "Softmax of the negated input along `dim`.",
    example: "nn.functional.softmin(tensor([0, 0]), 0) // tensor([0.5000, 0.5000])",
  },
  {
    ...functional, name: "linear", args: { input: "Tensor", weight: "Tensor", bias: "Tensor?" }, impl: "composites.linear",
    doc: "input @ weight^T + bias, for a weight of shape (out, in) or (in).",
    throws: ["RuntimeError when the sizes do not fit or the dtypes differ"],
    example: "nn.functional.linear(tensor([[1, 2]]), tensor([[3, 4]]), tensor([100])) // tensor([[111.]])",
  },
  {
    ...functional, name: "dropout", args: { input: "Tensor", p: ["Float", 0.5], training: ["Bool", true], inplace: ["Bool", false] }, impl: "composites.dropout",
    doc: "Zeroes each element with probability p and divides the others by 1 - p, when `training`.",
    throws: ["ValueError when p is no probability"],
    example: "nn.functional.dropout(tensor([1, 2]), { training: false }) // tensor([1., 2.])",
  },
  {
    ...functional, name: "relu", args: { input: "Tensor", inplace: ["Bool", false] }, impl: "composites.functionalRelu",
    doc: "Each element, or zero where it is negative.",
    example: "nn.functional.relu(tensor([-1, 2])) // tensor([0., 2.])",
  },
  {
    ...internal, name: "_mse_loss", args: { self: "Tensor", target: "Tensor", reduction: "Int" }, impl: "losses.mseLoss", node: "MseLossBackward0",
    grad: { self: "mseBackward(grad, self, target, reduction)", target: "mseBackward(grad, target, self, reduction)" },
    doc: "The squared differences, their mean or their sum.",
  },
  {
    ...functional, name: "mse_loss", args: { input: "Tensor", target: "Tensor", size_average: "Bool?", reduce: "Bool?", reduction: ["String", "mean"], weight: "Tensor?" },
    impl: "composites.mseLoss",
    doc: "The squared differences of input and target: their mean, their sum, or (`reduction` \"none\") each of them.",
    throws: ["ValueError for an unknown reduction", "RuntimeError when the shapes do not broadcast"],
    example: "nn.functional.mseLoss(tensor([1, 2]), tensor([1, 4])) // tensor(2.)",
  },
  {
    ...functional, name: "layer_norm", args: { input: "Tensor", normalized_shape: "Sizes", weight: "Tensor?", bias: "Tensor?", eps: ["Float", 0.00001] }, impl: "composites.layerNorm",
    doc: "Normalizes the last dimensions to mean 0 and variance 1, then scales and shifts.",
    throws: ["RuntimeError unless the input's last dimensions are `normalizedShape`"],
    example: "nn.functional.layerNorm(tensor([1, 3]), [2]) // tensor([-1.0000,  1.0000])",
  },
] as const satisfies readonly OpSchema[];

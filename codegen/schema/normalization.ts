/** Normalization over layers, groups, batches and instances, and its gradients. */
import type { OpSchema } from "../model/types.ts";

const internal = { kind: "op", variants: [], internal: true, batch: "each" } as const;
const main = { kind: "composite", grad: "composite", variants: ["function"] } as const;
const functional = { ...main, namespace: "nn.functional" } as const;

const parameters = { weight: "Tensor?", bias: "Tensor?" } as const;
const running = { running_mean: "Tensor?", running_var: "Tensor?" } as const;
const wanted = { input_wanted: "Bool", weight_wanted: "Bool", bias_wanted: "Bool" } as const;
const derivatives = { results: ["grad_input", "grad_weight", "grad_bias"] } as const;
const eps = { eps: ["Float", 0.00001] } as const;
const shape = { normalized_shape: "Sizes" } as const;
const floats = "NotImplementedError for integers and complex tensors";
const mixed = "RuntimeError for parameters of another dtype, except float32 ones beside short floats";
const misfit = "RuntimeError unless the input's last dimensions are `normalizedShape`";

export const ops = [
  {
    ...internal,
    name: "native_layer_norm",
    args: { input: "Tensor", ...shape, ...parameters, eps: "Float" },
    kernels: { cpu: ["normalization.rows"] },
    impl: "normalization.layerNorm",
    results: ["output", "mean", "rstd"],
    nonDifferentiable: [1, 2],
    node: "NativeLayerNormBackward0",
    grad: {
      "input, weight, bias":
        "layerNormBackward(grad, input, normalizedShape, weight, bias, result1, result2, eps, needs)",
    },
    jvp: { "input, weight, bias": "layerNormTangent(tangents, input, normalizedShape, weight, result1, result2, eps)" },
    doc: "The last dimensions with mean 0 and variance 1, scaled and shifted; mean and 1 / deviation of each.",
  },
  {
    ...internal,
    ...derivatives,
    name: "native_layer_norm_backward",
    args: {
      grad_out: "Tensor",
      input: "Tensor",
      ...shape,
      mean: "Tensor",
      rstd: "Tensor",
      ...parameters,
      eps: "Float",
      ...wanted,
    },
    kernels: { cpu: ["normalization.rows_backward"] },
    impl: "normalization.layerNormBackward",
    node: "NativeLayerNormBackwardBackward0",
    grad: {
      "grad_out, input, weight":
        "layerNormDoubleBackward(grads, gradOut, input, normalizedShape, weight, bias, eps, needs)",
    },
    jvp: {
      "grad_out, input, weight":
        "layerNormAgain(through, tangents, [gradOut, input, weight], normalizedShape, bias, eps, outputs)",
    },
    doc: "The gradients of a normalized layer.",
  },
  {
    ...internal,
    name: "_fused_rms_norm",
    args: { input: "Tensor", ...shape, weight: "Tensor?", eps: "Float" },
    kernels: { cpu: ["normalization.rows"] },
    impl: "normalization.rmsNorm",
    results: ["output", "rstd"],
    nonDifferentiable: [1],
    node: "MulBackward0",
    grad: { "input, weight": "rmsNormBackward(grad, input, normalizedShape, weight, result1, eps, needs)" },
    jvp: { "input, weight": "rmsNormTangent(tangents, input, normalizedShape, weight, result1, eps)" },
    doc: "The last dimensions over the root of the mean of their squares, scaled; 1 / that root of each.",
  },
  {
    ...internal,
    name: "_fused_rms_norm_backward",
    args: {
      grad_out: "Tensor",
      input: "Tensor",
      ...shape,
      rstd: "Tensor",
      weight: "Tensor?",
      eps: "Float",
      input_wanted: "Bool",
      weight_wanted: "Bool",
    },
    results: ["grad_input", "grad_weight"],
    kernels: { cpu: ["normalization.rows_backward"] },
    impl: "normalization.rmsNormBackward",
    node: "FusedRmsNormBackwardBackward0",
    grad: {
      "grad_out, input, weight": "rmsNormDoubleBackward(grads, gradOut, input, normalizedShape, weight, eps, needs)",
    },
    jvp: {
      "grad_out, input, weight":
        "rmsNormAgain(through, tangents, [gradOut, input, weight], normalizedShape, eps, outputs)",
    },
    doc: "The gradients of a layer normalized by the root of the mean of squares.",
  },
  {
    ...internal,
    name: "native_group_norm",
    args: { input: "Tensor", ...parameters, groups: "Int", eps: "Float" },
    kernels: { cpu: ["normalization.rows"] },
    impl: "normalization.groupNorm",
    results: ["output", "mean", "rstd"],
    nonDifferentiable: [1, 2],
    node: "NativeGroupNormBackward0",
    grad: {
      "input, weight, bias": "groupNormBackward(grad, input, weight, bias, groups, result1, result2, eps, needs)",
    },
    jvp: { "input, weight, bias": "groupNormTangent(tangents, input, weight, groups, result1, result2, eps)" },
    doc: "Groups of channels with mean 0 and variance 1, scaled and shifted; mean and 1 / deviation of each.",
  },
  {
    ...internal,
    ...derivatives,
    name: "native_group_norm_backward",
    args: {
      grad_out: "Tensor",
      input: "Tensor",
      mean: "Tensor",
      rstd: "Tensor",
      ...parameters,
      groups: "Int",
      eps: "Float",
      ...wanted,
    },
    kernels: { cpu: ["normalization.rows_backward"] },
    impl: "normalization.groupNormBackward",
    node: "NativeGroupNormBackwardBackward0",
    grad: {
      "grad_out, input, weight": "groupNormDoubleBackward(grads, gradOut, input, weight, bias, groups, eps, needs)",
    },
    jvp: {
      "grad_out, input, weight":
        "groupNormAgain(through, tangents, [gradOut, input, weight], bias, groups, eps, outputs)",
    },
    doc: "The gradients of normalized groups.",
  },
  {
    ...internal,
    name: "native_batch_norm",
    args: { input: "Tensor", ...parameters, ...running, training: "Bool", momentum: "Float", eps: "Float" },
    kernels: { cpu: ["normalization.channels"] },
    impl: "normalization.batchNorm",
    results: ["output", "mean", "invstd"],
    nonDifferentiable: [1, 2],
    node: "NativeBatchNormBackward0",
    grad: {
      "input, weight, bias": "batchNormBackward(grad, input, weight, bias, result1, result2, training, eps, needs)",
    },
    jvp: { "input, weight, bias": "batchNormTangent(tangents, input, weight, result1, result2, training, eps)" },
    doc: "Channels with mean 0 and variance 1, scaled and shifted; mean and 1 / deviation of each.",
  },
  {
    ...internal,
    ...derivatives,
    name: "native_batch_norm_backward",
    args: {
      grad_out: "Tensor",
      input: "Tensor",
      ...parameters,
      mean: "Tensor",
      invstd: "Tensor",
      training: "Bool",
      eps: "Float",
      ...wanted,
    },
    kernels: { cpu: ["normalization.channels_backward"] },
    impl: "normalization.batchNormBackward",
    node: "NativeBatchNormBackwardBackward0",
    grad: {
      "grad_out, input, weight":
        "batchNormDoubleBackward(grads, gradOut, input, weight, bias, mean, invstd, training, eps, needs)",
    },
    jvp: {
      "grad_out, input, weight":
        "batchNormAgain(through, tangents, [gradOut, input, weight], bias, [mean, invstd], training, eps, outputs)",
    },
    doc: "The gradients of normalized channels.",
  },
  {
    ...functional,
    name: "layer_norm",
    args: { input: "Tensor", ...shape, weight: "Tensor?", bias: "Tensor?", ...eps },
    impl: "composites.layerNorm",
    doc: "Normalizes the last dimensions to mean 0 and variance 1, then scales and shifts.",
    throws: [misfit, floats, mixed],
    example: "nn.functional.layerNorm(tensor([1, 3]), [2]) // tensor([-1.0000,  1.0000])",
  },
  {
    ...main,
    name: "layer_norm",
    args: { input: "Tensor", ...shape, weight: "Tensor?", bias: "Tensor?", ...eps, cudnn_enable: ["Bool", true] },
    impl: "composites.mainLayerNorm",
    doc: "As `nn.functional.layerNorm`; `cudnnEnable` changes nothing.",
    throws: [misfit, floats, mixed],
    example: "layerNorm(tensor([1, 3]), [2]) // tensor([-1.0000,  1.0000])",
  },
  {
    ...main,
    name: "rms_norm",
    args: { input: "Tensor", ...shape, weight: "Tensor?", eps: ["Float?", null] },
    also: ["nn.functional.rms_norm"],
    impl: "composites.rmsNorm",
    doc:
      "Divides the last dimensions by the root of the mean of their squares, then scales. Without `eps` it is the " +
      "smallest number that float32, or float64, adds to 1.",
    throws: [misfit, "NotImplementedError for integers"],
    example: "rmsNorm(tensor([1, 7]), [2]) // tensor([0.2000, 1.4000])",
  },
  {
    ...functional,
    name: "group_norm",
    args: { input: "Tensor", num_groups: "Int", weight: "Tensor?", bias: "Tensor?", ...eps },
    impl: "composites.functionalGroupNorm",
    doc: "Normalizes groups of channels, dimension 1, to mean 0 and variance 1, then scales and shifts each channel.",
    throws: ["RuntimeError unless the groups divide the channels", floats, mixed, "ValueError for one value per group"],
    example: "nn.functional.groupNorm(tensor([[1, 3, 5, 9]]), 2) // tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])",
  },
  {
    ...main,
    name: "group_norm",
    args: {
      input: "Tensor",
      num_groups: "Int",
      weight: "Tensor?",
      bias: "Tensor?",
      ...eps,
      cudnn_enabled: ["Bool", true],
    },
    impl: "composites.mainGroupNorm",
    doc: "As `nn.functional.groupNorm`, also for one value per group; `cudnnEnabled` changes nothing.",
    throws: ["RuntimeError unless the groups divide the channels", floats, mixed],
    example: "groupNorm(tensor([[1, 3, 5, 9]]), 2) // tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])",
  },
  {
    ...functional,
    name: "batch_norm",
    args: {
      input: "Tensor",
      ...running,
      weight: "Tensor?",
      bias: "Tensor?",
      training: ["Bool", false],
      momentum: ["Float", 0.1],
      ...eps,
    },
    impl: "composites.functionalBatchNorm",
    doc:
      "Normalizes each channel, dimension 1, by the batch's mean and variance when `training`, else by the running " +
      "ones, then scales and shifts it. When `training`, `momentum` of the batch's goes into the running ones.",
    throws: ["ValueError for one value per channel when `training`", floats, mixed],
    example:
      "nn.functional.batchNorm(tensor([[1], [3]]), null, null, { training: true }) // tensor([[-1.0000],\n" +
      "//         [ 1.0000]])",
  },
  {
    ...main,
    name: "batch_norm",
    args: {
      input: "Tensor",
      ...parameters,
      ...running,
      training: "Bool",
      momentum: "Float",
      eps: "Float",
      cudnn_enabled: "Bool",
    },
    impl: "composites.batchNorm",
    doc: "As `nn.functional.batchNorm`, with the parameters first; `cudnnEnabled` changes nothing.",
    throws: [floats, mixed],
    example:
      "batchNorm(tensor([[1], [3]]), null, null, null, null, true, 0.1, 0.00001, false) // tensor([[-1.0000],\n" +
      "//         [ 1.0000]])",
  },
  {
    ...functional,
    name: "instance_norm",
    args: {
      input: "Tensor",
      running_mean: "Tensor?",
      running_var: "Tensor?",
      weight: "Tensor?",
      bias: "Tensor?",
      use_input_stats: ["Bool", true],
      momentum: ["Float", 0.1],
      ...eps,
    },
    impl: "composites.functionalInstanceNorm",
    doc: "Normalizes each channel of each example by itself, or by the running statistics, then scales and shifts it.",
    throws: ["ValueError for one value per channel", floats],
    example: "nn.functional.instanceNorm(tensor([[[1, 3]]])) // tensor([[[-1.0000,  1.0000]]])",
  },
  {
    ...main,
    name: "instance_norm",
    args: {
      input: "Tensor",
      ...parameters,
      ...running,
      use_input_stats: "Bool",
      momentum: "Float",
      eps: "Float",
      cudnn_enabled: "Bool",
    },
    impl: "composites.instanceNorm",
    doc: "As `nn.functional.instanceNorm`, with the parameters first; `cudnnEnabled` changes nothing.",
    throws: [floats],
    example:
      "instanceNorm(tensor([[[1, 3]]]), null, null, null, null, true, 0.1, 0.00001, false) " +
      "// tensor([[[-1.0000,  1.0000]]])",
  },
  {
    ...functional,
    name: "normalize",
    variants: ["function", "out"],
    args: { input: "Tensor", p: ["Float", 2], dim: ["Dims", 1], eps: ["Float", 1e-12] },
    impl: "composites.normalize",
    doc: "Divides by the norm of order `p` along a dimension, which counts as `eps` where it is smaller.",
    throws: ["IndexError for a dimension out of range", "NotImplementedError for integers"],
    example: "nn.functional.normalize(tensor([[3, 4]])) // tensor([[0.6000, 0.8000]])",
  },
] as const satisfies readonly OpSchema[];

/** Convolutions: one operator for all kinds, its gradients, and the functions that people call. */
import type { OpSchema } from "../model/types.ts";

const internal = { kind: "op", variants: [], internal: true, batch: "own" } as const;
const functional = {
  namespace: "nn.functional",
  kind: "composite",
  grad: "composite",
  variants: ["function"],
  direct: true,
} as const;
const geometry = {
  stride: "Ints",
  padding: "Ints",
  dilation: "Ints",
  transposed: "Bool",
  output_padding: "Ints",
} as const;
const operands = { input: "Tensor", weight: "Tensor", bias: ["Tensor?", null] } as const;
const forward = {
  ...operands,
  stride: ["Ints", 1],
  padding: ["String|Ints", 0],
  dilation: ["Ints", 1],
  groups: ["Int", 1],
} as const;
const back = {
  ...operands,
  stride: ["Ints", 1],
  padding: ["Ints", 0],
  output_padding: ["Ints", 0],
  groups: ["Int", 1],
  dilation: ["Ints", 1],
} as const;
const refused = ["RuntimeError when sizes, groups or dtypes do not fit", "NotImplementedError for bools"] as const;
const REST = "stride, padding, dilation, transposed, outputPadding, groups";

export const ops = [
  {
    ...internal,
    name: "convolution",
    args: { input: "Tensor", weight: "Tensor", bias: "Tensor?", ...geometry, groups: "Int" },
    kernels: { cpu: ["convolution.forward", "convolution.transposed"] },
    impl: "convolution.convolution",
    node: "ConvolutionBackward0",
    grad: {
      input: "convolutionInputBackward(grad, weight, input.shape, " + REST + ")",
      weight: "convolutionWeightBackward(grad, input, weight.shape, " + REST + ")",
      bias: "convolutionBiasBackward(grad)",
    },
    jvp: {
      input: "O.convolution(tangent, weight, null, stride, padding, dilation, transposed, outputPadding, groups)",
      weight: "O.convolution(input, tangent, null, stride, padding, dilation, transposed, outputPadding, groups)",
      bias: "ofChannel(tangent, outputs)",
    },
    doc: "The convolution of a batch of images, or with `transposed` what its gradient is.",
  },
  {
    ...internal,
    name: "convolution_input_backward",
    args: { grad_output: "Tensor", weight: "Tensor", input_size: "Ints", ...geometry, groups: "Int" },
    kernels: { cpu: ["convolution.transposed", "convolution.forward"] },
    impl: "convolution.inputGradient",
    node: "ConvolutionBackwardBackward0",
    grad: {
      grad_output: "convolutionAgain(grad, weight, " + REST + ")",
      weight: "convolutionWeightBackward(gradOutput, grad, weight.shape, " + REST + ")",
    },
    jvp: "multilinear",
    doc: "The gradient of a convolution's images.",
  },
  {
    ...internal,
    name: "convolution_weight_backward",
    args: { grad_output: "Tensor", input: "Tensor", weight_size: "Ints", ...geometry, groups: "Int" },
    kernels: { cpu: ["convolution.weight_gradient"] },
    impl: "convolution.weightGradient",
    node: "ConvolutionBackwardBackward0",
    grad: {
      grad_output: "convolutionAgain(input, grad, " + REST + ")",
      input: "convolutionInputBackward(gradOutput, grad, input.shape, " + REST + ")",
    },
    jvp: "multilinear",
    doc: "The gradient of a convolution's weights.",
  },
  {
    ...functional,
    name: "conv1d",
    also: ["torch.conv1d"],
    args: forward,
    impl: "composites.conv1d",
    doc:
      "Slides filters of shape (out, in / groups, width) over signals of shape (batch, in, length) or (in, length). " +
      '`padding` is a number of zeros on both sides, or "valid" for none, or "same" for as many as keep the length.',
    throws: refused,
    example: "nn.functional.conv1d(tensor([[1, 2, 4, 8]]), tensor([[[1, 1]]])) // tensor([[ 3.,  6., 12.]])",
  },
  {
    ...functional,
    name: "conv2d",
    also: ["torch.conv2d"],
    args: forward,
    impl: "composites.conv2d",
    doc:
      "Slides filters of shape (out, in / groups, height, width) over images of shape (batch, in, height, width) or " +
      '(in, height, width). `padding` is a number of zeros on each side, or "valid" for none, or "same" for as many ' +
      "as keep the size. Images with channels last give a result with channels last.",
    throws: refused,
    example: "nn.functional.conv2d(ones(1, 3, 3), ones(1, 1, 2, 2)) // tensor([[[4., 4.],\n         [4., 4.]]])",
  },
  {
    ...functional,
    name: "conv3d",
    also: ["torch.conv3d"],
    args: forward,
    impl: "composites.conv3d",
    doc:
      "Slides filters of shape (out, in / groups, depth, height, width) over volumes of shape (batch, in, depth, " +
      'height, width) or (in, depth, height, width). `padding` is a number of zeros on each side, "valid" or "same".',
    throws: refused,
    example: "nn.functional.conv3d(ones(1, 1, 4, 4, 4), ones(2, 1, 3, 3, 3)).shape // torch.Size([1, 2, 2, 2, 2])",
  },
  {
    ...functional,
    name: "conv_transpose1d",
    also: ["torch.conv_transpose1d"],
    args: back,
    impl: "composites.convTranspose1d",
    doc:
      "The gradient of a convolution over signals as an operator: each element adds its filter, of shape (in, out / " +
      "groups, width), to the result. `outputPadding` makes the result longer on one side.",
    throws: refused,
    example: "nn.functional.convTranspose1d(tensor([[1, 2]]), tensor([[[1, 10]]])) // tensor([[ 1., 12., 20.]])",
  },
  {
    ...functional,
    name: "conv_transpose2d",
    also: ["torch.conv_transpose2d"],
    args: back,
    impl: "composites.convTranspose2d",
    doc:
      "The gradient of a convolution over images as an operator: each element adds its filter, of shape (in, out / " +
      "groups, height, width), to the result. `outputPadding` makes the result larger on one side.",
    throws: refused,
    example:
      "nn.functional.convTranspose2d(ones(1, 3, 3), ones(1, 2, 2, 2), { stride: 2 }).shape // torch.Size([2, 6, 6])",
  },
  {
    ...functional,
    name: "conv_transpose3d",
    also: ["torch.conv_transpose3d"],
    args: back,
    impl: "composites.convTranspose3d",
    doc:
      "The gradient of a convolution over volumes as an operator: each element adds its filter, of shape (in, out / " +
      "groups, depth, height, width), to the result. `outputPadding` makes the result larger on one side.",
    throws: refused,
    example:
      "nn.functional.convTranspose3d(ones(1, 1, 2, 2, 2), ones(1, 1, 2, 2, 2)).shape // torch.Size([1, 1, 3, 3, 3])",
  },
  {
    kind: "op",
    name: "constant_pad_nd",
    variants: ["function"],
    batch: "own",
    args: { self: "Tensor", pad: "Ints", value: ["Scalar", 0] },
    kernels: { cpu: ["copy.copy"] },
    impl: "padding.constantPad",
    node: "ConstantPadNdBackward0",
    grad: { self: "constantPadBackward(grad, pad)" },
    jvp: { self: "O.constant_pad_nd(tangent, pad, 0)" },
    doc:
      "Adds `value` on both sides of the last dimensions: `pad` is how many in front and behind, for the last " +
      "dimension first. Negative numbers take elements away.",
    throws: ["RuntimeError for an odd number of sizes, more than there are dimensions for, or a negative result"],
    example: "constantPadNd(tensor([1, 2]), [1, 2]) // tensor([0., 1., 2., 0., 0.])",
  },
] as const satisfies readonly OpSchema[];

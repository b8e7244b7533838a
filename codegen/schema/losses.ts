/** Losses. */
import type { OpSchema } from "../model/types.ts";

const functional = {
  namespace: "nn.functional",
  kind: "composite",
  grad: "composite",
  variants: ["function"],
} as const;
const internal = { kind: "op", variants: [], internal: true, batch: "broadcast" } as const;
const short = ["float8_e4m3fn", "float8_e5m2"] as const;
const old = { size_average: "Bool?", reduce: "Bool?", reduction: ["String", "mean"] } as const;

export const ops = [
  {
    ...internal,
    name: "_mse_loss",
    batch: "own",
    args: { self: "Tensor", target: "Tensor", reduction: "Int" },
    impl: "losses.mseLoss",
    node: "MseLossBackward0",
    grad: { self: "mseBackward(grad, self, target, reduction)", target: "mseBackward(grad, target, self, reduction)" },
    jvp: {
      self: "reduced(mseBackward(tangent, self, target, 0), reduction)",
      target: "reduced(mseBackward(tangent, target, self, 0), reduction)",
    },
    doc: "The squared differences, their mean or their sum.",
  },
  {
    ...functional,
    name: "mse_loss",
    args: { input: "Tensor", target: "Tensor", ...old, weight: "Tensor?" },
    impl: "composites.mseLoss",
    refuses: [{ dtypes: ["bool", "integral", "complex", "float8_e4m3fn", "float8_e5m2"], kernel: "mse_cpu" }],
    doc: 'The squared differences of input and target: their mean, their sum, or (`reduction` "none") each of them.',
    throws: ["ValueError for an unknown reduction", "RuntimeError when the shapes do not broadcast"],
    example: "nn.functional.mseLoss(tensor([1, 2]), tensor([1, 4])) // tensor(2.)",
  },
  {
    ...functional,
    name: "l1_loss",
    args: { input: "Tensor", target: "Tensor", ...old, weight: "Tensor?" },
    impl: "composites.l1Loss",
    doc: 'The distances of input and target: their mean, their sum, or (`reduction` "none") each of them.',
    throws: ["ValueError for an unknown reduction", "RuntimeError when the shapes do not broadcast"],
    example: "nn.functional.l1Loss(tensor([1, 2]), tensor([1, 4])) // tensor(1.)",
  },
  {
    ...internal,
    name: "_smooth_l1_loss",
    batch: "own",
    args: { self: "Tensor", target: "Tensor", reduction: "Int", beta: "Float" },
    kernels: { cpu: ["binary.smooth_l1"] },
    impl: "losses.smoothL1Loss",
    refuses: [{ dtypes: ["bool", "integral", "complex", ...short], kernel: "smooth_l1_cpu" }],
    node: "SmoothL1LossBackward0",
    grad: {
      self: "smoothL1Backward(grad, self, target, reduction, beta)",
      target: "smoothL1Backward(grad, target, self, reduction, beta)",
    },
    jvp: {
      self: "reduced(smoothL1Backward(inLoss(tangent, outputs), self, target, 0, beta), reduction)",
      target: "reduced(smoothL1Backward(inLoss(tangent, outputs), target, self, 0, beta), reduction)",
    },
    doc: "The distances, bent to squares below `beta`, their mean or their sum.",
  },
  {
    ...functional,
    name: "smooth_l1_loss",
    args: { input: "Tensor", target: "Tensor", ...old, beta: ["Float", 1] },
    impl: "composites.smoothL1Loss",
    doc:
      "The distances of input and target, less half of `beta`; below `beta` half of their squares divided by it. " +
      'Their mean, their sum, or (`reduction` "none") each of them.',
    throws: ["RuntimeError for a negative `beta`", "NotImplementedError for integers and complex tensors"],
    example: "nn.functional.smoothL1Loss(tensor([1, 2]), tensor([1, 4])) // tensor(0.7500)",
  },
  {
    ...internal,
    name: "_huber_loss",
    batch: "own",
    args: { self: "Tensor", target: "Tensor", reduction: "Int", delta: "Float" },
    kernels: { cpu: ["binary.huber"] },
    impl: "losses.huberLoss",
    refuses: [{ dtypes: ["bool", "integral", "complex", ...short], kernel: "huber_cpu" }],
    node: "HuberLossBackward0",
    grad: {
      self: "huberBackward(grad, self, target, reduction, delta)",
      target: "huberBackward(grad, target, self, reduction, delta)",
    },
    jvp: {
      self: "reduced(huberBackward(inLoss(tangent, outputs), self, target, 0, delta), reduction)",
      target: "reduced(huberBackward(inLoss(tangent, outputs), target, self, 0, delta), reduction)",
    },
    doc: "Half of the squared distances up to `delta`, straight on beyond, their mean or their sum.",
  },
  {
    ...functional,
    name: "huber_loss",
    args: {
      input: "Tensor",
      target: "Tensor",
      reduction: ["String", "mean"],
      delta: ["Float", 1],
      weight: "Tensor?",
    },
    impl: "composites.huberLoss",
    doc:
      "Half of the squared distances of input and target up to `delta`, straight on beyond it. Their mean, their " +
      'sum, or (`reduction` "none") each of them.',
    throws: ["RuntimeError for a `delta` that is not positive", "NotImplementedError for integers and complex tensors"],
    example: "nn.functional.huberLoss(tensor([1, 2]), tensor([1, 4])) // tensor(0.7500)",
  },
] as const satisfies readonly OpSchema[];

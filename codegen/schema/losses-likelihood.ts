/** Losses of classes and of probabilities. */
import type { OpSchema } from "../model/types.ts";

const functional = {
  namespace: "nn.functional",
  kind: "composite",
  grad: "composite",
  variants: ["function"],
} as const;
const internal = { kind: "op", variants: [], internal: true, batch: "own" } as const;
const averages = { size_average: "Bool?" } as const;
const old = { size_average: "Bool?", reduce: "Bool?", reduction: ["String", "mean"] } as const;
const REAL = ["bool", "integral", "complex", "float8_e4m3fn", "float8_e5m2"] as const;

const nll = {
  ...internal,
  args: { self: "Tensor", target: "Tensor", weight: "Tensor?", reduction: "Int", ignore_index: "Int" },
  kernels: { cpu: ["loss.nll"] },
  results: ["output", "total_weight"],
  nonDifferentiable: [1],
  constants: ["weight"],
} as const;
const nllBackward = {
  ...internal,
  args: {
    grad_output: "Tensor",
    shape: "Sizes",
    target: "Tensor",
    weight: "Tensor?",
    reduction: "Int",
    ignore_index: "Int",
    total_weight: "Tensor",
  },
  batch: "each",
  kernels: { cpu: ["loss.nll_backward"] },
  impl: "likelihood.nllLossBackward",
} as const;

export const ops = [
  {
    ...nll,
    name: "nll_loss_forward",
    impl: "likelihood.nllLoss",
    refuses: [{ dtypes: REAL, kernel: "nll_loss_out_frame" }],
    node: "NllLossBackward0",
    grad: {
      self: "nllBackward(grad, self.shape, target, weight, reduction, ignoreIndex, result1)",
    },
    jvp: {
      self: "nllTangent(tangent, target, weight, reduction, ignoreIndex, false)",
    },
    doc: "The negative log likelihood of a class for each row.",
  },
  {
    ...nll,
    name: "nll_loss2d_forward",
    impl: "likelihood.nllLoss2d",
    refuses: [{ dtypes: REAL, kernel: "nll_loss2d_forward_out_frame" }],
    node: "NllLoss2DBackward0",
    grad: {
      self: "nllPlanesBackward(grad, self.shape, target, weight, reduction, ignoreIndex, result1)",
    },
    jvp: {
      self: "nllTangent(tangent, target, weight, reduction, ignoreIndex, true)",
    },
    doc: "The negative log likelihood of a class for each place of a plane.",
  },
  {
    ...nllBackward,
    name: "nll_loss_backward",
    node: "NllLossBackwardBackward0",
    grad: { grad_output: "nllDoubleBackward(grad, target, weight, reduction, ignoreIndex)" },
    jvp: { grad_output: "nllBackwardTangent(tangent, target, weight, reduction, ignoreIndex, outputs, false)" },
    doc: "The gradient of nll_loss_forward.",
  },
  {
    ...nllBackward,
    name: "nll_loss2d_backward",
    node: "NllLoss2DBackwardBackward0",
    grad: { grad_output: "nllPlanesDoubleBackward(grad, target, weight, reduction, ignoreIndex)" },
    jvp: { grad_output: "nllBackwardTangent(tangent, target, weight, reduction, ignoreIndex, outputs, true)" },
    doc: "The gradient of nll_loss2d_forward.",
  },
  {
    ...functional,
    name: "nll_loss",
    args: {
      input: "Tensor",
      target: "Tensor|Index",
      weight: "Tensor?",
      ...averages,
      ignore_index: ["Int", -100],
      reduce: "Bool?",
      reduction: ["String", "mean"],
    },
    impl: "composites.nllLoss",
    doc:
      "The negative log likelihood: minus the input, logarithms of probabilities of shape (N, C), (C) or " +
      "(N, C, d1, ...), at the class that the int64 `target` of shape (N), () or (N, d1, ...) names, times the " +
      "class's weight. Classes `ignoreIndex` do not count. Their mean, divided by the weights' sum, their sum, or " +
      '(`reduction` "none") each of them.',
    throws: ["IndexError for a class that there is not", "ValueError when the batches differ"],
    example: "nn.functional.nllLoss(tensor([[-1, -2], [-3, -4]]), [0, 1]) // tensor(2.5000)",
  },
  {
    ...functional,
    name: "cross_entropy",
    args: {
      input: "Tensor",
      target: "Tensor|Index",
      weight: "Tensor?",
      ...averages,
      ignore_index: ["Int", -100],
      reduce: "Bool?",
      reduction: ["String", "mean"],
      label_smoothing: ["Float", 0],
    },
    impl: "composites.crossEntropy",
    doc:
      "The negative log likelihood of the softmax of scores of shape (N, C), (C) or (N, C, d1, ...): `target` names " +
      "classes, int64 of shape (N), () or (N, d1, ...), or has the scores' shape and holds the classes' " +
      "probabilities. `labelSmoothing` gives each class a share of the truth.",
    throws: ["IndexError for a class that there is not", "RuntimeError for a smoothing beyond 1"],
    example: "nn.functional.crossEntropy(tensor([[0, 0], [0, 0]]), [0, 1]) // tensor(0.6931)",
  },
  {
    ...internal,
    name: "_binary_cross_entropy",
    args: { self: "Tensor", target: "Tensor", weight: "Tensor?", reduction: "Int" },
    constants: ["weight"],
    kernels: { cpu: ["binary.bce"] },
    impl: "likelihood.bce",
    refuses: [{ dtypes: REAL, kernel: "binary_cross_entropy" }],
    node: "BinaryCrossEntropyBackward0",
    grad: {
      self: "bceBackward(grad, self, target, weight, reduction)",
      target: "bceTargetBackward(grad, self, weight, reduction)",
    },
    jvp: {
      self: "reduced(bceBackward(tangent, self, target, weight, 0), reduction)",
      target: "reduced(bceTargetBackward(tangent, self, weight, 0), reduction)",
    },
    doc: "The losses of probabilities, times weights, their mean or their sum.",
  },
  {
    ...internal,
    kind: "pointwise",
    batch: "broadcast",
    promote: "arith",
    name: "binary_cross_entropy_backward",
    args: { grad_output: "Tensor", self: "Tensor", target: "Tensor" },
    kernels: { cpu: ["ternary.bce_backward"] },
    node: "BinaryCrossEntropyBackwardBackward0",
    grad: {
      grad_output: "bceSlope(grad, self, target)",
      self: "bceCurve(grad, gradOutput, self, target)",
      target: "bceTargetCurve(grad, gradOutput, self)",
    },
    doc: "The gradient of the loss of a probability.",
  },
  {
    ...functional,
    name: "binary_cross_entropy",
    args: { input: "Tensor", target: "Tensor", weight: "Tensor?", ...old },
    impl: "composites.binaryCrossEntropy",
    doc:
      "What probabilities cost: -log(input) where `target` is 1, -log(1 - input) where it is 0, times weights; no " +
      'loss is above 100. Their mean, their sum, or (`reduction` "none") each of them.',
    throws: ["RuntimeError for an input that is no probability", "ValueError when the sizes differ"],
    example: "nn.functional.binaryCrossEntropy(tensor([0.5]), tensor([1])) // tensor(0.6931)",
  },
  {
    ...internal,
    name: "_binary_cross_entropy_with_logits",
    args: { self: "Tensor", target: "Tensor", weight: "Tensor?", pos_weight: "Tensor?", reduction: "Int" },
    constants: ["weight", "pos_weight"],
    kernels: { cpu: ["binary.bce_logits", "ternary.bce_logits"] },
    impl: "likelihood.bceLogits",
    refuses: [{ dtypes: REAL, kernel: "log_sigmoid_cpu" }],
    node: "BinaryCrossEntropyWithLogitsBackward0",
    grad: {
      self: "bceLogitsBackward(grad, self, target, weight, posWeight, reduction)",
      target: "bceLogitsTargetBackward(grad, self, weight, posWeight, reduction)",
    },
    jvp: {
      self: "reduced(bceLogitsBackward(tangent, self, target, weight, posWeight, 0), reduction)",
      target: "reduced(bceLogitsTargetBackward(tangent, self, weight, posWeight, 0), reduction)",
    },
    doc: "The losses of numbers whose sigmoids are probabilities.",
  },
  {
    ...functional,
    name: "binary_cross_entropy_with_logits",
    args: { input: "Tensor", target: "Tensor", weight: "Tensor?", ...old, pos_weight: "Tensor?" },
    impl: "composites.binaryCrossEntropyWithLogits",
    doc:
      "binaryCrossEntropy of the sigmoid of the input, without loss of digits; `posWeight` weighs the part where " +
      "`target` is 1.",
    throws: ["ValueError when the sizes differ"],
    example: "nn.functional.binaryCrossEntropyWithLogits(tensor([0]), tensor([1])) // tensor(0.6931)",
  },
  {
    ...functional,
    name: "kl_div",
    args: { input: "Tensor", target: "Tensor", ...old, log_target: ["Bool", false] },
    impl: "composites.klDiv",
    doc:
      "The divergence of Kullback and Leibler, target * (log(target) - input): the input holds logarithms, the " +
      'target too with `logTarget`. Reduction "batchmean" divides the sum by the first size.',
    throws: ["ValueError for an unknown reduction"],
    example: "nn.functional.klDiv(tensor([-1, -1]), tensor([0.5, 0.5]), { reduction: 'sum' }) // tensor(0.3069)",
  },
  {
    ...functional,
    name: "poisson_nll_loss",
    args: {
      input: "Tensor",
      target: "Tensor",
      log_input: ["Bool", true],
      full: ["Bool", false],
      ...averages,
      eps: ["Float", 1e-8],
      reduce: "Bool?",
      reduction: ["String", "mean"],
    },
    impl: "composites.poissonNllLoss",
    doc:
      "The negative log likelihood of counts: exp(input) - target * input, or without `logInput` of rates as they " +
      "are; `full` adds Stirling's term of targets above 1.",
    throws: ["ValueError for an unknown reduction"],
    example: "nn.functional.poissonNllLoss(tensor([0]), tensor([2])) // tensor(1.)",
  },
  {
    ...functional,
    name: "gaussian_nll_loss",
    args: {
      input: "Tensor",
      target: "Tensor",
      variance: "Tensor|Scalar",
      full: ["Bool", false],
      eps: ["Float", 1e-6],
      reduction: ["String", "mean"],
    },
    impl: "composites.gaussianNllLoss",
    doc:
      "Half of log(variance) + (input - target)^2 / variance: the negative log likelihood of normal variables, " +
      "variances at least `eps`; `full` adds half of log(2 pi).",
    throws: ["ValueError for a negative variance, or one of a shape that does not fit"],
    example: "nn.functional.gaussianNllLoss(tensor([1]), tensor([2]), tensor([1])) // tensor(0.5000)",
  },
] as const satisfies readonly OpSchema[];

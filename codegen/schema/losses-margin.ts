/** Similarities of vectors, and losses that ask for a margin. */
import type { OpSchema } from "../model/types.ts";

const functional = {
  namespace: "nn.functional",
  kind: "composite",
  grad: "composite",
  variants: ["function"],
} as const;
const old = { size_average: "Bool?", reduce: "Bool?", reduction: ["String", "mean"] } as const;

export const ops = [
  {
    ...functional,
    name: "cosine_similarity",
    also: ["torch.cosine_similarity"],
    args: { x1: "Tensor", x2: "Tensor", dim: ["Dim", 1], eps: ["Float", 1e-8] },
    impl: "composites.cosineSimilarity",
    doc: "The cosine of the angle between vectors along a dimension; lengths count as `eps` at least.",
    throws: ["RuntimeError unless the dtypes are of real floating-point numbers"],
    example: "nn.functional.cosineSimilarity(tensor([[1, 0]]), tensor([[1, 1]])) // tensor([0.7071])",
  },
  {
    ...functional,
    name: "pairwise_distance",
    also: ["torch.pairwise_distance"],
    args: { x1: "Tensor", x2: "Tensor", p: ["Float", 2], eps: ["Float", 1e-6], keepdim: ["Bool", false] },
    impl: "composites.pairwiseDistance",
    doc: "The p-norm of the difference of vectors along the last dimension, `eps` added to each element.",
    example: "nn.functional.pairwiseDistance(tensor([3, 0]), tensor([0, 4]), { eps: 0 }) // tensor(5.)",
  },
  {
    ...functional,
    name: "cosine_embedding_loss",
    args: { input1: "Tensor", input2: "Tensor", target: "Tensor", margin: ["Float", 0], ...old },
    impl: "composites.cosineEmbeddingLoss",
    doc: "1 - cos of the angle of vectors whose `target` is 1; where it is -1 what the cosine has above `margin`.",
    throws: ["RuntimeError when the shapes do not fit"],
    example: "nn.functional.cosineEmbeddingLoss(tensor([[1, 0]]), tensor([[0, 1]]), tensor([1])) // tensor(1.)",
  },
  {
    ...functional,
    name: "triplet_margin_loss",
    args: {
      anchor: "Tensor",
      positive: "Tensor",
      negative: "Tensor",
      margin: ["Float", 1],
      p: ["Float", 2],
      eps: ["Float", 1e-6],
      swap: ["Bool", false],
      ...old,
    },
    impl: "composites.tripletMarginLoss",
    doc:
      "How much farther, by `margin`, the negative example should be from the anchor than the positive one; with " +
      "`swap` the negative one's distance to the positive one counts where it is smaller.",
    throws: ["ValueError unless the margin is positive", "RuntimeError when the numbers of dimensions differ"],
    example:
      "nn.functional.tripletMarginLoss(tensor([[0]]), tensor([[1]]), tensor([[1.5]])).round({ decimals: 3 }) " +
      "// tensor(0.5000)",
  },
  {
    ...functional,
    name: "margin_ranking_loss",
    args: { input1: "Tensor", input2: "Tensor", target: "Tensor", margin: ["Float", 0], ...old },
    impl: "composites.marginRankingLoss",
    doc: "max(0, -target * (input1 - input2) + margin): with `target` 1 the first should rank higher, with -1 lower.",
    throws: ["RuntimeError when the numbers of dimensions differ"],
    example: "nn.functional.marginRankingLoss(tensor([1]), tensor([2]), tensor([1])) // tensor(1.)",
  },
  {
    ...functional,
    name: "hinge_embedding_loss",
    args: { input: "Tensor", target: "Tensor", margin: ["Float", 1], ...old },
    impl: "composites.hingeEmbeddingLoss",
    doc: "The input where `target` is 1, and what it lacks of `margin` where `target` is -1.",
    throws: ["ValueError for an unknown reduction"],
    example: "nn.functional.hingeEmbeddingLoss(tensor([0.5, 0.5]), tensor([1, -1])) // tensor(0.5000)",
  },
  {
    ...functional,
    name: "soft_margin_loss",
    args: { input: "Tensor", target: "Tensor", ...old },
    impl: "composites.softMarginLoss",
    doc: "log(1 + exp(-target * input)), for targets of 1 and -1.",
    throws: ["ValueError for an unknown reduction"],
    example: "nn.functional.softMarginLoss(tensor([0]), tensor([1])) // tensor(0.6931)",
  },
  {
    kind: "op",
    variants: [],
    internal: true,
    name: "_soft_margin_loss",
    batch: "own",
    args: { self: "Tensor", target: "Tensor", reduction: "Int" },
    constants: ["target"],
    kernels: { cpu: ["binary.soft_margin"] },
    impl: "losses.softMarginLoss",
    node: "SoftMarginLossBackward0",
    grad: { self: "softMarginBackward(grad, self, target, reduction)" },
    jvp: { self: "reduced(softMarginBackward(tangent, self, target, 0), reduction)" },
    doc: "The logarithm of 1 + exp(-target * self), reduced.",
  },
  {
    ...functional,
    name: "multilabel_soft_margin_loss",
    args: { input: "Tensor", target: "Tensor", weight: "Tensor?", ...old },
    impl: "composites.multilabelSoftMarginLoss",
    doc: "The binary cross entropy of the classes' scores, averaged over the last dimension.",
    throws: ["ValueError for an unknown reduction"],
    example: "nn.functional.multilabelSoftMarginLoss(tensor([[0, 0]]), tensor([[1, 0]])) // tensor(0.6931)",
  },
] as const satisfies readonly OpSchema[];

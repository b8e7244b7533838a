/** Rows of tables that positions name, and forms that mix two inputs. */
import type { OpSchema } from "../model/types.ts";

const functional = {
  namespace: "nn.functional",
  kind: "composite",
  grad: "composite",
  variants: ["function"],
} as const;

export const ops = [
  {
    kind: "op",
    variants: [],
    internal: true,
    name: "_embedding",
    batch: "own",
    args: { weight: "Tensor", indices: "Tensor", padding_idx: "Int", scale_grad_by_freq: "Bool" },
    realGradients: "embedding",
    kernels: { cpu: ["index.get"] },
    impl: "indexing.embedding",
    node: "EmbeddingBackward0",
    grad: { weight: "embeddingBackward(grad, weight.shape, indices, paddingIdx, scaleGradByFreq)" },
    jvp: "linear",
    doc: "The rows of a table that positions name.",
  },
  {
    ...functional,
    name: "embedding",
    args: {
      input: "Tensor|Index",
      weight: "Tensor",
      padding_idx: "Int?",
      max_norm: "Float?",
      norm_type: ["Float", 2],
      scale_grad_by_freq: ["Bool", false],
      sparse: ["Bool", false],
    },
    impl: "composites.embedding",
    doc:
      "The rows of `weight` of shape (n, d) that the int64 or int32 `input` of any shape names. The row `paddingIdx` " +
      "gets no gradient; with `maxNorm` rows that are longer are made shorter first, in place; `scaleGradByFreq` " +
      "divides a row's gradient by how often it is named. Gradients are dense, with `sparse` too.",
    throws: ["IndexError for a row that there is not", "RuntimeError for indices of another dtype"],
    example: "nn.functional.embedding([0, 1, 0], tensor([[1, 2], [3, 4]])).shape // torch.Size([3, 2])",
  },
  {
    ...functional,
    name: "embedding_bag",
    args: {
      input: "Tensor|Index",
      weight: "Tensor",
      offsets: "Tensor|Index?",
      max_norm: "Float?",
      norm_type: ["Float", 2],
      scale_grad_by_freq: ["Bool", false],
      mode: ["String", "mean"],
      sparse: ["Bool", false],
      per_sample_weights: "Tensor?",
      include_last_offset: ["Bool", false],
      padding_idx: "Int?",
    },
    impl: "composites.embeddingBag",
    doc:
      'Sums, means or (`mode` "max") largest elements of rows of `weight`: of each row of an `input` of two ' +
      "dimensions, or of the runs of a vector that begin at `offsets`. `perSampleWeights` weigh the rows of a sum; " +
      "rows `paddingIdx` do not count.",
    throws: ["ValueError for offsets that do not fit the input", "RuntimeError for a row that there is not"],
    example: "nn.functional.embeddingBag([[0, 1]], tensor([[1, 2], [3, 4]]), { mode: 'sum' }) // tensor([[4., 6.]])",
  },
  {
    ...functional,
    name: "one_hot",
    args: { input: "Tensor|Index", num_classes: ["Int", -1] },
    impl: "composites.oneHot",
    doc: "For each class of an int64 tensor a row of zeros with a 1 at its place; -1 counts the classes.",
    throws: ["RuntimeError for a negative class or one that is too large"],
    example: "nn.functional.oneHot([0, 2], 3) // tensor([[1, 0, 0],\n        [0, 0, 1]])",
  },
  {
    ...functional,
    name: "bilinear",
    also: ["torch.bilinear"],
    args: { input1: "Tensor", input2: "Tensor", weight: "Tensor", bias: "Tensor?" },
    impl: "composites.bilinear",
    doc: "x1^T @ weight[k] @ x2 + bias[k] for each k, for a weight of shape (out, in1, in2).",
    throws: ["RuntimeError when the sizes do not fit"],
    example: "nn.functional.bilinear(tensor([[2]]), tensor([[3]]), tensor([[[10]]])) // tensor([[60.]])",
  },
] as const satisfies readonly OpSchema[];

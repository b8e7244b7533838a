/** Scaled dot product attention and its gradients. */
import type { OpSchema } from "../model/types.ts";

const internal = { kind: "op", variants: [], internal: true, batch: "each" } as const;
const operands = { query: "Tensor", key: "Tensor", value: "Tensor" } as const;

export const ops = [
  {
    ...internal,
    name: "_scaled_dot_product_flash_attention_for_cpu",
    args: { ...operands, attn_mask: "Tensor?", is_causal: "Bool", scale: "Float" },
    kernels: { cpu: ["attention.forward"] },
    impl: "attention.attention",
    results: ["output", "logsumexp"],
    nonDifferentiable: [1],
    node: "ScaledDotProductFlashAttentionForCpuBackward0",
    grad: {
      "query, key, value":
        "attentionBackward(grad, query, key, value, attnMask, result0, result1, isCausal, scale, needs)",
    },
    jvp: { "query, key, value": "attentionTangent(through, tangents, [query, key, value], attnMask, isCausal, scale)" },
    doc: "Attention of batch x heads x positions x features, by blocks of keys; the logarithms of the sums of powers.",
  },
  {
    ...internal,
    name: "_scaled_dot_product_flash_attention_for_cpu_backward",
    args: {
      grad_out: "Tensor",
      ...operands,
      attn_mask: "Tensor?",
      out: "Tensor",
      logsumexp: "Tensor",
      is_causal: "Bool",
      scale: "Float",
    },
    kernels: { cpu: ["attention.backward"] },
    impl: "attention.attentionBackward",
    results: ["grad_query", "grad_key", "grad_value"],
    node: "ScaledDotProductFlashAttentionForCpuBackwardBackward0",
    grad: {
      "grad_out, query, key, value":
        "attentionDoubleBackward(grads, gradOut, query, key, value, attnMask, isCausal, scale, needs)",
    },
    jvp: {
      "grad_out, query, key, value":
        "attentionAgain(through, tangents, [gradOut, query, key, value], attnMask, isCausal, scale)",
    },
    doc: "The gradients of attention.",
  },
  {
    name: "scaled_dot_product_attention",
    namespace: "nn.functional",
    kind: "composite",
    grad: "composite",
    variants: ["function"],
    args: { ...operands, attn_mask: "Tensor?", dropout_p: ["Float", 0], is_causal: ["Bool", false] },
    kwargs: { scale: "Float?", enable_gqa: ["Bool", false] },
    impl: "composites.scaledDotProductAttention",
    doc:
      "softmax(query key^T scale + mask) value, for queries of shape (..., L, E), keys (..., S, E) and values " +
      "(..., S, V). A mask of bools says which keys count, one of floats is added; `isCausal` lets each query see " +
      "the keys up to its own place. `scale` is 1 / sqrt(E) by default. With `enableGqa` several heads, dimension " +
      "-3, of queries share one of keys and values.",
    throws: ["RuntimeError for dtypes that differ, a mask beside `isCausal`, and sizes that do not fit"],
    example:
      "nn.functional.scaledDotProductAttention(tensor([[1, 0]]), tensor([[1, 0], [0, 1]]), tensor([[1], [2]])) " +
      "// tensor([[1.3302]])",
  },
  {
    name: "multi_head_attention_forward",
    namespace: "nn.functional",
    kind: "composite",
    grad: "composite",
    variants: ["function"],
    args: {
      ...operands,
      embed_dim_to_check: "Int",
      num_heads: "Int",
      in_proj_weight: "Tensor?",
      in_proj_bias: "Tensor?",
      bias_k: "Tensor?",
      bias_v: "Tensor?",
      add_zero_attn: "Bool",
      dropout_p: "Float",
      out_proj_weight: "Tensor",
      out_proj_bias: "Tensor?",
      training: ["Bool", true],
      key_padding_mask: ["Tensor?", null],
      need_weights: ["Bool", true],
      attn_mask: ["Tensor?", null],
      use_separate_proj_weight: ["Bool", false],
      q_proj_weight: ["Tensor?", null],
      k_proj_weight: ["Tensor?", null],
      v_proj_weight: ["Tensor?", null],
      static_k: ["Tensor?", null],
      static_v: ["Tensor?", null],
      average_attn_weights: ["Bool", true],
      is_causal: ["Bool", false],
    },
    impl: "composites.multiHeadAttentionForward",
    returns: "[Tensor, Tensor | null]",
    doc:
      "What `nn.MultiheadAttention` computes, of queries (L, N, E), keys and values (S, N, E); with `needWeights` " +
      "the weights, (N, L, S). `staticK` and `staticV`, (N * heads, S, E / heads), stand for projected keys and " +
      "values. True in a mask does not count.",
    throws: ["AssertionError for sizes that do not fit, and weights that are missing"],
    example:
      "const one = ones(1, 1, 1);\n" +
      "const [y, weights] = nn.functional.multiHeadAttentionForward(one, one, one, 1, 1, ones(3, 1), null, null, " +
      "null, false, 0, ones(1, 1), null);\n" +
      "[y, weights] // [tensor([[[1.]]]), tensor([[[1.]]])]",
  },
] as const satisfies readonly OpSchema[];

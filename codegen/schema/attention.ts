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
] as const satisfies readonly OpSchema[];

/** Multi-head attention. */
import type { TextSchema } from "../../model/types.ts";

const assertion = { error: "AssertionError", code: "assertion" } as const;

export const texts = [
  { ...assertion, name: "multiHeadMaskKind", text: "only bool and floating types of {name} are supported" },
  {
    name: "multiHeadMasksDiffer",
    warning: "UserWarning",
    text: "Support for mismatched {name} and {other} is deprecated. Use same type for both instead.",
  },
  {
    ...assertion,
    name: "multiHeadQueryRank",
    text: "query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor",
  },
  {
    ...assertion,
    name: "multiHeadRanks",
    text:
      "For {kind} `query`, expected `key` and `value` to be {rank}-D but found {key}-D and {value}-D tensors " +
      "respectively",
  },
  {
    ...assertion,
    name: "multiHeadPaddingRank",
    text: "For {kind} `query`, expected `key_padding_mask` to be `None` or {wanted}-D but found {got}-D tensor instead",
  },
  {
    ...assertion,
    name: "multiHeadMaskRank",
    text: "For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {got}-D tensor instead",
  },
  { ...assertion, name: "multiHeadMaskShape", text: "Expected `attn_mask` shape to be {expected} but got {got}" },
  {
    ...assertion,
    name: "multiHeadWeightsShape",
    text: "expecting {name} weights shape of {expected}, but got {got}",
  },
  { ...assertion, name: "multiHeadWidth", text: "was expecting embedding dimension of {expected}, but got {got}" },
  { ...assertion, name: "multiHeadHeads", text: "embed_dim {width} not divisible by num_heads {heads}" },
  {
    ...assertion,
    name: "multiHeadKeyDims",
    text: "key's sequence and batch dims {key} do not match value's {value}",
  },
  { ...assertion, name: "multiHeadKeyShape", text: "key shape {key} does not match value shape {value}" },
  {
    name: "multiHeadMaskSize",
    error: "RuntimeError",
    code: "shape_mismatch",
    text: "The shape of the {rank}D attn_mask is {got}, but should be {expected}.",
  },
  {
    name: "multiHeadCausal",
    error: "RuntimeError",
    code: "value",
    text:
      "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method " +
      "`generate_square_subsequent_mask` to create this mask.",
  },
  {
    ...assertion,
    name: "multiHeadPaddingSize",
    text: "Expected key_padded_mask.shape[{dim}] to be {expected}, but got {got}",
  },
  { ...assertion, name: "multiHeadWeightMissing", text: "use_separate_proj_weight is {flag} but {name} is None" },
  { ...assertion, name: "multiHeadStaticBias", text: "bias cannot be added to static {name}." },
  { ...assertion, name: "multiHeadLoneBias", text: "{given} is set but {other} is None" },
  {
    ...assertion,
    name: "multiHeadStaticSize",
    text: "expecting {name}.size({dim}) of {expected}, but got {got}",
  },
] as const satisfies readonly TextSchema[];

// Operators that vmap refuses for a batch of examples, by their names in the golden cases, and why.

const RANDOM = "random numbers are refused unless the caller says whose they are";
const DYNAMIC = "the size of the result depends on the elements of each example";

/** Refused in every case. */
export const REFUSED: Readonly<Record<string, string>> = {
  allclose: "one truth value leaves the tensors",
  equal: "one truth value leaves the tensors",
  item: "the element leaves the tensors",
  argwhere: DYNAMIC,
  bincount: DYNAMIC,
  nonzero: DYNAMIC,
  unique: DYNAMIC,
  unique_consecutive: DYNAMIC,
  bernoulli: RANDOM,
  cauchy: RANDOM,
  exponential: RANDOM,
  geometric: RANDOM,
  log_normal: RANDOM,
  multinomial: RANDOM,
  normal: RANDOM,
  rand_like: RANDOM,
  randint_like: RANDOM,
  randn_like: RANDOM,
  uniform: RANDOM,
  "nn.functional.one_hot": "how many classes there are depends on the elements, where it is not told, as in the cases",
  resize_: "an example has no bytes of its own to give back or to ask for",
};

/** Refused in some cases, and in which. */
export const IN_PART: Readonly<Record<string, string>> = {
  __getitem__: "a mask of each example's own, whose results differ in size",
  __setitem__: "several values under a mask of each example's own",
  masked_select: "a mask of each example's own, whose results differ in size",
  "nn.functional.dropout": RANDOM,
  "nn.functional.dropout_": RANDOM,
  "nn.functional.multi_head_attention_forward": `dropout among the weights: ${RANDOM}`,
  view_as_complex: "examples that lie between the two parts of a number",
};

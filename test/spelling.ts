/** Python's names in PyTorch's texts, and what programs here write instead. */
const SPELLINGS: readonly (readonly [python: string, ours: string])[] = [
  ["Specify retain_graph=True", "Specify retainGraph: true"],
  ["does not have a grad_fn", "does not have a gradFn"],
  ["Set allow_unused=True", "Set allowUnused: true"],
  ["Expected allow_unused to be True", "Expected allowUnused to be true"],
  [
    "when materialize_grads=True, but got: allow_unused=False",
    "when materializeGrads: true, but got: allowUnused: false",
  ],
  ["change requires_grad flags", "change requiresGrad flags"],
  [
    "can't retain_grad on Tensor that has requires_grad=False",
    "can't retainGrad on Tensor that has requiresGrad: false",
  ],
  ["expected rounding_mode to be one of None", "expected roundingMode to be one of null"],
  ["manual_seed expected", "manualSeed expected"],
  [
    "as_padded_tensor=True, as_nested_tensor=True or as_list=True",
    "asPaddedTensor: true, asNestedTensor: true or asList: true",
  ],
  ["loading state_dict for", "loading stateDict for"],
  ["key(s) in state_dict", "key(s) in stateDict"],
  ["Expected state_dict to be", "Expected stateDict to be"],
];

/** PyTorch's text, with names that programs here can write. */
export function ourSpelling(text: string): string {
  return SPELLINGS.reduce((said, [python, ours]) => said.replaceAll(python, ours), text);
}

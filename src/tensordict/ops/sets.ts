// Elements of a batch that are equal under one key.

import { argsort, cat, isin } from "../../../generated/functional.ts";
import { Slice } from "../../api/indexing-parse.ts";
import { inOrder } from "../../tensor/checks.ts";
import { KeyError, ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath } from "../core/keys.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { type Td, wrapBatchDim } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";

/** Everything along a dimension. */
const ALL = new Slice(null, null);

/** Options of `removeDuplicates`. */
export interface DuplicateOptions {
  /** Also give where the value of each element is in the result. */
  returnIndices?: boolean;
}

/** A key as Python prints it. */
function keyText(key: NestedKey): string {
  const path = keyPath(key);
  return path.length === 1 ? (path[0] as string) : `(${path.map((part) => `'${part}'`).join(", ")})`;
}

function batchDim(td: Td, dim: number, what: string): number {
  const at = wrapBatchDim(dim, td._batchSize.length);
  if (at !== null) return at;
  throw new ValueError(`The specified dimension '${dim}' is invalid for ${what} with batch size '${td._batchSize}'.`);
}

/**
 * The collection without the elements along a batch dimension whose entry under `key` repeats an earlier one, in the
 * order of those entries.
 * @throws KeyError where there is no tensor under the key
 * @throws ValueError for a dimension that is none of the batch
 * @example
 * ```ts
 * const td = new TensorDict({ x: tensor([7, 1, 7]), y: tensor([0, 1, 2]) }, [3]);
 * const found = tensordict.removeDuplicates(td, "x");
 * [found.get("x"), found.get("y")] // [tensor([1., 7.]), tensor([1., 0.])]
 * ```
 * @torch tensordict.utils.remove_duplicates
 */
export function removeDuplicates(
  input: Td,
  key: NestedKey,
  dim?: number,
  options?: DuplicateOptions & { returnIndices?: false },
): Td;
export function removeDuplicates(
  input: Td,
  key: NestedKey,
  dim: number,
  options: DuplicateOptions & { returnIndices: true },
): [found: Td, indices: Tensor];
export function removeDuplicates(
  input: Td,
  key: NestedKey,
  dim = 0,
  options: DuplicateOptions = {},
): Td | [found: Td, indices: Tensor] {
  [input, key, dim = 0, options = {}] = inOrder<[Td, NestedKey, number, DuplicateOptions]>(
    "removeDuplicates",
    FUNCTIONS.removeDuplicates,
    arguments,
  );
  const entry = input.get(key, null);
  if (entry === null) throw new KeyError(`The key '${keyText(key)}' does not exist in the TensorDict.`);
  if (!(entry instanceof Tensor)) {
    throw new KeyError(`The key '${keyText(key)}' does not point to a tensor in the TensorDict.`);
  }
  const at = batchDim(input, dim, "a TensorDict");
  const [, inverse, counts] = entry.unique({ returnInverse: true, returnCounts: true, dim: at }) as Tensor[];
  // The first element of each value, in a stable order of the values.
  const order = argsort(inverse as Tensor, { stable: true });
  const before = (counts as Tensor).cumsum(0).sub(counts as Tensor);
  const found = input.at(...new Array<Slice>(at).fill(ALL), order.indexSelect(0, before)) as Td;
  return options.returnIndices === true ? [found, inverse as Tensor] : found;
}

/** @torch tensordict.utils.isin */
export function isinTd(td: Td, reference: Td, key: NestedKey, dim = 0): Tensor {
  const [own, other] = [td.get(key, null), reference.get(key, null)];
  const missing = (side: string): KeyError =>
    new KeyError(`Key '${keyText(key)}' not found in ${side} or not a tensor.`);
  if (!(own instanceof Tensor)) throw missing("input");
  if (!(other instanceof Tensor)) throw missing("reference");
  if (td._batchSize.length !== reference._batchSize.length) {
    throw new ValueError("The number of dimensions in the batch size of the input and reference must be the same.");
  }
  const at = batchDim(td, dim, "an input TensorDict");
  const [, inverse] = cat([other, own], at).unique({ returnInverse: true, dim: at }) as [Tensor, Tensor];
  const count = other.shape[at] as number;
  return isin(inverse.narrow(0, count, inverse.numel() - count), inverse.narrow(0, 0, count));
}

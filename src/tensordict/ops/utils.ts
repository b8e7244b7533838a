// Helpers around TensorDicts: expanding to the right, merging, padding.

import { inOrder } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { entriesOf, isBranch, type Td } from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { shallowTree } from "./key-ops.ts";
import { updateTd } from "./writes.ts";

/**
 * Expands a tensor by dimensions on its right until it has this shape.
 * @example
 * ```ts
 * tensordict.expandRight(arange(2), [2, 3]) // tensor([[0, 0, 0],
 * //         [1, 1, 1]])
 * ```
 * @torch tensordict.utils.expand_right
 */
export function expandRight(t: Tensor, shape: readonly number[]): Tensor {
  [t, shape] = inOrder<Parameters<typeof expandRight>>("expandRight", FUNCTIONS.expandRight, arguments);
  let out = t;
  for (let i = t.ndim; i < shape.length; i++) out = out.unsqueeze(-1);
  return out.expand([...shape]);
}

/**
 * Expands a tensor by dimensions on its right to the shape of another.
 * @example
 * ```ts
 * tensordict.expandAsRight(arange(2), zeros(2, 3)).shape // torch.Size([2, 3])
 * ```
 * @torch tensordict.utils.expand_as_right
 */
export function expandAsRight(t: Tensor | Td, dest: Tensor | Td): Tensor | Td {
  [t, dest] = inOrder<Parameters<typeof expandAsRight>>("expandAsRight", FUNCTIONS.expandAsRight, arguments);
  const shape = dest instanceof Tensor ? dest.shape : dest._batchSize;
  const rank = t instanceof Tensor ? t.ndim : t._batchSize.length;
  if (rank > shape.length) {
    throw new RuntimeError(
      "expand_as_right requires the destination tensor to have less dimensions than input tensor, " +
        `got tensor.ndimension()=${rank} and dest.ndimension()=${shape.length}`,
    );
  }
  if (t instanceof Tensor) return expandRight(t, shape);
  let out = t;
  for (let i = rank; i < shape.length; i++) out = out.unsqueeze(-1) as Td;
  return out.expand([...shape]) as Td;
}

/** What decides between two values of one key. */
export type MergeCallback = (key: readonly string[], first: Entry, second: Entry) => unknown;

/**
 * Merges TensorDicts; later ones win, or `callbackExist` decides.
 * @example
 * ```ts
 * const [a, b] = [new TensorDict({ x: zeros(1) }, []), new TensorDict({ x: ones(1), y: ones(1) },
 *   [])];
 * tensordict.mergeTensordicts([a, b]).get("x") // tensor([1.])
 * ```
 * @torch tensordict.merge_tensordicts
 */
export function mergeTensordicts(list: readonly Td[], options: { callbackExist?: MergeCallback } = {}): Td {
  [list, options = {}] = inOrder<Parameters<typeof mergeTensordicts>>(
    "mergeTensordicts",
    FUNCTIONS.mergeTensordicts,
    arguments,
  );
  const first = list[0];
  if (first === undefined || list.length < 2) {
    throw new RuntimeError(`at least 2 tensordicts must be provided, got ${list.length}`);
  }
  const result = shallowTree(first);
  for (const next of list.slice(1)) {
    if (options.callbackExist === undefined) updateTd(result, next);
    else mergeInto(result, next, [], options.callbackExist);
  }
  return result;
}

function mergeInto(into: Td, from: Td, prefix: readonly string[], callback: MergeCallback): void {
  for (const [key, value] of entriesOf(from)) {
    const own = into._own(key);
    const path = [...prefix, key];
    if (isBranch(own) && isBranch(value)) mergeInto(own, value, path, callback);
    else into.set(key, own === undefined ? value : callback(path, own, value));
  }
}

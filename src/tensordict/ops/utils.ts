// Helpers around TensorDicts: expanding to the right, merging, padding.

import { inOrder, isDict } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath } from "../core/keys.ts";
import { isLeafNontensor } from "../core/leaves.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { entriesOf, isNonTensor, type Td } from "../core/state.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { findEntry, listEntries } from "./access.ts";
import { shallowTree } from "./key-ops.ts";
import { setEntry } from "./writes.ts";

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

/** Makes one value of those that all tensordicts have under a key. */
// biome-ignore lint/suspicious/noExplicitAny: the key decides what its values are
export type MergeCallback = (...values: any[]) => unknown;

/** What is called for a path. */
function callbacksOf(given: MergeOptions["callbackExist"]): (path: readonly string[]) => MergeCallback | undefined {
  if (given === undefined || typeof given === "function") return () => given as MergeCallback | undefined;
  const pairs = given instanceof Map ? [...given] : Object.entries(given as Record<string, MergeCallback>);
  const byPath = new Map(pairs.map(([key, callback]) => [keyPath(key).join("\0"), callback as MergeCallback]));
  return (path) => byPath.get(path.join("\0"));
}

/** Options of `mergeTensordicts`. */
export interface MergeOptions {
  /** Makes one tensor of those of all tensordicts, where all have one: for every key, or by key. */
  callbackExist?: MergeCallback | Readonly<Record<string, MergeCallback>> | ReadonlyMap<NestedKey, MergeCallback>;
}

/**
 * One TensorDict with the entries of several: the first that has a key gives its value, or `callbackExist` makes one
 * where all have it.
 * @param tensordicts at least two, one by one or in a list; then the options
 * @example
 * ```ts
 * const [a, b] = [new TensorDict({ x: zeros(1) }, []), new TensorDict({ x: ones(1), y: ones(1) }, [])];
 * const sum = (first: Tensor, second: Tensor) => first.add(second).add(5);
 * [tensordict.mergeTensordicts(a, b).get("x"), tensordict.mergeTensordicts(a, b, { callbackExist: sum }).get("x")]
 * // [tensor([0.]), tensor([6.])]
 * ```
 * @torch tensordict.merge_tensordicts
 */
export function mergeTensordicts(...tensordicts: (readonly Td[] | Td | MergeOptions)[]): Td {
  const given = inOrder<(readonly Td[] | Td | MergeOptions)[]>(
    "mergeTensordicts",
    FUNCTIONS.mergeTensordicts,
    tensordicts,
  );
  const options = (isDict(given.at(-1)) ? given.pop() : {}) as MergeOptions;
  const list = (given as (readonly Td[] | Td)[]).flat() as Td[];
  const first = list[0];
  if (first === undefined || list.length < 2) {
    throw new RuntimeError(`at least 2 tensordicts must be provided, got ${list.length}`);
  }
  const callbacks = callbacksOf(options.callbackExist);
  const result = shallowTree(first);
  const seen = new Set<string>();
  for (const td of list) {
    for (const [path, entry] of listEntries(
      td,
      { includeNested: true, leavesOnly: true, isLeaf: isLeafNontensor },
      entriesOf,
      true,
    )) {
      const name = path.join("\0");
      if (seen.has(name)) continue;
      seen.add(name);
      const values = list.map((one) => findEntry(one, path));
      const callback = isNonTensor(entry) ? undefined : callbacks(path);
      if (callback !== undefined && values.every((value) => value !== undefined)) {
        setEntry(result, path, callback(...(values as Entry[])));
      } else if (td !== first) setEntry(result, path, entry);
    }
  }
  return result;
}

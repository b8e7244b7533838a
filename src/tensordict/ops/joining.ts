// stack and cat as users call them: of tensors, or of TensorDicts and their classes.
import * as T from "../../../generated/functional.ts";
import { checkedArguments, isDict } from "../../tensor/checks.ts";
import { TypeError } from "../../tensor/errors.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { catOrInto, type IntoOptions, stackOrInto } from "./join-out.ts";

/** How tensors are joined: the dimension, and a tensor for the result. */
export interface JoinOptions {
  /** The dimension along which they are joined; the first unless given. */
  dim?: number;
  /** What the result is written into, and which is returned. */
  out?: Tensor;
}

type Join = (list: readonly unknown[], dim?: number | JoinOptions, options?: JoinOptions) => unknown;

/** The list by its name, with everything else. */
type ByName = JoinOptions & { tensors: readonly Tensor[] };

/** The list; where it is given by name, what is named beside it becomes the options. */
function listOf(given: unknown, rest: unknown[]): readonly unknown[] {
  if (!isDict(given)) return given as readonly unknown[];
  const { tensors, ...others } = given;
  rest.push(others);
  return tensors as readonly unknown[];
}

/** What a list holds now: one that computes its elements may hold something else later. */
function readOnce(list: readonly unknown[]): readonly unknown[] {
  return Array.isArray(list) ? [...list] : list;
}

function joinTds(
  op: string,
  join: (list: readonly Td[], dim: number, options?: IntoOptions) => Td,
  list: readonly unknown[],
  args: unknown[],
) {
  let plain = args.length === 0;
  for (let i = 0; i < list.length; i++) {
    if (isTensorCollection(list[i])) continue;
    if (list[i] !== undefined) throw new TypeError(`${op}() expects only tensordicts next to a tensordict`, { op });
    plain = false;
  }
  if (plain) return join(list as readonly Td[], 0);
  const [tds, dim = 0, options = {}] = checkedArguments(op, FUNCTIONS.stack, [list, ...args]);
  return join(tds as readonly Td[], dim as number, options as IntoOptions);
}

/**
 * Joins tensors of one shape along a new dimension; tensordicts likewise, lazily if `setLazyLegacy(true)` is in force.
 * @param tensors one or more tensors of the same shape, or tensordicts of the same batch size
 * @param dim where the new dimension goes, 0 unless given
 * @returns a tensor of one dimension more
 * @throws RuntimeError when the list is empty or the shapes differ
 * @example
 * ```ts
 * stack([tensor([1, 2]), tensor([3, 4])]).shape // torch.Size([2, 2])
 * ```
 * @torch torch.stack
 */
export function stack(tensors: readonly Tensor[], dim?: number | JoinOptions, options?: { out?: Tensor }): Tensor;
export function stack<C extends Td>(
  tensordicts: readonly C[],
  dim?: number | (IntoOptions & { dim?: number }),
  options?: IntoOptions,
): C;
export function stack(tensors: ByName): Tensor;
export function stack<C extends Td>(tensordicts: { tensors: readonly C[]; dim?: number } & IntoOptions): C;
export function stack(tensors: readonly Tensor[], dim?: number | JoinOptions): Tensor;
export function stack(given: unknown, ...rest: unknown[]): unknown {
  const list = listOf(given, rest);
  const entries = readOnce(list);
  if (isTensorCollection(entries?.[0])) return joinTds("stack", stackOrInto, entries, rest);
  return (T.stack as Join)(entries, ...(rest as []));
}

/**
 * Joins tensors along a dimension that they have; tensordicts likewise.
 * @param tensors one or more tensors whose other dimensions are equal, or tensordicts
 * @param dim the dimension, 0 unless given
 * @returns a tensor of as many dimensions
 * @throws RuntimeError when the other dimensions differ
 * @example
 * ```ts
 * cat([tensor([1, 2]), tensor([3])]) // tensor([1., 2., 3.])
 * ```
 * @torch torch.cat
 */
export function cat(tensors: readonly Tensor[], dim?: number | JoinOptions, options?: { out?: Tensor }): Tensor;
export function cat<C extends Td>(
  tensordicts: readonly C[],
  dim?: number | (IntoOptions & { dim?: number }),
  options?: IntoOptions,
): C;
export function cat(tensors: ByName): Tensor;
export function cat<C extends Td>(tensordicts: { tensors: readonly C[]; dim?: number } & IntoOptions): C;
export function cat(tensors: readonly Tensor[], dim?: number | JoinOptions): Tensor;
export function cat(given: unknown, ...rest: unknown[]): unknown {
  const list = listOf(given, rest);
  const entries = readOnce(list);
  if (isTensorCollection(entries?.[0])) return joinTds("cat", catOrInto, entries, rest);
  return (T.cat as Join)(entries, ...(rest as []));
}

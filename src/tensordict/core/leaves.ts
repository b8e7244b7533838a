// Which classes of entries are leaves: what `keys`, `apply` and `flattenKeys` take as `isLeaf`.
import { inOrder } from "../../tensor/checks.ts";
import type { DType } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FUNCTIONS } from "./signatures.ts";
import { Collection, type CollectionKind } from "./state.ts";
import type { Entry } from "./types.ts";

/** A class of entries, as `entryClass` gives it. */
export type EntryClass = abstract new (...args: never[]) => unknown;

/** Says whether entries of a class are leaves. */
export type IsLeaf = (entryClass: EntryClass) => boolean;

const VALUES: ReadonlySet<CollectionKind> = new Set(["nonTensor", "nonTensorStack"]);

const isKindOf = (entryClass: EntryClass, base: { prototype: object }) =>
  entryClass === (base as unknown) || entryClass.prototype instanceof (base as never);

/**
 * The rule without a rule of your own: everything is a leaf but TensorDicts, tensorclasses and wrapped values.
 * @example
 * ```ts
 * [tensordict.defaultIsLeaf(Tensor), tensordict.defaultIsLeaf(TensorDict)] // [true, false]
 * ```
 * @torch tensordict.default_is_leaf
 */
export function defaultIsLeaf(entryClass: EntryClass): boolean {
  [entryClass] = inOrder<[EntryClass]>("defaultIsLeaf", FUNCTIONS.defaultIsLeaf, arguments);
  return !isKindOf(entryClass, Collection) || entryClass.prototype._kind === "nested";
}

/**
 * Tensors and wrapped values are leaves, other collections are none.
 * @example
 * ```ts
 * const td = new TensorDict({ a: {}, b: "text", c: zeros(1) }, []);
 * td.keys({ leavesOnly: true, isLeaf: tensordict.isLeafNontensor }) // [b, c]
 * ```
 * @torch tensordict.is_leaf_nontensor
 */
export function isLeafNontensor(entryClass: EntryClass): boolean {
  [entryClass] = inOrder<[EntryClass]>("isLeafNontensor", FUNCTIONS.isLeafNontensor, arguments);
  if (isKindOf(entryClass, Tensor)) return true;
  if (!isKindOf(entryClass, Collection)) return false;
  const kind: CollectionKind = entryClass.prototype._kind;
  return kind === "nested" || VALUES.has(kind);
}

/** Whether an entry is a leaf by a rule. */
export function isLeafBy(rule: IsLeaf | null | undefined, entry: Entry): boolean {
  return (rule ?? defaultIsLeaf)(entry.constructor as EntryClass);
}

/** Whether the category of the dtype of what comes last is one of some. */
function categoryOf(
  op: "isInexact" | "isFloating" | "isInteger" | "isBool",
  args: readonly unknown[],
  fits: (dtype: DType) => boolean,
): boolean {
  const last = inOrder<readonly unknown[]>(op, FUNCTIONS[op], args).at(-1);
  if (last instanceof Tensor) return fits(last.dtype);
  throw new TypeError(`${op}(): the last argument must be Tensor`, { op });
}

/**
 * True for floating and complex tensors: of the last argument, so that it can be a `castFilter`.
 * @example
 * ```ts
 * [tensordict.isInexact(ones(1)), tensordict.isInexact(ones(1).int())] // [true, false]
 * ```
 * @torch tensordict.is_inexact
 */
export function isInexact(...args: readonly unknown[]): boolean {
  return categoryOf("isInexact", args, (dtype) => dtype.isFloatingPoint || dtype.isComplex);
}

/**
 * True for floating tensors: of the last argument, so that it can be a `castFilter`.
 * @example
 * ```ts
 * [tensordict.isFloating(ones(1)), tensordict.isFloating(ones(1).int())] // [true, false]
 * ```
 * @torch tensordict.is_floating
 */
export function isFloating(...args: readonly unknown[]): boolean {
  return categoryOf("isFloating", args, (dtype) => dtype.isFloatingPoint);
}

/**
 * True for tensors of integers: of the last argument, so that it can be a `castFilter`.
 * @example
 * ```ts
 * [tensordict.isInteger(ones(1)), tensordict.isInteger(ones(1).int())] // [false, true]
 * ```
 * @torch tensordict.is_integer
 */
export function isInteger(...args: readonly unknown[]): boolean {
  return categoryOf("isInteger", args, (dtype) => dtype.category === 1);
}

/**
 * True for tensors of bools: of the last argument, so that it can be a `castFilter`.
 * @example
 * ```ts
 * [tensordict.isBool(ones(1)), tensordict.isBool(ones(1).bool())] // [false, true]
 * ```
 * @torch tensordict.is_bool
 */
export function isBool(...args: readonly unknown[]): boolean {
  return categoryOf("isBool", args, (dtype) => dtype.name === "bool");
}

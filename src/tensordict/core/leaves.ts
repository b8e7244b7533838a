// Which classes of entries are leaves: what `keys`, `apply` and `flattenKeys` take as `isLeaf`.
import { inOrder } from "../../tensor/checks.ts";
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

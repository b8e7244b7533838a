// The functions that make TensorDicts of what programs have: TensorDict has the same ones as class methods.

import { inOrder } from "../tensor/checks.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { TensorDict } from "./classes/tensordict.ts";
import { FUNCTIONS } from "./core/signatures.ts";
import type { Td } from "./core/state.ts";
import type { Entry } from "./core/types.ts";
import {
  type DictSource,
  fromAnyValue,
  fromDictTd,
  fromPytreeTd,
  fromRecordTd,
  fromStructTd,
  fromTupleTd,
  type MakeOptions,
  type StructOptions,
} from "./ops/making.ts";
import type { StructArray } from "./ops/struct-arrays.ts";

/** The arguments of a function in their places. */
// biome-ignore lint/suspicious/noExplicitAny: the signature decides their types
function checked(op: keyof typeof FUNCTIONS, args: ArrayLike<unknown>): any[] {
  return inOrder(op, FUNCTIONS[op], args);
}

/**
 * A TensorDict with the values of an object or a Map; keys of a Map may be paths. Beside a batch size, numbers are kept
 * as values that are no tensors.
 * @throws ValueError for both a batch size and a number of batch dimensions
 * @example
 * ```ts
 * tensordict.fromDict({ a: ones(3, 4), b: { c: zeros(3) } }, { autoBatchSize: true }).batchSize // torch.Size([3])
 * ```
 * @torch tensordict.from_dict
 */
export function fromDict(inputDict: DictSource | Td, options: MakeOptions = {}): TensorDict {
  [inputDict, options = {}] = checked("fromDict", arguments);
  return fromDictTd(inputDict, options) as TensorDict;
}

/**
 * What a value becomes: an object or a Map a TensorDict, a list of numbers a tensor, another list a stack of values.
 * Tensors, collections and everything else stay what they are.
 * @example
 * ```ts
 * [tensordict.fromAny([1, 2]), tensordict.fromAny({ a: [1, 2] }).get("a")] // [tensor([1., 2.]), tensor([1., 2.])]
 * ```
 * @torch tensordict.from_any
 */
// biome-ignore lint/suspicious/noExplicitAny: the value decides what it becomes
export function fromAny(obj: unknown, options: MakeOptions = {}): any {
  [obj, options = {}] = checked("fromAny", arguments);
  return fromAnyValue(obj, options);
}

/**
 * A TensorDict with the items of a list, whose places are their keys.
 * @example
 * ```ts
 * tensordict.fromTuple([zeros(3), "text"]).keys() // [0, 1]
 * ```
 * @torch tensordict.from_tuple
 */
export function fromTuple(obj: readonly unknown[], options: MakeOptions = {}): TensorDict {
  [obj, options = {}] = checked("fromTuple", arguments);
  return fromTupleTd(obj, options) as TensorDict;
}

/**
 * A TensorDict with the fields of a record, such as `toNamedtuple` gives; records within become TensorDicts.
 * @example
 * ```ts
 * const { values, indices } = max(tensor([[1, 5], [7, 3]]), { dim: 0 });
 * tensordict.fromNamedtuple({ values, indices }).get("values") // tensor([7., 5.])
 * ```
 * @torch tensordict.from_namedtuple
 */
export function fromNamedtuple(namedTuple: object, options: MakeOptions = {}): TensorDict {
  [namedTuple, options = {}] = checked("fromNamedtuple", arguments);
  return fromRecordTd(namedTuple, options, "from_namedtuple") as TensorDict;
}

/**
 * A TensorDict with the fields of an object of a class of yours; its methods are left out.
 * @example
 * ```ts
 * class Point {
 *   x = zeros(3);
 *   label = "origin";
 * }
 * tensordict.fromDataclass(new Point()).keys() // [x, label]
 * ```
 * @torch tensordict.from_dataclass
 */
export function fromDataclass(dataclass: object, options: MakeOptions = {}): TensorDict {
  [dataclass, options = {}] = checked("fromDataclass", arguments);
  return fromRecordTd(dataclass, options, "from_dataclass") as TensorDict;
}

/**
 * A TensorDict of a tree of lists, objects and Maps with tensors and numbers as leaves; `td.toPytree()` gives the tree
 * back.
 * @throws TypeError for a leaf that is neither a tensor nor a number
 * @example
 * ```ts
 * tensordict.fromPytree([zeros(2), { a: ones(1) }]).toPytree()[1].a // tensor([1.])
 * ```
 * @torch tensordict.from_pytree
 */
export function fromPytree(pytree: Tensor | number, options?: MakeOptions): Tensor;
export function fromPytree(pytree: object, options?: MakeOptions): TensorDict;
export function fromPytree(pytree: unknown, options: MakeOptions = {}): Entry {
  [pytree, options = {}] = checked("fromPytree", arguments);
  return fromPytreeTd(pytree, options);
}

/**
 * A TensorDict with the fields of records, such as NumPy's structured arrays have in memory; see `toStructArray`.
 * @example
 * ```ts
 * const records = new TensorDict({ a: arange(2) }, [2]).toStructArray();
 * tensordict.fromStructArray(records).get("a") // tensor([0, 1])
 * ```
 * @torch tensordict.from_struct_array
 */
export function fromStructArray(structArray: StructArray, options: StructOptions = {}): TensorDict {
  [structArray, options = {}] = checked("fromStructArray", arguments);
  return fromStructTd(structArray, options) as TensorDict;
}

// Arithmetic, comparison and reduction methods. They work on every tensor of the tree at once.

import type { DType, DTypeName } from "../../tensor/dtype.ts";
import { tidy } from "../../tensor/temporaries.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath, unravelKey } from "../core/keys.ts";
import { BINARY, CASTS, COMPARE, REDUCE, TESTS, UNARY, WITHOUT_INPLACE } from "../core/math-names.ts";
import { Collection, isTensorCollection, type Td } from "../core/state.ts";
import type { Schema } from "../core/types.ts";
import { changeTensors, hasNoTensors, isEmptyTd, requireEntry, tensorsOf } from "../ops/access.ts";
import { compareTd } from "../ops/comparing.ts";
import { shallowTree } from "../ops/key-ops.ts";
import {
  applyLeaves,
  type BinaryFunction,
  binaryTd,
  grow,
  type LeafFunction,
  type Operand,
  rehearseAll,
} from "../ops/pointwise.ts";
import {
  allAnyTd,
  type ReduceDim,
  type Reducer,
  reduction,
  type SpreadOptions,
  type SumOptions,
} from "../ops/reducing.ts";
import type { DiskMethods } from "./disk-methods.ts";
import type { AlphaOptions, CastOptions, DefaultOptions, MathSignatures, SameKeys } from "./math-signatures.ts";

/** The methods that are made from lists of names. */
export interface MathMethods<in out S = Schema> extends MathSignatures, DiskMethods<S> {
  /** @internal */
  readonly _schema: S;
}

/** Arithmetic, comparison and reduction of collections. */
export abstract class MathMethods<in out S = Schema> extends Collection<S> {
  /** Common dtype of all tensors, null when they differ. @torch TensorDict.dtype */ get dtype(): DType | null {
    let found: DType | null = null;
    for (const [, t] of tensorsOf(this._td)) {
      if (found !== null && found !== t.dtype) return null;
      found = t.dtype;
    }
    return found;
  }
  /** Bytes of all tensors. @torch TensorDict.bytes */
  bytes(): number {
    let total = 0;
    for (const [, t] of tensorsOf(this._td)) total += t.nbytes;
    return total;
  }
  /** True when no tensor and no value is below. @torch TensorDict.is_empty */
  isEmpty(): boolean {
    return isEmptyTd(this._td);
  }
  /** The rest of a division by a number, a tensor or the entry of the same key. @torch TensorDict.mod */
  mod(other: Operand): this {
    return computed(this._td, binaryTd(this._td, other, binary("remainder"), KEEP_LOCK)) as this & Td;
  }
  /** A number, a tensor or the entry of the same key, less every tensor. @torch TensorDict.rsub */
  rsub(other: Operand, options?: SameKeys & AlphaOptions): this;
  rsub(other: Operand, options: DefaultOptions & AlphaOptions): Td;
  rsub(other: Operand, options: DefaultOptions & AlphaOptions = {}): this | Td {
    const { alpha = null } = options;
    const less: BinaryFunction = (a, b) => {
      if (alpha === null) return tidy(() => a.sub(b as Tensor).neg());
      return b instanceof Tensor && isTensorCollection(other)
        ? b.sub(a, { alpha })
        : a
            .mul(alpha)
            .neg()
            .add(b as Tensor);
    };
    const how = { ...KEEP_LOCK, fallback: options.default ?? null, filterEmpty: filtersEmpty(other) };
    return computed(this._td, binaryTd(this._td, other, less, how));
  }
  /** True when every element is true; a tree of results over one batch dimension. @torch TensorDict.all */
  all(): boolean;
  all(dim: number): Td;
  all(dim?: number): boolean | Td {
    return allAnyTd(this._td, "all", dim);
  }
  /** True when some element is true. @torch TensorDict.any */
  any(): boolean;
  any(dim: number): Td;
  any(dim?: number): boolean | Td {
    return allAnyTd(this._td, "any", dim);
  }
  /** Sets every element to zero. @torch TensorDict.zero_ */
  zero_(): this {
    changeAll(this._td, (t) => t.zero_(), true);
    return this;
  }
  /** Sets one entry (every tensor below it) to a value. @torch TensorDict.fill_ */
  fill_(key: string | readonly string[], value: number | boolean): this {
    const path = keyPath(key);
    const below = (at: readonly string[]) => path.every((part, i) => at[i] === part);
    requireEntry(this._td, key);
    const fill: LeafFunction = (t, at) => (below(at) ? t.fill_(value as number) : t);
    rehearseAll(this._td, fill, [], true, [value]);
    changeTensors(this._td, (t, at) => below(at) && t.fill_(value as number));
    return this;
  }
}

function call(t: Tensor, name: string, ...args: unknown[]): Tensor {
  return (t[name as keyof Tensor] as (...args: unknown[]) => Tensor).apply(t, args);
}

function binary(name: string): BinaryFunction {
  return (a, b) => call(a, name, b);
}

/** The form that writes into the first operand; torch has none of a few functions. */
function binaryInPlace(name: string): BinaryFunction {
  if (WITHOUT_INPLACE.has(name)) return (a, b) => a.copy_(call(a, name, b));
  return binary(`${name}_`);
}

/** The function of a name, with the factor that sums take. */
function scaled(name: string, { alpha }: AlphaOptions, inplace = false): BinaryFunction {
  if (alpha === undefined) return inplace ? binaryInPlace(name) : binary(name);
  return (a, b) => call(a, inplace ? `${name}_` : name, b, { alpha });
}

/** One tensor after the other is changed, after it is known that all can be. */
function changeAll(td: Td, change: (t: Tensor) => Tensor, arithmetic: boolean): void {
  rehearseAll(td, (t) => change(t), [], arithmetic);
  changeTensors(td, change);
}

/** As in Python, levels without tensors are left out, but not of what a tensor of the batch is combined with. */
export const filtersEmpty = (other: Operand): boolean => !(other instanceof Tensor && other.ndim > 0);

/** What arithmetic gives: as in Python an unlocked copy, empty levels too, where there is nothing to compute. */
export function computed(td: Td, result: Td): Td {
  return hasNoTensors(td) && hasNoTensors(result) ? shallowTree(grow(td, result._batchSize)) : result;
}

/** The result is locked where the receiver is. */
export const KEEP_LOCK = { propagateLock: true };

type Method = (this: Td, ...args: never[]) => unknown;

function unary(name: string): Method {
  return function () {
    return computed(
      this,
      applyLeaves(this, (t) => call(t, name), KEEP_LOCK),
    );
  };
}

function unaryInPlace(name: string): Method {
  return function () {
    changeAll(this, (t) => call(t, `${name}_`), !name.startsWith("bitwise"));
    return this;
  };
}

function castTo(dtype: DTypeName): Method {
  return function ({ castFilter = null }: CastOptions = {}) {
    const cast: LeafFunction = (t, path) => (castFilter === null || castFilter(unravelKey(path), t) ? t.to(dtype) : t);
    return applyLeaves(this, cast, KEEP_LOCK);
  };
}

function testOf(name: string): Method {
  return function () {
    return applyLeaves(this, (t) => call(t, name), KEEP_LOCK);
  };
}

function arithmetic(name: string): Method {
  return function (other: Operand, options: DefaultOptions & AlphaOptions = {}) {
    const fallback = options.default ?? null;
    const filterEmpty = filtersEmpty(other);
    return computed(this, binaryTd(this, other, scaled(name, options), { ...KEEP_LOCK, fallback, filterEmpty }));
  };
}

function arithmeticInPlace(name: string): Method {
  return function (other: Operand, options: AlphaOptions = {}) {
    const arithmetic = !name.startsWith("bitwise");
    return binaryTd(this, other, scaled(name, options, true), { inplace: true, arithmetic });
  };
}

function comparison(name: string): Method {
  return function (other: unknown) {
    const equal = name === "eq" ? true : name === "ne" ? false : null;
    return compareTd(this, other, binary(name), equal);
  };
}

/** What a tensor's reduction is told besides the dimensions; null for nothing, which takes the short way. */
function reduceOptions(dtype: SumOptions["dtype"], correction: SpreadOptions["correction"]): object | null {
  if (dtype === null && correction === undefined) return null;
  return { ...(dtype === null ? {} : { dtype }), ...(correction === undefined ? {} : { correction }) };
}

function reducing(name: string): Method {
  return function (dim?: ReduceDim, keepdim?: boolean, options: SumOptions & SpreadOptions = {}) {
    const { dtype = null, correction, reduce, keyTransform } = options;
    const more = reduceOptions(dtype, correction);
    const run: Reducer = (t, at, keeps) => {
      if (at !== null || keeps) return call(t, name, at, { keepdim: keeps, ...more });
      return more === null ? call(t, name) : call(t, name, more);
    };
    return reduction(this, name, { dim, keepdim, reduce, keyTransform }, run);
  };
}

/** Makes the method of a name from the lists; undefined for another name. */
export function mathMethodOf(name: string): Method | undefined {
  const has = (names: readonly string[], one = name) => names.includes(one);
  if (has(UNARY)) return unary(name);
  if (has(BINARY)) return arithmetic(name);
  if (has(COMPARE)) return comparison(name);
  if (has(REDUCE)) return reducing(name);
  if (has(TESTS)) return testOf(name);
  if (Object.hasOwn(CASTS, name)) return castTo(CASTS[name] as DTypeName);
  const base = name.endsWith("_") ? name.slice(0, -1) : "";
  if (has(UNARY, base)) return unaryInPlace(base);
  return has(BINARY, base) ? arithmeticInPlace(base) : undefined;
}

// Arithmetic, comparison and reduction methods. They work on every tensor of the tree at once.
import type { Tensor } from "../tensor/tensor.ts";
import { changeTensors, requireEntry } from "./access.ts";
import { DiskMethods } from "./disk-methods.ts";
import { keyPath } from "./keys.ts";
import {
  allAnyTd,
  applyLeaves,
  type BinaryFunction,
  binaryTd,
  compareTd,
  type Operand,
  reduceTd,
} from "./pointwise.ts";
import type { Td } from "./state.ts";
import type { Schema } from "./types.ts";

/** Functions of one tensor that exist under the same name here. */
const UNARY = [
  "abs",
  "acos",
  "asin",
  "atan",
  "ceil",
  "cos",
  "cosh",
  "erf",
  "erfc",
  "exp",
  "expm1",
  "floor",
  "frac",
  "lgamma",
  "log",
  "log10",
  "log1p",
  "log2",
  "neg",
  "reciprocal",
  "round",
  "rsqrt",
  "sigmoid",
  "sign",
  "sin",
  "sinh",
  "sqrt",
  "square",
  "tan",
  "tanh",
  "trunc",
  "logicalNot",
  "bitwiseNot",
] as const;

/** Tests of one tensor. */
const TESTS = ["isfinite", "isnan", "isinf", "isneginf", "isposinf"] as const;

/** Functions of two operands. */
const BINARY = [
  "add",
  "sub",
  "mul",
  "div",
  "pow",
  "fmod",
  "remainder",
  "maximum",
  "minimum",
  "logicalAnd",
  "logicalOr",
  "logicalXor",
  "bitwiseAnd",
  "bitwiseOr",
  "bitwiseXor",
] as const;

/** Comparisons. */
const COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"] as const;

/** Reductions: over everything of each tensor, or over one batch dimension. */
const REDUCE = ["sum", "mean", "prod", "std", "var", "amax", "amin", "nansum", "nanmean"] as const;

/** Casts. */
const CASTS = ["float", "double", "half", "bfloat16", "int", "long", "short", "bool"] as const;

/** Where a reduction works. */
export interface ReduceOptions {
  dim?: number;
  keepdim?: boolean;
}

type Unary = { [K in (typeof UNARY)[number] | (typeof TESTS)[number] | (typeof CASTS)[number]]: () => Td };
type UnaryInPlace = { [K in (typeof UNARY)[number] as `${K}_`]: () => Td };
type Binary = { [K in (typeof BINARY)[number]]: (other: Operand) => Td };
type BinaryInPlace = { [K in (typeof BINARY)[number] as `${K}_`]: (other: Operand) => Td };
type Compare = { [K in (typeof COMPARE)[number]]: (other: unknown) => Td };
type Reduce = {
  [K in (typeof REDUCE)[number]]: (dim?: number | ReduceOptions, options?: ReduceOptions) => Td;
};

/** The methods that are made from the lists above. */
export interface MathMethods<S = Schema> extends Unary, UnaryInPlace, Binary, BinaryInPlace, Compare, Reduce {
  /** @internal */
  readonly _schema: S;
}

/** Arithmetic, comparison and reduction of collections. */
export abstract class MathMethods<S = Schema> extends DiskMethods<S> {
  /** True when every element is true; a tree of results over one batch dimension. @torch TensorDict.all */
  all(): boolean;
  all(dim: number): Td;
  all(dim?: number): boolean | Td {
    return allAnyTd(this as unknown as Td, "all", dim);
  }
  /** True when some element is true. @torch TensorDict.any */
  any(): boolean;
  any(dim: number): Td;
  any(dim?: number): boolean | Td {
    return allAnyTd(this as unknown as Td, "any", dim);
  }
  /** Sets every element to zero. @torch TensorDict.zero_ */
  zero_(): this {
    changeTensors(this as unknown as Td, (t) => t.zero_());
    return this;
  }
  /** Sets one entry (every tensor below it) to a value. @torch TensorDict.fill_ */
  fill_(key: string | readonly string[], value: number | boolean): this {
    const path = keyPath(key);
    const below = (at: readonly string[]) => path.every((part, i) => at[i] === part);
    requireEntry(this as unknown as Td, key);
    changeTensors(this as unknown as Td, (t, at) => below(at) && t.fill_(value as number));
    return this;
  }
  /** Largest and smallest allowed values. @torch TensorDict.clamp */
  clamp(min: number | null, max?: number | null): Td {
    return applyLeaves(this as unknown as Td, (t) => t.clamp(min as number, (max ?? null) as number));
  }
}

type Methods = Record<string, (...args: unknown[]) => unknown>;

function install(
  names: readonly string[],
  build: (name: string) => (this: Td, ...args: never[]) => unknown,
  suffix = "",
): void {
  for (const name of names) {
    Object.defineProperty(MathMethods.prototype, name + suffix, {
      value: build(name),
      writable: true,
      configurable: true,
    });
  }
}

function call(t: Tensor, name: string, args: readonly unknown[]): Tensor {
  return (t as unknown as Methods)[name]?.apply(t, args as unknown[]) as Tensor;
}

function binary(name: string): BinaryFunction {
  return (a, b) => call(a, name, [b]);
}

const unary = (name: string) =>
  function (this: Td): Td {
    return applyLeaves(this, (t) => call(t, name, []));
  };
install([...UNARY, ...TESTS, ...CASTS], unary);
install(
  UNARY,
  (name) =>
    function (this: Td): Td {
      changeTensors(this, (t) => call(t, `${name}_`, []));
      return this;
    },
  "_",
);
install(
  BINARY,
  (name) =>
    function (this: Td, other: Operand): Td {
      return binaryTd(this, other, binary(name));
    },
);
install(
  BINARY,
  (name) =>
    function (this: Td, other: Operand): Td {
      binaryTd(this, other, binary(`${name}_`), { inplace: true });
      return this;
    },
  "_",
);
install(
  COMPARE,
  (name) =>
    function (this: Td, other: unknown): Td {
      const equal = name === "eq" ? true : name === "ne" ? false : null;
      return compareTd(this, other, binary(name), equal) as Td;
    },
);
install(
  REDUCE,
  (name) =>
    function (this: Td, dim?: number | ReduceOptions, options: ReduceOptions = {}): Td {
      const given = typeof dim === "object" ? dim : { ...options, dim: dim as number | undefined };
      const keepdim = given.keepdim === true;
      const reduce = (t: Tensor, at: number | undefined) => call(t, name, at === undefined ? [] : [at, { keepdim }]);
      return reduceTd(this, reduce, given.dim, keepdim);
    },
);

/** A call of an operator with tensors that stand for one example of many. */
import { select, stack } from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import type { Operator } from "../dispatch/seam.ts";
import type { BatchedStorage, Transform } from "../tensor/batched.ts";
import { Tensor } from "../tensor/tensor.ts";

/** Whether the examples draw numbers of their own, the same ones, or none. */
export type Randomness = "error" | "different" | "same";

/** A tensor that stands for one of many. */
export type Example = Tensor & { readonly _storage: BatchedStorage };

/** The examples of one `vmap`, as rules see them. */
export interface Examples extends Transform {
  /** How many there are. */
  readonly size: number;
  readonly randomness: Randomness;
  /** Whether a tensor stands for one of them. */
  has(x: unknown): x is Example;
  /** All of them, counted by the first dimension; a tensor that stands for none as it is. */
  front(t: Tensor): Tensor;
  /** All of them, counted by the first dimension; a tensor that stands for none is each example's. */
  all(t: Tensor): Tensor;
  /** One of many that are counted by the first dimension. */
  wrap(value: Tensor): Tensor;
}

/** A call that a rule answers. */
export interface Call {
  readonly level: Examples;
  readonly operator: Operator;
  /** `sum.dim_IntList`, the schema's key, without the underscore of an in-place form. */
  readonly key: string;
  readonly inplace: boolean;
  readonly args: readonly unknown[];
  /** What each argument means. */
  readonly roles: readonly string[];
}

/** Gives all examples of the result, counted by the first dimension; what it gives of an in-place form is not read. */
export type Rule = (call: Call) => unknown;

/** Whether one of the arguments stands for one of the examples, or a list holds one that does. */
export function touchesAny(level: Examples, args: readonly unknown[]): boolean {
  for (const x of args) if (touches(level, x)) return true;
  return false;
}

/** Whether a tensor, or one in a list, stands for one of the examples. */
export function touches(level: Examples, x: unknown): boolean {
  if (x instanceof Tensor) return level.has(x);
  return Array.isArray(x) && touchesAny(level, x);
}

/** An argument for example `i`. */
function exampleAt(level: Examples, x: unknown, i: number): unknown {
  if (level.has(x)) return select(level.front(x), 0, i);
  return Array.isArray(x) && touches(level, x) ? x.map((t) => exampleAt(level, t, i)) : x;
}

/** Operators that torch calls otherwise where they would write many examples into one tensor. */
const CALLED: Readonly<Record<string, string>> = {
  ...Object.fromEntries(["sub_", "mul_", "div_", "copy_", "masked_fill_"].map((name) => [name, "inplace arithmetic"])),
  ...Object.fromEntries(["fill_", "index_add_"].map((name) => [name, name])),
};

/** What is wrong with writing many examples into a tensor that is the same for all. */
export function intoUnbatched(level: Examples, name: string): Error {
  const called = CALLED[name];
  const where = called === undefined ? `at level ${level.depth}` : "in a vmap";
  return texts.vmapIntoUnbatched(undefined, called ?? `aten::${name}`, where);
}

/** Example by example. */
export const each: Rule = ({ level, operator, args, inplace }) => {
  if (inplace && !level.has(args[0])) throw intoUnbatched(level, operator.name);
  if (level.size === 0) throw texts.vmapNoExamples(undefined, operator.name);
  const results: unknown[] = [];
  for (let i = 0; i < level.size; i++) results.push(operator.run(...args.map((x) => exampleAt(level, x, i))));
  const first = results[0];
  if (inplace) return first;
  if (first instanceof Tensor) return stack(results as Tensor[], 0);
  if (!Array.isArray(first)) throw texts.vmapNoRule(undefined, operator.name);
  return first.map((_, i) =>
    stack(
      results.map((r) => (r as Tensor[])[i] as Tensor),
      0,
    ),
  );
};

/** Modules that take a TensorDict, called with its entries. */
import { isDict, namedArguments } from "../../tensor/checks.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { TensorDict } from "../classes/tensordict.ts";
import { keyPath } from "../core/keys.ts";
import { Collection, isTensorCollection, type Td } from "../core/state.ts";
import type { NestedKey } from "../core/types.ts";
import { FUNCTIONS } from "./signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: the wrapped function decides what it takes and gives
type Any = any;

/** How `dispatch` reads inputs and gives outputs. */
export interface DispatchOptions {
  /** What joins the parts of a nested key to the name of an argument. Default "_". */
  separator?: string;
  /** The keys of the inputs, or the property that has them. Default "inKeys". */
  source?: string | readonly NestedKey[];
  /** The keys of the outputs, or the property that has them. Default "outKeys". */
  dest?: string | readonly NestedKey[];
  /** Whether the TensorDict gets the leading dimensions that all inputs share as its batch size. Default true. */
  autoBatchSize?: boolean;
}

function listOf(self: unknown, keys: string | readonly NestedKey[]): readonly NestedKey[] {
  if (typeof keys !== "string") return keys;
  if (self === undefined || self === null) {
    throw new RuntimeError("The in keys must be passed to dispatch when func is not a method but a function.");
  }
  return (self as Record<string, readonly NestedKey[]>)[keys] ?? [];
}

/** The leading dimensions that all tensors share. */
function sharedBatch(values: readonly unknown[]): number[] {
  let shared: readonly number[] | null = null;
  for (const value of values) {
    const shape = value instanceof Tensor ? value.shape : value instanceof Collection ? value._batchSize : null;
    if (shape === null) continue;
    const before: readonly number[] = shared ?? shape;
    const end = before.findIndex((size, i) => shape[i] !== size);
    shared = end < 0 ? before : before.slice(0, end);
  }
  return [...(shared ?? [])];
}

/** The call of a function with a TensorDict made of what was given. */
export function callDispatched(
  self: unknown,
  given: readonly unknown[],
  options: DispatchOptions,
  run: (tensordict: Td, rest: unknown[]) => Any,
): Any {
  if (isTensorCollection(given[0])) return run(given[0] as Td, given.slice(1));
  const { separator = "_", source = "inKeys", dest = "outKeys", autoBatchSize = true } = options;
  const inKeys = listOf(self, source);
  const last = given.at(-1);
  const named: Record<string, unknown> = isDict(last) ? { ...last } : {};
  const args = isDict(last) ? given.slice(0, -1) : [...given];
  const nameOf = (key: NestedKey) => keyPath(key).join(separator);
  const whole = named.tensordict;
  if (args.length === 0 && isTensorCollection(whole) && !inKeys.some((key) => nameOf(key) === "tensordict")) {
    delete named.tensordict;
    return run(whole as Td, Object.keys(named).length > 0 ? [named] : []);
  }
  const values: [NestedKey, unknown][] = [];
  for (const key of inKeys) {
    const name = nameOf(key);
    if (args.length > 0) {
      if (Object.hasOwn(named, name)) throw new RuntimeError("Duplicated argument in args and kwargs.");
      values.push([key, args.shift()]);
    } else if (Object.hasOwn(named, name)) {
      values.push([key, named[name]]);
      delete named[name];
    }
  }
  const tensordict: Td = new TensorDict({}, autoBatchSize ? sharedBatch(values.map(([, value]) => value)) : []);
  for (const [key, value] of values) tensordict.set(key, value);
  const out = run(tensordict, Object.keys(named).length > 0 ? [...args, named] : args);
  const results = listOf(self, dest).filter((key) => key !== "_");
  const outputs = results.map((key) => out.at(key));
  return outputs.length === 1 ? outputs[0] : outputs;
}

/**
 * A function of a TensorDict that may be called with the entries themselves, in the order of `inKeys` or by name; it
 * gives the entries of `outKeys` then. Also a decorator of methods: `@dispatch`, or `@dispatch({ separator: "." })`.
 * @throws RuntimeError for an input that is given twice
 * @example
 * ```ts
 * class Sum extends tensordict.nn.TensorDictModuleBase {
 *   constructor() {
 *     super();
 *     this.inKeys = ["a", ["b", "c"]];
 *     this.outKeys = ["sum"];
 *     this.forward = tensordict.nn.dispatch(this.forward);
 *   }
 *   override forward(td: TensorDict) {
 *     return td.set("sum", td.get("a").add(td.get(["b", "c"])));
 *   }
 * }
 * [new Sum()(ones(2), ones(2)), new Sum()({ a: ones(1), b_c: ones(1) })] // [tensor([2., 2.]), tensor([2.])]
 * ```
 * @torch tensordict.nn.dispatch
 */
export function dispatch<F extends (this: Any, tensordict: Any, ...rest: Any[]) => Any>(
  func: F,
  context?: unknown,
): (...args: Any[]) => Any;
export function dispatch(options: DispatchOptions): (func: (...args: Any[]) => Any) => (...args: Any[]) => Any;
export function dispatch(given?: unknown, _context?: unknown): Any {
  if (typeof given === "function") return wrapped(given as (...args: Any[]) => Any, {});
  const args = typeof given === "string" ? [{ separator: given }] : given === undefined ? [] : [given];
  const options: DispatchOptions = namedArguments("dispatch", FUNCTIONS.dispatch, args);
  return (func: (...args: Any[]) => Any) => wrapped(func, options);
}

function wrapped(func: (...args: Any[]) => Any, options: DispatchOptions): (...args: Any[]) => Any {
  return function (this: unknown, ...given: unknown[]): Any {
    return callDispatched(this, given, options, (tensordict, rest) => func.call(this, tensordict, ...rest));
  };
}

/** Products with the Jacobian of a function: `vjp`. */
import * as texts from "../../generated/texts.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { Differentiated, leavesOf, mapLeaves } from "./differentiate.ts";
import { type Fn, freshArguments, withAux } from "./grad.ts";
import { pythonText } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";

/** What a function gives. */
export interface VjpOptions<H extends boolean = boolean> {
  /** The function gives a list of its result and something else, which is handed on. */
  hasAux?: H;
}

/** A leaf in a text of a structure. */
class Star {
  toString(): string {
    return "*";
  }
}

export const structureOf = (value: unknown): string => pythonText(mapShape(value));

/** A value with stars for its leaves; a collection is one. */
function mapShape(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(mapShape);
  if (isDict(value)) return Object.fromEntries(Object.entries(value).map(([k, x]) => [k, mapShape(x)]));
  return new Star();
}

/** The tensors that a function gave. */
export function outputsOf(api: string, value: unknown): Tensor[] {
  const found = leavesOf(value);
  if (found.length === 0 || (found.length === 1 && (found[0] === null || found[0] === undefined))) {
    throw texts.noTensorOutput(undefined, api, found.length === 0 ? "[]" : "[None]");
  }
  return found.map((t) => {
    if (t instanceof Tensor) return t;
    throw texts.tensorOutputs(undefined, api, `<class '${typeName(t)}'>`);
  });
}

/** A function that was called once, and its vector-Jacobian products. */
export interface Pullback {
  readonly output: unknown;
  readonly aux: unknown;
  readonly pull: (cotangents: unknown) => unknown;
}

/** Calls a function; products are with respect to the arguments at `argnums`, or to all. */
export function pullbackOf(fn: Fn, args: readonly unknown[], argnums: unknown, hasAux: boolean): Pullback {
  const api = "vjp(f, *primals)";
  const d = new Differentiated();
  const fresh =
    argnums === null
      ? { all: args.map((x) => mapLeaves(x, (leaf) => d.input(leaf))), wanted: [...args] }
      : freshArguments(d, argnums, args);
  const [output, aux] = d.call("vjp", () => withAux(api, hasAux, fn(...fresh.all)));
  const examples = outputsOf(api, output);
  for (const { dtype } of examples) if (dtype.category < 2) throw texts.vjpIntegers(undefined, dtype.name);
  const outputs = examples.map((t) => d.output(t));
  const out = d.leadsOut(outputs);
  const structure = structureOf(output);
  const pull = (cotangents: unknown): unknown => {
    const own = structureOf(cotangents);
    const given = own === structure ? leavesOf(cotangents) : [];
    if (given.length !== outputs.length) throw texts.cotangentStructure(undefined, own, structure);
    const starts = outputs.map((y, i) =>
      requiresGrad(y) ? d.start(given[i], y, i, examples[i] as Tensor) : (given[i] as Tensor),
    );
    const createGraph = gradMode.enabled && (out || d.leadsOut(starts.filter((t) => t instanceof Tensor)));
    const found = d.pull(outputs, starts, d.inputs, { createGraph, retainGraph: true });
    let at = 0;
    return mapLeaves(fresh.wanted, () => d.result(found[at] ?? null, d.inputs[at++] as Tensor));
  };
  return { output: d.settledAll(output), aux: hasAux ? d.settledAll(aux) : undefined, pull };
}

const holdsTensors = (value: unknown): boolean => leavesOf(value).some((leaf) => leaf instanceof Tensor);

/**
 * Calls `fn`, and gives its result and a function for vector-Jacobian products: that takes cotangents, which have the
 * structure and the sizes of the result, and gives a list with the product for each of `primals`. It may be called
 * several times. Arguments and results may be nested in arrays and plain objects, or be TensorDicts.
 * @param primals what `fn` is called with; a plain object without tensors behind them is the options
 * @example
 * ```ts
 * const [y, pull] = func.vjp((a, b) => a.mul(b), tensor([1, 2]), tensor([3, 4]));
 * [y.tolist(), pull(ones(2)).map((t) => t.tolist())] // [[3, 8], [[3, 4], [1, 2]]]
 * ```
 * @throws RuntimeError when a result is no tensor of real or complex numbers, or cotangents do not fit; ValueError for
 * an argument that is no tensor
 * @torch torch.func.vjp
 */
export function vjp<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  ...primals: A
): [output: R, pull: (cotangents: R) => [...A]];
export function vjp<A extends readonly unknown[], R, X>(
  fn: (...args: A) => readonly [R, X],
  ...primals: [...A, { hasAux: true }]
): [output: R, pull: (cotangents: R) => [...A], aux: X];
export function vjp(...given: unknown[]): unknown {
  const last = given.at(-1);
  // Behind the options, or names for everything, there is nothing.
  const ended = isDict(last) && (given.length === 1 || !holdsTensors(last));
  const places = inOrder<unknown[]>("vjp", FUNCTIONS.vjp, ended ? given : [...given, {}]);
  const { hasAux = false } = places.pop() as VjpOptions;
  const [fn, ...primals] = places;
  const { output, aux, pull } = pullbackOf(fn as Fn, primals, null, hasAux);
  return hasAux ? [output, pull, aux] : [output, pull];
}

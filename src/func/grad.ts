/** Gradients of functions with one number as the result: `grad`, `gradAndValue`. */
import * as texts from "../../generated/texts.ts";
import { inOrder } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { Differentiated, mapLeaves } from "./differentiate.ts";
import { pythonText } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";

/** Which arguments are differentiated: the place of one, or of several in a list. From the end if negative. */
export type Argnums = number | readonly number[] | readonly [];

type At<A, N extends number> = `${N}` extends keyof A ? A[`${N}`] : Tensor;

/** Gradients have the structure of the arguments. */
export type GradientsOf<A extends readonly unknown[], N extends Argnums> = [Argnums] extends [N]
  ? At<A, 0>
  : N extends number
    ? At<A, N>
    : { -readonly [K in keyof N]: N[K] extends number ? At<A, N[K]> : never };

/** What is differentiated, and what a function gives. */
export interface GradOptions<N extends Argnums = Argnums, H extends boolean = boolean> {
  /** Which arguments are differentiated; the first by default. */
  argnums?: N;
  /** The function gives a list of its result and something else, which is handed on. */
  hasAux?: H;
}

export type Fn = (...args: unknown[]) => unknown;

const pythonType = (x: unknown): string => `<class '${typeName(x)}'>`;

function placeOf(argnum: unknown, count: number): number {
  if (!Number.isInteger(argnum)) throw texts.argnumKind(undefined, pythonType(argnum));
  const n = argnum as number;
  if (n >= count || n < -count) throw texts.argnumRange(undefined, n, count);
  return n < 0 ? n + count : n;
}

/** The places of the arguments that are differentiated. */
export function placesOf(argnums: unknown, count: number): number | number[] {
  if (Number.isInteger(argnums)) return placeOf(argnums, count);
  if (!Array.isArray(argnums)) throw texts.argnumsKind(undefined, pythonType(argnums));
  const places = argnums.map((n) => placeOf(n, count));
  if (places.length === 0) throw texts.argnumsEmpty(undefined);
  if (new Set(places).size < places.length) throw texts.argnumsTwice(undefined, pythonText(places));
  return places;
}

/** What a function gave, and what it gave besides. */
export function withAux(api: string, hasAux: boolean, given: unknown): [output: unknown, aux: unknown] {
  if (!hasAux) return [given, undefined];
  if (!Array.isArray(given) || given.length !== 2) throw texts.transformAux(undefined, api);
  return [given[0], given[1]];
}

/** Arguments with fresh inputs in the places that are differentiated, and those alone. */
export function freshArguments(d: Differentiated, argnums: unknown, args: readonly unknown[]) {
  const places = placesOf(argnums, args.length);
  const list = Array.isArray(places) ? places : [places];
  const all = [...args];
  for (const i of list) all[i] = mapLeaves(args[i], (leaf) => d.input(leaf));
  return { all, wanted: Array.isArray(places) ? places.map((i) => args[i]) : args[places] };
}

interface Settings {
  readonly argnums: unknown;
  readonly hasAux: boolean;
}

function differentiated(fn: Fn, { argnums, hasAux }: Settings, args: readonly unknown[]) {
  const api = "grad_and_value(f)(*args)";
  const d = new Differentiated();
  const { all, wanted } = freshArguments(d, argnums, args);
  const [output, aux] = d.call("grad", () => withAux(api, hasAux, fn(...all)));
  if (!(output instanceof Tensor)) throw texts.gradNotATensor(undefined, pythonType(output));
  if (output.ndim !== 0) throw texts.gradNotAScalar(undefined, output.ndim);
  const y = d.output(output);
  if (y.dtype.category === 3) throw texts.implicitGradientNotReal(undefined, y.dtype.name);
  const out = d.leadsOut([y]);
  const starts = [y.newOnes(y._shape)];
  const found = d.pull([y], starts, d.inputs, { createGraph: d.outer && out, retainGraph: out });
  let at = 0;
  const gradient = mapLeaves(wanted, () => d.result(found[at] ?? null, d.inputs[at++] as Tensor));
  return { gradient, value: d.settled(output), aux: hasAux ? d.settledAll(aux) : undefined };
}

/**
 * A function that gives the gradient of `fn` with respect to its first argument, or to those at `argnums`. `fn` gives
 * one number. Arguments may be nested in arrays and plain objects, or be TensorDicts; a gradient has the structure of
 * its argument. The result has a graph only when it depends on a tensor outside that requires gradients, so that
 * gradients of gradients nest, and inside of `vmap` each example has its own.
 * @param fn a function that is not async; inside, the arguments that are differentiated are new leaves
 * @param argnums the place of the argument, or a list of places: then the result is a list, too
 * @param hasAux `fn` gives a list of the number and anything else with tensors, and so does the new function
 * @example
 * ```ts
 * const cube = (x: Tensor) => x.pow(3).sum();
 * [func.grad(cube)(tensor([1, 2])).tolist(), func.grad(func.grad(cube))(tensor(2)).item()] // [[3, 12], 12]
 * ```
 * @throws RuntimeError when the result is not one number, and for `argnums` that are not there; ValueError for an
 * argument that is no tensor
 * @torch torch.func.grad
 */
export function grad<A extends readonly unknown[] = Tensor[], N extends Argnums = 0>(
  fn: (...args: A) => Tensor,
  argnums?: N | GradOptions<N, false>,
  hasAux?: false | GradOptions<N, false>,
): (...args: A) => GradientsOf<A, N>;
export function grad<A extends readonly unknown[] = Tensor[], X = unknown, N extends Argnums = 0>(
  fn: (...args: A) => readonly [Tensor, X],
  argnums: N | GradOptions<N, true>,
  hasAux?: true | GradOptions<N, true>,
): (...args: A) => [gradient: GradientsOf<A, N>, aux: X];
export function grad(...given: unknown[]): Fn {
  const [fn, argnums = 0, hasAux = false] = inOrder<[Fn, unknown?, boolean?]>("grad", FUNCTIONS.grad, given);
  return (...args) => {
    const { gradient, aux } = differentiated(fn, { argnums, hasAux }, args);
    return hasAux ? [gradient, aux] : gradient;
  };
}

/**
 * As `grad`, with the value of the function: a list of both. With `hasAux`, the second is the list of the value and
 * what the function gave besides.
 * @example
 * ```ts
 * const [gradient, value] = func.gradAndValue((x) => x.square().sum())(tensor([1, 2]));
 * [gradient.tolist(), value.item()] // [[2, 4], 5]
 * ```
 * @throws RuntimeError, ValueError as `grad`
 * @torch torch.func.grad_and_value
 */
export function gradAndValue<A extends readonly unknown[] = Tensor[], N extends Argnums = 0>(
  fn: (...args: A) => Tensor,
  argnums?: N | GradOptions<N, false>,
  hasAux?: false | GradOptions<N, false>,
): (...args: A) => [gradient: GradientsOf<A, N>, value: Tensor];
export function gradAndValue<A extends readonly unknown[] = Tensor[], X = unknown, N extends Argnums = 0>(
  fn: (...args: A) => readonly [Tensor, X],
  argnums: N | GradOptions<N, true>,
  hasAux?: true | GradOptions<N, true>,
): (...args: A) => [gradient: GradientsOf<A, N>, [value: Tensor, aux: X]];
export function gradAndValue(...given: unknown[]): Fn {
  const [fn, argnums = 0, hasAux = false] = inOrder<[Fn, unknown?, boolean?]>(
    "gradAndValue",
    FUNCTIONS.gradAndValue,
    given,
  );
  return (...args) => {
    const { gradient, value, aux } = differentiated(fn, { argnums, hasAux }, args);
    return [gradient, hasAux ? [value, aux] : value];
  };
}

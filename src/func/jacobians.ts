/** All derivatives of a function: `jacrev`, `jacfwd`, `hessian`. */
import { cat, copy_, eye, movedim, narrow, select, split_with_sizes, stack, zeros } from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { taking } from "../dispatch/seam.ts";
import { inOrder } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import type { Randomness } from "./call.ts";
import { collections } from "./collections.ts";
import { leavesOf, mapLeaves } from "./differentiate.ts";
import { type Argnums, type Fn, type GradientsOf, placesOf } from "./grad.ts";
import { checkPrimals, pushforwardOf } from "./jvp.ts";
import { Level, levels } from "./level.ts";
import { flatten } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";
import { pullbackOf } from "./vjp.ts";
import { vmap } from "./vmap.ts";

/** For each tensor of a result, derivatives in the structure of the arguments. */
export type JacobianOf<R, G> = R extends Tensor ? G : { -readonly [K in keyof R]: JacobianOf<R[K], G> };

/** How `jacrev` goes. */
export interface JacrevOptions<N extends Argnums = Argnums, H extends boolean = boolean> {
  /** Which arguments are differentiated; the first by default. */
  argnums?: N;
  /** The function gives a list of its result and something else, which is handed on. */
  hasAux?: H;
  /** How many rows at most are computed at once; with 1, one after the other without `vmap`. */
  chunkSize?: number | null;
}

/** How `jacfwd` goes. */
export interface JacfwdOptions<N extends Argnums = Argnums, H extends boolean = boolean> {
  /** Which arguments are differentiated; the first by default. */
  argnums?: N;
  /** The function gives a list of its result and something else, which is handed on. */
  hasAux?: H;
  /** Whether random operators draw for each column, once for all, or are refused. */
  randomness?: Randomness;
}

const sizesOf = (list: readonly Tensor[]): number[] => list.map((t) => t._numel);
const sum = (list: readonly number[]): number => list.reduce((n, x) => n + x, 0);

/** Some rows of the identity, as vectors over all elements of some tensors. */
function basisOf(likes: readonly Tensor[], start: number, count: number): Tensor[] {
  const sizes = sizesOf(likes);
  let at = 0;
  return likes.map((like, i) => {
    const n = sizes[i] as number;
    const { dtype, device } = like;
    const part = zeros([count, n], dtype, device, false);
    const from = Math.max(start, at);
    const rows = Math.min(start + count, at + n) - from;
    if (rows > 0) {
      const block = narrow(narrow(part, 0, from - start, rows), 1, from - at, rows);
      copy_(block, eye(rows, dtype, device, false), false);
    }
    at += n;
    return part.reshape([count, ...like._shape]);
  });
}

type Product = (vectors: readonly Tensor[]) => readonly Tensor[];

/** Products with several vectors, one after the other. */
function inTurn(product: Product, vectors: readonly Tensor[], count: number): Tensor[] {
  const rows = Array.from({ length: count }, (_, i) => product(vectors.map((v) => select(v, 0, i))));
  return (rows[0] as readonly Tensor[]).map((_, k) =>
    stack(
      rows.map((row) => row[k] as Tensor),
      0,
    ),
  );
}

/** Products with several vectors, at once where all operators of the pass can do so. */
function atOnce(product: Product, vectors: readonly Tensor[], count: number): readonly Tensor[] {
  try {
    return vmap((...v: Tensor[]) => [...product(v)])(...vectors) as Tensor[];
  } catch {
    // What is wrong with the pass itself is wrong again.
    return inTurn(product, vectors, count);
  }
}

/** Products with the whole basis of some tensors: one for each tensor that the product gives, rows first. */
function products(product: Product, likes: readonly Tensor[], results: readonly Tensor[], chunk: number): Tensor[] {
  const n = sum(sizesOf(likes));
  if (n === 0) return results.map((t) => t.newZeros([0, ...t._shape]));
  const parts: (readonly Tensor[])[] = [];
  for (let start = 0; start < n; start += chunk) {
    const count = Math.min(chunk, n - start);
    const vectors = basisOf(likes, start, count);
    parts.push(chunk === 1 ? inTurn(product, vectors, count) : atOnce(product, vectors, count));
  }
  const [first] = parts as [readonly Tensor[]];
  if (parts.length === 1) return [...first];
  return first.map((_, k) =>
    cat(
      parts.map((part) => part[k] as Tensor),
      0,
    ),
  );
}

function refuseComplex(api: string, which: string, value: unknown): void {
  for (const [i, t] of leavesOf(value).entries()) {
    if (t instanceof Tensor && t.dtype.category === 3) throw texts.jacobianComplex(undefined, api, which, i);
  }
}

/** A Jacobian has the sizes of two tensors: a collection has no place for it. */
function refuseCollections(api: string, value: unknown): void {
  const leaves: unknown[] = [];
  flatten(value, leaves);
  const found = leaves.find((leaf) => collections.kind?.is(leaf));
  if (found !== undefined) throw texts.jacobianCollection(undefined, api, `<class '${typeName(found)}'>`);
}

/** The arguments that are differentiated, in their structure. */
function wantedOf(args: readonly unknown[], argnums: unknown): unknown {
  const places = placesOf(argnums, args.length);
  return Array.isArray(places) ? places.map((i) => args[i]) : args[places];
}

/** A piece of a Jacobian for each pair of a result and an argument, in the structure of both. */
function arranged(output: unknown, wanted: unknown, piece: (i: number, k: number, x: Tensor) => Tensor): unknown {
  let i = 0;
  return mapLeaves(output, () => {
    const row = i++;
    let k = 0;
    return mapLeaves(wanted, (x) => piece(row, k++, x as Tensor));
  });
}

/**
 * A function that gives the Jacobian of `fn` row by row, through vector-Jacobian products that are computed at once:
 * for each tensor of the result, one for each argument at `argnums`, with the sizes of the result in front of those
 * of the argument. For functions with fewer results than arguments.
 * @param fn a function that is not async
 * @param argnums the place of the argument, or a list of places: then derivatives are in a list, too
 * @example
 * ```ts
 * func.jacrev((x) => x.square())(tensor([1, 2])).tolist() // [[2, 0], [0, 4]]
 * ```
 * @throws RuntimeError for complex tensors, results that are no tensors, and `argnums` that are not there; ValueError
 * for a `chunkSize` that is not greater than 0; NotImplementedError for TensorDicts
 * @torch torch.func.jacrev
 */
export function jacrev<A extends readonly unknown[] = Tensor[], R = unknown, N extends Argnums = 0>(
  fn: (...args: A) => R,
  argnums?: N | JacrevOptions<N, false>,
  options?: JacrevOptions<N, false>,
): (...args: A) => JacobianOf<R, GradientsOf<A, N>>;
export function jacrev<A extends readonly unknown[] = Tensor[], R = unknown, X = unknown, N extends Argnums = 0>(
  fn: (...args: A) => readonly [R, X],
  argnums: N | JacrevOptions<N, true>,
  options?: JacrevOptions<N, true>,
): (...args: A) => [jacobian: JacobianOf<R, GradientsOf<A, N>>, aux: X];
export function jacrev(...given: unknown[]): Fn {
  const [fn, argnums = 0, options] = inOrder<[Fn, unknown?, JacrevOptions?]>("jacrev", FUNCTIONS.jacrev, given);
  const { hasAux = false, chunkSize } = options ?? {};
  const chunk = chunkSize ?? Number.POSITIVE_INFINITY;
  if (!(chunk > 0)) throw texts.jacrevChunk(undefined);
  return (...args) => {
    refuseComplex("jacrev", "inputs", args);
    const wanted = wantedOf(args, argnums);
    refuseCollections("jacrev", wanted);
    const { output, aux, pull } = pullbackOf(fn, args, argnums, hasAux);
    refuseComplex("jacrev", "outputs", output);
    refuseCollections("jacrev", output);
    const [outputs, inputs] = [leavesOf(output) as Tensor[], leavesOf(wanted) as Tensor[]];
    const product: Product = (vectors) => {
      let at = 0;
      return leavesOf(pull(mapLeaves(output, () => vectors[at++]))) as Tensor[];
    };
    const rows = products(product, outputs, inputs, chunk);
    const sizes = sizesOf(outputs);
    const split = rows.map((r) => split_with_sizes(r, sizes, 0));
    const jacobian = arranged(output, wanted, (i, k, x) =>
      ((split[k] as Tensor[])[i] as Tensor).reshape([...(outputs[i] as Tensor)._shape, ...x._shape]),
    );
    return hasAux ? [jacobian, aux] : jacobian;
  };
}

/** Products of the Jacobian with each element of the arguments, as results with those counted in front. */
function columns(fn: Fn, args: readonly unknown[], argnums: unknown, hasAux: boolean, randomness: Randomness) {
  const inputs = leavesOf(wantedOf(args, argnums)) as Tensor[];
  const n = sum(sizesOf(inputs));
  if (randomness === "different" && n > 0) {
    // Each column calls the function, as it draws numbers of its own.
    const each = (...v: Tensor[]) => {
      const { push, aux } = pushforwardOf(fn, args, argnums, { hasAux });
      return hasAux ? [push(v), aux] : [push(v)];
    };
    const [rows, aux] = vmap(each, { randomness })(...basisOf(inputs, 0, n)) as [unknown, unknown];
    return { rows, aux: hasAux ? mapLeaves(aux, (t) => select(t as Tensor, 0, 0)) : undefined };
  }
  const level = new Level(n, randomness, levels.length + 1);
  const { push, output, aux } = pushforwardOf(fn, args, argnums, { hasAux }, (body) => taking(level, "jacfwd", body));
  const outputs = leavesOf(output) as Tensor[];
  const found = products((v) => leavesOf(push(v)) as Tensor[], inputs, outputs, Number.POSITIVE_INFINITY);
  let at = 0;
  return { rows: mapLeaves(output, () => found[at++]), aux };
}

/**
 * As `jacrev`, but column by column, through Jacobian-vector products: for functions with more results than arguments.
 * @param argnums the place of the argument, or a list of places: then derivatives are in a list, too
 * @param hasAux `fn` gives a list of the result and anything else with tensors, and so does the new function
 * @example
 * ```ts
 * func.jacfwd((x) => x.square())(tensor([1, 2])).tolist() // [[2, 0], [0, 4]]
 * ```
 * @throws RuntimeError for complex tensors, results that are no tensors, `argnums` that are not there and random
 * numbers without `randomness`; ValueError for arguments of integers; NotImplementedError for TensorDicts
 * @torch torch.func.jacfwd
 */
export function jacfwd<A extends readonly unknown[] = Tensor[], R = unknown, N extends Argnums = 0>(
  fn: (...args: A) => R,
  argnums?: N | JacfwdOptions<N, false>,
  hasAux?: false | JacfwdOptions<N, false>,
  options?: JacfwdOptions<N, false>,
): (...args: A) => JacobianOf<R, GradientsOf<A, N>>;
export function jacfwd<A extends readonly unknown[] = Tensor[], R = unknown, X = unknown, N extends Argnums = 0>(
  fn: (...args: A) => readonly [R, X],
  argnums: N | JacfwdOptions<N, true>,
  hasAux?: true | JacfwdOptions<N, true>,
  options?: JacfwdOptions<N, true>,
): (...args: A) => [jacobian: JacobianOf<R, GradientsOf<A, N>>, aux: X];
export function jacfwd(...given: unknown[]): Fn {
  const [fn, argnums = 0, hasAux = false, options] = inOrder<[Fn, unknown?, boolean?, JacfwdOptions?]>(
    "jacfwd",
    FUNCTIONS.jacfwd,
    given,
  );
  const randomness = options?.randomness ?? "error";
  if (!["error", "different", "same"].includes(randomness)) throw texts.vmapRandomness(undefined, randomness);
  return (...args) => {
    refuseComplex("jacfwd", "inputs", args);
    const wanted = wantedOf(args, argnums);
    refuseCollections("jacfwd", wanted);
    const inputs = leavesOf(wanted);
    checkPrimals(inputs);
    const { rows, aux } = columns(fn, args, argnums, hasAux, randomness);
    refuseComplex("jacfwd", "outputs", rows);
    refuseCollections("jacfwd", rows);
    const sizes = sizesOf(inputs as Tensor[]);
    const list = leavesOf(rows) as Tensor[];
    const split = list.map((r) => split_with_sizes(movedim(r, 0, -1), sizes, -1));
    const jacobian = arranged(rows, wanted, (i, k, x) =>
      ((split[i] as Tensor[])[k] as Tensor).reshape([...(list[i] as Tensor)._shape.slice(1), ...x._shape]),
    );
    return hasAux ? [jacobian, aux] : jacobian;
  };
}

/**
 * A function that gives the second derivatives of `fn`: the Jacobian, by `jacfwd`, of the one by `jacrev`.
 * @param argnums the place of the argument, or a list of places: then derivatives are in a list for each
 * @example
 * ```ts
 * func.hessian((x) => x.pow(3).sum())(tensor([1, 2])).tolist() // [[6, 0], [0, 12]]
 * ```
 * @throws as `jacrev` and `jacfwd`
 * @torch torch.func.hessian
 */
export function hessian<A extends readonly unknown[] = Tensor[], R = unknown, N extends Argnums = 0>(
  fn: (...args: A) => R,
  argnums?: N | { argnums?: N },
): (...args: A) => JacobianOf<R, JacobianOf<GradientsOf<A, N>, GradientsOf<A, N>>>;
export function hessian(...given: unknown[]): Fn {
  const [fn, argnums = 0] = inOrder<[Fn, Argnums?]>("hessian", FUNCTIONS.hessian, given);
  return jacfwd(jacrev(fn, argnums), argnums) as Fn;
}

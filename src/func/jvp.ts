/** Products of the Jacobian of a function with tangents: `jvp`, through the graph that the function recorded. */
import * as texts from "../../generated/texts.ts";
import { gradMode, gradModes } from "../dispatch/mode.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import { Differentiated, leavesOf, mapLeaves } from "./differentiate.ts";
import { type Fn, freshArguments, withAux } from "./grad.ts";
import { pathsBetween, pushedThrough } from "./push.ts";
import { flatten, structureText } from "./pytree.ts";
import { FUNCTIONS } from "./signatures.ts";
import { outputsOf, structureOf } from "./vjp.ts";

const API = "jvp(f, primals, tangents)";

/** How `jvp` goes, and what a function gives. */
export interface JvpOptions<H extends boolean = boolean> {
  /** A result that does not depend on the arguments is an error; by default its product is zero. */
  strict?: boolean;
  /** The function gives a list of its result and something else, which is handed on. */
  hasAux?: H;
}

/** A function that was called once, and its Jacobian-vector products. */
export interface Pushforward {
  readonly output: unknown;
  readonly aux: unknown;
  /** The product with a tangent for each tensor that is differentiated; the last one lets the graph go. */
  readonly push: (tangents: readonly Tensor[], last?: boolean) => unknown;
}

/** Calls a function inside of `around`; products are with respect to the arguments at `argnums`, or to all. */
export function pushforwardOf(
  fn: Fn,
  args: readonly unknown[],
  argnums: unknown,
  { hasAux = false, strict = false }: JvpOptions,
  around: <R>(body: () => R) => R = (body) => body(),
): Pushforward {
  const d = new Differentiated();
  const { all } =
    argnums === null
      ? { all: args.map((x) => mapLeaves(x, (leaf) => d.input(leaf))) }
      : freshArguments(d, argnums, args);
  const [output, aux] = d.call("jvp", () =>
    withAux(
      API,
      hasAux,
      around(() => fn(...all)),
    ),
  );
  const examples = outputsOf(API, output);
  const outputs = examples.map((t) => d.output(t));
  const out = d.leadsOut(outputs);
  const paths = pathsBetween(d.inputs, outputs);
  const push = (tangents: readonly Tensor[], last = false): unknown => {
    const starts = tangents.map((t) => d.tangent(t));
    const createGraph = gradMode.enabled && (out || d.leadsOut(starts));
    if (strict && paths.ends.includes(null)) throw texts.jvpIndependent(undefined);
    const found = gradModes.run(createGraph, "jvp", () =>
      pushedThrough(paths, starts, (meta) => d.dummy(meta), last && !out),
    );
    let at = 0;
    return mapLeaves(output, () => d.result(found[at] ?? null, outputs[at++] as Tensor));
  };
  return { output: d.settledAll(output), aux: hasAux ? d.settledAll(aux) : undefined, push };
}

function checkKinds(name: string, leaves: readonly unknown[]): void {
  if (leaves.length === 0) throw texts.jvpEmpty(undefined, name);
  const other = leaves.find((leaf) => !(leaf instanceof Tensor));
  if (other !== undefined || leaves.includes(undefined)) {
    throw texts.jvpKind(undefined, name, `<class '${typeName(other)}'>`);
  }
}

/** Refuses what has no derivative forward. */
export function checkPrimals(leaves: readonly unknown[]): void {
  checkKinds("primals", leaves);
  for (const t of leaves as Tensor[]) if (t.dtype.category < 2) throw texts.jvpIntegers(undefined, t.dtype.name);
}

function checkTangents(primals: readonly Tensor[], tangents: readonly unknown[]): asserts tangents is Tensor[] {
  checkKinds("tangents", tangents);
  for (const [i, t] of (tangents as Tensor[]).entries()) {
    if (t.dtype.category < 2) throw texts.tangentIntegers(undefined, t.dtype.name);
    const { _shape } = primals[i] as Tensor;
    if (sameSizes(t._shape, _shape)) continue;
    throw texts.tangentSize(undefined, `[${_shape.join(", ")}]`, `[${t._shape.join(", ")}]`);
  }
}

/**
 * Calls `fn` with `primals`, and gives the result and the product of its Jacobian with `tangents`, which is what the
 * result changes by when the arguments change by those.
 * @param primals the list of arguments; they may be nested in arrays and plain objects, or be TensorDicts
 * @param tangents a list of the same structure and sizes
 * @example
 * ```ts
 * const [y, change] = func.jvp((x) => x.square(), [tensor([1, 2])], [tensor([1, 10])]);
 * [y.tolist(), change.tolist()] // [[1, 4], [2, 40]]
 * ```
 * @throws RuntimeError when structures or sizes differ, a result is no tensor, or, with `strict`, does not depend on
 * the arguments; ValueError for arguments of integers
 * @torch torch.func.jvp
 */
export function jvp<A extends readonly unknown[], R>(
  fn: (...args: A) => R,
  primals: A,
  tangents: NoInfer<A>,
  options?: JvpOptions<false>,
): [output: R, change: R];
export function jvp<A extends readonly unknown[], R, X>(
  fn: (...args: A) => readonly [R, X],
  primals: A,
  tangents: NoInfer<A>,
  options: JvpOptions<true>,
): [output: R, change: R, aux: X];
export function jvp(...given: unknown[]): unknown {
  const [fn, primals, tangents, options = {}] = inOrder<[Fn, unknown, unknown, JvpOptions?]>(
    "jvp",
    FUNCTIONS.jvp,
    given,
  );
  if (!Array.isArray(primals)) throw texts.jvpPrimals(undefined);
  const args = [...primals];
  const [from, to] = [leavesOf(args), leavesOf(tangents)];
  if (structureOf(args) !== structureOf(tangents) || from.length !== to.length) {
    const text = (value: unknown) => structureText(flatten(value, []));
    throw texts.jvpStructure(undefined, text(args), text(tangents));
  }
  checkPrimals(from);
  checkTangents(from as Tensor[], to);
  const { output, aux, push } = pushforwardOf(fn, args, null, isDict(options) ? options : {});
  const change = push(to, true);
  return options.hasAux === true ? [output, change, aux] : [output, change];
}

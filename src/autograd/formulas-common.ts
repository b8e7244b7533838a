/** Helpers that formulas of every family use. */

import * as texts from "../../generated/texts.ts";
import { Complex, type Scalar } from "../tensor/complex.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Gradients } from "./node.ts";

/** The conjugate of a number or a tensor; real values are themselves. */
export function conj<T extends Tensor | Scalar>(x: T): T {
  if (x instanceof Tensor) return (x.dtype.category === 3 ? x.conj() : x) as T;
  return (x instanceof Complex ? new Complex(x.re, -x.im) : x) as T;
}

/** grad * k, without work for k = 1. */
export function scaled(grad: Tensor, k: Scalar): Tensor {
  return k === 1 ? grad : grad.mul(conj(k));
}

/** The same for the gradients of a list of results. */
export function scaledList(grads: Gradients, k: Scalar): Gradients {
  return grads.map((grad) => (grad === null ? null : scaled(grad, k)));
}

/**
 * The gradients of operands of which some are lists, one for each member: `parts` gives those of an operand, and is
 * asked where one of its edges wants any. Those of a member that wants none are left out.
 */
export function gradientsOfParts(
  node: { readonly next: readonly unknown[] },
  counts: readonly number[],
  parts: readonly (() => readonly (Tensor | null)[])[],
): Gradients {
  const all: Gradients = [];
  for (const [i, count] of counts.entries()) {
    const start = all.length;
    const edges = node.next.slice(start, start + count);
    const given = edges.some((edge) => edge !== null) ? (parts[i] as () => readonly (Tensor | null)[])() : [];
    for (const [k, edge] of edges.entries()) all.push(edge === null ? null : (given[k] ?? null));
  }
  return all;
}

/** Operators whose gradient is not defined say so in the backward pass, with the name of the form that was called. */
export function notDerivable(name: string, node?: { readonly inplace: boolean }): never {
  throw texts.noDerivative(undefined, node?.inplace ? `${name}_` : name);
}

/** The gradient of an operand that the result does not change with. */
export function noGradient(grad: Tensor, shape: readonly number[]): Tensor {
  return grad.newZeros(shape);
}

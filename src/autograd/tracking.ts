/** What the generated operators call to record themselves. */

import * as texts from "../../generated/texts.ts";
import { clone } from "../dispatch/copy.ts";
import { gradMode, requiresGrad } from "../dispatch/mode.ts";
import { checkOutGradients, setGeometry } from "../dispatch/out.ts";
import { untie } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { checkCreation, edgeOf, gradFnOf, metaOf, moveTo, setNode } from "./history.ts";
import type { Edge, Node } from "./node.ts";
import { type Saved, save } from "./saved.ts";
import { CopySlices } from "./view-nodes.ts";

export const isTensor = (x: unknown): boolean => x instanceof Tensor;

/** True when an argument of any kind holds a tensor that needs gradients. */
export function tracks(x: unknown): boolean {
  if (x instanceof Tensor) return requiresGrad(x);
  return Array.isArray(x) && x.some(tracks);
}

/** Connects a node to the nodes of its arguments. */
export function connect(node: Node, args: readonly unknown[]): void {
  const edges: (Edge | null)[] = [];
  for (const x of args) {
    if (x instanceof Tensor) edges.push(edgeOf(x));
    else if (Array.isArray(x)) for (const t of x as Tensor[]) edges.push(edgeOf(t));
    else edges.push(null);
  }
  node.next = edges;
}

function attach(t: Tensor, node: Node, index: number): void {
  node.outputs[index] = metaOf(t);
  if (t.dtype.category < 2) return;
  t._gradFn = node;
  t._outputNr = index;
}

/** Makes `result` the output of `node`. An operator with a gradient has no integer results. */
export function record<R extends Tensor | readonly Tensor[]>(result: R, node: Node, skip?: readonly number[]): R {
  if (result instanceof Tensor) {
    if (result.dtype.category < 2 && !node.anyResult) {
      throw texts.noAutogradForDtype(undefined, result.dtype.scalarType);
    }
    attach(result, node, 0);
  } else {
    result.forEach((t, i) => {
      if (skip?.includes(i)) node.outputs[i] = metaOf(t);
      else attach(t, node, i);
    });
  }
  return result;
}

/** As `record`, for views: they also remember when their node was made. */
export function recordView<R extends Tensor | readonly Tensor[]>(result: R, node: Node): R {
  if (result instanceof Tensor) {
    attach(result, node, 0);
    result._viewVersion = result._version.value;
  } else {
    result.forEach((t, i) => {
      attach(t, node, i);
      t._viewVersion = t._version.value;
    });
  }
  return result;
}

/** Keeps what an in-place operation is about to overwrite. */
export function saveOriginal(self: Tensor): Saved {
  const original = clone(self);
  original._gradFn = gradFnOf(self);
  original._outputNr = self._outputNr;
  const kept = save(original);
  untie(original);
  return kept;
}

const isLeaf = ({ _gradFn }: Tensor): boolean => _gradFn === null || (_gradFn as Node).ofInput;

/** Refuses writes that autograd could not follow. */
export function checkInplace(self: Tensor, others: readonly unknown[] = []): void {
  if (!gradMode.enabled) return;
  const own = requiresGrad(self);
  if (!own && !tracks(others)) return;
  if (self._base !== null) {
    checkCreation(self, "is being");
    if (own && isLeaf(self._base)) throw texts.leafViewInPlace(undefined);
  }
  if (own && isLeaf(self)) throw texts.leafInPlace(undefined);
}

/** Refuses arguments that an operator has no gradient of. */
export function requireConstants(fn: string, given: readonly (readonly [name: string, t: Tensor | null])[]): void {
  for (const [name, t] of given) {
    if (t !== null && requiresGrad(t)) throw texts.argumentNotDifferentiable(undefined, fn, name);
  }
}

/** Refuses a complex result of an operator that has gradients of real ones only. */
export function requireReal(op: string, result: Tensor): void {
  if (result.dtype.category === 3) throw texts.complexNotDifferentiable(op);
}

/** The same for an operator that is written with others, whose result autograd may follow by now. */
export function requireRealGradient(op: string, result: Tensor): void {
  if (requiresGrad(result)) requireReal(op, result);
}

type Operands = readonly (Tensor | null | readonly (Tensor | null)[])[];

/** The same for operators that write lists, or several arguments, and have no gradient. */
export function checkWritten(op: string, written: Operands, read: Operands): void {
  if (!gradMode.enabled) return;
  const others = [...written, ...read];
  for (const t of written.flat()) if (t !== null) checkInplace(t, others);
  if (tracks(others)) throw texts.noDerivative(undefined, op);
}

/** After an operator that wrote these. */
export function changed(written: Operands): void {
  for (const x of written) {
    if (x instanceof Tensor) x._version.value++;
    else if (x !== null) for (const t of x) if (t !== null) t._version.value++;
  }
}

/** After a recorded in-place operation: the tensor, or the base that it is a view of, gets a new node. */
export function rebaseHistory(self: Tensor, node: Node): void {
  if (self.dtype.category < 2 && node.anyResult) return;
  node.outputs[0] = metaOf(self);
  const base = self._base;
  if (base === null) {
    moveTo(self, node, 0);
    return;
  }
  const outer = new CopySlices(base, self, node);
  outer.next = [edgeOf(base), ...node.next.slice(1)];
  outer.outputs = [metaOf(base)];
  moveTo(base, outer, 0);
  self._viewVersion = -1;
  gradFnOf(self);
}

/**
 * After a recorded in-place view operator: nothing was written, so that a view's base stays as it is. A gradient that
 * is retained stays with the former node, in the former shape.
 */
export function rebaseView(self: Tensor, node: Node): void {
  node.outputs[0] = metaOf(self);
  setNode(self, node, 0);
}

/** Gives `self` the geometry of a view of it (in-place view operators). */
export function adoptGeometry(self: Tensor, view: Tensor): void {
  setGeometry(self, view._shape, view._strides, view._offset);
  // It was replayed through its former self.
  if (self._extra?.replay) self._extra.replay = view._extra?.replay ?? null;
}

export function checkOut(op: string, out: Tensor | readonly Tensor[], inputs: readonly unknown[]): void {
  for (const o of out instanceof Tensor ? [out] : out) checkOutGradients(op, o, inputs);
}

/** After an `out` form: the written tensors have changed. */
export function finishOut<R>(result: R, out: Tensor | readonly Tensor[]): R {
  for (const o of out instanceof Tensor ? [out] : out) o._version.value++;
  return result;
}

/** Marks what a factory made as a leaf that wants gradients. */
export function leaf(t: Tensor, wanted: boolean): Tensor {
  if (!wanted) return t;
  if (t.dtype.category < 2) throw texts.notDifferentiable(undefined);
  t._requiresGrad = true;
  return t;
}

/** Where a tensor stands in the graph: its node, its edge, and the nodes of views that were written to. */

import * as texts from "../../generated/texts.ts";
import { gradModes, requiresGrad } from "../dispatch/mode.ts";
import type { Device } from "../tensor/device.ts";
import type { DType } from "../tensor/dtype.ts";
import { CREATION_DEFAULT, CREATION_NO_GRAD, extraOf, type GradientNode, type Tensor } from "../tensor/tensor.ts";
import { AccumulateGrad, type Edge, type Node } from "./node.ts";
import { AsStridedBackward } from "./view-nodes.ts";

/** A node's name in torch's messages about the operator that made a tensor. */
export function operatorName(node: GradientNode): string {
  return node.qualifiedName.replace(/Backward(\d*)$/, (_, n: string) => (n === "0" ? "" : n));
}

/** The tensor's node. A view whose family was written to gets a new one, from its base. */
export function gradFnOf(t: Tensor): GradientNode | null {
  const base = t._base;
  if (base === null || t._viewVersion === t._version.value) return t._gradFn;
  if (t._gradFn === null && !requiresGrad(base)) return null;
  checkCreation(t, "its base or another view of its base has been");
  const replay = t._extra?.replay;
  if (replay) {
    // With a graph, whatever the mode is when somebody asks.
    const again = gradModes.run(true, "gradFn", () => replay(base));
    moveTo(t, again._gradFn, again._outputNr);
  } else {
    const node = new AsStridedBackward(base, t);
    node.next = [edgeOf(base)];
    node.outputs = [metaOf(t)];
    moveTo(t, node, 0);
  }
  return t._gradFn;
}

/** Gives a tensor another node; a gradient that it retains is the new node's. */
export function moveTo(t: Tensor, node: GradientNode | null, outputNr: number): void {
  if (t._extra?.retainGrad) {
    (t._gradFn as Node | null)?.retained?.delete(t._outputNr);
    if (node !== null) retainIn(node as Node, outputNr, t);
  }
  setNode(t, node, outputNr);
}

export function setNode(t: Tensor, node: GradientNode | null, outputNr: number): void {
  t._gradFn = node;
  t._outputNr = outputNr;
  t._viewVersion = t._version.value;
}

export function retainIn(node: Node, outputNr: number, t: Tensor): void {
  node.retained ??= new Map();
  node.retained.set(outputNr, t);
}

/** Refuses to give a new node to a view that was not made to have one. */
export function checkCreation(view: Tensor, modified: string): void {
  const how = view._creation;
  if (how === CREATION_DEFAULT) return;
  const fn = view._gradFn;
  const output = fn === null ? "" : `Output ${view._outputNr} of ${operatorName(fn)} is a view`;
  const made = output === "" ? "A view was" : `${output} of a view which was`;
  const inNoGrad = `${made} created in no_grad mode and ${modified}`;
  const first =
    how === CREATION_NO_GRAD || fn === null
      ? `${inNoGrad} modified inplace with grad mode enabled.`
      : `${output} and ${modified} modified inplace.`;
  throw how === CREATION_NO_GRAD
    ? texts.noGradViewInPlace(undefined, first)
    : texts.multiOutputViewInPlace(undefined, first);
}

export function metaOf(t: Tensor): { shape: readonly number[]; dtype: DType; device: Device } {
  return { shape: t._shape, dtype: t.dtype, device: t._storage.device };
}

/** Where this tensor's gradient flows, or null when it needs none. */
export function edgeOf(t: Tensor): Edge | null {
  const fn = gradFnOf(t);
  if (fn !== null) return { node: fn as Node, index: t._outputNr };
  return t._requiresGrad ? { node: accumulatorOf(t), index: 0 } : null;
}

/** The one node that adds into a leaf's gradient. */
export function accumulatorOf(t: Tensor): AccumulateGrad {
  const extra = extraOf(t);
  if (extra.accumulate === null) {
    const node = new AccumulateGrad(t);
    node.outputs = [metaOf(t)];
    extra.accumulate = node;
  }
  return extra.accumulate as AccumulateGrad;
}

/** Where a tensor stands in the graph: its node, its edge, and the nodes of views that were written to. */
import { requiresGrad } from "../dispatch/mode.ts";
import type { DType } from "../tensor/dtype.ts";
import { CREATION_NO_GRAD, extraOf, type GradientNode, type Tensor } from "../tensor/tensor.ts";
import { AccumulateGrad, type Edge, type Node } from "./node.ts";
import { AsStridedBackward } from "./view-nodes.ts";

/** `FloatTensor`, as torch's messages name a dtype's tensors. */
export function typeName(d: DType): string {
  return `${d.scalarType}Tensor`;
}

/** The tensor's node. A view whose family was written to gets a new one, from its base. */
export function gradFnOf(t: Tensor): GradientNode | null {
  const base = t._base;
  if (base === null || t._creation === CREATION_NO_GRAD) return t._gradFn;
  if (t._viewVersion === t._version.value) return t._gradFn;
  if (t._gradFn === null && !requiresGrad(base)) return null;
  const replay = t._extra?.replay;
  if (replay) {
    const again = replay(base);
    t._gradFn = again._gradFn;
    t._outputNr = again._outputNr;
  } else {
    const node = new AsStridedBackward(base, t);
    node.next = [edgeOf(base)];
    node.outputs = [metaOf(t)];
    t._gradFn = node;
    t._outputNr = 0;
  }
  t._viewVersion = t._version.value;
  return t._gradFn;
}

export function metaOf(t: Tensor): { shape: readonly number[]; dtype: DType; meta: boolean } {
  return { shape: t._shape, dtype: t.dtype, meta: t._storage.kind === "meta" };
}

/** Where this tensor's gradient flows, or null when it needs none. */
export function edgeOf(t: Tensor): Edge | null {
  if (!requiresGrad(t)) return null;
  const fn = gradFnOf(t);
  if (fn !== null) return { node: fn as Node, index: t._outputNr };
  return { node: accumulatorOf(t), index: 0 };
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

/** The nodes of views that were written to: the base's gradient is cut where the view lies. */
import type { GradientNode, Tensor } from "../tensor/tensor.ts";
import type { Region } from "./gradients.ts";
import * as G from "./gradients.ts";
import { freedError, type Gradients, Node } from "./node.ts";

export function regionOf(t: Tensor): Region {
  return { shape: t._shape, strides: t._strides, offset: t._offset };
}

/** The gradient of a strided view of its base. */
export class AsStridedBackward extends Node {
  readonly base: Region;
  readonly view: Region;
  constructor(base: Tensor, view: Tensor) {
    super();
    this.base = regionOf(base);
    this.view = regionOf(view);
  }
  override get name(): string {
    return "AsStridedBackward0";
  }
  override apply(grads: Gradients): Gradients {
    const grad = grads[0];
    if (!grad) return [null];
    return [G.asStridedBackward(grad, this.base, this.view)];
  }
}

/** Stands for the base after a write to one of its views. */
export class CopySlices extends Node {
  readonly base: Region;
  readonly view: Region;
  readonly replay: ((base: Tensor) => Tensor) | null;
  readonly inner: Node;
  constructor(base: Tensor, view: Tensor, inner: GradientNode) {
    super();
    this.base = regionOf(base);
    this.view = regionOf(view);
    this.replay = view._extra?.replay ?? null;
    this.inner = inner as Node;
  }
  override get qualifiedName(): string {
    return `torch::autograd::${this.name}`;
  }
  override get name(): string {
    return "CopySlices";
  }
  override apply(grads: Gradients): Gradients {
    const grad = grads[0];
    if (!grad) return this.nothing();
    if (this.released) freedError();
    const whole = G.copyToRegion(grad, this.base);
    const slice = this.replay !== null ? this.replay(whole) : G.sliceOf(whole, this.base, this.view);
    const parts = this.inner.apply([slice.clone()]);
    const first = parts[0] ?? null;
    if (first === null) slice.zero_();
    else slice.copy_(G.conform(first, { shape: slice._shape, dtype: slice.dtype, device: slice.device }));
    return [this.needs(0) ? whole : null, ...parts.slice(1)];
  }
  override release(): void {
    super.release();
    this.inner.release();
  }
}

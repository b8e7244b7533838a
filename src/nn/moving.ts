/** Modules in another dtype, where the parameter objects stay and their bytes change, or on another device. */

import { Device, type DeviceLike, toDevice } from "../tensor/device.ts";
import { DType, type DTypeLike, isDTypeName, toDType } from "../tensor/dtype.ts";
import { TypeError } from "../tensor/errors.ts";
import { take } from "../tensor/scope-state.ts";
import { Tensor } from "../tensor/tensor.ts";
import { Parameter } from "./parameter.ts";
import type { Registered } from "./registers.ts";

/** What `to` takes by name. */
export interface Conversion {
  dtype?: DTypeLike | null;
  device?: DeviceLike | null;
  /** Whether copies from pinned memory to a GPU may still be going on when the call returns. */
  nonBlocking?: boolean;
}

/** What `to` takes in the first place. */
export type Placement = DTypeLike | DeviceLike | Tensor | null | undefined;

function conversionOf(target: Placement): Conversion {
  if (target instanceof Tensor) return { dtype: target.dtype, device: target.device };
  if (target instanceof DType) return { dtype: target };
  if (target === null || target === undefined) return {};
  if (target instanceof Device) return { device: target };
  if (typeof target === "string" && isDTypeName(target)) return { dtype: target };
  return { device: target as DeviceLike };
}

export function convertModule<M extends Registered>(module: M, target: Placement, named: Conversion): M {
  const c = { ...named, ...conversionOf(target) };
  const dtype = c.dtype === undefined || c.dtype === null ? null : toDType(c.dtype);
  const device = c.device === undefined || c.device === null ? null : toDevice(c.device);
  if (dtype !== null && dtype.category < 2) {
    throw new TypeError(
      `nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=${String(dtype)}`,
    );
  }
  convertAll(module, (t) => {
    const d = dtype !== null && t.dtype.category >= 2 ? dtype : t.dtype;
    return device === null ? t.to(d) : t.to(device, { dtype: d, nonBlocking: c.nonBlocking === true });
  });
  return module;
}

export function convertAll(module: Registered, convert: (t: Tensor) => Tensor): void {
  for (const m of module.modules()) {
    for (const [name, p] of m._parameters) {
      if (p === null) continue;
      const data = convert(p.data);
      const grad = p._grad === null ? null : convert(p._grad.data);
      if (data.device === p.device || (data.device.computes && p.device.computes)) {
        p.data = data;
        if (p._grad !== null && grad !== null) p._grad.data = grad;
      } else {
        // Without bytes, or with some again, it is another object, as in torch.
        const moved = new Parameter(data, p.requiresGrad);
        moved.grad = grad;
        m._parameters.set(name, moved);
      }
    }
    for (const [name, b] of m._buffers) if (b !== null) m._buffers.set(name, take(convert(b)));
  }
}

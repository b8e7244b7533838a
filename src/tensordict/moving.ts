// Copies, casts and moves between devices.
import { Device, type DeviceLike, toDevice } from "../tensor/device.ts";
import { DType, dtypeByName, toDType } from "../tensor/dtype.ts";
import { Size } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { LazyLike } from "./lazy.ts";
import { applyLeaves } from "./pointwise.ts";
import { entriesOf, isNested, isNonTensor, make, stateOf, type Td } from "./state.ts";
import type { Entry } from "./types.ts";

/** What `to` understands. */
export interface ToOptions {
  device?: DeviceLike | null;
  dtype?: DType | string | null;
  batchSize?: readonly number[];
  /** Accepted for compatibility; transfers to the CPU are always complete. */
  nonBlocking?: boolean;
}

/** A copy of the tree; the tensors are copied too when `deep`. */
export function cloneTd(td: Td, deep: boolean): Td {
  if (td._kind === "lazy") {
    const lazy = td as unknown as LazyLike;
    return make.lazy(
      lazy.members.map((member) => cloneTd(member, deep)),
      lazy.stackDim,
      lazy.stackDimName,
    );
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor || isNested(entry)) entries.set(key, deep ? entry.clone() : entry);
    else entries.set(key, cloneTd(entry, deep));
  }
  return td._like(entries, stateOf(td));
}

function readTarget(target: DeviceLike | DType | ToOptions | undefined, options: ToOptions): ToOptions {
  if (target === undefined) return options;
  if (target instanceof DType) return { ...options, dtype: target };
  if (target instanceof Device) return { ...options, device: target };
  if (typeof target === "string") {
    return dtypeByName(target) === undefined ? { ...options, device: target } : { ...options, dtype: target };
  }
  return { ...options, ...target };
}

/** @torch TensorDict.to */
export function convertTd(td: Td, target: DeviceLike | DType | ToOptions | undefined, options: ToOptions): Td {
  const wanted = readTarget(target, options);
  const device = wanted.device === undefined || wanted.device === null ? null : toDevice(wanted.device);
  const dtype = wanted.dtype === undefined || wanted.dtype === null ? null : toDType(wanted.dtype);
  let result = td;
  if (dtype !== null) result = applyLeaves(result, (t) => t.to(dtype), { nested: (entry) => entry.to(dtype) });
  if (device !== null && !(result._device?.equals(device) ?? false)) result = moveTd(result, device);
  if (wanted.batchSize !== undefined) {
    result = result._like(new Map(entriesOf(result)), stateOf(result));
    result.batchSize = Size.fromList(wanted.batchSize);
  }
  return result;
}

function moveTd(td: Td, device: Device): Td {
  if (td._kind === "lazy") {
    const lazy = td as unknown as LazyLike;
    return make.lazy(
      lazy.members.map((member) => moveTd(member, device)),
      lazy.stackDim,
      lazy.stackDimName,
    );
  }
  const entries = new Map<string, Entry>();
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) entries.set(key, entry.device.equals(device) ? entry : entry.to(device));
    else if (isNested(entry)) entries.set(key, entry.to(device));
    else
      entries.set(
        key,
        isNonTensor(entry) ? entry._like(new Map(), stateOf(entry, { device })) : moveTd(entry as Td, device),
      );
  }
  return td._like(entries, stateOf(td, { device }));
}

// Where tensors of a file go: mapped on the CPU, or to a GPU through pinned memory.
import { moveMany } from "../../dispatch/moving-many.ts";
import { CPU, type Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, type Tensor } from "../../tensor/tensor.ts";
import { checkFile } from "../../tensor/values.ts";

/** Where what is read goes. */
export interface PlaceOptions {
  /** Tensors on a GPU are read through pinned memory; by default they are mapped, on the CPU. */
  device?: DeviceLike | null;
}

/** The device that was asked for. */
export function placeOf({ device }: PlaceOptions): Device {
  return device === undefined || device === null ? CPU : toDevice(device);
}

/** Tensors of a file where they are wanted. */
export function placeAll(tensors: readonly Tensor[], device: Device, op: string): Tensor[] {
  if (device === CPU) return [...tensors];
  const own = tensors.map((t) => t.numel() > 0 && t.isContiguous() && device.type === "cuda");
  const moved = moveMany(
    tensors.filter((_, i) => own[i]),
    device,
  );
  checkFile(op);
  let next = 0;
  return tensors.map((t, i) => (own[i] ? (moved[next++] as Tensor) : t.to(device)));
}

/** The same for tensors by name. */
export function placeRecord<R extends Record<string, Tensor>>(tensors: R, device: Device, op: string): R {
  if (device === CPU) return tensors;
  const names = Object.keys(tensors);
  const placed = placeAll(Object.values(tensors), device, op);
  names.forEach((name, i) => {
    (tensors as Record<string, Tensor>)[name] = placed[i] as Tensor;
  });
  return tensors;
}

/** The bytes of a storage on a device. */
export function placeStorage(storage: Storage, device: Device, op: string): Storage {
  if (device === CPU) return storage;
  if (!device.computes) return Storage.meta(storage.nbytes);
  const bytes = makeStrided(storage, 0, [storage.nbytes], [1], uint8);
  const [placed] = placeAll([bytes], device, op) as [Tensor];
  const found = placed._storage;
  // The tensor goes; whoever makes others over this storage claims it.
  found.claims--;
  return found;
}

// Where tensors of a file go: mapped on the CPU, or to a GPU through pinned memory.
import { emptyWith, isDense } from "../../dispatch/allocate.ts";
import { fillMany, isPlain, type Move } from "../../dispatch/moving-many.ts";
import { elements } from "../../dispatch/staging.ts";
import { CPU, type Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, type Tensor } from "../../tensor/tensor.ts";
import { checkFile } from "../../tensor/values.ts";
import { type GpuRead, readToGpu } from "./gpu-reads.ts";
import { fileBehind, type MappedFile } from "./mapping.ts";
import { replacedError } from "./unreplaced.ts";

/** Where what is read goes. */
export interface PlaceOptions {
  /** Tensors on a GPU are read through pinned memory; by default they are mapped, on the CPU. */
  device?: DeviceLike | null;
}

/** The device that was asked for. */
export function placeOf(options: PlaceOptions): Device {
  return askedDevice(options) ?? CPU;
}

/** The device that options name; null where they name none. */
export function askedDevice({ device }: PlaceOptions): Device | null {
  return device === undefined || device === null ? null : toDevice(device);
}

/** Tensors on their way from a file, or from memory, to a GPU. */
class Arrivals {
  private readonly made: Tensor[] = [];
  private readonly reads: GpuRead[] = [];
  private readonly files = new Set<MappedFile>();
  private readonly moves: Move[] = [];

  constructor(private readonly device: Device) {}

  /** The tensor's place there; its bytes come with `finish`. */
  add(t: Tensor): Tensor {
    const whole = t._numel > 0 && t._bits === 0 && isDense(t._shape, t._strides);
    const to = whole ? emptyWith(t._shape, t._strides, t.dtype, this.device) : t.to(this.device);
    this.made.push(to);
    const file = whole ? fileBehind(t._storage) : null;
    if (file !== null) {
      this.files.add(file);
      this.reads.push({ to, path: file.path as string, offset: file.offsetOf(t._address()) });
    } else if (whole) this.moves.push({ to: flat(to), from: flat(t) });
    return to;
  }

  finish(op: string): void {
    try {
      readToGpu(this.reads, this.device);
    } finally {
      this.requireSame();
    }
    fillMany(this.moves);
    checkFile(op);
  }

  /** The mapped file is there as long as its mapping, but another one may have its name: whatever was read is wrong. */
  private requireSame(): void {
    for (const file of this.files) if (!file.isAt(file.path as string)) throw replacedError(file.path as string);
  }

  /** Gives back what was taken on the device. */
  drop(): void {
    for (const t of this.made) t.dispose();
  }
}

/** The elements of a dense tensor in the order in which they lie in memory. */
function flat(t: Tensor): Tensor {
  return isPlain(t) ? t : elements(t._storage, t._offset, t._numel, t.dtype);
}

/** Tensors of a file where they are wanted. What was mapped from it must be as it is there. */
export function placeAll(tensors: readonly Tensor[], device: Device, op: string): Tensor[] {
  if (device === CPU) return [...tensors];
  if (device.type !== "cuda") return tensors.map((t) => t.to(device));
  const arrivals = new Arrivals(device);
  try {
    const placed = tensors.map((t) => arrivals.add(t));
    arrivals.finish(op);
    return placed;
  } catch (error) {
    arrivals.drop();
    throw error;
  }
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

/** The bytes of a storage on a device, as the file has them or, where somebody else had it, as they are by now. */
export function placeStorage(storage: Storage, device: Device, op: string, asInFile = true): Storage {
  if (device === CPU) return storage;
  if (!device.computes) return Storage.meta(storage.nbytes);
  const bytes = makeStrided(storage, 0, [storage.nbytes], [1], uint8);
  const [placed] = asInFile ? placeAll([bytes], device, op) : [bytes.to(device)];
  const found = (placed as Tensor)._storage;
  // The tensors go; whoever makes others over these storages claims them.
  found.claims--;
  storage.claims--;
  return found;
}

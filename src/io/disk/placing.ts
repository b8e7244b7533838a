// Where tensors of a file go: mapped on the CPU, or to a GPU through pinned memory.
import { emptyWith, isDense } from "../../dispatch/allocate.ts";
import { fillMany, isPlain, type Move } from "../../dispatch/moving-many.ts";
import { elements } from "../../dispatch/staging.ts";
import { CPU, type Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { checkFile } from "../../tensor/values.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import type { BackgroundOptions } from "./file-jobs.ts";
import { type GpuRead, readingToGpu } from "./gpu-reads.ts";
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

  /** The tensor's place there; its bytes come with `finishing`. */
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

  *finishing(op: string, options: BackgroundOptions): Steps<void> {
    try {
      yield* readingToGpu(this.reads, this.device, options);
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
export function* placing(
  tensors: readonly Tensor[],
  device: Device,
  op: string,
  options: BackgroundOptions = {},
): Steps<Tensor[]> {
  if (device === CPU) return [...tensors];
  if (device.type !== "cuda") return tensors.map((t) => t.to(device));
  const arrivals = new Arrivals(device);
  try {
    const placed = tensors.map((t) => arrivals.add(t));
    yield* arrivals.finishing(op, options);
    return placed;
  } catch (error) {
    arrivals.drop();
    throw error;
  }
}

/** The same at once. */
export function placeAll(tensors: readonly Tensor[], device: Device, op: string): Tensor[] {
  return runSteps(placing(tensors, device, op));
}

/** The same for tensors by name. */
export function* placingRecord<R extends Record<string, Tensor>>(
  tensors: R,
  device: Device,
  op: string,
  options: BackgroundOptions = {},
): Steps<R> {
  if (device === CPU) return tensors;
  const names = Object.keys(tensors);
  const placed = yield* placing(Object.values(tensors), device, op, options);
  names.forEach((name, i) => {
    (tensors as Record<string, Tensor>)[name] = placed[i] as Tensor;
  });
  return tensors;
}

/** The same at once. */
export function placeRecord<R extends Record<string, Tensor>>(tensors: R, device: Device, op: string): R {
  return runSteps(placingRecord(tensors, device, op));
}

/** All bytes of a storage, without ties to it. */
const bytesOf = (storage: Storage): Tensor => elements(storage, 0, storage.nbytes, uint8);

/** Storages of a file on their way to devices: each has its place at once, and its bytes when all are known. */
export class StoragePlaces {
  private readonly arrivals = new Map<Device, Arrivals>();
  private readonly placed: Storage[] = [];

  place(storage: Storage, device: Device): Storage {
    if (device === CPU) return storage;
    if (!device.computes) return Storage.meta(storage.nbytes);
    let arrivals = this.arrivals.get(device);
    if (arrivals === undefined) this.arrivals.set(device, (arrivals = new Arrivals(device)));
    const found = arrivals.add(bytesOf(storage))._storage;
    this.placed.push(found);
    return found;
  }

  *finishing(op: string, options: BackgroundOptions): Steps<void> {
    for (const arrivals of this.arrivals.values()) yield* arrivals.finishing(op, options);
    // The tensors go; whoever made others over these storages claimed them.
    for (const storage of this.placed) storage.claims--;
  }

  /** Gives back what was taken on the devices. */
  drop(): void {
    for (const arrivals of this.arrivals.values()) arrivals.drop();
  }
}

/** What a storage holds by now, on another device. */
export function movedStorage(storage: Storage, device: Device): Storage {
  if (device === CPU) return storage;
  if (!device.computes) return Storage.meta(storage.nbytes);
  const found = bytesOf(storage).to(device)._storage;
  found.claims--;
  return found;
}

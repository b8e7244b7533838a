/** What the kinds of devices do for tensors: bytes for results, kernels, copies from and to others. */
import * as texts from "../../generated/texts.ts";
import { frameAddress } from "../ffi/frame.ts";
import type { Device } from "../tensor/device.ts";
import { Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** A kernel as a device sees it. */
export interface Launchable {
  /** Its place in the native library's list. */
  readonly id: number;
  /** `family.name` */
  readonly path: string;
  /** The call on the CPU, which reads the frame. */
  readonly call: (frame: number) => number;
}

/** One kind of device. The cuda room installs its own. */
export interface Backend {
  /** Its kernels draw random numbers by themselves, from the states of its own generators. */
  readonly draws?: boolean;
  /** Kernels of images read and write short floats themselves, and products are worth the windows of convolutions. */
  readonly readsShort?: boolean;
  /** Fresh bytes, not cleared. */
  allocate(nbytes: number, device: Device): Storage;
  /**
   * Runs a kernel, now or later, on what the frame says; who runs it later takes that as a value first. Gives the
   * status as far as it is known; what a kernel answers beside its results (a count, a wrong index) goes into the
   * frame's detail.
   */
  launch(kernel: Launchable, device: Device): number;
  /**
   * The bytes of a tensor on another device: both have one dtype and shape, are row-major and have no flag bits.
   * The CPU leaves it to the source's backend. `later`: nobody waits for it, if the CPU's side is in pinned memory.
   */
  copy(dst: Tensor, src: Tensor, later?: boolean): void;
}

const cpu: Backend = {
  allocate: (nbytes) => Storage.allocate(nbytes),
  launch: (kernel) => kernel.call(frameAddress()),
  copy: (dst, src, later) => backendOf(src._storage.device).copy(dst, src, later),
};

/** Shapes without bytes: whoever has work for a kernel looked at `hasWork` before. */
const meta: Backend = {
  allocate: (nbytes) => Storage.meta(nbytes),
  launch(kernel) {
    throw texts.launchedOnMeta(undefined, kernel.path);
  },
  copy() {
    throw texts.copyFromMeta(undefined);
  },
};

export const backends: { cpu: Backend; meta: Backend; cuda: Backend | null } = { cpu, meta, cuda: null };

export function backendOf(device: Device): Backend {
  const found = backends[device.type];
  if (found === null) throw texts.noCudaSupport(undefined);
  return found;
}

/** False where nothing remains to be computed: no elements, or a device that has shapes only. */
export function hasWork(t: Tensor): boolean {
  return t._numel > 0 && t._storage.device.computes;
}

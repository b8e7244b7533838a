/** What the kinds of devices do for tensors: bytes for results, kernels, copies from and to others. */
import * as texts from "../../generated/texts.ts";
import { frameAddress } from "../ffi/frame.ts";
import { type Device, META } from "../tensor/device.ts";
import { Storage } from "../tensor/storage.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** A kernel as a device sees it. */
export interface Launchable {
  /** `family.name` */
  readonly path: string;
  /** The call on the CPU, which reads the frame. */
  readonly call: (frame: number) => number;
}

/** One kind of device. The cuda room installs its own. */
export interface Backend {
  /** Fresh bytes, not cleared. */
  allocate(nbytes: number, device: Device): Storage;
  /** Runs a kernel on the frame that was written; gives its status. */
  launch(kernel: Launchable, device: Device): number;
  /** dst[...] = src where the two are on different devices. The CPU leaves that to the source's backend. */
  copy(dst: Tensor, src: Tensor, op: string): void;
}

const cpu: Backend = {
  allocate: (nbytes) => Storage.allocate(nbytes),
  launch: (kernel) => kernel.call(frameAddress()),
  copy: (dst, src, op) => backendOf(src._storage.device).copy(dst, src, op),
};

/** Shapes without bytes: whoever has work for a kernel looked at `hasWork` before. */
const meta: Backend = {
  allocate: (nbytes) => Storage.meta(nbytes),
  launch(kernel) {
    throw texts.launchedOnMeta(undefined, kernel.path);
  },
  copy(dst, _src, op) {
    if (dst._storage.device !== META) throw texts.copyFromMeta(op);
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

// A device that does not exist: its memory is the host's, its kernels are the CPU's, and it watches. Every launch gets
// the call as a value only: the frame is overwritten before the kernel runs on what was handed over.
import { K } from "../../generated/kernels.ts";
import { type Backend, backends, type Launchable } from "../../src/dispatch/backend.ts";
import { attention, DEVICES } from "../../src/ffi/attention.ts";
import * as frame from "../../src/ffi/frame.ts";
import { addressOf, allocateBlock, copyBytes, ownBlock } from "../../src/ffi/memory.ts";
import { type Device, deviceChecks, toDevice } from "../../src/tensor/device.ts";
import { Storage } from "../../src/tensor/storage.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";

export interface Watched {
  readonly device: Device;
  storage(bytes: Uint8Array): Storage;
  /** What happened since the last call of this: kernels launched here and on the CPU, operands from elsewhere. */
  take(): Seen;
  remove(): void;
}

export interface Seen {
  launches: number;
  allocations: number;
  copies: number;
  /** Kernels that ran on the CPU. */
  elsewhere: string[];
  /** Kernels with an operand that is not in this device's memory, or has no shape. */
  strangers: string[];
}

const nothing = (): Seen => ({ launches: 0, allocations: 0, copies: 0, elsewhere: [], strangers: [] });

/** Numbers that nobody wrote: a kernel that reads what it was not given fails. */
function scramble(): void {
  frame.begin(8, 77);
  for (let i = 0; i < 8; i++) frame.operand(i, 8, 77, [3, 5, 7], [11, 13, 17], 0);
  for (let i = 0; i < 32; i++) frame.attr(i, 1e300);
  for (let i = 0; i < 32; i++) frame.scratchFloat(i, Number.NaN, Number.NaN);
}

/** Writes a call that was handed over as a value. */
function rewrite(call: frame.FrameValue): void {
  frame.begin(call.operands.length, call.compute);
  call.operands.forEach((o, i) => {
    let { data } = o;
    if (o.number !== null) {
      data = frame.scratchInt(i, 0n);
      copyBytes(data, addressOf(o.number), o.number.length);
    }
    frame.operand(i, data, o.dtype, o.shape, o.strides, o.flags);
  });
  call.attributes.forEach((x, i) => void frame.attr(i, x));
  if (call.sequential) frame.oneByOne();
}

/** Reports every call of a kernel on the CPU, until the function that it gives is called. */
function watchKernels(report: (path: string) => void): () => void {
  const kernels = Object.values(K) as { path: string; call: (at: number) => number; fast: unknown }[];
  const kept = kernels.map(({ call, fast }) => ({ call, fast }));
  for (const k of kernels) {
    const { call, fast } = k;
    k.call = (at) => {
      report(k.path);
      return call(at);
    };
    if (typeof fast === "function") {
      k.fast = (...args: number[]) => {
        report(k.path);
        return fast(...args);
      };
    }
  }
  return () => kernels.forEach((k, i) => void Object.assign(k, kept[i]));
}

/** Puts the device where CUDA would be. */
export function installMadeUpDevice(): Watched {
  const checks = deviceChecks.cuda;
  deviceChecks.cuda = () => {};
  const device = toDevice("cuda:0");
  const blocks = new Set<Storage>();
  let seen = nothing();
  let running = false;

  const allocate = (nbytes: number): Storage => {
    seen.allocations++;
    attention.bits |= DEVICES;
    const address = nbytes === 0 ? 0 : allocateBlock(nbytes);
    const s = new Storage(address, nbytes, nbytes === 0 ? null : ownBlock(address, nbytes), "heap", device);
    blocks.add(s);
    return s;
  };
  const isOurs = (data: number): boolean =>
    data === 0 || [...blocks].some((s) => data >= s.address && data <= s.address + s.nbytes);

  const backend: Backend = {
    allocate,
    launch(kernel: Launchable): number {
      const call = frame.frameValue();
      seen.launches++;
      const strange = (o: frame.OperandValue) => (o.number === null && !isOurs(o.data)) || o.shape.some((n) => n < 0);
      if (call.operands.some(strange)) seen.strangers.push(kernel.path);
      scramble();
      rewrite(call);
      running = true;
      try {
        return kernel.call(frame.frameAddress());
      } finally {
        running = false;
      }
    },
    copy(dst: Tensor, src: Tensor): void {
      seen.copies++;
      copyBytes(dst._address(), src._address(), dst.nbytes);
    },
  };
  backends.cuda = backend;

  const unwatch = watchKernels((path) => void (running || seen.elsewhere.push(path)));
  return {
    device,
    storage(bytes) {
      const s = allocate(bytes.length);
      if (bytes.length > 0) copyBytes(s.ptr, addressOf(bytes.slice()), bytes.length);
      return s;
    },
    take() {
      const last = seen;
      seen = nothing();
      blocks.clear();
      return last;
    },
    remove() {
      backends.cuda = null;
      deviceChecks.cuda = checks;
      unwatch();
    },
  };
}

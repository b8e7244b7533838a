/** A kernel of the native library, and what its statuses mean. */

import { IndexDetail, STATUS } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import { detail, frameAddress } from "../ffi/frame.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { fileFault } from "../tensor/values.ts";
import { backendOf } from "./backend.ts";

export class Kernel {
  /** Its place in the native library's list. */
  readonly id: number;
  /** `family.name` */
  readonly path: string;
  /** The call that reads the frame. */
  readonly call: (frame: number) => number;
  /** The call with addresses and a count, when there is one. */
  readonly fast: ((...args: number[]) => number) | null;
  /** Bit c is set when `fast` takes compute type c. */
  readonly fastMask: number;

  constructor(
    id: number,
    path: string,
    call: (frame: number) => number,
    fast: ((...args: number[]) => number) | null,
    fastMask: number,
  ) {
    this.id = id;
    this.path = path;
    this.call = call;
    this.fast = fast;
    this.fastMask = fastMask;
  }

  /** Runs on the frame that was written, where its operands are; gives the status. */
  launch(device: Device): number {
    return device === CPU ? this.call(frameAddress()) : backendOf(device).launch(this, device);
  }

  /** The same; a status other than ok throws. */
  run(device: Device, op: string, scalarType = ""): void {
    const status = this.launch(device);
    if (status !== 0) throwStatus(status, op, this.path, scalarType);
  }
}

/** The error of a status, in torch's words. */
export function throwStatus(status: number, op: string, path: string, scalarType: string): never {
  switch (status) {
    case STATUS.out_of_memory:
      throw texts.noWorkMemory(op);
    case STATUS.unsupported:
      throw texts.notImplementedFor(op, `${path.split(".")[1]}_cpu`, scalarType);
    case STATUS.index_out_of_bounds: {
      const { index, dim, size } = IndexDetail;
      throw texts.indexOutOfBounds(op, detail(index), detail(dim), detail(size));
    }
    case STATUS.zero_division:
      throw texts.zeroDivision(op);
    case STATUS.negative_power:
      throw texts.negativePowers(op);
    case STATUS.file_fault:
      throw fileFault(op) ?? texts.mappedFileShorter(op);
    default:
      throw texts.nativeCallFailed(op, status);
  }
}

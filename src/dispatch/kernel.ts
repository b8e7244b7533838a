/** Kernels of the native library, and what their statuses mean. */

import { IndexDetail, STATUS } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import { detail, frameAddress } from "../ffi/frame.ts";
import { openKernel } from "../ffi/library.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { fileFault } from "../tensor/values.ts";
import { backendOf } from "./backend.ts";

type Call = (...args: number[]) => number;

/** A kernel. Its functions are opened when it is first called: most programs call few of them. */
export class Kernel {
  /** Its place in the native library's list. */
  readonly id: number;
  /** `family.name` */
  readonly path: string;
  /** Bit c is set when `fast` takes compute type c. */
  readonly fastMask: number;
  /** How many operands `fast` takes. */
  private readonly arity: number;
  private opened: Call | null = null;
  private openedFast: Call | null | undefined;

  constructor(id: number, path: string, arity: number, fastMask: number) {
    this.id = id;
    this.path = path;
    this.arity = arity;
    this.fastMask = fastMask;
    this.openedFast = fastMask === 0 ? null : undefined;
  }

  /** The call that reads the frame. */
  get call(): Call {
    return this.opened ?? this.open();
  }
  set call(given: Call) {
    this.opened = given;
  }

  /** The call with addresses and a count, when there is one. */
  get fast(): Call | null {
    if (this.openedFast === undefined) this.open();
    return this.openedFast as Call | null;
  }
  set fast(given: Call | null) {
    this.openedFast = given;
  }

  private open(): Call {
    const [call, fast] = openKernel(`zs_k_${this.path.replace(".", "_")}`, this.fastMask === 0 ? null : this.arity);
    this.opened ??= call;
    this.openedFast ??= fast;
    return this.opened;
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

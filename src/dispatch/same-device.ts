/** The operands of one call lie on one device. Generated operators ask once there are tensors on several. */
import * as texts from "../../generated/texts.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { Tensor } from "../tensor/tensor.ts";

type Operands = readonly unknown[];

/** Single elements on the CPU stand for numbers: kernels of every device take them. */
const standsForNumber = (t: Tensor): boolean => t._shape.length === 0 && t._storage.device === CPU;

function tensorsOf(operands: Operands): Tensor[] {
  return operands.flat().filter((x) => x instanceof Tensor);
}

/** The device of the first operand that is no number, of numbers alone the CPU. */
export function commonDevice(tensors: readonly Tensor[]): Device {
  return tensors.find((t) => !standsForNumber(t))?.device ?? CPU;
}

/**
 * Refuses operands of several devices. `written` are results that the caller gave; `indices` may also be on the CPU,
 * whatever they index.
 */
export function requireSameDevice(
  op: string,
  operands: Operands,
  written: Operands = [],
  indices: Operands = [],
): void {
  const inputs = tensorsOf(operands);
  const common = commonDevice(inputs);
  const refuse = (t: Tensor): never => {
    throw texts.differentDevices(op, common.toString(), t.device.toString());
  };
  for (const t of inputs) if (t.device !== common && !standsForNumber(t)) refuse(t);
  for (const t of tensorsOf(written)) if (t.device !== common) refuse(t);
  for (const t of tensorsOf(indices)) if (t.device !== common && t.device !== CPU) refuse(t);
}

/** What constructors of modules share: trailing options, and new parameters. */
import { checkSizes, empty } from "../dispatch/allocate.ts";
import { namedArguments } from "../tensor/checks.ts";
import { type DeviceLike, defaultDevice, toDevice } from "../tensor/device.ts";
import { type DTypeLike, getDefaultDtype, toDType } from "../tensor/dtype.ts";
import { Parameter } from "./parameter.ts";
import { CONSTRUCTORS } from "./signatures.ts";

/** Where the parameters of a new module live, and their dtype. */
export interface Placement {
  /** Where the parameters are. */
  device?: DeviceLike | null;
  /** The parameters' dtype. */
  dtype?: DTypeLike | null;
}

/** All arguments of a constructor by name: those given in their places or in one trailing object, and the defaults. */
export function settings<T extends object>(
  name: keyof typeof CONSTRUCTORS,
  given: readonly unknown[],
  defaults: Partial<T>,
): T {
  const named = namedArguments(name, CONSTRUCTORS[name], given);
  for (const [key, value] of Object.entries(named)) if (value === undefined) delete named[key];
  return { ...defaults, ...named } as T;
}

/** A parameter whose elements are still to be set. */
export function newParameter(shape: readonly number[], where: Placement): Parameter {
  checkSizes(shape, "empty");
  const dtype = where.dtype === undefined || where.dtype === null ? getDefaultDtype() : toDType(where.dtype);
  const device = where.device === undefined || where.device === null ? null : toDevice(where.device);
  return new Parameter(empty(shape, dtype, device ?? defaultDevice()));
}

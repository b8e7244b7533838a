/** What constructors of modules share: trailing options, and new parameters. */
import * as texts from "../../generated/texts.ts";
import { empty } from "../dispatch/allocate.ts";
import { type DeviceLike, toDevice } from "../tensor/device.ts";
import { type DTypeLike, getDefaultDtype, toDType } from "../tensor/dtype.ts";
import { TypeError } from "../tensor/errors.ts";
import { Parameter } from "./parameter.ts";

/** Where the parameters of a new module live, and their dtype. */
export interface Placement {
  device?: DeviceLike | null | undefined;
  dtype?: DTypeLike | null | undefined;
}

/** Positional arguments that may also be given by name in one trailing object. */
export function settings<T extends object>(
  name: string,
  given: readonly unknown[],
  names: readonly (keyof T & string)[],
  defaults: T,
): T {
  const out = { ...defaults } as Record<string, unknown>;
  const last = given[given.length - 1];
  const isOptions = typeof last === "object" && last !== null && Object.getPrototypeOf(last) === Object.prototype;
  const positional = isOptions ? given.slice(0, -1) : given;
  positional.forEach((value, i) => {
    const key = names[i];
    if (key === undefined) throw new TypeError(`${name}() takes at most ${names.length} optional arguments`);
    if (value !== undefined) out[key] = value;
  });
  if (isOptions) {
    for (const [key, value] of Object.entries(last as object)) {
      if (!(key in defaults)) throw texts.unknownKeyword(name, name, key);
      if (value !== undefined) out[key] = value;
    }
  }
  return out as T;
}

/** A parameter whose elements are still to be set. */
export function newParameter(shape: readonly number[], where: Placement): Parameter {
  const dtype = where.dtype === undefined || where.dtype === null ? getDefaultDtype() : toDType(where.dtype);
  const device = where.device === undefined || where.device === null ? null : toDevice(where.device);
  return new Parameter(empty(shape, dtype, device?.type === "meta"));
}

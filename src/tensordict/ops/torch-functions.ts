// Functions of tensors that are called on collections: they do what the method of the same name does, or work on every
// tensor by itself.
import type { Again, FunctionTaker } from "../../dispatch/arguments.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isTensorCollection, type Td, toDeviceOrNull } from "../core/state.ts";
import { LOSSES, METHODS, MODELLED, OF_BOTH } from "../core/torch-names.ts";
import type { NestedKey } from "../core/types.ts";
import type { Alternative } from "./choosing.ts";
import { type ApplyOptions, applyLeaves, elementwiseTd, type Operand } from "./pointwise.ts";
import { isinTd } from "./sets.ts";

type Options = Record<string, unknown> | null;

/** Null stands for what is not given; a dimension that is not given is left out. */
function given(options: Options): Record<string, unknown> {
  return Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== null));
}

/** How a collection after the model of another is made: of the device that is named, and of none where that is null. */
function modelled(options: Options): ApplyOptions {
  if (options === null || options.device === undefined) return { propagateLock: true };
  const device = toDeviceOrNull(options.device as DeviceLike | null);
  if (device === null) return { propagateLock: true, device };
  return { propagateLock: true, device, values: (entry) => entry.to(device) as Td };
}

function loss(td: Td, target: unknown, rest: readonly unknown[], options: Options, again: Again): unknown {
  const reduction = options?.reduction ?? "mean";
  if (!["none", "mean", "sum"].includes(reduction as string)) {
    throw new ValueError(`Invalid reduction mode: ${reduction}. Expected one of 'none', 'mean', 'sum'.`);
  }
  const one = (t: Tensor, _path: readonly string[], [other]: readonly unknown[]) =>
    again(t, other, ...rest, { ...given(options), reduction }) as Tensor;
  return applyLeaves(td, one, reduction === "none" ? {} : { batchSize: [] }, [target as Td]);
}

function isinOn(td: Td, reference: Td, rest: readonly unknown[], named: Record<string, unknown>): Tensor {
  const [key = named.key, dim = named.dim] = rest;
  return isinTd(td, reference, key as NestedKey, dim as number | undefined);
}

/** Calls on collections, for `setFunctionTaker`. */
export const ON_COLLECTIONS: FunctionTaker = {
  takes: isTensorCollection,
  call(name, args, options, again) {
    const list = [...args];
    const named = given(options);
    // The receiver may be given by its name.
    if (list.length === 0) {
      list.push(named.self ?? named.input);
      delete named.self;
      delete named.input;
    }
    const [first, second, ...rest] = list;
    const tail = Object.keys(named).length === 0 ? [] : [named];
    if (isTensorCollection(first)) {
      const td = first as Td & Record<string, (...values: unknown[]) => unknown>;
      if (MODELLED.has(name)) {
        return applyLeaves(td, (t) => again(t, ...list.slice(1), ...tail) as Tensor, modelled(options));
      }
      if (LOSSES.has(name)) {
        const { target = second, ...others } = named;
        return loss(td, target, rest, others, again);
      }
      if (name === "isin" && isTensorCollection(second)) return isinOn(td, second, rest, named);
      return METHODS.has(name) ? td[name]?.(...list.slice(1), ...tail) : undefined;
    }
    if (name === "where" && first instanceof Tensor) {
      const [a, b] = [second, rest[0]];
      if (isTensorCollection(a)) return a.where(first, b as Alternative, named);
      return isTensorCollection(b) ? b.where(first.logicalNot(), a as Alternative, named) : undefined;
    }
    if (!OF_BOTH.has(name) || !isTensorCollection(second)) return undefined;
    const both = (t: Tensor, [value]: readonly unknown[]) => again(value, t, ...tail) as Tensor;
    return elementwiseTd(second, [first as Operand], both, { propagateLock: true });
  },
};

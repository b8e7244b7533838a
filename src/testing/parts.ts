// What the library's objects are made of, as plain objects: what a comparison compares, and what a text tells.

import { TypedStorage } from "../api/typed-storage.ts";
import { Generator } from "../dispatch/generator.ts";
import { Module } from "../nn/module.ts";
import { Device } from "../tensor/device.ts";
import { DType } from "../tensor/dtype.ts";
import { UntypedStorage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { NestedTensor } from "../tensordict/core/nested.ts";
import { Collection, entriesOf, isNonTensor, isStack, isTensorCollection, type Td } from "../tensordict/core/state.ts";

/** Objects of the library that test runners cannot look into. */
export type Own = Tensor | Collection | Module | UntypedStorage | TypedStorage | Generator | DType | Device;

/** Those that are not one thing. */
export type Composed = Exclude<Own, Tensor | DType | Device>;

export function isOwn(value: unknown): value is Own {
  if (typeof value === "function") return value instanceof Module;
  return (
    value instanceof Tensor ||
    value instanceof Collection ||
    value instanceof UntypedStorage ||
    value instanceof TypedStorage ||
    value instanceof Generator ||
    value instanceof DType ||
    value instanceof Device
  );
}

type Parts = Record<string, unknown>;

const level = (td: Td): Parts => ({
  batchSize: [...td.batchSize],
  device: td.device === null ? null : String(td.device),
  names: td.names.some((name) => name !== null) ? td.names : null,
});

/** Attributes of a module that are registered nowhere. */
function attributes(module: Module): Parts {
  const registered = [module._parameters, module._buffers, module._modules];
  const kept = Object.entries(module).filter(([name]) => !registered.some((register) => register.has(name)));
  return Object.fromEntries(kept);
}

function partsOfModule(module: Module): Parts {
  const { _parameters, _buffers, _modules } = module;
  const plain = attributes(module);
  return { ...plain, ...Object.fromEntries([..._parameters, ..._buffers, ..._modules]) };
}

function partsOfCollection(td: Td): Parts {
  if (isNonTensor(td)) return { ...level(td as Td), data: td._kind === "nonTensor" ? td.value_ : td.tolist() };
  if (!isStack(td)) return { ...level(td), fields: Object.fromEntries(entriesOf(td)) };
  try {
    return { ...level(td), fields: Object.fromEntries(entriesOf(td)) };
  } catch {
    // Members whose entries do not stack.
    return { ...level(td), members: [...td.members] };
  }
}

/** What an object other than a tensor is made of. */
export function partsOf(own: Composed): Parts {
  if (own instanceof Module) return partsOfModule(own);
  if (own instanceof NestedTensor) return { dtype: String(own.dtype), components: own.unbind() };
  if (isTensorCollection(own)) return partsOfCollection(own);
  if (own instanceof Generator) return { device: String(own.device), state: own.getState() };
  if (own instanceof TypedStorage) return { dtype: String(own.dtype), device: String(own.device), data: own.tolist() };
  const storage = own as UntypedStorage;
  return { device: String(storage.device), bytes: storage.tolist() };
}

/** The parts of two objects, in the same form. */
export function partsOfBoth(a: Composed, b: Composed): [Parts, Parts] {
  if (isTensorCollection(a) && isTensorCollection(b)) {
    if (isNonTensor(a) && isNonTensor(b) && a._kind !== b._kind) {
      const values = (td: typeof a) => ({ ...level(td as Td), data: td.tolist() });
      return [values(a), values(b)];
    }
    if (isStack(a) && isStack(b) && a.stackDim === b.stackDim && !isNonTensor(a)) {
      const members = (td: typeof a) => ({ ...level(td as Td), members: [...td.members] });
      return [members(a), members(b as typeof a)];
    }
  }
  return [partsOf(a), partsOf(b)];
}

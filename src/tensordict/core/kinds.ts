// Kinds of arguments that only this room has.
import * as texts from "../../../generated/texts.ts";
import { Module } from "../../nn/module.ts";
import { isDict, isNumber, type RoomKinds } from "../../tensor/checks.ts";
import { DType, isDTypeName } from "../../tensor/dtype.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { isSource } from "./convert.ts";
import { keyPath } from "./keys.ts";
import { isNested, isTensorCollection } from "./state.ts";

const isTds = (value: unknown) => Array.isArray(value) && value.every(isTensorCollection);

/** For src/tensor/checks.ts. */
export const TENSORDICT_KINDS: RoomKinds = {
  table: {
    td: ["TensorDict", isTensorCollection],
    tds: ["list of TensorDicts", isTds],
    tdOrTds: ["TensorDict or list of TensorDicts", (value) => isTensorCollection(value) || isTds(value)],
    tensorOrTd: ["Tensor or TensorDict", (value) => value instanceof Tensor || isTensorCollection(value)],
    source: ["TensorDict or dict", (value) => isTensorCollection(value) || isSource(value)],
    operand: [
      "TensorDict, Tensor or Number",
      (value) => isNumber(value) || value instanceof Tensor || isTensorCollection(value) || isSource(value),
    ],
    target: ["a device, a dtype, a Tensor or a TensorDict", (value) => !isDict(value)],
    fallback: (op, name, value) => {
      if (value === "intersection" || isNumber(value) || value instanceof Tensor) return;
      const got = typeof value === "string" ? `'${value}'` : typeName(value);
      throw texts.wrongArgument(op, op, name, "Tensor, Number or 'intersection'", got);
    },
    boolOrKeys: (op, name, value) => {
      if (typeof value === "boolean" || Array.isArray(value)) return;
      throw texts.wrongArgument(op, op, name, "bool or list of keys", typeName(value));
    },
    dimOrFeature: (op, name, value) => {
      const ints = Array.isArray(value) ? value : [value];
      if (value === "feature" || ints.every(Number.isSafeInteger)) return;
      const got = typeof value === "string" ? `'${value}'` : typeName(value);
      throw texts.wrongArgument(op, op, name, "int, list of ints or 'feature'", got);
    },
    keySet: (op, name, value) => {
      if (typeof value === "function" || isDict(value)) return;
      if (value instanceof Map) for (const key of value.keys()) keyPath(key);
      else if (Array.isArray(value)) for (const key of value) keyPath(key);
      else throw texts.wrongArgument(op, op, name, "list of keys, Map of names or function", typeName(value));
    },
    mapFunction: [
      "a function or { module, name }",
      (value) => typeof value === "function" || (isDict(value) && "module" in (value as object)),
    ],
    moduleLike: ["Module", isModule],
    nested: ["NestedTensor", isNested],
    sizeOrDtype: [
      "int, list of ints or dtype",
      (value) =>
        Number.isSafeInteger(value) ||
        (Array.isArray(value) && value.every(Number.isSafeInteger)) ||
        value instanceof DType ||
        (typeof value === "string" && isDTypeName(value)),
    ],
    record: ["an object", (value) => typeof value === "object" && value !== null && !Array.isArray(value)],
    fnOrMap: ["function, dict or Map", (value) => typeof value === "function" || isDict(value) || value instanceof Map],
    map: ["dict or Map", (value) => isDict(value) || value instanceof Map],
    keyList: (op, name, value) => {
      if (typeof value === "string") return;
      if (!Array.isArray(value)) throw texts.wrongArgument(op, op, name, "list of keys", typeName(value));
      for (const key of value) keyPath(key);
    },
    key: (_op, _name, value) => void keyPath(value as string),
    keys: (op, name, value) => {
      if (!Array.isArray(value)) throw texts.wrongArgument(op, op, name, "list of keys", typeName(value));
      for (const key of value) keyPath(key);
    },
  },
  alsoObjects: ["map", "record", "source", "operand", "moduleLike", "mapFunction", "key", "keySet"],
};

function isModule(value: unknown): boolean {
  if (value instanceof Module) return true;
  if (typeof value !== "object" && typeof value !== "function") return false;
  const { _parameters, _buffers, _modules } = (value ?? {}) as Record<string, unknown>;
  return [_parameters, _buffers, _modules].every((slots) => typeof slots === "object" && slots !== null);
}

// Kinds of arguments that only this room has.
import { isDict, type RoomKinds } from "../../tensor/checks.ts";
import { UnknownArray } from "./unknown-array.ts";

function haveMethods(value: unknown, names: readonly string[]): boolean {
  const has = (one: unknown, name: string) => typeof (one as Record<string, unknown> | null)?.[name] === "function";
  return isDict(value) && Object.values(value).every((one) => names.every((name) => has(one, name)));
}

const isNamed = (value: unknown) => isDict(value) || value instanceof Map;

/** For src/tensor/checks.ts. */
export const IO_KINDS: RoomKinds = {
  table: {
    h5wasm: ["the module h5wasm", (value) => typeof value === "object" && "File" in (value as object)],
    named: ["dict of Tensors", isNamed],
    namedOrList: ["dict or list of Tensors", (value) => isNamed(value) || Array.isArray(value)],
    unknownArray: ["UnknownArray", (value) => value instanceof UnknownArray],
    saved: ["dict of objects with stateDict()", (value) => haveMethods(value, ["stateDict"])],
    restored: [
      "dict of objects with stateDict() and loadStateDict()",
      (value) => haveMethods(value, ["stateDict", "loadStateDict"]),
    ],
  },
  alsoObjects: ["h5wasm", "named", "namedOrList", "saved", "restored", "unknownArray"],
};

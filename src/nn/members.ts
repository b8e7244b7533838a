/** What the modules of a tree have registered, each tensor once. */
import { KeyError, TypeError } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { typeName } from "../tensor/type-name.ts";
import type { Registered } from "./registers.ts";

/** The tensors that modules have registered in one of their registers, with their paths. */
export function members(
  modules: readonly (readonly [string, Registered])[],
  register: "_parameters" | "_buffers",
  removeDuplicate: boolean,
): [string, Tensor][] {
  const seen = new Set<Tensor>();
  const out: [string, Tensor][] = [];
  for (const [path, module] of modules) {
    for (const [name, value] of module[register]) {
      if (value === null || seen.has(value)) continue;
      if (removeDuplicate) seen.add(value);
      out.push([path === "" ? name : `${path}.${name}`, value]);
    }
  }
  return out;
}

/** Refuses what names nothing that a module has registered. */
export function requireName(kind: string, name: unknown, got: string): void {
  if (typeof name !== "string") {
    throw new TypeError(`${kind} name should be a string. Got ${typeName(name)}`);
  }
  if (name.includes(".")) throw new KeyError(`${kind} name can't contain "."${got}`);
  if (name === "") throw new KeyError(`${kind} name can't be empty string ""`);
}

/** A module's call: hooks, `forward`, hooks. */
import { scopeState } from "../tensor/scope-state.ts";
import { callWithin, suspects } from "./hidden.ts";
import type { HookList } from "./hooks.ts";

// biome-ignore lint/suspicious/noExplicitAny: what a module takes and gives is its forward's business
type Any = any;

/** What of a module a call needs. */
interface Called {
  readonly _registers: { readonly preHooks: HookList<Any>; readonly hooks: HookList<Any> };
  forward(...args: Any[]): Any;
  modules(): readonly object[];
}

export function invoke(module: Called, given: unknown[]): unknown {
  return suspects.seen ? callWithin(module, () => called(module, given)) : called(module, given);
}

function called(module: Called, given: unknown[]): unknown {
  const { preHooks, hooks } = module._registers;
  if (scopeState.open.length > 0) scopeState.called.add(module);
  if (preHooks.size === 0 && hooks.size === 0) return module.forward(...given);
  let args: readonly unknown[] = given;
  for (const { hook } of preHooks.list()) {
    const changed = hook(module, args);
    if (changed !== undefined && changed !== null) args = Array.isArray(changed) ? changed : [changed];
  }
  const ran = new Set<number>();
  let output: unknown;
  try {
    output = module.forward(...args);
    for (const { id, hook } of hooks.list()) {
      ran.add(id);
      const changed = hook(module, args, output);
      if (changed !== undefined && changed !== null) output = changed;
    }
  } catch (error) {
    for (const { id, hook, always } of hooks.list()) if (always && !ran.has(id)) hook(module, args, undefined);
    throw error;
  }
  return output;
}

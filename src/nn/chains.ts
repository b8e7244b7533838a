/** What a chain of modules does besides calling them one after the other. */
import * as O from "../../generated/ops.ts";
import { observed } from "../dispatch/seam.ts";
import { drop } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { discreet } from "./forward-checks.ts";
import { type ReLU, reluForward, sigmoidForward, tanhForward } from "./layers.ts";
import { linearForward } from "./linear.ts";
import type { Module } from "./module.ts";

type Forward = Module["forward"];

/** The operator that writes an activation over its input, where its gradients need the result alone. */
function overwriting(forward: Forward): ((x: Tensor) => Tensor) | null {
  if (forward === reluForward) return O.relu_;
  if (forward === tanhForward) return O.tanh_;
  return forward === sigmoidForward ? O.sigmoid_ : null;
}

const hooked = ({ _registers: { preHooks, hooks } }: Module): boolean => preHooks.size > 0 || hooks.size > 0;

/**
 * Calls a module with what the module before it gave. A linear layer makes a tensor that nobody else has, and keeps
 * nothing of it for gradients: its sums are seen by nobody but the activation behind it, whose result takes their
 * place. Memory that was just written is in the processor's caches, and a fresh block is not.
 */
function callNext(module: Module, x: unknown, before: Module | null): unknown {
  if (before === null || before.forward !== linearForward || !(x instanceof Tensor)) return module(x);
  const over = overwriting(module.forward);
  if (over === null || (module as ReLU).inplace === true || hooked(before) || hooked(module)) return module(x);
  if (x.dtype.category !== 2 || x.version !== 0 || x.isView() || observed()) return module(x);
  // To everybody else the result is fresh: this writing does not count.
  x._version.value = -1;
  return over(x);
}

/** Calls modules one after the other. What one of the library's own gives to another is given back behind that. */
export function callAll(modules: Iterable<Module>, input: unknown): unknown {
  let x = input;
  let before: Module | null = null;
  let own = false;
  for (const m of modules) {
    const known = discreet.has(m.forward) && !hooked(m);
    const result = callNext(m, x, before);
    if (result === x) own = own && known;
    else {
      if (own && known && x instanceof Tensor) drop(x);
      own = known;
    }
    x = result;
    before = m;
  }
  return x;
}

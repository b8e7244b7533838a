/** What a chain of modules does besides calling them one after the other. */
import * as O from "../../generated/ops.ts";
import { observed } from "../dispatch/seam.ts";
import { drop } from "../tensor/temporaries.ts";
import { Tensor } from "../tensor/tensor.ts";
import { Dropout, LayerNorm, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh } from "./layers.ts";
import { Identity, Linear } from "./linear.ts";
import type { Module } from "./module.ts";

type Forward = Module["forward"];

/** What makes a tensor that nobody else has, and keeps nothing of it for gradients. */
let makes: Forward | null = null;
/** Activations whose gradients need the result alone, as operators that write it over their input. */
let overwriting: ReadonlyMap<Forward, (x: Tensor) => Tensor> = new Map();
/** Those that hand what they are given, and what they make, to nobody else. */
let discreet: ReadonlySet<Forward> = new Set();

/** Remembers what these modules do as they come: one that somebody changed later is not taken for them. */
export function knowForwards(): void {
  makes = Linear.prototype.forward;
  overwriting = new Map<Forward, (x: Tensor) => Tensor>([
    [ReLU.prototype.forward, O.relu_],
    [Tanh.prototype.forward, O.tanh_],
    [Sigmoid.prototype.forward, O.sigmoid_],
  ]);
  const classes = [Linear, Identity, ReLU, Tanh, Sigmoid, Softmax, LogSoftmax, Dropout, LayerNorm];
  discreet = new Set(classes.map(({ prototype }) => prototype.forward));
}

const hooked = ({ _registers: { preHooks, hooks } }: Module): boolean => preHooks.size > 0 || hooks.size > 0;

/**
 * Calls a module with what the module before it gave. The sums of a linear layer are seen by nobody but the activation
 * behind it, whose result takes their place: memory that was just written is in the processor's caches, and a fresh
 * block is not.
 */
function callNext(module: Module, x: unknown, before: Module | null): unknown {
  if (before === null || before.forward !== makes || !(x instanceof Tensor)) return module(x);
  const over = overwriting.get(module.forward);
  if (over === undefined || (module as ReLU).inplace === true || hooked(before) || hooked(module)) return module(x);
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

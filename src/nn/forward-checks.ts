// Checks of what the layers' `forward` takes.
import { inOrder } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Module } from "./module.ts";
import { FORWARD } from "./signatures.ts";

/** Puts the check before the `forward` of a class, and gives what stands there then. */
export function checkForward(layer: { prototype: Module }, name: keyof typeof FORWARD): Module["forward"] {
  const { prototype } = layer;
  const { forward } = prototype;
  const signature = FORWARD[name];
  const takesOne = signature === "input:tensor";
  prototype.forward = function (...args) {
    // One tensor is what nearly all calls give.
    const checked = takesOne && args.length === 1 && args[0] instanceof Tensor;
    return forward.apply(this, checked ? args : inOrder(`${name}.forward`, signature, args));
  };
  return prototype.forward;
}

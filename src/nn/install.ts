// Puts the checks of arguments before the methods of all modules.
import { inOrder, installChecks } from "../tensor/checks.ts";
import { Tensor } from "../tensor/tensor.ts";
import { MultiheadAttention } from "./attention.ts";
import { knowForwards } from "./chains.ts";
import { ModuleDict, ModuleList, Sequential } from "./containers.ts";
import { Dropout, LayerNorm, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh } from "./layers.ts";
import { Linear } from "./linear.ts";
import { HuberLoss, L1Loss, MSELoss, SmoothL1Loss } from "./losses.ts";
import { Module } from "./module.ts";
import { DICT, FORWARD, MODULE, ORDERED } from "./signatures.ts";

const ordered = Object.getPrototypeOf(Sequential.prototype);
for (const prototype of [ordered, Sequential.prototype]) installChecks(prototype, ORDERED);
installChecks(ModuleDict.prototype, DICT);
const losses = { HuberLoss, L1Loss, MSELoss, SmoothL1Loss };
const others = [Dropout, LayerNorm, Linear, Module, ModuleList, MultiheadAttention, ReLU, Softmax];
const classes = [...others, ...Object.values(losses)];
for (const { prototype } of classes) installChecks(prototype, MODULE);

const layers = { Dropout, LayerNorm, Linear, LogSoftmax, ReLU, Sigmoid, Softmax, Tanh, ...losses };
for (const [name, signature] of Object.entries(FORWARD)) {
  const prototype = layers[name as keyof typeof FORWARD].prototype as Module;
  const { forward } = prototype;
  prototype.forward = function (...args) {
    // One tensor is what nearly all calls give.
    const checked = args.length === 1 && args[0] instanceof Tensor && !(name in losses);
    return forward.apply(this, checked ? args : inOrder(`${name}.forward`, signature, args));
  };
}
knowForwards();

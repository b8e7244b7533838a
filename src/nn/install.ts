// Puts the checks of arguments before the methods of all modules; `forward` has none.
import { installChecks } from "../tensor/checks.ts";
import { MultiheadAttention } from "./attention.ts";
import { ModuleDict, ModuleList, Sequential } from "./containers.ts";
import { Dropout, LayerNorm, MSELoss, ReLU, Softmax } from "./layers.ts";
import { Linear } from "./linear.ts";
import { Module } from "./module.ts";
import { DICT, MODULE, ORDERED } from "./signatures.ts";

const ordered = Object.getPrototypeOf(Sequential.prototype);
for (const prototype of [ordered, Sequential.prototype]) installChecks(prototype, ORDERED);
installChecks(ModuleDict.prototype, DICT);
const classes = [Dropout, LayerNorm, Linear, Module, ModuleList, MSELoss, MultiheadAttention, ReLU, Softmax];
for (const { prototype } of classes) installChecks(prototype, MODULE);

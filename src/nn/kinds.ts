// Kinds of arguments that only this room has.
import { Generator } from "../dispatch/generator.ts";
import { isNumber, type RoomKinds } from "../tensor/checks.ts";
import { Device } from "../tensor/device.ts";
import { DType } from "../tensor/dtype.ts";
import { Tensor } from "../tensor/tensor.ts";

const isText = (value: unknown) => typeof value === "string";
const isFunction = (value: unknown) => typeof value === "function";
const isSizes = (value: unknown) => (Array.isArray(value) ? value : [value]).every(Number.isSafeInteger);
const isSizeOrNull = (value: unknown) => value === null || Number.isSafeInteger(value);
const targets = [Tensor, DType, Device];

/** Known by what no other object has, as modules are. */
const isPacked = (value: unknown) => typeof value === "object" && value !== null && "unsortedIndices" in value;

/** For src/tensor/checks.ts. */
export const NN_KINDS: RoomKinds = {
  table: {
    // Known by what every one has: the class itself takes arguments of this kind.
    module: ["Module", (value) => isFunction(value) && "_registers" in (value as object)],
    packed: ["PackedSequence", isPacked],
    tensorOrPacked: ["Tensor or PackedSequence", (value) => value instanceof Tensor || isPacked(value)],
    activation: ["str or a function", (value) => isText(value) || isFunction(value)],
    wordOrSizes: ["str or int or list of ints", (value) => isText(value) || isSizes(value)],
    numbers: ["Number or list of Numbers", (value) => (Array.isArray(value) ? value : [value]).every(isNumber)],
    sizesOrNull: [
      "int or list of ints or None",
      (value) => (Array.isArray(value) ? value : [value]).every(isSizeOrNull),
    ],
    generator: ["Generator", (value) => value instanceof Generator],
    placement: [
      "a device, a dtype or a Tensor",
      (value) => isText(value) || Number.isInteger(value) || targets.some((one) => value instanceof one),
    ],
    dtype: ["a dtype", (value) => isText(value) || value instanceof DType],
  },
};

// Kinds of arguments that only this room has.
import { isNumber, type RoomKinds } from "../tensor/checks.ts";
import { ValueError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";

/** Known by what every one has, since the classes themselves take arguments of these kinds. */
const has = (value: unknown, ...members: string[]) =>
  typeof value === "object" && value !== null && members.every((name) => name in value);

const parametersOf = (value: unknown, base: string): boolean =>
  typeof value === "function" && has((value as { prototype?: unknown }).prototype, "logProb", base);

/** For src/tensor/checks.ts. */
export const DISTRIBUTION_KINDS: RoomKinds = {
  table: {
    // torch says this of every parameter that it would broadcast.
    parameter: (_op, _name, value) => {
      if (value instanceof Tensor || isNumber(value)) return;
      throw new ValueError(
        "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__.",
      );
    },
    // torch says this of every value whose probability is asked for.
    sample: (_op, _name, value) => {
      if (!(value instanceof Tensor)) throw new ValueError("The value argument to log_prob must be a Tensor");
    },
    limit: ["Tensor or Number", (value) => value instanceof Tensor || isNumber(value)],
    constraint: ["Constraint", (value) => has(value, "check", "isDiscrete")],
    distribution: ["Distribution", (value) => has(value, "logProb", "batchShape")],
    distributionClass: ["a class of distributions", (value) => parametersOf(value, "batchShape")],
  },
};

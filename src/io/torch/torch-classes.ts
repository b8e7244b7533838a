// Classes of objects in .pt files that the rooms above know: parameters, TensorDicts.
import { later } from "../../tensor/later.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** An object as a pickle of Python's has it. */
export class TorchObject {
  constructor(
    /** Module and name of its class. */
    readonly className: string,
    /**
     * "state": an instance that receives its state; "make_td": what `tensordict._reductions._make_td` makes of it;
     * "call": what a function of that name makes of its arguments.
     */
    readonly how: "state" | "make_td" | "call",
    readonly state: Readonly<Record<string, unknown>> | readonly unknown[],
  ) {}
}

/** What the rooms above do for .pt files. */
export interface TorchClasses {
  parameter(data: Tensor, requiresGrad: boolean): Tensor;
  isParameter(value: Tensor): boolean;
  /** Whether instances of this class can be made. */
  knows(className: string): boolean;
  /** An object from its state, whose values are JavaScript's already. */
  make(className: string, state: unknown, path: string): unknown;
  /** How an object is written; null when it is none of theirs. */
  describe(value: object): TorchObject | null;
}

export const torchClasses: TorchClasses = later("torch");

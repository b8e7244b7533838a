/** One `vmap` that is running: what operators do with tensors that stand for one example of many. */
import { expand } from "../../generated/ops.ts";
import type { Operator, Taker } from "../dispatch/seam.ts";
import { BatchedStorage, exampleOf, type Transform } from "../tensor/batched.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Example, Examples, Randomness } from "./call.ts";
import { answersWhole, batchedCall } from "./rules.ts";
import { fromFront, toFront } from "./shapes.ts";

/** Those that are running, the outermost first. */
export const levels: Level[] = [];

export class Level implements Taker, Transform, Examples {
  readonly observes = false;
  running = true;

  constructor(
    /** How many examples there are. */
    readonly size: number,
    readonly randomness: Randomness,
    readonly depth: number,
  ) {}

  decomposes(operator: Operator): boolean {
    return !answersWhole(operator);
  }

  take(operator: Operator, args: readonly unknown[], next: () => unknown): unknown {
    return batchedCall(this, operator, args, next);
  }

  /** Whether a tensor stands for one of these examples. */
  has(x: unknown): x is Example {
    return x instanceof Tensor && this.storageOf(x) !== null;
  }

  private storageOf({ _storage }: Tensor): BatchedStorage | null {
    return _storage.watched && _storage instanceof BatchedStorage && _storage.owner === this ? _storage : null;
  }

  /** All examples, counted by the first dimension; a tensor that stands for none as it is. */
  front(t: Tensor): Tensor {
    const s = this.storageOf(t);
    return s === null ? t : toFront(s.value, s.dim);
  }

  /** All examples, counted by the first dimension; a tensor that stands for none is each example's. */
  all(t: Tensor): Tensor {
    return this.has(t) ? this.front(t) : expand(t, [this.size, ...t._shape], false);
  }

  /** One example of many, counted by the first dimension. */
  wrap(value: Tensor): Tensor {
    return exampleOf(this, value, 0);
  }

  /** One example of what a function took, with the dimension where it was given. */
  enter(value: Tensor, dim: number): Tensor {
    return exampleOf(this, value, dim);
  }

  /** All examples of what a function gave, counted by dimension `dim`. */
  leave(t: Tensor, dim: number): Tensor {
    const s = this.storageOf(t);
    if (s !== null && s.dim === dim) return s.value;
    return fromFront(this.all(t), dim);
  }
}

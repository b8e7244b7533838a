/**
 * Tensors that stand for one example of many, and what holds all examples: autograd knows the latter. The examples of
 * each `vmap` are counted by a dimension of their own, the outermost `vmap` by the first.
 */
import * as texts from "../../generated/texts.ts";
import { exampleOf } from "../tensor/batched.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { type Level, levels } from "./level.ts";

/** All examples of the levels that were running when a function was differentiated. */
export class Bases {
  private readonly known: readonly Level[] = [...levels];

  /** All examples of a tensor; one that is the same for all is repeated. */
  all(t: Tensor): Tensor {
    return this.known.reduceRight((b, level) => level.all(b), t);
  }

  /** One example of what `all` gave. */
  example(base: Tensor): Tensor {
    return this.known.reduce((t, level) => exampleOf(level, t, 0), base);
  }

  /** The levels that began since. */
  private since(): readonly Level[] {
    if (this.known.some((level, i) => levels[i] !== level)) throw texts.batchedEscaped(undefined);
    return levels.slice(this.known.length);
  }

  /** As `all`, for a tensor that may stand for an example of levels that began since, and still does so. */
  allOf(t: Tensor): Tensor {
    const { found, used } = fronts(t, this.since());
    const b = this.all(found);
    return used.reduce((x, level) => exampleOf(level, x, this.known.length), b);
  }

  /** As `example`, for what was computed from that. */
  exampleOf(base: Tensor): Tensor {
    const { found, used } = fronts(base, this.since());
    const t = this.known.reduce((x, level) => exampleOf(level, x, used.length), found);
    return used.reduce((x, level) => exampleOf(level, x, 0), t);
  }
}

/** All examples of some levels, counted by the first dimensions, and which levels those are. */
function fronts(t: Tensor, list: readonly Level[]): { found: Tensor; used: Level[] } {
  const used: Level[] = [];
  let found = t;
  for (const level of list.toReversed()) {
    if (!level.has(found)) continue;
    found = level.front(found);
    used.unshift(level);
  }
  return { found, used };
}

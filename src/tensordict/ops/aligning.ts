// Two trees whose keys differ, made alike before they are paired.
import type { Scalar } from "../../tensor/complex.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { isBranch, make, stateOf, type Td } from "../core/state.ts";
import { tensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";

/** What stands for a key that one side lacks; `"intersection"` leaves it out. */
export type Fallback = Tensor | Scalar | "intersection";

/** The keys of `a`, then those that only `b` has. */
function keysOfBoth(a: Td, b: Td, common: boolean): string[] {
  const [first, second] = [[...a._keys()], [...b._keys()]];
  if (common) return first.filter((key) => second.includes(key));
  return [...first, ...second.filter((key) => !first.includes(key))];
}

/** Both trees with the same keys: those that they share, or those of either with `fallback` where one lacks them. */
export function alignTds(a: Td, b: Td, fallback: Fallback): [Td, Td] {
  const common = fallback === "intersection";
  const stand = common ? null : fallback instanceof Tensor ? fallback : tensor(fallback);
  const left = new Map<string, Entry>();
  const right = new Map<string, Entry>();
  for (const key of keysOfBoth(a, b, common)) {
    const own = a._own(key);
    const other = b._own(key);
    if (isBranch(own ?? other)) {
      const empty = (model: Td) => make.tensordict(new Map(), stateOf(model)) as Td;
      const inner = alignTds((own ?? empty(other as Td)) as Td, (other ?? empty(own as Td)) as Td, fallback);
      left.set(key, inner[0]);
      right.set(key, inner[1]);
    } else {
      const missing = (own ?? other) instanceof Tensor ? (stand as Tensor) : ((own ?? other) as Entry);
      left.set(key, own ?? missing);
      right.set(key, other ?? missing);
    }
  }
  return [make.tensordict(left, stateOf(a)) as Td, make.tensordict(right, stateOf(b)) as Td];
}

// Two trees whose keys differ, made alike before they are paired.
import type { Scalar } from "../../tensor/complex.ts";
import { KeyError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyTuple, pythonString } from "../core/keys.ts";
import { isBranch, isLazy, isNested, make, outlineOf, outlinesOf, stackOf, stateOf, type Td } from "../core/state.ts";
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

/** Refuses two levels of different keys. */
export function requireSameKeys(a: Td, b: Td): void {
  const names = (td: Td): Names => new Set([...td._keys()].map((key) => `'${key}'`));
  const [first, second] = [names(a), names(b)];
  requireNone(onlyIn(first, second), onlyIn(second, first));
}

type Names = ReadonlySet<string>;

const onlyIn = (own: Names, others: Names): string[] => [...own].filter((name) => !others.has(name));

function requireNone(onlyFirst: readonly string[], onlySecond: readonly string[]): void {
  if (onlyFirst.length === 0 && onlySecond.length === 0) return;
  const parts = ["keys in tensordicts mismatch."];
  if (onlyFirst.length > 0)
    parts.push(`The first TD has keys {${onlyFirst.join(", ")}} that the second does not have.`);
  if (onlySecond.length > 0)
    parts.push(`The second TD has keys {${onlySecond.join(", ")}} that the first does not have.`);
  throw new KeyError(parts.join(" "));
}

/** Refuses two trees that have tensors under different paths; dense ones without any go with every other. */
export function requireSameLeaves(a: Td, b: Td): void {
  if (haveSameLeaves(a, b)) return;
  const [first, second] = [leafPaths(a), leafPaths(b)];
  if (first.size === 0 && !isLazy(a) && !isLazy(b)) return;
  requireNone(onlyIn(first, second), onlyIn(second, first));
}

/** Whether two levels have the same leaves by name; a quick answer for trees that are alike. */
function haveSameLeaves(a: Td, b: Td): boolean {
  const [left, right] = [stackOf(a), stackOf(b)];
  if (left !== null && right !== null && left.members.length === right.members.length)
    return left.members.every((member, i) => haveSameLeaves(member, right.members[i] as Td));
  let count = 0;
  for (const [key, entry] of outlinesOf(a)) {
    const other = outlineOf(b, key);
    if (other === undefined) return false;
    if (isBranch(entry) !== isBranch(other)) return false;
    if (isBranch(entry) && !haveSameLeaves(entry, other as Td)) return false;
    count++;
  }
  return count === b._count;
}

/** The paths of all leaves, as Python prints them; in stacks with the numbers of members before them. */
function leafPaths(td: Td, prefix: readonly string[] = [], into: Set<string> = new Set()): Set<string> {
  const stack = stackOf(td);
  if (stack !== null)
    for (const [i, member] of stack.members.entries()) leafPaths(member, [...prefix, String(i)], into);
  else
    for (const [key, entry] of outlinesOf(td)) {
      const path = [...prefix, key];
      if (isBranch(entry)) leafPaths(entry, path, into);
      else if (entry instanceof Tensor || isNested(entry))
        into.add(path.length === 1 ? pythonString(key) : keyTuple(path));
    }
  return into;
}

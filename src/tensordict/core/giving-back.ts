// Lazy stacks have their entries stacked when they are read. What a method makes so on its way, and other tensors that
// it hands to nobody, go back at its end.

import { Device } from "../../tensor/device.ts";
import { DType } from "../../tensor/dtype.ts";
import { tensorsIn } from "../../tensor/scope-state.ts";
import { begin, finishHeld, leaveAll } from "../../tensor/temporaries.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { MATH } from "./math-names.ts";
import { Collection, isClassTd, isLazy, type Td } from "./state.ts";

/** Methods that call nothing of the program's, beside arithmetic, comparison and reduction. */
const METHODS = new Set(
  (
    "all any cat catFromTensordict chunk clamp clampMax clampMin clone contiguous copyAt_ copy_ cummax " +
    "cummin densify entryClass expandAs fill_ flatten flip fliplr flipud gather has lerp logsumexp " +
    "maskedFill maskedFill_ max min newEmpty newFull newOnes newTensor newZeros norm pad quantile repeat " +
    "repeatInterleave reshape roll rot90 rsub separates setAt_ set_ softmax stackFromTensordict tile to " +
    "toTensordict toStructArray type"
  ).split(" "),
);

const isKnown = (name: string): boolean => METHODS.has(name) || Object.hasOwn(MATH, name);

/** Whether a collection is a lazy stack or has one below; not where a class of the program's is in it. */
function holdsLazy(td: Collection, levels = 32): boolean {
  if (isLazy(td)) return !td._members.some(isClassTd);
  if (td._kind !== "tensordict" || td._outside !== undefined || levels === 0) return false;
  for (const [, entry] of td._entries()) {
    if (entry instanceof Collection && holdsLazy(entry, levels - 1)) return true;
  }
  return false;
}

/** Nothing of the program's runs when it is read. */
function isPlain(x: unknown): boolean {
  if (typeof x === "function") return false;
  if (typeof x !== "object" || x === null || x instanceof Tensor || x instanceof DType || x instanceof Device)
    return true;
  if (x instanceof Collection) return !isClassTd(x as Td);
  if (Array.isArray(x)) return x.every(isPlain);
  const prototype: unknown = Object.getPrototypeOf(x);
  return (prototype === Object.prototype || prototype === null) && Object.values(x).every(isPlain);
}

/** The tensors that a value leads to; entries of lazy stacks are those of their members. */
function addHeld(value: unknown, held: Set<unknown>): void {
  if (value instanceof Tensor) held.add(value).add(value._grad);
  else if (value instanceof Collection) {
    const td = value as Td;
    if (held.has(td)) return;
    held.add(td);
    if (isLazy(td)) for (const member of td._members) addHeld(member, held);
    else if (td._outside !== undefined) return;
    else if (td._kind === "tensordict") for (const [, entry] of td._entries()) addHeld(entry, held);
    else for (const t of tensorsIn(td)) held.add(t);
  } else if (Array.isArray(value)) for (const inner of value) addHeld(inner, held);
  else if (typeof value === "object" && value !== null) for (const t of tensorsIn(value)) held.add(t);
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Calls a method of a collection. */
export function givingBack(self: unknown, name: string, method: Method, args: unknown[]): unknown {
  const wanted = isKnown(name) && self instanceof Collection && holdsLazy(self) && args.every(isPlain);
  if (!wanted || !begin()) return method.apply(self, args);
  let result: unknown;
  try {
    result = method.apply(self, args);
  } catch (error) {
    leaveAll();
    throw error;
  }
  const held = new Set<unknown>();
  for (const value of [self, result, args]) addHeld(value, held);
  finishHeld(held);
  return result;
}

// A stack that overflows is a tree that is too deep, and is said so.
import { RuntimeError } from "../../tensor/errors.ts";
import { isSource } from "./convert.ts";
import { isLazy, isTensorCollection } from "./state.ts";

/** Levels of a tree that calls go down. */
const DEEP = 200;

function depthReaches(value: unknown, levels: number): boolean {
  let level: unknown[] = [value];
  for (let depth = 0; depth < levels; depth++) {
    const next: unknown[] = [];
    for (const item of level) {
      if (isTensorCollection(item) && item._outside === undefined) {
        if (isLazy(item)) next.push(...item._members);
        else for (const key of item._keys()) next.push(item._own(key));
      } else if (isSource(item)) next.push(...(item instanceof Map ? item.values() : Object.values(item)));
      else if (Array.isArray(item)) next.push(...item);
    }
    // One of each: what contains itself many times is as deep with one.
    level = [...new Set(next)].filter((item) => typeof item === "object" && item !== null).slice(0, 10_000);
    if (level.length === 0) return false;
  }
  return true;
}

/** What a stack that overflowed means; any other error is itself. */
export function explainDepth(op: string, error: unknown, values: readonly unknown[]): unknown {
  const overflow = error instanceof RangeError && error.constructor === RangeError;
  if (!overflow || !values.some((value) => depthReaches(value, DEEP))) return error;
  return new RuntimeError(
    `maximum recursion depth exceeded in ${op}(): the tensordict or its argument is nested too deeply, or contains ` +
      "itself",
    { op, code: "recursion", cause: error },
  );
}

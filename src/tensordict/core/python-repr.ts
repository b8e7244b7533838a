// Values as Python's repr prints them.

import { pythonFloatRepr } from "../../io/base/python-json.ts";
import { Complex, Float, Int } from "../../tensor/complex.ts";
import { pythonString } from "./keys.ts";

/** Values of which a text consists at most. */
const MOST_PARTS = 1_000_000;
let left = MOST_PARTS;

/** Python's repr of a JavaScript value. */
export function pythonRepr(value: unknown, depth = 0): string {
  // What is shared in memory may be without end as a text.
  if (depth === 0) left = MOST_PARTS;
  if (depth > 64 || --left < 0) return "...";
  if (value === null || value === undefined) return "None";
  switch (typeof value) {
    case "boolean":
      return value ? "True" : "False";
    case "string":
      return pythonString(value);
    case "bigint":
      return value.toString();
    case "number":
      return Number.isSafeInteger(value) && !Object.is(value, -0) ? String(value) : pythonFloatRepr(value);
    case "object":
      return objectRepr(value, depth);
    default:
      return String(value);
  }
}

function objectRepr(value: object, depth: number): string {
  if (value instanceof Float) return pythonFloatRepr(value.value);
  if (value instanceof Int) return String(value.value);
  if (value instanceof Complex) return value.toString();
  if (Array.isArray(value)) return `[${value.map((item) => pythonRepr(item, depth + 1)).join(", ")}]`;
  if (
    value instanceof Map ||
    Object.getPrototypeOf(value) === Object.prototype ||
    Object.getPrototypeOf(value) === null
  ) {
    const pairs = value instanceof Map ? [...value] : Object.entries(value);
    const part = (value: unknown) => pythonRepr(value, depth + 1);
    return `{${pairs.map(([key, item]) => `${part(key)}: ${part(item)}`).join(", ")}}`;
  }
  if (value instanceof Set) return `{${[...value].map((item) => pythonRepr(item, depth + 1)).join(", ")}}`;
  if (value instanceof Uint8Array) return `b${pythonString(Buffer.from(value).toString("latin1"))}`;
  return String(value);
}

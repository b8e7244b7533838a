/** What elements are in JavaScript, alone and in lists. */
import type { Complex } from "./complex.ts";

/** What one element is in JavaScript. */
export type Value = number | boolean | Complex;

/** Nested arrays of plain values. */
export type NestedList = Value | NestedList[];

/** Nested arrays of what may be assigned to elements. */
export type AssignedList = readonly (Value | bigint | AssignedList)[];

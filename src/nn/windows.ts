/** Sizes of windows, one for all dimensions or one for each, and how modules print them. */

import { pythonFloat } from "../api/number-text.ts";

/** As many numbers as there are dimensions; what is a list stays as it was given. */
export function tuple(given: number | readonly number[], dims: number): readonly number[] {
  return typeof given === "number" ? new Array<number>(dims).fill(given) : [...given];
}

/** A number, or a tuple as Python shows it. */
export function sizesText(sizes: number | null | readonly (number | null)[]): string {
  if (typeof sizes === "number") return String(sizes);
  if (sizes === null) return "None";
  const [first, ...rest] = sizes.map((n) => n ?? "None");
  return rest.length === 0 ? (first === undefined ? "()" : `(${first},)`) : `(${[first, ...rest].join(", ")})`;
}

/** The same for numbers with fractions. */
export function floatsText(sizes: number | readonly number[]): string {
  if (typeof sizes === "number") return pythonFloat(sizes);
  return sizes.length === 1 ? `(${pythonFloat(sizes[0] as number)},)` : `(${sizes.map(pythonFloat).join(", ")})`;
}

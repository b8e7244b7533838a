/** Markers for numbers whose kind JavaScript cannot show. */

import * as texts from "../../generated/texts.ts";
import { inOrder } from "../tensor/checks.ts";
import { Float, Int } from "../tensor/complex.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";

/**
 * An integer whatever its value looks like: `int(2)` as data gives int64. A fraction is cut off.
 * @throws TypeError for what is no finite number
 * @example
 * ```ts
 * tensor([int(1), int(2)]) // tensor([1, 2])
 * ```
 */
export function int(value: number | bigint): Int {
  if (typeof value === "object" || arguments.length > 1)
    [value] = inOrder<[number | bigint]>("int", FUNCTIONS.int, arguments);
  if (typeof value === "bigint") return new Int(value);
  if (typeof value !== "number" || !Number.isFinite(value)) throw texts.notAnInt(undefined, value);
  return new Int(Math.trunc(value));
}

/**
 * A floating-point number whatever its value looks like: `x.mul(float(2))` promotes integers.
 * @example
 * ```ts
 * tensor([1n, 2n]).mul(float(2)) // tensor([2., 4.])
 * ```
 */
export function float(value: number | bigint): Float {
  if (typeof value === "object" || arguments.length > 1)
    [value] = inOrder<[number | bigint]>("float", FUNCTIONS.float, arguments);
  if (typeof value !== "number" && typeof value !== "bigint") throw texts.notAFloat(undefined, String(value));
  return new Float(Number(value));
}

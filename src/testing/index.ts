/** The namespace `testing`: what tests ask of values that are computed. */
import { noGrad } from "../autograd/api.ts";
import { inOrder, isDict } from "../tensor/checks.ts";
import { type CloseOptions, compareAll } from "./close.ts";
import { FUNCTIONS } from "./signatures.ts";

export type { CloseOptions } from "./close.ts";

/**
 * Throws unless two values are close: tensors, numbers, booleans, null, and lists, objects, Maps and TensorDicts of
 * them, one by one. Elements are close when `|actual - expected| <= atol + rtol * |expected|`. Unless given, these are
 * (rtol, atol): float16 (1e-3, 1e-5), bfloat16 (1.6e-2, 1e-5), float32 and complex64 (1.3e-6, 1e-5), float64 and
 * complex128 (1e-7, 1e-7), and 0 for all other dtypes. Shapes, dtypes and devices have to be the same. A number that is
 * no integer, and what it is compared with, counts as float64.
 * @throws AssertionError for values that are not close, TypeError for what cannot be compared, ValueError for one
 * tolerance without the other
 * @example
 * ```ts
 * const third = tensor([1, 2]).div(3);
 * testing.assertClose(third.mul(3), tensor([1, 2]));
 * testing.assertClose({ a: third, b: [1, 2] }, { a: third.add(0.5), b: [1, 2] }, { atol: 0.5, rtol: 0.1 });
 * try {
 *   testing.assertClose(tensor([1, 2, 3]), tensor([1, 4, 5]));
 * } catch (error) {
 *   String(error)
 * }
 * // AssertionError: Tensor-likes are not close!
 * //
 * // Mismatched elements: 2 / 3 (66.7%)
 * // Greatest absolute difference: 2.0 at index (1,) (up to 1e-05 allowed)
 * // Greatest relative difference: 0.5 at index (1,) (up to 1.3e-06 allowed)
 * ```
 * @torch torch.testing.assert_close
 */
export function assertClose(actual: unknown, expected: unknown, options: CloseOptions = {}): void {
  // Objects are data here, so names are told apart by there being nothing else.
  if (arguments.length === 1 && isDict(actual) && "actual" in actual && "expected" in actual) {
    const { actual: one, expected: other, ...rest } = actual;
    assertClose(one, other, rest);
    return;
  }
  [actual, expected, options = {}] = inOrder<[unknown, unknown, CloseOptions?]>(
    "assertClose",
    FUNCTIONS.assertClose,
    arguments,
  );
  noGrad(() => compareAll(actual, expected, options));
}

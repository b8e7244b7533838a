/** How exact products of matrices are on devices. */
import { inOrder } from "../tensor/checks.ts";
import { FUNCTIONS } from "../tensor/signatures.ts";
import { matmulPrecision, setMatmulPrecision } from "../tensor/system.ts";

/**
 * `"highest"` multiplies in float32; `"high"` and `"medium"` let GPUs round the factors to tf32 (ten bits of a
 * fraction instead of 23), which their matrix units multiply several times faster.
 */
export type Float32MatmulPrecision = "highest" | "high" | "medium";

/**
 * How exact products of float32 matrices on devices have to be; `"highest"` until it is set.
 * @example
 * ```ts
 * getFloat32MatmulPrecision() // highest
 * ```
 * @torch torch.get_float32_matmul_precision
 */
export function getFloat32MatmulPrecision(): Float32MatmulPrecision {
  inOrder("getFloat32MatmulPrecision", FUNCTIONS.getFloat32MatmulPrecision, arguments);
  return matmulPrecision();
}

/**
 * Sets how exact products of float32 matrices (and complex64 ones by cuBLAS) on devices have to be, for all threads of
 * the process. It changes products on GPUs from capability 8.0 on, in both directions of autograd; sums stay in
 * float32. Nothing changes on the CPU, and none of the other dtypes.
 * @throws {ValueError} for any other word; PyTorch warns and changes nothing.
 * @example
 * ```ts
 * setFloat32MatmulPrecision("high");
 * const faster = getFloat32MatmulPrecision();
 * setFloat32MatmulPrecision("highest");
 * faster // high
 * ```
 * @torch torch.set_float32_matmul_precision
 */
export function setFloat32MatmulPrecision(precision: Float32MatmulPrecision): void {
  [precision] = inOrder<[Float32MatmulPrecision]>(
    "setFloat32MatmulPrecision",
    FUNCTIONS.setFloat32MatmulPrecision,
    arguments,
  );
  setMatmulPrecision(precision);
}

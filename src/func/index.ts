/** The namespace `func`: transforms of functions, `torch.func`. */

export type { Randomness } from "./call.ts";
export {
  type FunctionalCallOptions,
  functionalCall,
  type ModuleState,
  stackModuleState,
} from "./functional-call.ts";
export { type Argnums, type GradientsOf, type GradOptions, grad, gradAndValue } from "./grad.ts";
export {
  hessian,
  type JacfwdOptions,
  type JacobianOf,
  type JacrevOptions,
  jacfwd,
  jacrev,
} from "./jacobians.ts";
export { type JvpOptions, jvp } from "./jvp.ts";
export { type VjpOptions, vjp } from "./vjp.ts";
export { type Dims, type VmapOptions, vmap } from "./vmap.ts";

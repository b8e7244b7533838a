/** The namespace `func`: transforms of functions, `torch.func`. */

export type { Randomness } from "./call.ts";
export {
  type FunctionalCallOptions,
  functionalCall,
  type ModuleState,
  stackModuleState,
} from "./functional-call.ts";
export { type Dims, type VmapOptions, vmap } from "./vmap.ts";

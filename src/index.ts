/**
 * zensor: PyTorch's tensors and TensorDict for Bun.
 *
 * @module zensor
 */
import "./install.ts";

export * from "../generated/functional.ts";
export * from "./api/tensor-data.ts";
export { print } from "./api/print.ts";
export { getPrintoptions, setPrintoptions } from "./api/printing.ts";
export { TypedStorage } from "./api/typed-storage.ts";
export * from "./tensor/index.ts";
// Names that operators have too.
export { at, type IndexPart, setAt, Slice, slice } from "./api/indexing.ts";
export { float, int } from "./api/numbers.ts";
export { bfloat16, bool } from "./tensor/index.ts";
export * as cpu from "./api/cpu.ts";
export { getNumThreads, setNumThreads } from "./api/cpu.ts";
export * as cuda from "./cuda/index.ts";
export { enableGrad, isGradEnabled, noGrad, setGradEnabled } from "./autograd/api.ts";
export * as autograd from "./autograd/api-namespace.ts";
export { type Generator } from "./dispatch/generator.ts";
export {
  channelsLast,
  channelsLast3d,
  contiguousFormat,
  MemoryFormat,
  preserveFormat,
} from "./dispatch/memory-format.ts";
export { type Named } from "./dispatch/named.ts";
export { canCast, promoteTypes, resultTypeOf as resultType } from "./dispatch/promotion.ts";
export * as errors from "./tensor/errors.ts";

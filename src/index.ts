/**
 * zensor: PyTorch's tensors and TensorDict for Bun.
 *
 * @module zensor
 */
import "./install.ts";

export * from "../generated/functional.ts";
export * as cpu from "./api/cpu.ts";
export { getNumThreads, setNumThreads } from "./api/cpu.ts";
export {
  device,
  getDefaultDevice,
  getDefaultDtype,
  setDefaultDevice,
  setDefaultDtype,
  setWarningPolicy,
  withDevice,
} from "./api/defaults.ts";
export * as errors from "./api/errors-namespace.ts";
export {
  defaultGenerator,
  Generator,
  getRngState,
  initialSeed,
  manualSeed,
  seed,
  setRngState,
} from "./api/generator.ts";
export { type IndexPart, Slice, slice } from "./api/indexing.ts";
export { inferMeta } from "./api/infer.ts";
export { type FloatInfo, finfo, type IntInfo, iinfo } from "./api/limits.ts";
export { linalg } from "./api/linalg.ts";
export { float, int } from "./api/numbers.ts";
export {
  type Float32MatmulPrecision,
  getFloat32MatmulPrecision,
  setFloat32MatmulPrecision,
} from "./api/precision.ts";
export { print } from "./api/print.ts";
export { getPrintoptions, type PrintOptions, type PrintSettings, setPrintoptions } from "./api/printing.ts";
export { type ScopeGuard, scope } from "./api/scope.ts";
export { special } from "./api/special.ts";
export {
  asTensor,
  fromNumpy,
  fromTypedArray,
  type TensorData,
  type TensorOptions,
  tensor,
} from "./api/tensor-data.ts";
export { TypedStorage } from "./api/typed-storage.ts";
export { enableGrad, isGradEnabled, noGrad, setGradEnabled } from "./autograd/api.ts";
export * as autograd from "./autograd/api-namespace.ts";
export * as cuda from "./cuda/index.ts";
export {
  channelsLast,
  channelsLast3d,
  contiguousFormat,
  MemoryFormat,
  preserveFormat,
} from "./dispatch/memory-format.ts";
export type { Named } from "./dispatch/named.ts";
export { canCast, promoteTypes, resultTypeOf as resultType } from "./dispatch/promotion.ts";
export * as distributions from "./distributions/index.ts";
export * as func from "./func/index.ts";
export { directoryTree, printDirectoryTree } from "./io/disk/directory-tree.ts";
export * as io from "./io/index.ts";
export { loadSafetensors, saveSafetensors, saveSafetensorsAsync } from "./io/safetensors/safetensors.ts";
export { functional as F } from "./nn/functional.ts";
export * as nn from "./nn/index.ts";
export * as optim from "./optim/index.ts";
export * as profiler from "./profiler/index.ts";
export { Complex, type Float, type Int, type Scalar } from "./tensor/complex.ts";
export { Device, type DeviceLike, type DeviceName } from "./tensor/device.ts";
export {
  type ArrayOf,
  bfloat16,
  bool,
  cdouble,
  cfloat,
  complex64,
  complex128,
  DType,
  type DTypeLike,
  type DTypeName,
  double,
  float8_e4m3fn,
  float8_e5m2,
  float16,
  float32,
  float64,
  half,
  int8,
  int16,
  int32,
  int64,
  long,
  short,
  uint8,
  uint16,
  uint32,
  uint64,
} from "./tensor/dtype.ts";
export type { ModeGuard } from "./tensor/modes.ts";
export type { ComplexTensor, OfDType } from "./tensor/of-dtype.ts";
export { Size } from "./tensor/size.ts";
export { UntypedStorage } from "./tensor/storage.ts";
export {
  type BackwardOptions,
  type BoolTensor,
  type GradientNode,
  type HookHandle,
  Tensor,
} from "./tensor/tensor.ts";
export type { AssignedList, NestedList, Value } from "./tensor/value-types.ts";
export * as nested from "./tensordict/classes/nested-api.ts";
export { type LoadAnyOptions, load, loadAsync, save, saveAsync } from "./tensordict/disk/files.ts";
export * as tensordict from "./tensordict/index.ts";
export {
  appendMemmap,
  fromConsolidated,
  fromSafetensors,
  fromShared,
  isMemmapArchive,
  isTensorCollection,
  isTensorclass,
  LazyStackedTensorDict,
  lazyStack,
  loadMemmap,
  loadMemmapAsync,
  loadRemote,
  MemmapTensor,
  MemoryMappedTensor,
  maybeDenseStack,
  NestedTensor,
  NonTensorData,
  NonTensorStack,
  PersistentTensorDict,
  packMemmap,
  refreshArchiveChecksums,
  saveRemote,
  setLazyLegacy,
  TensorDict,
  TensorDictBase,
  TensorDictParams,
  tensorclass,
  toSafetensors,
  toSafetensorsAsync,
  toShared,
  UnbatchedTensor,
  unpackMemmap,
} from "./tensordict/index.ts";
export { cat, stack } from "./tensordict/ops/joining.ts";
export * as testing from "./testing/index.ts";

/** Modules over TensorDicts. @torch tensordict.nn */

export { Delta } from "../../distributions/delta.ts";
export { TruncatedNormal } from "../../distributions/truncated-normal.ts";
export {
  type ByKey,
  CompositeDistribution,
  type CompositeOptions,
  type DistributionMaker,
} from "./composite.ts";
export { type DispatchOptions, dispatch } from "./dispatch.ts";
export { EnsembleModule } from "./ensemble.ts";
export type { Key, KeyList } from "./keys.ts";
export {
  compositeLpAggregate,
  InteractionType,
  interactionType,
  type SkipMode,
  setCompositeLpAggregate,
  setInteractionType,
  setSkipExisting,
  skipExisting,
} from "./modes.ts";
export {
  asTensordictModule,
  type ForwardOptions,
  type Inplace,
  TensorDictModule,
  type TensorDictModuleOptions,
  TensorDictModuleWrapper,
  WrapModule,
  type WrapModuleOptions,
} from "./module.ts";
export { TensorDictModuleBase } from "./module-base.ts";
export {
  AddStateIndependentNormalScale,
  addCustomMapping,
  BiasedSoftplus,
  invSoftplus,
  type Mapping,
  mappings,
  NormalParamExtractor,
  type NormalParamOptions,
  type ScaleOptions,
} from "./normal-params.ts";
export { OneHotCategorical, randOneHot } from "./one-hot.ts";
export {
  type GeneratorLike,
  type ProbabilisticOptions,
  ProbabilisticTensorDictModule,
} from "./probabilistic.ts";
export {
  type ProbabilisticSequentialOptions,
  ProbabilisticTensorDictSequential,
} from "./probabilistic-sequential.ts";
export { type SequentialArguments, type SequentialOptions, type Step, TensorDictSequential } from "./sequential.ts";

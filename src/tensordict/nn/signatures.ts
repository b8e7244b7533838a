// What the classes and functions of this folder take, as data that src/tensor/checks.ts reads.

const INPLACE = "inplace:any";
const SEQUENCE = `partialTolerant:bool selectedOutKeys:keyList ${INPLACE}`;
const MODE = "body?:fn";
const CALL = "outToInMap:bool strict:bool method:string methodKwargs:dict";

/** Constructors. */
export const CONSTRUCTORS = {
  AddStateIndependentNormalScale:
    "scaleShape?:size | scaleMapping:string scaleLb:number device:any makeParam:bool initValue:number",
  BiasedSoftplus: "bias:number minVal?:number",
  CompositeDistribution: "params:td distributionMap:map | nameMap:map extraKwargs:map logProbKey:key entropyKey:key",
  EnsembleModule: "module:module numCopies:int expandInput?:bool",
  NormalParamExtractor: "scaleMapping?:string scaleLb?:number",
  OneHotCategorical: "logits?:tensor? probs?:tensor? validateArgs?:bool?",
  ProbabilisticTensorDictModule:
    "inKeys:any outKeys?:keyList? | defaultInteractionType:any distributionClass:any distributionKwargs:dict " +
    "returnLogProb:bool logProbKeys:keyList logProbKey:key nEmpiricalEstimate:int numSamples:size generator:any",
  TensorDictModule: `module:any inKeys:any outKeys:any | ${CALL} ${INPLACE}`,
  TensorDictModuleWrapper: "tdModule:module",
  WrapModule: "func:fn | inplace:bool inKeys:keyList outKeys:keyList",
};

/** The options of sequences. */
export const SEQUENTIAL = SEQUENCE;
/** The options of probabilistic sequences. */
export const PROBABILISTIC_SEQUENTIAL = `${SEQUENCE} returnComposite:bool`;

/** Methods of every module here, beside those of modules. */
export const METHODS = {
  resetOutKeys: "",
  resetParametersRecursive: "parameters?:td?",
  selectOutKeys: "...outKeys:key",
  toString: "",
};

/** Methods of sequences. */
export const SEQUENTIAL_METHODS = {
  at: "index:any",
  setAt: "index:any module:fn",
  del_: "index:any",
  selectSubsequence: "| inKeys:keyList outKeys:keyList",
};

/** Methods of probabilistic modules. */
export const PROBABILISTIC = {
  getDist: "tensordict:td",
  buildDistFromParams: "tensordict:td",
  logProb: "tensordict:td | dist:distribution",
};

/** Methods of probabilistic sequences, beside. */
export const PROBABILISTIC_STEPS = { getDistParams: "tensordict:td tensordictOut?:td?" };

/** Methods of composite distributions, beside those of distributions. */
export const COMPOSITE = {
  sample: "sampleShape?:size",
  rsample: "sampleShape?:size",
  sampleAndLogProb: "sampleShape?:size",
  rsampleAndLogProb: "sampleShape?:size",
  logProb: "value:td",
  logProbComposite: "sample:td | includeSum:bool",
  entropy: "samplesMc?:int | includeSum:bool",
  entropyComposite: "samplesMc?:int | includeSum:bool",
  cdf: "value:td",
  icdf: "value:td",
  get: "name:key",
  has: "name:key",
  keys: "",
  values: "",
  toString: "",
};

/** Class methods. */
export const STATICS = {
  CompositeDistribution: {
    fromDistributions: "params:td distributions:map | nameMap:map logProbKey:key entropyKey:key",
  },
  TensorDictModuleBase: { isTdmoduleCompatible: "module:any" },
};

/** Functions. */
export const FUNCTIONS = {
  addCustomMapping: "name:string mapping:fn",
  asTensordictModule: "| inKeys!:any outKeys!:any",
  compositeLpAggregate: "",
  dispatch: "| separator:string source:any dest:any autoBatchSize:bool",
  interactionType: "",
  invSoftplus: "bias:limit",
  mappings: "key:string",
  randOneHot: "values:tensor doSoftmax?:bool",
  setCompositeLpAggregate: `mode:bool ${MODE}`,
  setInteractionType: `type:any ${MODE}`,
  setSkipExisting: `mode:any ${MODE}`,
  skipExisting: "",
};

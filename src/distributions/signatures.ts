// What the classes and functions of this room take, as data that src/tensor/checks.ts reads.

const EITHER = "probs?:parameter? logits?:parameter? validateArgs?:bool?";
const LOGITS = "probs?:tensor? logits?:tensor? validateArgs?:bool?";
const BOUNDS = "lowerBound:limit upperBound:limit";

/** Constructors. */
export const CONSTRUCTORS = {
  AffineTransform: "loc:limit scale:limit eventDim?:int cacheSize?:int",
  Bernoulli: EITHER,
  Categorical: LOGITS,
  ComposeTransform: "parts:list cacheSize?:int",
  Delta: "param:tensor atol?:number rtol?:number batchShape?:size? eventShape?:size?",
  Independent: "baseDistribution:distribution reinterpretedBatchNdims:int validateArgs?:bool?",
  Normal: "loc:parameter scale:parameter validateArgs?:bool?",
  OneHotCategorical: LOGITS,
  TanhNormal:
    "loc:parameter scale:parameter upscale?:number low?:limit high?:limit eventDims?:int? tanhLoc?:bool " +
    "safeTanh?:bool validateArgs?:bool?",
  TanhTransform: "cacheSize?:int",
  TransformedDistribution: "baseDistribution:distribution transforms:any validateArgs?:bool?",
  TruncatedNormal: "loc:parameter scale:parameter a:parameter b:parameter validateArgs?:bool?",
  TruncatedStandardNormal: "a:parameter b:parameter validateArgs?:bool?",
  Uniform: "low:parameter high:parameter validateArgs?:bool?",
};

/** Methods of every distribution. */
export const METHODS = {
  sample: "sampleShape?:size",
  rsample: "sampleShape?:size",
  logProb: "value:sample",
  cdf: "value:sample",
  icdf: "value:sample",
  entropy: "",
  perplexity: "",
  enumerateSupport: "expand?:bool",
  expand: "batchShape:size",
  update: "param:tensor",
  toString: "",
};

/** Methods of transforms. */
export const TRANSFORM = {
  apply: "x:tensor",
  unapply: "y:tensor",
  logAbsDetJacobian: "x:tensor y:tensor",
  withCache: "cacheSize?:int",
  forwardShape: "shape:ints",
  inverseShape: "shape:ints",
  equals: "other:notDict",
  toString: "",
};

/** Class methods of distributions. */
export const STATICS = { setDefaultValidateArgs: "value:bool" };

/** Regions. */
export const CONSTRAINTS = {
  isDependent: "constraint:constraint",
  greaterThan: "lowerBound:limit",
  greaterThanEq: "lowerBound:limit",
  lessThan: "upperBound:limit",
  interval: BOUNDS,
  halfOpenInterval: BOUNDS,
  integerInterval: BOUNDS,
  independent: "baseConstraint:constraint reinterpretedBatchNdims:int",
};

/** Methods of regions. */
export const REGION = { check: "value:tensor", toString: "" };

/** Functions. */
export const FUNCTIONS = {
  klDivergence: "p:distribution q:distribution",
  registerKl: "typeP:distributionClass typeQ:distributionClass fn:fn",
};

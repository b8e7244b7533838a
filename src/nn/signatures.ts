// What the classes and functions of this room take, as data that src/tensor/checks.ts reads.

const PLACE = "device:any dtype:any";
const LAYER =
  "dModel:int nhead:int dimFeedforward?:int dropout?:number activation?:activation layerNormEps?:number " +
  `batchFirst?:bool normFirst?:bool bias?:bool | ${PLACE}`;
const CHANNELS =
  "numFeatures:int eps?:number momentum?:number? affine?:bool trackRunningStats?:bool " + `| ${PLACE} bias:bool`;
const RECURRENT = "inputSize:int hiddenSize:int numLayers?:int";
const STACK = "numLayers:int norm?:module?";

/** Constructors. */
export const CONSTRUCTORS = {
  CELU: "alpha?:number inplace?:bool",
  ELU: "alpha?:number inplace?:bool",
  GELU: "approximate?:string",
  GLU: "dim?:int",
  Hardshrink: "lambd?:number",
  Hardsigmoid: "inplace?:bool",
  Hardswish: "inplace?:bool",
  Hardtanh: "minVal?:number maxVal?:number inplace?:bool",
  LeakyReLU: "negativeSlope?:number inplace?:bool",
  LogSigmoid: "",
  Mish: "inplace?:bool",
  PReLU: `numParameters?:int init?:number | ${PLACE}`,
  ReLU6: "inplace?:bool",
  SELU: "inplace?:bool",
  SiLU: "inplace?:bool",
  Softmin: "dim?:int?",
  Softplus: "beta?:number threshold?:number",
  Softshrink: "lambd?:number",
  Softsign: "",
  Tanhshrink: "",
  Threshold: "threshold:number value:number inplace?:bool",
  BatchNorm1d: CHANNELS,
  BatchNorm2d: CHANNELS,
  BatchNorm3d: CHANNELS,
  Buffer: "data:tensor | persistent:bool",
  Dropout: "p?:number inplace?:bool",
  GroupNorm: `numGroups:int numChannels:int eps?:number affine?:bool | ${PLACE} bias:bool`,
  GRU: `${RECURRENT} bias?:bool batchFirst?:bool dropout?:number bidirectional?:bool | ${PLACE}`,
  GRUCell: `inputSize:int hiddenSize:int bias?:bool | ${PLACE}`,
  HuberLoss: "| reduction:string delta:number",
  InstanceNorm1d: CHANNELS,
  InstanceNorm2d: CHANNELS,
  InstanceNorm3d: CHANNELS,
  L1Loss: "| reduction:string",
  LayerNorm: `normalizedShape:size eps?:number elementwiseAffine?:bool bias?:bool | ${PLACE}`,
  Linear: `inFeatures:int outFeatures:int bias?:bool | ${PLACE}`,
  ModuleDict: "modules?:any",
  ModuleList: "modules?:notDict",
  LSTM: `${RECURRENT} bias?:bool batchFirst?:bool dropout?:number bidirectional?:bool projSize?:int | ${PLACE}`,
  LSTMCell: `inputSize:int hiddenSize:int bias?:bool | ${PLACE}`,
  MSELoss: "| reduction:string",
  MultiheadAttention:
    "embedDim:int numHeads:int dropout?:number bias?:bool addBiasKv?:bool addZeroAttn?:bool kdim?:int? vdim?:int? " +
    `batchFirst?:bool | ${PLACE}`,
  Parameter: "data:tensor requiresGrad?:bool",
  ReLU: "inplace?:bool",
  RNN:
    `${RECURRENT} nonlinearity?:string bias?:bool batchFirst?:bool dropout?:number bidirectional?:bool ` + `| ${PLACE}`,
  RNNCell: `inputSize:int hiddenSize:int bias?:bool nonlinearity?:string | ${PLACE}`,
  RMSNorm: `normalizedShape:size eps?:number? elementwiseAffine?:bool | ${PLACE}`,
  Sigmoid: "",
  SmoothL1Loss: "| reduction:string beta:number",
  Softmax: "dim?:int?",
  Tanh: "",
  Transformer:
    "dModel?:int nhead?:int numEncoderLayers?:int numDecoderLayers?:int dimFeedforward?:int dropout?:number " +
    "activation?:activation customEncoder?:module? customDecoder?:module? layerNormEps?:number batchFirst?:bool " +
    `normFirst?:bool bias?:bool | ${PLACE}`,
  TransformerDecoder: `decoderLayer:module ${STACK}`,
  TransformerDecoderLayer: LAYER,
  TransformerEncoder: `encoderLayer:module ${STACK} enableNestedTensor?:bool maskCheck?:bool`,
  TransformerEncoderLayer: LAYER,
};

const DECODED = "tgtMask?:tensor? memoryMask?:tensor? tgtKeyPaddingMask?:tensor? memoryKeyPaddingMask?:tensor?";
const LOSS = "input:tensor target:tensor";

/** `forward` of modules that are there; that of others belongs to whoever writes them. */
export const FORWARD = {
  CELU: "input:tensor",
  ELU: "input:tensor",
  GELU: "input:tensor",
  GLU: "input:tensor",
  Hardshrink: "input:tensor",
  Hardsigmoid: "input:tensor",
  Hardswish: "input:tensor",
  Hardtanh: "input:tensor",
  LeakyReLU: "input:tensor",
  LogSigmoid: "input:tensor",
  Mish: "input:tensor",
  PReLU: "input:tensor",
  SELU: "input:tensor",
  SiLU: "input:tensor",
  Softmin: "input:tensor",
  Softplus: "input:tensor",
  Softshrink: "input:tensor",
  Softsign: "input:tensor",
  Tanhshrink: "input:tensor",
  Threshold: "input:tensor",
  BatchNorm1d: "input:tensor",
  BatchNorm2d: "input:tensor",
  BatchNorm3d: "input:tensor",
  Dropout: "input:tensor",
  GroupNorm: "input:tensor",
  GRU: "input:tensor hx?:tensor?",
  GRUCell: "input:tensor hx?:tensor?",
  LSTM: "input:tensor hx?:notDict",
  LSTMCell: "input:tensor hx?:notDict",
  RNN: "input:tensor hx?:tensor?",
  RNNCell: "input:tensor hx?:tensor?",
  HuberLoss: LOSS,
  InstanceNorm1d: "input:tensor",
  InstanceNorm2d: "input:tensor",
  InstanceNorm3d: "input:tensor",
  L1Loss: LOSS,
  LayerNorm: "input:tensor",
  Linear: "input:tensor",
  LogSoftmax: "input:tensor",
  MSELoss: LOSS,
  MultiheadAttention:
    "query:tensor key:tensor value:tensor keyPaddingMask?:tensor? needWeights?:bool attnMask?:tensor? " +
    "averageAttnWeights?:bool isCausal?:bool",
  ReLU: "input:tensor",
  TransformerEncoderLayer: "src:tensor srcMask?:tensor? srcKeyPaddingMask?:tensor? isCausal?:bool",
  TransformerDecoderLayer: `tgt:tensor memory:tensor ${DECODED} tgtIsCausal?:bool memoryIsCausal?:bool`,
  TransformerEncoder: "src:tensor mask?:tensor? srcKeyPaddingMask?:tensor? isCausal?:bool?",
  TransformerDecoder: `tgt:tensor memory:tensor ${DECODED} tgtIsCausal?:bool? memoryIsCausal?:bool`,
  Transformer:
    "src:tensor tgt:tensor srcMask?:tensor? tgtMask?:tensor? memoryMask?:tensor? srcKeyPaddingMask?:tensor? " +
    "tgtKeyPaddingMask?:tensor? memoryKeyPaddingMask?:tensor? srcIsCausal?:bool? tgtIsCausal?:bool? " +
    "memoryIsCausal?:bool",
  RMSNorm: "input:tensor",
  Sigmoid: "input:tensor",
  SmoothL1Loss: LOSS,
  Softmax: "input:tensor",
  Tanh: "input:tensor",
};

/** Methods of every module. */
export const MODULE = {
  registerParameter: "name:any param:any",
  registerBuffer: "name:any tensor:any persistent?:bool",
  addModule: "name:any module:any",
  registerModule: "name:any module:any",
  registerForwardPreHook: "hook:fn | prepend:bool",
  registerForwardHook: "hook:fn | prepend:bool alwaysCall:bool",
  namedModules: "prefix?:string removeDuplicate?:bool",
  modules: "",
  namedChildren: "",
  children: "",
  namedParameters: "prefix?:string recurse?:bool removeDuplicate?:bool",
  parameters: "recurse?:bool",
  namedBuffers: "prefix?:string recurse?:bool removeDuplicate?:bool",
  buffers: "recurse?:bool",
  getSubmodule: "target:string",
  getParameter: "target:string",
  getBuffer: "target:string",
  apply: "fn:fn",
  train: "mode?:notDict",
  eval: "",
  requiresGrad_: "requiresGrad?:bool",
  zeroGrad: "setToNone?:bool",
  to: "target?:placement? dtype?:dtype? | device:any nonBlocking:bool",
  float: "",
  double: "",
  half: "",
  bfloat16: "",
  type: "dtype:any",
  cpu: "",
  cuda: "device?:any",
  stateDict: "| destination:dict prefix:string keepVars:bool",
  loadStateDict: "state:any | strict:bool assign:bool",
  extraRepr: "",
  resetParameters: "",
  resetRunningStats: "",
  flattenParameters: "",
  toString: "",
};

/** Functions of the class `Transformer`. */
export const TRANSFORMER = { generateSquareSubsequentMask: "sz:int device?:any dtype?:any" };

/** Methods of containers in order. */
export const ORDERED = {
  at: "index:any",
  setAt: "index:any module:any",
  append: "module:any",
  extend: "modules:notDict",
  insert: "index:int module:any",
};

/** Methods of containers by name. */
export const DICT = {
  update: "modules:any",
  get: "key:string",
  set: "key:any module:any",
  has: "key:any",
  keys: "",
  values: "",
  items: "",
};

const DRAWN = "generator?:generator?";
const KAIMING = "tensor:tensor | a:number mode:any nonlinearity:string generator:generator";

/** Functions; those of `nn.init` by their own names. */
export const FUNCTIONS = {
  deepcopy: "module:module",
  getTotalNorm: "tensors:any normType?:number errorIfNonfinite?:bool foreach?:bool?",
  clipGradNorm_: "parameters:any maxNorm:number normType?:number errorIfNonfinite?:bool foreach?:bool?",
  clipGradValue_: "parameters:any clipValue:number foreach?:bool?",
  parametersToVector: "parameters:any",
  vectorToParameters: "vec:any parameters:any",
  calculateGain: "nonlinearity:string param?:notDict",
  calculateFanInAndFanOut: "tensor:tensor",
  uniform_: `tensor:tensor a?:number b?:number ${DRAWN}`,
  normal_: `tensor:tensor mean?:number std?:number ${DRAWN}`,
  truncNormal_: `tensor:tensor mean?:number std?:number a?:number b?:number ${DRAWN}`,
  constant_: "tensor:tensor val:notDict",
  ones_: "tensor:tensor",
  zeros_: "tensor:tensor",
  eye_: "tensor:tensor",
  dirac_: "tensor:tensor groups?:int",
  xavierUniform_: `tensor:tensor gain?:number ${DRAWN}`,
  xavierNormal_: `tensor:tensor gain?:number ${DRAWN}`,
  kaimingUniform_: KAIMING,
  kaimingNormal_: KAIMING,
};

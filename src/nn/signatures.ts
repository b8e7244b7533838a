// What the classes and functions of this room take, as data that src/tensor/checks.ts reads.

const PLACE = "device:any dtype:any";
const LAYER =
  "dModel:int nhead:int dimFeedforward?:int dropout?:number activation?:activation layerNormEps?:number " +
  `batchFirst?:bool normFirst?:bool bias?:bool | ${PLACE}`;
const STACK = "numLayers:int norm?:module?";

const CHANNELS = "inChannels:int outChannels:int kernelSize:size stride?:size";
const GROUPS = "groups?:int bias?:bool";
const MODE = `paddingMode?:string | ${PLACE}`;
const CONVOLUTION = `${CHANNELS} padding?:wordOrSizes dilation?:size ${GROUPS} ${MODE}`;
const CONVOLUTION_BACK = `${CHANNELS} padding?:size outputPadding?:size ${GROUPS} dilation?:size ${MODE}`;
const MAXIMUM = "kernelSize:size stride?:size? padding?:size dilation?:size returnIndices?:bool ceilMode?:bool";
const AVERAGE =
  "kernelSize:size stride?:size? padding?:size ceilMode?:bool countIncludePad?:bool divisorOverride?:int?";

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
  AdaptiveAvgPool1d: "outputSize:sizesOrNull",
  AdaptiveMaxPool1d: "outputSize:sizesOrNull returnIndices?:bool",
  AdaptiveAvgPool2d: "outputSize:sizesOrNull",
  AdaptiveMaxPool2d: "outputSize:sizesOrNull returnIndices?:bool",
  AdaptiveAvgPool3d: "outputSize:sizesOrNull",
  AdaptiveMaxPool3d: "outputSize:sizesOrNull returnIndices?:bool",
  AvgPool1d: "kernelSize:size stride?:size? padding?:size ceilMode?:bool countIncludePad?:bool",
  AvgPool2d: AVERAGE,
  AvgPool3d: AVERAGE,
  Conv1d: CONVOLUTION,
  Conv2d: CONVOLUTION,
  Conv3d: CONVOLUTION,
  ConvTranspose1d: CONVOLUTION_BACK,
  ConvTranspose2d: CONVOLUTION_BACK,
  ConvTranspose3d: CONVOLUTION_BACK,
  Buffer: "data:tensor | persistent:bool",
  Dropout: "p?:number inplace?:bool",
  HuberLoss: "| reduction:string delta:number",
  L1Loss: "| reduction:string",
  LayerNorm: `normalizedShape:size eps?:number elementwiseAffine?:bool bias?:bool | ${PLACE}`,
  Linear: `inFeatures:int outFeatures:int bias?:bool | ${PLACE}`,
  MaxPool1d: MAXIMUM,
  MaxPool2d: MAXIMUM,
  MaxPool3d: MAXIMUM,
  ModuleDict: "modules?:any",
  ModuleList: "modules?:notDict",
  MSELoss: "| reduction:string",
  MultiheadAttention:
    "embedDim:int numHeads:int dropout?:number bias?:bool addBiasKv?:bool addZeroAttn?:bool kdim?:int? vdim?:int? " +
    `batchFirst?:bool | ${PLACE}`,
  Parameter: "data:tensor requiresGrad?:bool",
  ReLU: "inplace?:bool",
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
  TransformerEncoder: `encoderLayer:module ${STACK}`,
  TransformerEncoderLayer: LAYER,
};

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
  Dropout: "input:tensor",
  AdaptiveAvgPool1d: "input:tensor",
  AdaptiveMaxPool1d: "input:tensor",
  AvgPool1d: "input:tensor",
  Conv1d: "input:tensor",
  ConvTranspose1d: "input:tensor outputSize?:ints?",
  MaxPool1d: "input:tensor",
  AdaptiveAvgPool2d: "input:tensor",
  AdaptiveMaxPool2d: "input:tensor",
  AvgPool2d: "input:tensor",
  Conv2d: "input:tensor",
  ConvTranspose2d: "input:tensor outputSize?:ints?",
  MaxPool2d: "input:tensor",
  AdaptiveAvgPool3d: "input:tensor",
  AdaptiveMaxPool3d: "input:tensor",
  AvgPool3d: "input:tensor",
  Conv3d: "input:tensor",
  ConvTranspose3d: "input:tensor outputSize?:ints?",
  MaxPool3d: "input:tensor",
  HuberLoss: LOSS,
  L1Loss: LOSS,
  LayerNorm: "input:tensor",
  Linear: "input:tensor",
  LogSoftmax: "input:tensor",
  MSELoss: LOSS,
  ReLU: "input:tensor",
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
  toString: "",
};

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

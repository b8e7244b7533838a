// What functions and members that are no operators take, as data that checks.ts reads; operators have the schema.

const DATA = "data:notDict | dtype:any device:any requiresGrad:bool";

/** Members of Tensor. */
export const MEMBERS = {
  size: "dim?:dim",
  stride: "dim?:dim",
  dim: "",
  numel: "",
  nelement: "",
  elementSize: "",
  storageOffset: "",
  dataPtr: "",
  untypedStorage: "",
  isFloatingPoint: "",
  isComplex: "",
  isSigned: "",
  isConj: "",
  isNeg: "",
  isView: "",
  requiresGrad_: "requiresGrad?:bool",
  retainGrad: "",
  registerHook: "hook:notDict",
  backward: "gradient?:notDict | retainGraph:bool createGraph:bool inputs:any",
  item: "",
  bigint: "",
  tolist: "",
  typedArray: "",
  storage: "",
  newTensor: DATA,
  where: "condition:notDict other:notDict",
} as const;

/** Functions of src/api, src/autograd and below. */
export const FUNCTIONS = {
  tensor: DATA,
  asTensor: "data:notDict | dtype:any device:any",
  fromTypedArray: "array:notDict",
  int: "value:notDict",
  float: "value:notDict",
  device: "device:notDict",
  canCast: "from:notDict to:notDict",
  promoteTypes: "type1:notDict type2:notDict",
  setDefaultDtype: "d:notDict",
  setNumThreads: "count:notDict",
  manualSeed: "seed:notDict",
  setRngState: "newState:notDict",
  inferMeta: "body:fn",
  setWarningPolicy: "next:notDict",
  noGrad: "body?:fn",
  enableGrad: "body?:fn",
  setGradEnabled: "mode:notDict",
  scope: "body?:fn",
  backward: "tensors:notDict gradTensors?:notDict | retainGraph:bool createGraph:bool inputs:any",
  grad:
    "outputs:notDict inputs:notDict | " +
    "gradOutputs:any retainGraph:bool createGraph:bool allowUnused:bool materializeGrads:bool",
  registerPostAccumulateGradHook: "leaf:notDict hook:notDict",
} as const;

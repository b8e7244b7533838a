// What functions and members that are no operators take, as data that checks.ts reads; operators have the schema.

const DATA = "data:notDict | dtype:any device:any requiresGrad:bool pinMemory:bool";

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
  typedArray: "dtype?:notDict",
  storage: "",
  dispose: "",
  newTensor: DATA,
  where: "condition:notDict other:notDict",
} as const;

/** Functions of src/api, src/autograd and below. */
export const FUNCTIONS = {
  tensor: DATA,
  asTensor: "data:notDict | dtype:any device:any pinMemory:bool",
  fromTypedArray: "array:notDict",
  int: "value:notDict",
  float: "value:notDict",
  slice: "start?:notDict stop?:notDict step?:notDict",
  device: "type:notDict index?:int?",
  canCast: "from:notDict to:notDict",
  promoteTypes: "type1:notDict type2:notDict",
  resultType: "tensor:notDict other:notDict",
  getDefaultDtype: "",
  setDefaultDtype: "d:notDict",
  finfo: "type?:notDict",
  iinfo: "type:notDict",
  getDefaultDevice: "",
  setDefaultDevice: "device:notDict",
  withDevice: "device:notDict body?:fn",
  getPrintoptions: "",
  setPrintoptions: "| profile:any precision:any threshold:any edgeitems:any linewidth:any sciMode:any sci_mode:any",
  getNumThreads: "",
  setNumThreads: "count:notDict",
  getFloat32MatmulPrecision: "",
  setFloat32MatmulPrecision: "precision:=highest,high,medium",
  seed: "",
  initialSeed: "",
  manualSeed: "seed:notDict",
  getRngState: "",
  setRngState: "newState:notDict",
  inferMeta: "body:fn",
  setWarningPolicy: "next:=once,always,never",
  warn: "text:string type?:string",
  isGradEnabled: "",
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

/** The constructor of `Generator`. */
export const GENERATOR = "device?:notDict";

/** The other form of `device`. */
export const DEVICE = "device:notDict";

/** Functions of the namespace `cpu` that stand there only. */
export const CPU = {
  isa: "",
  bestIsa: "",
  isAvailable: "",
  deviceCount: "",
  synchronize: "",
  memoryAllocated: "",
  maxMemoryAllocated: "",
  resetPeakMemoryStats: "",
  memoryReserved: "",
  emptyCache: "",
  memoryStats: "",
} as const;

/** Methods of classes beside Tensor. */
export const CLASSES = {
  Complex: { equals: "other:notDict" },
  Device: { repr: "", equals: "other:notDict" },
  Generator: {
    manualSeed: "seed:notDict",
    initialSeed: "",
    seed: "",
    getState: "",
    setState: "newState:notDict",
    cloneState: "",
  },
  Size: { numel: "" },
  TypedStorage: {
    size: "",
    nbytes: "",
    elementSize: "",
    dataPtr: "",
    untyped: "",
    at: "index:notDict",
    setAt: "index:notDict value:notDict",
    fill_: "value:notDict",
    tolist: "",
  },
  UntypedStorage: {
    nbytes: "",
    size: "",
    dataPtr: "",
    at: "index:notDict",
    fill_: "value:notDict",
    clone: "",
    resize_: "nbytes:notDict",
    tolist: "",
  },
} as const;

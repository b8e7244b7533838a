// What the methods and functions of this room take, as data: `name:kind` for each argument (`?` when it may be missing,
// `...` when it takes the rest), and after `|` the names of the options. src/tensor/checks.ts reads it.
import { BACKGROUND, LAYOUT, PLACE, REMOTE, UNKNOWN, WRITE } from "../../io/base/signatures.ts";

const KEYS_UPDATE = "nonBlocking:bool keysToUpdate:keyList";
const LISTING = "includeNested?:bool leavesOnly?:bool | isLeaf:fn sort:bool";
const MEMMAP = "copyExisting:bool numThreads:int existsok:bool robustKey:bool fsync:bool atomic:bool";
const ARCHIVE = "archive:bool compression:any";
const HOSTILE = "followLinks:bool maxBytes:number pickles:=refuse,keep,plain";
const LOAD = `${PLACE} mode:any robustKey:bool numThreads:int ${HOSTILE}`;
const CONSOLIDATE = `filename:text inplace:bool shareMemory:bool ${PLACE} ${WRITE}`;
const FROM_H5 = `filename:text | mode:any batchSize:any batchDims:int nonTensorAsStack:bool ${PLACE} ${UNKNOWN}`;
const STATE = "batchSize:any device:any names:names";

const TABLE = "autoBatchSize:bool batchDims:int? device:any batchSize:any separator:string? dtype:any";
const CSV = "sep:string quotechar:string header:bool names:strings usecols:any nrows:int? skiprows:int";
const PARTS =
  "rows:int format:string? separator:string? dtype:any device:any columns:any copy:any nulls:string maskKey:any";
const TO_TABLE = "separator:string? fsync:bool";
const TO_CSV = "sep:string header:bool naRep:string";

/** Options of constructors. */
export const CONSTRUCTOR = `${STATE} lock:bool nonBlocking:bool`;

/** Options of `TensorDictParams`. */
export const PARAMS = "noConvert:=bool,skip lock:bool";

/** Options of files of HDF5. */
const OPENED = "filename:text group:any mode:string written:text nonTensorAsStack:bool";
export const PERSISTENT = `${OPENED} ${UNKNOWN} ${STATE} ${LAYOUT}`;

/** Constructors. */
export const CONSTRUCTORS = {
  TensorDict: `source?:any batchSize?:any | ${CONSTRUCTOR}`,
  LazyStackedTensorDict: `members?:tds | stackDim:int stackDimName:string? ${STATE} strictShape:bool`,
  TensorDictParams: `parameters?:any | ${PARAMS}`,
  NonTensorData: `data:any | ${CONSTRUCTOR}`,
  PersistentTensorDict: `| ${PERSISTENT}`,
  UnbatchedTensor: "data:any | batchSize:any",
};

const PLAIN = "convertTensors:=bool,numpy tolistFirst:bool retainNone:bool";
/** Options of what is made of other things. */
export const MAKE = `${STATE} lock:bool autoBatchSize:bool? batchDims:int?`;
const SCHEMA = "batchSize:any device:any storage:string? prefix:text filename:text";

const APPLY =
  "batchSize:any device:any names:names inplace:bool default:any filterEmpty:bool? " +
  "propagateLock:bool isLeaf:fn? callOnNested:bool out:td?";

const REDUCED = "dim?:dimOrFeature? keepdim?:bool";
const EXTREMES = `${REDUCED} | reduce:bool returnIndices:bool`;
const CUMULATED = "dim:int | reduce:bool returnIndices:bool";
const SCALED = "other1:operand other2:operand | value:number";

const MAP = "fn:mapFunction dim?:int numWorkers?:int? | chunksize:int? numChunks:int?";
const MAP_POOL = "generator:generator maxTasksPerChild:int? workerThreads:int? pbar:bool mpStartMethod:string?";

const JOIN = "...keys:key | outKey!:key dim:int keepEntries:bool";

/** Options of `namedApply`. */
export const NAMED_APPLY = `${APPLY} nestedKeys:bool`;

/** Methods of every collection. */
export const METHODS = {
  refineNames: "...names:string?",
  lock_: "",
  unlock_: "",
  setAt: "index:any value:value",
  set: "key:key value:value | inplace:bool nonBlocking:bool",
  set_: "key:key value:value | nonBlocking:bool",
  setAt_: "key:key value:value index:any | nonBlocking:bool",
  setdefault: "key:key value:value",
  getNonTensor: "key:key",
  has: "key:key",
  keys: LISTING,
  values: LISTING,
  items: LISTING,
  update: `source?:source? | clone:bool inplace:bool isLeaf:fn? updateBatchSize:bool ${KEYS_UPDATE} **:value`,
  update_: `source?:source? | clone:bool ${KEYS_UPDATE} **:value`,
  updateAt_: `source:source index:any | clone:bool ${KEYS_UPDATE}`,
  copy_: "source:td | nonBlocking:bool",
  del_: "key:key",
  pop: "key:key fallback?:any",
  clear: "",
  renameKey_: "oldKey:key newKey:key | safe:bool",
  select: "...keys:key | inplace:bool strict:bool asTensordict:bool",
  exclude: "...keys:key | inplace:bool",
  flattenKeys: "separator?:string | inplace:bool isLeaf:fn?",
  unflattenKeys: "separator?:string | inplace:bool",
  clone: "recurse?:bool",
  copy: "",
  to:
    "target?:target dtype?:notDict nonBlocking?:bool | device:any batchSize:any other:any inplace:bool " +
    "nonBlockingPin:bool numThreads:int",
  cpu: "",
  cuda: "index?:int",
  clearDevice_: "",
  clearDevice: "",
  contiguous: "| canonical:bool inplace:bool",
  detach: "",
  requiresGrad_: "requiresGrad?:bool",
  view: "...size:sizeOrDtype | batchSize:any",
  reshape: "...size:size | inplace:bool",
  expand: "...size:size",
  permute: "...dims:size",
  transpose: "dim0:int dim1:int",
  unsqueeze: "dim:int",
  squeeze: "dim?:int",
  flatten: "startDim?:int? endDim?:int? | inplace:bool",
  unflatten: "dim:int unflattenedSize:ints | inplace:bool",
  split: "splitSize:intOrInts dim?:int",
  chunk: "chunks:int dim?:int",
  unbind: "dim?:int",
  gather: "dim:int index:tensor | out:td sparseGrad:bool inplace:bool",
  repeat: "...repeats:size | inplace:bool",
  maskedSelect: "mask:tensor",
  movedim: "source:intOrInts destination:intOrInts",
  moveaxis: "source:intOrInts destination:intOrInts",
  swapdims: "dim0:int dim1:int",
  swapaxes: "axis0:int axis1:int",
  map: `${MAP} out:td? indexWithGenerator:bool ${MAP_POOL}`,
  mapIter: `${MAP} shuffle:bool indexWithGenerator:bool ${MAP_POOL}`,
  narrow: "dim:int start:int length:int",
  tensorSplit: "indicesOrSections:intOrInts dim?:int",
  flip: "...dims:size",
  repeatInterleave: "repeats:intOrTensor dim?:int? | inplace:bool",
  broadcastTo: "size:intOrInts",
  expandAs: "other:td",
  pad: "padSize:ints value?:number | inplace:bool safe:bool",
  tile: "dims:intOrInts",
  atleast1d: "",
  atleast2d: "",
  atleast3d: "",
  ndimension: "",
  newZeros: "...size:size | dtype:any requiresGrad:bool emptyLazy:bool",
  newOnes: "...size:size | dtype:any requiresGrad:bool emptyLazy:bool",
  newEmpty: "...size:size | dtype:any requiresGrad:bool emptyLazy:bool",
  newFull: "size:intOrInts fillValue:number | dtype:any requiresGrad:bool emptyLazy:bool",
  entryClass: "key:key",
  getAt: "key:key index:any fallback?:any",
  isNonTensor: "key:key",
  isShared: "",
  popitem: "",
  toTensordict: "| retainNone:bool",
  toDict: `| ${PLAIN}`,
  tolist: `| ${PLAIN} convertNodes:bool`,
  toPytree: "",
  renameKeys: "mapping:map | strict:bool",
  nonTensorItems: "includeNested?:bool",
  getItemShape: "key:key",
  isContiguous: "",
  isFloatingPoint: "",
  dataPtr: "",
  autoDevice_: "",
  detach_: "",
  backward: "gradient?:td? | retainGraph:bool createGraph:bool",
  filterNonTensorData: "",
  toLazystack: "dim?:int",
  densify: "layout?:=strided,jagged",
  zeroGrad: "setToNone?:bool",
  setNonTensor: "key:key value:any",
  apply: `fn:fn ...others:td | ${APPLY}`,
  apply_: "fn:fn ...others:td",
  namedApply: "fn:fn options?:dict ...others:td",
  empty: `recurse?:bool | ${STATE}`,
  toModule: "module:moduleLike | preserveModuleState:bool",
  size: "dim?:int",
  dim: "",
  numel: "",
  bytes: "",
  isEmpty: "",
  all: "dim?:int",
  any: "dim?:int",
  pack: "dim?:int | layout:any",
  toPaddedTensor: "padding?:number | maskKey:any",
  toStructArray: "",
  attrs: "| fields:strings",
  fromDictInstance: `inputDict:source | ${STATE} autoBatchSize:bool? batchDims:int?`,
  shareMemory_: "",
  pinMemory: "| inplace:bool",
  pinMemory_: "",
  mod: "other:operand",
  rsub: "other:operand | alpha:number default:fallback",
  zero_: "",
  fill_: "key:key value:number",
  min: EXTREMES,
  max: EXTREMES,
  clamp: "min:operand? max?:operand?",
  clampMin: "other:operand | default:fallback",
  clampMax: "other:operand | default:fallback",
  clampMin_: "other:operand",
  clampMax_: "other:operand",
  lerp: "end:operand weight:operand",
  lerp_: "end:operand weight:operand",
  addcmul: SCALED,
  addcmul_: SCALED,
  addcdiv: SCALED,
  addcdiv_: SCALED,
  logsumexp: "dim?:intOrInts? | keepdim:bool out:any",
  cummax: CUMULATED,
  cummin: CUMULATED,
  norm: "| out:any dtype:any keyTransform:any",
  quantile: "q:notDict dim?:dimOrFeature? keepdim?:bool | interpolation:string reduce:bool keyTransform:any",
  roll: "shifts:intOrInts dims?:intOrInts? | inplace:bool",
  rot90: "k?:int dims?:ints",
  fliplr: "",
  flipud: "",
  softmax: "dim:int dtype?:notDict",
  maskedFill: "mask:tensor value:number",
  maskedFill_: "mask:tensor value:number",
  type: "dstType:notDict",
  splitKeys: "...sets:keySet | inplace:bool default:any strict:bool reproduceStruct:bool",
  separates: "...keys:key | default:any strict:bool filterEmpty:bool",
  filterEmpty_: "",
  createNested: "key:key",
  replace: "source:source",
  stackTensors: JOIN,
  catTensors: JOIN,
  catFromTensordict: "dim?:int | sorted:boolOrKeys",
  stackFromTensordict: "dim?:int | sorted:boolOrKeys",
  where: "condition:tensor other:operand | out:any pad:any",
  newTensor: "data:notDict | dtype:any device:any requiresGrad:bool",
  autoBatchSize_: "batchDims?:int? | keepCompliantSize:bool",
  paramCount: "| countDuplicates:bool",
  asTensor: "",
  toNamedtuple: "",
  numpy: "",
  rename: "...names:value",
  rename_: "...names:value",
  copyAt_: "source:source index:any | fast:bool nonBlocking:bool",
  isMemmap: "",
  memmap: `prefix?:text? | ${MEMMAP} ${ARCHIVE} returnEarly:bool`,
  memmap_: `prefix?:text? | ${MEMMAP} returnEarly:bool`,
  memmapLike: `prefix?:text? | ${MEMMAP} ${ARCHIVE}`,
  memmapAsync: `prefix:text? | ${MEMMAP} ${ARCHIVE} ${BACKGROUND}`,
  save: `prefix:text | ${MEMMAP} ${ARCHIVE}`,
  dumps: `prefix:text | ${MEMMAP} ${ARCHIVE}`,
  saveAsync: `prefix:text | ${MEMMAP} ${ARCHIVE} ${BACKGROUND}`,
  toCsv: `path:text | ${TO_TABLE} ${TO_CSV}`,
  toJson: `path:text | ${TO_TABLE} lines:bool`,
  toParquet: `path:text | ${TO_TABLE} compression:string rowGroupSize:int`,
  toArrow: "",
  toH5: `filename:text | ${LAYOUT}`,
  toH5Async: `filename:text | ${LAYOUT} ${BACKGROUND}`,
  consolidate: `| ${CONSOLIDATE}`,
  consolidateAsync: `| ${CONSOLIDATE} ${BACKGROUND}`,
  isConsolidated: "",
  stateDict: "| flatten:bool prefix:string keepVars:bool",
  loadStateDict: "state:source | strict:bool assign:bool",
  loadMemmap_: `prefix:text | ${LOAD}`,
  load_: `prefix:text | ${LOAD}`,
  memmapRefresh_: "| pickles:=refuse,keep,plain",
  makeMemmap: "key:key shape:ints | dtype:any",
  makeMemmapFromTensor: "key:key tensor:tensor | copyData:bool",
  makeMemmapFromStorage: "key:key storage:storage shape:ints | dtype:any",
};

/** Methods that look at their arguments themselves, since they are called all the time. */
export const UNWRAPPED = { get: "key:key fallback?:any" };

/** Forms that many methods share. */
export const FORMS = {
  unary: "",
  binary: "other:operand",
  defaulted: "other:operand | default:fallback",
  sum: "other:operand | alpha:number default:fallback",
  sumInPlace: "other:operand | alpha:number",
  compare: "other:any",
  cast: "| castFilter:fn",
  reduce: `${REDUCED} | reduce:bool`,
  totals: `${REDUCED} | dtype:any reduce:bool`,
  total: `${REDUCED} | dtype:any reduce:bool keyTransform:any`,
  spread: `${REDUCED} | correction:int reduce:bool keyTransform:any`,
};

/** Methods of lazy stacks. */
export const LAZY_METHODS = {
  getRagged: "key:key | asList:bool asPaddedTensor:bool paddingValue:number",
  append: "tensordict:any",
  extend: "tensordict:any",
  insert: "index:int tensordict:any",
  setEach: "key:key values:list",
};

/** Methods of nested tensors. */
export const NESTED_METHODS = {
  dim: "",
  numel: "",
  size: "dim:int",
  unbind: "dim?:int",
  tolist: "",
  clone: "",
  detach: "",
  to: "target?:notDict | device:any dtype:any",
  toPaddedTensor: "padding:number outputSize?:ints?",
};

/** Methods of layouts of packed tensors. */
export const LAYOUT_METHODS = { unpack: "flat:tensor" };

/** Methods of wrapped values. */
export const VALUE_METHODS = { toStack: "", tolist: "", maybeToStack: "" };

const FILE = "filename:text existsok:bool";
const MAPPED = `dtype:any ${FILE}`;

/** Methods of collections in HDF5 files. */
export const PERSISTENT_METHODS = {
  close: "",
  toTensorDict: "",
  memmap_: METHODS.memmap_,
  requiresGrad_: METHODS.requiresGrad_,
};

/** Class methods of collections in HDF5 files. */
export const PERSISTENT_STATICS = {
  fromH5: FROM_H5,
  fromDict: `inputDict:source filename:text | written:text nonTensorAsStack:bool ${STATE} ${LAYOUT}`,
};

/** Methods of TensorDictParams that differ from those of other collections, beside those of modules. */
export const PARAMS_METHODS = { registerGetPostHook: "hook:any", maskedSelect: "mask:tensor | inplace:bool" };

/** Methods of memory-mapped tensors. */
export const MAPPED_METHODS = { flush: "" };

/** Methods of results that come later. */
export const FUTURE_METHODS = { result: "" };

/** Class methods of MemoryMappedTensor. */
export const MAPPED_STATICS = {
  empty: `shape:intOrInts | ${MAPPED}`,
  zeros: `shape:intOrInts | ${MAPPED}`,
  ones: `shape:intOrInts | ${MAPPED}`,
  full: `shape:intOrInts fillValue:number | ${MAPPED}`,
  emptyLike: `input:tensor | ${MAPPED}`,
  zerosLike: `input:tensor | ${MAPPED}`,
  onesLike: `input:tensor | ${MAPPED}`,
  fullLike: `input:tensor fillValue:number | ${MAPPED}`,
  fromTensor: `input:tensor | ${FILE} copyExisting:bool copyData:bool`,
  fromFilename: "filename:text | dtype:any shape!:intOrInts mode:=r,r+,c index:any",
};

const STRUCT_ARRAY = "structArray:any | autoBatchSize:bool? batchDims:int? device:any batchSize:any";

/** Class methods of TensorDict. */
export const STATICS = {
  loadMemmap: `prefix:text | ${LOAD} subpath:any out:td`,
  load: `prefix:text | ${LOAD} subpath:any out:td`,
  loadMemmapAsync: `prefix:text | ${LOAD} subpath:any out:td ${BACKGROUND}`,
  loadAsync: `prefix:text | ${LOAD} subpath:any out:td ${BACKGROUND}`,
  fromH5: FROM_H5,
  fromCsv: `path:text | ${TABLE} ${CSV}`,
  fromJson: `path:text | ${TABLE} lines:bool`,
  fromParquet: `path:text | ${TABLE} columns:any`,
  fromArrow: "table:any | copy:any nulls:string maskKey:any device:any",
  fromConsolidated: `filename:text | ${PLACE}`,
  fromModule: "module:moduleLike | lock:bool",
  fromModules: "...modules:moduleLike | asModule:bool lock:bool lazyStack:bool expandIdentical:bool",
  fromDict: `inputDict:source batchSize?:any | ${MAKE}`,
  fromAny: `obj:value | ${MAKE}`,
  fromTuple: `obj:list | ${MAKE}`,
  fromList: `input:list | ${MAKE} lazy:bool?`,
  fromNamedtuple: `namedTuple:dict | ${MAKE}`,
  fromDataclass: `dataclass:record | ${MAKE}`,
  fromPytree: `pytree:value | ${MAKE}`,
  fromSchema: `schema:dict | ${SCHEMA}`,
  fromkeys: "keys:list value?:any",
  fromStructArray: STRUCT_ARRAY,
  stack: "input:tds dim?:int | out:td?",
  lazyStack: "input:tds dim?:int | out:td? stackDimName:string? strictShape:bool",
  maybeDenseStack: "input:tds dim?:int | out:td?",
  cat: "input:tds dim?:int | out:td?",
};

/** Functions. */
export const FUNCTIONS = {
  setLazyLegacy: "mode:bool",
  lazyLegacy: "",
  setCaptureNonTensorStack: "mode:bool",
  captureNonTensorStack: "",
  setListToStack: "mode:bool",
  listToStack: "",
  setGetDefaultsToNull: "mode:bool",
  getDefaultsToNull: "",
  setTensorDictPrintoptions:
    "| compact:bool showShape:bool showFieldDevice:bool showDtype:bool showFieldIsShared:bool showBatchSize:bool " +
    "showDevice:bool showIsShared:bool showGrad:bool showIsContiguous:bool showIsView:bool showStorageSize:bool " +
    "plain:bool sortKeys:=bool,alphabetical,insertion",
  getTensorDictPrintoptions: "",
  unravelKey: "key:notDict",
  nestedTensor: "tensorList:notDict | dtype:any device:any requiresGrad:bool",
  asNestedTensor: "ts:notDict | dtype:any device:any",
  toPaddedTensor: "input:nested padding:number outputSize?:ints?",
  assertClose: "actual:td expected:td rtol?:number? atol?:number? equalNan?:bool msg?:text",
  stack: "tensors:tds dim?:int | out:td?",
  denseStack: "tdList:tds dim?:int",
  denseStackTds: "tdList:any dim?:int?",
  cat: "tensors:tds dim?:int | out:td?",
  fromModule: "module:moduleLike | lock:bool",
  fromModules: "...modules:moduleLike | asModule:bool lock:bool lazyStack:bool expandIdentical:bool",
  toModule: "tensordict:td module:moduleLike | preserveModuleState:bool",
  loadRemote: `url:text | ${PLACE} subpath:any keys:list rows:ints pickles:=refuse,keep,plain ${REMOTE}`,
  saveRemote: `data:td url:text | robustKey:bool ${REMOTE}`,
  tensorclass: "fields:dict | pythonName:string",
  registerTensorClass: "target:fn",
  unravelKeyList: "keys:keys",
  unravelKeyToTuple: "key:any",
  convertEllipsisToIdx: "idx:any batchSize:ints",
  lazyStack: "items:tds dim?:int | out:td? stackDimName:string? strictShape:bool",
  maybeDenseStack: "items:tds dim?:int | out:td?",
  memmap: `data:td prefix?:text? | ${MEMMAP} ${ARCHIVE} returnEarly:bool`,
  loadMemmap: STATICS.loadMemmap,
  loadMemmapAsync: STATICS.loadMemmapAsync,
  makeTensordict: `inputDict:source | ${MAKE}`,
  fromDict: `inputDict:source | ${MAKE}`,
  fromAny: STATICS.fromAny,
  fromH5: STATICS.fromH5,
  fromkeys: STATICS.fromkeys,
  fromTuple: STATICS.fromTuple,
  fromNamedtuple: STATICS.fromNamedtuple,
  fromDataclass: STATICS.fromDataclass,
  fromPytree: STATICS.fromPytree,
  parseTensorDictString: "s:string",
  defaultIsLeaf: "cls:fn",
  fromStructArray: STRUCT_ARRAY,
  isInexact: "...args:item",
  isFloating: "...args:item",
  isInteger: "...args:item",
  isBool: "...args:item",
  isLeafNontensor: "cls:fn",
  pad: "tensordict:td padSize:ints value?:number | inplace:bool safe:bool",
  padSequence: "listOfTensordicts:tds | padDim:int paddingValue:any out:any returnMask:any paddingSide:any",
  unpadSequence: "padded:td mask?:tensorOrTd? | padDim:int",
  collate: "batch:any | padKeys:any nestedKeys:any maskKey:any",
  groupBy: "tensordict:td key:key",
  mergeTensordicts: "...tensordicts:tdOrTds | callbackExist:fnOrMap",
  expandRight: "tensor:tensor shape:ints",
  removeDuplicates: "input:td key:key dim?:int | returnIndices:bool",
  expandAsRight: "tensor:tensorOrTd dest:tensorOrTd",
  readTable: `path:text | ${PARTS} ${CSV}`,
  writeTable: `path:text parts:any | format:string? ${TO_TABLE} ${TO_CSV} compression:string rowGroupSize:int`,
  toShared: "value:tensorOrTd",
  fromShared: "shared:any",
  fromConsolidated: STATICS.fromConsolidated,
  toSafetensors: `data:td path:text | ${WRITE}`,
  toSafetensorsAsync: `data:td path:text | ${WRITE} ${BACKGROUND}`,
  save: `value:any path:text | ${MEMMAP} ${ARCHIVE} ${WRITE}`,
  saveAsync: `value:any path:text | ${MEMMAP} ${ARCHIVE} ${WRITE} ${BACKGROUND}`,
  load: `path:text | ${LOAD} ${UNKNOWN} subpath:any out:td`,
  loadAsync: `path:text | ${LOAD} ${UNKNOWN} subpath:any out:td ${BACKGROUND}`,
  fromSafetensors: `path:text | followLinks:bool ${PLACE} ${UNKNOWN}`,
  appendMemmap: "prefix:text rows:td",
};

// What the classes and functions of this room take, as data that src/tensor/checks.ts reads.

/** Options of what goes on in the background. */
export const BACKGROUND = "signal:any onProgress:fn";
/** Options of what writes a file. */
export const WRITE = "numThreads:int fsync:bool remote:any";
/** Options of what uses an S3 store. */
export const REMOTE = "client:any concurrency:int retries:int timeout:int signal:any onProgress:fn";
/** What becomes of objects that no value stands for, and of arrays that no tensor has elements for. */
export const UNKNOWN = "unknown:=describe,skip,refuse";
/** Where tensors of a file go. */
export const PLACE = "device:any";
/** How HDF5 files keep tensors. */
export const LAYOUT = "compression:any compressionOpts:int shuffle:bool chunks:any maxShape:any";

const TREE = "path:text | style:=indent,branches maxDepth:number maxLines:number followLinks:bool";
const NPZ = `mode:=r,r+,c verify:bool maxBytes:number ${PLACE} ${UNKNOWN}`;
const TAKE = "path!:text appState!:saved numThreads:int maxChunkBytes:number slabBytes:number fsync:bool";
const RESTORE = "appState!:restored rank:int memoryBudgetBytes:number maxBytes:number";

/** Functions. */
export const FUNCTIONS = {
  directoryTree: TREE,
  printDirectoryTree: TREE,
  download: `url:text path:text | ${REMOTE} fsync:bool`,
  hdf5Engine: "",
  loadGguf: `path:text | ${PLACE}`,
  loadHdf5: "h5wasm?:h5wasm?",
  loadNpy: `path:text | mode:=r,r+,c ${PLACE} ${UNKNOWN}`,
  loadNpz: `path:text | ${NPZ}`,
  loadNpzAsync: `path:text | ${NPZ} ${BACKGROUND}`,
  loadSafetensors: `path:text | followLinks:bool ${PLACE} ${UNKNOWN}`,
  loadTorch: `path:text | mapLocation:any maxBytes:number ${UNKNOWN}`,
  isMemmapArchive: "path:text",
  packMemmap: `prefix:text archivePath:text | ${WRITE} compression:any compressLevel:int`,
  readDirectory: "prefix:text | subpath:any robustKey:bool followLinks:bool maxDepth:number maxEntries:number",
  readPlainPickle: "bytes:bytes path:text",
  readSafetensorsHeader: "path:text",
  refreshArchiveChecksums: "archivePath:text",
  saveNpy: `path:text tensor:tensor | ${WRITE}`,
  saveNpyAsync: `path:text tensor:tensor | ${WRITE} ${BACKGROUND}`,
  saveNpz: `path:text tensors:namedOrList | ${WRITE} compressed:bool`,
  saveNpzAsync: `path:text tensors:namedOrList | ${WRITE} compressed:bool ${BACKGROUND}`,
  saveSafetensors: `tensors:named path:text | ${WRITE} metadata:named`,
  saveSafetensorsAsync: `tensors:named path:text | ${WRITE} metadata:named ${BACKGROUND}`,
  saveTorch: `value:any path:text | ${WRITE}`,
  saveTorchAsync: `value:any path:text | ${WRITE} ${BACKGROUND}`,
  unpackMemmap: "archivePath:text prefix:text | maxBytes:number",
  upload: `path:text url:text | ${REMOTE}`,
};

/** Constructors. */
export const CONSTRUCTORS = {
  GgufFile: `path:text | ${PLACE}`,
  Hdf5File: "path:text mode?:string written?:text?",
  PythonName: "module:text name:text",
  PythonObject:
    "callee:any | how:=new,call,storage,persistent args:list kwargs:any listItems:any dictItems:any state:any " +
    "stateSetter:any",
  SafetensorsFile: `path:text | followLinks:bool ${PLACE}`,
  Snapshot: "path:text | followLinks:bool",
  StateDict: "values?:dict",
};

/** Methods by class. */
export const METHODS = {
  GgufFile: {
    keys: "",
    entry: "name:text",
    tensor: "name:text",
    dequantize: "name:text",
    unknownKeys: "",
    unknown: "name:text",
  },
  Hdf5File: {
    keys: "group?:text",
    kind: "path:text",
    info: "path:text",
    read: "path:text ...index:any",
    write: "path:text value:tensor ...index:any",
    put: `path:text value:tensor | ${LAYOUT}`,
    putSteps: `path:text value:tensor | ${LAYOUT}`,
    values: "path:text",
    exactValues: "path:text lazy?:bool",
    putUnknown: "path:text value:unknownArray",
    putValues: "path:text values:list shape:ints stack:bool",
    createGroup: "path:text",
    remove: "path:text",
    move: "from:text to:text",
    extend: "path:text shape:list",
    flush: "",
    close: "",
  },
  PythonName: { toString: "" },
  PythonObject: { get: "name:text", stateDict: "", toString: "" },
  PendingSnapshot: { wait: "", done: "" },
  RemoteSafetensors: { tensor: "name:text | rows:any", tensors: "names?:strings", unknown: "name:text" },
  SafetensorsListing: { keys: "", entry: "name:text", unknownKeys: "" },
  SafetensorsFile: { tensor: "name:text", tensors: "", unknown: "name:text" },
  Snapshot: {
    restore: `| ${RESTORE}`,
    restoreAsync: `| ${RESTORE} ${BACKGROUND}`,
    readObject: "path:text | into:any memoryBudgetBytes:number maxBytes:number",
  },
  StateDict: { stateDict: "", loadStateDict: "state:dict" },
  UnknownArray: { toString: "", toJSON: "key?:string" },
};

/** Class methods by class. */
export const STATICS = {
  RemoteSafetensors: { open: `url:text | ${PLACE} ${REMOTE}` },
  Snapshot: { take: `| ${TAKE}`, asyncTake: `| ${TAKE} ${BACKGROUND}` },
};

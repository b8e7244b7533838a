// On what methods are called by test/api/by-name-exports.test.ts, and what is called in a way of its own, with reasons.
import * as Z from "../../src/index.ts";
import { modules as OF_NN } from "../nn-modules.ts";
import type { Any } from "./by-name.ts";
import { DISTRIBUTION_FAILS, DISTRIBUTION_RECEIVERS } from "./by-name-distributions.ts";
import { packed } from "./by-name-nn.ts";
import { OPTIM_FAILS, OPTIM_LEFT_OUT, OPTIM_PLACES_ONLY, OPTIM_RECEIVERS } from "./by-name-optim.ts";
import { MODULE_LEFT_OUT, MODULE_RECEIVERS } from "./by-name-td-nn.ts";
import { dense, differentiable, freshPath, gguf, linear, odd, safetensors, stateful, taken } from "./by-name-values.ts";

const { arange, io, nn, ones, TensorDict, zeros } = Z;
const values = () => arange(6).reshape(2, 3).float();
const whole = () => new TensorDict({ a: arange(3) }, [3]);
const modules = () => new nn.Sequential(linear(), new nn.ReLU());

/** What goes on in the background; its files must stay until then. */
export const background: PromiseLike<unknown>[] = [];
function later<T extends PromiseLike<unknown>>(made: T): T {
  background.push(made.then((one) => (one instanceof io.PendingSnapshot ? one.wait() : one)));
  return made;
}

/** By class, by method, or by both. */
export const RECEIVERS: Readonly<Record<string, () => Any>> = {
  ...OF_NN,
  ...DISTRIBUTION_RECEIVERS,
  ...OPTIM_RECEIVERS,
  ...MODULE_RECEIVERS,
  Complex: () => new Z.Complex(1, 2),
  Device: () => Z.device("cpu"),
  Event: () => new Z.cuda.Event({ enableTiming: true }),
  Generator: () => new Z.Generator().manualSeed(3),
  Size: () => ones(2, 3).shape,
  Tensor: values,
  "Tensor#item": () => ones([]),
  "Tensor#bigint": () => ones([]).long(),
  "Tensor#requiresGrad_": values,
  "Tensor#retainGrad": differentiable,
  "Tensor#registerHook": differentiable,
  "Tensor#backward": () => values().requiresGrad_().mul(2),
  TypedStorage: () => values().storage(),
  UntypedStorage: () => values().untypedStorage(),
  MemmapTensor: () => Z.MemoryMappedTensor.fromTensor(values()),
  NestedTensor: () => Z.nested.nestedTensor([ones(2), ones(3)]),
  NonTensorData: () => new Z.NonTensorData("text", { batchSize: [2] }),
  NonTensorStack: () => new Z.NonTensorStack(["a", "b"]),
  UnbatchedTensor: () => new Z.UnbatchedTensor(ones(2)),
  TensorDict: dense,
  LazyStackedTensorDict: () => Z.lazyStack([new TensorDict({ a: ones(3) }, [3]), new TensorDict({ a: zeros(3) }, [3])]),
  TensorDictParams: () => new Z.TensorDictParams(new TensorDict({ a: ones(2, 3), b: { c: ones(2, 3) } }, [2, 3])),
  unflattenKeys: () => new TensorDict({ "a.b": ones(2) }, [2]),
  "TensorDict#refineNames": () => new TensorDict({ a: ones(2, 3) }, [2, 3]),
  ...Object.fromEntries(
    ["toArrow", "toParquet", "toCsv", "toJson"].map((name) => [
      `TensorDict#${name}`,
      () => new TensorDict({ a: arange(3) }, [3]),
    ]),
  ),
  "TensorDict#backward": () => new TensorDict({ a: values().requiresGrad_().mul(2) }, [2, 3]),
  "TensorDict#stackTensors": () => new TensorDict({ a: ones(2) }, []),
  "TensorDict#memmapRefresh_": () => dense().memmap_(freshPath()),
  "TensorDict#makeMemmap": () => dense().memmap_(freshPath()),
  "TensorDict#makeMemmapFromTensor": () => dense().memmap_(freshPath()),
  "TensorDict#makeMemmapFromStorage": () => dense().memmap_(freshPath()),
  "TensorDict#pinMemory": () => new TensorDict({}, [2]),
  "TensorDict#pinMemory_": () => new TensorDict({}, [2]),
  PackLayout: () => dense().pack()[1],
  "TensorDict#toModule": () => TensorDict.fromModule(new nn.Linear(2, 2)),
  ...Object.fromEntries(
    ["bitwiseAnd", "bitwiseOr", "bitwiseXor", "bitwiseNot"].flatMap((name) =>
      [name, `${name}_`].map((one) => [`TensorDict#${one}`, whole] as const),
    ),
  ),
  PersistentTensorDict: () => Z.PersistentTensorDict.fromDict(dense(), freshPath("a.h5")),
  "PersistentTensorDict#unflattenKeys": () => Z.PersistentTensorDict.fromDict(dense(), freshPath("a.h5")),
  Hdf5File: () => withGroup(),
  TensorDictFuture: () => later(dense().memmap(freshPath(), { returnEarly: true })),
  PackedSequence: packed,
  Linear: linear,
  Sequential: modules,
  PythonName: () => new io.PythonName("a", "B"),
  PythonObject: () => new io.PythonObject(new io.PythonName("a", "B"), { state: { name: 1 } }),
  GgufFile: () => new io.GgufFile(gguf),
  SafetensorsFile: () => new io.SafetensorsFile(safetensors()),
  "io.SafetensorsFile#unknown": () => new io.SafetensorsFile(odd("odd.safetensors")),
  Snapshot: () => new io.Snapshot(taken()),
  StateDict: stateful,
  PendingSnapshot: () => later(io.Snapshot.asyncTake({ path: freshPath(), appState: { state: stateful() } })),
  Profile: () => Z.profiler.profile(() => ones(2).add(1)),
  Averages: () => Z.profiler.profile(() => ones(2).add(1)).keyAverages(),
};

function withGroup() {
  const file = new io.Hdf5File(freshPath("a.h5"), "w");
  file.createGroup("g");
  file.put("a", arange(6), { maxShape: [12] });
  return file;
}

const PRIVATE = "TypeScript's private and protected members";
const ANYTHING = "any number of anything";
const QUESTION = "a question that is asked of anything";
const ERROR = "errors are made as JavaScript's are: a message, then details";
const BRACKETS = "Python's brackets have no names";
const STORE = "there is no S3 store here; test/attack/room-arguments.test.ts tries wrong names";
const INNER = "not made by users: the declarations tell which function gives one";

/** Classes whose objects are made by functions. */
const MADE = [
  "DType",
  "MemmapTensor",
  "MemoryFormat",
  "NestedTensor",
  "Tensor",
  "TensorDictBase",
  "TypedStorage",
  "UntypedStorage",
  "io.UnknownArray",
  "io.PendingSnapshot",
  "io.RemoteSafetensors",
  "tensordict.PackLayout",
  "Device",
  "Averages",
  "profiler.Profile",
  "tensordict.PickledData",
  "tensordict.PythonClass",
  "tensordict.TensorClassBase",
  "tensordict.TensorDictFuture",
];
const UNWRITTEN = [
  "Module",
  "MultiheadAttention",
  "Transformer",
  "TransformerDecoder",
  "TransformerDecoderLayer",
  "TransformerEncoder",
  "TransformerEncoderLayer",
];
const HIDDEN = [
  "Averages#sorted",
  "Generator#begin",
  "NestedTensor#component",
  "NonTensorData#plain",
  "NonTensorData#withRaw",
  "NonTensorStack#plain",
  "TensorDictParams#wrap",
  "TypedStorage#whole",
  "TypedStorage#line",
  "TypedStorage#texts",
];
const ERRORS = [
  ...Object.keys(Z.errors)
    .filter((name) => name.endsWith("Error"))
    .map((name) => `errors.${name}`),
  "io.FileNotFoundError",
  "io.FormatError",
  "io.OSError",
  "tensordict.InplaceWriteError",
  "tensordict.KeyThroughLeafError",
];

/** What is not called, by path, by class and method, or by name. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ["equals", "query", "recordEvent", "synchronize", "waitEvent", "waitStream"].map((name) => [
      `cuda.Stream#${name}`,
      "streams take a GPU",
    ]),
  ),
  ...MODULE_LEFT_OUT,
  ...OPTIM_LEFT_OUT,
  "nn.Identity#forward": "passes on whatever it gets",
  "nn.Sequential#forward": "passes on whatever it gets",
  ...Object.fromEntries(UNWRITTEN.map((name) => [`nn.${name}#forward`, "is not implemented yet"])),
  "new Complex": "Python's numbers are literals",
  "new Slice": "Python's slice has no names",
  "new Size": ANYTHING,
  "new NonTensorStack": ANYTHING,
  "NonTensorStack.of": ANYTHING,
  ...Object.fromEntries(
    ["keys", "entry", "tensor", "tensors", "unknown", "unknownKeys"].map((name) => [
      `io.RemoteSafetensors#${name}`,
      STORE,
    ]),
  ),
  at: BRACKETS,
  setAt: BRACKETS,
  ...Object.fromEntries(MADE.map((name) => [`new ${name}`, INNER])),
  ...Object.fromEntries(HIDDEN.map((name) => [name, PRIVATE])),
  ...Object.fromEntries(ERRORS.map((name) => [`new ${name}`, ERROR])),
  "Size.fromList": INNER,
  toString: "Python's str() takes nothing",
  rename: "an object is a record of new names",
  rename_: "an object is a record of new names",
  toJSON: "JSON.stringify calls it with the key",
  "tensordict.TensorDictFuture#then": "await calls it",
  print: ANYTHING,
  "new nn.Sequential": ANYTHING,
  "new nn.Identity": ANYTHING,
  "new distributions.Distribution": "a distribution of the user's takes what the user says",
  "new distributions.Transform": "a transform of the user's takes what the user says",
  "new distributions.constraints.Constraint": "a region of the user's takes what the user says",
  "new nn.Module": "a module of the user's takes what the user says",
  isTensorCollection: QUESTION,
  isTensorclass: QUESTION,
  "tensordict.isNonTensor": QUESTION,
};

/** What cannot be named, since a dictionary in its place is data. */
export const PLACES_ONLY: Readonly<Record<string, string>> = {
  ...OPTIM_PLACES_ONLY,
  update: "a dictionary is data there",
  update_: "a dictionary is data there",
  copyAt_: "a dictionary is data there",
  replace: "a dictionary is data there",
  fromDictInstance: "a dictionary is data there",
  updateAt_: "a dictionary is data there",
  loadStateDict: "a dictionary is data there",
  fromDict: "a dictionary is data there",
  fromAny: "a dictionary is data there",
  fromNamedtuple: "a dictionary is data there",
  fromDataclass: "a dictionary is data there",
  fromPytree: "a dictionary is data there",
  fromSchema: "a dictionary is data there",
  renameKeys: "a dictionary is data there",
  "tensordict.makeTensordict": "a dictionary is data there",
  tensorclass: "a dictionary is data there",
  fromShared: "a dictionary is data there",
  "new TensorDict": "a dictionary is data there",
  "new TensorDictParams": "a dictionary is data there",
  "new NonTensorData": "a dictionary is data there",
  "new io.StateDict": "a dictionary is data there",
  "new tensordict.MetaData": "a dictionary is data there",
  "nn.ModuleDict#update": "a dictionary is data there",
  "new nn.ModuleDict": "a dictionary is data there",
  "cuda.fromPointer": "a dictionary is data there",
  "cuda.openIpc": "a dictionary is data there",
};

/** Options that are given where none is needed, but one of some. */
export const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  "new PersistentTensorDict": ["filename", "mode", "batchSize"],
};

/** Results that are other ones at every call, and why. */
export const VARIES: Readonly<Record<string, string>> = {
  dataPtr: "an address",
  "cuda.toPointer": "an address",
  seed: "drawn by the system",
  "profiler.Profile#exportChromeTrace": "times",
  "tensordict.toShared": "names of files",
  "tensordict.unpackMemmap": "the time at which the archive was written",
};

const NEED_STORE = ["io.RemoteSafetensors.open", "io.download", "io.upload", "loadRemote", "saveRemote"];
const NEED_GPU = [
  "TensorDict#cuda",
  "nn.Linear#cuda",
  "nn.utils.rnn.PackedSequence#cuda",
  "nn.utils.rnn.PackedSequence#pinMemory",
  ...["currentDevice", "getDeviceCapability", "getDeviceName", "getDeviceProperties", "getDriverVersion"].map(
    (name) => `cuda.${name}`,
  ),
  ...["maxMemoryAllocated", "memGetInfo", "memoryAllocated", "memoryReserved", "resetPeakMemoryStats"].map(
    (name) => `cuda.${name}`,
  ),
  "cuda.synchronize",
  "cuda.emptyCache",
  ...["currentStream", "defaultStream", "device", "setDevice", "setPerProcessMemoryFraction", "setStream"].map(
    (name) => `cuda.${name}`,
  ),
  ...["getRngState", "initialSeed", "setRngState"].map((name) => `cuda.${name}`),
  "new cuda.Stream",
  "cuda.Stream.priorityRange",
];

/** What needs something of a GPU that is no GPU's here. */
const WITHOUT_STREAM = ["Tensor#recordStream", "cuda.Event#record", "cuda.Event#wait", "cuda.Event#elapsedTime"];
const WITHOUT_MEMORY = ["cuda.ipcHandle", "cuda.openIpc"];

/** What fails here, alike by position and by name, and why. */
export const FAILS: Readonly<Record<string, string>> = {
  ...DISTRIBUTION_FAILS,
  ...OPTIM_FAILS,
  "io.GgufFile#unknown": "all types of the file are known",
  "TensorDictParams#map": "parameters are not mapped",
  "TensorDictParams#memmap_": "parameters stay where they are",
  "PersistentTensorDict#memmap_": "what is in a file cannot be mapped in its place",
  "PersistentTensorDict#requiresGrad_": "what a file holds has no gradients",
  ...Object.fromEntries(NEED_STORE.map((name) => [name, STORE])),
  ...Object.fromEntries(WITHOUT_STREAM.map((name) => [name, "no stream, or nothing recorded"])),
  ...Object.fromEntries(WITHOUT_MEMORY.map((name) => [name, "no memory of a GPU"])),
  ...(Z.cuda.isAvailable() ? {} : Object.fromEntries(NEED_GPU.map((name) => [name, "there is no GPU here"]))),
};

// What .pt files hold besides plain data: tensors over storages, parameters, sizes, dtypes, devices. The names that
// stand for them are listed here; a tensor is described first and made when its storage is known.
import { Float } from "../../tensor/complex.ts";
import { CPU, Device, META } from "../../tensor/device.ts";
import { type DType, dtypeByName, uint8 } from "../../tensor/dtype.ts";
import { ZensorError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { bytesNeeded, CONJ, makeStrided, NEG, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { noteAttributes } from "../base/python-origin.ts";
import {
  GlobalReference,
  NoData,
  PickledObject,
  PickledRecord,
  type PickleGlobal,
  type PickleRules,
} from "../pickle/pickle.ts";
import { PlainValues, plainGlobal, SKIPPED, type Unknown } from "../pickle/plain-pickle.ts";
import { PythonName, PythonObject } from "../pickle/python-object.ts";
import { numpyGlobal, numpyValue } from "./numpy-values.ts";
import { torchClasses } from "./torch-classes.ts";
import { isConstantName, TorchConstant, TorchDevice } from "./torch-constants.ts";

const MAX_RANK = 64;

/** torch's typed storages by the names of their classes. */
export const STORAGE_DTYPES: Record<string, string> = {
  Float: "float32",
  Double: "float64",
  Half: "float16",
  BFloat16: "bfloat16",
  Long: "int64",
  Int: "int32",
  Short: "int16",
  Char: "int8",
  Byte: "uint8",
  Bool: "bool",
  ComplexFloat: "complex64",
  ComplexDouble: "complex128",
};

/** A storage that a file names. */
export class SavedStorage {
  constructor(
    readonly key: string,
    /** Type of its elements; null when they are bytes. */
    readonly dtype: DType | null,
    /** Bytes that the file should have of it. */
    readonly nbytes: number,
    /** Bytes of the storage before this one's first: old files have storages inside of others. */
    readonly begin: number,
    /** Where it was when it was saved: "cuda:0". */
    readonly location: string,
    /** The name of its class. */
    readonly type: GlobalReference,
  ) {}

  /** Bytes of an element. */
  get itemsize(): number {
    return this.dtype?.itemsize ?? (QUANTIZED.exec(this.type.name)?.[1] === "QInt32" ? 4 : 1);
  }
}

/** A tensor that a file describes. */
export class SavedTensor {
  constructor(
    /** Null for a tensor without data. */
    readonly storage: SavedStorage | null,
    readonly dtype: DType,
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
    readonly requiresGrad: boolean,
    readonly bits: number,
    /** What a program set on the tensor in Python. */
    readonly attributes: Attributes = undefined,
  ) {}
}

type Attributes = ReadonlyMap<unknown, unknown> | undefined;

/** A parameter that a file describes. */
export class SavedParameter {
  constructor(
    readonly data: SavedTensor,
    readonly requiresGrad: boolean,
    readonly attributes: Attributes,
  ) {}
}

function whole(value: unknown, what: string, least = 0): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least) return value;
  throw new FormatError(`${what} of a tensor is ${String(value)}`);
}

function wholes(value: unknown, what: string, least = 0): number[] {
  if (!Array.isArray(value) || value.length > MAX_RANK)
    throw new FormatError(`the ${what} of a tensor is no such list`);
  return value.map((item) => whole(item, what, least));
}

function dtypeOf(value: unknown): DType {
  const name = value instanceof GlobalReference ? value.name : "";
  const dtype = value instanceof GlobalReference ? value.meaning.value : undefined;
  if (dtype !== undefined && dtypeByName(name) === dtype) return dtype as DType;
  if (dtype instanceof TorchConstant) throw new NoData(`tensors of this dtype (${name}) cannot be read`);
  throw new FormatError("a tensor has something else as its dtype");
}

function bitsOf(metadata: unknown): number {
  if (metadata === undefined || metadata === null) return 0;
  if (!(metadata instanceof Map)) throw new FormatError("a tensor has metadata that is no dict");
  return (metadata.get("conj") === true ? CONJ : 0) | (metadata.get("neg") === true ? NEG : 0);
}

function describeTensor(args: readonly unknown[], dtype: DType | null, metadata?: unknown): SavedTensor {
  const [storage, offset, shape, strides, requiresGrad = false] = args;
  if (!(storage instanceof SavedStorage)) throw new FormatError("a tensor has something else as its storage");
  const element = dtype ?? storage.dtype;
  if (element === null && QUANTIZED.test(storage.type.name)) throw new NoData("a tensor of numbers that are no bytes");
  if (element === null) throw new FormatError("a tensor over bytes has no dtype");
  return new SavedTensor(
    storage,
    element,
    whole(offset, "the offset"),
    wholes(shape, "shape"),
    wholes(strides, "strides"),
    requiresGrad === true,
    bitsOf(metadata),
  );
}

function describeMeta([dtype, shape, strides, requiresGrad]: readonly unknown[]): SavedTensor {
  const rule = [wholes(shape, "shape"), wholes(strides, "strides")] as const;
  return new SavedTensor(null, dtypeOf(dtype), 0, ...rule, requiresGrad === true, 0);
}

function describeParameter([data, requiresGrad = true, , state]: readonly unknown[]): SavedParameter {
  if (data instanceof PickledRecord) throw new NoData("a parameter of a tensor that is not known");
  if (!(data instanceof SavedTensor)) throw new FormatError("a parameter of something that is no tensor");
  return new SavedParameter(data, requiresGrad === true, attributesIn(state));
}

/** Attributes as Python pickles them: a dict, or that and the values of slots. */
function attributesIn(state: unknown): Attributes {
  const [attributes, slots] = Array.isArray(state) && state.length === 2 ? state : [state, null];
  const none = (value: unknown) => value === undefined || value === null || (value instanceof Map && value.size === 0);
  if (!none(slots) || !(none(attributes) || attributes instanceof Map)) {
    throw new FormatError("a tensor has attributes that are none");
  }
  return none(attributes) ? undefined : (attributes as Map<unknown, unknown>);
}

/** A tensor with attributes. */
function describeSubclass([make, type, args, state]: readonly unknown[]): unknown {
  const plain = ["torch.Tensor", "torch.nn.parameter.Parameter", "torch.nn.parameter.Buffer"];
  const known = type instanceof GlobalReference && plain.includes(type.name);
  if (!known || !(make instanceof GlobalReference) || make.meaning.call === undefined || !Array.isArray(args)) {
    throw new NoData("a tensor of a class that is not known");
  }
  const made = make.meaning.call(args);
  if (!(made instanceof SavedParameter || made instanceof SavedTensor)) {
    throw new NoData("attributes of something that is no tensor");
  }
  const attributes = attributesIn(state);
  if (attributes === undefined) return made;
  if (made instanceof SavedParameter) return new SavedParameter(made.data, made.requiresGrad, attributes);
  const { storage, dtype, offset, shape, strides, requiresGrad, bits } = made;
  return new SavedTensor(storage, dtype, offset, shape, strides, requiresGrad, bits, attributes);
}

function describeDevice([type, index]: readonly unknown[]): Device | TorchDevice {
  return deviceNamed(index === undefined || index === null ? String(type) : `${String(type)}:${String(index)}`);
}

/** The device of a name such as "cuda:1", whether tensors can be there or not. */
export function deviceNamed(text: string): Device | TorchDevice {
  if (text === "cpu") return CPU;
  if (text === "meta") return META;
  const [, kind, number] = /^([a-z]{1,32})(?::(\d{1,4}))?$/.exec(text) ?? [];
  if (kind === undefined) throw new FormatError(`${JSON.stringify(text.slice(0, 64))} is no device`);
  const at = number === undefined ? null : Number(number);
  if (kind === "cpu" || kind === "meta" || kind === "cuda") return new Device(kind, at);
  return new TorchDevice(kind, at);
}

/** A tensor that was moved to its device when it was loaded. */
function describeMoved([data, dtype, , requiresGrad]: readonly unknown[]): SavedTensor {
  if (data instanceof PickledRecord) throw new NoData("a tensor that is not known, of another device");
  if (!(data instanceof SavedTensor) || dtypeOf(dtype) !== data.dtype) {
    throw new FormatError("a tensor of another device has not the dtype of its data");
  }
  const { storage, offset, shape, strides, bits } = data;
  return new SavedTensor(storage, data.dtype, offset, shape, strides, requiresGrad === true, bits);
}

function layoutOf([name]: readonly unknown[]): TorchConstant {
  if (typeof name === "string" && isConstantName(name) && TorchConstant.of(name).kind === "layout") {
    return TorchConstant.of(name);
  }
  throw new FormatError("the pickle has a layout that is none");
}

/** Tensors of torch before 0.2 are made empty and then told their storage. */
const OLD_TENSOR = /^torch\.(?:cuda\.)?(\w*)Tensor$/;

function oldTensor(name: string): PickleGlobal | undefined {
  const dtype = OLD_TENSOR.exec(name)?.[1];
  if (dtype === undefined || (dtype !== "" && !Object.hasOwn(STORAGE_DTYPES, dtype))) return undefined;
  const make = (args: readonly unknown[]): PickledObject => {
    if (args.length > 0) throw new FormatError(`the pickle makes a ${name} of something that is no storage`);
    return new PickledObject(name, []);
  };
  return { call: make, make };
}

function oldTensorOf(found: PickledObject): SavedTensor {
  if (!Array.isArray(found.state) || found.state.length !== 4)
    throw new FormatError(`a ${found.className} without data`);
  return describeTensor(found.state, null);
}

function describeCollection([type, state]: readonly unknown[]): PickledObject {
  if (!(type instanceof GlobalReference) || !torchClasses.knows(type.name)) {
    throw new NoData("a TensorDict of a class that is not known");
  }
  const object = new PickledObject(type.name, []);
  object.state = state;
  return object;
}

/** How a nested tensor is pickled: all elements, and the sizes, strides and offsets of its components. */
export const NESTED = "torch._utils._rebuild_nested_tensor";
/** How a consolidated TensorDict is pickled: its structure, and one tensor with all bytes. */
export const CONSOLIDATED = "tensordict._reductions._rebuild_tensordict_files_consolidated";
const MAX_STRUCTURE_VALUES = 1_000_000;
const MAX_STRUCTURE_DEPTH = 128;

/** A copy of a structure in which nothing is shared, as from JSON: sharing could make a short pickle endless. */
function structureOf(root: unknown): unknown {
  let values = 0;
  const copy = (value: unknown, depth: number): unknown => {
    if (++values > MAX_STRUCTURE_VALUES || depth > MAX_STRUCTURE_DEPTH) {
      throw new FormatError("the structure of a consolidated TensorDict is too large");
    }
    if (value instanceof GlobalReference) return value.name;
    if (value instanceof Float) return value;
    if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, copy(item, depth + 1)]));
    if (Array.isArray(value)) return value.map((item) => copy(item, depth + 1));
    if (value === null || typeof value !== "object") return value;
    throw new FormatError("the structure of a consolidated TensorDict holds something else than plain values");
  };
  return copy(root, 0);
}

const REBUILD: Record<string, PickleGlobal> = {
  "torch._utils._rebuild_tensor": { call: (args) => describeTensor(args.slice(0, 4), null) },
  "torch._utils._rebuild_tensor_v2": { call: (args) => describeTensor(args, null, args[6]) },
  "torch._utils._rebuild_tensor_v3": { call: (args) => describeTensor(args, dtypeOf(args[6]), args[7]) },
  "torch._utils._rebuild_meta_tensor_no_storage": { call: describeMeta },
  "torch._utils._rebuild_parameter": { call: describeParameter },
  "torch._utils._rebuild_parameter_with_state": { call: describeParameter },
  "torch._utils._rebuild_device_tensor_from_cpu_tensor": { call: describeMoved },
  "torch._tensor._rebuild_from_type_v2": { call: describeSubclass },
  "torch.nn.parameter.Parameter": { call: describeParameter, make: describeParameter },
  "torch.nn.parameter.Buffer": {},
  // In the batch of a stack -1 stands where its members differ.
  "torch.Size": { call: ([sizes = []]) => Size.fromList(wholes(sizes, "size", -1)) },
  "torch.device": { call: describeDevice },
  "torch.serialization._get_layout": { call: layoutOf },
  "tensordict._reductions._make_td": { call: describeCollection },
  [NESTED]: { call: (args) => new PickledObject(NESTED, args) },
  [CONSOLIDATED]: { call: ([structure, data]) => new PickledObject(CONSOLIDATED, [structureOf(structure), data]) },
  // What a locked TensorDict of Python's has found out about its keys.
  "tensordict.utils._LockedSchema": { make: () => null },
};

/** Storages whose elements are numbers of another kind. */
const QUANTIZED = /^torch\.(QInt8|QUInt8|QInt32|QUInt4x2|QUInt2x4)Storage$/;

/** Kinds of tensors that are refused by their own name. */
const OTHER_TENSORS: [RegExp, string][] = [
  [/^torch\._utils\._rebuild_sparse/, "sparse tensors"],
  [/^torch\._utils\._rebuild_q/, "quantized tensors"],
  [/^torch\._utils\._rebuild_nested/, "nested tensors"],
  [/^torch\._utils\._rebuild_(device_tensor|wrapper_subclass|xla|maia)/, "tensors of other devices"],
  [/^torch\.(cuda\.)?(Q|Complex32)\w*Storage$/, "storages of this dtype"],
  [/^torch\.(cuda\.)?sparse\.\w+Tensor$/, "sparse tensors"],
  [/^torch\.distributed\./, "tensors of several processes"],
];

/** The dtype of a storage's class; null when its elements are bytes, undefined for anything else. */
function storageType(name: string): DType | null | undefined {
  if (/^torch\.(storage\.)?(Untyped|Typed)Storage$/.test(name)) return null;
  const named = /^torch\.(?:cuda\.)?(\w+)Storage$/.exec(name)?.[1];
  if (named === undefined || !Object.hasOwn(STORAGE_DTYPES, named)) return undefined;
  return dtypeByName(STORAGE_DTYPES[named] as string);
}

/** A name that .pt files have without a class of a program. */
function ownGlobal(name: string): PickleGlobal | undefined {
  if (Object.hasOwn(REBUILD, name)) return REBUILD[name];
  if (storageType(name) !== undefined) return {};
  const dtype = name.startsWith("torch.") ? dtypeByName(name) : undefined;
  if (dtype !== undefined) return { value: dtype };
  if (isConstantName(name)) return { value: TorchConstant.of(name) };
  return oldTensor(name);
}

/** What other values than torch's may name. */
function otherGlobal(name: string): PickleGlobal | undefined {
  if (torchClasses.knows(name)) {
    // What a program calls a tensorclass may be anything.
    if (!name.startsWith("tensordict.")) return { recorded: true };
    return { make: () => new PickledObject(name, []) };
  }
  return numpyGlobal(name) ?? plainGlobal(name);
}

/** What a .pt file may name. */
export function torchGlobal(name: string): PickleGlobal | undefined {
  const own = ownGlobal(name);
  if (own !== undefined) return own;
  const refused = OTHER_TENSORS.find(([pattern]) => pattern.test(name));
  if (refused !== undefined) throw new FormatError(`${refused[1]} (${name}) cannot be read`);
  return otherGlobal(name);
}

/** The rules of a .pt file's pickle. */
export function torchRules(unknown: Unknown, persistent = savedStorage): PickleRules {
  if (unknown === "refuse") return { globals: torchGlobal, persistent };
  const described = (id: unknown): unknown => (isStorageId(id) ? persistent(id) : otherReference(id));
  return { globals: (name) => ownGlobal(name) ?? otherGlobal(name), persistent: described, describes: true };
}

function isStorageId(id: unknown): boolean {
  return Array.isArray(id) && id[0] === "storage";
}

/** What a persistent id stands for that names no storage. */
function otherReference(id: unknown): unknown {
  // Files before torch 1.6 have classes of modules so, with their source.
  if (Array.isArray(id) && id[0] === "module" && id[1] instanceof GlobalReference) return id[1];
  const loader = new GlobalReference("pickle", "Unpickler.persistent_load", {});
  return new PickledRecord(loader, "persistent", Object.freeze([id]), 0);
}

/** A storage from the id by which a pickle refers to it: ("storage", type, key, location, count, view). */
export function savedStorage(id: unknown): SavedStorage {
  if (!Array.isArray(id) || id[0] !== "storage" || id.length < 5) {
    throw new FormatError("the pickle refers to something that is no storage");
  }
  const [, type, key, location, count, view] = id;
  if (!(type instanceof GlobalReference)) throw new FormatError("a storage of a type that is not known");
  const quantized = QUANTIZED.exec(type.name)?.[1];
  const dtype = quantized === undefined ? storageType(type.name) : null;
  if (dtype === undefined) throw new FormatError("a storage of a type that is not known");
  if (typeof key !== "string" || !/^[\w-]{1,64}$/.test(key)) throw new FormatError("a storage's key is no such key");
  const itemsize = dtype?.itemsize ?? (quantized === "QInt32" ? 4 : 1);
  let begin = 0;
  if (Array.isArray(view)) begin = whole(view[1], "the offset of a view") * itemsize;
  return new SavedStorage(key, dtype, whole(count, "the storage size") * itemsize, begin, String(location), type);
}

/** Makes the tensor that a file describes over its storage. */
function makeTensor(saved: SavedTensor, storageOf: (storage: SavedStorage) => Storage): Tensor {
  const { dtype, shape, strides } = saved;
  const fail = (what: string): never => {
    throw new FormatError(`a tensor of shape [${shape.join(", ")}] and strides [${strides.join(", ")}] ${what}`);
  };
  if (shape.length !== strides.length) fail("has not one stride for each dimension");
  const nbytes = shape.reduce((product, n) => product * n, dtype.itemsize);
  if (!Number.isSafeInteger(nbytes)) fail("is too large");
  const needed = bytesNeeded(shape, strides, saved.offset, dtype.itemsize);
  if (!Number.isSafeInteger(needed)) fail("is too large");
  let storage: Storage;
  let offset = saved.offset;
  if (saved.storage === null) storage = Storage.meta(needed);
  else {
    storage = storageOf(saved.storage);
    if (saved.storage.begin % dtype.itemsize !== 0) fail("begins inside of an element");
    offset += saved.storage.begin / dtype.itemsize;
    if (bytesNeeded(shape, strides, offset, dtype.itemsize) > storage.nbytes) {
      fail(`does not fit into its storage of ${storage.nbytes} bytes`);
    }
  }
  const made = makeStrided(storage, offset, shape, strides, dtype);
  made._bits = saved.bits;
  return made;
}

function wantsGradient(saved: SavedTensor, wanted: boolean): boolean {
  if (wanted && saved.dtype.category < 2) throw new FormatError(`a tensor of ${saved.dtype} cannot require gradients`);
  return wanted;
}

/** Anything that a class has against its state is the file's fault. */
function ofFile<T>(path: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (error instanceof FormatError || !(error instanceof ZensorError)) throw error;
    throw new FormatError(error.message, path, error);
  }
}

function tensorOf(found: SavedTensor | SavedParameter, storageOf: (storage: SavedStorage) => Storage): Tensor {
  const data = found instanceof SavedTensor ? found : found.data;
  const wanted = wantsGradient(data, found.requiresGrad);
  const made = makeTensor(data, storageOf);
  if (found instanceof SavedParameter) return torchClasses.parameter(made, wanted);
  return wanted ? made.requiresGrad_(true) : made;
}

/** A storage without a tensor: its class, and its elements, or bytes, as a tensor. */
function loneStorage(saved: SavedStorage, storageOf: (storage: SavedStorage) => Storage): PythonObject {
  const dtype = saved.dtype ?? uint8;
  const count = saved.nbytes / dtype.itemsize;
  const data = makeTensor(new SavedTensor(saved, dtype, 0, [count], [1], false, 0), storageOf);
  const callee = new PythonName(saved.type.module, saved.type.qualname);
  return new PythonObject(callee, { how: "storage", args: [data] });
}

/** Whether an object is a tensorclass of the program, as `torchClasses` makes it. */
function isTensorClass({ callee, how, args, state }: PickledRecord): boolean {
  if (how !== "new" || args.length > 0 || !(state instanceof Map) || !state.has("tensordict")) return false;
  return callee instanceof GlobalReference && torchClasses.knows(callee.name);
}

/** Turns what the machine made of a pickle into values; tensors of one storage share it. */
export function torchValue(
  value: unknown,
  path: string,
  storageOf: (storage: SavedStorage) => Storage,
  unknown: Unknown,
): unknown {
  const values = new PlainValues(
    path,
    (found, all) => {
      if (found instanceof SavedTensor || found instanceof SavedParameter) {
        const made = tensorOf(found, storageOf);
        if (found.attributes !== undefined) noteAttributes(made, all.of(found.attributes));
        return made;
      }
      if (found instanceof PickledRecord) {
        if (!isTensorClass(found)) return numpyValue(found);
        const className = (found.callee as GlobalReference).name;
        return ofFile(path, () => torchClasses.make(className, all.of(found.state), path));
      }
      if (found instanceof PickledObject && OLD_TENSOR.test(found.className)) {
        return makeTensor(oldTensorOf(found), storageOf);
      }
      if (found instanceof PickledObject && torchClasses.knows(found.className)) {
        const [structure, data] = found.args;
        const state = ((): unknown => {
          if (found.className === NESTED) return found.args.map((item) => all.of(item));
          return found.className === CONSOLIDATED ? { structure, data: all.of(data) } : all.of(found.state);
        })();
        return ofFile(path, () => torchClasses.make(found.className, state, path));
      }
      if (found instanceof SavedStorage) {
        if (unknown === "describe") return loneStorage(found, storageOf);
        if (unknown === "skip") return SKIPPED;
        throw new FormatError("a storage without a tensor cannot be read");
      }
      return found instanceof Size || found instanceof TorchDevice ? found : undefined;
    },
    unknown,
  );
  return values.root(value);
}

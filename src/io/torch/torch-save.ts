// Writing .pt files: the archive that torch.save writes, with its record names, order, alignment and pickle.

import { addressOf } from "../../ffi/library.ts";
import { copyBytes, TINY_BYTES } from "../../ffi/memory.ts";
import { basename } from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { Device } from "../../tensor/device.ts";
import { DType, uint8 } from "../../tensor/dtype.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import type { Storage } from "../../tensor/storage.ts";
import { bytesNeeded, CONJ, makeContiguous, NEG, Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { absoluteFile } from "../base/places.ts";
import { attributesOf, type NumpyLayout, noteByteArray, numpyLayoutOf } from "../base/python-origin.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { runSteps, runStepsLater } from "../base/steps.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { blockBehind, denseCopy, isLent, nativeBytes } from "../disk/tensor-bytes.ts";
import { npyDtype } from "../numpy/npy-header.ts";
import { NumpyDtype, PickleWriter } from "../pickle/pickle-write.ts";
import { PythonName, PythonObject } from "../pickle/python-object.ts";
import { type FileWriteOptions, writingZip } from "../store/single-file.ts";
import type { ZipWriteEntry } from "../zip/zip-write.ts";
import { TorchObject, torchClasses } from "./torch-classes.ts";
import { TorchConstant, TorchDevice } from "./torch-constants.ts";
import { STORAGE_DTYPES } from "./torch-values.ts";

const STORAGE_NAMES = new Map(Object.entries(STORAGE_DTYPES).map(([name, dtype]) => [dtype, `${name}Storage`]));
const UNTYPED = new PythonName("torch.storage", "UntypedStorage");
const UTF8 = new TextEncoder();

/** A storage that goes into the file; written where a tensor refers to it. */
class StorageRecord {
  constructor(
    readonly key: string,
    readonly storage: Storage,
    readonly dtype: DType,
    readonly type: PythonName,
    /** Elements of that type. */
    readonly count: number,
    /** Keeps its bytes. */
    readonly tensor: Tensor,
  ) {}

  /** Its bytes. Small ones may move while they are in use, so that they are copied. */
  bytes(): Uint8Array | TensorBytes {
    const { storage } = this;
    const { nbytes } = storage;
    if (storage.device.type === "cuda") return nativeBytes(makeContiguous(storage, [nbytes], uint8));
    if (isLent(storage)) return nativeBytes(makeContiguous(storage, [nbytes], uint8));
    if (nbytes > TINY_BYTES) return { address: storage.ptr, nbytes, keep: this.tensor, block: blockBehind(storage) };
    const copy = new Uint8Array(nbytes);
    if (nbytes > 0) copyBytes(addressOf(copy), storage.ptr, nbytes);
    return copy;
  }
}

/** The data of a parameter: the same tensor, written as a plain one. */
class ParameterData {
  constructor(readonly tensor: Tensor) {}
}

/** Where Python has a tensor's hooks: an empty OrderedDict of its own. */
class NoHooks {}

/** Bytes of an element of those storages whose elements are no tensor's here. */
const STORAGE_ITEMSIZES: Readonly<Record<string, number>> = { QInt32Storage: 4 };
/** What NumPy makes its empty arrays of. */
const NO_BYTES = new Uint8Array([98]);

/** Whether a tensor that was an array of NumPy's still can be one. */
function isArray(tensor: Tensor, { code }: NumpyLayout): boolean {
  return !tensor.isMeta && !tensor.requiresGrad && !torchClasses.isParameter(tensor) && npyDtype(code) === tensor.dtype;
}

/** The elements of an array in the order of its file. */
function arrayBytes(tensor: Tensor, { bigEndian, fortranOrder }: NumpyLayout): Uint8Array {
  const { dtype, ndim } = tensor;
  const inOrder = fortranOrder ? tensor.permute(Array.from({ length: ndim }, (_, i) => ndim - 1 - i)) : tensor;
  const dense = denseCopy(inOrder);
  const bytes = Buffer.alloc(dense.numel() * dtype.itemsize);
  if (bytes.length > 0) copyBytes(addressOf(bytes), dense.dataPtr(), bytes.length);
  const width = dtype.isComplex ? dtype.itemsize / 2 : dtype.itemsize;
  if (bigEndian && width === 2) bytes.swap16();
  else if (bigEndian && width === 4) bytes.swap32();
  else if (bigEndian && width === 8) bytes.swap64();
  return bytes;
}

function tuple(items: readonly unknown[]): readonly unknown[] {
  return Object.freeze([...items]);
}

/** Turns tensors and what belongs to them into references to storages. */
class TorchWriter {
  readonly records = new Map<Storage, StorageRecord>();
  private readonly pickle: PickleWriter;

  constructor(private readonly path: string) {
    this.pickle = new PickleWriter(path, (value) => this.object(value));
  }

  write(value: unknown): Uint8Array {
    return this.pickle.write(value);
  }

  private object(value: object): boolean {
    const { pickle } = this;
    if (value instanceof Tensor) {
      const layout = numpyLayoutOf(value);
      if (layout !== undefined && isArray(value, layout)) this.array(value, layout);
      else if (torchClasses.isParameter(value)) {
        const attributes = attributesOf(value);
        const more = attributes === undefined ? [] : [attributes];
        pickle.name("torch._utils", more.length === 0 ? "_rebuild_parameter" : "_rebuild_parameter_with_state");
        pickle.tuple([new ParameterData(value), value.requiresGrad, new NoHooks(), ...more]);
        pickle.call(value);
      } else this.tensor(value, value.requiresGrad, value);
    } else if (value instanceof ParameterData) this.tensor(value.tensor, false, value);
    else if (value instanceof NoHooks) pickle.orderedDict([]);
    else if (value instanceof StorageRecord) {
      pickle.tuple(["storage", value.type, value.key, String(value.storage.device), value.count]);
      pickle.refer();
    } else if (value instanceof Size) {
      // Each by itself: which sizes are one object here says nothing.
      pickle.name("torch", "Size");
      pickle.tuple([tuple(value)]);
      pickle.call();
    } else if (value instanceof PythonObject && value.how === "storage") this.storage(value);
    else if (value instanceof DType) pickle.name("torch", value.name);
    else if (value instanceof TorchConstant) this.constant(value);
    else if (value instanceof Device || value instanceof TorchDevice) {
      pickle.name("torch", "device");
      pickle.tuple(value.index === null ? [value.type] : [value.type, value.index]);
      pickle.call(value);
    } else return this.instance(value);
    return true;
  }

  /** A storage without a tensor: `args` has all that is in it. */
  private storage({ callee, args }: PythonObject): void {
    const { pickle } = this;
    const [data] = args;
    if (!(data instanceof Tensor) || !(callee instanceof PythonName)) {
      throw new FormatError("a storage is described without its bytes", this.path);
    }
    const { key, storage } = this.record(data);
    const itemsize = STORAGE_ITEMSIZES[callee.name] ?? data.dtype.itemsize;
    pickle.tuple(["storage", callee, key, String(storage.device), Math.floor(storage.nbytes / itemsize)]);
    pickle.refer();
  }

  /** An array of NumPy's, as NumPy pickles it. */
  private array(value: Tensor, layout: NumpyLayout): void {
    const { pickle } = this;
    const { from, code, bigEndian, fortranOrder, buffer } = layout;
    const dtype = new NumpyDtype(code, value.dtype.itemsize === 1 ? "|" : bigEndian ? ">" : "<");
    const bytes = arrayBytes(value, layout);
    if (buffer !== undefined) {
      pickle.name(`${from}.numeric`, "_frombuffer");
      const data = buffer === "bytearray" ? noteByteArray(bytes) : bytes;
      pickle.tuple([data, dtype, tuple(value._shape), fortranOrder ? "F" : "C"]);
      pickle.call(value);
      return;
    }
    pickle.name(`${from}.multiarray`, "_reconstruct");
    pickle.tuple([new PythonName("numpy", "ndarray"), tuple([0]), NO_BYTES]);
    pickle.call(value);
    pickle.tuple([1, tuple(value._shape), dtype, fortranOrder, bytes]);
    pickle.build();
  }

  private constant(value: TorchConstant): void {
    const { pickle } = this;
    if (value.kind !== "layout") {
      pickle.name("torch", value.name.slice("torch.".length));
      return;
    }
    pickle.name("torch.serialization", "_get_layout");
    pickle.tuple([value.name]);
    pickle.call(value);
  }

  private instance(value: object): boolean {
    const { pickle } = this;
    const object = value instanceof TorchObject ? value : torchClasses.describe(value);
    if (object === null) return false;
    const dot = object.className.lastIndexOf(".");
    const name = new PythonName(object.className.slice(0, dot), object.className.slice(dot + 1));
    if (object.how === "make_td") {
      pickle.name("tensordict._reductions", "_make_td");
      pickle.tuple([name, object.state]);
      pickle.call(value);
      return true;
    }
    pickle.name(name.module, name.name);
    if (object.how === "call") {
      pickle.tuple(object.state as readonly unknown[]);
      pickle.call(value);
      return true;
    }
    pickle.tuple([]);
    pickle.make(value);
    pickle.value(object.state);
    pickle.build();
    return true;
  }

  private tensor(value: Tensor, requiresGrad: boolean, key: object): void {
    const { pickle } = this;
    const [name, fields] = this.rebuild(value, requiresGrad);
    const attributes = key === value ? attributesOf(value) : undefined;
    if (attributes === undefined) {
      pickle.name(name.module, name.name);
      pickle.tuple(fields);
    } else {
      pickle.name("torch._tensor", "_rebuild_from_type_v2");
      pickle.tuple([name, new PythonName("torch", "Tensor"), tuple(fields), attributes]);
    }
    pickle.call(key);
  }

  /** The function that makes a tensor, and its arguments. */
  private rebuild(value: Tensor, requiresGrad: boolean): [PythonName, unknown[]] {
    const { dtype } = value;
    const shape = tuple(value._shape);
    const strides = tuple(value._strides);
    if (value.isMeta) {
      const name = new PythonName("torch._utils", "_rebuild_meta_tensor_no_storage");
      return [name, [dtype, shape, strides, requiresGrad]];
    }
    const fields: unknown[] = [this.record(value), value._offset, shape, strides, requiresGrad, new NoHooks()];
    const bits: Record<string, boolean> = {};
    if ((value._bits & CONJ) !== 0) bits.conj = true;
    if ((value._bits & NEG) !== 0) bits.neg = true;
    if (value._bits !== 0) fields.push(bits);
    if (STORAGE_NAMES.has(dtype.name)) return [new PythonName("torch._utils", "_rebuild_tensor_v2"), fields];
    fields.splice(6, 0, dtype);
    return [new PythonName("torch._utils", "_rebuild_tensor_v3"), fields];
  }

  private record(value: Tensor): StorageRecord {
    const { _storage: storage, dtype } = value;
    // A disposed or detached storage says so; one that was shrunk has fewer bytes than its tensors.
    const needed = value._numel === 0 ? 0 : bytesNeeded(value._shape, value._strides, value._offset, dtype.itemsize);
    if (needed > 0 && (storage.ptr === 0 || needed > storage.nbytes)) {
      throw new RuntimeError(`a tensor of ${needed} bytes has a storage of ${storage.nbytes} bytes`, { op: "save" });
    }
    const known = this.records.get(storage);
    if (known?.dtype === dtype) return known;
    // Where there are no bytes, no two types can differ about them.
    if (known !== undefined && storage.nbytes > 0) {
      throw new RuntimeError("Cannot save multiple tensors or storages that view the same data as different types", {
        op: "save",
      });
    }
    const name = STORAGE_NAMES.get(dtype.name);
    const type = name === undefined ? UNTYPED : new PythonName("torch", name);
    const count = name === undefined ? storage.nbytes : Math.floor(storage.nbytes / dtype.itemsize);
    const record = new StorageRecord(known?.key ?? String(this.records.size), storage, dtype, type, count, value);
    if (known === undefined) this.records.set(storage, record);
    return record;
  }
}

/** The directory inside of the archive: the file's name without its ending, as torch has it. */
function rootOf(path: string): string {
  const name = basename(path);
  const bare = name.includes(".") ? name.slice(0, name.lastIndexOf(".")) : name;
  return /^\w[\w .+-]*$/.test(bare) && bare.length < 200 ? bare : "archive";
}

/** The files inside of the archive. */
function plan(value: unknown, path: string): ZipWriteEntry[] {
  const writer = new TorchWriter(path);
  const pickle = writer.write(value);
  const root = rootOf(path);
  const entries: ZipWriteEntry[] = [];
  const add = (name: string, data: ZipWriteEntry["data"]): void => {
    entries.push({ name: `${root}/${name}`, data });
  };
  add("data.pkl", pickle);
  add(".format_version", UTF8.encode("1"));
  add(".storage_alignment", UTF8.encode("64"));
  add("byteorder", UTF8.encode("little"));
  for (const record of writer.records.values()) add(`data/${record.key}`, record.bytes());
  add("version", UTF8.encode("3\n"));
  // torch makes forty digits of its records' names and contents; nothing reads them.
  const digits = (text: string | Uint8Array): string => String(Bun.hash(text)).padStart(20, "0");
  add(".data/serialization_id", UTF8.encode(digits(entries.map((entry) => entry.name).join("\n")) + digits(pickle)));
  return entries;
}

/**
 * Writes what `torch.load(path, weights_only=True)` reads: tensors, parameters, TensorDicts, null, booleans, numbers,
 * bigints, strings, bytes, arrays (lists), frozen arrays (tuples), Sets, objects (dicts), Maps (OrderedDicts), sizes,
 * dtypes and devices. Tensors that share a storage share it in the file; the whole storage is written, as torch does.
 * Numbers that are whole are written as Python's int: `float(2)` makes one a float. What `loadTorch` read keeps the
 * types that it had. The file is replaced when the new one is complete.
 * @throws FormatError for any other value
 * @example
 * ```ts
 * io.saveTorch({ weight: zeros(2, 2), epoch: 7 }, "/tmp/zensor-example.pt")
 * io.loadTorch("/tmp/zensor-example.pt").epoch // 7
 * ```
 * @torch torch.save
 */
export function saveTorch(value: unknown, path: string, options: FileWriteOptions = {}): void {
  [value, path, options = {}] = inOrder<Parameters<typeof saveTorch>>("saveTorch", FUNCTIONS.saveTorch, arguments);
  const full = absoluteFile(path);
  runSteps(writingZip(full, () => plan(value, full), "torch", options));
}

/**
 * Like `saveTorch`, in the background; the tensors must not change until it is done.
 * @example
 * ```ts
 * await io.saveTorchAsync({ weight: ones(2), epoch: 3n }, "model.pt");
 * io.loadTorch("model.pt").weight // tensor([1., 1.])
 * ```
 */
export async function saveTorchAsync(
  value: unknown,
  path: string,
  options: FileWriteOptions & BackgroundOptions = {},
): Promise<void> {
  [value, path, options = {}] = inOrder<Parameters<typeof saveTorchAsync>>(
    "saveTorchAsync",
    FUNCTIONS.saveTorchAsync,
    arguments,
  );
  const full = absoluteFile(path);
  await runStepsLater(
    writingZip(full, () => plan(value, full), "torch", options),
    options.signal,
  );
}

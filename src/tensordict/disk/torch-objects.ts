// TensorDicts and parameters inside of .pt files: how they are made from what Python pickled, and what is written.
import { FormatError } from "../../io/base/errors.ts";
import type { PythonJson } from "../../io/base/python-json.ts";
import { isPlainObject, isPythonJson } from "../../io/base/python-json.ts";
import { asInPython, noteDict } from "../../io/base/python-origin.ts";
import { PickleDict } from "../../io/pickle/pickle-write.ts";
import { type TorchClasses, TorchObject } from "../../io/torch/torch-classes.ts";
import { CONSOLIDATED, NESTED } from "../../io/torch/torch-values.ts";
import { Parameter } from "../../nn/parameter.ts";
import { Float } from "../../tensor/complex.ts";
import { CPU, Device, META } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { listItems, Size, sameSizes } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fitBatch, requireFit } from "../core/batch.ts";
import { classByName } from "../core/class-registry.ts";
import { stackProblem } from "../core/convert.ts";
import { lockTd } from "../core/locking.ts";
import { noNested } from "../core/nested.ts";
import { isConsolidated, markConsolidated } from "../core/one-block.ts";
import {
  type DimNames,
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  type NewState,
  shapeOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import type { Classes, Entry } from "../core/types.ts";
import { joinedValues, nestedValues } from "../core/values.ts";
import { nestedFromParts } from "../ops/nested-parts.ts";
import { valuesOf } from "../ops/stacking.ts";
import { blockParts } from "./consolidated.ts";
import { buildConsolidated } from "./consolidated-load.ts";

const TENSORDICT = "tensordict._td.TensorDict";
const LAZY = "tensordict._lazy.LazyStackedTensorDict";
const DATA = "tensordict.tensorclass.NonTensorData";
const META_DATA = "tensordict.tensorclass.MetaData";
const STACK = "tensordict.tensorclass.NonTensorStack";
const PARAMS = "tensordict.nn.params.TensorDictParams";
/** Values of one stack: each has an element of the batch, which a file could claim to be endless. */
const MAX_VALUES = 10_000_000;
const OWN = new Set([TENSORDICT, LAZY, DATA, META_DATA, STACK, PARAMS, CONSOLIDATED, NESTED]);

function simpleName(className: string): string {
  return className.slice(className.lastIndexOf(".") + 1);
}

/** A field of a state, which is an object, or a Map when a key of its looks like a number. */
function field(state: unknown, key: string): unknown {
  if (state instanceof Map) return state.get(key);
  return isPlainObject(state) && Object.hasOwn(state, key) ? state[key] : undefined;
}

function pairsOf(value: unknown, path: string): [string, unknown][] {
  const pairs = value instanceof Map ? [...value] : isPlainObject(value) ? Object.entries(value) : null;
  if (pairs === null || !pairs.every(([key]) => typeof key === "string")) {
    throw new FormatError("the entries of a TensorDict are no dict with strings as keys", path);
  }
  return pairs;
}

function collection(value: unknown, path: string): Td {
  if (!isTensorCollection(value)) throw new FormatError("a TensorDict is missing inside of another object", path);
  return value;
}

function stateOfSaved(state: unknown, path: string): NewState {
  const batchSize = field(state, "_batch_size");
  if (!(batchSize instanceof Size) || batchSize.some((n) => n < 0))
    throw new FormatError("a TensorDict without a batch size", path);
  const device = field(state, "_device");
  const names = field(state, "_td_dim_names");
  const named = Array.isArray(names) && names.length === batchSize.length;
  if (named && !names.every((name) => name === null || typeof name === "string")) {
    throw new FormatError("a TensorDict has names that are none", path);
  }
  const place = device instanceof Device ? (device.type === "meta" ? META : CPU) : null;
  return { batchSize, device: place, names: named && names.some((name) => name !== null) ? (names as DimNames) : null };
}

/** Where the entries of a TensorDict are that had a device when it was saved. */
function deviceOfEntries(entries: ReadonlyMap<string, Entry>): Device {
  for (const entry of entries.values()) {
    if (entry instanceof Tensor || isNested(entry)) return entry.device;
    if (!isNonTensor(entry) && entry._device !== null) return entry._device;
  }
  return CPU;
}

function checkedEntries(pairs: readonly [string, unknown][], state: NewState, path: string): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const [key, value] of pairs) {
    if (!(value instanceof Tensor) && !isTensorCollection(value) && !isNested(value)) {
      throw new FormatError(`entry ${JSON.stringify(key)} of a TensorDict is neither a tensor nor a collection`, path);
    }
    if (fitBatch(value as Entry, state.batchSize) === null) {
      const shape = shapeOf(value as Entry);
      throw new FormatError(
        `entry ${JSON.stringify(key)} of shape [${shape.join(", ")}] does not begin with ${state.batchSize}`,
        path,
      );
    }
    entries.set(key, value as Entry);
  }
  return entries;
}

function makeStack(className: string, state: unknown, path: string): Td {
  const members = field(state, "tensordicts");
  const stackDim = field(state, "stack_dim");
  const name = field(state, "_td_dim_name");
  if (!Array.isArray(members) || members.length === 0) throw new FormatError("a stack without members", path);
  const tds = members.map((member) => collection(member, path));
  const problem = stackProblem(tds, stackDim);
  if (problem !== null) throw new FormatError(problem, path);
  if (className === LAZY) return make.lazy(tds, stackDim as number, typeof name === "string" ? name : null);
  const inner = (tds[0] as Td)._batchSize;
  const batchSize = Size.fromList([...inner].toSpliced(stackDim as number, 0, tds.length));
  const alike = tds.every((td) => sameSizes(td._batchSize, inner));
  if (!alike || !tds.every(isNonTensor) || listItems(batchSize) > MAX_VALUES) {
    throw new FormatError("a stack of values whose members are no values, or too many", path);
  }
  const exact = joinedValues(tds.map(exactValues), inner, stackDim as number);
  const values = exact.map((value) => (value instanceof Float ? value.value : value));
  const made = make.nonTensorStack(values, { batchSize, device: null, names: null }, stackDim as number);
  if (exact.every((value) => isPythonJson(value))) made._raw = nestedValues(exact, batchSize) as PythonJson;
  return made;
}

/** Something that has fields in a TensorDict and fields beside it. */
function makeClass(className: string, state: unknown, path: string): Td {
  const inner = collection(field(state, "tensordict"), path);
  const rest = field(state, "non_tensordict");
  const level: NewState = { batchSize: inner._batchSize, device: inner._device, names: inner._names };
  if (className === DATA || className === META_DATA) {
    const value = field(rest, "data") ?? null;
    const made = make.nonTensor(value, level, simpleName(className));
    const exact = asInPython(rest as object, "data", value);
    if (exact instanceof Float) made._raw = exact;
    return made;
  }
  const found = classByName(simpleName(className));
  if (found === undefined) throw new FormatError(`there is no tensorclass ${className}`, path);
  if (rest !== undefined && pairsOf(rest, path).some(([, value]) => value !== null)) {
    throw new FormatError(`a ${className} with fields beside its TensorDict cannot be read`, path);
  }
  const made = found._wrap(new Map(entriesOf(inner)), level, className);
  if (inner._locked) lockTd(made);
  return made;
}

/** A TensorDict whose tensors are views of one tensor of bytes. */
function makeConsolidated({ structure, data }: { structure: PythonJson; data: unknown }, path: string): Td {
  if (!(data instanceof Tensor) || data.dtype !== uint8 || data.ndim !== 1) {
    throw new FormatError("a consolidated TensorDict without its bytes", path);
  }
  const td = buildConsolidated(structure, {
    path,
    size: data.numel(),
    device: data.device,
    tensor(dtype, shape, offset) {
      const nbytes = shape.reduce((product, n) => product * n, dtype.itemsize);
      const part = data.narrow(0, offset, nbytes);
      const aligned = (data.storageOffset() + offset) % dtype.itemsize === 0 ? part : part.clone();
      return aligned.view(dtype).view([...shape]);
    },
  });
  return markConsolidated(td, data._storage);
}

/** What was locked when it was saved is locked. */
function lockedAs(state: unknown, td: Td): Td {
  if (field(state, "_is_locked") === true) lockTd(td);
  return td;
}

function makeObject(className: string, state: unknown, path: string): unknown {
  switch (className) {
    case TENSORDICT: {
      const level = stateOfSaved(state, path);
      const entries = checkedEntries(pairsOf(field(state, "_tensordict"), path), level, path);
      if (level.device === CPU) level.device = deviceOfEntries(entries);
      return lockedAs(state, make.tensordict(entries, level));
    }
    case LAZY:
      return lockedAs(state, makeStack(className, state, path));
    case STACK:
      return makeStack(className, state, path);
    case CONSOLIDATED:
      return makeConsolidated(state as { structure: PythonJson; data: unknown }, path);
    case NESTED:
      return nestedFromParts(state as readonly unknown[], path);
    case PARAMS:
      return collection(field(state, "_param_td"), path);
    default:
      return makeClass(className, state, path);
  }
}

/** The state of a TensorDict as Python's own pickles it. */
function levelOf(td: Td): TorchObject {
  for (const [key, entry] of entriesOf(td)) {
    // Python's loader refuses them unless it is told to run what a file says.
    if (isNested(entry)) throw noNested("saving in a .pt file", key);
  }
  const entries = new PickleDict([...entriesOf(td)]);
  const names = td._names === null ? null : [...td._names];
  const state = { _tensordict: entries, _device: td._device, _batch_size: td._batchSize, _td_dim_names: names };
  return new TorchObject(TENSORDICT, "make_td", state);
}

/** @param value 2.0 as a `Float` */
function valueObject(className: string, value: unknown, td: Td, size: Size): TorchObject {
  const level = { _tensordict: {}, _device: td._device, _batch_size: size, _td_dim_names: null };
  const inner = new TorchObject(TENSORDICT, "make_td", level);
  const rest = { data: value, _metadata: null, _is_non_tensor: true };
  return new TorchObject(className, "state", { tensordict: inner, non_tensordict: rest });
}

/** The value of an entry; a whole float by itself cannot carry a note that it is one. */
function exactValue({ _raw, value_ }: Classes<unknown>["nonTensor"]): unknown {
  return _raw instanceof Float ? _raw : value_;
}

function exactValues(td: ValueTd): unknown[] {
  const { _raws } = td;
  return valuesOf(td).map((value, i) => (_raws?.[i] instanceof Float ? _raws[i] : value));
}

function describeTd(td: Td): TorchObject {
  if (isLazy(td)) {
    const { members, stackDim, stackDimName } = td;
    const state = { _is_locked: null, stack_dim: stackDim, _batch_size: td._batchSize, tensordicts: [...members] };
    const name = stackDimName === null ? {} : { _td_dim_name: stackDimName };
    return new TorchObject(LAZY, "make_td", { ...state, _hook_out: null, _hook_in: null, ...name });
  }
  if (isNonTensor(td)) {
    if (td._kind === "nonTensorStack") return stackObject(td, exactValues(td), td._batchSize);
    return valueObject(td._className === "MetaData" ? META_DATA : DATA, exactValue(td), td, td._batchSize);
  }
  if (!isClassTd(td)) return levelOf(td);
  return new TorchObject(td._qualifiedName, "state", { tensordict: levelOf(td), non_tensordict: {} });
}

/** Values by element: stacks of stacks, one for each dimension of the batch. */
function stackObject(td: Td, values: readonly unknown[], size: readonly number[]): TorchObject {
  const [first = 0, ...rest] = size;
  const each = values.length / Math.max(first, 1);
  const members = Array.from({ length: first }, (_, i) => {
    const part = values.slice(i * each, (i + 1) * each);
    return rest.length === 0 ? valueObject(DATA, part[0], td, Size.fromList([])) : stackObject(td, part, rest);
  });
  const state = { _is_locked: null, stack_dim: 0, _batch_size: Size.fromList([...size]), tensordicts: members };
  return new TorchObject(STACK, "state", { ...state, _hook_out: null, _hook_in: null });
}

/** Notes that the Maps of a structure are Python's plain dicts, those in values among them. */
function plainDicts(value: PythonJson): PythonJson {
  if (value instanceof Map) {
    noteDict(value, "dict");
    for (const item of value.values()) plainDicts(item);
  } else if (Array.isArray(value)) for (const item of value) plainDicts(item);
  return value;
}

/** What .pt files need of this room and of modules. */
export const torchBridge: TorchClasses = {
  parameter: (data, requiresGrad) => new Parameter(data, requiresGrad),
  isParameter: (value) => value instanceof Parameter,
  knows: (className) => OWN.has(className) || classByName(simpleName(className)) !== undefined,
  make: makeObject,
  describe: (value) => {
    if (!isTensorCollection(value)) return null;
    requireFit(value, "saved");
    if (!isConsolidated(value)) return describeTd(value);
    const block = blockParts(value);
    if (block !== null) return new TorchObject(CONSOLIDATED, "call", [plainDicts(block.structure), block.bytes]);
    // One file holds no two types of elements over one storage: tensors of one block become separate.
    return describeTd(value.clone() as Td);
  },
};

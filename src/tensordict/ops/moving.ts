// Copies, casts and moves between devices.
import * as texts from "../../../generated/texts.ts";
import { contiguousFormat } from "../../dispatch/memory-format.ts";
import { requiresGrad } from "../../dispatch/mode.ts";
import { isPlain, moveMany } from "../../dispatch/moving-many.ts";
import { runSteps, type Steps } from "../../io/base/steps.ts";
import { batchOf } from "../../tensor/batched.ts";
import { CPU, Device, type DeviceLike, toDevice } from "../../tensor/device.ts";
import { DType, isDTypeName, toDType, uint8 } from "../../tensor/dtype.ts";
import { TypeError } from "../../tensor/errors.ts";
import { contiguousStrides } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { childrenOf, lockTd } from "../core/locking.ts";
import { mapEntries, mapMembers, unlockedValue } from "../core/mapping.ts";
import { blockOf, isConsolidated, markConsolidated, viewsOfCopy } from "../core/one-block.ts";
import {
  entriesOf,
  isBranch,
  isLazy,
  isNested,
  isNonTensor,
  isParams,
  isTensorCollection,
  type LazyTd,
  requireUnlocked,
  stateOf,
  type Td,
  type ValueTd,
} from "../core/state.ts";
import { castTensor } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { likeEntry } from "../core/unbatched.ts";
import { applyLeaves } from "./pointwise.ts";
import { rebind } from "./rebinding.ts";

/** What `to` understands. */
export interface ToOptions {
  device?: DeviceLike | null;
  dtype?: DType | string | null;
  batchSize?: readonly number[];
  /** A tensor or a collection whose device and dtype are wanted. */
  other?: Tensor | Td | null;
  /** Give this collection the results instead of making another one. */
  inplace?: boolean;
  /** Accepted for compatibility: what goes to a GPU is never waited for, and what comes to the CPU always is. */
  nonBlocking?: boolean;
  /** Accepted for compatibility: all goes through pinned memory, a block for up to 32 MiB of tensors. */
  nonBlockingPin?: boolean;
  /** Accepted for compatibility: conversions take as many threads as there are. */
  numThreads?: number;
}

/** A copy of the tree; the tensors are copied too when `deep`. */
export function cloneTd(td: Td, deep: boolean): Td {
  if (isParams(td)) return td.clone(deep);
  if (isLazy(td)) return mapMembers(td, (member) => cloneTd(member, deep));
  return mapEntries(td, (entry) => {
    if (entry instanceof Tensor) return deep ? likeEntry(entry, entry.clone()) : entry;
    if (isNested(entry)) return deep ? entry.clone() : entry;
    return cloneTd(entry, deep);
  });
}

/** Options of `contiguous`. */
export interface ContiguousOptions {
  /** Dimensions of size one have the strides of fresh tensors, too. */
  canonical?: boolean;
  /** Give the collection itself the contiguous tensors. */
  inplace?: boolean;
}

function isCanonical(t: Tensor): boolean {
  const fresh = contiguousStrides(t._shape);
  return t._strides.every((stride, dim) => stride === fresh[dim]);
}

/** Contiguous tensors; a lazy stack becomes a dense TensorDict. @torch TensorDict.contiguous */
export function contiguousTd(td: Td, options: ContiguousOptions = {}): Td {
  const whole = options.inplace === true ? td : densified(td);
  const change = (t: Tensor) => {
    const made = t.contiguous();
    return options.canonical === true && !isCanonical(made) ? made.clone({ memoryFormat: contiguousFormat }) : made;
  };
  const result = applyLeaves(whole, change, {
    nested: (entry) => entry,
    values: (entry) => unlockedValue(entry as ValueTd),
  });
  if (options.inplace !== true) return result;
  replaceTensors(td, result);
  return td;
}

/** Without lazy stacks, at any level. */
function densified(td: Td): Td {
  if (isLazy(td)) return densified(td._densify());
  if (isNonTensor(td)) return td;
  return mapEntries(td, (entry) => (isBranch(entry) ? densified(entry) : entry));
}

/** Puts the tensors of another tree of the same form in the place of those of `td`. */
export function replaceTensors(td: Td, other: Td): void {
  if (isLazy(td)) {
    for (const [i, member] of td.members.entries()) replaceTensors(member, (other as LazyTd).members[i] as Td);
    return;
  }
  for (const [key, entry] of entriesOf(td)) {
    if (entry instanceof Tensor) td._put(key, other._own(key) as Tensor);
    else if (isTensorCollection(entry) && !isNonTensor(entry)) replaceTensors(entry, other._own(key) as Td);
  }
}

/** The same elements without history. @torch TensorDict.detach */
export function detachTd(td: Td): Td {
  return applyLeaves(td, (t) => t.detach(), { nested: (entry) => entry.detach(), propagateLock: true });
}

/** The device and dtype of a tensor, or those that the tensors of a collection have in common. */
function like(other: Tensor | Td): ToOptions {
  if (other instanceof Tensor) return { device: other.device, dtype: other.dtype };
  return { ...(other._device === null ? {} : { device: other._device }), dtype: other.dtype };
}

/** The device and dtype that are wanted; what is named by options comes before what another value has. */
function readTarget(target: unknown, options: ToOptions): { device: Device | null; dtype: DType | null } {
  const given = { device: options.device ?? null, dtype: options.dtype ?? null };
  const { other } = options;
  let model = other === undefined || other === null ? null : like(other);
  if (target instanceof DType) given.dtype = target;
  else if (target instanceof Device || typeof target === "number") given.device = toDevice(target);
  else if (typeof target === "string") {
    if (isDTypeName(target)) given.dtype = target;
    else given.device = toDevice(target);
  } else if (target instanceof Tensor || isTensorCollection(target)) model = { ...like(target), ...model };
  else if (target !== undefined && target !== null) {
    throw texts.wrongArgument("to", "to", "target", "a device, a dtype, a Tensor or a TensorDict", typeName(target));
  }
  const device = given.device ?? model?.device ?? null;
  const dtype = given.dtype ?? model?.dtype ?? null;
  return { device: device === null ? null : toDevice(device), dtype: dtype === null ? null : toDType(dtype) };
}

/** Gives a consolidated collection the tensors of its copy on another device: it keeps its keys, and stays locked. */
function replaceBlock(td: Td, made: Td, device: Device): void {
  replaceTensors(td, made);
  const tell = (level: Td): void => {
    level._device = device;
    for (const child of childrenOf(level)) tell(child);
  };
  tell(td);
  const bytes = blockOf(made);
  if (bytes !== null) markConsolidated(td, bytes);
}

/** @torch TensorDict.to */
export function convertTd(td: Td, target: unknown, options: ToOptions): Td {
  const { device, dtype } = readTarget(target, options);
  let result = td;
  const elsewhere = device !== null && !(td._device?.equals(device) ?? false);
  // Such a collection stays locked, and stays one block.
  const block = dtype === null && elsewhere && isConsolidated(td);
  if (dtype !== null) {
    // What keeps its tensors' places keeps its values.
    const kept = { values: (entry: Td) => unlockedValue(entry as ValueTd) };
    const inPlace = options.inplace === true ? kept : {};
    result = applyLeaves(result, (t) => castTensor(t, dtype), { nested: (entry) => entry.to(dtype), ...inPlace });
  }
  if (elsewhere) result = moveTd(result, device);
  if (options.inplace === true && result !== td) {
    if (block) replaceBlock(td, result, device);
    else {
      requireUnlocked(td);
      rebind(td, result);
    }
    result = td;
  }
  if (options.batchSize !== undefined) {
    if (isLazy(td)) throw new TypeError("Cannot pass batch-size to a LazyStackedTensorDict.");
    result.batchSize = options.batchSize;
  }
  if ((td._locked && result !== td) || block) lockTd(result);
  return result;
}

/** Moves plain tensors between the CPU and a GPU, all of them or none. */
type MoveTensors = (tensors: readonly Tensor[], device: Device) => Steps<Tensor[]>;

/** A single one needs no plan. */
// biome-ignore lint/correctness/useYield: it is one step
function* movingTogether(tensors: readonly Tensor[], device: Device): Steps<Tensor[]> {
  return tensors.length > 1 ? moveMany(tensors, device) : [];
}

/** On another device. */
function moveTd(td: Td, device: Device): Td {
  return runSteps(movingTd(td, device, movingTogether));
}

/** The same in steps, as `move` takes them. */
export function* movingTd(td: Td, device: Device, move: MoveTensors): Steps<Td> {
  const whole = yield* movingBlock(td, device, move);
  if (whole !== null) return whole;
  const found = new Set<Tensor>();
  if (device.computes) collectMovable(td, device, found);
  const list = [...found];
  const moved = yield* move(list, device);
  return placeTd(td, device, new Map(moved.map((t, i) => [list[i] as Tensor, t])));
}

/** A collection whose tensors lie in one block: that is moved as one. Null where they have to be moved one by one. */
function* movingBlock(td: Td, device: Device, move: MoveTensors): Steps<Td | null> {
  const from = blockOf(td);
  if (from === null || !from.device.computes || from.kind === "freed") return null;
  if (from.device === device) return markConsolidated(placeTd(td, device, new Map()), from);
  // Before anything is moved: it may have to be done another way.
  if (viewsOfCopy(td, from, Storage.meta(from.nbytes)) === null) return null;
  const bytes = makeStrided(from, 0, [from.nbytes], [1], uint8);
  const [own] = isPlain(bytes) && device.computes ? yield* move([bytes], device) : [];
  const moved = own ?? bytes.to(device);
  const to = moved._storage;
  const views = viewsOfCopy(td, from, to) as Map<Tensor, Tensor>;
  bytes.dispose();
  moved.dispose();
  return markConsolidated(placeTd(td, device, views), to);
}

/** The tensors that go to a GPU or come from one together, without a record. */
function collectMovable(td: Td, device: Device, found: Set<Tensor>): void {
  if (isLazy(td)) for (const member of td.members) collectMovable(member, device, found);
  else {
    for (const [, entry] of entriesOf(td)) {
      if (entry instanceof Tensor) {
        const from = entry.device;
        const between = device === CPU ? from.type === "cuda" : from === CPU && device.type === "cuda";
        if (between && isPlain(entry) && !requiresGrad(entry) && batchOf(entry) === null) found.add(entry);
      } else if (!isNested(entry) && !isNonTensor(entry)) collectMovable(entry, device, found);
    }
  }
}

function placeTd(td: Td, device: Device, moved: ReadonlyMap<Tensor, Tensor>): Td {
  if (isLazy(td)) return mapMembers(td, (member) => placeTd(member, device, moved));
  const move = (entry: Entry): Entry => {
    if (entry instanceof Tensor) return likeEntry(entry, moved.get(entry) ?? entry.to(device));
    if (isNested(entry)) return entry.to(device);
    return isNonTensor(entry) ? entry._like(new Map(), stateOf(entry, { device })) : placeTd(entry, device, moved);
  };
  return mapEntries(td, move, stateOf(td, { device }));
}

// Memory-mapped tensors and TensorDicts as plain data for Workers and child processes: references, no copies.
import { ReferenceOpener, RemovedFiles, referenceTo, type TensorReference } from "../../io/disk/sharing.ts";
import { inOrder } from "../../tensor/checks.ts";
import { toDevice } from "../../tensor/device.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fitBatch, requireFit } from "../core/batch.ts";
import { classByName } from "../core/class-registry.ts";
import { stackProblem } from "../core/convert.ts";
import { noNested } from "../core/nested.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import {
  entriesOf,
  isClassTd,
  isLazy,
  isNested,
  isNonTensor,
  isTensorCollection,
  make,
  type NewState,
  stateOf,
  type Td,
  toNames,
} from "../core/state.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { MemoryMappedTensor } from "./mapped-tensor.ts";

const MAX_DEPTH = 128;

/** One level of a shared tree. */
interface SharedLevel {
  batchSize: number[];
  device: string | null;
  names: (string | null)[] | null;
}

/** What `toShared` gives of a tensor. */
export interface SharedTensor {
  /** Tells it from what is a collection. */
  kind: "tensor";
  /** Where its memory is. */
  tensor: TensorReference;
}

/** What `toShared` gives: numbers, strings, arrays and objects only, for `postMessage` and for IPC. */
export type Shared =
  | SharedTensor
  | ({ kind: "tensordict"; entries: [string, Shared][] } & SharedLevel)
  | ({ kind: "tensorclass"; qualified: string; entries: [string, Shared][] } & SharedLevel)
  | { kind: "lazy"; members: Shared[]; stackDim: number; name: string | null }
  | ({ kind: "value"; className: string; value: unknown } & SharedLevel)
  | ({ kind: "values"; values: unknown[]; stackDim: number } & SharedLevel);

function levelOf(td: Td): SharedLevel {
  const { batchSize, device, names } = stateOf(td);
  return {
    batchSize: [...batchSize],
    device: device === null ? null : String(device),
    names: names === null ? null : [...names],
  };
}

/**
 * A memory-mapped tensor, a view of one, or a collection of them as plain data, which `fromShared` opens in a Worker or
 * in another process: both then see the same memory, and nothing is copied. Memory without a file lasts as long as
 * somebody has it open: keep `value` until the other side has called `fromShared`.
 *
 * @throws TypeError for tensors that are not memory-mapped
 * @throws OSError when a file was removed or replaced since it was mapped
 * @example
 * ```ts
 * const shared = toShared(MemoryMappedTensor.fromTensor(tensor([1, 2, 3])));
 * fromShared(shared) // MemoryMappedTensor([1., 2., 3.])
 * ```
 */
export function toShared(value: Tensor): SharedTensor;
export function toShared(value: Td): Exclude<Shared, SharedTensor>;
export function toShared(value: Tensor | Td): Shared;
export function toShared(value: Tensor | Td): Shared {
  [value] = inOrder<Parameters<typeof toShared>>("toShared", FUNCTIONS.toShared, arguments);
  if (isTensorCollection(value)) requireFit(value, "shared");
  const removed = new RemovedFiles();
  return share(value, (t) => referenceTo(t, removed));
}

/** A tensor or a tree as plain data, with what `leaf` makes of its tensors. */
export function share(value: Tensor | Td, leaf: (t: Tensor) => TensorReference): Shared {
  if (value instanceof Tensor) return { kind: "tensor", tensor: leaf(value) };
  if (!isTensorCollection(value)) throw new TypeError("toShared takes a tensor or a TensorDict");
  const td = value as Td;
  const entries = () =>
    [...entriesOf(td)].map(([key, entry]): [string, Shared] => {
      if (isNested(entry)) throw noNested("sharing", key);
      return [key, share(entry, leaf)];
    });
  if (isLazy(td)) {
    const { members, stackDim, stackDimName } = td;
    return { kind: "lazy", members: members.map((member) => share(member, leaf)), stackDim, name: stackDimName };
  }
  const level = levelOf(td);
  if (isNonTensor(td)) {
    if (td._kind === "nonTensor") return { kind: "value", className: td._className, value: td.value_, ...level };
    return { kind: "values", values: [...td.values_], stackDim: td.stackDim, ...level };
  }
  if (!isClassTd(td)) return { kind: "tensordict", entries: entries(), ...level };
  return { kind: "tensorclass", qualified: td._qualifiedName, entries: entries(), ...level };
}

function bad(what: string): TypeError {
  return new TypeError(`this is no shared TensorDict: ${what}`);
}

/** Checks that a part of shared data is a list. */
function listOf<T>(value: readonly T[], what: string): readonly T[] {
  if (!Array.isArray(value)) throw bad(`its ${what} are no list`);
  return value;
}

function textOf(value: string, what: string): string {
  if (typeof value !== "string") throw bad(`its ${what} is no text`);
  return value;
}

function stateFrom(shared: SharedLevel): NewState {
  const { batchSize, device, names } = shared;
  if (device !== null) textOf(device, "device");
  if (names !== null) {
    for (const name of listOf(names, "names")) if (name !== null) textOf(name, "name of a dimension");
    if (names.length !== batchSize?.length) throw bad("it has another number of names than of dimensions");
  }
  if (
    !Array.isArray(batchSize) ||
    batchSize.length > 64 ||
    !batchSize.every((n) => Number.isSafeInteger(n) && n >= 0)
  ) {
    throw bad("its batch size is no list of sizes");
  }
  return {
    batchSize: Size.fromList(batchSize),
    device: device === null ? null : toDevice(device),
    names: toNames(names, batchSize.length),
  };
}

/** The tensor as one of the class of mapped tensors. */
export function asMapped(t: Tensor): Tensor {
  return Object.setPrototypeOf(t, MemoryMappedTensor.prototype) as Tensor;
}

/** Opens trees; `tensor` makes the tensors of what `share` was given. */
export class Opener {
  constructor(private readonly tensor: (reference: TensorReference) => Tensor) {}

  open(shared: Shared, depth = 0): Entry {
    if (depth > MAX_DEPTH) throw bad("it is nested too deeply");
    switch (shared?.kind) {
      case "tensor":
        return this.tensor(shared.tensor);
      case "lazy": {
        const members = listOf(shared.members, "members").map((member) => this.open(member, depth + 1) as Td);
        if (!members.every(isTensorCollection)) throw bad("a member of a stack is a tensor");
        const problem = stackProblem(members, shared.stackDim);
        if (problem !== null) throw bad(problem);
        if (shared.name !== null) textOf(shared.name, "name of a dimension");
        return make.lazy(members, shared.stackDim, shared.name);
      }
      case "value":
        return make.nonTensor(shared.value, stateFrom(shared), textOf(shared.className, "class"));
      case "values": {
        const [values, state] = [[...listOf(shared.values, "values")], stateFrom(shared)];
        if (values.length !== state.batchSize.numel()) throw bad("it has another number of values than its batch size");
        return make.nonTensorStack(values, state, shared.stackDim);
      }
      case "tensorclass":
      case "tensordict": {
        const state = stateFrom(shared);
        const entries = this.entries(shared.entries, state, depth);
        if (shared.kind === "tensordict") return make.tensordict(entries, state);
        const qualified = textOf(shared.qualified, "class");
        const name = qualified.slice(qualified.lastIndexOf(".") + 1);
        const found = classByName(name);
        if (found === undefined) {
          throw new RuntimeError(
            `the class ${name} is not known here: import the module that defines it, and register it`,
          );
        }
        return found._wrap(entries, state, qualified);
      }
      default:
        throw new TypeError("this is nothing that toShared made");
    }
  }

  private entries(list: [string, Shared][], state: NewState, depth: number): Map<string, Entry> {
    const entries = new Map<string, Entry>();
    for (const pair of listOf(list, "entries")) {
      const [key, shared] = listOf(pair as unknown[], "entries") as [string, Shared];
      textOf(key, "key");
      const entry = this.open(shared, depth + 1);
      if (isUnbatched(entry)) entries.set(key, ofBatch(entry, state.batchSize));
      else if (fitBatch(entry, state.batchSize) === null) {
        throw new TypeError(
          `the shared entry ${JSON.stringify(key)} does not begin with the batch size ${state.batchSize}`,
        );
      } else entries.set(key, entry);
    }
    return entries;
  }
}

/**
 * Opens what `toShared` made, here or in another thread or process: the same memory, mapped again.
 *
 * @throws OSError when the file was replaced or the memory is gone
 * @throws TypeError when the data is not what `toShared` makes
 * @example
 * ```ts
 * const here = new TensorDict({ a: MemoryMappedTensor.zeros([2]) }, []);
 * const shared = toShared(here);
 * fromShared(shared).get("a").add_(1); // also in a Worker that `shared` was posted to
 * here.get("a") // MemoryMappedTensor([1., 1.])
 * ```
 */
export function fromShared(shared: Exclude<Shared, SharedTensor>): Td;
export function fromShared(shared: SharedTensor): Tensor;
export function fromShared(shared: Shared): Tensor | Td;
export function fromShared(shared: Shared): Tensor | Td {
  [shared] = inOrder<[Shared]>("fromShared", FUNCTIONS.fromShared, arguments);
  const tensors = new ReferenceOpener();
  return new Opener((reference) => asMapped(tensors.open(reference))).open(shared) as Tensor | Td;
}

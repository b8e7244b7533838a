// `td.grad = other` and `td.data = other`: tensor by tensor, of all or of none.

import { KeyError, RuntimeError, TypeError } from "../../tensor/errors.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { typeName } from "../../tensor/type-name.ts";
import { rehearseCopy } from "../core/rehearsal.ts";
import { isBranch, isLazy, isNonTensor, isTensorCollection, type Td } from "../core/state.ts";
import { keyRepr } from "../ops/padding.ts";
import { findEntry, requireEntry } from "./access.ts";

/** A tensor of a collection and what the other one has under its key. */
type Pair = readonly [own: Tensor, given: Tensor];

function requireCollection(value: unknown, name: string): asserts value is Td {
  if (!isTensorCollection(value)) throw new TypeError(`${name} must be a TensorDict, got ${typeName(value)}`);
}

/** The members of a stack, each with its part of the other collection. */
function* membersOf(td: Td, other: Td): Generator<readonly [Td, Td]> {
  if (!isLazy(td)) return;
  const parts = other.unbind(td.stackDim) as Td[];
  for (const [i, member] of td.members.entries()) yield [member, parts[i] as Td];
}

/** The pairs of all tensors; each has to have one. */
function* pairsOf(td: Td, other: Td): Generator<Pair> {
  for (const [member, part] of membersOf(td, other)) yield* pairsOf(member, part);
  if (isLazy(td)) return;
  for (const key of td._keys()) {
    const own = findEntry(td, key);
    if (isNonTensor(own)) continue;
    const given = requireEntry(other, key);
    if (own instanceof Tensor && given instanceof Tensor) yield [own, given];
    else if (isBranch(own) && isBranch(given)) yield* pairsOf(own, given);
    else throw new TypeError(`${keyRepr([key])} is a ${typeName(own)} here, and a ${typeName(given)} there`);
  }
}

/** Assigns one after the other; after an error those that were assigned are as before. */
function assignAll(pairs: readonly Pair[], get: (t: Tensor) => Tensor | null, set: (pair: Pair) => void): void {
  const before: [Tensor, Tensor | null][] = [];
  try {
    for (const pair of pairs) {
      before.push([pair[0], get(pair[0])]);
      set(pair);
    }
  } catch (error) {
    before.pop();
    for (const [own, was] of before) set([own, was as Tensor]);
    throw error;
  }
}

/** Gives each tensor its gradient. One that it has already takes over the values. */
export function assignGradients(td: Td, value: unknown): void {
  requireCollection(value, "grad");
  const pairs = [...pairsOf(td, value)];
  const filled = pairs.filter(([own]) => own.grad !== null);
  for (const [own, given] of filled) rehearseCopy(own.grad as Tensor, given);
  const fresh = pairs.filter(([own]) => own.grad === null);
  assignAll(
    fresh,
    () => null,
    ([own, given]) => {
      own.grad = given;
    },
  );
  for (const [own, given] of filled) own.grad?.copy_(given);
}

function requireBatchSize(td: Td, other: Td, path: readonly string[]): void {
  const same = other.batchSize.length === td.batchSize.length && other.batchSize.every((n, d) => n === td.batchSize[d]);
  if (same) return;
  const at = path.length === 0 ? "." : ` at key ${keyRepr(path)}.`;
  throw new RuntimeError(
    `Cannot assign .data from a source with batch size ${other.batchSize} ` +
      `to a destination with batch size ${td.batchSize}${at}`,
  );
}

/** The pairs of the tensors that the other collection has; the keys that are not here go into `missing`. */
function* pairsFrom(td: Td, other: Td, missing: Set<string>, path: readonly string[] = []): Generator<Pair> {
  requireBatchSize(td, other, path);
  for (const [member, part] of membersOf(td, other)) yield* pairsFrom(member, part, missing, path);
  if (isLazy(td)) return;
  for (const key of other._keys()) {
    const [own, given, here] = [findEntry(td, key), findEntry(other, key), [...path, key]];
    if (own instanceof Tensor && given instanceof Tensor) yield [own, given];
    else if (isBranch(own) && isBranch(given)) yield* pairsFrom(own, given, missing, here);
    else if (!isNonTensor(own)) missing.add(keyRepr(here));
  }
}

/** Gives tensors the elements of those that another collection has under their keys: they share memory. */
export function assignData(td: Td, value: unknown): void {
  requireCollection(value, "data");
  const missing = new Set<string>();
  const pairs = [...pairsFrom(td, value, missing)];
  if (missing.size > 0) {
    const keys = [...missing].join(", ");
    throw new KeyError(`Cannot assign .data: the keys [${keys}] of the source are not in the destination.`);
  }
  assignAll(
    pairs,
    (t) => t.data,
    ([own, given]) => {
      own.data = given;
    },
  );
}

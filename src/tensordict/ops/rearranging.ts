// Moving, turning and repeating batch dimensions, and collections made after the model of another.
import { IndexError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { lockLike } from "../core/locking.ts";
import { mapEntries } from "../core/mapping.ts";
import { noNested } from "../core/nested.ts";
import {
  type DimNames,
  isLazy,
  isNested,
  isNonTensor,
  isStack,
  isTensorCollection,
  make,
  type StackTd,
  stateOf,
  type Td,
  wrapBatchDim,
} from "../core/state.ts";
import { flatNumbers } from "../core/tensor-ops.ts";
import type { Entry } from "../core/types.ts";
import { isUnbatched, ofBatch } from "../core/unbatched.ts";
import { tensorsOf } from "./access.ts";
import { emptyTd } from "./key-ops.ts";
import { repeatLazy } from "./lazy-shape.ts";
import { applyShape, permuteTd, requireBatchDim, unsqueezeTd } from "./shape.ts";
import { narrowTd } from "./splitting.ts";

const same = (names: DimNames) => names;

const listOf = (dims: number | readonly number[]) => (typeof dims === "number" ? [dims] : dims);

/** @torch TensorDict.movedim */
export function movedimTd(td: Td, source: number | readonly number[], target: number | readonly number[]): Td {
  const rank = td._batchSize.length;
  const [from, to] = [listOf(source), listOf(target)];
  if (from.length !== to.length) {
    throw new RuntimeError(
      `movedim: Invalid source or destination dims: source ([${from.join(", ")}] dims) should contain the same ` +
        `number of dims as destination ([${to.join(", ")}] dims)`,
    );
  }
  const place = (dim: number) => {
    const at = wrapBatchDim(dim, rank);
    if (at !== null) return at;
    const range = `[${-Math.max(rank, 1)}, ${Math.max(rank, 1) - 1}]`;
    throw new IndexError(`Dimension out of range (expected to be in range of ${range}, but got ${dim})`);
  };
  const [a, b] = [from.map(place), to.map(place)];
  for (const [dims, name] of [
    [a, "source"],
    [b, "destination"],
  ] as const) {
    if (new Set(dims).size !== dims.length) throw new RuntimeError(`movedim: repeated dim in \`${name}\``);
  }
  const order = new Array<number>(rank).fill(-1);
  for (const [i, dim] of b.entries()) order[dim] = a[i] as number;
  const rest = Array.from({ length: rank }, (_, dim) => dim).filter((dim) => !a.includes(dim));
  return permuteTd(
    td,
    order.map((dim) => (dim >= 0 ? dim : (rest.shift() as number))),
  );
}

/** Where each part ends, of sections or of places. */
function bounds(total: number, parts: number | readonly number[]): number[] {
  if (typeof parts !== "number") {
    return [...parts.map((at) => Math.min(Math.max(at < 0 ? at + total : at, 0), total)), total];
  }
  if (parts <= 0) throw new RuntimeError(`number of sections must be larger than 0, got ${parts}`);
  const [least, more] = [Math.floor(total / parts), total % parts];
  return Array.from({ length: parts }, (_, i) => (i + 1) * least + Math.min(i + 1, more));
}

/** @torch TensorDict.tensor_split */
export function tensorSplitTd(td: Td, parts: number | readonly number[], dim: number): Td[] {
  const at = requireBatchDim(td, dim);
  let start = 0;
  return bounds(td._batchSize[at] as number, parts).map((end) => {
    const length = Math.max(0, end - start);
    // Python leaves a stack without members, too.
    const none = isLazy(td) && td.stackDim === at && length === 0;
    const part = none
      ? make.lazy([], at, td.stackDimName, {
          batchSize: td._batchSize.filter((_, i) => i !== at),
          device: td._device,
        })
      : narrowTd(td, at, start, length);
    start = end;
    return part;
  });
}

/** @torch TensorDict.flip */
export function flipTd(td: Td, dims: readonly number[]): Td {
  const at = dims.map((dim) => requireBatchDim(td, dim));
  const op = { tensor: (t: Tensor) => t.flip(at), size: (shape: readonly number[]) => shape, names: same };
  return lockLike(td, applyShape(td, op));
}

/** @torch TensorDict.repeat_interleave */
export function repeatInterleaveTd(td: Td, repeats: number | Tensor, dim: number | null): Td {
  if (dim === null) return repeatInterleaveTd(td.reshape(-1), repeats, 0);
  const at = requireBatchDim(td, dim);
  const total = td._batchSize[at] as number;
  const count = typeof repeats === "number" ? total * repeats : Number(repeats.expand(total).sum().item());
  const repeated = applyShape(td, {
    tensor: (t) => t.repeatInterleave(repeats as number, at),
    size: (shape) => shape.map((n, i) => (i === at ? count : n)),
    names: (names) => names,
    lazy: (lazy) => {
      const { stackDim, members, stackDimName } = lazy;
      if (at !== stackDim) {
        const inner = at < stackDim ? at : at - 1;
        return make.stack(
          members.map((member) => repeatInterleaveTd(member, repeats, inner)),
          stackDim,
          stackDimName,
        );
      }
      const counts = typeof repeats === "number" ? members.map(() => repeats) : flatNumbers(repeats.expand(total));
      const copies = members.flatMap((member, i) => Array.from({ length: counts[i] as number }, () => member));
      if (copies.length === 0) return null;
      return make.stack(copies, stackDim, stackDimName);
    },
  });
  return lockLike(td, repeated);
}

/** At least so many batch dimensions, new ones in front. @torch TensorDict.atleast_1d, TensorDict.atleast_3d */
export function atLeastTd(td: Td, rank: number): Td {
  return td._batchSize.length >= rank ? td : atLeastTd(unsqueezeTd(td, 0), rank);
}

/** The tensors of a tree after the model of its own, for another batch. */
export function remade(
  td: Td,
  batch: readonly number[],
  make1: (t: Tensor, shape: readonly number[]) => Tensor,
  emptyLazy = false,
): Td {
  if (emptyLazy && isStack(td) && batch.length > td.stackDim) return emptyMembers(td, batch, make1);
  if (isLazy(td)) return remade(td._densify(), batch, make1, emptyLazy);
  const rank = td._batchSize.length;
  const batchSize = Size.fromList([...batch]);
  const inner = (shape: readonly number[]) => [...batch, ...shape.slice(rank)];
  if (isNonTensor(td) && td._kind === "nonTensorStack") throw new RuntimeError("a stack of values has no model");
  const anew = (entry: Entry, key: string): Entry => {
    if (isUnbatched(entry)) return ofBatch(entry, batchSize);
    if (entry instanceof Tensor) return make1(entry, inner(entry._shape));
    if (isNested(entry)) throw noNested("this", key);
    return remade(entry, inner(entry._batchSize), make1, emptyLazy);
  };
  return mapEntries(td, anew, stateOf(td, { batchSize, names: null }));
}

/** A stack of members that have no tensors: each is made after the first. */
function emptyMembers(
  td: StackTd,
  batch: readonly number[],
  make1: (t: Tensor, shape: readonly number[]) => Tensor,
): Td {
  const { stackDim } = td;
  const [first] = isLazy(td) ? td.members : td._parts;
  const inner = batch.filter((_, dim) => dim !== stackDim);
  if (first === undefined)
    return td._like(new Map(), stateOf(td, { batchSize: Size.fromList([...batch]), names: null }));
  const model = remade(isNonTensor(first) ? first : emptyTd(first as Td, true, {}), inner, make1, true);
  const members = Array.from({ length: batch[stackDim] as number }, () => model.clone(false) as Td);
  return make.stack(members, stackDim, isLazy(td) ? td.stackDimName : null);
}

/** @torch TensorDict.expand_as */
export function expandAsTd(td: Td, other: Td): Td {
  const grow = (entry: Entry, key: string): Entry | undefined => {
    const wanted = other._own(key);
    if (entry instanceof Tensor && wanted instanceof Tensor) return entry.expandAs(wanted);
    return isTensorCollection(entry) && isTensorCollection(wanted) ? expandAsTd(entry, wanted) : undefined;
  };
  return mapEntries(td, grow, stateOf(td, { batchSize: other._batchSize, names: other._names }));
}

/** How many collections lie above the deepest tensor, the root left out. */
export function depthOf(td: Td): number {
  return Math.max(0, ...[...tensorsOf(td)].map(([path]) => path.length - 1));
}

/** Repeats the batch. @torch TensorDict.repeat */
export function repeatTd(td: Td, repeats: readonly number[]): Td {
  const rank = td._batchSize.length;
  if (repeats.length !== rank) {
    throw new ValueError(
      "The number of repeat elements must match the number of dimensions of the tensordict. Got " +
        `${repeats.length} but ndim=${rank}.`,
    );
  }
  const full = (n: number) => [...repeats, ...new Array<number>(n - rank).fill(1)];
  return lockLike(
    td,
    applyShape(td, {
      tensor: (t) => t.repeat(full(t._shape.length)),
      size: (shape) => shape.map((n, i) => n * (repeats[i] ?? 1)),
      names: (names) => names,
      lazy: (lazy) => repeatLazy(lazy, full(lazy._batchSize.length)),
    }),
  );
}

/** As torch's tile: the shorter one of batch and repeats gets ones in front. @torch TensorDict.tile */
export function tileTd(td: Td, dims: readonly number[]): Td {
  const missing = td._batchSize.length - dims.length;
  if (missing >= 0) return repeatTd(td, [...new Array<number>(missing).fill(1), ...dims]);
  return repeatTd(td.view([...new Array<number>(-missing).fill(1), ...td._batchSize]) as Td, dims);
}

// Collections inside of vmap: the batch dimension that counts the examples is left out, and put back outside.
import type { CollectionKind } from "../../func/collections.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { lockTd } from "../core/locking.ts";
import { isLazy, isTensorCollection, make, type Td } from "../core/state.ts";
import { applyShape } from "./shape.ts";
import { narrowTd } from "./splitting.ts";
import { catTds } from "./stacking.ts";

function entered(td: Td, dim: number, each: (t: Tensor, dim: number) => Tensor): Td {
  const found = applyShape(td, {
    tensor: (t) => each(t, dim),
    size: (shape) => shape.toSpliced(dim, 1),
    names: (names) => names?.toSpliced(dim, 1) ?? null,
  });
  if (td._locked) lockTd(found);
  return found;
}

function left(td: Td, dim: number, size: number, each: (t: Tensor, dim: number) => Tensor): Td {
  if (isLazy(td)) {
    const behind = dim > td.stackDim;
    const members = td._members.map((member) => left(member, behind ? dim - 1 : dim, size, each));
    return make.lazy(members, behind ? td.stackDim : td.stackDim + 1, td._names?.[td.stackDim] ?? null) as Td;
  }
  const found = applyShape(td, {
    tensor: (t) => each(t, dim),
    size: (shape) => shape.toSpliced(dim, 0, size),
    names: (names) => names?.toSpliced(dim, 0, null) ?? null,
  });
  if (td._locked) lockTd(found);
  return found;
}

function mapped(td: Td, each: (t: Tensor) => Tensor): Td {
  const found = isLazy(td)
    ? (make.lazy(
        td._members.map((member) => mapped(member, each)),
        td.stackDim,
        td._names?.[td.stackDim] ?? null,
      ) as Td)
    : applyShape(td, { tensor: each, size: (shape) => shape, names: (names) => names });
  if (td._locked) lockTd(found);
  return found;
}

/** What vmap does with a collection; a lazy stack comes out dense where its own dimension was the examples'. */
export const batchedCollections: CollectionKind = {
  is: isTensorCollection,
  sizes: (td) => (td as Td)._batchSize,
  enter(value, dim, each) {
    const td = value as Td;
    if (!isLazy(td) || td.stackDim === dim) return entered(td, dim, each);
    const behind = dim > td.stackDim;
    const members = td._members.map((member) => this.enter(member, behind ? dim - 1 : dim, each) as Td);
    return make.lazy(members, behind ? td.stackDim : td.stackDim - 1, td._names?.[td.stackDim] ?? null);
  },
  leave: (td, dim, size, each) => left(td as Td, dim, size, each),
  map: (td, each) => mapped(td as Td, each),
  part: (td, dim, start, size) => narrowTd(td as Td, dim, start, size),
  joined: (parts, dim) => catTds(parts as Td[], dim),
};

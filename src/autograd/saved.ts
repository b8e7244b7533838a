/** Tensors kept for the backward pass, with the check that nobody wrote to them since. */

import * as texts from "../../generated/texts.ts";
import { isScalar, type Scalar } from "../tensor/complex.ts";
import { CPU, type Device } from "../tensor/device.ts";
import { type DType, getDefaultDtype, legacyName } from "../tensor/dtype.ts";
import { numelOf } from "../tensor/size.ts";
import { DISPOSED, type Storage } from "../tensor/storage.ts";
import { released } from "../tensor/temporaries.ts";
import { type GradientNode, isContiguousGeometry, Tensor } from "../tensor/tensor.ts";
import { gradFnOf, operatorName } from "./history.ts";
import { freedError, type Node } from "./node.ts";

class SavedTensor {
  declare readonly tensor: Tensor;
  declare readonly version: number;
  /** The node that saved it as its own result; null for an argument. */
  declare readonly node: GradientNode | null;
  declare readonly outputNr: number;
  // What it was made of: `x.data = y` gives the object other bytes.
  declare readonly storage: Storage;
  declare readonly shape: readonly number[];
  declare readonly strides: readonly number[];
  declare readonly offset: number;
  declare readonly isLeaf: boolean;

  constructor(tensor: Tensor, node: GradientNode | null, outputNr: number) {
    this.tensor = tensor;
    this.version = tensor._version.value;
    this.node = node;
    this.outputNr = outputNr;
    this.storage = tensor._storage;
    this.shape = tensor._shape;
    this.strides = tensor._strides;
    this.offset = tensor._offset;
    this.isLeaf = node === null && gradFnOf(tensor) === null;
    tensor._storage.claims++;
  }
}

/** A tensor, a number, a list of either, or nothing. */
export type Saved = SavedTensor | Scalar | null | readonly Saved[] | typeof FREED;

/** What is left after the graph was released. */
export const FREED: unique symbol = Symbol("freed");

/** Keeps an argument. */
export function save(x: Tensor | Scalar | null | undefined | readonly (Tensor | null)[]): Saved {
  if (x instanceof Tensor) return new SavedTensor(x, null, 0);
  if (Array.isArray(x)) return x.map((t) => save(t));
  return (x as Scalar | null | undefined) ?? null;
}

/** Keeps a result of the node itself. */
export function saveResult(x: Tensor, node: Node, outputNr: number): Saved {
  // Written in place into a view, it belongs to the view's new node.
  return x._base === null ? new SavedTensor(x, node, outputNr) : new SavedTensor(x, gradFnOf(x), x._outputNr);
}

function letGo({ storage, tensor, isLeaf }: SavedTensor): void {
  storage.release();
  // Nobody else had it, or an object that the program made: whether it still has that, the collector knows.
  if (isLeaf || storage.claims === 0) return;
  if (storage.claims === 1 || tensor._base !== null) released.bytes += tensor._numel * tensor.dtype.itemsize;
}

/** Gives up the claims of what was saved; gives what then stands in its place. */
export function drop(x: Saved, keepsNumber = false): Saved {
  if (x instanceof SavedTensor) letGo(x);
  else if (Array.isArray(x)) for (const y of x) drop(y);
  else if (x === null || keepsNumber) return x;
  return FREED;
}

/** The saved value again; an error when it was written to or freed. */
export function unpack(x: Saved, node: Node): Tensor | Scalar | null | (Tensor | Scalar | null)[] {
  if (x === FREED) freedError();
  if (x === null || isScalar(x)) return x as Scalar | null;
  if (Array.isArray(x)) return x.map((y) => unpack(y, node) as Tensor);
  const s = x as SavedTensor;
  const t = s.tensor;
  if (s.node === null && t._storage === DISPOSED) {
    throw texts.savedWasDisposed(undefined, node.name, s.shape);
  }
  const fn = s.node ?? gradFnOf(t);
  if (fn === null && !s.isLeaf) throw texts.savedWasDetached(undefined);
  if (t._version.value !== s.version) changedError(s, fn);
  if (s.node === null) return t;
  return t._gradFn === fn && t._storage === s.storage ? t : rebuilt(s);
}

/** The tensor object moved on in the graph, but its elements are those that were saved. */
function rebuilt(s: SavedTensor): Tensor {
  const t = s.tensor;
  const dense = isContiguousGeometry(s.shape, s.strides);
  const copy = new Tensor(s.storage, s.offset, s.shape, s.strides, t.dtype, numelOf(s.shape), dense, t._version);
  copy._bits = t._bits;
  copy._gradFn = s.node;
  copy._outputNr = s.outputNr;
  return copy;
}

function changedError(s: SavedTensor, fn: GradientNode | null): never {
  const t = s.tensor;
  const maker = fn === null ? "" : `, which is output ${s.outputNr} of ${operatorName(fn)},`;
  const shape = s.node === null ? t._shape : s.shape;
  throw texts.savedWasModified(undefined, legacyName(t.dtype), shape, maker, t._version.value, s.version);
}

/** Shape and dtype of a tensor argument, without its bytes. */
export interface Geometry {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
  readonly dtype: DType;
  readonly ndim: number;
  readonly device: Device;
}

export function geometry(x: Tensor | Scalar | null | readonly Tensor[]): Geometry {
  // Of a list: the shapes of its members.
  // biome-ignore lint/suspicious/noExplicitAny: shapes of a list stand where sizes do
  if (Array.isArray(x)) return { ...geometry(null), shape: x.map((t) => t._shape) as any };
  if (!(x instanceof Tensor)) {
    return { shape: [], strides: [], offset: 0, dtype: getDefaultDtype(), ndim: 0, device: CPU };
  }
  const { _shape: shape, _strides: strides, _offset: offset, dtype, device } = x;
  return { shape, strides, offset, dtype, ndim: shape.length, device };
}

/**
 * The Tensor object: a storage, an offset, sizes, strides and a dtype, plus what autograd attaches. Operators are not
 * written here: they are generated and installed on the prototype.
 */

import { OperandFlag } from "../../generated/abi.ts";
import * as texts from "../../generated/texts.ts";
import { Complex } from "./complex.ts";
import type { Device } from "./device.ts";
import { refuseEmpty } from "./disposed.ts";
import type { ArrayOf, DType, DTypeLike, DTypeName } from "./dtype.ts";
import { takeLateMembers } from "./late-members.ts";
import { later } from "./later.ts";
import { enlist, scopeState } from "./scope-state.ts";
import { contiguousStrides, numelOf, Size } from "./size.ts";
import { DISPOSED, type Storage, UntypedStorage } from "./storage.ts";
import type { TypedStorageLike } from "./storage-types.ts";
import type { NestedList, Value } from "./value-types.ts";

/** Counts writes to a family of views; shared by base, views and `detach()`, not by `.data`. */
export class VersionCounter {
  value = 0;
}

/** Conjugate and negative bits: applied when the elements are read. */
export const CONJ = OperandFlag.conj;
export const NEG = OperandFlag.neg;

/** How a view came to be, which decides what writing to it means. */
export const CREATION_DEFAULT = 0;
export const CREATION_MULTI_OUTPUT = 1;
export const CREATION_NO_GRAD = 2;

/** What autograd's engine offers to a Tensor; implemented in the autograd room. */
export interface GradientNode {
  /** The name that programs print: `AddBackward0`. */ readonly name: string;
  /** The name with its namespace, where PyTorch's class has one. */ readonly qualifiedName: string;
  /** The nodes that gradients flow to, each with the place among its outputs. @torch Node.next_functions */
  readonly nextFunctions: readonly (readonly [GradientNode | null, number])[];
}

/** Makes a view again, from a base. */
export interface Replay {
  (base: Tensor): Tensor;
  /** Replays the nearest view that strides cannot rebuild, when this is a strided view of it. */
  through?: Replay;
}

/** Rare autograd state, made on demand. */
export interface AutogradExtra {
  retainGrad: boolean;
  hooks: Map<number, (grad: Tensor) => Tensor | null | undefined | void> | null;
  postHooks: Map<number, (leaf: Tensor) => void> | null;
  accumulate: GradientNode | null;
  /** Replays this view where strides cannot (another dtype, the conjugate bit). */ replay: Replay | null;
  /** Its gradient, while nobody outside of the library has had the object. */ ownGrad: Tensor | null;
}

/** Behaviour that higher rooms have. */
export interface TensorLate {
  repr: (t: Tensor) => string;
  gradFn: (t: Tensor) => GradientNode | null;
  backward: (t: Tensor, gradient: Tensor | null | undefined | BackwardOptions, options?: BackwardOptions) => void;
  setGrad: (t: Tensor, grad: Tensor | null) => void;
  nonLeafGradWarning: (t: Tensor) => void;
  requiresGrad_: (t: Tensor, value: boolean) => Tensor;
  retainGrad: (t: Tensor) => void;
  registerHook: (t: Tensor, hook: (grad: Tensor) => Tensor | null | undefined | void) => HookHandle;
  setData: (t: Tensor, value: Tensor) => void;
  item: (t: Tensor) => Value;
  bigint: (t: Tensor) => bigint;
  tolist: (t: Tensor) => NestedList;
  at: (t: Tensor, index: readonly unknown[]) => Tensor;
  shallow: (t: Tensor) => Tensor;
  storage: (t: Tensor) => unknown;
  inOrder: (op: string, args: ArrayLike<unknown>) => unknown[];
  conjView: (t: Tensor) => Tensor;
  negView: (t: Tensor) => Tensor;
  typedArray: (t: Tensor, dtype: DTypeLike | null) => NodeJS.TypedArray;
}

/** How a backward pass goes. */ export interface BackwardOptions {
  /** The gradient to start from; for tensors of more than one element. */
  gradient?: Tensor | null;
  /** Keep what the graph saved, for another pass; by default as `createGraph`. */ retainGraph?: boolean;
  /** Record the pass itself, for gradients of gradients. */ createGraph?: boolean;
  /** The only tensors that get gradients; by default all leaves. */ inputs?: Tensor | Tensor[];
}

/** What registering a hook gives; `using` removes the hook at the end of the block. */ export interface HookHandle {
  /** Takes the hook away. Once more does nothing. */ remove(): void;
  [Symbol.dispose](): void;
}

/** A tensor whose elements are known to be bools, as comparisons give it. Any tensor may stand where it is wanted. */
export type BoolTensor = { item(): boolean } & Tensor;

export const late: TensorLate = later("late");

let nextId = 1;

/** Declared apart: the compiler misses symbols of a class that merges with an interface which mentions it. */
interface SymbolMembers extends Disposable {
  [Symbol.toPrimitive](hint: string): number | string | boolean;
  [Symbol.iterator](): IterableIterator<Tensor>;
}

/* The operators declare themselves (generated/methods.ts). */ export interface Tensor extends SymbolMembers {}

/** A strided, multi-dimensional array over shared storage. @torch torch.Tensor */
export class Tensor {
  static {
    takeLateMembers(Tensor.prototype, 4);
    Object.defineProperty(Tensor.prototype, "_isTensor", { value: true });
    Object.defineProperty(Tensor.prototype, "_unbatched", { value: false });
  }
  /** Editors offer the members of a class with a private one nowhere but behind its objects. */
  declare private readonly opaque: never;
  /** @internal */ _storage: Storage;
  /** @internal Offset of element 0, in elements. */ _offset: number;
  /** @internal Never written to. */ _shape: readonly number[];
  /** @internal Never written to. */ _strides: readonly number[];
  /** Element type. */
  dtype: DType;
  /** @internal */ _numel: number;
  /** @internal Row-major without gaps. */ _contiguous: boolean;
  /** @internal CONJ and NEG. */ _bits = 0;
  /** @internal */ _version: VersionCounter;
  /** @internal Root of the view family, null for a tensor that is no view. */ _base: Tensor | null = null;
  /** @internal */ _creation = CREATION_DEFAULT as number;
  /** @internal Set on leaves by the user; results follow their `_gradFn`. */ _requiresGrad = false;
  /** @internal */ _gradFn: GradientNode | null = null;
  /** @internal */ _outputNr = 0;
  /** @internal Version of the family when `_gradFn` of this view was made. */ _viewVersion = 0;
  /** @internal */ _grad: Tensor | null = null;
  /** @internal */ _extra: AutogradExtra | null = null;
  /** @internal */ _size: Size | null = null;
  /** @internal Tensors are made by factories and operators. */
  constructor(
    storage: Storage,
    offset: number,
    shape: readonly number[],
    strides: readonly number[],
    dtype: DType,
    numel: number,
    contiguous: boolean,
    version: VersionCounter,
  ) {
    if (version === undefined) throw texts.tensorConstructor(undefined);
    this._storage = storage;
    this._offset = offset;
    this._shape = shape;
    this._strides = strides;
    this.dtype = dtype;
    this._numel = numel;
    this._contiguous = contiguous;
    this._version = version;
    storage.claims++;
    if (scopeState.made !== null) enlist(this, scopeState.made);
  }

  /** Sizes, as a frozen array. @torch Tensor.shape */
  get shape(): Size {
    let s = this._size;
    if (s === null) {
      s = Size.fromList(this._shape);
      this._size = s;
    }
    return s;
  }
  /** The shape, or the size of one dimension. @torch Tensor.size */
  size(): Size;
  size(dim: number | { dim: number }): number;
  size(dim?: number | { dim: number } | null): Size | number {
    if (arguments.length > 1) late.inOrder("size", arguments);
    if (dim === undefined || dim === null) return this.shape;
    return this._shape[givenDim("size", dim, this._shape.length)] as number;
  }
  /** Strides in elements, or the stride of one dimension. @torch Tensor.stride */
  stride(): readonly number[];
  stride(dim: number | { dim: number }): number;
  stride(dim?: number | { dim: number } | null): readonly number[] | number {
    if (arguments.length > 1) late.inOrder("stride", arguments);
    if (dim === undefined || dim === null) return Object.freeze(this._strides.slice()) as readonly number[];
    return this._strides[givenDim("stride", dim, this._shape.length)] as number;
  }
  /** The number of dimensions. @torch Tensor.ndim */ get ndim(): number {
    return this._shape.length;
  }
  /** Number of dimensions. @torch Tensor.dim */ dim(): number {
    return this._shape.length;
  }
  /** Number of elements. @torch Tensor.numel */ numel(): number {
    return this._numel;
  }
  /** The number of elements. @torch Tensor.nelement */ nelement(): number {
    return this._numel;
  }
  /** The size of the first dimension. @torch len(Tensor) */ get length(): number {
    if (this._shape.length === 0) throw texts.lenOfScalar(undefined);
    return this._shape[0] as number;
  }
  /** Bytes per element. @torch Tensor.itemsize */ get itemsize(): number {
    return this.dtype.itemsize;
  }
  /** Bytes of an element. @torch Tensor.element_size */ elementSize(): number {
    return this.dtype.itemsize;
  }
  /** Bytes of the elements. @torch Tensor.nbytes */ get nbytes(): number {
    return this._numel * this.dtype.itemsize;
  }
  /** Offset of element 0 in its storage, in elements. @torch Tensor.storage_offset */
  storageOffset(): number {
    return this._offset;
  }
  /** Address of element 0. The bytes stay there from now on. @torch Tensor.data_ptr */
  dataPtr(): number {
    if (this._storage.kind === "tiny") this._storage.buffer();
    return this._numel === 0 || this.isMeta ? 0 : this._address();
  }
  /** @internal Address of element 0, for the next native call only. */
  _address(): number {
    const s = this._storage;
    const { itemsize } = this.dtype;
    if (s.watched) s.look(bytesNeeded(this._shape, this._strides, this._offset, itemsize));
    return s.address + this._offset * itemsize;
  }
  /** The bytes behind this tensor and its views. @torch Tensor.untyped_storage */
  untypedStorage(): UntypedStorage {
    return new UntypedStorage(this._storage.exposed());
  }
  /** Where the elements are. @torch Tensor.device */ get device(): Device {
    return this._storage.device;
  }
  /** Always `torch.strided`. @torch Tensor.layout */ get layout(): "torch.strided" {
    return "torch.strided";
  }
  /** Whether it is on the CPU. @torch Tensor.is_cpu */ get isCpu(): boolean {
    return this._storage.device.type === "cpu";
  }
  /** Whether it is on a GPU. @torch Tensor.is_cuda */ get isCuda(): boolean {
    return this._storage.device.type === "cuda";
  }
  /** Whether it has no elements, only a shape and a dtype. @torch Tensor.is_meta */ get isMeta(): boolean {
    return this._storage.device.type === "meta";
  }
  /** Whether its dtype is a floating point one. @torch Tensor.is_floating_point */ isFloatingPoint(): boolean {
    return this.dtype.category === 2;
  }
  /** Whether its dtype is complex. @torch Tensor.is_complex */ isComplex(): boolean {
    return this.dtype.category === 3;
  }
  /** Whether its dtype has negative numbers. @torch Tensor.is_signed */ isSigned(): boolean {
    return this.dtype.isSigned;
  }
  /** Whether its elements are the conjugates of what its memory holds. @torch Tensor.is_conj */ isConj(): boolean {
    return (this._bits & CONJ) !== 0;
  }
  /** Whether its elements are the negatives of what its memory holds. @torch Tensor.is_neg */ isNeg(): boolean {
    return (this._bits & NEG) !== 0;
  }
  /** Writes seen by this tensor's family of views. @torch Tensor._version */
  get version(): number {
    return this._version.value;
  }
  /** True for a view made by an operator (not by detach, data or a dtype change). @torch Tensor._is_view */
  isView(): boolean {
    return this._base !== null;
  }

  /** Whether operators on it are recorded; a leaf's may be set. @torch Tensor.requires_grad */
  get requiresGrad(): boolean {
    return this._requiresGrad || this._gradFn !== null || (this._base?.requiresGrad ?? false);
  }
  set requiresGrad(value: boolean) {
    late.requiresGrad_(this, value);
  }
  /** Asks for gradients of this leaf. @torch Tensor.requires_grad_ */
  requiresGrad_(value = true): this {
    return late.requiresGrad_(this, value) as this;
  }
  /** The node that made this tensor, null for leaves. @torch Tensor.grad_fn */ get gradFn(): GradientNode | null {
    return late.gradFn(this);
  }
  /** True when no operation on a graph made this tensor. @torch Tensor.is_leaf */
  get isLeaf(): boolean {
    return late.gradFn(this) === null;
  }
  /** Position among the outputs of `gradFn`. @torch Tensor.output_nr */
  get outputNr(): number {
    return this._outputNr;
  }
  /** The gradient accumulated by `backward()`, or null. @torch Tensor.grad */
  get grad(): Tensor | null {
    if (this._grad === null && this._gradFn !== null && !(this._extra?.retainGrad ?? false)) {
      late.nonLeafGradWarning(this);
    }
    if (this._extra !== null) this._extra.ownGrad = null;
    return this._grad;
  }
  set grad(value: Tensor | null) {
    late.setGrad(this, value);
  }
  /** Keeps the gradient of a tensor that is no leaf. @torch Tensor.retain_grad */
  retainGrad(): void {
    late.retainGrad(this);
  }
  /** Whether a tensor that is no leaf keeps its gradient. @torch Tensor.retains_grad */ get retainsGrad(): boolean {
    return this._extra?.retainGrad ?? false;
  }
  /** Calls `hook` with each gradient of this tensor; what it returns replaces it. @torch Tensor.register_hook */
  registerHook(hook: (grad: Tensor) => Tensor | null | undefined | void): HookHandle {
    return late.registerHook(this, hook);
  }
  /** Computes the gradients of the leaves of this tensor's graph. @torch Tensor.backward */
  backward(gradient?: Tensor | null | BackwardOptions, options?: BackwardOptions): void {
    late.backward(this, gradient, options);
  }
  /** The same elements without history and with a version of their own. @torch Tensor.data */
  get data(): Tensor {
    return late.shallow(this);
  }
  set data(value: Tensor) {
    late.setData(this, value);
  }

  /**
   * The one element as a JavaScript value: a boolean for bool, a `Complex` for complex dtypes, else a number. Its type
   * is `number` unless something else is wanted: `item<Complex>()`, `item<boolean>()`, `const b: boolean = x.item()`.
   * Comparisons give tensors whose `item()` is a boolean already.
   * @throws RuntimeError for an integer beyond 2**53; see `bigint`
   * @torch Tensor.item
   */
  item<V extends Value = number>(): V {
    return late.item(this) as V;
  }
  /** The one element of an integer tensor as a bigint. */
  bigint(): bigint {
    return late.bigint(this);
  }
  /**
   * Nested arrays of the elements; of a tensor without dimensions, its element. How deep they are is not known to the
   * compiler, which takes what is wanted (`const rows: number[][] = x.tolist()`) and any index.
   * @torch Tensor.tolist
   */
  // biome-ignore lint/suspicious/noExplicitAny: a number and a list at once is no other type
  tolist<T extends NestedList = any>(): T {
    return late.tolist(this) as T;
  }
  /** What JSON.stringify writes: nested arrays; NaN and infinities become null, as JSON has them not. */
  toJSON(): NestedList {
    return late.tolist(this);
  }
  /**
   * A typed array over the same memory; the tensor must be contiguous. With a dtype the kind of array is known, and a
   * tensor of another dtype refused.
   * @throws RuntimeError when the tensor has another dtype, or no such memory
   * @example
   * ```ts
   * arange(3).typedArray("int64").at(-1) // 2
   * ```
   */
  typedArray(): NodeJS.TypedArray;
  typedArray<N extends DTypeName>(dtype: N | DType<N>): ArrayOf<N>;
  typedArray(dtype: DTypeLike): NodeJS.TypedArray;
  typedArray(dtype: DTypeLike | null = null): NodeJS.TypedArray {
    return late.typedArray(this, dtype);
  }
  /** The typed storage. @torch Tensor.storage */
  storage(): TypedStorageLike {
    return late.storage(this) as TypedStorageLike;
  }

  *[Symbol.iterator](): IterableIterator<Tensor> {
    if (this._shape.length === 0) throw texts.iterationOfScalar(undefined);
    const n = this._shape[0] as number;
    for (let i = 0; i < n; i++) yield late.at(this, [i]);
  }
  /** The text that PyTorch prints. */ toString(): string {
    return late.repr(this);
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
  [Symbol.toPrimitive](hint: "number" | "string" | "default"): number | string | boolean {
    if (hint === "string") return this.toString();
    if (hint === "number") {
      if (this._numel !== 1) throw texts.noNumberOfMany(undefined, this._numel);
      const value = late.item(this);
      if (value instanceof Complex) throw texts.complexHasNoNumber(undefined);
      return Number(value);
    }
    throw texts.noOperators(undefined);
  }
  /** @internal What basic indexing returns; classes that outlive indexing replace it. */
  _derive(view: Tensor): Tensor {
    return view;
  }
  /** @internal Whether it is of a batch as a whole. */ declare readonly _unbatched: boolean;
  /** Gives up this tensor's claim on its bytes; the last claim returns them at once. */
  [Symbol.dispose](): void {
    if (this._storage === DISPOSED) return;
    const s = this._storage;
    this._storage = DISPOSED;
    s.release();
    if (this._numel === 0) refuseEmpty(this);
  }
  /** Gives its memory back now; using it afterwards is an error. */ dispose(): void {
    this[Symbol.dispose]();
  }
}

/** Autograd's rare state of a tensor, made when first needed. */
export function extraOf(t: Tensor): AutogradExtra {
  let extra = t._extra;
  if (extra === null) {
    extra = { retainGrad: false, hooks: null, postHooks: null, accumulate: null, replay: null, ownGrad: null };
    t._extra = extra;
  }
  return extra;
}

/** A number that no other object has had. */
export function freshId(): number {
  return nextId++;
}

/** A dimension counted from the end when negative. `rank` 0 counts as 1. */
export function wrapDim(dim: number, rank: number, op?: string): number {
  const n = rank === 0 ? 1 : rank;
  if (!Number.isInteger(dim) || dim < -n || dim >= n) throw texts.dimOutOfRange(op, -n, n - 1, dim);
  return dim < 0 ? dim + n : dim;
}

/** `wrapDim` of what a user gave: a whole number, or an integer tensor of one element. */
function givenDim(op: string, dim: unknown, rank: number): number {
  if (typeof dim === "number" && Number.isInteger(dim)) return wrapDim(dim, rank);
  if (dim instanceof Tensor && dim._numel === 1 && dim.dtype.category === 1) return wrapDim(Number(dim.item()), rank);
  const [named] = late.inOrder(op, [dim]);
  if (named !== undefined && named !== null) return givenDim(op, named, rank);
  throw texts.wrongArgument(op, op, "dim", "int", "NoneType");
}

/** Row-major without gaps; dimensions of size one do not matter. */
export function isContiguousGeometry(shape: readonly number[], strides: readonly number[]): boolean {
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    const n = shape[i] as number;
    if (n === 0) return true;
    if (n !== 1) {
      if (strides[i] !== step) return contiguousWhenEmpty(shape);
      step *= n;
    }
  }
  return true;
}

function contiguousWhenEmpty(shape: readonly number[]): boolean {
  return shape.includes(0);
}

/** A fresh contiguous tensor over a storage of its own. */
export function makeContiguous(storage: Storage, shape: readonly number[], dtype: DType): Tensor {
  return new Tensor(storage, 0, shape, contiguousStrides(shape), dtype, numelOf(shape), true, new VersionCounter());
}

/** A tensor with given strides over a storage. */
export function makeStrided(
  storage: Storage,
  offset: number,
  shape: readonly number[],
  strides: readonly number[],
  dtype: DType,
): Tensor {
  return new Tensor(
    storage,
    offset,
    shape,
    strides,
    dtype,
    numelOf(shape),
    isContiguousGeometry(shape, strides),
    new VersionCounter(),
  );
}

/** Bytes that a strided region needs from the start of its storage. */
export function bytesNeeded(
  shape: readonly number[],
  strides: readonly number[],
  offset: number,
  itemsize: number,
): number {
  let last = offset;
  for (let i = 0; i < shape.length; i++) {
    if (shape[i] === 0) return 0;
    last += ((shape[i] as number) - 1) * (strides[i] as number);
  }
  return (last + 1) * itemsize;
}

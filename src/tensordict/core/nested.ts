// Nested tensors: tensors of different sizes, one after the other in one block of elements, that are one entry.

import type { IndexPart } from "../../api/indexing-parse.ts";
import { repr } from "../../api/printing.ts";
import { installChecks } from "../../tensor/checks.ts";
import type { Device, DeviceLike } from "../../tensor/device.ts";
import type { DType, DTypeLike } from "../../tensor/dtype.ts";
import { IndexError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { settle } from "../../tensor/objects.ts";
import { Size } from "../../tensor/size.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { NestedList } from "../../tensor/value-types.ts";
import { NESTED_METHODS } from "./signatures.ts";
import { Collection, type CollectionKind } from "./state.ts";
import { catTensors, tensor, zeros } from "./tensor-ops.ts";
import type { Entry } from "./types.ts";

/** Most dimensions of a component. */
export const MAX_NESTED_RANK = 63;

/** The error for what cannot be done with a nested tensor. */
export function noNested(operation: string, key?: string): RuntimeError {
  const which = key === undefined ? "a nested tensor" : `the nested tensor under key '${key}'`;
  return new RuntimeError(`${operation} is not possible with ${which}: take its components with unbind().`, {
    code: "nested_tensor",
  });
}

/** How many elements each component has; exact, as the sizes were checked. */
function countsOf(sizes: ArrayLike<number>, count: number, rank: number): (i: number) => number {
  if (rank === 0) return () => 1;
  return (i) => {
    let n = 1;
    for (let dim = 0; dim < rank; dim++) n *= sizes[i * rank + dim] as number;
    return i < count ? n : 0;
  };
}

/** Where each component begins, and where the last one ends; null when each has one element. */
function startsOf(sizes: ArrayLike<number>, count: number, rank: number): Float64Array | null {
  if (rank === 0) return null;
  const starts = new Float64Array(count + 1);
  const elements = countsOf(sizes, count, rank);
  for (let i = 0; i < count; i++) starts[i + 1] = (starts[i] as number) + elements(i);
  return starts;
}

/** The common shape, with -1 where sizes differ. */
function commonShape(sizes: ArrayLike<number>, count: number, rank: number): Size {
  const shape = [count];
  for (let dim = 0; count > 0 && dim < rank; dim++) {
    const first = sizes[dim] as number;
    let same = true;
    for (let i = 1; same && i < count; i++) same = sizes[i * rank + dim] === first;
    shape.push(same ? first : -1);
  }
  return Size.fromList(shape);
}

/**
 * Tensors of one dtype and number of dimensions whose sizes may differ, one after the other in one contiguous block:
 * in a memory-mapped directory the block is the file, and components are views of it that write through. It is made
 * by `nested.nestedTensor`, and can be an entry of a TensorDict; its first dimension may then be a batch dimension.
 *
 * It holds and stores tensors and does no arithmetic: take the components (`unbind`, `at`) or pad them
 * (`toPaddedTensor`) to compute.
 * @torch torch.nested.nested_tensor (layout torch.strided)
 * @example
 * ```ts
 * const n = nested.nestedTensor([[1, 2, 3], [4, 5]]);
 * n.toPaddedTensor(0).at(1) // tensor([4., 5., 0.])
 * ```
 */
export class NestedTensor extends Collection<never> {
  static {
    settle(NestedTensor.prototype, "_kind");
  }
  /** @internal The elements of all components. */ readonly _values: Tensor;
  /** @internal Sizes of the components, row by row. */ readonly _sizes: Float64Array;
  /** @internal Dimensions of each component. */ readonly _rank: number;
  private readonly starts: Float64Array | null;

  /**
   * @internal
   * @param values all elements, one-dimensional and contiguous
   * @param sizes whole numbers, `rank` for each component, whose products add up to the number of elements
   */
  constructor(values: Tensor, sizes: Float64Array, count: number, rank: number) {
    super({ batchSize: commonShape(sizes, count, rank), device: values.device, names: null });
    this._values = values;
    this._sizes = sizes;
    this._rank = rank;
    this.starts = startsOf(sizes, count, rank);
  }

  // ---- what it is

  /** Always true. @torch Tensor.is_nested */
  get isNested(): boolean {
    return true;
  }
  /** dtype of all components. @torch Tensor.dtype */
  get dtype(): DType {
    return this._values.dtype;
  }
  /** Where the components are. @torch Tensor.device */
  get device(): Device {
    return this._values.device;
  }
  /** Whether gradients of it are recorded. @torch Tensor.requires_grad */
  get requiresGrad(): boolean {
    return this._values.requiresGrad;
  }
  /** Number of components. @torch len(Tensor) */
  get length(): number {
    return this._batchSize[0] as number;
  }
  /** Dimensions, the one that counts the components included. @torch Tensor.dim */
  dim(): number {
    return this._batchSize.length;
  }
  /** Number of dimensions. @torch Tensor.ndim */
  get ndim(): number {
    return this._batchSize.length;
  }
  /** Elements of all components. @torch Tensor.numel */
  numel(): number {
    return this._values.numel();
  }
  /** Bytes of all components. @torch Tensor.nbytes */
  get nbytes(): number {
    return this._values.nbytes;
  }
  /**
   * The size of one dimension.
   * @throws RuntimeError where the components differ
   * @throws IndexError for a dimension that is not there
   * @torch Tensor.size
   */
  size(dim: number): number {
    const rank = this.dim();
    const at = dim < 0 ? dim + rank : dim;
    if (!Number.isInteger(at) || at < 0 || at >= rank) {
      throw new IndexError(
        `Dimension out of range (expected to be in range of [${-rank}, ${rank - 1}], but got ${dim})`,
      );
    }
    const size = this._batchSize[at] as number;
    if (size < 0) throw new RuntimeError(`Given dimension ${at} is irregular and does not have a size.`);
    return size;
  }

  // ---- its components

  private component(i: number): Tensor {
    const start = this.starts === null ? i : (this.starts[i] as number);
    const end = this.starts === null ? i + 1 : (this.starts[i + 1] as number);
    return this._values.narrow(0, start, end - start).view(this._shapeAt(i));
  }
  /** @internal The shape of a component. */
  _shapeAt(i: number): number[] {
    return Array.from(this._sizes.subarray(i * this._rank, (i + 1) * this._rank));
  }
  /** @internal int64 of shape [count, rank], as files have it. */
  _sizesTensor(): Tensor {
    const flat = tensor(BigInt64Array.from(this._sizes, BigInt));
    return flat.view([this.length, this._rank]);
  }
  /** @internal The same components over other elements. */
  _over(values: Tensor): NestedTensor {
    return new NestedTensor(values, this._sizes, this.length, this._rank);
  }

  /** All components, as views. @torch Tensor.unbind */
  unbind(dim = 0): Tensor[] {
    if (dim !== 0) {
      throw new RuntimeError(`NestedTensor can only be unbound along dimension 0 got dimension ${dim} instead.`);
    }
    return Array.from({ length: this.length }, (_, i) => this.component(i));
  }
  /** Iterates over the components. */
  *[Symbol.iterator](): Generator<Tensor> {
    for (let i = 0; i < this.length; i++) yield this.component(i);
  }
  /**
   * A component, or with further parts of an index a part of it. Negative numbers count from the end.
   * @throws IndexError for a component that is not there
   * @throws RuntimeError for an index that does not begin with a number
   * @torch Tensor.__getitem__
   */
  at(index: number, ...rest: IndexPart[]): Tensor {
    if (typeof index !== "number") throw noNested("indexing by anything but the number of a component");
    const n = this.length;
    if (!Number.isInteger(index) || index < -n || index >= n) {
      throw new IndexError(`index ${index} is out of bounds for dimension 0 with size ${n}`);
    }
    const found = this.component(index < 0 ? index + n : index);
    return rest.length === 0 ? found : found.at(rest);
  }
  /** Nested arrays of the elements of each component. */
  tolist(): NestedList[] {
    return this.unbind().map((t) => t.tolist());
  }

  // ---- copies

  /** A copy with elements of its own. @torch Tensor.clone */
  clone(): NestedTensor {
    return this._over(this._values.clone());
  }
  /** The same elements without history. @torch Tensor.detach */
  detach(): NestedTensor {
    return this._over(this._values.detach());
  }
  /** On another device or of another dtype; itself where it is so already. @torch Tensor.to */
  to(target?: DeviceLike | DTypeLike, options: { device?: DeviceLike; dtype?: DTypeLike } = {}): NestedTensor {
    const first = target === undefined ? this._values : this._values.to(target as DTypeLike);
    const values = Object.keys(options).length === 0 ? first : first.to(options);
    return values === this._values ? this : this._over(values);
  }
  /** @internal Writes the components of another one, of the same sizes, over these. */
  _copy(other: NestedTensor): void {
    this._values.copy_(other._values);
  }
  /** @internal */
  _sameSizes(other: NestedTensor): boolean {
    const same = this._rank === other._rank && this.length === other.length;
    return same && this._sizes.every((n, i) => n === other._sizes[i]);
  }

  /**
   * One dense tensor: components at the beginning of each dimension, `padding` behind them.
   * @param outputSize the shape of the result; by default the least that holds every component
   * @throws RuntimeError when `outputSize` is less than that
   * @torch torch.nested.to_padded_tensor
   */
  toPaddedTensor(padding: number | boolean, outputSize?: readonly number[]): Tensor {
    const n = this.length;
    const largest = Array.from({ length: n === 0 ? 0 : this._rank }, (_, dim) => {
      let most = 0;
      for (let i = 0; i < n; i++) most = Math.max(most, this._sizes[i * this._rank + dim] as number);
      return most;
    });
    const shape = outputSize ?? [n, ...largest];
    if (shape.length !== largest.length + 1) {
      throw new ValueError(`outputSize has ${shape.length} dimensions instead of ${largest.length + 1}`);
    }
    if ([n, ...largest].some((size, dim) => !((shape[dim] as number) >= size))) {
      throw new RuntimeError(
        "Value in output_size is less than NestedTensor padded size. Truncation is not supported.",
      );
    }
    const out = zeros([...shape], { dtype: this.dtype, device: this.device });
    if (padding !== 0 && padding !== false) out.fill_(padding as number);
    for (let i = 0; i < n; i++) {
      let part = out.select(0, i);
      for (const [dim, size] of this._shapeAt(i).entries()) part = part.narrow(dim, 0, size);
      part.copy_(this.component(i));
    }
    return out;
  }

  // ---- text

  override toString(): string {
    const plain = (t: Tensor) => repr(this.requiresGrad ? t.detach().requiresGrad_(true) : t, "tensor(");
    const texts = Array.from(this, (t) => plain(t).replaceAll(/^/gm, "  "));
    const gradient = this._values.gradFn?.name;
    const tail = gradient != null ? `, grad_fn=<${gradient}>` : this.requiresGrad ? ", requires_grad=True" : "";
    return `nested_tensor([\n${texts.join(",\n")}\n]${tail})`;
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }

  // ---- what a collection has and this has not

  get _kind(): CollectionKind {
    return "nested";
  }
  get _className(): string {
    return "NestedTensor";
  }
  _keys(): Iterable<string> {
    throw noNested("this operation");
  }
  _own(_key: string): Entry | undefined {
    throw noNested("this operation");
  }
  _put(_key: string, _entry: Entry): void {
    throw noNested("this operation");
  }
  _drop(_key: string): void {
    throw noNested("this operation");
  }
  _like(): never {
    throw noNested("this operation");
  }
}
installChecks(NestedTensor.prototype, NESTED_METHODS);

/** The components of all of these, in order. */
export function catNested(list: readonly NestedTensor[], key: string): NestedTensor {
  const { _rank: rank, dtype } = list[0] as NestedTensor;
  if (!list.every((one) => one._rank === rank && one.dtype === dtype)) {
    throw new RuntimeError(`the nested tensors under key '${key}' differ in dtype or number of dimensions`);
  }
  const sizes = new Float64Array(list.reduce((n, one) => n + one._sizes.length, 0));
  let at = 0;
  for (const one of list) {
    sizes.set(one._sizes, at);
    at += one._sizes.length;
  }
  const count = list.reduce((n, one) => n + one.length, 0);
  return new NestedTensor(
    catTensors(
      list.map((one) => one._values),
      0,
    ),
    sizes,
    count,
    rank,
  );
}

declare module "./types.ts" {
  interface Classes<S> {
    nested: NestedTensor;
  }
}

/** The typed view of a storage, as `tensor.storage()` gives it. */

import { onCpu } from "../dispatch/copy.ts";
import { installChecks } from "../tensor/checks.ts";
import type { Complex } from "../tensor/complex.ts";
import { type DType, toDType } from "../tensor/dtype.ts";
import { CLASSES } from "../tensor/signatures.ts";
import { checkedIndex, type Storage, UntypedStorage } from "../tensor/storage.ts";
import type { TypedStorageLike } from "../tensor/storage-types.ts";
import { makeContiguous, type Tensor } from "../tensor/tensor.ts";
import type { Value } from "../tensor/value-types.ts";
import { readNumbers } from "../tensor/values.ts";
import { pythonComplex, pythonFloat } from "./number-text.ts";
import { flatValues, flatWords, item } from "./values.ts";

const INSPECT = Symbol.for("nodejs.util.inspect.custom");

/**
 * All elements of a storage, whatever the tensor that it was asked of shows of it.
 * @example
 * ```ts
 * const s = tensor([1, 2, 3]).storage();
 * [s.dtype, s.length, s.device, s.at(-1)] // [torch.float32, 3, cpu, 3]
 * ```
 * @torch torch.TypedStorage
 */
export class TypedStorage implements TypedStorageLike {
  /** The dtype of the elements. */
  readonly dtype: DType;
  private readonly bytes: Storage;

  constructor(bytes: Storage, dtype: DType) {
    this.bytes = new UntypedStorage(bytes).storage;
    this.dtype = toDType(dtype);
  }
  /** Number of elements. */
  get length(): number {
    return Math.floor(this.bytes.nbytes / this.dtype.itemsize);
  }
  /** Number of elements. */
  size(): number {
    return this.length;
  }
  /** Bytes of all elements. @torch torch.TypedStorage.nbytes */
  nbytes(): number {
    return this.bytes.nbytes;
  }
  /** Bytes of an element. @torch torch.TypedStorage.element_size */
  elementSize(): number {
    return this.dtype.itemsize;
  }
  /** Where the elements are: `cpu`. @torch torch.TypedStorage.device */
  get device(): string {
    return String(this.bytes.device);
  }
  /** Address of the first element. */
  dataPtr(): number {
    return this.untyped().dataPtr();
  }
  /** The bytes without a type. */
  untyped(): UntypedStorage {
    return new UntypedStorage(this.bytes);
  }
  private whole(): Tensor {
    return makeContiguous(this.bytes, [this.length], this.dtype);
  }
  /** The element at an index; negative indices count from the end. */
  at(index: number): Value {
    const i = checkedIndex(index, this.length);
    const one = makeContiguous(this.bytes, [], this.dtype);
    one._offset = i;
    return item(one);
  }
  /** Writes one element. */
  setAt(index: number, value: number | boolean | bigint | Complex): this {
    const i = checkedIndex(index, this.length);
    const one = makeContiguous(this.bytes, [], this.dtype);
    one._offset = i;
    one.fill_(value);
    return this;
  }
  /** Writes one value everywhere. */
  fill_(value: number | boolean | bigint | Complex): this {
    this.whole().fill_(value);
    return this;
  }
  /** The elements as an array. @torch torch.TypedStorage.tolist */
  tolist(): Value[] {
    return flatValues(this.whole());
  }
  *[Symbol.iterator](): IterableIterator<Value> {
    yield* this.tolist();
  }
  private line(): string {
    return `[torch.storage.TypedStorage(dtype=${this.dtype}, device=${this.device}) of size ${this.length}]`;
  }
  /** The elements, a line each, and what they are. */
  toString(): string {
    // Python joins the elements' lines behind one space, which stays where there are none.
    return ` ${this.texts().join("\n ")}\n${this.line()}`;
  }
  /** One line for each element, as Python writes it. */
  private texts(): string[] {
    if (!this.bytes.device.computes) return [" ..."];
    const d = this.dtype;
    const t = onCpu(this.whole());
    if (d.category === 1) return d.itemsize === 8 ? wordTexts(t) : flatValues(t).map(String);
    if (d.category === 0) return flatValues(t).map((x) => (x ? "True" : "False"));
    const parts = d.category === 3 ? 2 : 1;
    const x = readNumbers(t._address(), d.id, this.length, parts);
    return Array.from({ length: this.length }, (_, i) =>
      parts === 2 ? pythonComplex(x[2 * i] as number, x[2 * i + 1] as number) : pythonFloat(x[i] as number),
    );
  }
  [INSPECT](): string {
    return this.toString();
  }
}
installChecks(TypedStorage.prototype, CLASSES.TypedStorage);

function wordTexts(t: Tensor): string[] {
  return Array.from(flatWords(t), String);
}

/** The typed storage of a tensor. @torch Tensor.storage */
export function storage(t: Tensor): TypedStorage {
  return new TypedStorage(t._storage, t.dtype);
}

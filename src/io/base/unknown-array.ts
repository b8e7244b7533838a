// Arrays of elements that no tensor has: what every reader gives for them, and what becomes of them.

import { copyBytes } from "../../ffi/memory.ts";
import { installChecks } from "../../tensor/checks.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { addressOf } from "../../tensor/values.ts";
import { METHODS } from "./signatures.ts";

/** What becomes of arrays that no tensor has elements for. */
export interface UnknownOptions {
  /**
   * "describe", the default, gives their values where JavaScript has some, as for texts, and `io.UnknownArray`
   * otherwise; "skip" leaves them out; "refuse" is an error that names the first.
   */
  unknown?: "describe" | "skip" | "refuse";
}

/** Most bytes that JSON shows. */
const SHOWN_BYTES = 1024;

/** What an array of unknown elements is made of. */
export interface UnknownParts {
  /** The format of the file. */
  format: string;
  name: string;
  dtype: string;
  shape: readonly number[] | null;
  /** Those of elements that may go soon are read when they are asked for first. */
  bytes: Tensor | null | (() => Tensor);
  /** How many bytes there will be; of a tensor, as many as it has. */
  nbytes?: number | null;
  /** The type as the format's writer takes it. */
  exact?: Uint8Array | null;
}

/**
 * Elements of a type that no tensor has, as a file holds them: their type in the format's words, their shape, and their
 * bytes as they are. `JSON.stringify` tells all but long bytes. Writers of the same format write it back unchanged.
 * @example
 * ```ts
 * const head = new TextEncoder().encode('{"x":{"dtype":"F4","shape":[2,4],"data_offsets":[0,4]}}');
 * const length = new BigUint64Array([BigInt(head.length)]);
 * await Bun.write("f4.safetensors", new Blob([length, head, new Uint8Array(4)]));
 * const { x } = loadSafetensors<{ x: io.UnknownArray }>("f4.safetensors");
 * [x.format, x.name, x.dtype, x.shape, x.nbytes]
 * // [safetensors, x, F4, [2, 4], 4]
 * ```
 */
export class UnknownArray {
  /** The format of the file: "npy", "safetensors", "hdf5" or "gguf". */
  readonly format: string;
  /** Its name in the file. */
  readonly name: string;
  /** The type of its elements, in the words of the format. */
  readonly dtype: string;
  /** Its shape; null where the file says that it has none. */
  readonly shape: readonly number[] | null;
  /** How many bytes its elements have; null where the file does not hold them as bytes. */
  readonly nbytes: number | null;
  /** @internal The type as a writer of the format takes it; null where it cannot be written. */
  readonly _exact: Uint8Array | null;

  #bytes: Tensor | null | (() => Tensor);

  constructor({ format, name, dtype, shape, bytes, nbytes = null, exact = null }: UnknownParts) {
    this.format = format;
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.#bytes = bytes;
    this.nbytes = bytes === null ? null : typeof bytes === "function" ? nbytes : bytes.numel();
    this._exact = exact;
  }
  /** All bytes of its elements, uint8, as the file has them; null where they are no bytes. */
  get bytes(): Tensor | null {
    if (typeof this.#bytes === "function") this.#bytes = this.#bytes();
    return this.#bytes;
  }
  /** @internal The same with its bytes elsewhere. */
  _with(bytes: Tensor): UnknownArray {
    const { name, dtype, shape, _exact: exact } = this;
    return new UnknownArray({ format: this.format as UnknownParts["format"], name, dtype, shape, bytes, exact });
  }
  /** What it is, in one line. */
  toString(): string {
    const shape = this.shape === null ? "none" : `[${this.shape.join(", ")}]`;
    const size = this.nbytes === null ? "" : `, ${this.nbytes} bytes`;
    return `UnknownArray(${this.format} ${JSON.stringify(this.name)}, dtype=${this.dtype}, shape=${shape}${size})`;
  }
  /** What it is as plain values; bytes in base64, where they are few. */
  toJSON(_key?: string): Record<string, unknown> {
    const { format, name, dtype, shape, nbytes, bytes } = this;
    const few = bytes !== null && bytes.numel() <= SHOWN_BYTES && !bytes.isMeta;
    return {
      format,
      name,
      dtype,
      shape,
      nbytes,
      bytes: few ? Buffer.from(bytes.typedArray() as Uint8Array).toString("base64") : null,
    };
  }
  [Symbol.for("nodejs.util.inspect.custom")](): string {
    return this.toString();
  }
}
installChecks(UnknownArray.prototype, METHODS.UnknownArray);

/** Bytes that are in memory as a tensor of their own. */
export function bytesTensor(bytes: Uint8Array): Tensor {
  const storage = Storage.allocate(bytes.length);
  if (bytes.length > 0) copyBytes(storage.ptr, addressOf(bytes), bytes.length);
  return makeContiguous(storage, [bytes.length], uint8);
}

/** Whether what no tensor has is given to the caller. Throws what `refusal` makes where it is to be refused. */
export function takesUnknown({ unknown = "describe" }: UnknownOptions, refusal: () => Error): boolean {
  if (unknown === "refuse") throw refusal();
  return unknown === "describe";
}

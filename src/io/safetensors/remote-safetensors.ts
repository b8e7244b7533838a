// Safetensors files in an S3 store: the header is read at once, tensors and rows of them when they are asked for.

import { marks } from "../../dispatch/staging.ts";
import type { Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import type { UnknownArray } from "../base/unknown-array.ts";
import { type PlaceOptions, placeAll, placeOf } from "../disk/placing.ts";
import { type RemoteOptions, RemotePlace, together } from "../store/s3.ts";
import {
  headerLength,
  readHeader,
  type SafetensorsEntry,
  type SafetensorsHeader,
  SafetensorsListing,
  unknownFrom,
} from "./safetensors-header.ts";

/** Bytes of the first request: the headers of most files fit. */
const FIRST_BYTES = 256 * 1024;
const CONCURRENCY = 8;

/** Which part of a tensor is read. */
export interface RowOptions {
  /** The first row and the one behind the last; all by default. */
  rows?: readonly [number, number];
}

/**
 * A safetensors file in a store, of which only what is used is transferred.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * await io.upload("a.safetensors", "s3://examples/a.safetensors", { client });
 * const file = await io.RemoteSafetensors.open("s3://examples/a.safetensors", { client });
 * [file.path, file.keys(), file.header.entries.size, file.metadata.size]
 * // [s3://examples/a.safetensors, [a], 1, 0]
 * ```
 */
export class RemoteSafetensors extends SafetensorsListing {
  private constructor(
    private readonly place: RemotePlace,
    header: SafetensorsHeader,
    private readonly device: Device,
  ) {
    super(place.url, header);
  }

  /** Reads the header of "s3://bucket/file". */
  static async open(url: string, options: PlaceOptions & RemoteOptions = {}): Promise<RemoteSafetensors> {
    const { device: wanted, ...remote } = options;
    const device = placeOf(wanted === undefined ? {} : { device: wanted });
    const place = new RemotePlace(url, remote);
    const size = await place.size(place.key);
    const first = await place.range(place.key, 0, Math.min(size, FIRST_BYTES));
    const length = headerLength(first, size, url);
    const end = 8 + length;
    const bytes = end <= first.length ? first : Buffer.concat([first, await place.range(place.key, first.length, end)]);
    return new RemoteSafetensors(place, readHeader(bytes.subarray(8, end), size, url), device);
  }

  /** One tensor, or rows of it, in memory or on the device that was asked for. */
  async tensor(name: string, options: RowOptions = {}): Promise<Tensor> {
    const here = marks.here();
    const entry = this.entry(name);
    const tensor = await this.#read(entry, options, () => {});
    return here(() => placeAll([tensor], this.device, "tensor")[0] as Tensor);
  }

  /** Elements of a type that no tensor has: their bytes in memory, with the type's name and the shape. */
  async unknown(name: string): Promise<UnknownArray> {
    const entry = this._unknownEntry(name);
    const { begin, end } = entry;
    return unknownFrom(entry, await this.#read({ name, dtype: uint8, shape: [end - begin], begin, end }, {}, () => {}));
  }

  /** Several tensors by name, all by default; some requests run at the same time. */
  async tensors(names: readonly string[] = this.keys()): Promise<Map<string, Tensor>> {
    const here = marks.here();
    const entries = names.map((name) => this.entry(name));
    const total = entries.reduce((sum, { begin, end }) => sum + end - begin, 0);
    const found = new Map<string, Tensor>();
    let done = 0;
    await together(entries, this.place.options.concurrency ?? CONCURRENCY, async (entry) => {
      const tensor = await this.#read(entry, {}, (n) => {
        done += n;
        this.place.options.onProgress?.(done, total);
      });
      found.set(entry.name, tensor);
    });
    const read = names.map((name) => found.get(name) as Tensor);
    const placed = here(() => placeAll(read, this.device, "tensors"));
    return new Map(names.map((name, i) => [name, placed[i] as Tensor]));
  }

  async #read(
    { dtype, shape, begin, end }: SafetensorsEntry,
    { rows }: RowOptions,
    onBytes: (n: number) => void,
  ): Promise<Tensor> {
    const [first, count] = rowRange(shape, rows, this.place.url);
    const rowBytes = shape.length === 0 || shape[0] === 0 ? end - begin : (end - begin) / (shape[0] as number);
    const sizes = rows === undefined ? shape : [count, ...shape.slice(1)];
    const nbytes = rows === undefined ? end - begin : count * rowBytes;
    const storage = Storage.allocate(nbytes);
    const tensor = makeContiguous(storage, sizes, dtype);
    const from = this.header.dataStart + begin + first * rowBytes;
    if (nbytes > 0) await this.place.readInto(this.place.key, from, from + nbytes, tensor.dataPtr(), onBytes);
    return tensor;
  }
}

/** First row and number of rows. */
export function rowRange(
  shape: readonly number[],
  rows: readonly [number, number] | undefined,
  path: string,
): [number, number] {
  if (rows === undefined) return [0, shape[0] ?? 0];
  const [begin, end] = rows;
  const size = shape[0];
  const inside = Number.isSafeInteger(begin) && Number.isSafeInteger(end) && 0 <= begin && begin <= end;
  if (size === undefined || !inside || end > size) {
    throw new FormatError(`rows ${begin} to ${end} of a tensor of shape [${shape.join(", ")}]`, path);
  }
  return [begin, end - begin];
}

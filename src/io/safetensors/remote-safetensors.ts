// Safetensors files in an S3 store: the header is read at once, tensors and rows of them when they are asked for.

import { marks } from "../../dispatch/staging.ts";
import { installChecks } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FileNotFoundError, FormatError } from "../base/errors.ts";
import { METHODS, STATICS } from "../base/signatures.ts";
import type { UnknownArray } from "../base/unknown-array.ts";
import { type PlaceOptions, placeAll, placeOf } from "../disk/placing.ts";
import { INDEX_ENDING, isIndexPath, MAX_INDEX_BYTES, parseIndex, type ShardIndex } from "../disk/shard-index.ts";
import { type RemoteOptions, RemotePlace, together } from "../store/s3.ts";
import {
  headerLength,
  namesIn,
  readHeader,
  type SafetensorsEntry,
  type SafetensorsHeader,
  SafetensorsListing,
  unknownFrom,
} from "./safetensors-header.ts";
import { joinedHeader, requireSafetensors } from "./safetensors-shards.ts";

/** Bytes of the first request: the headers of most files fit. */
const FIRST_BYTES = 256 * 1024;
const CONCURRENCY = 8;

/** Which part of a tensor is read. */
export interface RowOptions {
  /** The first row and the one behind the last; all by default. */
  rows?: readonly [number, number];
}

/** Where the bytes of a file begin. */
interface Origin {
  key: string;
  header: SafetensorsHeader;
}

/** Indices that a folder in a store is searched for. */
const INDICES = ["model", "diffusion_pytorch_model"].map((name) => `${name}.safetensors${INDEX_ENDING}`);

async function originAt(place: RemotePlace, key: string): Promise<Origin> {
  const url = place.name(key);
  const size = await place.size(key);
  const first = await place.range(key, 0, Math.min(size, FIRST_BYTES));
  const length = headerLength(first, size, url);
  const end = 8 + length;
  const bytes = end <= first.length ? first : Buffer.concat([first, await place.range(key, first.length, end)]);
  return { key, header: readHeader(bytes.subarray(8, end), size, url) };
}

/** The key of the index in a folder; null where there is none. */
async function indexKeyIn(place: RemotePlace): Promise<string | null> {
  for (const name of INDICES) {
    const inside = place.key === "" ? name : `${place.key}/${name}`;
    if (await place.exists(inside)) return inside;
  }
  return null;
}

/** The file that a place names, or the key of the index that it names or has as a folder. */
async function foundAt(place: RemotePlace): Promise<Origin | string> {
  const { key } = place;
  if (isIndexPath(key)) return key;
  try {
    if (key !== "") return await originAt(place, key);
  } catch (error) {
    const index = error instanceof FileNotFoundError ? await indexKeyIn(place) : null;
    if (index === null) throw error;
    return index;
  }
  return (await indexKeyIn(place)) ?? (await originAt(place, key));
}

/** Reads and checks an index in a store. */
export async function remoteIndex(place: RemotePlace, key: string): Promise<ShardIndex> {
  const url = place.name(key);
  const size = await place.size(key);
  if (size > MAX_INDEX_BYTES) throw new FormatError(`${size} bytes are more than ${MAX_INDEX_BYTES}`, url);
  return parseIndex(await place.range(key, 0, size), url);
}

/** The key of a shard. */
export function shardKey(index: string, file: string): string {
  const folder = index.slice(0, index.lastIndexOf("/") + 1);
  return folder + file;
}

/** The files that an index in a store names. */
async function shardsAt(place: RemotePlace, key: string): Promise<{ origins: Origin[]; header: SafetensorsHeader }> {
  const index = await remoteIndex(place, key);
  requireSafetensors(index);
  const found = new Map<string, Origin>();
  await together([...index.shards.keys()], place.options.concurrency ?? CONCURRENCY, async (file) => {
    try {
      found.set(file, await originAt(place, shardKey(key, file)));
    } catch (error) {
      if (!(error instanceof FileNotFoundError)) throw error;
      throw new FormatError(`the shard ${JSON.stringify(file)} is missing`, index.path, error);
    }
  });
  const files = [...index.shards.keys()];
  const origins = files.map((file) => found.get(file) as Origin);
  return {
    origins,
    header: joinedHeader(index, new Map(files.map((file, i) => [file, (origins[i] as Origin).header]))),
  };
}

/**
 * A safetensors file in a store, of which only what is used is transferred; or all files that the index of a checkpoint
 * names, as one.
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
    url: string,
    header: SafetensorsHeader,
    private readonly device: Device,
    origins: readonly Origin[],
  ) {
    super(url, header);
    for (const origin of origins) for (const name of namesIn(origin.header)) this.#originOf.set(name, origin);
  }

  readonly #originOf = new Map<string, Origin>();

  /** @internal Where the bytes of an entry begin. */
  _origin({ name, begin }: { name: string; begin: number }): { key: string; offset: number } {
    const { key, header } = this.#originOf.get(name) as Origin;
    return { key, offset: header.dataStart + begin };
  }

  /** Reads the header of "s3://bucket/file", or those that an index names, or the one in a folder. */
  static async open(url: string, options: PlaceOptions & RemoteOptions = {}): Promise<RemoteSafetensors> {
    const { device: wanted, ...remote } = options;
    const device = placeOf(wanted === undefined ? {} : { device: wanted });
    const place = new RemotePlace(url, remote);
    const found = await foundAt(place);
    if (typeof found !== "string") return new RemoteSafetensors(place, url, found.header, device, [found]);
    const { origins, header } = await shardsAt(place, found);
    return new RemoteSafetensors(place, place.name(found), header, device, origins);
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
    { name, dtype, shape, begin, end }: SafetensorsEntry,
    { rows }: RowOptions,
    onBytes: (n: number) => void,
  ): Promise<Tensor> {
    const [first, count] = rowRange(shape, rows, this.place.url);
    const rowBytes = shape.length === 0 || shape[0] === 0 ? end - begin : (end - begin) / (shape[0] as number);
    const sizes = rows === undefined ? shape : [count, ...shape.slice(1)];
    const nbytes = rows === undefined ? end - begin : count * rowBytes;
    const storage = Storage.allocate(nbytes);
    const tensor = makeContiguous(storage, sizes, dtype);
    const { key, offset } = this._origin({ name, begin });
    const from = offset + first * rowBytes;
    if (nbytes > 0) await this.place.readInto(key, from, from + nbytes, tensor.dataPtr(), onBytes);
    return tensor;
  }
}
installChecks(RemoteSafetensors.prototype, METHODS.RemoteSafetensors);
installChecks(RemoteSafetensors, STATICS.RemoteSafetensors);

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

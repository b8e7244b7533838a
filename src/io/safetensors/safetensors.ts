// Safetensors files: lazy reading through one mapping, and writing the bytes that Python's safetensors writes.
import { inOrder, installChecks } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { pairs } from "../base/named-tensors.ts";
import { absoluteFile, absolutePath } from "../base/places.ts";
import { CONSTRUCTORS, FUNCTIONS, METHODS } from "../base/signatures.ts";
import { takesUnknown, UnknownArray, type UnknownOptions } from "../base/unknown-array.ts";
import { requireText, requireTexts } from "../base/well-formed.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import type { Piece } from "../disk/pieces.ts";
import { type PlaceOptions, placeAll, placeOf } from "../disk/placing.ts";
import { indexAt, ShardFolder } from "../disk/shard-index.ts";
import { bytesToWrite } from "../disk/tensor-bytes.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplaced } from "../disk/unreplaced.ts";
import { isRemote } from "../store/s3.ts";
import { FileWrite, type FileWriteOptions } from "../store/single-file.ts";
import {
  headerLength,
  layoutOrder,
  namesIn,
  readHeader,
  type SafetensorsHeader,
  SafetensorsListing,
  safetensorsCode,
  sizeOf,
  unknownFrom,
  writeHeader,
} from "./safetensors-header.ts";
import { joinedHeader, requireSafetensors } from "./safetensors-shards.ts";

/**
 * Reads and checks the header of a file without touching its data; those of all files that an index names as one.
 * @example
 * ```ts
 * saveSafetensors({ a: zeros(2, 3) }, "a.safetensors");
 * io.readSafetensorsHeader("a.safetensors").entries.get("a")?.shape // [2, 3]
 * ```
 */
export function readSafetensorsHeader(path: string): SafetensorsHeader {
  [path] = inOrder<Parameters<typeof readSafetensorsHeader>>(
    "readSafetensorsHeader",
    FUNCTIONS.readSafetensorsHeader,
    arguments,
  );
  return indexAt(path) === null ? headerOf(path) : partsAt(path, false).header;
}

function headerOf(path: string): SafetensorsHeader {
  return FileRanges.with(path, (file) => {
    const length = headerLength(file.read(0, Math.min(8, file.size)), file.size, path);
    return readHeader(file.read(8, length), file.size, path);
  });
}

/** How a file is opened. */
export interface SafetensorsFileOptions extends PlaceOptions {
  /** Follow links of shards that lead out of the folder of their index, as in the cache of Hugging Face's hub. */
  followLinks?: boolean;
}

/** One file of a collection. */
interface Part {
  path: string;
  identity: string;
  header: SafetensorsHeader;
  file: TensorFile | null;
}

/** A file, and which one it is. */
function partAt(path: string): Part {
  const full = absolutePath(path);
  return whileUnreplaced(path, (identity) => ({
    path: full,
    identity,
    header: headerOf(full),
    file: null,
  }));
}

/** The files that a path means: one, or those that an index names, as one collection. */
function partsAt(path: string, followLinks: boolean): { path: string; parts: Part[]; header: SafetensorsHeader } {
  const at = indexAt(path);
  if (at === null) {
    const part = partAt(path);
    return { path: part.path, parts: [part], header: part.header };
  }
  return whileUnreplaced(at, () => {
    const folder = new ShardFolder(at, followLinks);
    const { index } = folder;
    requireSafetensors(index);
    const found = [...index.shards.keys()].map((file) => ({ file, part: partAt(folder.place(file)) }));
    const headers = new Map(found.map(({ file, part }) => [file, part.header]));
    return { path: index.path, parts: found.map(({ part }) => part), header: joinedHeader(index, headers) };
  });
}

/**
 * An open safetensors file whose tensors are views of one mapping, or on a GPU, made when asked for. The index of a
 * checkpoint in several files (`model.safetensors.index.json`), or the folder that holds it, opens all of them as one:
 * each has to be there, with the tensors that the index names and no others.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3), b: ones(1) }, "a.safetensors");
 * const file = new io.SafetensorsFile("a.safetensors");
 * [file.path.endsWith("a.safetensors"), file.keys(), file.header.entries.size, file.metadata.size]
 * // [true, [a, b], 2, 0]
 * ```
 */
export class SafetensorsFile extends SafetensorsListing {
  readonly #parts: readonly Part[];
  readonly #partOf = new Map<string, Part>();
  readonly #device: Device;

  constructor(path: string, options: SafetensorsFileOptions = {}) {
    [path, options = {}] = inOrder<[string, SafetensorsFileOptions?]>(
      "SafetensorsFile",
      CONSTRUCTORS.SafetensorsFile,
      arguments,
    );
    const { followLinks = false, ...place } = options;
    const device = placeOf(place);
    const opened = partsAt(path, followLinks);
    super(opened.path, opened.header);
    this.#parts = opened.parts;
    this.#device = device;
    for (const part of opened.parts) {
      for (const name of namesIn(part.header)) this.#partOf.set(name, part);
    }
  }

  /** The paths of the files: one, or all that the index names. */
  get files(): string[] {
    return this.#parts.map(({ path }) => path);
  }

  /**
   * One tensor. Its bytes are read when they are used, for a GPU at once; writing to it does not change the file.
   * @throws OSError when another file took the name before the first tensor was asked for
   */
  tensor(name: string): Tensor {
    return placeAll([this.#mapped(name)], this.#device, "tensor")[0] as Tensor;
  }

  #mapped(name: string): Tensor {
    const { dtype, shape, begin } = this.entry(name);
    const { file, dataStart } = this.#opened(name);
    return file.tensor(dtype, shape, dataStart + begin);
  }

  #opened(name: string): { file: TensorFile; dataStart: number } {
    const part = this.#partOf.get(name) as Part;
    const { path, identity, header } = part;
    part.file ??= new TensorFile(path, sizeOf(header), "c", { identity, device: this.#device });
    return { file: part.file, dataStart: header.dataStart };
  }

  /** Elements of a type that no tensor has: a view of their bytes on the CPU, with the type's name and the shape. */
  unknown(name: string): UnknownArray {
    const entry = this._unknownEntry(name);
    const { file, dataStart } = this.#opened(name);
    return unknownFrom(entry, file.tensor(uint8, [entry.end - entry.begin], dataStart + entry.begin));
  }

  /** All tensors by name, without those of `unknownKeys`. */
  tensors(): Map<string, Tensor> {
    const names = this.keys();
    const placed = placeAll(
      names.map((name) => this.#mapped(name)),
      this.#device,
      "tensors",
    );
    return new Map(names.map((name, i) => [name, placed[i] as Tensor]));
  }
}
installChecks(SafetensorsFile.prototype, METHODS.SafetensorsFile);

/** How a file is loaded. */
export interface SafetensorsOptions extends SafetensorsFileOptions, UnknownOptions {}

/**
 * All tensors of a file by name; data is read lazily, for a GPU at once. The index of a checkpoint in several files, or
 * the folder that holds it, gives those of all files. Elements of types that tensors do not have (F4, F8_E8M0 and the
 * like) are `io.UnknownArray`, which `saveSafetensors` takes, unless `unknown` says that they are left out or refused.
 * What the file holds is not known to the compiler: `loadSafetensors<{ x: Tensor; scale: io.UnknownArray }>(path)`.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * loadSafetensors("a.safetensors").a // tensor([0, 1, 2])
 * ```
 * @torch safetensors.torch.load_file
 */
export function loadSafetensors<T = Record<string, Tensor>>(path: string, options: SafetensorsOptions = {}): T {
  [path, options = {}] = inOrder<Parameters<typeof loadSafetensors>>(
    "loadSafetensors",
    FUNCTIONS.loadSafetensors,
    arguments,
  );
  const { unknown, ...place } = options;
  const found = whileUnreplaced(path, () => {
    return allOf(new SafetensorsFile(path, place), unknown === undefined ? {} : { unknown });
  });
  const result: Record<string, Tensor | UnknownArray> = Object.create(null);
  for (const [name, value] of found) result[name] = value;
  return result as T;
}

/** Everything in a file that the options ask for. */
function allOf(file: SafetensorsFile, options: UnknownOptions): [string, Tensor | UnknownArray][] {
  const others = [...file.header.unknown].filter(([, entry]) => takesUnknown(options, () => file._refusal(entry)));
  return [...file.tensors(), ...others.map(([name]): [string, UnknownArray] => [name, file.unknown(name)])];
}

/** What may be said about a save. */
export interface SaveOptions extends FileWriteOptions {
  /** Strings kept in the header. */
  metadata?: Readonly<Record<string, string>> | ReadonlyMap<string, string> | null;
}

/** What a file can hold: tensors, and what `loadSafetensors` described. */
type Savable = Readonly<Record<string, Tensor | UnknownArray>> | ReadonlyMap<string, Tensor | UnknownArray>;

function itemOf(name: string, value: Tensor | UnknownArray, path: string) {
  requireText(name, () => `${path}: the tensor name ${JSON.stringify(name)}`);
  if (name === "__metadata__") throw new FormatError("a tensor cannot be named __metadata__", path);
  if (value instanceof UnknownArray) {
    const { dtype, shape, bytes, format } = value;
    if (format !== "safetensors" || bytes === null || shape === null) {
      throw new FormatError(`${JSON.stringify(name)}: safetensors has no dtype for ${value}`, path);
    }
    return { name, dtype, shape: [...shape], nbytes: bytes.numel(), bytes: bytesToWrite(bytes) };
  }
  if (!(value instanceof Tensor)) throw new FormatError(`${JSON.stringify(name)} is no tensor`, path);
  if (safetensorsCode(value.dtype) === undefined) {
    throw new FormatError(`tensor ${JSON.stringify(name)}: safetensors has no dtype for ${value.dtype}`, path);
  }
  const bytes = bytesToWrite(value);
  return { name, dtype: value.dtype, shape: [...value.shape], nbytes: bytes.nbytes, bytes };
}

function plan(tensors: Savable, path: string, options: SaveOptions): FileWrite {
  const items = pairs<Tensor | UnknownArray>(tensors).map(([name, value]) => itemOf(name, value, path));
  const ordered = layoutOrder(items);
  const metadata = options.metadata == null ? null : pairs(options.metadata);
  requireTexts(new Map(metadata), () => `${path}: the metadata`);
  const header = writeHeader(ordered, metadata);
  const pieces: Piece[] = [{ offset: 0, data: header }];
  let at = header.length;
  for (const item of ordered) {
    pieces.push({ offset: at, data: item.bytes });
    at += item.nbytes;
  }
  return new FileWrite(isRemote(path) ? path : absoluteFile(path), pieces, options);
}

/**
 * Writes tensors to one file, which is replaced when it is complete.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors", { metadata: { format: "pt" } });
 * new io.SafetensorsFile("a.safetensors").metadata.get("format") // pt
 * ```
 * @torch safetensors.torch.save_file
 */
export function saveSafetensors(tensors: Savable, path: string, options: SaveOptions = {}): void {
  [tensors, path, options = {}] = inOrder<Parameters<typeof saveSafetensors>>(
    "saveSafetensors",
    FUNCTIONS.saveSafetensors,
    arguments,
  );
  plan(tensors, path, options).run();
}

/**
 * Like `saveSafetensors`, in the background; the tensors must not change until it is done.
 * @example
 * ```ts
 * await saveSafetensorsAsync({ a: arange(3) }, "a.safetensors");
 * loadSafetensors("a.safetensors").a // tensor([0, 1, 2])
 * ```
 */
export async function saveSafetensorsAsync(
  tensors: Savable,
  path: string,
  options: SaveOptions & BackgroundOptions = {},
): Promise<void> {
  [tensors, path, options = {}] = inOrder<Parameters<typeof saveSafetensorsAsync>>(
    "saveSafetensorsAsync",
    FUNCTIONS.saveSafetensorsAsync,
    arguments,
  );
  await plan(tensors, path, options).runInBackground(options);
}

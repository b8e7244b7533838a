// Safetensors files: lazy reading through one mapping, and writing the bytes that Python's safetensors writes.
import { inOrder } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { uint8 } from "../../tensor/dtype.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { pairs } from "../base/named-tensors.ts";
import { absoluteFile, absolutePath } from "../base/places.ts";
import { CONSTRUCTORS, FUNCTIONS } from "../base/signatures.ts";
import { UnknownArray, UnknownFound, type UnknownOptions } from "../base/unknown-array.ts";
import { requireText, requireTexts } from "../base/well-formed.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import type { Piece } from "../disk/pieces.ts";
import { type PlaceOptions, placeAll, placeOf } from "../disk/placing.ts";
import { bytesToWrite } from "../disk/tensor-bytes.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplaced } from "../disk/unreplaced.ts";
import { isRemote } from "../store/s3.ts";
import { FileWrite, type FileWriteOptions } from "../store/single-file.ts";
import {
  headerLength,
  layoutOrder,
  readHeader,
  type SafetensorsHeader,
  SafetensorsListing,
  safetensorsCode,
  unknownFrom,
  writeHeader,
} from "./safetensors-header.ts";

/**
 * Reads and checks the header of a file without touching its data.
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
  return FileRanges.with(path, (file) => {
    const length = headerLength(file.read(0, Math.min(8, file.size)), file.size, path);
    return readHeader(file.read(8, length), file.size, path);
  });
}

/**
 * An open safetensors file whose tensors are views of one mapping, or on a GPU, made when asked for.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3), b: ones(1) }, "a.safetensors");
 * const file = new io.SafetensorsFile("a.safetensors");
 * [file.path.endsWith("a.safetensors"), file.keys(), file.header.entries.size, file.metadata.size]
 * // [true, [a, b], 2, 0]
 * ```
 */
export class SafetensorsFile extends SafetensorsListing {
  private file: TensorFile | null = null;
  private readonly identity: string;
  private readonly device: Device;

  constructor(path: string, options: PlaceOptions = {}) {
    [path, options = {}] = inOrder<[string, PlaceOptions?]>("SafetensorsFile", CONSTRUCTORS.SafetensorsFile, arguments);
    const device = placeOf(options);
    const full = absolutePath(path);
    const opened = whileUnreplaced(path, (identity) => ({ identity, header: readSafetensorsHeader(full) }));
    super(full, opened.header);
    this.identity = opened.identity;
    this.device = device;
  }

  /**
   * One tensor. Its bytes are read when they are used, for a GPU at once; writing to it does not change the file.
   * @throws OSError when another file took the name before the first tensor was asked for
   */
  tensor(name: string): Tensor {
    return placeAll([this.#mapped(name)], this.device, "tensor")[0] as Tensor;
  }

  #mapped(name: string): Tensor {
    const { dtype, shape, begin } = this.entry(name);
    return this.#opened().tensor(dtype, shape, this.header.dataStart + begin);
  }

  #opened(): TensorFile {
    const { identity, device } = this;
    this.file ??= new TensorFile(this.path, this.#size(), "c", { identity, device });
    return this.file;
  }

  /** Elements of a type that no tensor has: a view of their bytes on the CPU, with the type's name and the shape. */
  unknown(name: string): UnknownArray {
    const entry = this._unknownEntry(name);
    const bytes = this.#opened().tensor(uint8, [entry.end - entry.begin], this.header.dataStart + entry.begin);
    return unknownFrom(entry, bytes);
  }

  /** All tensors by name, without those of `unknownKeys`. */
  tensors(): Map<string, Tensor> {
    const names = this.keys();
    const placed = placeAll(
      names.map((name) => this.#mapped(name)),
      this.device,
      "tensors",
    );
    return new Map(names.map((name, i) => [name, placed[i] as Tensor]));
  }

  #size(): number {
    let end = 0;
    for (const entry of this.header.entries.values()) end = Math.max(end, entry.end);
    for (const entry of this.header.unknown.values()) end = Math.max(end, entry.end);
    return this.header.dataStart + end;
  }
}

/** How a file is loaded. */
export interface SafetensorsOptions extends PlaceOptions, UnknownOptions {}

/**
 * All tensors of a file by name; data is read lazily, for a GPU at once. Elements of types that tensors do not have
 * (F4, F8_E8M0 and the like) are left out with a warning; `unknown: "describe"` gives them as `io.UnknownArray`,
 * which `saveSafetensors` takes.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * loadSafetensors("a.safetensors").a // tensor([0, 1, 2])
 * ```
 * @torch safetensors.torch.load_file
 */
export function loadSafetensors(
  path: string,
  options: SafetensorsOptions & { unknown: "describe" },
): Record<string, Tensor | UnknownArray>;
export function loadSafetensors(path: string, options?: SafetensorsOptions): Record<string, Tensor>;
export function loadSafetensors(path: string, options: SafetensorsOptions = {}): Record<string, Tensor | UnknownArray> {
  [path, options = {}] = inOrder<[string, SafetensorsOptions?]>(
    "loadSafetensors",
    FUNCTIONS.loadSafetensors,
    arguments,
  );
  const result: Record<string, Tensor | UnknownArray> = Object.create(null);
  const { unknown, ...place } = options;
  whileUnreplaced(path, () => {
    const file = new SafetensorsFile(path, place);
    for (const [name, found] of allOf(file, unknown === undefined ? {} : { unknown })) result[name] = found;
  });
  return result;
}

/** Everything in a file that the options ask for. */
function allOf(file: SafetensorsFile, options: UnknownOptions): [string, Tensor | UnknownArray][] {
  const unknown = new UnknownFound(file.path, options);
  const others = [...file.header.unknown].filter(([name, entry]) => {
    return unknown.takes(name, entry.code, () => file._refusal(entry));
  });
  const tensors = file.tensors();
  unknown.tell();
  return [...tensors, ...others.map(([name]): [string, UnknownArray] => [name, file.unknown(name)])];
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

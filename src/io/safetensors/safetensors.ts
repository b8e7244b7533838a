// Safetensors files: lazy reading through one mapping, and writing the bytes that Python's safetensors writes.
import { inOrder } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { type NamedTensors, pairs } from "../base/named-tensors.ts";
import { absoluteFile, absolutePath } from "../base/places.ts";
import { CONSTRUCTORS, FUNCTIONS } from "../base/signatures.ts";
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
    const entry = this.entry(name);
    const { identity, device } = this;
    this.file ??= new TensorFile(this.path, this.#size(), "c", { identity, device });
    return this.file.tensor(entry.dtype, entry.shape, this.header.dataStart + entry.begin);
  }

  /** All tensors by name. */
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
    return this.header.dataStart + end;
  }
}

/**
 * All tensors of a file by name; data is read lazily, for a GPU at once.
 * @example
 * ```ts
 * saveSafetensors({ a: arange(3) }, "a.safetensors");
 * loadSafetensors("a.safetensors").a // tensor([0, 1, 2])
 * ```
 * @torch safetensors.torch.load_file
 */
export function loadSafetensors(path: string, options: PlaceOptions = {}): Record<string, Tensor> {
  [path, options = {}] = inOrder<Parameters<typeof loadSafetensors>>(
    "loadSafetensors",
    FUNCTIONS.loadSafetensors,
    arguments,
  );
  const result: Record<string, Tensor> = Object.create(null);
  const tensors = whileUnreplaced(path, () => new SafetensorsFile(path, options).tensors());
  for (const [name, tensor] of tensors) result[name] = tensor;
  return result;
}

/** What may be said about a save. */
export interface SaveOptions extends FileWriteOptions {
  /** Strings kept in the header. */
  metadata?: Readonly<Record<string, string>> | ReadonlyMap<string, string> | null;
}

function plan(tensors: NamedTensors, path: string, options: SaveOptions): FileWrite {
  const items = pairs<Tensor>(tensors).map(([name, tensor]) => {
    requireText(name, () => `${path}: the tensor name ${JSON.stringify(name)}`);
    if (name === "__metadata__") throw new FormatError("a tensor cannot be named __metadata__", path);
    if (!(tensor instanceof Tensor)) throw new FormatError(`${JSON.stringify(name)} is no tensor`, path);
    if (safetensorsCode(tensor.dtype) === undefined) {
      throw new FormatError(`tensor ${JSON.stringify(name)}: safetensors has no dtype for ${tensor.dtype}`, path);
    }
    const bytes = bytesToWrite(tensor);
    return { name, dtype: tensor.dtype, shape: [...tensor.shape], nbytes: bytes.nbytes, bytes };
  });
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
export function saveSafetensors(tensors: NamedTensors, path: string, options: SaveOptions = {}): void {
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
  tensors: NamedTensors,
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

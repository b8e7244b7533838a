// GGUF files: metadata, and tensors as views of one mapping.

import { inOrder, installChecks } from "../../tensor/checks.ts";
import type { Device } from "../../tensor/device.ts";
import { float32, uint8 } from "../../tensor/dtype.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { FormatError } from "../base/errors.ts";
import { CONSTRUCTORS, FUNCTIONS, METHODS } from "../base/signatures.ts";
import { UnknownArray } from "../base/unknown-array.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { type PlaceOptions, placeAll, placeOf, placeRecord } from "../disk/placing.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { whileUnreplaced } from "../disk/unreplaced.ts";
import { canExpand, expandBlocks } from "./gguf-blocks.ts";
import {
  type GgufEntry,
  type GgufHeader,
  type GgufUnknown,
  type GgufValue,
  MAX_HEADER_BYTES,
  readGgufHeader,
  UnfinishedHeader,
} from "./gguf-header.ts";

/** What is read of a file at first. */
const FIRST_BYTES = 256 * 1024;

function readHeader(path: string): { header: GgufHeader; path: string } {
  return FileRanges.with(path, (file) => {
    const all = Math.min(file.size, MAX_HEADER_BYTES);
    for (let length = FIRST_BYTES; ; length *= 4) {
      const bytes = file.read(0, Math.min(length, all));
      try {
        return { header: readGgufHeader(bytes, file.size, file.path), path: file.path };
      } catch (error) {
        if (!(error instanceof UnfinishedHeader) || bytes.length === all) throw error;
      }
    }
  });
}

/** A tensor as the file has it. */
function asStored(file: TensorFile, { type, shape, offset }: GgufEntry): Tensor {
  if (type.dtype !== null) return file.tensor(type.dtype, shape, offset);
  const row = ((shape.at(-1) as number) / type.blockSize) * type.blockBytes;
  return file.tensor(uint8, [...shape.slice(0, -1), row], offset);
}

/**
 * An open GGUF file whose tensors are made when they are asked for; their bytes are read when they are used, for a GPU
 * at once.
 * @example
 * ```ts
 * const file = new io.GgufFile("model.gguf");
 * [file.path.endsWith("model.gguf"), file.header.version, file.metadata.size > 0,
 *   Object.keys(file.tensors).length > 0] // [true, 3, true, true]
 * ```
 */
export class GgufFile {
  /** The file's name. */
  readonly path: string;
  /** What the file says of itself and its tensors. */
  readonly header: GgufHeader;
  private readonly file: TensorFile;
  private readonly device: Device;

  constructor(path: string, options: PlaceOptions = {}) {
    [path, options = {}] = inOrder<[string, PlaceOptions?]>("GgufFile", CONSTRUCTORS.GgufFile, arguments);
    this.device = placeOf(options);
    const { identity, ...found } = whileUnreplaced(path, (identity) => ({ identity, ...readHeader(path) }));
    this.path = found.path;
    this.header = found.header;
    let end = 0;
    for (const entry of this.header.entries.values()) end = Math.max(end, entry.offset + entry.nbytes);
    for (const entry of this.header.unknown.values()) end = Math.max(end, entry.offset + entry.nbytes);
    this.file = new TensorFile(this.path, end, "c", { identity, device: this.device });
  }

  /** What the file says about itself, by key. */
  get metadata(): ReadonlyMap<string, GgufValue> {
    return this.header.metadata;
  }

  /** Names of tensors, in the order of the file. */
  keys(): string[] {
    return [...this.header.entries.keys()];
  }

  /** Type, shape and size of one tensor. */
  entry(name: string): GgufEntry {
    const entry = this.header.entries.get(name);
    if (entry !== undefined) return entry;
    const unknown = this.header.unknown.get(name);
    if (unknown !== undefined) throw this.#refusal(unknown);
    throw new FormatError(`no tensor named ${JSON.stringify(name)}`, this.path);
  }

  #refusal({ name, type }: GgufUnknown): FormatError {
    return new FormatError(
      `tensor ${JSON.stringify(name)}: ${type} is not known; unknown() gives its bytes`,
      this.path,
    );
  }

  /** Names of tensors whose type is not known: `unknown` gives their bytes. */
  unknownKeys(): string[] {
    return [...this.header.unknown.keys()];
  }

  /** A tensor of a type that is not known: its bytes on the CPU, up to where the next one begins. */
  unknown(name: string): UnknownArray {
    const entry = this.header.unknown.get(name);
    if (entry === undefined)
      throw new FormatError(`no tensor of an unknown type is named ${JSON.stringify(name)}`, this.path);
    const { type, shape, nbytes, offset } = entry;
    const bytes = this.file.tensor(uint8, [nbytes], offset);
    return new UnknownArray({ format: "gguf", name, dtype: type, shape, bytes });
  }

  /** One tensor. Of a quantized one the blocks as they are: uint8, with the bytes of a row as the last dimension. */
  tensor(name: string): Tensor {
    const entry = this.entry(name);
    return placeAll([asStored(this.file, entry)], this.device, "tensor")[0] as Tensor;
  }

  /**
   * One tensor as float32; of a quantized one what its blocks stand for.
   * @throws FormatError for Q1_0, Q8_1 and Q8_K, which the gguf package does not expand either
   */
  dequantize(name: string): Tensor {
    const { type, shape, offset, nbytes } = this.entry(name);
    if (type.dtype !== null) return this.tensor(name).to(float32);
    if (!canExpand(type))
      throw new FormatError(`tensor ${JSON.stringify(name)}: ${type.name} is not expanded`, this.path);
    const address = nbytes === 0 ? 0 : this.file.address(offset, nbytes);
    const expanded = nbytes === 0 ? Storage.allocate(0) : expandBlocks(type, address, nbytes / type.blockBytes);
    // The mapping must not go before the blocks are read.
    if (nbytes > 0) this.file.anchor();
    return placeAll([makeContiguous(expanded, shape, float32)], this.device, "dequantize")[0] as Tensor;
  }

  /** All tensors by name, as `tensor` gives them, without those of `unknownKeys`. */
  get tensors(): Record<string, Tensor> {
    const result: Record<string, Tensor> = Object.create(null);
    for (const name of this.keys()) result[name] = asStored(this.file, this.entry(name));
    return placeRecord(result, this.device, "tensors");
  }
}
installChecks(GgufFile.prototype, METHODS.GgufFile);

/**
 * Opens a GGUF file (version 2 or 3). Its metadata is read at once, tensors when they are used; with
 * `device` they go there when they are asked for, what is expanded from blocks as well.
 * @throws FormatError when the file is damaged or none
 * @example
 * ```ts
 * io.loadGguf("model.gguf").entry("Q8_0").shape // [2, 256]
 * ```
 * @torch gguf.GGUFReader
 */
export function loadGguf(path: string, options: PlaceOptions = {}): GgufFile {
  [path, options = {}] = inOrder<Parameters<typeof loadGguf>>("loadGguf", FUNCTIONS.loadGguf, arguments);
  return new GgufFile(path, options);
}

// HDF5 files: groups, datasets that are read and written in parts, texts, and what tensordict keeps beside them.

import type { IndexPart } from "../../api/indexing-parse.ts";
import { totalmem } from "../../runtime/node.ts";
import { checkCall, inOrder, installChecks } from "../../tensor/checks.ts";
import { type DType, uint8 } from "../../tensor/dtype.ts";
import { KeyError, RuntimeError, TypeError } from "../../tensor/errors.ts";
import { listItems, numelOf, sameSizes } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, type Tensor } from "../../tensor/tensor.ts";
import { checkFile, requireFile } from "../../tensor/values.ts";
import { FormatError, OSError } from "../base/errors.ts";
import { absolutePath } from "../base/places.ts";
import { type PythonJson, toPlain } from "../base/python-json.ts";
import { CONSTRUCTORS, FUNCTIONS, METHODS } from "../base/signatures.ts";
import { UnknownArray } from "../base/unknown-array.ts";
import { requireText, requireTexts } from "../base/well-formed.ts";
import { nativeBytes } from "../disk/tensor-bytes.ts";
import type { Hdf5Engine, Hdf5Handle, Hdf5Info, Hdf5Layout, Hdf5Mode, Hdf5Storage } from "./hdf5-engine.ts";
import { nativeEngine } from "./hdf5-library.ts";
import { boxesIn, boxFor, partsOf, type Selected, selectBasic, selectRows } from "./hdf5-selection.ts";
import { decodeValues, encodeValues, isReadable } from "./hdf5-values.ts";
import { WasmEngine } from "./hdf5-wasm.ts";

/** Attribute of a text that tensordict wrote. */
const TEXT_ATTRIBUTE = "__tensordict_str__";
/** Attribute of a stack of values: its shape. */
const STACK_ATTRIBUTE = "__tensordict_stack__";
/** So much may be read of any file; for more, the file has to be large too. */
const FREE_BYTES = 2 ** 30;
/** gzip makes data smaller by this factor at most. */
const MOST_COMPRESSION = 1100;
/** Bytes of a chunk when the caller does not choose. */
const CHUNK_BYTES = 2 ** 20;
/** The same where compressing one may not take long. */
const STEP_CHUNK_BYTES = 2 ** 18;
const MAX_GZIP = 9;

let chosen: Hdf5Engine | null = null;

function engine(): Hdf5Engine {
  if (chosen !== null) return chosen;
  const { engine: native, problem } = nativeEngine();
  if (native === null) {
    throw new OSError(
      `HDF5 files need the HDF5 library, which was not found${problem === "" ? "" : ` (${problem})`}. Install it ` +
        "(apt-get install libhdf5-103-1, brew install hdf5), or name its file in ZENSOR_HDF5. Without it, " +
        "`npm install h5wasm` and `await io.loadHdf5()` give a part of what it does.",
      { code: "hdf5_missing" },
    );
  }
  chosen = native;
  return native;
}

/**
 * The engine that reads HDF5 files here, as "libhdf5 1.10.8 (libhdf5_serial.so.103)"; null when there is none.
 * @example
 * ```ts
 * io.hdf5Engine()?.includes("hdf5") ?? true // true
 * ```
 */
export function hdf5Engine(): string | null {
  checkCall("hdf5Engine", FUNCTIONS.hdf5Engine, arguments);
  try {
    return engine().name;
  } catch {
    return null;
  }
}

/**
 * Finds an engine for HDF5 files before the first is opened: the C library, or the npm package h5wasm where there is
 * none. Only a program that should run without the library has to call it. The package may be given:
 * `loadHdf5(await import("h5wasm/node"))`; otherwise it is looked for. Gives the engine's name, null when there is
 * none. `ZENSOR_HDF5=h5wasm` takes the package even where there is a library.
 * @example
 * ```ts
 * (await io.loadHdf5()) === io.hdf5Engine() // true
 * ```
 */
export async function loadHdf5(h5wasm: object | null = null): Promise<string | null> {
  [h5wasm = null] = inOrder<Parameters<typeof loadHdf5>>("loadHdf5", FUNCTIONS.loadHdf5, arguments);
  chosen ??= nativeEngine().engine ?? (await WasmEngine.load(h5wasm));
  return chosen?.name ?? null;
}

/** Values that are no tensors, and the shape they have. */
export interface Hdf5Values {
  /** The values, row by row. */
  values: unknown[];
  /** Their shape. */
  shape: readonly number[];
  /** The shape of a stack of values that tensordict wrote, null for everything else. */
  stack: readonly number[] | null;
}

function storageFor(dtype: DType, shape: readonly number[], layout: Hdf5Layout, chunkBytes = CHUNK_BYTES): Hdf5Storage {
  const { compression, chunks } = layout;
  if (compression !== undefined && compression !== null && typeof compression !== "boolean" && compression !== "gzip") {
    throw new TypeError(`unknown compression ${JSON.stringify(compression)}: HDF5 files are written with "gzip"`);
  }
  const packed = compression === true || compression === "gzip";
  const gzip = packed ? (layout.compressionOpts ?? 4) : null;
  if (gzip !== null && !(Number.isInteger(gzip) && gzip >= 0 && gzip <= MAX_GZIP)) {
    throw new TypeError(`GZIP setting must be an integer from 0-9, not ${gzip}`);
  }
  const shuffle = layout.shuffle ?? false;
  const maxShape = layout.maxShape ?? null;
  const list = Array.isArray(chunks) ? (chunks as readonly number[]) : null;
  // One element has no parts to store apart.
  if (shape.length === 0) return { chunks: null, maxShape: null, gzip: null, shuffle: false };
  if (maxShape !== null && !maxShape.every((most, i) => most === null || most >= (shape[i] as number))) {
    throw new TypeError(`maxShape [${maxShape.join(", ")}] is smaller than the shape [${shape.join(", ")}]`);
  }
  for (const sizes of [list, maxShape]) {
    if (sizes !== null && sizes.length !== shape.length) {
      throw new TypeError(`[${sizes.join(", ")}] does not have the dimensions of the shape [${shape.join(", ")}]`);
    }
  }
  if (list !== null && !list.every((n, i) => Number.isInteger(n) && n > 0 && fits(n, shape, maxShape, i))) {
    throw new TypeError(
      `Chunk shape must not be greater than data shape: [${list.join(", ")}] for [${shape.join(", ")}]`,
    );
  }
  const apart = packed || shuffle || maxShape !== null || chunks === true;
  return { chunks: list ?? (apart ? boxFor(shape, dtype.itemsize, chunkBytes) : null), maxShape, gzip, shuffle };
}

/** Removes what was begun; the error that is on its way matters more than one of this. */
function discard(file: Hdf5Handle, path: string): void {
  try {
    file.remove(path);
  } catch {}
}

function fits(n: number, shape: readonly number[], maxShape: readonly (number | null)[] | null, i: number): boolean {
  const most = maxShape === null ? (shape[i] as number) : (maxShape[i] as number | null);
  return most === null || n <= Math.max(1, most);
}

/**
 * An open HDF5 file. Paths are names joined by "/"; "" is the file itself. `using file = new Hdf5File(...)` closes it.
 *
 * Errors: OSError for files that cannot be opened or are locked by another program, FormatError for files that are
 * damaged, KeyError for paths that are not there. The HDF5 library itself reads the structure of the file, and old
 * versions of it (1.10) end the process for some damaged files: use a current one for files of strangers.
 * @example
 * ```ts
 * const file = new io.Hdf5File("a.h5", "w");
 * file.put("group/a", arange(3));
 * const found = [file.path.endsWith("a.h5"), file.mode, file.read("group/a")];
 * file.close();
 * [...found, file.closed] // [true, w, tensor([0, 1, 2]), true]
 * ```
 * @torch h5py.File
 */
export class Hdf5File {
  /** The file's name. */
  readonly path: string;
  /** How it was opened. */
  readonly mode: Hdf5Mode;
  #handle: Hdf5Handle | null;

  /** @param written where the file is while it does not have its path yet */
  constructor(path: string, mode: Hdf5Mode = "r", written: string | null = null) {
    [path, mode = "r", written = null] = inOrder<[string, Hdf5Mode?, string?]>(
      "Hdf5File",
      CONSTRUCTORS.Hdf5File,
      arguments,
    );
    if (!["r", "r+", "w", "w-", "x", "a"].includes(mode)) {
      throw new TypeError(`Invalid mode; must be one of r, r+, w, w-, x, a; got ${JSON.stringify(mode)}`);
    }
    this.path = absolutePath(path);
    this.mode = mode;
    this.#handle = engine().open(written ?? this.path, mode);
  }

  get #file(): Hdf5Handle {
    if (this.#handle === null) throw new RuntimeError(`the HDF5 file ${this.path} is closed`, { code: "closed" });
    return this.#handle;
  }
  get #writable(): Hdf5Handle {
    const file = this.#file;
    if (this.mode === "r") throw new OSError(`${this.path} was opened for reading only`, { path: this.path, errno: 9 });
    return file;
  }
  /** Whether it was closed. */
  get closed(): boolean {
    return this.#handle === null;
  }
  /** Names of the groups and datasets in a group; links that lead nowhere, or into other files, are left out. */
  keys(group = ""): string[] {
    // Only damaged files have names that no path can say.
    return this.#file.names(group).filter((name) => name !== "" && name !== "." && !name.includes("/"));
  }
  /** What is at a path; null when there is nothing, or something that is neither. */
  kind(path: string): "group" | "dataset" | null {
    return this.#file.kind(path);
  }
  /** @internal The same for all paths to one group or dataset; null when there is nothing. */
  _identity(path: string): string | null {
    return this.#file.identity(path);
  }
  /** @internal Bytes of the file. */
  _size(): number {
    return this.#file.size();
  }
  /** What a dataset is; its elements are not read. */
  info(path: string): Hdf5Info {
    return this.#file.describe(path);
  }

  // ---- tensors

  #dtype(path: string, info: Hdf5Info): DType {
    if (info.dtype === null) {
      if (info.other?.kind === "empty") throw new FormatError(`${path} has no shape`, this.path);
      if (info.other?.kind === "elsewhere") {
        throw new FormatError(`${path} keeps its elements in other files, which are not read`, this.path);
      }
      throw new TypeError(`${path} has elements of class ${info.typeName}, which no tensor has`);
    }
    return info.dtype;
  }

  /** A file that says more than it can hold may not take the memory for it. */
  #allow(path: string, info: Hdf5Info, count: number, itemsize: number): number {
    const nbytes = count * itemsize;
    const chunk = info.chunks === null ? 0 : numelOf(info.chunks) * itemsize;
    const most = Math.max(FREE_BYTES, this.#file.size() * MOST_COMPRESSION);
    if (!Number.isSafeInteger(nbytes) || nbytes > most || chunk > most || nbytes > totalmem()) {
      throw new FormatError(`${path} says that it has ${nbytes} bytes, in a file of ${this.#file.size()}`, this.path);
    }
    return nbytes;
  }

  #readSelected(path: string, info: Hdf5Info, selected: Selected | null): Tensor {
    const dtype = this.#dtype(path, info);
    const shape = selected === null ? info.shape : selected.shape;
    const nbytes = this.#allow(path, info, numelOf(shape), dtype.itemsize);
    const storage = Storage.allocate(nbytes);
    if (nbytes > 0) this.#file.read(path, info, selected?.selection ?? null, storage.ptr, nbytes);
    return makeContiguous(storage, shape, dtype);
  }

  /** A dataset, or the part that an index, as of `Tensor.at`, names; only that is read where the index allows it. */
  read(path: string, ...given: IndexPart[]): Tensor {
    const index = partsOf(given);
    const info = this.info(path);
    if (index.length === 0) return this.#readSelected(path, info, null);
    const basic = selectBasic(info.shape, index);
    if (basic !== null) return this.#readSelected(path, info, basic);
    const rows = selectRows(info.shape, index);
    if (rows === null) return this.#readSelected(path, info, null).at(index as readonly IndexPart[]);
    return this.#readSelected(path, info, this.#rows(info, rows.from, rows.count)).at(rows.index);
  }

  #rows(info: Hdf5Info, from: number, count: number): Selected {
    const shape = [count, ...info.shape.slice(1)];
    return {
      selection: { start: shape.map((_, i) => (i === 0 ? from : 0)), step: shape.map(() => 1), count: shape },
      shape,
    };
  }

  #writeSelected(path: string, info: Hdf5Info, selected: Selected | null, value: Tensor): Tensor {
    const shape = selected === null ? info.shape : selected.shape;
    const dtype = this.#dtype(path, info);
    const source = value.detach().to(dtype);
    const full = sameSizes(source._shape, shape) ? source : source.expand([...shape]);
    const { address, nbytes, keep } = nativeBytes(full);
    if (nbytes > 0) {
      requireFile(address, nbytes, "writing to an HDF5 file");
      this.#file.write(path, info, selected?.selection ?? null, address, nbytes);
      checkFile("writing to an HDF5 file");
    }
    // Whose bytes they are: a copy that only the address knows would be collected too early.
    return keep;
  }

  /** Writes into a dataset, or into the part that an index names. The value is cast and expanded to fit. */
  write(path: string, value: Tensor, ...given: IndexPart[]): void {
    const index = partsOf(given);
    const info = this.#writable.describe(path);
    const basic = index.length === 0 ? null : selectBasic(info.shape, index);
    if (index.length === 0 || basic !== null) this.#writeSelected(path, info, basic, value);
    else this.#writeAmong(path, info, value, index);
  }

  /** Reads what holds the part, changes it, and writes it back. */
  #writeAmong(path: string, info: Hdf5Info, value: Tensor, index: readonly unknown[]): void {
    const rows = selectRows(info.shape, index);
    const where = rows === null ? null : this.#rows(info, rows.from, rows.count);
    const part = this.#readSelected(path, info, where);
    part.setAt((rows === null ? index : [rows.index]) as number[], value.detach().to(part.dtype));
    this.#writeSelected(path, info, where, part);
  }

  /** Makes a dataset of a tensor, in place of what is at the path. */
  put(path: string, value: Tensor, layout: Hdf5Layout = {}): void {
    if (value.requiresGrad) throw new RuntimeError("Cannot set a tensor that has requires_grad=True.");
    const storage = storageFor(value.dtype, value._shape, layout);
    this.#place(path, (file, at) => {
      file.create(at, value.dtype, value._shape, storage);
      this.#writeSelected(at, file.describe(at), null, value);
    });
  }

  /**
   * `put` where nothing is yet, in steps of about a megabyte, which a program may take between other things. Chunks
   * that are compressed, and whose shape the caller leaves open, are smaller than those of `put`: one chunk is one
   * step.
   */
  *putSteps(path: string, value: Tensor, layout: Hdf5Layout = {}): Generator<undefined, void> {
    if (value.requiresGrad) throw new RuntimeError("Cannot set a tensor that has requires_grad=True.");
    const { _shape: shape, dtype } = value;
    const file = this.#writable;
    this.#requireName(path);
    file.create(path, dtype, shape, storageFor(dtype, shape, layout, STEP_CHUNK_BYTES));
    const info = file.describe(path);
    if (shape.length === 0) this.#writeSelected(path, info, null, value);
    const packed = layout.compression === true || layout.compression === "gzip";
    const box = boxFor(shape, dtype.itemsize, packed ? STEP_CHUNK_BYTES : CHUNK_BYTES, info.chunks);
    for (const { start, count } of numelOf(shape) === 0 || shape.length === 0 ? [] : boxesIn(shape, box)) {
      let part = value.detach();
      for (const [dim, from] of start.entries()) part = part.narrow(dim, from, count[dim] as number);
      this.#writeSelected(path, info, { selection: { start, step: shape.map(() => 1), count }, shape: count }, part);
      yield;
    }
  }

  /** Makes an entry beside the old one, which goes when the new one is complete. */
  #place(path: string, make: (file: Hdf5Handle, at: string) => void): void {
    const file = this.#writable;
    this.#requireName(path);
    const exists = file.kind(path) !== null;
    if (exists) file.requireRemoval();
    const at = exists ? `${path}.zensor-${Math.random().toString(36).slice(2, 10)}` : path;
    try {
      make(file, at);
    } catch (error) {
      if (file.kind(at) !== null) discard(file, at);
      throw error;
    }
    if (!exists) return;
    file.remove(path);
    file.move(at, path);
  }

  #requireName(path: string): void {
    requireText(path, () => `the key ${JSON.stringify(path)}`);
    const bad = path.split("/").find((part) => part === "" || part === ".");
    if (bad !== undefined || path.includes("\0")) {
      throw new KeyError(`${JSON.stringify(path)} cannot be a key in an HDF5 file`);
    }
  }

  // ---- values

  /**
   * What a dataset holds that no tensor has: texts, tagged values, lists of any length and records that hold texts or
   * lists as such; elements of other types are one `UnknownArray`, with their bytes where they are bytes. Elements that
   * other files hold are not read.
   */
  values(path: string): Hdf5Values {
    const found = this.exactValues(path);
    return { ...found, values: found.values.map((value) => toPlain(value as PythonJson)) };
  }

  /** @internal The same, whole floats as `Float`; bytes of unknown elements are read when they are used if `lazy`. */
  exactValues(path: string, lazy = false): Hdf5Values {
    const info = this.info(path);
    const { shape, other } = info;
    const stack = this.#file.attribute(path, STACK_ATTRIBUTE);
    this.#allow(path, info, Math.max(listItems(shape), listItems(stack ?? [])), 8);
    if (stack !== null && numelOf(stack) !== numelOf(shape)) {
      throw new FormatError(
        `${path}: ${numelOf(shape)} values do not fill a stack of [${stack.join(", ")}]`,
        this.path,
      );
    }
    if (other?.kind === "text") return { values: this.#file.readTexts(path, info), shape, stack };
    if (other?.kind === "values") return { values: this.#file.readValues(path, info), shape, stack };
    if (other?.kind === "opaque" && isReadable(other)) {
      const { tag, itemsize } = other;
      const bytes = this.#bytes(path, info, itemsize);
      const values = decodeValues({ tag, itemsize, bytes: bytes.typedArray() as Uint8Array });
      if (values !== null) return { values, shape, stack };
    }
    const unknown = this.#unknown(path, info);
    if (!lazy) void unknown.bytes;
    return { values: [unknown], shape: [], stack: null };
  }

  #bytes(path: string, info: Hdf5Info, itemsize: number): Tensor {
    const nbytes = this.#allow(path, info, numelOf(info.shape), itemsize);
    const storage = Storage.allocate(nbytes);
    if (nbytes > 0) this.#file.readBytes(path, info, storage.ptr, nbytes);
    return makeContiguous(storage, [nbytes], uint8);
  }

  #unknown(path: string, info: Hdf5Info): UnknownArray {
    const { other, typeName } = info;
    const type = other !== null && "type" in other ? other.type : null;
    const itemsize = other?.kind === "bytes" || other?.kind === "opaque" ? other.itemsize : null;
    const isElsewhere = other?.kind === "elsewhere";
    return new UnknownArray({
      format: "hdf5",
      name: path,
      dtype: isElsewhere ? `${typeName} in other files` : typeName,
      shape: other?.kind === "empty" ? null : info.shape,
      bytes: itemsize === null ? null : () => this.#bytes(path, info, itemsize),
      nbytes: itemsize === null ? null : numelOf(info.shape) * itemsize,
      exact: type,
    });
  }

  /** Makes a dataset of what `values` gave of this or another HDF5 file, in place of what is at the path. */
  putUnknown(path: string, value: UnknownArray): void {
    const { format, dtype, shape, bytes, _exact: type } = value;
    if (format !== "hdf5" || type === null || (bytes === null && shape !== null)) {
      throw new TypeError(`'${path}': elements of ${dtype} cannot be written to an HDF5 file`);
    }
    const data = bytes === null ? new Uint8Array(0) : (bytes.typedArray() as Uint8Array);
    this.#place(path, (file, at) => file.createBytes(at, type, shape, data));
  }

  /** Keeps values of one kind: texts, booleans or numbers; `stack` marks them as one value per element of a batch. */
  putValues(path: string, values: readonly unknown[], shape: readonly number[], stack: boolean): void {
    // An empty list is one of floats, as NumPy has it.
    const texts = (stack || values.length > 0) && values.every((value) => typeof value === "string");
    const tagged = texts ? null : encodeValues(values);
    if (!texts && tagged === null) {
      throw new TypeError(
        `'${path}': HDF5 files hold texts, booleans and numbers of one kind. Use a memory-mapped directory for ` +
          "other values.",
      );
    }
    requireTexts(values, () => `'${path}'`);
    if (texts && (values as string[]).some((text) => text.includes("\0"))) {
      throw new TypeError(`'${path}': an HDF5 text cannot hold the character NUL`);
    }
    this.#place(path, (file, at) => {
      if (tagged === null) file.createTexts(at, shape, values as string[]);
      else file.createOpaque(at, shape, tagged.tag, tagged.itemsize, tagged.bytes);
      if (stack) file.setAttribute(at, STACK_ATTRIBUTE, shape);
      else if (texts) file.setAttribute(at, TEXT_ATTRIBUTE, true);
    });
  }

  // ---- structure

  /** Makes an empty group. */
  createGroup(path: string): void {
    this.#requireName(path);
    this.#writable.createGroup(path);
  }
  /** Removes a dataset or a group with all that is in it. */
  remove(path: string): void {
    this.#writable.remove(path);
  }
  /** Gives an entry another path. */
  move(from: string, to: string): void {
    this.#requireName(to);
    this.#writable.move(from, to);
  }
  /** Changes the shape of a dataset, within the `maxShape` that it was made with. */
  extend(path: string, shape: readonly number[]): void {
    const info = this.info(path);
    const fine = shape.every((n, i) => {
      const most = info.maxShape[i];
      return Number.isSafeInteger(n) && n >= 0 && (most === null || n <= (most as number));
    });
    if (!fine || shape.length !== info.shape.length || info.chunks === null) {
      const most = info.maxShape.map((n) => n ?? "any").join(", ");
      throw new RuntimeError(`${path} can have the shape [${most}] at most, not [${shape.join(", ")}]`);
    }
    this.#writable.extend(path, shape);
  }
  /** Hands all that was written to the system. */
  flush(): void {
    this.#file.flush();
  }
  /** Writes what is left and closes the file; calls after that are errors, another `close` is not. */
  close(): void {
    const handle = this.#handle;
    this.#handle = null;
    handle?.close();
  }
  [Symbol.dispose](): void {
    this.close();
  }
}
installChecks(Hdf5File.prototype, METHODS.Hdf5File);

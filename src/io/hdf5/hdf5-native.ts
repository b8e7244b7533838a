// Open HDF5 files in the C library. Elements go straight to and from the memory of tensors.
import { type Hdf5Library, type Hid, hdf5Error } from "../../ffi/hdf5.ts";
import { addressOf, textAt } from "../../ffi/library.ts";
import { bool, type DType, int64 } from "../../tensor/dtype.ts";
import { KeyError } from "../../tensor/errors.ts";
import { numelOf } from "../../tensor/size.ts";
import { FormatError, OSError, systemError } from "../base/errors.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import { decoderOf } from "./hdf5-decode.ts";
import { decodedType, encodedType, factsOf } from "./hdf5-described.ts";
import type { Hdf5Attribute, Hdf5Handle, Hdf5Info, Hdf5Selection, Hdf5Storage } from "./hdf5-engine.ts";
import { type Found, IS_DATASET, IS_GROUP, Links } from "./hdf5-links.ts";
import { partsByChunks, pieces } from "./hdf5-selection.ts";
import { cText, describeType, Identifiers, opaqueType, textType, typeOf } from "./hdf5-types.ts";

const SPACE_SCALAR = 0;
const SPACE_NULL = 2;
const LAYOUT_COMPACT = 0;
const LAYOUT_CHUNKED = 2;
const LAYOUT_VIRTUAL = 3;
const UTF8 = 1;
const UNDEFINED_ADDRESS = 2n ** 64n - 1n;
const MAX_RANK = 32;
/** Texts are read in pieces of so many. */
const TEXTS_AT_ONCE = 1024;
const VARIABLE = 9;
/** Bytes of a list in a file: length, address and number of what holds its elements. */
const LIST_IN_FILE = 16;
/** Values that hold texts and lists, likewise. */
const VALUES_AT_ONCE = 64;
/** Texts that share their bytes in the file may take so much more memory than the file has. */
const TEXT_ALLOWANCE = 64 * 2 ** 20;

function words(values: readonly (number | null)[]): BigUint64Array {
  return BigUint64Array.from(values, (n) => (n === null ? UNDEFINED_ADDRESS : BigInt(n)));
}

/** The error for the call that failed last: of the system where it has a number, of the file otherwise. */
export function failureOf(library: Hdf5Library, path: string): Error {
  const text = hdf5Error(library);
  const errno = /errno = (\d+)/.exec(text);
  if (errno !== null) {
    const known = systemError(Number(errno[1]), path);
    // Another program has locked the file: the system's words for that say nothing.
    if (known.code === "EAGAIN") return new OSError(`${path}: ${text}`, { errno: known.errno, path, code: "EAGAIN" });
    return known;
  }
  return new FormatError(text, path);
}

const forgotten = new FinalizationRegistry<{ library: Hdf5Library; id: Hid }>(({ library, id }) => {
  library.call.H5Fclose(id);
});

/** An open file. */
export class NativeHandle implements Hdf5Handle {
  #open = true;
  readonly #links: Links;
  constructor(
    private readonly library: Hdf5Library,
    private readonly path: string,
    private readonly id: Hid,
  ) {
    forgotten.register(this, { library, id }, this);
    this.#links = new Links(library, id, path, () => failureOf(library, path));
  }

  #ids(): Identifiers {
    return new Identifiers(this.library, () => failureOf(this.library, this.path));
  }

  // ---- paths

  #existing(path: string): Found {
    const found = this.#links.find(path);
    if (found === null) throw new KeyError(`'${path}' is not in ${this.path}`);
    return found;
  }

  size(): number {
    using ids = this.#ids();
    return this.#fileSize(ids);
  }

  kind(path: string): "group" | "dataset" | null {
    const found = this.#links.find(path, true);
    if (found === null) return null;
    const type = this.#links.type(found);
    return type === IS_GROUP ? "group" : type === IS_DATASET ? "dataset" : null;
  }

  identity(path: string): string | null {
    const found = this.#links.find(path, true);
    return found === null ? null : String(found.address ?? found.path);
  }

  names(group: string): string[] {
    const found = this.#existing(group);
    if (this.#links.type(found) !== IS_GROUP) throw new KeyError(`'${group}' is no group of ${this.path}`);
    const names = [...this.#links.names(found, this.size())];
    return names.filter((name) => this.kind(`${group}/${name}`) !== null);
  }

  // ---- datasets

  #dataset(ids: Identifiers, path: string): Hid {
    const found = this.#existing(path);
    if (this.#links.type(found) !== IS_DATASET) throw new KeyError(`'${path}' is no dataset of ${this.path}`);
    return this.#links.open(ids, found);
  }

  #fileSize(ids: Identifiers): number {
    const size = new BigUint64Array(1);
    ids.check(this.library.call.H5Fget_filesize(this.id, size));
    return Number(size[0]);
  }

  /** Null for a space without elements and without a shape. */
  #shape(ids: Identifiers, space: Hid, path: string): { shape: number[]; maxShape: (number | null)[] } | null {
    const { call } = this.library;
    const kind = ids.check(call.H5Sget_simple_extent_type(space));
    if (kind === SPACE_NULL) return null;
    const rank = ids.check(call.H5Sget_simple_extent_ndims(space));
    if (rank > MAX_RANK) throw new FormatError(`${path} has ${rank} dimensions`, this.path);
    const [now, most] = [new BigUint64Array(rank), new BigUint64Array(rank)];
    if (rank > 0) ids.check(call.H5Sget_simple_extent_dims(space, now, most));
    const shape = [...now].map(Number);
    if (!Number.isSafeInteger(numelOf(shape.map((n) => Math.max(n, 1))))) {
      throw new FormatError(`${path} says that its shape is [${shape.join(", ")}]`, this.path);
    }
    const maxShape = [...most].map((n) => (n === UNDEFINED_ADDRESS ? null : Number(n)));
    if (maxShape.some((n, dim) => n !== null && n < (shape[dim] as number))) {
      throw new FormatError(`${path} of shape [${shape.join(", ")}] has more than its greatest shape`, this.path);
    }
    return { shape, maxShape };
  }

  /** The dataset that was described last: it is asked about again before it is read. */
  #described: { path: string; generation: number; info: Hdf5Info } | null = null;

  describe(path: string): Hdf5Info {
    const { generation } = this.#links;
    if (this.#described?.path === path && this.#described.generation === generation) return this.#described.info;
    const info = this.#describe(path);
    this.#described = { path, generation, info };
    return info;
  }

  #describe(path: string): Hdf5Info {
    const { call } = this.library;
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const type = ids.keep(call.H5Dget_type(set));
    const found = this.#shape(ids, ids.keep(call.H5Dget_space(set)), path);
    const { shape, maxShape } = found ?? { shape: [], maxShape: [] };
    const list = ids.keep(call.H5Dget_create_plist(set));
    const layout = ids.check(call.H5Pget_layout(list));
    const isElsewhere = layout === LAYOUT_VIRTUAL || call.H5Pget_external_count(list) > 0;
    const info = this.#otherType(ids, type, found === null ? "empty" : isElsewhere ? "elsewhere" : null);
    let chunks: number[] | null = null;
    if (layout === LAYOUT_CHUNKED) {
      const sizes = new BigUint64Array(shape.length);
      ids.check(call.H5Pget_chunk(list, shape.length, sizes));
      chunks = [...sizes].map(Number);
    } else if (found !== null && !isElsewhere) {
      this.#requireStored(ids, set, path, numelOf(shape) * Number(call.H5Tget_size(type)), layout);
    }
    return { ...info, shape, maxShape, chunks };
  }

  /** What elements are, with more words where no tensor has them. */
  #otherType(
    ids: Identifiers,
    type: Hid,
    without: "empty" | "elsewhere" | null,
  ): Pick<Hdf5Info, "dtype" | "other" | "typeName"> {
    const info = describeType(ids, type);
    if (without === null && info.other?.kind !== "unknown" && info.other?.kind !== "opaque") return info;
    const { text, flat, portable } = factsOf(ids, type);
    const encoded = () => encodedType(ids, type);
    if (without === "empty") return { dtype: null, other: { kind: "empty", type: encoded() }, typeName: text };
    if (without === "elsewhere") return { dtype: null, other: { kind: "elsewhere" }, typeName: text };
    if (info.other?.kind === "opaque")
      return { dtype: null, other: { ...info.other, type: encoded() }, typeName: text };
    if (!flat) {
      const kind = decoderOf(ids, type) === null ? "unknown" : "values";
      return { dtype: null, other: { kind }, typeName: text };
    }
    const itemsize = Number(this.library.call.H5Tget_size(type));
    return { dtype: null, other: { kind: "bytes", itemsize, type: portable ? encoded() : null }, typeName: text };
  }

  /** Throws for a dataset in one piece that does not have all of its bytes. */
  #requireStored(ids: Identifiers, set: Hid, path: string, nbytes: number, layout: number): void {
    const { call } = this.library;
    const offset = call.H5Dget_offset(set);
    const size = this.#fileSize(ids);
    if (offset !== UNDEFINED_ADDRESS && Number(offset) + nbytes > size) {
      throw new FormatError(`${path} of ${nbytes} bytes does not fit into the ${size} bytes of the file`, this.path);
    }
    const stored = Number(call.H5Dget_storage_size(set));
    // Nothing is stored of a dataset that was never written, unless it lies in its own description.
    if (stored < nbytes && (stored !== 0 || layout === LAYOUT_COMPACT)) {
      throw new FormatError(`${path} of ${nbytes} bytes has ${stored} bytes in the file`, this.path);
    }
  }

  #spaces(ids: Identifiers, set: Hid, selection: Hdf5Selection | null): { memory: Hid; file: Hid } {
    if (selection === null) return { memory: 0n, file: 0n };
    const { call } = this.library;
    const file = ids.keep(call.H5Dget_space(set));
    const { start, step, count } = selection;
    if (start.length > 0) {
      ids.check(call.H5Sselect_hyperslab(file, 0, words(start), words(step), words(count), null));
    }
    return { memory: this.#space(ids, count, null), file };
  }

  #space(ids: Identifiers, shape: readonly number[], maxShape: readonly (number | null)[] | null): Hid {
    const { call } = this.library;
    if (shape.length === 0) return ids.keep(call.H5Screate(SPACE_SCALAR));
    return ids.keep(call.H5Screate_simple(shape.length, words(shape), maxShape === null ? null : words(maxShape)));
  }

  read(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number): void {
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const { dtype } = info as { dtype: DType };
    this.#readParts(set, typeOf(ids, dtype), info, selection, address, dtype.itemsize);
  }

  /** Reads elements of one size to an address, few chunks at a time. */
  #readParts(set: Hid, type: Hid, info: Hdf5Info, given: Hdf5Selection | null, address: number, size: number): void {
    const { shape, chunks } = info;
    const read = (part: Hdf5Selection | null, before: number): void => {
      using ids = this.#ids();
      const { memory, file } = this.#spaces(ids, set, part);
      ids.check(this.library.call.H5Dread(set, type, memory, file, 0n, address + before * size));
    };
    const all = given ?? { start: shape.map(() => 0), step: shape.map(() => 1), count: [...shape] };
    const parts = shape.length > 0 && chunks !== null ? partsByChunks(all, chunks) : [{ selection: given, before: 0 }];
    for (const { selection, before } of parts) read(selection, before);
  }

  write(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number): void {
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const { memory, file } = this.#spaces(ids, set, selection);
    ids.check(this.library.call.H5Dwrite(set, typeOf(ids, info.dtype as DType), memory, file, 0n, address));
  }

  #linkList(ids: Identifiers): Hid {
    const { call, id } = this.library;
    const list = ids.keep(call.H5Pcreate(id.H5P_CLS_LINK_CREATE_ID));
    ids.check(call.H5Pset_create_intermediate_group(list, 1));
    ids.check(call.H5Pset_char_encoding(list, UTF8));
    return list;
  }

  #make(ids: Identifiers, path: string, type: Hid, shape: readonly number[] | null, storage: Hdf5Storage | null): Hid {
    const { call, id } = this.library;
    this.#links.changed();
    const space =
      shape === null ? ids.keep(call.H5Screate(SPACE_NULL)) : this.#space(ids, shape, storage?.maxShape ?? null);
    let list: Hid = 0n;
    if (storage !== null && storage.chunks !== null) {
      list = ids.keep(call.H5Pcreate(id.H5P_CLS_DATASET_CREATE_ID));
      ids.check(call.H5Pset_chunk(list, storage.chunks.length, words(storage.chunks)));
      if (storage.shuffle) ids.check(call.H5Pset_shuffle(list));
      if (storage.gzip !== null) ids.check(call.H5Pset_deflate(list, storage.gzip));
    }
    return ids.keep(call.H5Dcreate2(this.id, cText(path), type, space, this.#linkList(ids), list, 0n));
  }

  create(path: string, dtype: DType, shape: readonly number[], storage: Hdf5Storage): void {
    using ids = this.#ids();
    this.#make(ids, path, typeOf(ids, dtype), shape, storage);
  }

  // ---- texts and bytes

  readTexts(path: string, info: Hdf5Info): string[] {
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const type = ids.keep(this.library.call.H5Dget_type(set));
    const variable = ids.check(this.library.call.H5Tis_variable_str(type)) > 0;
    const limit = this.#fileSize(ids) + TEXT_ALLOWANCE;
    if (!variable) return this.#fixedTexts(ids, set, type, numelOf(info.shape), limit);
    const texts: string[] = [];
    let taken = 0;
    for (const selection of pieces(info.shape, TEXTS_AT_ONCE)) {
      using some = this.#ids();
      const { memory, file } = this.#spaces(some, set, selection);
      for (const text of this.#variableTexts(type, memory, file, set, numelOf(selection.count))) {
        taken += text.length;
        if (taken > limit) throw new FormatError(`the texts of ${path} take more memory than the file`, this.path);
        texts.push(text);
      }
    }
    return texts;
  }

  #variableTexts(type: Hid, memory: Hid, file: Hid, set: Hid, count: number): string[] {
    const { call } = this.library;
    const pointers = new BigUint64Array(count);
    if (call.H5Dread(set, type, memory, file, 0n, pointers) < 0) throw failureOf(this.library, this.path);
    const texts = [...pointers].map((at) => (at === 0n ? "" : textAt(Number(at))));
    call.H5Dvlen_reclaim(type, memory, 0n, pointers);
    return texts;
  }

  #fixedTexts(ids: Identifiers, set: Hid, type: Hid, count: number, limit: number): string[] {
    const size = Number(this.library.call.H5Tget_size(type));
    if (!(count * size <= limit)) throw new FormatError(`texts of ${count} times ${size} bytes`, this.path);
    const bytes = Buffer.alloc(count * size + 1);
    ids.check(this.library.call.H5Dread(set, type, 0n, 0n, 0n, bytes));
    return Array.from({ length: count }, (_, i) => {
      const one = bytes.subarray(i * size, (i + 1) * size);
      const end = one.indexOf(0);
      return one.subarray(0, end < 0 ? size : end).toString("utf8");
    });
  }

  createTexts(path: string, shape: readonly number[], texts: readonly string[]): void {
    using ids = this.#ids();
    const type = textType(ids);
    const set = this.#make(ids, path, type, shape, null);
    if (texts.length === 0) return;
    const bytes = texts.map((text) => cText(text));
    const start = [0];
    for (const one of bytes) start.push((start.at(-1) as number) + one.length);
    const block = Buffer.concat(bytes);
    const base = addressOf(block);
    const pointers = BigUint64Array.from(bytes, (_, i) => BigInt(base + (start[i] as number)));
    ids.check(this.library.call.H5Dwrite(set, type, 0n, 0n, 0n, pointers));
    // The block is used up to here: the collector may not take it during the call.
    block.fill(0, 0, 1);
  }

  readBytes(path: string, info: Hdf5Info, address: number, nbytes: number): void {
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const type = ids.keep(this.library.call.H5Dget_type(set));
    // Another program may have changed it since it was described.
    if (numelOf(info.shape) * Number(this.library.call.H5Tget_size(type)) !== nbytes) {
      throw new FormatError(`${path} does not have ${nbytes} bytes any more`, this.path);
    }
    if (!factsOf(ids, type).flat) throw new FormatError(`${path} has elements that are no bytes`, this.path);
    this.#readParts(set, type, info, null, address, Number(this.library.call.H5Tget_size(type)));
  }

  readValues(path: string, info: Hdf5Info): unknown[] {
    using ids = this.#ids();
    const { call } = this.library;
    const set = this.#dataset(ids, path);
    const found = decoderOf(ids, ids.keep(call.H5Dget_type(set)));
    if (found === null) throw new FormatError(`${path} has other elements now`, this.path);
    const { decoder, memory: type, taken } = found;
    const values: unknown[] = [];
    taken.most = this.#fileSize(ids) + TEXT_ALLOWANCE;
    taken.refuse = () => {
      throw new FormatError(`the values of ${path} take more memory than the file`, this.path);
    };
    this.#requireLengths(ids, set, path, numelOf(info.shape));
    for (const selection of pieces(info.shape, VALUES_AT_ONCE)) {
      using some = this.#ids();
      const { memory, file } = this.#spaces(some, set, selection);
      const count = numelOf(selection.count);
      taken.add(count * decoder.size);
      const view = new DataView(new ArrayBuffer(count * decoder.size));
      const bytes = new Uint8Array(view.buffer);
      some.check(call.H5Dread(set, type, memory, file, 0n, bytes));
      try {
        for (let i = 0; i < count; i++) values.push(decoder.value(view, i * decoder.size));
      } finally {
        call.H5Dvlen_reclaim(type, memory, 0n, bytes);
      }
    }
    return values;
  }

  /**
   * Throws where a list of a dataset in one piece says that it is longer than the file: the library takes the memory
   * for it before it looks. In the file a list is its length and where it is.
   */
  #requireLengths(ids: Identifiers, set: Hid, path: string, count: number): void {
    const { call } = this.library;
    const offset = call.H5Dget_offset(set);
    if (offset === UNDEFINED_ADDRESS || call.H5Tget_class(ids.keep(call.H5Dget_type(set))) !== VARIABLE) return;
    const size = this.#fileSize(ids);
    if (call.H5Fflush(this.id, 0) < 0) throw failureOf(this.library, this.path);
    const lengths = FileRanges.with(this.path, (file) => {
      const bytes = file.read(Number(offset), count * LIST_IN_FILE);
      const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
      return Array.from({ length: count }, (_, i) => view.getUint32(i * LIST_IN_FILE, true));
    });
    const wrong = lengths.find((length) => length > size) ?? null;
    if (wrong !== null) throw new FormatError(`${path} has a list of ${wrong} elements, in ${size} bytes`, this.path);
  }

  createBytes(path: string, encoded: Uint8Array, shape: readonly number[] | null, bytes: Uint8Array): void {
    using ids = this.#ids();
    const type = decodedType(ids, encoded);
    const set = this.#make(ids, path, type, shape, null);
    if (shape === null || bytes.length === 0) return;
    if (numelOf(shape) * Number(this.library.call.H5Tget_size(type)) !== bytes.length || !factsOf(ids, type).flat) {
      throw new FormatError(`${path}: ${bytes.length} bytes are no elements of this type`, this.path);
    }
    ids.check(this.library.call.H5Dwrite(set, type, 0n, 0n, 0n, bytes));
  }

  createOpaque(path: string, shape: readonly number[], tag: string, itemsize: number, bytes: Uint8Array): void {
    using ids = this.#ids();
    const type = opaqueType(ids, itemsize, tag);
    const set = this.#make(ids, path, type, shape, null);
    if (bytes.length > 0) ids.check(this.library.call.H5Dwrite(set, type, 0n, 0n, 0n, bytes));
  }

  // ---- attributes

  attribute(path: string, name: string): number[] | null {
    const { call } = this.library;
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    if (ids.check(call.H5Aexists(set, cText(name))) === 0) return null;
    const attribute = ids.keep(call.H5Aopen(set, cText(name), 0n));
    const found = this.#shape(ids, ids.keep(call.H5Aget_space(attribute)), `${path}: ${name}`);
    if (found === null) return null;
    const { shape } = found;
    const { dtype } = describeType(ids, ids.keep(call.H5Aget_type(attribute)));
    const count = numelOf(shape);
    if (dtype === null || dtype.category > 1 || count > MAX_RANK) return null;
    if (dtype.name === "bool") {
      const value = new Uint8Array(Math.max(count, 1));
      ids.check(call.H5Aread(attribute, typeOf(ids, dtype), value));
      return [...value.subarray(0, count)];
    }
    const values = new BigInt64Array(Math.max(count, 1));
    ids.check(call.H5Aread(attribute, typeOf(ids, int64), values));
    return [...values.subarray(0, count)].map(Number);
  }

  setAttribute(path: string, name: string, value: Hdf5Attribute): void {
    const { call } = this.library;
    using ids = this.#ids();
    const set = this.#dataset(ids, path);
    const list = typeof value === "boolean" ? null : value;
    const type = list === null ? typeOf(ids, bool) : typeOf(ids, int64);
    const space = this.#space(ids, list === null ? [] : [list.length], null);
    const attribute = ids.keep(call.H5Acreate2(set, cText(name), type, space, 0n, 0n));
    const bytes = list === null ? new Uint8Array([value === true ? 1 : 0]) : BigInt64Array.from(list, BigInt);
    ids.check(call.H5Awrite(attribute, type, bytes));
  }

  // ---- structure

  createGroup(path: string): void {
    this.#links.changed();
    using ids = this.#ids();
    ids.keep(this.library.call.H5Gcreate2(this.id, cText(path), this.#linkList(ids), 0n, 0n));
  }

  /** The entry itself, not what a link points to. */
  #linkAt(path: string): Uint8Array {
    const cut = path.lastIndexOf("/");
    const parent = this.#links.find(path.slice(0, Math.max(cut, 0)));
    this.#links.changed();
    return cText(`${parent?.path ?? ""}/${path.slice(cut + 1)}`);
  }

  requireRemoval(): void {}

  remove(path: string): void {
    using ids = this.#ids();
    ids.check(this.library.call.H5Ldelete(this.id, this.#linkAt(path), 0n));
  }

  move(from: string, to: string): void {
    using ids = this.#ids();
    const source = this.#linkAt(from);
    ids.check(this.library.call.H5Lmove(this.id, source, this.id, cText(to), this.#linkList(ids), 0n));
  }

  extend(path: string, shape: readonly number[]): void {
    this.#links.changed();
    using ids = this.#ids();
    ids.check(this.library.call.H5Dset_extent(this.#dataset(ids, path), words(shape)));
  }

  flush(): void {
    if (this.library.call.H5Fflush(this.id, 1) < 0) throw failureOf(this.library, this.path);
  }

  close(): void {
    if (!this.#open) return;
    this.#open = false;
    forgotten.unregister(this);
    if (this.library.call.H5Fclose(this.id) < 0) throw failureOf(this.library, this.path);
  }
}

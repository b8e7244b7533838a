// HDF5 files without the C library: the npm package h5wasm, where the program has installed it. It does less, and says
// so: no deleting or moving, no float16, complex or new bool datasets, no parts beyond what fits into its 2 GiB.

import { copyBytes, windowOn } from "../../ffi/memory.ts";
import { closeSync, existsSync, fstatSync, openSync, statSync } from "../../runtime/node.ts";
import { Float } from "../../tensor/complex.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { KeyError, NotImplementedError } from "../../tensor/errors.ts";
import { numelOf } from "../../tensor/size.ts";
import { addressOf } from "../../tensor/values.ts";
import { FormatError, guarded, systemError } from "../base/errors.ts";
import { systemPath } from "../base/places.ts";
import type {
  Hdf5Attribute,
  Hdf5Engine,
  Hdf5Handle,
  Hdf5Info,
  Hdf5Mode,
  Hdf5Other,
  Hdf5Selection,
  Hdf5Storage,
} from "./hdf5-engine.ts";
import { CLASS_NAMES } from "./hdf5-types.ts";

/** What of the package is used here. */
interface Metadata {
  type: number;
  size: number;
  signed: boolean;
  littleEndian: boolean;
  vlen: boolean;
  shape: number[] | null;
  maxshape: (number | null)[] | null;
  chunks: number[] | null;
  total_size?: number;
  enum_type?: { type?: number; members: Record<string, number> };
  compound_type?: { members: (Metadata & { name: string; offset: number })[] };
  array_type?: Metadata;
  vlen_type?: Metadata;
  ref_type?: string;
  virtual_sources?: unknown[];
}
interface Entity {
  type?: string;
  file_id: bigint;
  path: string;
  metadata: Metadata;
  attrs: Record<string, { value: unknown }>;
  keys(): string[];
  get(name: string): Entity | null;
  get_link(path: string): string | null;
  get_external_link(path: string): { filename?: string };
  slice(ranges: number[][]): unknown;
  write_slice(ranges: number[][], data: NodeJS.TypedArray): void;
  value: unknown;
  resize(shape: number[]): number;
  create_reference(): { ref_data: Uint8Array };
  create_group(name: string): Entity;
  create_dataset(options: Record<string, unknown>): Entity;
  create_attribute(name: string, data: unknown, shape: number[] | null, dtype: string): void;
}
interface WasmFile extends Entity {
  flush(): void;
  close(): number;
}
interface Module {
  activate_throwing_error_handler?(): void;
  _malloc(nbytes: number): number;
  _free(address: number): void;
  HEAPU8: Uint8Array;
  get_dataset_data(file: bigint, path: string, count: null, offset: null, strides: null, address: bigint): number;
}
interface Package {
  ready: Promise<Module>;
  File: new (path: string, mode: string) => WasmFile;
}

const INTEGER = 0;
const FLOAT = 1;
const STRING = 3;
const COMPOUND = 6;
const REFERENCE = 7;
const ENUM = 8;
const VARIABLE = 9;
const ARRAY = 10;
/** Members that the words for a type name. */
const NAMED_MEMBERS = 16;
/** The package copies through its own memory. */
const MOST_BYTES = 2 ** 30;
/** The package takes the square of a path's length to find what is there. */
const MAX_DEPTH = 32;
/** Objects that are kept. */
const MOST_KEPT = 1_000_000;

/** The package's letters for dtypes, and the arrays it takes and gives. */
const KINDS = {
  int8: ["<b", Int8Array],
  uint8: ["<B", Uint8Array],
  int16: ["<h", Int16Array],
  uint16: ["<H", Uint16Array],
  int32: ["<i", Int32Array],
  uint32: ["<I", Uint32Array],
  int64: ["<q", BigInt64Array],
  uint64: ["<Q", BigUint64Array],
  float32: ["<f", Float32Array],
  float64: ["<d", Float64Array],
} as const;
type Known = keyof typeof KINDS;

function cannot(what: string): NotImplementedError {
  return new NotImplementedError(
    `h5wasm cannot ${what}. Install the HDF5 library (apt-get install libhdf5-103-1, brew install hdf5), or name its ` +
      "file in ZENSOR_HDF5.",
  );
}

function nameOf({ type, size, signed, enum_type: names }: Metadata): string | null {
  if (type === INTEGER) return `${signed ? "int" : "uint"}${8 * size}`;
  if (type === FLOAT) return `float${8 * size}`;
  const members = Object.entries(names?.members ?? {});
  const isBool = members.length === 2 && names?.members.FALSE === 0 && names.members.TRUE === 1;
  return type === ENUM && size === 1 && isBool ? "bool" : null;
}

/** A type in words, and whether its elements hold no pointers. */
function factsOf(metadata: Metadata): { text: string; flat: boolean } {
  const { type, size, vlen } = metadata;
  const plain = (text: string) => ({ text, flat: true });
  switch (type) {
    case STRING:
      return vlen ? { text: "text", flat: false } : plain(`text of ${size} bytes`);
    case COMPOUND: {
      const members = metadata.compound_type?.members ?? [];
      const found = members.map((member) => ({ name: member.name, ...factsOf(member) }));
      const words = found.slice(0, NAMED_MEMBERS).map(({ name, text }) => `${name}: ${text}`);
      if (found.length > NAMED_MEMBERS) words.push(`${found.length - NAMED_MEMBERS} more`);
      return { text: `compound {${words.join(", ")}}`, flat: found.every(({ flat }) => flat) };
    }
    case REFERENCE:
      return plain(metadata.ref_type === "region" ? "region reference" : "reference");
    case ENUM: {
      const number = nameOf({ ...metadata, type: INTEGER }) ?? "integer";
      const members = Object.entries(metadata.enum_type?.members ?? {}).map(([name, value]) => `${name} = ${value}`);
      return plain(`enumeration ${number} {${members.join(", ")}}`);
    }
    case VARIABLE:
      return { text: `variable-length ${metadata.vlen_type ? factsOf(metadata.vlen_type).text : ""}`, flat: false };
    case ARRAY: {
      if (metadata.array_type === undefined) return { text: "array", flat: false };
      const { text, flat } = factsOf(metadata.array_type);
      return { text: `array ${text}[${(metadata.array_type.shape ?? []).join(", ")}]`, flat };
    }
    default:
      return plain(nameOf(metadata) ?? `${CLASS_NAMES[type] ?? `class ${type}`} of ${size} bytes`);
  }
}

/** What elements of a dataset are that no tensor has. */
function otherOf(metadata: Metadata): Hdf5Other {
  const { type, shape, size, virtual_sources: sources, vlen_type: listed } = metadata;
  if (shape === null) return { kind: "empty", type: null };
  if (sources !== undefined) return { kind: "elsewhere" };
  if (type === STRING) return { kind: "text" };
  const of = type === VARIABLE && listed !== undefined ? nameOf(listed) : null;
  if (of !== null && Object.hasOwn(KINDS, of)) return { kind: "values" };
  return factsOf(metadata).flat ? { kind: "bytes", itemsize: size, type: null } : { kind: "unknown" };
}

/** A number of a list: a whole float is told from an integer. */
function valueOf(n: number | bigint, isFloat: boolean): unknown {
  if (isFloat) return Number.isInteger(n) ? new Float(n as number) : n;
  return Number.isSafeInteger(Number(n)) ? Number(n) : n;
}

/** Something that was found. */
interface Node {
  entity: Entity;
  /** The first path that led to it. */
  path: string;
  /** Names in a group, when they were asked for; */
  names: ReadonlySet<string> | null;
  /** what was found under them, null for what is left out. */
  below: Map<string, Node | null>;
}

/** What the package calls a reference is where in the file the object is. */
function identityOf(entity: Entity): string {
  return Buffer.from(entity.create_reference().ref_data).toString("hex");
}

class WasmHandle implements Hdf5Handle {
  /** Of the file itself: its path may be another's by now. */
  private readonly descriptor: number;

  constructor(
    private readonly path: string,
    private readonly file: WasmFile,
    private readonly module: Module,
  ) {
    this.descriptor = openSync(path, "r");
  }

  #guarded<T>(run: () => T): T {
    try {
      return run();
    } catch (error) {
      if (error instanceof KeyError || error instanceof NotImplementedError || error instanceof FormatError)
        throw error;
      throw new FormatError(error instanceof Error ? error.message : String(error), this.path, error);
    }
  }

  /** What was found so far, until something changes; a group once, however many paths lead to it. */
  #root: Node | null = null;
  readonly #groups = new Map<string, Node>();
  #kept = 0;

  #changed(): void {
    this.#root = null;
    this.#groups.clear();
    this.#kept = 0;
  }

  #find(path: string): Node | null {
    if (this.#kept > MOST_KEPT) this.#changed();
    this.#root ??= this.#node(this.file, "");
    let at: Node | null = this.#root;
    for (const part of path.split("/")) if (part !== "" && at !== null) at = this.#below(at, part);
    return at;
  }

  #node(entity: Entity, path: string): Node {
    const identity = entity.type === "Dataset" ? null : identityOf(entity);
    const known = identity === null ? undefined : this.#groups.get(identity);
    if (known !== undefined) return known;
    const node: Node = { entity, path, names: null, below: new Map() };
    if (identity !== null) this.#groups.set(identity, node);
    this.#kept++;
    return node;
  }

  /** Links are not followed: the package does not tell whether they end in this file. */
  #below(at: Node, part: string): Node | null {
    let node = at.below.get(part);
    if (node !== undefined) return node;
    if (at.entity.type === "Dataset" || !this.#names(at).has(part)) return null;
    const full = `${at.path}/${part}`;
    node = null;
    if (full.split("/").length > MAX_DEPTH) {
      throw cannot(`follow paths through more than ${MAX_DEPTH} groups, as in ${this.path}`);
    }
    if (!this.file.get_link(full) && this.file.get_external_link(full).filename === undefined) {
      const entity = this.file.get(full);
      if (entity !== null && (entity.type === "Group" || entity.type === "Dataset")) node = this.#node(entity, full);
    }
    at.below.set(part, node);
    return node;
  }

  #names(at: Node): ReadonlySet<string> {
    at.names ??= new Set(at.entity.keys());
    return at.names;
  }

  #entity(path: string): Entity {
    const found = this.#guarded(() => this.#find(path));
    if (found === null) throw new KeyError(`'${path}' is not in ${this.path}`);
    return found.entity;
  }

  names(group: string): string[] {
    const names = this.#guarded(() => {
      const at = this.#find(group);
      if (at === null || at.entity.type === "Dataset") throw new KeyError(`'${group}' is no group of ${this.path}`);
      return [...this.#names(at)].sort();
    });
    return names.filter((name) => this.kind(`${group}/${name}`) !== null);
  }
  size(): number {
    return guarded(this.path, () => fstatSync(this.descriptor)).size;
  }
  kind(path: string): "group" | "dataset" | null {
    const found = this.#guarded(() => this.#find(path));
    return found === null ? null : found.entity.type === "Dataset" ? "dataset" : "group";
  }

  identity(path: string): string | null {
    return this.#guarded(() => {
      const found = this.#find(path);
      return found === null ? null : identityOf(found.entity);
    });
  }

  describe(path: string): Hdf5Info {
    const metadata = this.#guarded(() => this.#entity(path).metadata);
    const { maxshape, chunks, virtual_sources: sources } = metadata;
    const shape = metadata.shape ?? [];
    const isPlain = metadata.shape !== null && sources === undefined;
    const name = isPlain ? nameOf(metadata) : null;
    const dtype = name === null ? undefined : dtypeByName(name);
    const common = { shape, maxShape: maxshape ?? shape, chunks, typeName: factsOf(metadata).text };
    return { ...common, dtype: dtype ?? null, other: dtype === undefined ? otherOf(metadata) : null };
  }

  #array(info: Hdf5Info): (typeof KINDS)[Known] {
    const { name } = info.dtype as DType;
    const known = name === "bool" ? KINDS.int8 : KINDS[name as Known];
    if (known === undefined) throw cannot(`read or write ${name}`);
    return known;
  }

  #ranges({ shape }: Hdf5Info, selection: Hdf5Selection | null): number[][] {
    if (selection === null) return shape.map((n) => [0, n]);
    const { start, step, count } = selection;
    return start.map((from, i) => {
      const [by, n] = [step[i] as number, count[i] as number];
      return [from, from + (n - 1) * by + 1, by];
    });
  }

  read(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number, nbytes: number): void {
    const [, Kind] = this.#array(info);
    if (nbytes > MOST_BYTES) throw cannot(`read ${nbytes} bytes at once`);
    const set = this.#entity(path);
    // One element comes as a number.
    const found = this.#guarded(() => (info.shape.length === 0 ? set.value : set.slice(this.#ranges(info, selection))));
    const list = ArrayBuffer.isView(found) ? found : Kind.of(Number(found) as never);
    const array = typeof found === "bigint" ? (Kind as BigInt64ArrayConstructor).of(found) : list;
    if (array.byteLength !== nbytes)
      throw new FormatError(`${path} gave ${array.byteLength} of ${nbytes} bytes`, this.path);
    copyBytes(address, addressOf(array as NodeJS.TypedArray), nbytes);
  }

  write(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number, nbytes: number): void {
    const [, Kind] = this.#array(info);
    if (info.dtype?.name === "bool") throw cannot("write bool");
    if (nbytes > MOST_BYTES) throw cannot(`write ${nbytes} bytes at once`);
    const data = new Kind(windowOn(address, nbytes).slice(0));
    this.#guarded(() => this.#entity(path).write_slice(this.#ranges(info, selection), data));
  }

  /** The group that is to hold a path, made where it is missing, and the last name. */
  #parent(path: string): [Entity, string] {
    this.#changed();
    const parts = path.split("/");
    const last = parts.pop() as string;
    let at: Entity = this.file;
    for (const part of parts) at = at.keys().includes(part) ? (at.get(part) as Entity) : at.create_group(part);
    if (at.type !== "Group") throw new KeyError(`'${path}' would lie in a dataset`);
    return [at, last];
  }

  create(path: string, dtype: DType, shape: readonly number[], storage: Hdf5Storage): void {
    const known = KINDS[dtype.name as Known];
    if (known === undefined) throw cannot(`write ${dtype.name}`);
    if (storage.shuffle) throw cannot("shuffle bytes before it compresses");
    const [letter, Kind] = known;
    const data = new Kind(numelOf(shape));
    const given: Record<string, unknown> = { data, shape: [...shape], dtype: letter };
    if (storage.chunks !== null) Object.assign(given, { chunks: [...storage.chunks], maxshape: storage.maxShape });
    if (storage.gzip !== null) Object.assign(given, { compression: "gzip", compression_opts: [storage.gzip] });
    this.#guarded(() => {
      const [group, name] = this.#parent(path);
      group.create_dataset({ name, ...given });
    });
  }

  readTexts(path: string, info: Hdf5Info): string[] {
    const value = this.#guarded(() => this.#entity(path).value);
    const list = (info.shape.length === 0 ? [value] : (value as unknown[]).flat(info.shape.length)) as unknown[];
    if (!list.every((text) => typeof text === "string")) throw new FormatError(`${path} gave no texts`, this.path);
    return list;
  }
  createTexts(path: string, shape: readonly number[], texts: readonly string[]): void {
    this.#guarded(() => {
      const [group, name] = this.#parent(path);
      group.create_dataset({ name, data: shape.length === 0 ? texts[0] : [...texts], shape: [...shape], dtype: "S" });
    });
  }
  readBytes(path: string, _info: Hdf5Info, address: number, nbytes: number): void {
    if (nbytes > MOST_BYTES) throw cannot(`read ${nbytes} bytes at once`);
    const { module } = this;
    const set = this.#entity(path);
    const { size, total_size: count } = set.metadata;
    if (size * (count ?? 0) !== nbytes) throw new FormatError(`${path} does not have ${nbytes} bytes`, this.path);
    const at = module._malloc(nbytes);
    if (at === 0) throw cannot(`read ${nbytes} bytes at once`);
    try {
      this.#guarded(() => module.get_dataset_data(set.file_id, set.path, null, null, null, BigInt(at)));
      const bytes = module.HEAPU8.slice(at, at + nbytes);
      copyBytes(address, addressOf(bytes), nbytes);
    } finally {
      module._free(at);
    }
  }
  readValues(path: string, info: Hdf5Info): unknown[] {
    const set = this.#entity(path);
    const value = this.#guarded(() => set.value);
    const lists = info.shape.length === 0 ? [value] : (value as unknown[]);
    const isList = (one: unknown) => ArrayBuffer.isView(one) || Array.isArray(one);
    if (!Array.isArray(lists) || lists.length !== numelOf(info.shape) || !lists.every(isList)) {
      throw new FormatError(`${path} gave no lists`, this.path);
    }
    const isFloat = set.metadata.vlen_type?.type === FLOAT;
    return lists.map((list) => Array.from(list as Iterable<number | bigint>, (n) => valueOf(n, isFloat)));
  }
  createBytes(): never {
    throw cannot("write values of other types");
  }
  createOpaque(): never {
    throw cannot("write values other than texts");
  }

  attribute(path: string, name: string): number[] | null {
    return this.#guarded(() => {
      const value = this.#entity(path).attrs[name]?.value;
      if (typeof value === "number" || typeof value === "bigint") return [Number(value)];
      return ArrayBuffer.isView(value) ? Array.from(value as Int32Array, Number) : null;
    });
  }
  setAttribute(path: string, name: string, value: Hdf5Attribute): void {
    const set = this.#entity(path);
    this.#guarded(() => {
      if (typeof value === "boolean") set.create_attribute(name, new Uint8Array([value ? 1 : 0]), [], "<B");
      else set.create_attribute(name, BigInt64Array.from(value, BigInt), [value.length], "<q");
    });
  }

  createGroup(path: string): void {
    this.#guarded(() => {
      const [group, name] = this.#parent(path);
      group.create_group(name);
    });
  }
  requireRemoval(): void {
    throw cannot("delete, replace or move entries");
  }
  remove(): never {
    throw cannot("delete entries");
  }
  move(): never {
    throw cannot("move entries");
  }
  extend(path: string, shape: readonly number[]): void {
    this.#guarded(() => this.#entity(path).resize([...shape]));
    this.#changed();
  }
  flush(): void {
    this.#guarded(() => this.file.flush());
  }
  close(): void {
    closeSync(this.descriptor);
    if (this.#guarded(() => this.file.close()) < 0) throw new FormatError("the file could not be closed", this.path);
  }
}

/** The engine that calls the package. */
export class WasmEngine implements Hdf5Engine {
  readonly name = "h5wasm";
  private constructor(
    private readonly made: Package,
    private readonly module: Module,
  ) {}

  /** Waits until the package is ready; loads it when it is not given. Null where it is not installed. */
  static async load(given: object | null): Promise<WasmEngine | null> {
    // A variable: the package is no dependency that bundlers should look for.
    const name: string = "h5wasm/node";
    let found = given as Package | null;
    try {
      found ??= (await import(name)) as Package;
    } catch {
      return null;
    }
    // Errors are thrown, not printed.
    const module = await found.ready;
    module.activate_throwing_error_handler?.();
    return new WasmEngine(found, module);
  }

  open(path: string, mode: Hdf5Mode): Hdf5Handle {
    const full = systemPath(path);
    const exists = existsSync(full);
    if ((mode === "x" || mode === "w-") && exists) throw systemError(17, full);
    if (mode === "r" || mode === "r+" || exists) {
      if (!guarded(full, () => statSync(full)).isFile()) throw new FormatError("not a regular file", full);
    }
    const how = mode === "r" ? "r" : mode === "r+" || (mode === "a" && exists) ? "a" : "w";
    try {
      const file = new this.made.File(full, how);
      if ((file as typeof file & { file_id: bigint }).file_id < 0n) throw new Error("unable to open file");
      return new WasmHandle(full, file, this.module);
    } catch (error) {
      throw new FormatError(error instanceof Error ? error.message : String(error), full, error);
    }
  }
}

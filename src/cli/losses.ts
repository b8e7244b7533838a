// What a format has no room for: found before anything is written, and left out where the user agrees.
import { keyProblem } from "../io/base/keys.ts";
import { isPlainObject, isPythonJson } from "../io/base/python-json.ts";
import { attributesOf } from "../io/base/python-origin.ts";
import { LOST_KEYS } from "../io/memmap/memmap-meta.ts";
import { textShape } from "../io/numpy/npy-other.ts";
import { safetensorsCode } from "../io/safetensors/safetensors-header.ts";
import { escapeComponent } from "../io/snapshot/snapshot-manifest.ts";
import { entryNameProblem } from "../io/zip/zip-directory.ts";
import { Float } from "../tensor/complex.ts";
import { SCALAR_SIZE, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { NestedTensor } from "../tensordict/core/nested.ts";
import {
  entriesOf,
  isLazy,
  isNested,
  type LazyTd,
  make,
  type NewState,
  stateOf,
  type Td,
  type ValueTd,
} from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { CliError } from "./errors.ts";
import { aFormat, type FormatName } from "./formats.ts";
import { nameText } from "./text.ts";
import { canHold, unknownIn } from "./unknown-entries.ts";

/** Separates levels in the flat names of model files. */
export const SEPARATOR = ".";
/** The entry that keeps the strings of a model file's header. */
export const METADATA = "__metadata__";
/** The name of a tensor that is alone in a file without names. */
export const ALONE = "tensor";
/** Longest name of a file, in bytes. */
const MAX_NAME_BYTES = 255;
/** Names that one line tells. */
const NAMES_TOLD = 8;
/** Keys that the JSON of a consolidated file uses itself. */
const CONSOLIDATED_KEYS = new Set(["cls", "non_tensors", "leaves", "cls_metadata"]);
const SNAPSHOT_DTYPES = new Set(
  "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128".split(" "),
);

type Path = readonly string[];

/** What fits into a format. */
export interface Fitted {
  /** The collection without what is lost. */
  td: Td;
  /** One line for each kind of thing that is lost. */
  lost: string[];
  /** Entries that the format has no place for itself. */
  homeless: ReadonlySet<Entry>;
  /** Names that are read as other levels than they come from. */
  renamed: boolean;
}

function nameOf(path: Path): string {
  return path.length === 0 ? "(all)" : path.join(SEPARATOR);
}

/** True where reading flat names gives the paths that they were made of. */
function flatIsExact(paths: readonly Path[]): boolean {
  const names = new Set(paths.map(nameOf));
  if (names.size !== paths.length) return false;
  if (standsBeside(names)) return paths.every((path) => path.length === 1);
  return paths.every((path) => path.every((part) => !part.includes(SEPARATOR)));
}

/** A name such as "a" that stands beside "a.b", if there is one. */
function nameBeside(names: ReadonlySet<string>): string | null {
  for (const name of names) {
    for (let at = name.indexOf(SEPARATOR); at >= 0; at = name.indexOf(SEPARATOR, at + 1)) {
      if (names.has(name.slice(0, at))) return name.slice(0, at);
    }
  }
  return null;
}

/** True when a name such as "a" stands beside "a.b": then names cannot be taken apart into levels. */
export function standsBeside(names: ReadonlySet<string>): boolean {
  return nameBeside(names) !== null;
}

/** Paths of everything that has a name in a flat file; null when there is more than tensors by name. */
function plainPaths(td: Td, path: Path = [], found: Path[] = []): Path[] | null {
  if (td._kind !== "tensordict" || td._batchSize.length > 0) return null;
  const keys = [...td._keys()];
  if (keys.length === 0 && path.length > 0) return null;
  for (const key of keys) {
    const entry = td._own(key);
    const inner = [...path, key];
    if (entry instanceof Tensor) found.push(inner);
    else if (unknownIn(entry) !== null) found.push(inner);
    else if (path.length === 0 && key === METADATA && hasStrings(entry)) continue;
    else if (plainPaths(entry as Td, inner, found) === null) return null;
  }
  return found;
}

function hasStrings(entry: unknown): boolean {
  const value = isNonTensor(entry) ? (entry as { data?: unknown }).data : null;
  if (!isPlainObject(value) || Object.hasOwn(value, "tensordict")) return false;
  return Object.values(value).every((item) => typeof item === "string");
}

/** True when more than flat names, tensors and the strings of a header has to be kept. */
export function isStructured(td: Td): boolean {
  const paths = plainPaths(td);
  return paths === null || !flatIsExact(paths);
}

/** Values that JSON keeps exactly. */
function isExactJson(value: unknown): boolean {
  if (Array.isArray(value)) return value.every(isExactJson);
  if (isPlainObject(value)) return Object.values(value).every(isExactJson);
  if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0);
  return value === null || typeof value === "string" || typeof value === "boolean";
}

/** Values that an HDF5 file keeps: texts, or booleans or numbers of one kind, and lists of these. */
function fitsHdf5(value: unknown): boolean {
  const values: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (values.every((item) => typeof item === "string")) {
    return (values as string[]).every((text) => !text.includes("\0") && text.isWellFormed());
  }
  if (values.every((item) => typeof item === "boolean")) return true;
  const whole = (item: unknown) => typeof item === "bigint" || Number.isSafeInteger(item);
  if (values.every(whole)) {
    return (values as (bigint | number)[]).every((item) => BigInt.asIntN(64, BigInt(item)) === BigInt(item));
  }
  return values.every((item) => item instanceof Float || (typeof item === "number" && !whole(item)));
}

function hdf5KeyProblem(key: string): string | null {
  if (key === "" || key === ".") return "no name in an HDF5 file";
  return /[/\0]/.test(key) ? "it has a slash or a NUL" : null;
}

class Fitting {
  private readonly lost = new Map<string, Set<string>>();
  private readonly refused = new Map<string, Set<string>>();
  private readonly paths: Path[] = [];
  private readonly homeless = new Set<Entry>();
  private renamed = false;
  /** Flat names instead of levels. */
  private readonly flat: boolean;
  /** Batch sizes, names, classes and stacks are kept. */
  private readonly structured: boolean;

  /** @param described a structure beside the collection keeps what the format has no place for */
  constructor(
    private readonly format: FormatName,
    private readonly described: boolean,
  ) {
    this.flat = format === "npz" || format === "npy" || format === "torchsnapshot";
    this.structured = !this.flat && format !== "hdf5";
  }

  private lose(what: string, path: Path | string): void {
    note(this.lost, what, typeof path === "string" ? path : nameOf(path));
  }

  private refuse(what: string, path: Path): void {
    note(this.refused, what, nameOf(path));
  }

  /** The collection as the format can hold it. */
  private level(td: Td, path: Path): Td {
    if (isLazy(td)) return this.lazy(td, path);
    const entries = new Map<string, Entry>();
    for (const [key, entry] of entriesOf(td)) {
      const inner = [...path, key];
      this.key(key, entry, inner, td._names !== null);
      const kept = isNested(entry)
        ? this.nestedTensor(entry, inner)
        : entry instanceof Tensor
          ? this.tensor(entry, inner)
          : this.entry(entry as Td, inner);
      if (kept !== null) entries.set(key, kept);
    }
    if (entries.size === 0 && path.length > 0 && this.flat) {
      if (this.described) this.renamed = true;
      else this.lose("empty TensorDicts", path);
    }
    const isClass = td._kind === "tensorclass";
    const losesClass = isClass && (!this.structured || (this.format === "consolidated" && path.length === 0));
    if (losesClass) this.lose("the classes of tensorclasses", path);
    if (this.structured) {
      return isClass && !losesClass ? td._like(entries, stateOf(td)) : make.tensordict(entries, stateOf(td));
    }
    if (td._batchSize.length > 0) this.lose("batch sizes", `${nameOf(path)} [${td._batchSize.join(", ")}]`);
    if (td._names?.some((name) => name !== null)) {
      this.lose("names of dimensions", `${nameOf(path)} [${td._names.map((name) => name ?? "None").join(", ")}]`);
    }
    return make.tensordict(entries, NO_STATE);
  }

  private lazy(stack: LazyTd, path: Path): Td {
    if (this.format === "safetensors" && !isEven(stack.members)) {
      this.refuse("lazy stacks whose members differ cannot be written", path);
    }
    // Members are numbered, so that ragged stacks can be kept and nothing is stacked in memory.
    let named = this.paths.length;
    const fitted = stack.members.map((member, i) => {
      const made = this.level(member, this.structured ? path : [...path, String(i)]);
      // Members that stay a stack have one name together.
      if (i === 0) named = this.paths.length;
      else if (this.structured) this.paths.length = named;
      return made;
    });
    if (this.structured) return make.lazy(fitted, stack.stackDim, stack.stackDimName);
    this.lose("lazy stacks (members become 0, 1, ...)", path);
    return make.tensordict(new Map(fitted.map((member, i) => [String(i), member])), NO_STATE);
  }

  private nestedTensor(entry: NestedTensor, path: Path): NestedTensor {
    this.paths.push(path);
    if (this.format !== "memmap" && this.format !== "tdz") this.refuse("nested tensors cannot be written", path);
    if (entry.length === 0) this.refuse("nested tensors without components cannot be written", path);
    return entry;
  }

  private tensor(tensor: Tensor, path: Path): Tensor {
    const { dtype } = tensor;
    this.paths.push(path);
    if (tensor.isMeta && this.format !== "pt") this.refuse("tensors without bytes (meta) cannot be written", path);
    const noDtype =
      this.format === "safetensors"
        ? safetensorsCode(dtype) === undefined
        : this.format === "torchsnapshot"
          ? !SNAPSHOT_DTYPES.has(dtype.name)
          : ["npz", "npy", "hdf5"].includes(this.format) && /^(bfloat16|float8)/.test(dtype.name);
    if (this.format !== "pt" && attributesOf(tensor) !== undefined) {
      this.lose("attributes that a program set on tensors", path);
    }
    if (noDtype) this.refuse(`the format has no dtype for ${dtype.name}`, path);
    if (!tensor.requiresGrad || this.format === "pt") return tensor;
    this.lose("requires_grad", path);
    return tensor.detach();
  }

  private entry(td: Td, path: Path): Td | null {
    if (!isNonTensor(td)) return this.level(td, path);
    const unknown = unknownIn(td);
    if (unknown !== null) {
      if (!canHold(this.format, unknown)) {
        this.lose("elements that no tensor has", `${nameOf(path)} (${unknown.dtype})`);
        return null;
      }
      this.paths.push(path);
      return td;
    }
    if (this.keeps(td, path)) {
      if (td._className === "MetaData" && !["memmap", "tdz", "pt"].includes(this.format)) {
        this.lose("MetaData (becomes NonTensorData)", path);
      }
      if (!(this.isHeader(td, path) && this.format !== "hdf5")) this.paths.push(path);
      return td;
    }
    if (this.described) {
      this.homeless.add(td);
      return td;
    }
    this.lose("values that are no tensors", path);
    return null;
  }

  private isHeader(td: Td, path: Path): boolean {
    return path.length === 1 && path[0] === METADATA && td._kind === "nonTensor";
  }

  private keeps(td: ValueTd, path: Path): boolean {
    if (td._kind === "nonTensorStack") {
      if (this.format === "hdf5") return fitsHdf5(td._raws ?? td.values_);
      const single = ["safetensors", "npz", "npy", "torchsnapshot"].includes(this.format);
      return !single && td.values_.every((value) => isPythonJson(value));
    }
    const { data, _raw } = td;
    const isObject = isPlainObject(data) && isExactJson(data);
    switch (this.format) {
      case "npz":
        return this.isHeader(td, path) ? isObject : !this.described && textShape(data) !== null;
      case "npy":
        return false;
      case "hdf5":
        return this.isHeader(td, path) ? isObject : fitsHdf5(_raw ?? data);
      case "torchsnapshot":
        return isExactJson(data) || typeof data === "bigint";
      default:
        return isPythonJson(data);
    }
  }

  private key(key: string, entry: Entry, path: Path, named: boolean): void {
    const isTensor = entry instanceof Tensor || isNested(entry);
    const problem = ((): string | null => {
      switch (this.format) {
        case "memmap":
        case "tdz":
          if (LOST_KEYS.has(key) || (key === "_names" && named)) return "meta.json uses this name itself";
          return keyProblem(key, isTensor ? ".memmap" : "");
        case "consolidated":
          return !isTensor && !isNonTensor(entry) && CONSOLIDATED_KEYS.has(key)
            ? "the file's structure uses this name itself"
            : null;
        case "hdf5":
          return hdf5KeyProblem(key);
        case "npz":
          return isTensor && path.length === 1 && key === METADATA ? "the strings of a header have this name" : null;
        case "safetensors":
          return isTensor && path.length === 1 && key === METADATA ? "the strings of the header have this name" : null;
        default:
          return null;
      }
    })();
    if (problem !== null) this.refuse(`keys that the format cannot have: ${problem}`, path);
  }

  private fileProblem(name: string): string | null {
    if (this.format !== "torchsnapshot") return null;
    const file = escapeComponent(name);
    if (["", ".", ".."].includes(file) || file.includes("\0")) return "is no file name";
    return Buffer.byteLength(file) > MAX_NAME_BYTES ? `takes more than ${MAX_NAME_BYTES} bytes` : null;
  }

  /** A file of one array has no names. */
  private checkAlone(): void {
    const [path = [], ...others] = this.paths;
    if (this.paths.length === 0) this.refuse("it holds one tensor, and here is none", path);
    for (const other of others) this.refuse(`it holds one tensor, and others stand beside ${nameOf(path)}`, other);
    if (nameOf(path) !== ALONE) this.lose(`the name of the tensor (it becomes ${ALONE})`, path);
  }

  /** Names that were joined: whether they can be told apart, and taken apart again. */
  private checkNames(): void {
    const joined = this.flat || this.format === "safetensors";
    if (!joined) return;
    const seen = new Set<string>();
    for (const path of this.paths) {
      const name = nameOf(path);
      if (seen.has(name)) this.refuse("several entries have the same joined name", path);
      seen.add(name);
      const problem = this.format === "npz" ? entryNameProblem(`${name}.npy`) : this.fileProblem(name);
      if (problem !== null) this.refuse(`names that its files cannot have: one ${problem}`, path);
    }
    if (!this.flat || flatIsExact(this.paths)) return;
    this.renamed = true;
    if (this.described) return;
    const beside = nameBeside(seen);
    if (beside !== null) this.lose("levels: a name stands beside others that begin with it", beside);
    for (const path of this.paths) {
      const dotted = path.find((part) => part.includes(SEPARATOR));
      if (dotted !== undefined) this.lose("keys with dots (they are read as levels)", path);
    }
  }

  private finish(td: Td, fitted: Td): Fitted {
    if (this.format === "npy") this.checkAlone();
    else this.checkNames();
    if (this.refused.size > 0) {
      const lines = listed(this.refused);
      throw new CliError(`${aFormat(this.format)} cannot be made of this:\n${lines.join("\n")}`);
    }
    const { homeless, renamed } = this;
    return { td: this.lost.size === 0 ? td : fitted, lost: listed(this.lost), homeless, renamed };
  }

  run(td: Td): Fitted {
    if (isNonTensor(td)) {
      const alone = this.format === "memmap" || this.format === "tdz" || this.format === "pt";
      if (!alone) throw new CliError(`${aFormat(this.format)} cannot hold a value that is no tensor by itself.`);
      return { td, lost: [], homeless: this.homeless, renamed: false };
    }
    return this.finish(td, this.level(td, []));
  }
}

const NO_STATE: NewState = { batchSize: SCALAR_SIZE, device: null, names: null };

function note(found: Map<string, Set<string>>, what: string, name: string): void {
  const names = found.get(what) ?? new Set();
  found.set(what, names.add(name));
}

function listed(found: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  return [...found].map(([what, names]) => {
    // Names come from files: what controls a terminal is escaped.
    const shown = [...names].slice(0, NAMES_TOLD).map(nameText);
    const told = shown.join("; ");
    const more = names.size > NAMES_TOLD ? `; and ${names.size - NAMES_TOLD} more` : "";
    return `  ${what}: ${told}${more}`;
  });
}

/** One line for the objects of Python's classes that only a .pt file holds; none where there are none. */
export function objectLosses(names: Iterable<string>): string[] {
  const found = new Set(names);
  return listed(new Map(found.size === 0 ? [] : [["objects of Python's classes (texts or tensors remain)", found]]));
}

function isEven(members: readonly Td[]): boolean {
  const [first, ...rest] = members as [Td, ...Td[]];
  const keys = [...first._keys()];
  return rest.every((member) => {
    if (member._kind !== first._kind || [...member._keys()].length !== keys.length) return false;
    return keys.every((key) => {
      const [a, b] = [first._own(key), member._own(key)];
      if (a instanceof Tensor || b instanceof Tensor) {
        return a instanceof Tensor && b instanceof Tensor && a.dtype === b.dtype && sameSizes(a._shape, b._shape);
      }
      return a !== undefined && b !== undefined && !isNonTensor(a) && !isNonTensor(b) && isEven([a as Td, b as Td]);
    });
  });
}

/**
 * What of a collection fits into a format, and what would be lost. Tensors are never left out: throws `CliError` with a
 * list where some cannot be written.
 * @param described a structure can keep what the format has no place for: such entries are not lost, but told
 */
export function fitTo(td: Td, format: FormatName, described = false): Fitted {
  return new Fitting(format, described).run(td);
}

// The model of a `meta.json`: what one directory of a saved TensorDict says about itself and its entries.
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { FormatError } from "../base/errors.ts";
import {
  type PythonJson,
  type PythonJsonObject,
  parsePythonJsonObject,
  pythonJsonStringify,
} from "../base/python-json.ts";

/** Newest format that is read and the one that is written. */
const FORMAT_VERSION = 1;

/** A tensor of a directory. */
export interface LeafMeta {
  kind: "leaf";
  dtype: DType;
  shape: readonly number[];
  device: string;
  /** True for a list of tensors of different shapes, stored one after the other. */
  isNested: boolean;
}

/** A tensor that was found in a file: its size is a number that can be computed with. */
export interface FoundLeaf extends LeafMeta {
  /** Bytes of its elements. */
  nbytes: number;
}

/** An entry that is a directory of its own. */
export interface CollectionMeta {
  kind: "collection";
  /** Python's class name: TensorDict, LazyStackedTensorDict, NonTensorData, ... */
  type: string;
}

/** What `meta.json` of a plain TensorDict holds. */
export interface LevelMeta<Leaf extends LeafMeta = LeafMeta> {
  entries: Map<string, Leaf | CollectionMeta>;
  batchSize: readonly number[];
  device: string | null;
  names: readonly (string | null)[] | null;
}

/** Any directory's `meta.json`, by what it describes. */
export type DirectoryMeta =
  | ({ kind: "tensordict"; className: string } & LevelMeta<FoundLeaf>)
  | { kind: "lazy"; stackDim: number; stackDimName: string | null }
  | { kind: "tensorclass"; className: string; qualified: string; extras: PythonJsonObject }
  | { kind: "nonTensor"; className: "NonTensorData" | "MetaData"; hasData: boolean; data: PythonJson }
  | { kind: "nonTensorStack"; data: PythonJson; stackDim: number; device: string | null };

const TENSORDICT_TYPE = "<class 'tensordict._td.TensorDict'>";
const LAZY_TYPE = "<class 'tensordict._lazy.LazyStackedTensorDict'>";
const METADATA_KEYS = new Set(["shape", "device", "_type", "_class", "_format_version", "_names"]);
/** Keys that `meta.json` uses for itself: an entry of that name would be lost without a word. */
export const LOST_KEYS: ReadonlySet<string> = new Set(["shape", "device", "_type"]);
/** Longest `meta.json`. */
export const MAX_META_BYTES = 256 * 1024 * 1024;

function isSizes(value: unknown): value is number[] {
  if (!Array.isArray(value) || value.length > 64) return false;
  for (const n of value) if (typeof n !== "number" || !Number.isSafeInteger(n) || n < 0) return false;
  return true;
}

function badEntry(key: string, what: string, path: string): FormatError {
  return new FormatError(`entry ${JSON.stringify(key)}: ${what}`, path);
}

function readLeaf(key: string, value: PythonJsonObject, path: string): FoundLeaf {
  const name = value.get("dtype");
  const dtype = typeof name === "string" && name.startsWith("torch.") ? dtypeByName(name) : undefined;
  if (dtype === undefined)
    throw badEntry(key, `unsupported dtype ${name === undefined ? "undefined" : pythonJsonStringify(name)}`, path);
  const shape = value.get("shape");
  if (!isSizes(shape)) throw badEntry(key, "its shape is not a list of at most 64 sizes", path);
  let nbytes = dtype.itemsize;
  for (const n of shape) nbytes *= n;
  if (!Number.isSafeInteger(nbytes)) throw badEntry(key, `shape [${shape.join(", ")}] is too large`, path);
  const device = value.get("device") ?? "cpu";
  if (typeof device !== "string") throw badEntry(key, "its device is not a string", path);
  return { kind: "leaf", dtype, shape, nbytes, device, isNested: value.get("is_nested") === true };
}

function readNames(value: PythonJson | undefined, rank: number, path: string): (string | null)[] | null {
  if (value === undefined || value === null) return null;
  const valid = Array.isArray(value) && value.length === rank;
  if (!valid || !value.every((name) => name === null || typeof name === "string")) {
    throw new FormatError("_names is not a list of one name or null per batch dimension", path);
  }
  return value as (string | null)[];
}

function readDevice(value: PythonJson | undefined, path: string): string | null {
  if (value === undefined || value === null || value === "None") return null;
  if (typeof value !== "string") throw new FormatError("device is not a string", path);
  return value;
}

function readLevel(root: PythonJsonObject, path: string): LevelMeta<FoundLeaf> {
  const entries: LevelMeta<FoundLeaf>["entries"] = new Map();
  for (const [key, value] of root) {
    if (!(value instanceof Map)) {
      if (METADATA_KEYS.has(key)) continue;
      throw new FormatError(`entry ${JSON.stringify(key)} is neither a tensor nor a directory`, path);
    }
    const type = value.get("type");
    if (typeof type === "string") entries.set(key, { kind: "collection", type });
    else entries.set(key, readLeaf(key, value, path));
  }
  const batchSize = root.get("shape");
  if (!isSizes(batchSize)) throw new FormatError("it has no batch size (shape)", path);
  const names = root.get("_names");
  return {
    entries,
    batchSize,
    device: readDevice(root.get("device"), path),
    names: readNames(names instanceof Map ? undefined : names, batchSize.length, path),
  };
}

/** `a.b.Point` of a Python class text such as `<class 'a.b.Point'>`. */
function qualifiedNameOf(type: string): string {
  if (type === TENSORDICT_TYPE) return "tensordict._td.TensorDict";
  return /^<class '([^']+)'>$/.exec(type)?.[1] ?? type;
}

function lastPart(qualified: string): string {
  return qualified.slice(qualified.lastIndexOf(".") + 1);
}

function checkVersion(root: PythonJsonObject, path: string): void {
  const version = root.get("_format_version");
  if (version === undefined || version instanceof Map) return;
  if (typeof version === "number" && Number.isInteger(version) && version <= FORMAT_VERSION) return;
  throw new FormatError(
    `was saved in the format version ${String(version)}, but this version of zensor reads the format versions ` +
      `up to ${FORMAT_VERSION}. Upgrade zensor to load it.`,
    path,
  );
}

function stackDimOf(root: PythonJsonObject, path: string): number {
  const dim = root.get("stack_dim");
  if (typeof dim !== "number" || !Number.isInteger(dim) || Math.abs(dim) > 64) {
    throw new FormatError("stack_dim is not a dimension", path);
  }
  return dim;
}

/** Longest text that is remembered, in bytes, and how many such texts are. */
const REMEMBERED_BYTES = 8192;
const REMEMBERED_TEXTS = 512;
const remembered = new Map<number, { bytes: Uint8Array; meta: DirectoryMeta }>();

/**
 * Parses and checks a `meta.json`. The layers of a model have the same text, letter for letter, so the levels read last
 * are remembered; what is returned must not be changed.
 */
export function readMeta(bytes: Uint8Array, path: string): DirectoryMeta {
  if (bytes.length > REMEMBERED_BYTES) return parseMeta(bytes, path);
  const hash = Bun.hash.crc32(bytes);
  const known = remembered.get(hash);
  if (known !== undefined && Buffer.compare(known.bytes, bytes) === 0) return known.meta;
  const meta = parseMeta(bytes, path);
  // Values may be changed by whoever gets them.
  if (meta.kind !== "tensordict" && meta.kind !== "lazy") return meta;
  if (remembered.size === REMEMBERED_TEXTS) remembered.clear();
  remembered.set(hash, { bytes: bytes.slice(), meta });
  return meta;
}

function parseMeta(bytes: Uint8Array, path: string): DirectoryMeta {
  const root = ((): PythonJsonObject => {
    try {
      return parsePythonJsonObject(bytes, { maxLength: MAX_META_BYTES });
    } catch (error) {
      throw new FormatError((error as Error).message, path, error);
    }
  })();
  checkVersion(root, path);
  const type = root.get("_type");
  if (typeof type !== "string") throw new FormatError("_type is missing or no string", path);
  const qualified = qualifiedNameOf(type);
  const className = lastPart(qualified);
  if (root.get("_is_non_tensor") === true && className !== "NonTensorStack") {
    const kind = className === "MetaData" ? "MetaData" : "NonTensorData";
    return { kind: "nonTensor", className: kind, hasData: root.has("data"), data: root.get("data") ?? null };
  }
  switch (className) {
    case "LazyStackedTensorDict": {
      const name = root.get("stack_dim_name") ?? null;
      if (name !== null && typeof name !== "string") throw new FormatError("stack_dim_name is no string", path);
      return { kind: "lazy", stackDim: stackDimOf(root, path), stackDimName: name };
    }
    case "NonTensorStack":
      if (!root.has("data")) throw new FormatError("a NonTensorStack without data", path);
      return {
        kind: "nonTensorStack",
        data: root.get("data") as PythonJson,
        stackDim: stackDimOf(root, path),
        device: readDevice(root.get("device"), path),
      };
    default:
      if (root.has("shape") || className === "TensorDict")
        return { kind: "tensordict", className, ...readLevel(root, path) };
      root.delete("_type");
      return { kind: "tensorclass", className, qualified, extras: root };
  }
}

function leafJson(leaf: LeafMeta): PythonJsonObject {
  return new Map<string, PythonJson>([
    ["device", leaf.device],
    ["shape", leaf.shape],
    ["dtype", String(leaf.dtype)],
    ["is_nested", leaf.isNested],
  ]);
}

/** `meta.json` of a TensorDict. `late` entries were added after the directory was first saved and go to the end. */
export function levelText(level: LevelMeta, late: ReadonlySet<string> = new Set()): string {
  const root: PythonJsonObject = new Map();
  const put = (key: string, entry: LeafMeta | CollectionMeta) => {
    root.set(key, entry.kind === "leaf" ? leafJson(entry) : new Map([["type", entry.type]]));
  };
  for (const [key, entry] of level.entries) if (!late.has(key)) put(key, entry);
  root.set("shape", level.batchSize);
  root.set("device", level.device ?? "cpu");
  root.set("_type", TENSORDICT_TYPE);
  if (!root.has("_format_version")) root.set("_format_version", FORMAT_VERSION);
  if (!root.has("_class")) root.set("_class", "tensordict:TensorDict");
  if (level.names?.some((name) => name !== null) && !root.has("_names")) root.set("_names", level.names);
  for (const [key, entry] of level.entries) if (late.has(key)) put(key, entry);
  return pythonJsonStringify(root);
}

/** `meta.json` of a lazy stack. */
export function lazyText(stackDim: number, stackDimName: string | null): string {
  return pythonJsonStringify({
    _type: LAZY_TYPE,
    _format_version: FORMAT_VERSION,
    _class: "tensordict:LazyStackedTensorDict",
    stack_dim: stackDim,
    stack_dim_name: stackDimName,
  });
}

/** `meta.json` of a tensorclass; `qualified` is Python's module and class name. */
export function tensorclassText(qualified: string, extras: PythonJsonObject): string {
  return pythonJsonStringify(new Map<string, PythonJson>([["_type", `<class '${qualified}'>`], ...extras]));
}

/** `meta.json` of one value that is no tensor; without `data` when the value lives in a pickle beside it. */
export function nonTensorText(className: "NonTensorData" | "MetaData", data: PythonJson | undefined): string {
  const root: PythonJsonObject = new Map();
  root.set("_type", `<class 'tensordict.tensorclass.${className}'>`);
  if (data !== undefined) root.set("data", data);
  root.set("_metadata", null);
  root.set("_is_non_tensor", true);
  return pythonJsonStringify(root);
}

/** `meta.json` of a stack of values. */
export function nonTensorStackText(data: PythonJson, stackDim: number, device: string | null): string {
  const root = {
    _type: "<class 'tensordict.tensorclass.NonTensorStack'>",
    _format_version: FORMAT_VERSION,
    _class: "tensordict:NonTensorStack",
    stack_dim: stackDim,
    device,
    data,
  };
  return pythonJsonStringify(root, { compact: true });
}

// The manifest of a torchsnapshot directory: which values it holds and where their bytes are.
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { sameSizes } from "../../tensor/size.ts";
import { FormatError } from "../base/errors.ts";
import {
  type PythonJson,
  type PythonJsonObject,
  parsePythonJsonObject,
  pythonFloatRepr,
  pythonJsonString,
} from "../base/python-json.ts";

/** Name of the file that is written last: a directory without it is no complete snapshot. */
export const METADATA_FILE = ".snapshot_metadata";
/** How torchsnapshot calls bytes that are written as they are. */
const PLAIN_SERIALIZER = "buffer_protocol";

/** A run of bytes in a file of the snapshot. */
export interface TensorEntry {
  type: "Tensor";
  /** The file, below the snapshot's directory. */
  location: string;
  dtype: DType;
  shape: readonly number[];
  /** First byte and the one after the last; null for the whole file. */
  byteRange: readonly [number, number] | null;
  replicated: boolean;
}

/** A box of a tensor, and where its bytes are. */
export interface Piece {
  offsets: readonly number[];
  sizes: readonly number[];
  tensor: TensorEntry;
}

/** A tensor in several pieces. */
export interface ChunkedEntry {
  type: "ChunkedTensor";
  dtype: DType;
  shape: readonly number[];
  chunks: Piece[];
  replicated: boolean;
}

/** The pieces of a tensor that one process held; the others are in the entries of the other ranks. */
export interface ShardedEntry {
  type: "ShardedTensor" | "DTensor";
  shards: Piece[];
}

/** A value that was pickled into a file of its own. */
export interface ObjectEntry {
  type: "object";
  location: string;
  serializer: string;
  /** Python's class, such as "builtins.set", or the dtype of a tensor. */
  what: string;
  /** Of a tensor; null for any other value. */
  shape: readonly number[] | null;
  replicated: boolean;
}

/** Any entry of a manifest. */
export type ManifestEntry =
  | { type: "dict" | "OrderedDict"; keys: readonly (string | number)[] }
  | { type: "list" }
  | TensorEntry
  | ChunkedEntry
  | ShardedEntry
  | ObjectEntry
  | {
      type: "primitive";
      value: number | bigint | string | boolean | Uint8Array;
      float: boolean;
      replicated?: boolean;
    }
  | { type: "unsupported"; what: string };

/** Entries by path, in the order of the file. */
export type Manifest = Map<string, ManifestEntry>;

/** A manifest, and how many processes wrote it. */
export interface SnapshotMetadata {
  worldSize: number;
  manifest: Manifest;
}

function text(entry: PythonJsonObject, key: string, path: string): string {
  const value = entry.get(key);
  if (typeof value !== "string") throw new FormatError(`${key} of an entry is no string`, path);
  return value;
}

function sizes(value: PythonJson | undefined, what: string, path: string): number[] {
  const valid = Array.isArray(value) && value.length <= 64;
  if (!valid || !value.every((n) => typeof n === "number" && Number.isSafeInteger(n) && n >= 0)) {
    throw new FormatError(`${what} is no list of sizes`, path);
  }
  return value as number[];
}

/** Refuses locations that lead out of the snapshot. */
function checkLocation(location: string, path: string): string {
  const parts = location.split("/");
  // Elsewhere a backslash and a colon are characters like others: torchsnapshot makes files of keys that have them.
  const safe = !location.includes("\0") && (process.platform !== "win32" || !/[\\:]/.test(location));
  if (!safe || parts.some((part) => part === "" || part === "." || part === "..")) {
    throw new FormatError(`location ${JSON.stringify(location)} is not inside the snapshot`, path);
  }
  return location;
}

function dtypeOf(entry: PythonJsonObject, path: string): DType {
  const name = text(entry, "dtype", path);
  const dtype = name.startsWith("torch.") ? dtypeByName(name) : undefined;
  if (dtype === undefined) throw new FormatError(`unsupported dtype ${JSON.stringify(name)}`, path);
  return dtype;
}

function readTensor(entry: PythonJsonObject, path: string): TensorEntry {
  const range = entry.get("byte_range") ?? null;
  const byteRange = range === null ? null : sizes(range, "byte_range", path);
  if (byteRange !== null && (byteRange.length !== 2 || (byteRange[0] as number) > (byteRange[1] as number))) {
    throw new FormatError("byte_range is no pair of offsets", path);
  }
  return {
    type: "Tensor",
    location: checkLocation(text(entry, "location", path), path),
    dtype: dtypeOf(entry, path),
    shape: sizes(entry.get("shape"), "shape", path),
    byteRange: byteRange as [number, number] | null,
    replicated: entry.get("replicated") === true,
  };
}

function readPieces(value: PythonJson | undefined, path: string): Piece[] {
  if (!Array.isArray(value)) throw new FormatError("the pieces of a tensor are no list", path);
  return value.map((piece) => {
    const tensor = piece instanceof Map ? piece.get("tensor") : undefined;
    if (!(piece instanceof Map) || !(tensor instanceof Map)) throw new FormatError("a piece is no object", path);
    if (tensor.get("serializer") !== PLAIN_SERIALIZER) {
      throw new FormatError(`a piece is serialized by ${String(tensor.get("serializer"))}`, path);
    }
    const offsets = sizes(piece.get("offsets"), "offsets", path);
    const lengths = sizes(piece.get("sizes"), "sizes", path);
    const entry = readTensor(tensor, path);
    if (offsets.length !== lengths.length || !sameSizes(entry.shape, lengths)) {
      throw new FormatError("offsets, sizes and shape of a piece do not fit", path);
    }
    return { offsets, sizes: lengths, tensor: entry };
  });
}

function readChunked(entry: PythonJsonObject, path: string): ChunkedEntry {
  const shape = sizes(entry.get("shape"), "shape", path);
  const chunks = readPieces(entry.get("chunks"), path);
  for (const { offsets, sizes: lengths } of chunks) {
    const fits = offsets.every((n, i) => n + (lengths[i] as number) <= (shape[i] as number));
    if (offsets.length !== shape.length || !fits) throw new FormatError("a chunk lies outside of its tensor", path);
  }
  const replicated = entry.get("replicated") === true;
  return { type: "ChunkedTensor", dtype: dtypeOf(entry, path), shape, chunks, replicated };
}

function readObject(entry: PythonJsonObject, what: string, path: string): ObjectEntry {
  return {
    type: "object",
    location: checkLocation(text(entry, "location", path), path),
    serializer: text(entry, "serializer", path),
    what,
    shape: entry.get("type") === "Tensor" ? sizes(entry.get("shape"), "shape", path) : null,
    replicated: entry.get("replicated") === true,
  };
}

function readPrimitive(type: string, entry: PythonJsonObject, path: string): ManifestEntry {
  const replicated = entry.get("replicated") === true;
  const value = text(entry, "serialized_value", path);
  const bad = () => new FormatError(`${JSON.stringify(value)} is no ${type}`, path);
  switch (type) {
    case "str":
      return { type: "primitive", value, float: false, replicated };
    case "bool":
      if (value !== "True" && value !== "False") throw bad();
      return { type: "primitive", value: value === "True", float: false, replicated };
    case "int": {
      if (!/^-?\d{1,4300}$/.test(value)) throw bad();
      const small = Number(value);
      return {
        type: "primitive",
        value: Number.isSafeInteger(small) ? small : BigInt(value),
        float: false,
        replicated,
      };
    }
    case "float": {
      const bytes = Buffer.from(value, "base64");
      if (bytes.length !== 8) throw bad();
      return { type: "primitive", value: bytes.readDoubleLE(), float: true, replicated };
    }
    default:
      return { type: "primitive", value: new Uint8Array(Buffer.from(value, "base64")), float: false, replicated };
  }
}

function readEntry(value: PythonJson, path: string): ManifestEntry {
  if (!(value instanceof Map)) throw new FormatError("an entry is no object", path);
  const type = text(value, "type", path);
  switch (type) {
    case "dict":
    case "OrderedDict": {
      const keys = value.get("keys");
      const valid = Array.isArray(keys) && keys.every((key) => typeof key === "string" || Number.isSafeInteger(key));
      if (!valid) throw new FormatError("keys of a dict are no list", path);
      // Under one path there is one value, which has to be read once only.
      if (new Set(keys.map(String)).size < keys.length) throw new FormatError("a dict has a key twice", path);
      return { type, keys: keys as (string | number)[] };
    }
    case "list":
      return { type: "list" };
    case "Tensor":
      if (value.get("serializer") === PLAIN_SERIALIZER) return readTensor(value, path);
      return readObject(value, text(value, "dtype", path), path);
    case "ChunkedTensor":
      return readChunked(value, path);
    case "ShardedTensor":
    case "DTensor":
      return { type, shards: readPieces(value.get("shards"), path) };
    case "object":
      return readObject(value, text(value, "obj_type", path), path);
    case "int":
    case "str":
    case "bool":
    case "float":
    case "bytes":
      return readPrimitive(type, value, path);
    default:
      return { type: "unsupported", what: `a value of type ${type}` };
  }
}

/** What YAML has, as the reader of JSON gives it; what aliases of YAML's share is still shared. */
function asPythonJson(value: unknown, known = new Map<object, PythonJson>()): PythonJson {
  if (typeof value !== "object" || value === null) return value as PythonJson;
  const same = known.get(value);
  if (same !== undefined) return same;
  if (Array.isArray(value)) {
    const list: PythonJson[] = [];
    known.set(value, list);
    for (const item of value) list.push(asPythonJson(item, known));
    return list;
  }
  const object: PythonJsonObject = new Map();
  known.set(value, object);
  for (const [key, item] of Object.entries(value)) object.set(key, asPythonJson(item, known));
  return object;
}

const BRACE = 0x7b;
const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** The text of a manifest: JSON, or YAML as early versions of torchsnapshot wrote it. */
function parseManifest(bytes: Uint8Array, path: string): PythonJsonObject {
  const isJson = bytes.find((byte) => !isSpace(byte)) === BRACE;
  try {
    if (isJson) return parsePythonJsonObject(bytes);
    const root = asPythonJson(Bun.YAML.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)));
    if (root instanceof Map) return root;
  } catch (error) {
    throw new FormatError(`the manifest is not ${isJson ? "JSON" : "YAML"}: ${(error as Error).message}`, path, error);
  }
  throw new FormatError("the manifest is no mapping", path);
}

/** Parses and checks a manifest. Entries of kinds that cannot be read are kept as such: only using them is an error. */
export function readManifest(bytes: Uint8Array, path: string): SnapshotMetadata {
  const root = parseManifest(bytes, path);
  const entries = root.get("manifest");
  if (!(entries instanceof Map)) throw new FormatError("it has no manifest", path);
  const worldSize = root.get("world_size") ?? 1;
  if (typeof worldSize !== "number" || !Number.isSafeInteger(worldSize) || worldSize < 1) {
    throw new FormatError("world_size is no number of processes", path);
  }
  const manifest: Manifest = new Map();
  for (const [key, value] of entries) manifest.set(key, readEntry(value, `${path}: ${key}`));
  return { worldSize, manifest };
}

function tensorJson(entry: TensorEntry): PythonJson {
  return {
    type: "Tensor",
    location: entry.location,
    serializer: PLAIN_SERIALIZER,
    dtype: String(entry.dtype),
    shape: entry.shape,
    replicated: entry.replicated,
    byte_range: entry.byteRange,
  };
}

function objectJson({ location, serializer, what, shape, replicated }: ObjectEntry): PythonJson {
  if (shape === null) return { type: "object", location, serializer, obj_type: what, replicated };
  return { type: "Tensor", location, serializer, dtype: what, shape, replicated, byte_range: null };
}

function entryJson(entry: ManifestEntry): PythonJson {
  switch (entry.type) {
    case "dict":
    case "OrderedDict":
      return { type: entry.type, keys: entry.keys };
    case "list":
      return { type: "list" };
    case "Tensor":
      return tensorJson(entry);
    case "ChunkedTensor":
      return {
        type: "ChunkedTensor",
        dtype: String(entry.dtype),
        shape: entry.shape,
        chunks: entry.chunks.map(({ offsets, sizes, tensor }) => ({ offsets, sizes, tensor: tensorJson(tensor) })),
        replicated: entry.replicated,
      };
    case "object":
      return objectJson(entry);
    case "primitive":
      return primitiveJson(entry.value, entry.float);
    default:
      throw new FormatError(`${entry.type} entries are not written`);
  }
}

function primitiveJson(value: number | bigint | string | boolean | Uint8Array, float: boolean): PythonJson {
  const make = (type: string, serialized: string, readable: string | null = null): PythonJson => {
    return { type, serialized_value: serialized, replicated: false, readable };
  };
  if (typeof value === "string") return make("str", value);
  if (typeof value === "boolean") return make("bool", value ? "True" : "False");
  if (value instanceof Uint8Array) return make("bytes", Buffer.from(value).toString("base64"));
  if (!float) return make("int", String(value));
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleLE(Number(value));
  return make("float", bytes.toString("base64"), pythonFloatRepr(Number(value)));
}

const PAIR = /\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})/g;

/**
 * A text as JSON that is YAML as well, which torchsnapshot reads it as: characters beyond 16 bits are written as they
 * are. Python's two escapes for one are no YAML, so that it cannot read what it writes there.
 */
function quoted(text: string): string {
  return pythonJsonString(text).replace(PAIR, (found, high: string | undefined, low: string) =>
    high === undefined ? found : String.fromCharCode(Number.parseInt(high, 16), Number.parseInt(low, 16)),
  );
}

/** `json.dumps(value, indent=2)`. */
function pretty(value: PythonJson, depth: number): string {
  const pad = "  ".repeat(depth + 1);
  const end = `\n${"  ".repeat(depth)}`;
  if (Array.isArray(value)) {
    if (value.length === 0) return "[]";
    return `[\n${value.map((item) => pad + pretty(item as PythonJson, depth + 1)).join(",\n")}${end}]`;
  }
  if (typeof value === "object" && value !== null) {
    const pairs = value instanceof Map ? [...value] : Object.entries(value);
    if (pairs.length === 0) return "{}";
    const lines = pairs.map(([key, item]) => `${pad}${quoted(key)}: ${pretty(item as PythonJson, depth + 1)}`);
    return `{\n${lines.join(",\n")}${end}}`;
  }
  return typeof value === "string" ? quoted(value) : String(value);
}

/** The text of a manifest, as torchsnapshot writes it. */
export function manifestText(manifest: Manifest): string {
  const entries: PythonJsonObject = new Map([...manifest].map(([key, entry]) => [key, entryJson(entry)]));
  const root: PythonJsonObject = new Map<string, PythonJson>([
    ["version", "0.1.0"],
    ["world_size", 1],
    ["manifest", entries],
  ]);
  return pretty(root, 0);
}

/** Containers in one another that are read, and so that are written. */
export const MAX_DEPTH = 256;

/** One component of a path: only percent signs and slashes are escaped. */
export function escapeComponent(key: string): string {
  return key.replaceAll("%", "%25").replaceAll("/", "%2F");
}

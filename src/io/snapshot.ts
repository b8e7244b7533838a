// Snapshots: the state of several objects in one directory, in torchsnapshot's format. Tensors are read straight into
// the tensors that are there already, so that a state larger than memory can be restored into mapped tensors.
import { existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { addressOf } from "../ffi/library.ts";
import { copyBytes } from "../ffi/memory.ts";
import { Float, Int } from "../tensor/complex.ts";
import { KeyError } from "../tensor/errors.ts";
import { sameSizes } from "../tensor/size.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, Tensor } from "../tensor/tensor.ts";
import { FileNotFoundError, FormatError, guarded } from "./errors.ts";
import { FileJobs, JobFlag } from "./file-jobs.ts";
import { mapFile } from "./mapping.ts";
import { isPlainObject } from "./python-json.ts";
import {
  type ChunkedEntry,
  escapeComponent,
  type Manifest,
  type ManifestEntry,
  METADATA_FILE,
  manifestText,
  readManifest,
  type TensorEntry,
} from "./snapshot-manifest.ts";
import { nativeBytes } from "./tensor-bytes.ts";

/** An object whose state can be saved. @torch torchsnapshot.Stateful */
export interface Stateful {
  stateDict(): unknown;
  loadStateDict(state: never): unknown;
}

/** Values that are saved as they are. @torch torchsnapshot.StateDict */
export class StateDict implements Stateful {
  values: Record<string, unknown>;
  constructor(values: Record<string, unknown>) {
    this.values = { ...values };
  }
  stateDict(): Record<string, unknown> {
    return this.values;
  }
  loadStateDict(state: Record<string, unknown>): void {
    Object.assign(this.values, state);
  }
}

/** Objects by name. */
export type AppState = Readonly<Record<string, Stateful>>;

// Dtypes whose bytes torchsnapshot writes as they are.
const PLAIN_DTYPES = new Set("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split(" "));

class Writer {
  readonly containers: Manifest = new Map();
  readonly leaves: Manifest = new Map();
  readonly tensors: { location: string; tensor: Tensor }[] = [];
  private readonly open = new Set<object>();

  add(path: string, value: unknown): void {
    if (value instanceof Tensor) {
      this.tensor(path, value);
      return;
    }
    if (Array.isArray(value)) {
      const items = value.map((item, i): [string, unknown] => [String(i), item]);
      this.nested(path, value, { type: "list" }, items);
      return;
    }
    if (value instanceof Map || isPlainObject(value)) {
      const pairs: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
      const keys = pairs.map(([key]) => key);
      if (!keys.every((key) => typeof key === "string" || Number.isSafeInteger(key))) {
        throw new FormatError("keys of a saved Map are strings or integers", path);
      }
      const type = value instanceof Map ? "OrderedDict" : "dict";
      const items = pairs.map(([key, item]): [string, unknown] => [escapeComponent(String(key)), item]);
      this.nested(path, value as object, { type, keys: keys as (string | number)[] }, items);
      return;
    }
    this.leaves.set(path, this.primitive(path, value));
  }

  private nested(path: string, value: object, entry: ManifestEntry, items: [string, unknown][]): void {
    if (this.open.has(value)) throw new FormatError("a state that contains itself", path);
    this.open.add(value);
    this.containers.set(path, entry);
    for (const [key, item] of items) this.add(`${path}/${key}`, item);
    this.open.delete(value);
  }

  private primitive(path: string, value: unknown): ManifestEntry {
    if (value instanceof Float) return { type: "primitive", value: value.value, float: true };
    if (value instanceof Int) return { type: "primitive", value: value.value, float: false };
    switch (typeof value) {
      case "string":
      case "boolean":
      case "bigint":
        return { type: "primitive", value, float: false };
      case "number":
        return { type: "primitive", value, float: !Number.isSafeInteger(value) || Object.is(value, -0) };
    }
    if (value instanceof Uint8Array) return { type: "primitive", value, float: false };
    throw new FormatError(
      "a snapshot holds tensors, numbers, strings, booleans, bytes, arrays and objects of these",
      path,
    );
  }

  private tensor(path: string, value: Tensor): void {
    if (!PLAIN_DTYPES.has(value.dtype.name)) {
      throw new FormatError(`a snapshot cannot hold ${value.dtype}: Python would need a pickle for it`, path);
    }
    this.leaves.set(path, {
      type: "Tensor",
      location: path,
      dtype: value.dtype,
      shape: [...value.shape],
      byteRange: null,
      replicated: false,
    });
    this.tensors.push({ location: path, tensor: value });
  }
}

/** Reads a value below a manifest path. */
class Reader {
  private readonly maps = new Map<string, Storage>();

  constructor(
    private readonly root: string,
    private readonly manifest: Manifest,
  ) {}

  /** The value at a path; tensors are written into those of `target` where shape and dtype agree. */
  value(path: string, target: unknown, depth = 0): unknown {
    const entry = this.manifest.get(path);
    if (entry === undefined) throw new KeyError(`the snapshot has no entry ${JSON.stringify(path)}`);
    if (depth > 256) throw new FormatError("entries are nested too deeply", path);
    switch (entry.type) {
      case "dict":
      case "OrderedDict":
        return this.dict(path, entry, target, depth);
      case "list":
        return this.list(path, target, depth);
      case "Tensor":
      case "ChunkedTensor":
        return this.tensor(entry, target);
      case "primitive":
        return entry.value;
      case "unsupported":
        throw new FormatError(`${entry.what} can only be read by Python`, path);
    }
  }

  private dict(
    path: string,
    entry: { type: string; keys: readonly (string | number)[] },
    target: unknown,
    depth: number,
  ): unknown {
    const own = (key: string | number) => {
      if (target instanceof Map) return target.get(key);
      return isPlainObject(target) && Object.hasOwn(target, key) ? target[key] : undefined;
    };
    const pairs = entry.keys.map((key): [string | number, unknown] => {
      return [key, this.value(`${path}/${escapeComponent(String(key))}`, own(key), depth + 1)];
    });
    if (entry.type === "OrderedDict" && !isPlainObject(target)) return new Map(pairs);
    const result: Record<string, unknown> = {};
    for (const [key, value] of pairs) {
      Object.defineProperty(result, key, { value, writable: true, enumerable: true, configurable: true });
    }
    return result;
  }

  private list(path: string, target: unknown, depth: number): unknown[] {
    const items: unknown[] = [];
    while (this.manifest.has(`${path}/${items.length}`)) {
      const own = Array.isArray(target) ? target[items.length] : undefined;
      items.push(this.value(`${path}/${items.length}`, own, depth + 1));
    }
    return items;
  }

  private tensor(entry: TensorEntry | ChunkedEntry, target: unknown): Tensor {
    const nbytes = entry.shape.reduce((product, n) => product * n, entry.dtype.itemsize);
    if (!Number.isSafeInteger(nbytes))
      throw new FormatError(`shape [${entry.shape.join(", ")}] is too large`, this.root);
    // All sizes are checked against the files before memory is taken.
    const pieces = (entry.type === "Tensor" ? [entry] : entry.chunks.map((chunk) => chunk.tensor)).map((piece) => ({
      piece,
      bytes: this.bytes(piece),
    }));
    const fits = target instanceof Tensor && target.dtype === entry.dtype && sameSizes(target._shape, entry.shape);
    if (entry.type === "Tensor") {
      if (fits && target._contiguous && target._bits === 0) {
        if (nbytes > 0) copyBytes(target._address(), (pieces[0] as { bytes: number }).bytes, nbytes);
        target._version.value++;
        return target;
      }
      const fresh = this.copy(entry, (pieces[0] as { bytes: number }).bytes);
      return fits ? (target.copy_(fresh) as Tensor) : fresh;
    }
    const covered = entry.chunks.reduce((sum, chunk) => sum + chunk.sizes.reduce((a, b) => a * b, 1), 0);
    if (covered * entry.dtype.itemsize !== nbytes)
      throw new FormatError("the chunks do not cover their tensor", this.root);
    const whole = fits ? target : makeContiguous(Storage.allocate(nbytes), [...entry.shape], entry.dtype);
    for (const [i, chunk] of entry.chunks.entries()) {
      let part: Tensor = whole;
      for (const [dim, offset] of chunk.offsets.entries()) part = part.narrow(dim, offset, chunk.sizes[dim] as number);
      part.copy_(this.copy(chunk.tensor, (pieces[i] as { bytes: number }).bytes));
    }
    return whole;
  }

  private copy(entry: TensorEntry, address: number): Tensor {
    const nbytes = entry.shape.reduce((product, n) => product * n, entry.dtype.itemsize);
    const storage = Storage.allocate(nbytes);
    if (nbytes > 0) copyBytes(storage.ptr, address, nbytes);
    return makeContiguous(storage, [...entry.shape], entry.dtype);
  }

  /** Address of the bytes of a tensor, after checking that the file has them. */
  private bytes(entry: TensorEntry): number {
    const nbytes = entry.shape.reduce((product, n) => product * n, entry.dtype.itemsize);
    const path = join(this.root, entry.location);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new FileNotFoundError(path);
    const [begin, end] = entry.byteRange ?? [0, stat.size];
    if (end > stat.size || end - begin !== nbytes) {
      throw new FormatError(
        `${end - begin} bytes of ${stat.size} do not hold shape [${entry.shape.join(", ")}] of ${entry.dtype}`,
        path,
      );
    }
    if (nbytes === 0) return 0;
    let storage = this.maps.get(path);
    if (storage === undefined) {
      storage = mapFile(path, "r", stat.size);
      this.maps.set(path, storage);
    }
    return storage.ptr + begin;
  }
}

/** A directory that holds the state of several objects. @torch torchsnapshot.Snapshot */
export class Snapshot {
  readonly path: string;
  readonly manifest: Manifest;

  /** Opens a snapshot that was taken before. */
  constructor(path: string) {
    this.path = resolve(path);
    const file = join(this.path, METADATA_FILE);
    this.manifest = readManifest(
      guarded(file, () => readFileSync(file)),
      file,
    );
  }

  /** Saves the state of every object. The directory must not hold a snapshot yet. @torch Snapshot.take */
  static take(options: { path: string; appState: AppState; numThreads?: number }): Snapshot {
    const root = resolve(options.path);
    const file = join(root, METADATA_FILE);
    if (existsSync(file)) throw new FormatError("there is a snapshot in this directory already", root);
    const writer = new Writer();
    for (const [key, object] of Object.entries(options.appState))
      writer.add(`0/${escapeComponent(key)}`, object.stateDict());
    const jobs = new FileJobs();
    for (const { location, tensor } of writer.tensors) {
      // Parts such as ".." come from keys; as components they would lead elsewhere.
      if (location.split("/").some((part) => part === "" || part === "." || part === "..")) {
        throw new FormatError(`the key path ${JSON.stringify(location)} is no file name`, root);
      }
      const bytes = nativeBytes(tensor);
      const path = join(root, location);
      guarded(path, () => mkdirSync(dirname(path), { recursive: true }));
      const flags = JobFlag.write | JobFlag.create | JobFlag.replace | JobFlag.noFollow;
      const data = bytes.nbytes === 0 ? addressOf(EMPTY) : bytes.address;
      jobs.add({ path, nbytes: bytes.nbytes, data, flags, keep: bytes.keep });
    }
    if (jobs.run(options.numThreads ?? 1) !== 0) jobs.throwFirstFailure();
    guarded(root, () => mkdirSync(root, { recursive: true }));
    // The manifest is the sign that everything is there: it comes last, at once.
    const text = manifestText(new Map([...writer.containers, ...writer.leaves]));
    guarded(file, () => {
      writeFileSync(`${file}.tmp`, text);
      renameSync(`${file}.tmp`, file);
    });
    return new Snapshot(root);
  }

  /** Loads the state of every object named in `appState`. @torch Snapshot.restore */
  restore(options: { appState: AppState }): void {
    const reader = new Reader(this.path, this.manifest);
    for (const [key, object] of Object.entries(options.appState)) {
      const path = `0/${escapeComponent(key)}`;
      if (!this.manifest.has(path)) throw new KeyError(`the snapshot has no state of ${JSON.stringify(key)}`);
      object.loadStateDict(reader.value(path, object.stateDict()) as never);
    }
  }

  /** One value, by its path in the manifest: "0/state/a". @torch Snapshot.read_object */
  readObject(path: string): unknown {
    return new Reader(this.path, this.manifest).value(path, undefined);
  }
}

const EMPTY = new Float64Array(1);

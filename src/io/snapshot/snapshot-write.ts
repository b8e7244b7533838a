// Writes snapshots: what goes into the manifest, and which bytes go into which files.

import { JobFlag } from "../../../generated/abi.ts";
import { existsSync, join, lstatSync, mkdirSync } from "../../runtime/node.ts";
import { Float, Int } from "../../tensor/complex.ts";
import { ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { FormatError, guarded } from "../base/errors.ts";
import { isPlainObject } from "../base/python-json.ts";
import { asInPython, dictClassOf } from "../base/python-origin.ts";
import { runSteps } from "../base/steps.ts";
import { requireText } from "../base/well-formed.ts";
import { replaceText } from "../disk/durable.ts";
import { FileJobs, writing } from "../disk/file-jobs.ts";
import { requireRoom } from "../disk/room.ts";
import { StagedDirectory } from "../disk/staged-directory.ts";
import { bytesToWrite, denseCopy } from "../disk/tensor-bytes.ts";
import { saveTorch } from "../torch/torch-save.ts";
import {
  escapeComponent,
  MAX_DEPTH,
  type Manifest,
  type ManifestEntry,
  METADATA_FILE,
  manifestText,
  type TensorEntry,
} from "./snapshot-manifest.ts";

/** How a snapshot is written. */
export interface SnapshotWriteOptions {
  /** Threads that write files. */
  numThreads?: number;
  /** Tensors of more bytes are split along their first dimension; torchsnapshot's 512 MiB by default. */
  maxChunkBytes?: number;
  /** Put tensors of fewer bytes than this one after the other into common files; none by default. */
  slabBytes?: number;
  /** Flush everything to the disk before the manifest is written. */
  fsync?: boolean;
}

const MAX_CHUNK_BYTES = 512 * 1024 * 1024;
// Dtypes whose bytes torchsnapshot writes as they are.
const PLAIN_DTYPES = new Set("float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split(" "));

// Those for which it writes a pickle with their bytes.
const PICKLED_DTYPES = new Set(["complex64", "complex128"]);

interface PlannedTensor {
  entry: TensorEntry;
  tensor: Tensor;
}

function positive(value: number, name: string): number {
  if (!(Number.isSafeInteger(value) && value > 0)) throw new ValueError(`${name} is a positive number of bytes`);
  return value;
}

/** Walks through states and plans their manifest and files. */
export class SnapshotWriter {
  private readonly containers: Manifest = new Map();
  private readonly primitives: Manifest = new Map();
  private readonly leaves: Manifest = new Map();
  private readonly tensors: PlannedTensor[] = [];
  private readonly objects: { location: string; value: unknown }[] = [];
  private readonly open = new Set<object>();
  private readonly maxChunkBytes: number;

  /** Bytes of all tensors so far. */
  private nbytes = 0;

  constructor(
    private readonly options: SnapshotWriteOptions,
    private readonly root: string,
  ) {
    this.maxChunkBytes = positive(options.maxChunkBytes ?? MAX_CHUNK_BYTES, "maxChunkBytes");
    if (options.slabBytes !== undefined) positive(options.slabBytes, "slabBytes");
  }

  /** Adds a value below a manifest path. */
  add(path: string, value: unknown): void {
    if (value instanceof Tensor) {
      this.tensor(path, value);
      return;
    }
    if (Array.isArray(value) && Object.isFrozen(value)) {
      this.object(path, value, value instanceof Size ? "torch.Size" : "builtins.tuple", null);
      return;
    }
    if (Array.isArray(value)) {
      const items = Array.from(value, (item, i): [string, unknown] => [String(i), asInPython(value, i, item)]);
      this.nested(path, value, { type: "list" }, items);
      return;
    }
    if (value instanceof Map || isPlainObject(value)) {
      const pairs: [unknown, unknown][] = value instanceof Map ? [...value] : Object.entries(value);
      const keys = pairs.map(([key]) => key);
      if (!keys.every((key) => typeof key === "string" || Number.isSafeInteger(key))) {
        throw new FormatError("keys of a saved Map are strings or integers", path);
      }
      for (const key of keys) requireText(String(key), () => `${path}: the key ${JSON.stringify(key)}`);
      const type = dictClassOf(value) === "OrderedDict" ? "OrderedDict" : "dict";
      const items = pairs.map(([key, item]): [string, unknown] => {
        return [escapeComponent(String(key)), asInPython(value, key, item)];
      });
      this.nested(path, value as object, { type, keys: keys as (string | number)[] }, items);
      return;
    }
    if (value === null || value instanceof Set) {
      this.object(path, value, value === null ? "builtins.NoneType" : "builtins.set", null);
      return;
    }
    this.primitives.set(path, this.primitive(path, value));
  }

  private object(path: string, value: unknown, what: string, shape: readonly number[] | null): void {
    this.objects.push({ location: path, value });
    this.leaves.set(path, { type: "object", location: path, serializer: "torch_save", what, shape, replicated: false });
  }

  private nested(path: string, value: object, entry: ManifestEntry, items: [string, unknown][]): void {
    if (this.open.has(value)) throw new FormatError("a state that contains itself", path);
    if (this.open.size > MAX_DEPTH) throw new FormatError("entries are nested too deeply", path);
    this.open.add(value);
    this.containers.set(path, entry);
    const seen = new Set<string>();
    for (const [key, item] of items) {
      if (seen.has(key)) throw new FormatError(`the key ${JSON.stringify(key)} is there as text and as a number`, path);
      seen.add(key);
      this.add(`${path}/${key}`, item);
    }
    this.open.delete(value);
  }

  private primitive(path: string, value: unknown): ManifestEntry {
    if (value instanceof Float) return { type: "primitive", value: value.value, float: true };
    if (value instanceof Int) return { type: "primitive", value: value.value, float: false };
    if (typeof value === "string") requireText(value, () => `${path}: the text ${JSON.stringify(value)}`);
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
      "a snapshot holds tensors, numbers, strings, booleans, bytes, null, arrays, tuples, Sets and objects of these",
      path,
    );
  }

  private tensor(path: string, value: Tensor): void {
    const { dtype } = value;
    if (PICKLED_DTYPES.has(dtype.name)) {
      this.object(path, value.detach(), String(dtype), [...value.shape]);
      return;
    }
    if (!PLAIN_DTYPES.has(dtype.name)) {
      throw new FormatError(`a snapshot cannot hold ${dtype}`, path);
    }
    const shape = [...value.shape];
    const nbytes = value._numel * dtype.itemsize;
    this.nbytes += nbytes;
    requireRoom(this.root, this.nbytes);
    if (nbytes <= this.maxChunkBytes || shape.length === 0) {
      this.leaves.set(path, this.planned(path, value));
      return;
    }
    const rows = shape[0] as number;
    // As torch.chunk does: equal pieces, of which the last is shorter.
    const step = Math.ceil(rows / Math.ceil(nbytes / this.maxChunkBytes));
    const chunks = [];
    for (let at = 0; at < rows; at += step) {
      const count = Math.min(step, rows - at);
      const offsets = shape.map((_, i) => (i === 0 ? at : 0));
      const sizes = [count, ...shape.slice(1)];
      const part = value.detach().narrow(0, at, count);
      chunks.push({ offsets, sizes, tensor: this.planned(`${path}_${offsets.join("_")}`, part) });
    }
    this.leaves.set(path, { type: "ChunkedTensor", dtype, shape, chunks, replicated: false });
  }

  private planned(location: string, tensor: Tensor): TensorEntry {
    const { dtype, shape } = tensor;
    const entry: TensorEntry = {
      type: "Tensor",
      location,
      dtype,
      shape: [...shape],
      byteRange: null,
      replicated: false,
    };
    this.tensors.push({ entry, tensor });
    return entry;
  }

  /** Fills common files, one after the other, with the small tensors in their order. */
  private batch(): void {
    const limit = this.options.slabBytes;
    if (limit === undefined) return;
    let location = "";
    let used = limit;
    for (const { entry, tensor } of this.tensors) {
      const nbytes = tensor._numel * tensor.dtype.itemsize;
      if (nbytes === 0 || nbytes >= limit) continue;
      if (location === "" || used + nbytes > limit) {
        location = `batched/${crypto.randomUUID()}`;
        used = 0;
      }
      entry.location = location;
      entry.byteRange = [used, used + nbytes];
      used += nbytes;
    }
  }

  /** Puts tensors into common files, and checks all file names. */
  private locations(root: string): string[] {
    this.batch();
    const pickled = this.objects.map(({ location }) => location);
    const locations = [...new Set([...this.tensors.map(({ entry }) => entry.location), ...pickled])];
    for (const location of locations) checkComponents(location, root);
    const places = this.tensors.map(({ entry }) => `${entry.location}\0${entry.byteRange?.[0] ?? ""}`);
    const used = new Set([...places, ...pickled.map((location) => `${location}\0`)]);
    if (used.size !== places.length + pickled.length) throw new FormatError("two tensors would share a file", root);
    return locations;
  }

  private manifest(): string {
    return manifestText(new Map([...this.containers, ...this.primitives, ...this.leaves]));
  }

  /**
   * What is to be written, for a writer that puts it aside first. Tensors are not copied yet.
   */
  stage(root: string): StagedContent {
    const locations = this.locations(root);
    const tensors = this.tensors.map(({ entry, tensor }) => {
      return { location: entry.location, offset: entry.byteRange?.[0] ?? 0, tensor };
    });
    const objects = this.objects.map(({ location, value }) => {
      return { location, value: value instanceof Set ? new Set(value) : value };
    });
    return { locations, tensors, objects, manifest: this.manifest() };
  }

  /** Writes all files aside, and moves them to their places, the manifest last. A failure leaves nothing of them. */
  write(root: string): void {
    const locations = this.locations(root);
    const stage = new StagedDirectory(root);
    try {
      stage.begin();
      const made = new Set<string>();
      this.writeFiles(stage.path, locations, made);
      const files = [...locations, METADATA_FILE].map((location) => join(stage.path, location));
      const check = () => {
        // Another one may have been taken here meanwhile.
        requireNoSnapshot(root);
        for (const path of made) refuseLink(stage.place(path));
      };
      runSteps(
        stage.commit([...made], files, { sync: this.options.fsync === true, exclusive: manifestOf(stage), check }),
      );
    } catch (error) {
      runSteps(stage.abandon());
      throw error;
    }
  }

  private writeFiles(root: string, locations: readonly string[], made: Set<string>): void {
    const fsync = this.options.fsync === true;
    for (const location of locations) makeParents(root, location.split("/").slice(0, -1), made);
    for (const { location, value } of this.objects) {
      // A copy: a pickle would hold all of the storage, not only this view.
      saveTorch(value instanceof Tensor ? denseCopy(value) : value, join(root, location), { fsync });
    }
    const jobs = new FileJobs();
    for (const { entry, tensor } of this.tensors) {
      const bytes = bytesToWrite(tensor);
      const whole = entry.byteRange === null ? JobFlag.replace : 0;
      const sync = fsync ? JobFlag.fsync : 0;
      const flags = JobFlag.create | JobFlag.writable | JobFlag.noFollow | whole | sync;
      const offset = entry.byteRange?.[0] ?? 0;
      const content = writing(bytes.nbytes === 0 ? EMPTY : bytes, 0, bytes.nbytes);
      jobs.add({ ...content, path: join(root, entry.location), offset, flags: flags | content.flags });
    }
    if (jobs.run(this.options.numThreads ?? 1) !== 0) jobs.throwFirstFailure();
    replaceText(join(root, METADATA_FILE), this.manifest(), { sync: fsync });
  }
}

/** A snapshot is not taken where one is already. */
export function requireNoSnapshot(root: string): void {
  if (existsSync(join(root, METADATA_FILE)))
    throw new FormatError("there is a snapshot in this directory already", root);
}

/** What a snapshot is made of. */
export interface StagedContent {
  /** All files but the manifest. */
  locations: readonly string[];
  tensors: readonly { location: string; offset: number; tensor: Tensor }[];
  objects: readonly { location: string; value: unknown }[];
  manifest: string;
}

/** What has an address and no bytes. */
export const EMPTY = new Uint8Array(8);

/** Parts such as ".." come from keys; as components they would lead elsewhere. */
function checkComponents(location: string, root: string): void {
  if (location.includes("\0") || location.split("/").some((part) => part === "" || part === "." || part === "..")) {
    throw new FormatError(`the key path ${JSON.stringify(location)} is no file name`, root);
  }
}

/** The files of a snapshot that replace none: its manifest. */
export function manifestOf(stage: StagedDirectory): ReadonlySet<string> {
  return new Set([join(stage.path, METADATA_FILE)]);
}

function refuseLink(path: string): void {
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) {
    throw new FormatError("a link is no place for a snapshot", path);
  }
}

/** Makes the directories of a file; their paths go into `made`. */
export function makeParents(root: string, parts: readonly string[], made: Set<string>): void {
  let path = root;
  for (const part of parts) {
    path = join(path, part);
    if (made.has(path)) continue;
    made.add(path);
    guarded(path, () => mkdirSync(path));
  }
}

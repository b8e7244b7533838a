// Reads snapshots. Tensors are read straight into the memory of those that are there already, piece by piece, so that a
// state larger than memory can be restored into mapped tensors.

import { JobFlag } from "../../../generated/abi.ts";
import { marks } from "../../dispatch/staging.ts";
import { statSync } from "../../runtime/node.ts";
import { Float } from "../../tensor/complex.ts";
import { KeyError, RuntimeError, ValueError } from "../../tensor/errors.ts";
import { setOwn } from "../../tensor/objects.ts";
import { sameSizes } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, Tensor } from "../../tensor/tensor.ts";
import { boxVolume, fillExactly } from "../base/boxes.ts";
import { Claims } from "../base/claims.ts";
import { FileNotFoundError, FormatError } from "../base/errors.ts";
import { isPlainObject } from "../base/python-json.ts";
import { noteDict, noteFloat } from "../base/python-origin.ts";
import type { Slices } from "../base/slices.ts";
import { type BackgroundOptions, FileJobs } from "../disk/file-jobs.ts";
import type { Folder } from "../disk/folder.ts";
import { mappedFileOf } from "../disk/mapping.ts";
import { blockBehind, isLent } from "../disk/tensor-bytes.ts";
import { loadTorch } from "../torch/torch-file.ts";
import {
  escapeComponent,
  MAX_DEPTH,
  type ManifestEntry,
  type ObjectEntry,
  type Piece,
  type SnapshotMetadata,
  type TensorEntry,
} from "./snapshot-manifest.ts";

/** Bytes that are read at once when there is no budget. */
const READ_BYTES = 256 * 1024 * 1024;
/** The same while the program goes on, which elements with gaps between them hold up when they are put there. */
const LATER_BYTES = 8 * 1024 * 1024;
/** Bytes of a file may be those of some tensors at once, but not of any number of them. */
const MOST_SHARING = 8;
const FREE_BYTES = 64 * 1024 * 1024;
/** Smallest budget: a few pages. */
const MIN_BUDGET = 64 * 1024;

/** How values are read. */
export interface SnapshotReadOptions {
  /** The process whose values are read. */
  rank?: number;
  /** Memory that reading may take beside the tensors that are there already. */
  memoryBudgetBytes?: number;
  /** Most bytes of a value that lies in a compressed file of its own; by default 1 GiB, or 200 times that file. */
  maxBytes?: number;
}

/** Where bytes of a tensor are: a file, and the first of them. */
interface Source {
  path: string;
  begin: number;
}

/** A tensor as pieces, whatever kind of entry it comes from. */
interface WholeTensor {
  dtype: Tensor["dtype"];
  shape: readonly number[];
  pieces: readonly Piece[];
}

/** Reads values below manifest paths, for one rank. */
export class SnapshotReader {
  /** Entries that other ranks hold as well, by path without the rank. */
  private readonly shared = new Map<string, ManifestEntry>();
  private readonly shards = new Map<string, Piece[]>();
  /** Bytes that tensors take of each file. */
  private readonly taken = new Map<string, number>();
  private readonly rank: number;
  private pieceBytes: number;
  private readonly frugal: boolean;
  private readonly limit: { maxBytes?: number };
  private later: Generator<Read>[] | null = null;

  constructor(
    private readonly folder: Folder,
    private readonly metadata: SnapshotMetadata,
    options: SnapshotReadOptions = {},
  ) {
    const { rank = 0, memoryBudgetBytes: budget, maxBytes } = options;
    if (!(Number.isSafeInteger(rank) && rank >= 0)) throw new ValueError(`rank ${rank} is no number of a process`);
    if (budget !== undefined && !(Number.isSafeInteger(budget) && budget >= MIN_BUDGET)) {
      throw new ValueError(`memoryBudgetBytes is a number of at least ${MIN_BUDGET} bytes`);
    }
    this.rank = rank;
    this.limit = maxBytes === undefined ? {} : { maxBytes };
    this.frugal = budget !== undefined;
    // Half of the budget is being read; the other half is for what the system and the collector give back late.
    this.pieceBytes = budget === undefined ? READ_BYTES : Math.min(READ_BYTES, Math.floor(budget / 2));
    for (const [path, entry] of metadata.manifest) this.index(path, entry);
  }

  private index(path: string, entry: ManifestEntry): void {
    const slash = path.indexOf("/");
    if (slash <= 0) return;
    const logical = path.slice(slash + 1);
    if (entry.type === "ShardedTensor" || entry.type === "DTensor") {
      const known = this.shards.get(logical);
      if (known === undefined) this.shards.set(logical, [...entry.shards]);
      else for (const shard of entry.shards) known.push(shard);
    } else if ("replicated" in entry && entry.replicated && !this.shared.has(logical)) this.shared.set(logical, entry);
  }

  /** The state under a name. */
  state(key: string, target: unknown): unknown {
    const logical = escapeComponent(key);
    if (this.find(logical) === undefined) throw new KeyError(`the snapshot has no state of ${JSON.stringify(key)}`);
    return this.value(logical, target);
  }

  private find(logical: string): ManifestEntry | undefined {
    const own = this.metadata.manifest.get(`${this.rank}/${logical}`) ?? this.shared.get(logical);
    if (own !== undefined || !this.shards.has(logical)) return own;
    return { type: "ShardedTensor", shards: [] };
  }

  /**
   * The value at a path without its rank; tensors are written into those of `target` where shape and dtype agree.
   */
  value(path: string, target: unknown): unknown {
    const value = this.exactly(path, target, 0);
    return value instanceof Float ? value.value : value;
  }

  /** The same, a whole float as `Float`. */
  private exactly(path: string, target: unknown, depth: number): unknown {
    const entry = this.find(path);
    const full = `${this.rank}/${path}`;
    if (entry === undefined) throw new KeyError(`the snapshot has no entry ${JSON.stringify(full)}`);
    if (depth > MAX_DEPTH) throw new FormatError("entries are nested too deeply", full);
    switch (entry.type) {
      case "dict":
      case "OrderedDict":
        return this.dict(path, entry, target, depth);
      case "list":
        return this.list(path, target, depth);
      case "Tensor": {
        const { dtype, shape } = entry;
        const whole = { offsets: shape.map(() => 0), sizes: shape, tensor: entry };
        return this.tensor({ dtype, shape, pieces: [whole] }, target, full);
      }
      case "ChunkedTensor":
        return this.tensor({ dtype: entry.dtype, shape: entry.shape, pieces: entry.chunks }, target, full);
      case "ShardedTensor":
      case "DTensor":
        return this.tensor(assemble(this.shards.get(path) ?? [], full), target, full);
      case "primitive":
        return entry.float && Number.isInteger(entry.value) ? new Float(entry.value as number) : entry.value;
      case "object":
        return this.object(entry, target, full);
      case "unsupported":
        throw new FormatError(`${entry.what} can only be read by Python`, full);
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
      return [key, this.exactly(`${path}/${escapeComponent(String(key))}`, own(key), depth + 1)];
    });
    const dict = entry.type === "OrderedDict" ? "OrderedDict" : "dict";
    const numbered = pairs.some(([key]) => typeof key === "number");
    if (target instanceof Map || ((dict === "OrderedDict" || numbered) && !isPlainObject(target))) {
      const result = new Map<unknown, unknown>();
      noteDict(result, dict);
      for (const [key, value] of pairs) result.set(key, noteFloat(result, key, value));
      return result;
    }
    const result: Record<string, unknown> = {};
    noteDict(result, dict);
    for (const [key, item] of pairs) setOwn(result, String(key), noteFloat(result, key, item));
    return result;
  }

  private list(path: string, target: unknown, depth: number): unknown[] {
    const items: unknown[] = [];
    while (this.find(`${path}/${items.length}`) !== undefined) {
      const own = Array.isArray(target) ? target[items.length] : undefined;
      const at = items.length;
      items.push(noteFloat(items, at, this.exactly(`${path}/${at}`, own, depth + 1)));
    }
    return items;
  }

  /** A value that was pickled into a file of its own; nothing of it is run. */
  private object(entry: ObjectEntry, target: unknown, path: string): unknown {
    const file = this.folder.place(entry.location);
    const refuse = (reason: string, cause?: unknown) => {
      return new FormatError(`the ${entry.what} in ${file} cannot be read: ${reason}`, path, cause);
    };
    if (entry.serializer !== "torch_save") throw refuse(`it is serialized by ${entry.serializer}`);
    const value = ((): unknown => {
      try {
        return loadTorch(file, this.limit);
      } catch (error) {
        if (error instanceof FormatError) throw refuse(error.message, error);
        throw error;
      }
    })();
    if (entry.shape === null) return value;
    const told = value instanceof Tensor && String(value.dtype) === entry.what && sameSizes(value._shape, entry.shape);
    if (!told) throw refuse("the file holds something else");
    const fits = target instanceof Tensor && target.dtype === value.dtype && sameSizes(target._shape, value._shape);
    if (!fits) return value;
    target.detach().copy_(value);
    return target;
  }

  private tensor({ dtype, shape, pieces }: WholeTensor, target: unknown, path: string): Tensor {
    const nbytes = boxVolume(shape) * dtype.itemsize;
    if (!Number.isSafeInteger(nbytes)) throw new FormatError(`shape [${shape.join(", ")}] is too large`, path);
    if (pieces.some(({ tensor }) => tensor.dtype !== dtype)) throw new FormatError("pieces of several dtypes", path);
    if (!fillExactly(shape, pieces)) throw new FormatError("the pieces do not fill their tensor exactly", path);
    // All sizes are checked against the files before memory is taken.
    const sources = pieces.map(({ tensor }) => this.source(tensor));
    const fits = target instanceof Tensor && target.dtype === dtype && sameSizes(target._shape, shape);
    const lent = fits && this.later !== null && isLent(target._storage);
    const direct = fits && target.device.type === "cpu" && target._bits === 0 && !lent;
    const whole = direct ? target.detach() : makeContiguous(Storage.allocate(nbytes), [...shape], dtype);
    this.do(this.fill(whole, pieces, sources));
    if (!fits) return whole;
    this.do(settle(target, direct ? null : whole));
    return target;
  }

  /** Runs steps now, or keeps them for `read`. */
  private do(steps: Generator<Read>): void {
    if (this.later !== null) this.later.push(steps);
    else for (const read of steps) readNow(read);
  }

  /** Runs `plan`, in which tensors are made and not yet read: `read` does that. */
  plan<T>(plan: () => T): T {
    this.later ??= [];
    this.pieceBytes = Math.min(this.pieceBytes, LATER_BYTES);
    return plan();
  }

  /** Reads what was planned, in native threads. */
  async read(options: BackgroundOptions, slices: Slices): Promise<void> {
    const steps = this.later ?? [];
    this.later = null;
    const here = marks.here();
    for (const [i, step] of steps.entries()) {
      for (let next = here(() => step.next()); next.done !== true; next = here(() => step.next())) {
        const read = next.value;
        const { signal } = options;
        const claims = new Claims();
        claims.add(read);
        try {
          const jobs = readJob(read);
          await jobs.runInBackground(1, signal === undefined ? {} : { signal });
          checkRead(jobs, read);
        } finally {
          claims.release();
        }
        if (slices.over) await slices.pause();
      }
      options.onProgress?.(i + 1, steps.length);
    }
  }

  private *fill(whole: Tensor, pieces: readonly Piece[], sources: readonly Source[]): Generator<Read> {
    for (const [i, { offsets, sizes }] of pieces.entries()) {
      let part = whole;
      for (const [dim, offset] of offsets.entries()) part = part.narrow(dim, offset, sizes[dim] as number);
      yield* this.reads(part, sources[i] as Source);
    }
  }

  /** Reads the elements of a tensor, row-major in the file, however they lie in memory. */
  private *reads(into: Tensor, source: Source): Generator<Read> {
    const nbytes = into._numel * into.dtype.itemsize;
    if (nbytes === 0) return;
    if (into._contiguous) {
      const address = into.dataPtr();
      for (let at = 0; at < nbytes; at += this.pieceBytes) {
        const part = { ...source, begin: source.begin + at };
        yield { address: address + at, nbytes: Math.min(this.pieceBytes, nbytes - at), source: part, keep: into };
        this.forget(into);
      }
      return;
    }
    const rows = into._shape[0] as number;
    const rowBytes = nbytes / rows;
    const step = Math.floor(this.pieceBytes / rowBytes);
    if (step === 0) {
      for (let row = 0; row < rows; row++) {
        yield* this.reads(into.select(0, row), { ...source, begin: source.begin + row * rowBytes });
      }
      return;
    }
    const scratch = makeContiguous(
      Storage.allocate(Math.min(step, rows) * rowBytes),
      [Math.min(step, rows), ...into._shape.slice(1)],
      into.dtype,
    );
    for (let row = 0; row < rows; row += step) {
      const count = Math.min(step, rows - row);
      const part = { ...source, begin: source.begin + row * rowBytes };
      yield { address: scratch.dataPtr(), nbytes: count * rowBytes, source: part, keep: scratch };
      into.narrow(0, row, count).copy_(scratch.narrow(0, 0, count));
      this.forget(into);
    }
    scratch.dispose();
  }

  private forget(tensor: Tensor): void {
    if (this.frugal) mappedFileOf(tensor._storage)?.forget();
  }

  /** Where the bytes of a tensor are, after checking that the file has them. */
  private source(entry: TensorEntry): Source {
    const nbytes = boxVolume(entry.shape) * entry.dtype.itemsize;
    const path = this.folder.place(entry.location);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) throw new FileNotFoundError(path);
    if (!stat.isFile()) throw new FormatError("it is no regular file", path);
    const [begin, end] = entry.byteRange ?? [0, stat.size];
    if (end > stat.size || end - begin !== nbytes) {
      throw new FormatError(
        `${end - begin} bytes of ${stat.size} do not hold shape [${entry.shape.join(", ")}] of ${entry.dtype}`,
        path,
      );
    }
    const read = (this.taken.get(path) ?? 0) + nbytes;
    this.taken.set(path, read);
    if (read > FREE_BYTES + stat.size * MOST_SHARING) {
      throw new FormatError(`${read} bytes of tensors are to be those of ${stat.size} bytes`, path);
    }
    return { path, begin };
  }
}

/** The tensor that shards of all ranks make together. Replicas of a shard count once. */
function assemble(shards: readonly Piece[], path: string): WholeTensor {
  const first = shards[0];
  if (first === undefined) throw new FormatError("a sharded tensor without shards", path);
  const rank = first.offsets.length;
  if (shards.some(({ offsets }) => offsets.length !== rank)) {
    throw new FormatError("shards of different numbers of dimensions", path);
  }
  const different = new Map(shards.map((shard) => [`${shard.offsets.join()}:${shard.sizes.join()}`, shard]));
  const pieces = [...different.values()];
  const shape = first.offsets.map((_, i) => {
    return pieces.reduce((end, { offsets, sizes }) => Math.max(end, (offsets[i] as number) + (sizes[i] as number)), 0);
  });
  return { dtype: first.tensor.dtype, shape, pieces };
}

/** Bytes to be read to an address. */
interface Read {
  address: number;
  nbytes: number;
  source: Source;
  /** Whose memory it is. */
  keep: Tensor;
}

/** A tensor that was there has its new elements: read into it, or to be copied from another one. */
// biome-ignore lint/correctness/useYield: it is a step that reads nothing
function* settle(target: Tensor, from: Tensor | null): Generator<Read> {
  if (from === null) target._version.value++;
  else target.detach().copy_(from);
}

function readJob({ address, nbytes, source, keep }: Read): FileJobs {
  const jobs = new FileJobs();
  const block = blockBehind(keep._storage);
  jobs.add({ path: source.path, offset: source.begin, nbytes, data: address, flags: JobFlag.read, block, keep });
  return jobs;
}

function checkRead(jobs: FileJobs, { address, nbytes, source, keep }: Read): void {
  jobs.throwFirstFailure();
  if (jobs.result(0).mapped !== nbytes) throw new FormatError("the file became shorter while it was read", source.path);
  const start = keep._address();
  if (address >= start && address < start + keep.nbytes) return;
  throw new RuntimeError(`a tensor's storage was resized while ${source.path} was read into it`);
}

function readNow(read: Read): void {
  const jobs = readJob(read);
  jobs.run();
  checkRead(jobs, read);
}

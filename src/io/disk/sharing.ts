// Mapped tensors as references: plain data that is posted to a Worker or a child process, which maps the same memory.

import { JobFlag } from "../../../generated/abi.ts";
import { fstatSync, isAbsolute, readFileSync, readlinkSync, statSync } from "../../runtime/node.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { RuntimeError, TypeError } from "../../tensor/errors.ts";
import { numelOf } from "../../tensor/size.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeStrided, type Tensor } from "../../tensor/tensor.ts";
import { FileNotFoundError, guarded, OSError } from "../base/errors.ts";
import { FileJobs } from "./file-jobs.ts";
import { type MapMode, mapFile, mapFlags, mappedFileOf, storageOf } from "./mapping.ts";

/** The memory behind a reference. */
export interface MemoryReference {
  /** Absolute path of a file; null for memory without one. */
  path: string | null;
  /** The process that has memory without a path, and its descriptor there. */
  owner: { pid: number; descriptor: number } | null;
  /** Tells the file from another one that took its name since: "device:inode". */
  identity: string;
  /** Bytes that are mapped. */
  nbytes: number;
  mode: MapMode;
}

/** A tensor in mapped memory, as plain data: numbers, strings, arrays and objects. */
export interface TensorReference {
  /** Null for a tensor without elements. */
  memory: MemoryReference | null;
  dtype: string;
  shape: number[];
  /** In elements, as is the offset. */
  strides: number[];
  offset: number;
}

function identityOf(stat: { dev: number | bigint; ino: number | bigint }): string {
  return `${stat.dev}:${stat.ino}`;
}

/** What the system puts behind the name of a mapped file that was removed or replaced. */
const REMOVED = " (deleted)";

/** Which mappings of this process are of files that do not have their name any more; the system is asked once. */
export class RemovedFiles {
  private starts: Set<number> | null = null;

  /** Whether the file that is mapped at an address has lost its name; false where the system does not tell. */
  has(address: number, path: string): boolean {
    this.starts ??= this.read();
    return this.starts.has(address) && !path.endsWith(REMOVED);
  }

  private read(): Set<number> {
    try {
      const lines = readFileSync("/proc/self/maps", "utf8").split("\n");
      const removed = lines.filter((line) => line.endsWith(REMOVED));
      return new Set(removed.map((line) => Number.parseInt(line, 16)));
    } catch {
      return new Set();
    }
  }
}

/**
 * A reference to a tensor in a mapped file or in shared memory, views included. Memory without a file exists as long as
 * some process has it mapped: keep the tensor until the other side has opened the reference.
 * @param removed for several tensors at once
 * @throws OSError when the file was removed or replaced since it was mapped: nobody else could map it
 */
export function referenceTo(tensor: Tensor, removed = new RemovedFiles()): TensorReference {
  const geometry = {
    dtype: tensor.dtype.name,
    shape: [...tensor._shape],
    strides: [...tensor._strides],
    offset: tensor._offset,
  };
  if (tensor._numel === 0) return { ...geometry, memory: null, offset: 0 };
  const source = mappedFileOf(tensor._storage);
  if (source === null) {
    throw new TypeError("only memory-mapped tensors can be shared by reference: see MemoryMappedTensor.fromTensor");
  }
  if (tensor._bits !== 0) throw new RuntimeError("a tensor with a pending conjugation or negation cannot be shared");
  const { path, nbytes, mode } = source;
  const at = path === null ? source.descriptor() : -1;
  if (path === null && at < 0) {
    throw new OSError("this memory cannot be shared: too many files are open, or the system has no memfd_create");
  }
  const stat = path === null ? fstatSync(at, { bigint: true }) : guarded(path, () => statSync(path, { bigint: true }));
  if (path !== null && removed.has(tensor._storage.ptr, path)) {
    throw new OSError(`${path} was replaced since it was mapped`, { path, code: "replaced" });
  }
  return {
    ...geometry,
    memory: {
      path,
      owner: path === null ? { pid: process.pid, descriptor: at } : null,
      identity: identityOf(stat),
      nbytes,
      mode,
    },
  };
}

function bad(what: string): TypeError {
  return new TypeError(`this is no reference to a tensor: ${what}`);
}

function isCount(value: unknown): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0;
}

function isList(value: unknown): value is number[] {
  return Array.isArray(value) && value.length <= 64 && value.every(isCount);
}

function keyOf({ identity, nbytes, mode }: MemoryReference): string {
  return JSON.stringify([identity, nbytes, mode]);
}

/** Opens references; tensors of one memory share one mapping. */
export class ReferenceOpener {
  private readonly maps = new Map<string, Storage>();

  /** Whether this memory was opened here. */
  has(memory: MemoryReference): boolean {
    return this.maps.has(keyOf(memory));
  }

  /** The tensor behind a reference, in the memory of the one who made it: nothing is copied. */
  open(reference: TensorReference): Tensor {
    const { shape, strides, offset } = reference ?? {};
    const dtype: DType | undefined = typeof reference?.dtype === "string" ? dtypeByName(reference.dtype) : undefined;
    if (dtype === undefined) throw bad("its dtype is not known");
    if (!isList(shape) || !isList(strides) || shape.length !== strides.length)
      throw bad("its shape is no list of sizes");
    if (!isCount(offset)) throw bad("its offset is no count");
    if (!Number.isSafeInteger(numelOf(shape))) throw bad("it has more elements than can be counted");
    const { memory } = reference;
    if (memory === null && shape.includes(0)) return makeStrided(Storage.allocate(0), 0, shape, strides, dtype);
    if (typeof memory !== "object" || memory === null || !isCount(memory.nbytes)) throw bad("it names no memory");
    let last = offset;
    for (const [i, n] of shape.entries()) last += (n - 1) * (strides[i] as number);
    const empty = shape.includes(0);
    if (!empty && !((last + 1) * dtype.itemsize <= memory.nbytes)) throw bad("it reaches beyond its memory");
    if (empty && offset * dtype.itemsize > memory.nbytes) throw bad("it begins beyond its memory");
    return makeStrided(this.memory(memory), offset, shape, strides, dtype);
  }

  private memory(memory: MemoryReference): Storage {
    const { path, owner, identity, nbytes, mode } = memory;
    if (mode !== "r+" && mode !== "r" && mode !== "c") throw bad("its mode is not known");
    const key = keyOf(memory);
    let storage = this.maps.get(key);
    if (storage !== undefined) return storage;
    if (path === null) storage = openShared(owner, identity, nbytes);
    else {
      if (typeof path !== "string" || !isAbsolute(path)) throw bad("its path is not absolute");
      sameFile(path, identity);
      storage = mapFile(path, mode, nbytes);
    }
    this.maps.set(key, storage);
    return storage;
  }
}

function sameFile(path: string, identity: string): void {
  const stat = guarded(path, () => statSync(path, { bigint: true }));
  if (identityOf(stat) === identity) return;
  throw new OSError(`${path} was replaced since the reference was made`, { path, code: "replaced" });
}

/** Maps memory of another process, or of another thread of this one, through its open descriptor. */
function openShared(owner: MemoryReference["owner"], identity: string, nbytes: number): Storage {
  if (!isCount(owner?.pid) || !isCount(owner?.descriptor)) throw bad("memory without a path has no owner");
  const path = `/proc/${owner.pid}/fd/${owner.descriptor}`;
  const link = ((): string => {
    try {
      return readlinkSync(path);
    } catch (error) {
      throw new FileNotFoundError(path, error);
    }
  })();
  if (!link.startsWith("/memfd:zensor")) {
    throw new OSError(`the shared memory of process ${owner.pid} is gone`, { path, code: "replaced" });
  }
  sameFile(path, identity);
  const jobs = new FileJobs();
  jobs.add({ path, nbytes, flags: mapFlags("r+") | JobFlag.keepFd });
  if (jobs.run() !== 0) jobs.throwFirstFailure();
  return storageOf(jobs.result(0), null, "r+");
}

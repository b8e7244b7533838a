// Mapped files as storages: bytes that the operating system reads when they are touched and writes back by itself.

import { JobFlag } from "../../../generated/abi.ts";
import { native } from "../../ffi/library.ts";
import { collectYoung, ownMapping } from "../../ffi/memory.ts";
import { forgetPages } from "../../ffi/system.ts";
import { lstatSync, readFileSync, statSync } from "../../runtime/node.ts";
import { Storage } from "../../tensor/storage.ts";
import { guarded, systemError } from "../base/errors.ts";
import { systemPath } from "../base/places.ts";
import { runSteps, type Steps, wait } from "../base/steps.ts";
import { discardPath } from "./durable.ts";
import { type BackgroundOptions, type FileJob, FileJobs, type JobResult } from "./file-jobs.ts";

/** How a file is mapped: read and write through, or read with changes kept private to this process. */
export type MapMode = "r+" | "r" | "c";

const ENOMEM = 12;
/** Bytes that a shared mapping of a file counts for the collector. */
const SHARED_COUNT = 512;
/** The share of a private mapping of a file that counts: most of its pages are only read. */
const PRIVATE_SHARE = 1 / 16;
/** Linux allows a process 65530 mappings: unreachable ones are collected long before. */
const MANY_MAPS = 4096;
/** Mappings that are left to the runtime: without any it ends the process as soon as it wants memory. */
const SPARE_MAPS = 4096;
/** Storages that are made between two looks at the clock. */
const STORAGES_AT_ONCE = 64;
let mapsAfterCollection = 0;
let mostMaps: number | null = null;

/** How many mappings of files there may be. */
function mapLimit(): number {
  if (mostMaps !== null) return mostMaps;
  mostMaps = Number.POSITIVE_INFINITY;
  try {
    const system = Number(readFileSync("/proc/sys/vm/max_map_count", "utf8"));
    if (system > 0) mostMaps = Math.max(system - SPARE_MAPS, system / 2);
  } catch {
    // Other systems have no such limit.
  }
  return mostMaps;
}

/** Collects unreachable mappings when there are many. More than the system can have are an error. */
export function makeRoomFor(requests: readonly { path: string | null }[]): void {
  const more = requests.length;
  const live = native.zs_io_live_maps();
  const limit = Math.min(Math.max(MANY_MAPS, 2 * mapsAfterCollection), mapLimit());
  if (live + more <= limit) return;
  collectYoung();
  if (native.zs_io_live_maps() + more > limit) Bun.gc(true);
  mapsAfterCollection = native.zs_io_live_maps();
  if (mapsAfterCollection + more > mapLimit()) throw systemError(ENOMEM, requests[0]?.path ?? "<anonymous memory>");
}

/** What is known about the mapping behind a storage; `storage.source`. */
export class MappedFile {
  constructor(
    /** Absolute path; null for anonymous shared memory. */
    readonly path: string | null,
    readonly mode: MapMode,
    /** Length of the mapping. */
    readonly nbytes: number,
    private readonly address: number,
    /** 0 where it is not known. */
    readonly inode = 0,
  ) {}

  /** Whether a file is the one that is mapped, whatever its name was then. */
  isAt(path: string): boolean {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat !== undefined && (this.inode === 0 ? path === this.path : stat.ino === this.inode);
  }

  /** Where in the file the byte at an address is. */
  offsetOf(address: number): number {
    return address - this.address;
  }

  /** The open descriptor of memory without a file; -1 when there is none. */
  descriptor(): number {
    return native.zs_io_descriptor(this.address);
  }

  /** Writes changed pages to the file and waits for the disk. */
  flush(): void {
    if (this.mode === "r+" && this.path !== null) native.zs_io_sync(this.address, this.nbytes);
  }

  /** Takes its pages out of this process's memory. What was written to them stays in the file. */
  forget(): void {
    if (this.mode === "r+" && this.path !== null) forgetPages(this.address, this.nbytes);
  }
}

/** The file behind a storage, null when it is no mapping. */
export function mappedFileOf(storage: Storage): MappedFile | null {
  return storage.source instanceof MappedFile ? storage.source : null;
}

/** Tells which paths are those of the files that are mapped here, under whatever name. */
export function inodesOf(files: Iterable<MappedFile>): (path: string) => boolean {
  const list = [...files];
  const inodes = new Set(list.map((file) => file.inode).filter((inode) => inode !== 0));
  const paths = new Set(list.filter((file) => file.inode === 0).map((file) => file.path));
  return (path) => paths.has(path) || inodes.has(statSync(path, { throwIfNoEntry: false })?.ino ?? 0);
}

/** The file of a storage that is a mapping or lies in one. */
export function fileBehind(storage: Storage): MappedFile | null {
  const file = mappedFileOf(storage.root);
  return file === null || file.path === null ? null : file;
}

/** Flags of a job that maps in this mode. */
export function mapFlags(mode: MapMode): number {
  return mode === "r+" ? JobFlag.map | JobFlag.shared | JobFlag.writable : JobFlag.map;
}

/** A storage over what a job mapped. An empty file gives an empty storage. */
export function storageOf(result: JobResult, path: string | null, mode: MapMode): Storage {
  if (result.mapped === 0) return Storage.allocate(0);
  // What is written to private pages and shared memory takes memory; pages of a file are the system's cache.
  let counted = result.mapped;
  if (path !== null) counted = mode === "r+" ? Math.min(counted, SHARED_COUNT) : Math.ceil(counted * PRIVATE_SHARE);
  const anchor = ownMapping(result.address, result.mapped, counted);
  const source = new MappedFile(path, mode, result.mapped, result.address, result.inode);
  return Storage.mapped(result.address, result.mapped, anchor, source);
}

/** A file to map. */
export interface MapRequest {
  /** Absolute. */
  path: string;
  /** Bytes needed; -1 for the whole file. A shorter file is an error. */
  nbytes: number;
  /** The path that it is about to get, when it has another one still. */
  name?: string;
  /** A symbolic link is an error. */
  noFollow?: boolean;
}

function mapJob({ path, nbytes, name, noFollow }: MapRequest, mode: MapMode): FileJob {
  const job = { path, nbytes, flags: mapFlags(mode) | (noFollow === true ? JobFlag.noFollow : 0) };
  return name === undefined ? job : { ...job, name };
}

/** Steps that run jobs which map. All or none: a failure gives back the others. */
function* mappingJobs(
  list: readonly FileJob[],
  mode: MapMode,
  threads: number,
  options: BackgroundOptions = {},
): Steps<Storage[]> {
  makeRoomFor(list);
  for (let attempt = 0; ; attempt++) {
    const jobs = new FileJobs();
    for (const job of list) jobs.add(job);
    const failed = yield* wait(
      () => jobs.run(threads),
      () => jobs.runInBackground(threads, options),
    );
    if (failed === 0) return yield* storagesOf(jobs, list, mode);
    // Unreachable tensors may still hold mappings: collect them once before giving up.
    const again = attempt === 0 && !list.some(({ flags }) => (flags & JobFlag.exclusive) !== 0);
    if (!again || !list.some((_, i) => jobs.result(i).status === -ENOMEM)) jobs.throwFirstFailure();
    jobs.unmapAll();
    Bun.gc(true);
  }
}

/** What was mapped, a storage for each job. When that is stopped nothing stays mapped. */
function* storagesOf(jobs: FileJobs, list: readonly FileJob[], mode: MapMode): Steps<Storage[]> {
  const storages: Storage[] = [];
  try {
    for (const [i, { path, name }] of list.entries()) {
      if (i % STORAGES_AT_ONCE === STORAGES_AT_ONCE - 1) yield;
      storages.push(storageOf(jobs.result(i), name ?? path, mode));
    }
    return storages;
  } catch (error) {
    jobs.unmapAll(storages.length);
    for (const storage of storages) {
      storage.claim();
      storage.release();
    }
    throw error;
  }
}

/** Runs jobs that map, at once. */
export function runMapping(list: readonly FileJob[], mode: MapMode, threads = 1): Storage[] {
  return runSteps(mappingJobs(list, mode, threads));
}

/** Runs what makes a file. When that fails a file that was not there before goes away. */
export function makingFile<T>(path: string, run: () => T): T {
  const there = guarded(path, () => lstatSync(path, { throwIfNoEntry: false })) !== undefined;
  try {
    return run();
  } catch (error) {
    // Somebody else may have made it meanwhile.
    if (!there && (error as { code?: unknown }).code !== "EEXIST") discardPath(path);
    throw error;
  }
}

/** Steps that map many files with one native call: opening thousands of files takes a while. */
export function mappingFiles(
  requests: readonly MapRequest[],
  mode: MapMode,
  threads = 1,
  options: BackgroundOptions = {},
): Steps<Storage[]> {
  return mappingJobs(
    requests.map((request) => mapJob(request, mode)),
    mode,
    threads,
    options,
  );
}

/** `mappingFiles` at once. */
export function mapFiles(requests: readonly MapRequest[], mode: MapMode, threads = 1): Storage[] {
  return runSteps(mappingFiles(requests, mode, threads));
}

/** Maps one file. `name` is the path that it is about to get, when it has another one still. */
export function mapFile(path: string, mode: MapMode, nbytes = -1, name?: string): Storage {
  const request = { path: systemPath(path), nbytes };
  return mapFiles([name === undefined ? request : { ...request, name: systemPath(name) }], mode)[0] as Storage;
}

/** Shared memory without a name, zero-filled. */
export function anonymousStorage(nbytes: number): Storage {
  if (nbytes === 0) return Storage.allocate(0);
  return runMapping([{ path: null, nbytes, flags: mapFlags("r+") | JobFlag.keepFd }], "r+")[0] as Storage;
}

/** Makes (or opens) a file of at least `nbytes`, sparse where nothing was written, and maps it. */
export function sparseFile(path: string, nbytes: number, options: { existsok?: boolean } = {}): Storage {
  if (nbytes === 0) return Storage.allocate(0);
  const exclusive = options.existsok === false ? JobFlag.exclusive : 0;
  const flags = mapFlags("r+") | JobFlag.create | JobFlag.grow | JobFlag.noFollow | exclusive;
  const job = { path: systemPath(path), nbytes, flags };
  return makingFile(job.path, () => runMapping([job], "r+")[0] as Storage);
}

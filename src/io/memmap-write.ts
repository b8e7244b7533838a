// Writes memory-mapped directories: one file per tensor, one `meta.json` per level, all files in one native batch.
import { existsSync, mkdirSync, promises, rmSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { addressOf } from "../ffi/library.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { Storage } from "../tensor/storage.ts";
import { AtomicDirectory } from "./atomic-directory.ts";
import { checkFile, checkPlace, makeDirectory } from "./directory-checks.ts";
import { discardPath, inTurn, requireDescriptor } from "./durable.ts";
import { guarded } from "./errors.ts";
import { type BackgroundOptions, FileJobs, JobFlag, PART_BYTES, writing } from "./file-jobs.ts";
import { fileBehind, makeRoomFor, mapFiles, mapFilesLater, mapFlags, mappedFileOf, storageOf } from "./mapping.ts";
import { Slices } from "./slices.ts";
import { StagedDirectory } from "./staged-directory.ts";
import { nativeBytes } from "./tensor-bytes.ts";
import type { LeafWrite, TreeWrite } from "./tree.ts";
import { layOutSteps } from "./tree-layout.ts";

/** How to write. */
export interface WriteOptions {
  /** Encode keys that are no safe file names. */
  robustKey?: boolean;
  /** False: an existing tensor file is an error. */
  existsok?: boolean;
  /** Flush every file to the disk. */
  fsync?: boolean;
  /** Replace the directory in one step, after everything is on the disk. */
  atomic?: boolean;
  numThreads?: number;
  /** It will be written by `runInBackground`, aside: what is stopped leaves the files that were there. */
  background?: boolean;
}

/** Writes one directory. */
export class DirectoryWriter {
  private readonly jobs = new FileJobs();
  private readonly mapped: { job: number; leaf: LeafWrite; path: string; nbytes: number }[] = [];
  private readonly metas: { path: string; bytes: Uint8Array }[] = [];
  private readonly ready: (() => void)[] = [];
  private readonly stale: string[] = [];
  private readonly directories: string[] = [];
  /** Every file that is written, and whether none may be there. */
  private readonly files: { path: string; exclusive: boolean }[] = [];
  private readonly target: string;
  private readonly root: string;
  private readonly atomic: AtomicDirectory | null;
  private readonly stage: StagedDirectory | null;
  /** What was not there before the save. */
  private readonly made: string[] = [];

  constructor(
    private readonly tree: TreeWrite,
    prefix: string,
    private readonly options: WriteOptions = {},
  ) {
    this.atomic = options.atomic ? new AtomicDirectory(prefix, options) : null;
    this.target = this.atomic?.target ?? resolve(prefix);
    this.stage = options.background && this.atomic === null ? new StagedDirectory(this.target) : null;
    this.root = this.atomic?.path ?? this.stage?.path ?? this.target;
  }

  /** Writes and maps everything. */
  run(): void {
    try {
      this.prepare();
      this.finish(this.jobs.run(this.options.numThreads ?? 1));
    } catch (error) {
      this.abandon();
      throw error;
    }
  }

  /**
   * Writes and maps everything while the program goes on. The sources must not change until then. Files get their
   * places when all are written: whatever stops it before leaves those that are there.
   */
  async runInBackground(options: BackgroundOptions = {}): Promise<void> {
    const slices = new Slices(options.signal);
    const threads = this.options.numThreads ?? 1;
    try {
      await this.prepareLater(slices);
      if ((await this.jobs.runInBackground(threads, options)) !== 0) this.jobs.throwFirstFailure();
      options.signal?.throwIfAborted();
      await inTurn(this.target, async () => {
        await this.commitLater(options.signal);
        const storages = await mapFilesLater(this.mapped, "r+", threads);
        for (const [i, { leaf }] of this.mapped.entries()) leaf.onMapped?.(storages[i] as Storage);
      });
      for (const done of this.ready) done();
    } catch (error) {
      await (this.atomic?.abandonLater() ?? this.stage?.abandon());
      throw error;
    }
  }

  private abandon(): void {
    this.atomic?.abandon();
    for (const path of this.made.reverse()) discardPath(path);
  }

  /** Makes the jobs in small steps. Metadata comes last: it never names a tensor that was not written yet. */
  private *plan(): Generator<void> {
    yield* layOutSteps(this.tree, this.root, this.options.robustKey !== false, {
      join,
      directory: (path) => this.directories.push(path),
      leaf: (leaf, path) => this.leaf(leaf, path),
      file: (path, bytes) => this.metas.push({ path, bytes }),
      stack: (path, count) => this.dropStaleMembers(path, count),
    });
    for (const { path, bytes } of this.metas) yield this.small(path, bytes);
  }

  // Whatever is in the way is found before the first change.
  private prepare(): void {
    for (const _ of this.plan());
    this.atomic?.begin();
    if (this.atomic === null && existsSync(this.root)) {
      for (const path of this.directories) checkPlace(path);
      for (const { path, exclusive } of this.files) if (!checkFile(path, exclusive)) this.made.push(path);
    }
    if (this.atomic === null) {
      requireDescriptor(this.root);
      makeRoomFor(this.mapped);
    }
    const first = guarded(this.root, () => mkdirSync(this.root, { recursive: true }));
    if (first !== undefined) this.made.push(first);
    for (const path of this.directories) if (makeDirectory(path)) this.made.push(path);
  }

  private async prepareLater(slices: Slices): Promise<void> {
    for (const _ of this.plan()) if (slices.over) await slices.pause();
    this.atomic?.begin();
    if (this.stage !== null && existsSync(this.target)) {
      checkPlace(this.target, true);
      for (const path of this.directories) {
        checkPlace(this.place(path));
        if (slices.over) await slices.pause();
      }
      for (const { path, exclusive } of this.files) {
        checkFile(this.place(path), exclusive);
        if (slices.over) await slices.pause();
      }
    }
    this.stage?.begin();
    for (const path of this.directories) {
      makeDirectory(path);
      if (slices.over) await slices.pause();
    }
  }

  private finish(failed: number): void {
    if (failed !== 0) this.jobs.throwFirstFailure();
    for (const path of this.stale) rmSync(path, { recursive: true, force: true });
    if (this.atomic === null) {
      for (const { job, leaf, path } of this.mapped) leaf.onMapped?.(storageOf(this.jobs.result(job), path, "r+"));
    } else {
      this.atomic.commit();
      // Mapped under the names that stay.
      const storages = mapFiles(this.mapped, "r+", this.options.numThreads ?? 1);
      for (const [i, { leaf }] of this.mapped.entries()) leaf.onMapped?.(storages[i] as Storage);
    }
    for (const done of this.ready) done();
  }

  private async commitLater(signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    if (this.atomic !== null) return await this.atomic.commitLater(signal);
    const files = this.files.map(({ path }) => path);
    // From here on it is completed: a part of the files would be neither the old content nor the new one.
    await (this.stage as StagedDirectory).commit(this.directories, files, this.options.fsync === true, new Slices());
    for (const path of this.stale) await promises.rm(path, { recursive: true, force: true });
  }

  /** Where a file will be. */
  private place(path: string): string {
    return this.target + path.slice(this.root.length);
  }

  // The format stores no count of members, so those of an earlier, longer stack would be read back as well.
  private dropStaleMembers(path: string, count: number): void {
    if (this.atomic !== null) return;
    for (let i = count; ; i++) {
      const member = join(this.place(path), String(i));
      if (!statSync(join(member, "meta.json"), { throwIfNoEntry: false })) return;
      this.stale.push(member);
    }
  }

  private leaf(leaf: LeafWrite, path: string): void {
    const nbytes = leaf.shape.reduce((product, n) => product * n, leaf.dtype.itemsize);
    if (!Number.isSafeInteger(nbytes)) throw new RuntimeError(`${path}: ${nbytes} bytes are too many for a file`);
    if (nbytes === 0) {
      this.ready.push(() => leaf.onMapped?.(Storage.allocate(0)));
      return;
    }
    const { bytes } = leaf;
    const exclusive = this.options.existsok === false;
    const place = this.place(path);
    if (bytes !== null && "keep" in bytes && this.atomic === null) {
      const { _storage: storage } = bytes.keep;
      const own = mappedFileOf(storage);
      if (own?.path === place && own.mode === "r+" && !exclusive && bytes.address === storage.ptr) {
        // The bytes are this very file's.
        this.ready.push(() => leaf.onMapped?.(storage));
        return;
      }
    }
    this.files.push({ path, exclusive });
    const job = this.leafJobs(leaf, path, nbytes, exclusive);
    if (leaf.onMapped) this.mapped.push({ job, leaf, path: place, nbytes });
  }

  /** What is written aside goes in parts and is mapped when it has its place. */
  private leafJobs(leaf: LeafWrite, path: string, nbytes: number, exclusive: boolean): number {
    const aside = this.root !== this.target;
    const bytes = aside ? leaf.bytes : this.safe(leaf.bytes);
    const mapNow = leaf.onMapped !== undefined && !aside;
    const once = aside ? 0 : (exclusive ? JobFlag.exclusive : 0) | (bytes === null ? 0 : JobFlag.replace);
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const open = JobFlag.create | JobFlag.noFollow | (mapNow ? mapFlags("r+") : JobFlag.writable);
    const flags = open | once | fsync;
    const most = aside && bytes !== null ? PART_BYTES : nbytes;
    let last = 0;
    for (let at = 0; at < nbytes; at += most) {
      const part = bytes === null ? { nbytes, flags: JobFlag.grow } : writing(bytes, at, Math.min(most, nbytes - at));
      last = this.jobs.add({ ...part, path, offset: at, flags: flags | part.flags });
    }
    return last;
  }

  /** A tensor may be mapped from a file that is about to be written over: then it is copied before the first. */
  private safe(bytes: LeafWrite["bytes"]): LeafWrite["bytes"] {
    if (bytes === null || !("strided" in bytes)) return bytes;
    return fileBehind(bytes.strided._storage) !== null && existsSync(this.target) ? nativeBytes(bytes.strided) : bytes;
  }

  private syncs(): boolean {
    return this.options.fsync === true || this.atomic !== null;
  }

  private small(path: string, bytes: Uint8Array): void {
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const flags = JobFlag.write | JobFlag.create | JobFlag.replace | JobFlag.noFollow | JobFlag.writable | fsync;
    this.files.push({ path, exclusive: false });
    this.jobs.add({ path, nbytes: bytes.length, flags, data: addressOf(bytes), keep: bytes });
  }
}

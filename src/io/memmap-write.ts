// Writes memory-mapped directories: one file per tensor, one `meta.json` per level, all files in one native batch.
import { existsSync, lstatSync, mkdirSync, rmSync, statSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { addressOf } from "../ffi/library.ts";
import { RuntimeError } from "../tensor/errors.ts";
import { Storage } from "../tensor/storage.ts";
import { AtomicDirectory } from "./atomic-directory.ts";
import { guarded, OSError } from "./errors.ts";
import { type BackgroundOptions, type FileJob, FileJobs, JobFlag } from "./file-jobs.ts";
import { mapFiles, mapFlags, mappedFileOf, storageOf } from "./mapping.ts";
import type { LeafWrite, TreeWrite } from "./tree.ts";
import { layOutTree } from "./tree-layout.ts";

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
}

/** A batch that is laid out and checked, but not yet run. */
export class DirectoryWriter {
  private readonly jobs = new FileJobs();
  private readonly mapped: { job: number; leaf: LeafWrite; path: string; nbytes: number }[] = [];
  private readonly metas: { path: string; bytes: Uint8Array }[] = [];
  private readonly ready: (() => void)[] = [];
  private readonly stale: string[] = [];
  private readonly directories: string[] = [];
  private readonly root: string;
  private readonly atomic: AtomicDirectory | null;

  constructor(
    root: TreeWrite,
    prefix: string,
    private readonly options: WriteOptions = {},
  ) {
    this.atomic = options.atomic ? new AtomicDirectory(prefix, options) : null;
    this.root = this.atomic?.path ?? resolve(prefix);
    layOutTree(root, this.root, options.robustKey !== false, {
      join,
      directory: (path) => this.directories.push(path),
      leaf: (leaf, path) => this.leaf(leaf, path),
      file: (path, bytes) => this.metas.push({ path, bytes }),
      stack: (path, count) => this.dropStaleMembers(path, count),
    });
    // Metadata comes last, so that it never names a tensor that was not written yet.
    for (const { path: file, bytes } of this.metas) this.small(file, bytes);
  }

  /** Number of files. */
  get files(): number {
    return this.jobs.length;
  }

  /** Writes and maps everything. */
  run(): void {
    try {
      this.prepare();
      this.finish(this.jobs.run(this.options.numThreads ?? 1));
    } catch (error) {
      this.atomic?.abandon();
      throw error;
    }
  }

  /** Writes and maps everything while the program goes on. The sources must not change until then. */
  async runInBackground(options: BackgroundOptions = {}): Promise<void> {
    try {
      this.prepare();
      this.finish(await this.jobs.runInBackground(this.options.numThreads ?? 1, options));
    } catch (error) {
      this.atomic?.abandon();
      throw error;
    }
  }

  // Whatever is in the way is found before the first change.
  private prepare(): void {
    this.atomic?.begin();
    if (this.atomic === null && existsSync(this.root)) {
      for (const path of this.directories) checkPlace(path);
      for (let i = 0; i < this.jobs.length; i++) checkFile(this.jobs.job(i));
    }
    guarded(this.root, () => mkdirSync(this.root, { recursive: true }));
    for (const path of this.directories) makeDirectory(path);
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

  // The format stores no count of members, so those of an earlier, longer stack would be read back as well.
  private dropStaleMembers(path: string, count: number): void {
    for (let i = count; ; i++) {
      const member = join(path, String(i));
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
    const exclusive = this.options.existsok === false ? JobFlag.exclusive : 0;
    const own = bytes === null ? null : mappedFileOf(bytes.keep._storage);
    const storage = bytes?.keep._storage;
    if (own?.path === path && own.mode === "r+" && !exclusive && bytes?.address === storage?.ptr) {
      // The bytes are this very file's.
      this.ready.push(() => leaf.onMapped?.(storage as Storage));
      return;
    }
    const mapNow = leaf.onMapped !== undefined && this.atomic === null;
    const common = JobFlag.create | JobFlag.noFollow | exclusive | (mapNow ? mapFlags("r+") : JobFlag.writable);
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const file = bytes?.file;
    const move = file === undefined ? JobFlag.write : JobFlag.copy;
    const work = bytes === null ? JobFlag.grow : move | JobFlag.replace;
    const job = this.jobs.add({
      path,
      nbytes,
      flags: common | fsync | work,
      data: bytes?.address ?? 0,
      ...(file === undefined ? {} : { source: file }),
      keep: bytes?.keep,
    });
    const place = this.atomic === null ? path : join(this.atomic.target, relative(this.root, path));
    if (leaf.onMapped) this.mapped.push({ job, leaf, path: place, nbytes });
  }

  private syncs(): boolean {
    return this.options.fsync === true || this.atomic !== null;
  }

  private small(path: string, bytes: Uint8Array): void {
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const flags = JobFlag.write | JobFlag.create | JobFlag.replace | JobFlag.noFollow | JobFlag.writable | fsync;
    this.jobs.add({ path, nbytes: bytes.length, flags, data: addressOf(bytes), keep: bytes });
  }
}

function makeDirectory(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    if ((error as { code?: string }).code === "EEXIST") checkPlace(path);
    else
      guarded(path, () => {
        throw error;
      });
  }
}

/** A file goes where nothing is, or where a file is that may be replaced. */
function checkFile(job: FileJob): void {
  const path = job.path as string;
  const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) throw throughLink(path);
  if ((job.flags & JobFlag.exclusive) !== 0) {
    throw new OSError(`The file ${path} already exists.`, { path, errno: 17, code: "EEXIST" });
  }
  if (!stat.isFile()) throw new OSError(`${path} is not a regular file`, { path, code: "not_a_file" });
}

function throughLink(path: string): OSError {
  return new OSError(`Refusing to write memory-mapped tensor through symlink ${path}.`, { path, code: "symlink" });
}

/** A directory goes where nothing is, or where a directory is already. */
function checkPlace(path: string): void {
  const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) throw throughLink(path);
  if (!stat.isDirectory()) throw new OSError(`${path} exists and is no directory`, { path, errno: 20 });
}

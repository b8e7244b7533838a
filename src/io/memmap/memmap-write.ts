// Writes memory-mapped directories: one file per tensor, one `meta.json` per level, all files in one native batch.

import { JobFlag } from "../../../generated/abi.ts";
import { basename, dirname, existsSync, join, mkdirSync, readdirSync, statSync } from "../../runtime/node.ts";
import { RuntimeError } from "../../tensor/errors.ts";
import { Storage } from "../../tensor/storage.ts";
import { guarded } from "../base/errors.ts";
import { leftoversIn, sweepLeftovers } from "../base/leftovers.ts";
import { systemPath } from "../base/places.ts";
import { runSteps, type Steps, wait } from "../base/steps.ts";
import { AtomicDirectory } from "../disk/atomic-directory.ts";
import { checkFile, checkPlace, makeDirectory } from "../disk/directory-checks.ts";
import { DirectoryLock } from "../disk/directory-lock.ts";
import {
  discardEmpty,
  discardPath,
  inTurn,
  removed,
  replaceFile,
  requireDescriptor,
  temporaryBeside,
} from "../disk/durable.ts";
import { type BackgroundOptions, FileJobs, PART_BYTES, writing } from "../disk/file-jobs.ts";
import {
  fileBehind,
  inodesOf,
  type MappedFile,
  type MapRequest,
  makeRoomFor,
  mapFiles,
  mapFlags,
  mappedFileOf,
  mappingFiles,
  storageOf,
} from "../disk/mapping.ts";
import { requireRoom, takenBy } from "../disk/room.ts";
import { StagedDirectory, sweepStaged } from "../disk/staged-directory.ts";
import { StagedFiles } from "../disk/staged-files.ts";
import type { LeafWrite, TreeWrite } from "./tree.ts";
import { layingOutTree } from "./tree-layout.ts";

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
  /** It is written while the program goes on, aside: what is stopped leaves the files that were there. */
  background?: boolean;
}

/** A tensor's file. */
interface LeafFile {
  leaf: LeafWrite;
  /** Where it will be. */
  place: string;
  /** Where it is written. */
  path: string;
  nbytes: number;
  /** Its last job, which maps it unless it is written aside. */
  job: number;
}

/** Writes one directory. */
export class DirectoryWriter {
  private readonly jobs = new FileJobs();
  private readonly leaves: LeafFile[] = [];
  private readonly metas: { path: string; bytes: Uint8Array }[] = [];
  private readonly ready: (() => void)[] = [];
  private readonly stacks: { path: string; count: number }[] = [];
  private readonly directories: string[] = [];
  /** Every file that is written, and whether none may be there. */
  private readonly files: { path: string; exclusive: boolean }[] = [];
  /** Mapped files whose bytes are written. */
  private readonly sources = new Set<MappedFile>();
  private readonly target: string;
  private readonly root: string;
  private readonly atomic: AtomicDirectory | null;
  private readonly stage: StagedDirectory | null;
  /** The files that are written aside. */
  private readonly staged = new StagedFiles(this.jobs);
  /** Bytes that the disk has to have room for, and how many of them are copied from files. */
  private needed = 0;
  private copied = 0;
  /** What was not there before the save. */
  private readonly made: string[] = [];
  /** The outermost directory that was made for it to lie in. */
  private outermost: string | undefined;

  constructor(
    private readonly tree: TreeWrite,
    prefix: string,
    private readonly options: WriteOptions = {},
  ) {
    this.atomic = options.atomic ? new AtomicDirectory(prefix, options) : null;
    this.target = this.atomic?.target ?? systemPath(prefix);
    this.stage = options.background && this.atomic === null ? new StagedDirectory(this.target) : null;
    this.root = this.atomic?.path ?? this.stage?.path ?? this.target;
  }

  /**
   * Writes and maps everything, in steps. The sources must not change until then. What is written aside gets its place
   * when all of it is there: whatever stops it before leaves the files that are there.
   */
  *writing(options: BackgroundOptions = {}): Steps<void> {
    yield* this.planning();
    if (this.root === this.target) this.writeInPlace();
    else yield* this.writeAside(options);
    for (const done of this.ready) done();
  }

  private *writeAside(options: BackgroundOptions): Steps<void> {
    const threads = this.options.numThreads ?? 1;
    requireRoom(this.target, this.needed, this.copied);
    try {
      yield* this.prepareAside();
      this.staged.begin();
      const failed = yield* wait(
        () => this.jobs.run(threads),
        () => this.jobs.runInBackground(threads, options),
      );
      if (failed !== 0) this.jobs.throwFirstFailure();
      options.signal?.throwIfAborted();
      // Before it has the name: another save may take that right after.
      const storages = yield* mappingFiles(this.requests(), "r+", threads);
      yield* this.staged.requireStaged((path) => this.place(path));
      yield* inTurn(this.target, () => this.commit(options.signal));
      this.handOut(storages);
    } catch (error) {
      yield* this.aside().abandon();
      throw error;
    } finally {
      this.staged.close();
    }
  }

  /** Counts a tensor; a large one has to find room at once: its jobs would be without end. */
  private count({ bytes }: LeafWrite, place: string, nbytes: number): void {
    if (bytes === null) return;
    // Files that are written over have their blocks.
    const needed = this.root === this.target ? Math.max(0, nbytes - takenBy(place)) : nbytes;
    this.needed += needed;
    if ("file" in bytes && bytes.file) this.copied += needed;
    if (nbytes > PART_BYTES) requireRoom(this.target, this.needed, this.copied);
  }

  private aside(): AtomicDirectory | StagedDirectory {
    return this.atomic ?? (this.stage as StagedDirectory);
  }

  private writeInPlace(): void {
    requireDescriptor(this.root);
    requireRoom(this.target, this.needed, this.copied);
    makeRoomFor(this.leaves);
    using _ = this.enter();
    try {
      this.prepare();
      const aside = this.putAside();
      if (this.jobs.run(this.options.numThreads ?? 1) !== 0) this.jobs.throwFirstFailure();
      const storages = this.mapped.map((file) => {
        if (aside.has(file.place)) return mapFiles([requestFor(file)], "r+")[0] as Storage;
        return storageOf(this.jobs.result(file.job), file.place, "r+");
      });
      for (const [place, path] of aside) replaceFile(path, place);
      runSteps(this.removeStale());
      sweepStaged(this.target);
      this.handOut(storages);
    } catch (error) {
      for (const path of this.made.reverse()) discardPath(path);
      if (this.outermost !== undefined) discardEmpty(dirname(this.root), this.outermost);
      throw error;
    }
  }

  /** Makes the directory where it is missing, and waits until no other save is at work in it. */
  private enter(): DirectoryLock {
    for (;;) {
      const first = guarded(this.root, () => mkdirSync(this.root, { recursive: true }));
      const lock = DirectoryLock.take(this.root);
      if (existsSync(this.root)) {
        // What others have put there meanwhile is not this save's to remove.
        this.outermost = first;
        if (first !== undefined && isEmpty(this.root)) this.made.push(this.root);
        return lock;
      }
      // One that failed has removed what it had made.
      lock[Symbol.dispose]();
    }
  }

  /** Makes the jobs in small steps. Metadata comes last: it never names a tensor that was not written yet. */
  private *planning(): Steps<void> {
    yield* layingOutTree(this.tree, this.root, this.options.robustKey !== false, {
      join,
      directory: (path) => this.directories.push(path),
      leaf: (leaf, path) => this.leaf(leaf, path),
      file: (path, bytes) => this.metas.push({ path, bytes }),
      stack: (path, count) => this.stacks.push({ path: this.place(path), count }),
    });
    for (const { path, bytes } of this.metas) {
      this.small(path, bytes);
      yield;
    }
  }

  // Whatever is in the way is found before the first change.
  private prepare(): void {
    if (!isEmpty(this.root)) {
      for (const path of this.directories) checkPlace(path);
      for (const { path, exclusive } of this.files) if (!checkFile(path, exclusive)) this.made.push(path);
    }
    for (const path of this.directories) if (makeDirectory(path)) this.made.push(path);
  }

  private *prepareAside(): Steps<void> {
    if (this.stage !== null && existsSync(this.target)) {
      checkPlace(this.target, true);
      for (const path of this.directories) {
        checkPlace(this.place(path));
        yield;
      }
      for (const { path, exclusive } of this.files) {
        checkFile(this.place(path), exclusive);
        yield;
      }
    }
    this.aside().begin();
    for (const path of this.directories) {
      makeDirectory(path);
      yield;
    }
  }

  private get mapped(): LeafFile[] {
    return this.leaves.filter(({ leaf }) => leaf.onMapped !== undefined);
  }

  private requests(): MapRequest[] {
    return this.mapped.map(requestFor);
  }

  private handOut(storages: readonly Storage[]): void {
    for (const [i, { leaf }] of this.mapped.entries()) leaf.onMapped?.(storages[i] as Storage);
  }

  /**
   * A file that is there already and whose bytes are those of some tensor to be saved is not written over: the new one
   * is written beside it and takes its name at the end. Returns where those are, by place.
   */
  private putAside(): Map<string, string> {
    const aside = new Map<string, string>();
    if (this.sources.size === 0) return aside;
    const isSource = inodesOf(this.sources);
    for (const file of this.leaves) {
      if (!isSource(file.place)) continue;
      const path = temporaryBeside(file.place);
      const job = this.jobs.job(file.job);
      job.path = path;
      job.flags &= ~(JobFlag.map | JobFlag.shared);
      file.path = path;
      aside.set(file.place, path);
      this.made.push(path);
    }
    return aside;
  }

  private *commit(signal?: AbortSignal): Steps<void> {
    signal?.throwIfAborted();
    if (this.atomic !== null) return yield* this.atomic.commit(signal);
    const files = this.files.map(({ path }) => path);
    const check = () => {
      for (const { path, exclusive } of this.files) if (exclusive) checkFile(this.place(path), true);
    };
    const done = () => this.removeStale();
    const exclusive = new Set(this.files.flatMap(({ path, exclusive }) => (exclusive ? [path] : [])));
    const options = {
      sync: this.options.fsync === true,
      exclusive,
      check,
      done,
      ...(signal === undefined ? {} : { signal }),
    };
    yield* (this.stage as StagedDirectory).commit(this.directories, files, options);
  }

  /** Removes what earlier saves left: members of longer stacks, and unfinished files. */
  private *removeStale(): Steps<void> {
    for (const path of this.staleMembers()) yield* removed(path);
    const places = this.files.map(({ path }) => this.place(path));
    for (const [directory, names] of filesByDirectory(places)) {
      yield;
      sweepLeftovers(directory, leftoversIn(directory, names));
    }
  }

  /** Where a file will be. */
  private place(path: string): string {
    return this.target + path.slice(this.root.length);
  }

  // The format stores no count of members, so those of an earlier, longer stack would be read back as well.
  private *staleMembers(): Generator<string> {
    for (const { path, count } of this.stacks) {
      for (let i = count; ; i++) {
        const member = join(path, String(i));
        if (!statSync(join(member, "meta.json"), { throwIfNoEntry: false })) break;
        yield member;
      }
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
    if (leaf.source !== undefined) {
      const storage = leaf.source;
      const source = fileBehind(storage);
      if (source !== null) this.sources.add(source);
      const own = this.atomic === null && !exclusive ? mappedFileOf(storage) : null;
      const isOwn = own?.path === place && own.mode === "r+" && own.isAt(place);
      if (isOwn && bytes !== null && "address" in bytes && bytes.address === storage.ptr) {
        // The bytes are this very file's.
        this.ready.push(() => leaf.onMapped?.(storage));
        return;
      }
    }
    this.count(leaf, place, nbytes);
    this.files.push({ path, exclusive });
    this.leaves.push({ leaf, place, path, nbytes, job: this.leafJobs(leaf, path, nbytes, exclusive) });
  }

  /** What is written aside goes in parts and is mapped when all of it is there. */
  private leafJobs({ bytes, onMapped }: LeafWrite, path: string, nbytes: number, exclusive: boolean): number {
    const aside = this.root !== this.target;
    const mapNow = onMapped !== undefined && !aside;
    const once = aside ? 0 : (exclusive ? JobFlag.exclusive : 0) | (bytes === null ? 0 : JobFlag.replace);
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const most = aside && bytes !== null ? PART_BYTES : nbytes;
    const create = aside ? this.staged.next(path, nbytes, nbytes > most) : JobFlag.create;
    const open = create | JobFlag.noFollow | (mapNow ? mapFlags("r+") : JobFlag.writable);
    const flags = open | once | fsync;
    let last = 0;
    for (let at = 0; at < nbytes; at += most) {
      const part = bytes === null ? { nbytes, flags: JobFlag.grow } : writing(bytes, at, Math.min(most, nbytes - at));
      last = this.jobs.add({ ...part, path, offset: at, flags: flags | part.flags });
    }
    return last;
  }

  private syncs(): boolean {
    return this.options.fsync === true || this.atomic !== null;
  }

  private small(path: string, bytes: Uint8Array): void {
    const fsync = this.syncs() ? JobFlag.fsync : 0;
    const create = this.root !== this.target ? this.staged.next(path, bytes.length) : JobFlag.create | JobFlag.replace;
    const flags = create | JobFlag.noFollow | JobFlag.writable | fsync;
    this.files.push({ path, exclusive: false });
    const part = writing(bytes, 0, bytes.length);
    this.jobs.add({ ...part, path, flags: flags | part.flags });
  }
}

/** The names of files by the directory that they lie in. */
function filesByDirectory(paths: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of paths) {
    const directory = dirname(path);
    const names = found.get(directory) ?? new Set();
    found.set(directory, names.add(basename(path)));
  }
  return found;
}

function isEmpty(directory: string): boolean {
  return guarded(directory, () => readdirSync(directory)).length === 0;
}

function requestFor({ path, place, nbytes }: LeafFile): MapRequest {
  return path === place ? { path, nbytes } : { path, nbytes, name: place };
}

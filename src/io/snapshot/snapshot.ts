// Snapshots: the state of several objects in one directory, in torchsnapshot's format.

import { inOrder, installChecks } from "../../tensor/checks.ts";
import { KeyError, warn } from "../../tensor/errors.ts";
import { setOwn } from "../../tensor/objects.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { absolutePath } from "../base/places.ts";
import { CONSTRUCTORS, METHODS, STATICS } from "../base/signatures.ts";
import { Slices } from "../base/slices.ts";
import { requireText } from "../base/well-formed.ts";
import type { BackgroundOptions } from "../disk/file-jobs.ts";
import { Folder, type FolderOptions } from "../disk/folder.ts";
import { readSmallFile } from "../disk/small-file.ts";
import { stageSnapshot, writeStaged } from "./snapshot-later.ts";
import { escapeComponent, type Manifest, METADATA_FILE, readManifest } from "./snapshot-manifest.ts";
import { SnapshotReader, type SnapshotReadOptions } from "./snapshot-read.ts";
import { requireNoSnapshot, type SnapshotWriteOptions, SnapshotWriter } from "./snapshot-write.ts";

/** An object whose state can be saved. @torch torchsnapshot.Stateful */
export interface Stateful {
  /** Its state: tensors, numbers, texts, lists and objects of them. */
  stateDict(): unknown;
  /** Takes such a state. */
  loadStateDict(state: never): unknown;
}

/**
 * Values that are saved as they are.
 * @example
 * ```ts
 * new io.StateDict({ epoch: 3 }).values.epoch // 3
 * ```
 * @torch torchsnapshot.StateDict
 */
export class StateDict implements Stateful {
  /** The values by key. */
  values: Record<string, unknown>;
  constructor(values: Record<string, unknown>) {
    [values = {}] = inOrder<[Record<string, unknown>?]>("StateDict", CONSTRUCTORS.StateDict, arguments);
    this.values = { ...values };
  }
  stateDict(): Record<string, unknown> {
    return this.values;
  }
  loadStateDict(state: Record<string, unknown>): void {
    for (const [key, value] of Object.entries(state)) setOwn(this.values, key, value);
  }
}
installChecks(StateDict.prototype, METHODS.StateDict);

/** Objects by name. */
export type AppState = Readonly<Record<string, Stateful>>;

/** What a snapshot is taken of, and how. */
export interface TakeOptions extends SnapshotWriteOptions {
  /** A directory that holds no snapshot yet. */
  path: string;
  /** What is saved, by name. */
  appState: AppState;
}

/** What is restored, and how. */
export interface RestoreOptions extends SnapshotReadOptions {
  /** What is restored, by the names of `take`. */
  appState: AppState;
}

/** Longest manifest, in bytes. */
const MAX_MANIFEST_BYTES = 1024 * 1024 * 1024;

function plan(options: TakeOptions, root: string): SnapshotWriter {
  const writer = new SnapshotWriter(options, root);
  for (const [key, object] of Object.entries(options.appState)) {
    requireText(key, () => `the key ${JSON.stringify(key)}`);
    writer.add(`0/${escapeComponent(key)}`, object.stateDict());
  }
  return writer;
}

/**
 * A snapshot that is being written.
 * @example
 * ```ts
 * const state = new io.StateDict({ weight: ones(2) });
 * const pending = await io.Snapshot.asyncTake({ path: "snapshot", appState: { state } });
 * const snapshot = await pending.wait();
 * [pending.done(), pending.path === snapshot.path] // [true, true]
 * ```
 * @torch torchsnapshot.PendingSnapshot
 */
export class PendingSnapshot {
  private readonly written: Promise<void>;
  private over = false;

  /** @internal */
  constructor(
    /** Where the snapshot will be. */
    readonly path: string,
    written: Promise<void>,
  ) {
    this.written = written.finally(() => {
      this.over = true;
    });
    // Whoever does not wait is told here; whoever does gets the error there.
    this.written.catch((error) => {
      if ((error as Error)?.name !== "AbortError") warn(`the snapshot ${path} could not be written: ${String(error)}`);
    });
  }

  /** The snapshot, when it is complete; the error that stopped it otherwise. @torch PendingSnapshot.wait */
  async wait(): Promise<Snapshot> {
    await this.written;
    return new Snapshot(this.path);
  }

  /** Whether writing is over, well or not. @torch PendingSnapshot.done */
  done(): boolean {
    return this.over;
  }
}
installChecks(PendingSnapshot.prototype, METHODS.PendingSnapshot);

/**
 * A directory that holds the state of several objects.
 * @example
 * ```ts
 * const state = new io.StateDict({ weight: ones(2) });
 * const snapshot = io.Snapshot.take({ path: "snapshot", appState: { state } });
 * [snapshot.path.endsWith("snapshot"), snapshot.worldSize, [...snapshot.manifest.keys()].length > 0]
 * // [true, 1, true]
 * ```
 * @torch torchsnapshot.Snapshot
 */
export class Snapshot {
  /** Where it is. */
  readonly path: string;
  /** Entries by path, which begins with the number of a process. */
  readonly manifest: Manifest;
  /** How many processes took it. */
  readonly worldSize: number;

  readonly #folder: Folder;

  /** Opens a snapshot that was taken before. `followLinks` lets symbolic links lead out of its folder. */
  constructor(path: string, options: FolderOptions = {}) {
    [path, options = {}] = inOrder<[string, FolderOptions?]>("Snapshot", CONSTRUCTORS.Snapshot, arguments);
    this.path = absolutePath(path);
    this.#folder = new Folder(this.path, options.followLinks);
    const file = this.#folder.place(METADATA_FILE);
    const { manifest, worldSize } = readManifest(readSmallFile(file, MAX_MANIFEST_BYTES), file);
    this.manifest = manifest;
    this.worldSize = worldSize;
  }

  /**
   * Saves the state of every object: tensors in files of their own, all else in the manifest, which comes last. Large
   * tensors are split; small ones share files when `slabBytes` is given.
   * @throws FormatError for a value that torchsnapshot would pickle, or where a snapshot is already
   * @torch Snapshot.take
   */
  static take(options: TakeOptions): Snapshot {
    const root = absolutePath(options.path);
    requireNoSnapshot(root);
    plan(options, root).write(root);
    return new Snapshot(root);
  }

  /**
   * `take` while the program goes on. The promise resolves when all tensors are copied: from then on they may change,
   * and the snapshot has what they held. Writing goes on in native threads; a signal or an error leaves nothing of it.
   * The copies take as much memory as the tensors until they are written.
   * @example
   * ```ts
   * const state = new io.StateDict({ step: 3, weight: ones(2) });
   * const folder = `/tmp/zensor-snapshot-${Date.now()}`;
   * const pending = await io.Snapshot.asyncTake({ path: folder, appState: { state } });
   * (await pending.wait()).readObject("0/state/weight") // tensor([1., 1.])
   * ```
   * @torch Snapshot.async_take
   */
  static async asyncTake(options: TakeOptions & BackgroundOptions): Promise<PendingSnapshot> {
    const { signal } = options;
    signal?.throwIfAborted();
    const root = absolutePath(options.path);
    requireNoSnapshot(root);
    const content = await stageSnapshot(() => plan(options, root).stage(root), signal);
    return new PendingSnapshot(root, writeStaged(content, root, options));
  }

  /**
   * Loads the state of every object named in `appState`. Tensors of the same shape and dtype that an object has already
   * are filled in place, mapped ones too: with `memoryBudgetBytes` no more than that of them is in memory at a time.
   * Pieces that several processes saved are put together; `rank` says whose other values are meant.
   * @torch Snapshot.restore
   */
  restore(options: RestoreOptions): void {
    const reader = new SnapshotReader(this.#folder, this, options);
    for (const [key, object] of Object.entries(options.appState)) {
      object.loadStateDict(reader.state(key, object.stateDict()) as never);
    }
  }

  /**
   * `restore` while the program goes on: native threads read. Tensors that are filled in place must not be used until
   * it is done; a signal leaves some of them filled, and calls no `loadStateDict`.
   */
  async restoreAsync(options: RestoreOptions & BackgroundOptions): Promise<void> {
    const slices = new Slices(options.signal);
    const reader = new SnapshotReader(this.#folder, this, options);
    const states = Object.entries(options.appState).map(([key, object]): [Stateful, unknown] => {
      return [object, reader.plan(() => reader.state(key, object.stateDict()))];
    });
    await reader.read(options, slices);
    for (const [object, state] of states) object.loadStateDict(state as never);
  }

  /**
   * One value, by its path in the manifest: "0/state/a".
   * @param options `into`: a tensor that is filled and returned if its shape and dtype are those saved
   * @torch Snapshot.read_object
   */
  readObject(path: string, options: { into?: Tensor } & Omit<SnapshotReadOptions, "rank"> = {}): unknown {
    const [, rank, logical] = /^(\d{1,9})\/(.*)$/s.exec(path) ?? [];
    if (rank === undefined || logical === undefined) {
      throw new KeyError(`the snapshot has no entry ${JSON.stringify(path)}`);
    }
    const { into, ...rest } = options;
    return new SnapshotReader(this.#folder, this, { ...rest, rank: Number(rank) }).value(logical, into);
  }
}
installChecks(Snapshot.prototype, METHODS.Snapshot);
installChecks(Snapshot, STATICS.Snapshot);

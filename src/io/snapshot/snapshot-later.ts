// Snapshots that are written while the program goes on: aside first, with the manifest as the last file to be moved.

import { JobFlag } from "../../../generated/abi.ts";
import { marks } from "../../dispatch/staging.ts";
import { join } from "../../runtime/node.ts";
import { Storage } from "../../tensor/storage.ts";
import { makeContiguous, Tensor } from "../../tensor/tensor.ts";
import { Slices } from "../base/slices.ts";
import { runStepsLater } from "../base/steps.ts";
import { replaceText } from "../disk/durable.ts";
import { type BackgroundOptions, FileJobs, PART_BYTES, writing } from "../disk/file-jobs.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { StagedDirectory } from "../disk/staged-directory.ts";
import { StagedFiles } from "../disk/staged-files.ts";
import { CopyRoom, copyingTensor } from "../disk/strided-bytes.ts";
import { AT_ONCE_BYTES, denseCopy, nativeBytes } from "../disk/tensor-bytes.ts";
import { saveTorchAsync } from "../torch/torch-save.ts";
import { METADATA_FILE } from "./snapshot-manifest.ts";
import {
  EMPTY,
  makeParents,
  manifestOf,
  requireNoSnapshot,
  type SnapshotWriteOptions,
  type StagedContent,
} from "./snapshot-write.ts";

/** A snapshot that depends on nothing any more, and waits to be written. */
export interface Staged {
  content: StagedContent;
  /** The memory of its large tensors. */
  rooms: CopyRoom[];
}

/** Plans a snapshot and copies all that the program may change; resolves when it may. */
export async function stageSnapshot(plan: () => StagedContent, signal?: AbortSignal): Promise<Staged> {
  const slices = new Slices(signal);
  // The program may choose other streams while this pauses.
  const here = marks.here();
  const content = plan();
  const rooms: CopyRoom[] = [];
  const copied = async (tensor: Tensor): Promise<Tensor> => {
    if (slices.over) await slices.pause();
    const nbytes = tensor._numel * tensor.dtype.itemsize;
    if (nbytes <= AT_ONCE_BYTES || tensor.isMeta) return here(() => denseCopy(tensor));
    const room = new CopyRoom(nbytes);
    rooms.push(room);
    const copy = makeContiguous(Storage.borrow(room.address, nbytes, room), [...tensor._shape], tensor.dtype);
    const steps = here(() => copyingTensor(copy, tensor.detach()));
    await runStepsLater(steps, signal);
    return copy;
  };
  try {
    const tensors = [];
    for (const each of content.tensors) tensors.push({ ...each, tensor: await copied(each.tensor) });
    const objects = [];
    for (const { location, value } of content.objects) {
      objects.push({ location, value: value instanceof Tensor ? await copied(value) : value });
    }
    return { content: { ...content, tensors, objects }, rooms };
  } catch (error) {
    await released(rooms);
    throw error;
  }
}

async function released(rooms: readonly CopyRoom[]): Promise<void> {
  const slices = new Slices();
  for (const room of rooms) await room.releaseInSlices(slices);
}

function addJobs(
  { tensors }: StagedContent,
  root: string,
  fsync: boolean,
  { jobs, staged }: { jobs: FileJobs; staged: StagedFiles },
): void {
  const flags = JobFlag.writable | JobFlag.noFollow | (fsync ? JobFlag.fsync : 0);
  const sizes = new Map<string, number>();
  for (const { location, offset, tensor } of tensors) {
    const path = join(root, location);
    const bytes = nativeBytes(tensor);
    sizes.set(path, Math.max(sizes.get(path) ?? 0, offset + bytes.nbytes));
    const add = (data: TensorBytes | Uint8Array, at: number, nbytes: number) => {
      const part = writing(data, at, nbytes);
      jobs.add({ ...part, path, offset: offset + at, flags: flags | part.flags });
    };
    // A tensor without elements has a file as well.
    if (bytes.nbytes === 0) add(EMPTY, 0, 0);
    for (let at = 0; at < bytes.nbytes; at += PART_BYTES) add(bytes, at, Math.min(PART_BYTES, bytes.nbytes - at));
  }
  // Several tensors may share a file.
  for (const [path, nbytes] of sizes) staged.next(path, nbytes, true);
}

/** Writes what was staged. A signal or an error leaves no file of it. */
export async function writeStaged(
  { content, rooms }: Staged,
  root: string,
  options: SnapshotWriteOptions & BackgroundOptions,
): Promise<void> {
  const fsync = options.fsync === true;
  const slices = new Slices(options.signal);
  const stage = new StagedDirectory(root);
  const jobs = new FileJobs();
  const staged = new StagedFiles(jobs);
  try {
    stage.begin();
    const made = new Set<string>();
    for (const location of content.locations) {
      makeParents(stage.path, location.split("/").slice(0, -1), made);
      if (slices.over) await slices.pause();
    }
    for (const { location, value } of content.objects) {
      const { signal } = options;
      staged.add(join(stage.path, location));
      await saveTorchAsync(value, join(stage.path, location), { fsync, ...(signal === undefined ? {} : { signal }) });
    }
    addJobs(content, stage.path, fsync, { jobs, staged });
    staged.begin();
    if ((await jobs.runInBackground(options.numThreads ?? 1, options)) !== 0) jobs.throwFirstFailure();
    replaceText(join(stage.path, METADATA_FILE), content.manifest, { sync: fsync });
    options.signal?.throwIfAborted();
    staged.add(join(stage.path, METADATA_FILE));
    await runStepsLater(staged.requireStaged((path) => stage.place(path)));
    const files = [...content.locations, METADATA_FILE].map((location) => join(stage.path, location));
    const check = () => requireNoSnapshot(root);
    const commit = {
      sync: fsync,
      exclusive: manifestOf(stage),
      check,
      ...(options.signal && { signal: options.signal }),
    };
    await runStepsLater(stage.commit([...made], files, commit));
  } catch (error) {
    await runStepsLater(stage.abandon());
    throw error;
  } finally {
    staged.close();
    await released(rooms);
  }
}

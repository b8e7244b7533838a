// Snapshots that are written while the program goes on: aside first, with the manifest as the last file to be moved.
import { join } from "node:path";
import { addressOf } from "../ffi/library.ts";
import { replaceText } from "./durable.ts";
import { type BackgroundOptions, FileJobs, JobFlag, PART_BYTES } from "./file-jobs.ts";
import { Slices } from "./slices.ts";
import { METADATA_FILE } from "./snapshot-manifest.ts";
import { EMPTY, makeParents, type SnapshotWriteOptions, type StagedContent } from "./snapshot-write.ts";
import { StagedDirectory } from "./staged-directory.ts";
import { type LaterCopies, planCopies } from "./tensor-bytes.ts";
import { saveTorchAsync } from "./torch-save.ts";

/** A snapshot that waits to be written. */
export interface Staged {
  content: StagedContent;
  copies: LaterCopies;
}

/** Plans a snapshot and copies all that the program may change; resolves when it may. */
export async function stageSnapshot(plan: () => StagedContent, slices: Slices): Promise<Staged> {
  const { planned, copies } = planCopies(plan, true);
  try {
    await copies.make(slices);
  } catch (error) {
    await copies.release();
    throw error;
  }
  return { content: planned, copies };
}

function jobsFor({ tensors }: StagedContent, root: string, fsync: boolean): FileJobs {
  const jobs = new FileJobs();
  const flags = JobFlag.write | JobFlag.create | JobFlag.noFollow | (fsync ? JobFlag.fsync : 0);
  for (const { location, offset, bytes } of tensors) {
    const path = join(root, location);
    // A tensor without elements has a file as well.
    if (bytes.nbytes === 0) jobs.add({ path, offset, nbytes: 0, data: addressOf(EMPTY), flags });
    for (let at = 0; at < bytes.nbytes; at += PART_BYTES) {
      const nbytes = Math.min(PART_BYTES, bytes.nbytes - at);
      jobs.add({ path, offset: offset + at, nbytes, data: bytes.address + at, flags, keep: bytes.keep });
    }
  }
  return jobs;
}

/** Writes what was staged. A signal or an error leaves no file of it. */
export async function writeStaged(
  { content, copies }: Staged,
  root: string,
  options: SnapshotWriteOptions & BackgroundOptions,
): Promise<void> {
  const fsync = options.fsync === true;
  const slices = new Slices(options.signal);
  const stage = new StagedDirectory(root);
  try {
    stage.begin();
    const made = new Set<string>();
    for (const location of content.locations) {
      makeParents(stage.path, location.split("/").slice(0, -1), made);
      if (slices.over) await slices.pause();
    }
    for (const { location, value } of content.objects) {
      const { signal } = options;
      await saveTorchAsync(value, join(stage.path, location), { fsync, ...(signal === undefined ? {} : { signal }) });
    }
    const jobs = jobsFor(content, stage.path, fsync);
    if ((await jobs.runInBackground(options.numThreads ?? 1, options)) !== 0) jobs.throwFirstFailure();
    replaceText(join(stage.path, METADATA_FILE), content.manifest, fsync);
    options.signal?.throwIfAborted();
    const files = [...content.locations, METADATA_FILE].map((location) => join(stage.path, location));
    await stage.commit([...made], files, fsync, new Slices());
  } catch (error) {
    await stage.abandon();
    throw error;
  } finally {
    await copies.release();
  }
}

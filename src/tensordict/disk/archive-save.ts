// Saves collections as archives: the files of a memory-mapped directory in one zip file.

import { guarded } from "../../io/base/errors.ts";
import { absoluteFile, realTarget } from "../../io/base/places.ts";
import { runSteps, runStepsLater, type Steps } from "../../io/base/steps.ts";
import type { BackgroundOptions } from "../../io/disk/file-jobs.ts";
import { archiveCompression, archiveEntries } from "../../io/memmap/memmap-archive.ts";
import { isRemote } from "../../io/store/s3.ts";
import { writingZip } from "../../io/store/single-file.ts";
import type { ZipWriteEntry } from "../../io/zip/zip-write.ts";
import { statSync } from "../../runtime/node.ts";
import { CPU } from "../../tensor/device.ts";
import { RuntimeError, ValueError } from "../../tensor/errors.ts";
import type { Td } from "../core/state.ts";
import { loadArchive } from "./archive-load.ts";
import { type MemmapOptions, planTree, requireSavable } from "./memmap-save.ts";

/** Whether a save goes into an archive. Throws `ValueError` for options that contradict each other. */
export function wantsArchive(prefix: string | null | undefined, options: MemmapOptions): prefix is string {
  const archive = options.archive ?? prefix?.endsWith(".tdz") ?? false;
  if (archive && (prefix === null || prefix === undefined)) {
    throw new ValueError("A path is required to write a memmap archive.");
  }
  if (!archive && options.compression != null) {
    throw new ValueError(
      "compression is only supported when writing a memmap archive (pass archive=True or use a '.tdz' prefix).",
    );
  }
  return archive;
}

/** An archive that is laid out but not yet written. */
export class ArchiveSave {
  private readonly path: string;

  constructor(
    private readonly td: Td,
    prefix: string,
    private readonly options: MemmapOptions,
    /** Only shapes are taken, bytes stay zero, and the result writes into the file. */
    private readonly like: boolean,
  ) {
    requireSavable(td, "memory-mapped");
    if (isRemote(prefix)) throw new ValueError(`Archives are written to files of this machine, not to ${prefix}.`);
    const path = realTarget(absoluteFile(prefix));
    const stat = guarded(path, () => statSync(path, { throwIfNoEntry: false }));
    if (stat?.isDirectory()) {
      throw new ValueError(`Cannot write an archive at ${prefix}: it is an existing directory.`);
    }
    if (stat !== undefined && options.existsok === false) {
      throw new RuntimeError(
        `A file already exists at ${prefix}, cannot save the tensordict there. Set existsok=True to overwrite.`,
      );
    }
    this.path = path;
  }

  private entries(): ZipWriteEntry[] {
    const { td, options, like, path } = this;
    const compression = archiveCompression(options.compression);
    // Tensors that are mapped from files are copied: an archive is never the file they came from.
    const context = { options: { ...options, copyExisting: true }, like, inplace: false };
    const { write } = planTree(td, path, context);
    return archiveEntries(write, { robustKey: options.robustKey !== false, compression });
  }

  /** A file is replaced in one step always; `atomic` sees to it that the disk has it. */
  private writeOptions(): MemmapOptions {
    return { ...this.options, fsync: this.options.fsync === true || this.options.atomic === true };
  }

  /** Writes the archive, and gives what it holds. */
  run(): Td {
    return runSteps(this.writing({}));
  }

  /** The same while the program goes on. The sources must not change until then. */
  async runInBackground(options: BackgroundOptions): Promise<Td> {
    return await runStepsLater(this.writing(options), options.signal);
  }

  private writing(options: BackgroundOptions): Steps<Td> {
    const all = { ...this.writeOptions(), ...options };
    return writingZip(
      this.path,
      () => this.entries(),
      "tensordict",
      all,
      (path) => this.loaded(path),
    );
  }

  private loaded(path: string): Td {
    return loadArchive(path, CPU, this.like ? { mode: "r+", name: this.path } : { name: this.path });
  }
}

// Checks of formats that consist of files: whether every file is there, has the bytes it should have, and belongs.
import { lstatSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { boxVolume, fillExactly } from "../io/base/boxes.ts";
import { namesIn, pathIn, systemName } from "../io/base/byte-names.ts";
import { FormatError, guarded } from "../io/base/errors.ts";
import { systemPath } from "../io/base/places.ts";
import { Folder } from "../io/disk/folder.ts";
import { MemmapArchive } from "../io/memmap/memmap-archive.ts";
import { readDirectory, readTree } from "../io/memmap/memmap-read.ts";
import { sizesPath } from "../io/memmap/nested-read.ts";
import type { TreeNode } from "../io/memmap/tree.ts";
import { Snapshot } from "../io/snapshot/snapshot.ts";
import { type ManifestEntry, METADATA_FILE, type Piece, type TensorEntry } from "../io/snapshot/snapshot-manifest.ts";
import { loadTorch } from "../io/torch/torch-file.ts";
import type { Trust } from "./collections.ts";
import type { Report } from "./report.ts";

const MAX_DEPTH = 256;

/** A path from a directory on: the runtime's function loses bytes that are no UTF-8. */
function below(root: string, path: string): string {
  return path.startsWith(`${root}/`) ? path.slice(root.length + 1) : relative(root, path);
}

/** Bytes of every file by path; null where any number will do, and where it may be missing (`optional`). */
interface Expected {
  nbytes: number | null;
  optional: boolean;
}

function expectedFiles(node: TreeNode, found = new Map<string, Expected>()): Map<string, Expected> {
  const add = (name: string, optional: boolean) => found.set(join(node.path, name), { nbytes: null, optional });
  add("meta.json", false);
  switch (node.kind) {
    case "tensordict":
      for (const entry of node.entries.values()) {
        if (entry.kind !== "leaf" && entry.kind !== "nested") {
          expectedFiles(entry, found);
          continue;
        }
        // Without elements there is no file, or an empty one.
        const { nbytes } = (entry.kind === "nested" ? entry.values : entry).meta;
        found.set(entry.path, { nbytes, optional: nbytes === 0 });
        if (entry.kind === "leaf") continue;
        const sizes = entry.sizes.length * 8;
        found.set(sizesPath(entry.path), { nbytes: sizes, optional: sizes === 0 });
      }
      break;
    case "lazy":
      for (const member of node.members) expectedFiles(member, found);
      break;
    case "tensorclass":
      expectedFiles(node.inner, found);
      break;
    case "nonTensor":
    case "nonTensorStack":
      for (const name of ["other.pickle", "pickle.pkl", "json_types.json"]) add(name, true);
  }
  return found;
}

/** Compares the objects of a directory in a store with what its metadata says. Paths begin with `root`. */
export function checkObjects(root: string, node: TreeNode, actual: Map<string, number>, report: Report): void {
  compareFiles(root, expectedFiles(node), actual, report);
}

function compareFiles(
  root: string,
  expected: Map<string, Expected>,
  actual: Map<string, number>,
  report: Report,
): void {
  for (const [path, nbytes] of actual) {
    const known = expected.get(path);
    const where = below(root, path);
    if (known === undefined) report.problem(where, "belongs to nothing");
    else if (known.nbytes !== null && known.nbytes !== nbytes) {
      report.problem(where, `has ${nbytes} bytes, its tensor ${known.nbytes}`);
    }
  }
  for (const [path, { optional }] of expected) {
    if (!optional && !actual.has(path)) report.problem(below(root, path), "is missing");
  }
}

/** Files below a directory and their sizes; directories without anything are a problem. */
function filesBelow(
  root: string,
  report: Report,
  followLinks = false,
  path = root,
  depth = 0,
  found = new Map<string, number>(),
): Map<string, number> {
  if (depth > MAX_DEPTH) throw new FormatError("directories are nested too deeply", path);
  const names = guarded(path, () => namesIn(path));
  if (names.length === 0) report.problem(below(root, path), "is an empty directory");
  for (const name of names) {
    const file = pathIn(path, name);
    const place = systemName(file);
    const linked = followLinks ? guarded(file, () => statSync(place, { throwIfNoEntry: false })) : undefined;
    const stat = linked ?? guarded(file, () => lstatSync(place));
    if (stat.isDirectory()) filesBelow(root, report, followLinks, file, depth + 1, found);
    else if (stat.isFile()) found.set(file, stat.size);
    else {
      const target = stat.isSymbolicLink() ? statSync(place, { throwIfNoEntry: false }) : undefined;
      report.problem(below(root, file), stat.isSymbolicLink() ? "is a link" : "is no file");
      if (target?.isFile()) found.set(file, target.size);
    }
  }
  return found;
}

/** Compares the files of a memory-mapped directory with what its metadata says. */
export function checkDirectory(path: string, report: Report, { followLinks = false }: Trust = {}): void {
  const root = systemPath(path);
  const expected = expectedFiles(readDirectory(root, { followLinks }));
  compareFiles(root, expected, filesBelow(root, report, followLinks), report);
}

/** Compares the entries of an archive with what its metadata says. */
export function checkArchive(path: string, report: Report): void {
  const archive = new MemmapArchive(path);
  const root = archive.zip.path;
  const actual = new Map([...archive.zip.entries.values()].map(({ name, nbytes }) => [join(root, name), nbytes]));
  compareFiles(root, expectedFiles(readTree(archive, root)), actual, report);
}

/** Runs of bytes in one file of a snapshot. */
interface Run {
  begin: number;
  end: number;
  where: string;
}

class SnapshotCheck {
  private readonly runs = new Map<string, Run[]>();
  private readonly files = new Set<string>();
  private readonly sharded = new Map<string, Piece[]>();
  private readonly folder: Folder;

  constructor(
    private readonly root: string,
    private readonly report: Report,
    private readonly trust: Trust,
  ) {
    this.folder = new Folder(root, trust.followLinks);
  }

  private tensor(entry: TensorEntry, where: string): void {
    const nbytes = boxVolume(entry.shape) * entry.dtype.itemsize;
    const path = join(this.root, entry.location);
    const size = statSync(path, { throwIfNoEntry: false })?.size;
    this.files.add(path);
    if (size === undefined) {
      // Without elements nothing is read.
      if (nbytes > 0) this.report.problem(entry.location, "is missing");
      return;
    }
    const [begin, end] = entry.byteRange ?? [0, size];
    if (end > size || end - begin !== nbytes) {
      this.report.problem(where, `bytes ${begin} to ${end} of ${size} in ${entry.location}, its tensor has ${nbytes}`);
    } else if (nbytes > 0) {
      const runs = this.runs.get(path) ?? [];
      this.runs.set(path, runs);
      runs.push({ begin, end, where });
    }
  }

  private pieces(shape: readonly number[], pieces: readonly Piece[], where: string): void {
    if (!fillExactly(shape, pieces)) this.report.problem(where, "its pieces do not fill it exactly");
    for (const { tensor } of pieces) this.tensor(tensor, where);
  }

  entry(path: string, entry: ManifestEntry, snapshot: Snapshot): void {
    switch (entry.type) {
      case "Tensor":
        this.tensor(entry, path);
        return;
      case "ChunkedTensor":
        this.pieces(entry.shape, entry.chunks, path);
        return;
      case "ShardedTensor":
      case "DTensor": {
        const logical = path.slice(path.indexOf("/") + 1);
        this.sharded.set(logical, [...(this.sharded.get(logical) ?? []), ...entry.shards]);
        return;
      }
      case "object": {
        this.files.add(join(this.root, entry.location));
        try {
          const { maxBytes } = this.trust;
          loadTorch(this.folder.place(entry.location), maxBytes === undefined ? {} : { maxBytes });
        } catch (error) {
          this.report.problem(path, (error as Error).message);
        }
        return;
      }
      case "unsupported":
        this.report.problem(path, `${entry.what} can only be read by Python`);
        return;
      case "dict":
      case "OrderedDict":
        for (const key of entry.keys) {
          const inner = `${path}/${String(key).replaceAll("%", "%25").replaceAll("/", "%2F")}`;
          if (!snapshot.manifest.has(inner)) this.report.problem(inner, "is missing in the manifest");
        }
    }
  }

  finish(): void {
    for (const [logical, shards] of this.sharded) {
      const different = [...new Map(shards.map((one) => [`${one.offsets}:${one.sizes}`, one])).values()];
      const rank = different[0]?.offsets.length ?? 0;
      const shape = Array.from({ length: rank }, (_, i) =>
        different.reduce((end, one) => Math.max(end, (one.offsets[i] ?? 0) + (one.sizes[i] ?? 0)), 0),
      );
      this.pieces(shape, different, logical);
    }
    for (const [path, runs] of this.runs) this.fileRuns(path, runs);
    for (const path of filesBelow(this.root, this.report, this.trust.followLinks).keys()) {
      const known = path === join(this.root, METADATA_FILE) || this.files.has(path);
      if (!known) this.report.problem(relative(this.root, path), "belongs to nothing");
    }
  }

  /** Tensors that share a file stand one after the other; replicas are at the same place. */
  private fileRuns(path: string, runs: Run[]): void {
    const where = relative(this.root, path);
    let before: Run = { begin: 0, end: 0, where: "" };
    for (const run of runs.sort((a, b) => a.begin - b.begin || a.end - b.end)) {
      if (run.begin === before.begin && run.end === before.end) continue;
      if (run.begin < before.end) this.report.problem(run.where, `shares bytes of ${where} with ${before.where}`);
      if (run.begin > before.end) this.report.problem(where, `bytes ${before.end} to ${run.begin} belong to nothing`);
      before = run;
    }
    const { size } = statSync(path);
    if (size > before.end) this.report.problem(where, `bytes ${before.end} to ${size} belong to nothing`);
  }
}

/** Compares the files of a snapshot with its manifest. */
export function checkSnapshot(path: string, report: Report, trust: Trust = {}): void {
  const { followLinks = false } = trust;
  const snapshot = new Snapshot(path, { followLinks });
  const check = new SnapshotCheck(snapshot.path, report, trust);
  for (const [name, entry] of snapshot.manifest) check.entry(name, entry, snapshot);
  check.finish();
}

// Checksums of tensors by name, whatever format they are in: SHA-256 of their elements, row by row, little-endian.

import { lstatSync } from "node:fs";
import { FormatError } from "../io/base/errors.ts";
import { isInside } from "../io/base/paths.ts";
import { absoluteFile, realPlace, realTarget } from "../io/base/places.ts";
import { parsePythonJsonObject } from "../io/base/python-json.ts";
import { UnknownArray } from "../io/base/unknown-array.ts";
import { replaceText } from "../io/disk/durable.ts";
import { FileRanges } from "../io/disk/file-ranges.ts";
import { readSmallFile } from "../io/disk/small-file.ts";
import { nativeBytes } from "../io/disk/tensor-bytes.ts";
import type { Hdf5File } from "../io/hdf5/hdf5.ts";
import { arrayIn } from "../io/numpy/npy.ts";
import { type NpyHeader, type NpyOther, readAnyNpyHeader } from "../io/numpy/npy-header.ts";
import { typeText } from "../io/numpy/npy-other.ts";
import { isRemote } from "../io/store/s3.ts";
import { readZip } from "../io/zip/zip.ts";
import type { ZipEntry } from "../io/zip/zip-directory.ts";
import { windows } from "../io/zip/zip-write.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isLazy, isNested, type Td } from "../tensordict/core/state.ts";
import { zeros } from "../tensordict/core/tensor-ops.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { isHeaderArray } from "./collections.ts";
import { CliError } from "./errors.ts";
import { pause } from "./lifetime.ts";
import { METADATA, SEPARATOR, standsBeside } from "./losses.ts";
import type { Report } from "./report.ts";
import { unknownIn } from "./unknown-entries.ts";

const KIND = "zensor checksums 1";
const PART_BYTES = 8 * 2 ** 20;
const MAX_SUMS_BYTES = 256 * 2 ** 20;
const MAX_DEPTH = 100;

/** A tensor whose bytes come in parts. */
export interface Parts {
  name: string;
  /** A tensor's, or the type of elements that no tensor has. */
  dtype: { readonly name: string };
  shape: readonly number[];
  nbytes: number;
  parts(): Iterable<Uint8Array> | AsyncIterable<Uint8Array>;
}

/** Stands for what keeps bytes that are read from a file. */
const EMPTY = zeros([0]);

/** A path as one name: dots that are part of a key are told apart from those between keys. */
function nameOf(path: readonly string[]): string {
  return path.map((part) => part.replace(/[\\.]/g, "\\$&")).join(".");
}

function bytesOf(tensor: Tensor): Iterable<Uint8Array> {
  return windows(nativeBytes(tensor), PART_BYTES);
}

function partsOf(tensor: Tensor, name: string): Parts {
  const { dtype, shape, nbytes } = tensor;
  return { name, dtype, shape, nbytes, parts: () => bytesOf(tensor) };
}

/** Elements that no tensor has are bytes, too. */
function unknownParts(unknown: UnknownArray, name: string, parts: Parts["parts"]): Parts {
  const { dtype, shape, nbytes } = unknown;
  return { name, dtype: { name: dtype }, shape: shape ?? [], nbytes: nbytes ?? 0, parts };
}

/** Every tensor of a collection. */
export function* tensorsOf(
  td: Td,
  read: (tensor: Tensor) => ReturnType<Parts["parts"]> = bytesOf,
  path: readonly string[] = [],
): Generator<Parts> {
  if (isLazy(td)) {
    const { members } = td;
    for (const [i, member] of members.entries()) yield* tensorsOf(member, read, [...path, String(i)]);
    return;
  }
  if (isNonTensor(td)) return;
  for (const [key, entry] of entriesOf(td)) {
    const inner = [...path, key];
    const unknown = unknownIn(entry);
    if (unknown !== null) {
      const { bytes } = unknown;
      if (bytes !== null) yield unknownParts(unknown, nameOf(inner), () => read(bytes));
    } else if (!(entry instanceof Tensor) && !isNested(entry)) yield* tensorsOf(entry as Td, read, inner);
    else {
      const values = isNested(entry) ? entry._values : entry;
      const { dtype, shape, nbytes } = values;
      yield { name: nameOf(inner), dtype, shape, nbytes, parts: () => read(values) };
      // What belongs to which component, under the name of the file that holds it.
      if (isNested(entry)) yield partsOf(entry._sizesTensor(), nameOf([...path, `${key}.shape`]));
    }
  }
}

function* rowsOf(file: Hdf5File, path: string, shape: readonly number[], itemsize: number): Generator<Uint8Array> {
  const [rows] = shape;
  if (rows === undefined || rows === 0) {
    yield* bytesOf(file.read(path));
    return;
  }
  const rowBytes = shape.slice(1).reduce((product, n) => product * n, itemsize);
  const step = Math.max(1, Math.floor(PART_BYTES / Math.max(1, rowBytes)));
  for (let at = 0; at < rows; at += step) {
    using part = file.read(path, `${at}:${Math.min(rows, at + step)}`);
    yield* bytesOf(part);
  }
}

/** Every tensor of an HDF5 file, read by rows. Values that are no tensors are read, and are an error if damaged. */
export function* hdf5Tensors(file: Hdf5File, report: Report, path: readonly string[] = []): Generator<Parts> {
  if (path.length > MAX_DEPTH) throw new FormatError(`more than ${MAX_DEPTH} levels`, file.path);
  for (const key of file.keys(path.join("/"))) {
    const inner = [...path, key];
    const place = inner.join("/");
    if (file.kind(place) === "group") yield* hdf5Tensors(file, report, inner);
    else {
      const { dtype, shape } = file.info(place);
      if (dtype !== null) {
        const nbytes = shape.reduce((product, n) => product * n, dtype.itemsize);
        yield { name: nameOf(inner), dtype, shape, nbytes, parts: () => rowsOf(file, place, shape, dtype.itemsize) };
      } else if (place !== METADATA) {
        const [value] = file.exactValues(place, true).values;
        // Their bytes are read in turn.
        if (value instanceof UnknownArray && value.nbytes !== null)
          yield unknownParts(value, nameOf(inner), () => unknownBytes(file, place));
      }
    }
  }
}

function unknownBytes(file: Hdf5File, place: string): Iterable<Uint8Array> {
  const [value] = file.exactValues(place, true).values;
  return bytesOf((value as UnknownArray).bytes as Tensor);
}

const NPY = ".npy";

/** Every array of a .npz file. Its bytes come from the file, not from mapped arrays: those are rarely aligned. */
export function* npzTensors(path: string, maxBytes?: number): Generator<Parts> {
  const zip = readZip(path);
  zip.requireTotal(maxBytes);
  const entries = [...zip.entries.values()];
  const other = entries.find(({ name }) => !name.endsWith(NPY));
  if (other !== undefined) throw new FormatError("is no array: its name does not end with .npy", other.name);
  const names = new Set(entries.map(({ name }) => name.slice(0, -NPY.length)));
  const isFlat = standsBeside(names);
  for (const entry of entries) {
    const key = entry.name.slice(0, -NPY.length);
    const name = nameOf(isFlat ? [key] : key.split(SEPARATOR));
    const place = `${zip.path}/${entry.name}`;
    let held: Uint8Array | null = null;
    const read = () => (held ??= zip.read(entry, entry.nbytes));
    const isStored = entry.method === "stored";
    const header = isStored ? npyHeaderOf(zip.path, entry) : npyHeaderIn(read(), place);
    const whole = () => arrayIn(read(), place);
    if (key === METADATA && header.dtype !== null && isHeaderArray(whole())) continue;
    const isOther = header.dtype === null;
    const inOrder = isStored && (isOther || (!header.bigEndian && (!header.fortranOrder || header.shape.length < 2)));
    const { shape, nbytes, headerBytes } = header;
    const dtype = isOther ? { name: typeText(header) } : header.dtype;
    if (inOrder) {
      const file = { path: zip.path, offset: entry.offset + headerBytes, nbytes };
      yield {
        name,
        dtype,
        shape,
        nbytes,
        parts: () => windows({ address: 0, nbytes, keep: EMPTY, block: 0, file }, PART_BYTES),
      };
    } else if (isOther) {
      yield { name, dtype, shape, nbytes, parts: () => [read().subarray(headerBytes, headerBytes + nbytes)] };
    } else {
      const tensor = whole();
      const { dtype, shape } = tensor;
      yield { name, dtype, shape, nbytes: tensor.numel() * dtype.itemsize, parts: () => bytesOf(tensor) };
    }
  }
}

function npyHeaderIn(bytes: Uint8Array, path: string): NpyHeader | NpyOther {
  return readAnyNpyHeader((at, length) => bytes.subarray(at, at + length), bytes.length, path);
}

function npyHeaderOf(path: string, { offset, nbytes, name }: ZipEntry): NpyHeader | NpyOther {
  return FileRanges.with(path, (file) =>
    readAnyNpyHeader((at, length) => file.read(offset + at, length), nbytes, `${path}/${name}`),
  );
}

/** What is kept of a tensor. */
interface Sum {
  dtype: string;
  shape: string;
  sha256: string;
}

/** Reads every tensor; gives its checksum. A tensor that cannot be read is a problem. */
export async function sumsOf(tensors: Iterable<Parts>, report: Report): Promise<Map<string, Sum>> {
  const sums = new Map<string, Sum>();
  for (const { name, dtype, shape, parts } of tensors) {
    const hasher = new Bun.CryptoHasher("sha256");
    try {
      for await (const part of parts()) {
        await pause();
        if (part.length > 0) hasher.update(part);
        report.advance(part.length);
      }
      sums.set(name, { dtype: dtype.name, shape: shape.join(","), sha256: hasher.digest("hex") });
    } catch (error) {
      if ((error as Error).name === "AbortError") throw error;
      report.problem(name, (error as Error).message);
    }
  }
  return sums;
}

/** Where checksums of a source are written. Throws `CliError` for what is there, unless it may be replaced. */
export function sumsPlace(path: string, source: string, force: boolean): string {
  const place = realTarget(absoluteFile(path));
  const taken = lstatSync(place, { throwIfNoEntry: false }) !== undefined;
  if (taken && !force) throw new CliError(`${path} exists already. Pass --force to replace it.`);
  if (!isRemote(source) && isInside(place, realPlace(source))) {
    throw new CliError(`${path} is a part of ${source}: choose another file for the checksums.`);
  }
  return place;
}

/** Writes checksums, all or nothing. What came into being meanwhile is replaced only by force. */
export function writeSums(place: string, sums: ReadonlyMap<string, Sum>, force: boolean): void {
  const tensors = Object.fromEntries(sums);
  replaceText(place, `${JSON.stringify({ kind: KIND, tensors }, null, 2)}\n`, { exclusive: !force });
}

/** Reads such a file. */
function readSums(path: string): Map<string, Sum> {
  const bytes = readSmallFile(path, MAX_SUMS_BYTES);
  const bad = (what: string, cause?: unknown) => new FormatError(`no file of checksums: ${what}`, path, cause);
  const root = ((): ReturnType<typeof parsePythonJsonObject> => {
    try {
      return parsePythonJsonObject(bytes, { maxLength: MAX_SUMS_BYTES, maxDepth: 8 });
    } catch (error) {
      throw bad((error as Error).message, error);
    }
  })();
  const tensors = root.get("tensors");
  if (root.get("kind") !== KIND || !(tensors instanceof Map)) throw bad(`it does not say ${JSON.stringify(KIND)}`);
  const sums = new Map<string, Sum>();
  for (const [name, value] of tensors) {
    const [dtype, shape, sha256] = ["dtype", "shape", "sha256"].map((key) =>
      value instanceof Map ? value.get(key) : undefined,
    );
    if (typeof dtype !== "string" || typeof shape !== "string" || typeof sha256 !== "string") {
      throw bad(`the entry ${JSON.stringify(name)} is not understood`);
    }
    sums.set(name, { dtype, shape, sha256 });
  }
  return sums;
}

/** Compares checksums with those of a file. */
export function compareSums(path: string, sums: ReadonlyMap<string, Sum>, report: Report): void {
  const expected = readSums(path);
  const failed = new Set(report.problems.map(({ where }) => where));
  for (const [name, sum] of sums) {
    const known = expected.get(name);
    if (known === undefined) report.problem(name, "is not among the checksums");
    else if (known.dtype !== sum.dtype || known.shape !== sum.shape) {
      report.problem(name, `was ${known.dtype} [${known.shape}], is ${sum.dtype} [${sum.shape}]`);
    } else if (known.sha256 !== sum.sha256) report.problem(name, "its elements have another checksum");
    report.checksums++;
  }
  for (const name of expected.keys()) {
    if (!sums.has(name) && !failed.has(name)) report.problem(name, "is missing");
  }
}

/** Tensors of one file that share bytes. */
export function findOverlaps(td: Td, report: Report): void {
  const runs: { name: string; begin: number; end: number }[] = [];
  const visit = (level: Td, path: readonly string[]) => {
    if (isLazy(level)) {
      for (const [i, member] of level.members.entries()) visit(member, [...path, String(i)]);
    } else if (!isNonTensor(level)) {
      for (const [key, entry] of entriesOf(level)) {
        if (!(entry instanceof Tensor) && !isNested(entry)) visit(entry as Td, [...path, key]);
        else {
          const { file } = nativeBytes(isNested(entry) ? entry._values : entry);
          if (file !== undefined) {
            runs.push({ name: nameOf([...path, key]), begin: file.offset, end: file.offset + file.nbytes });
          }
        }
      }
    }
  };
  visit(td, []);
  let before = { name: "", end: 0 };
  for (const run of runs.sort((a, b) => a.begin - b.begin)) {
    if (run.begin < before.end) report.problem(run.name, `shares bytes with ${before.name}`);
    if (run.end > before.end) before = run;
  }
}

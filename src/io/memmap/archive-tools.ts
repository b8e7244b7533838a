// From directories to archives and back, and checksums of archives that were written into.

import { JobFlag } from "../../../generated/abi.ts";
import { addressOf } from "../../ffi/library.ts";
import {
  closeSync,
  existsSync,
  join,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  realpathNative,
  rmSync,
  sep,
  statSync,
  totalmem,
  writeSync,
} from "../../runtime/node.ts";
import { inOrder } from "../../tensor/checks.ts";
import { type DType, dtypeByName } from "../../tensor/dtype.ts";
import { ValueError } from "../../tensor/errors.ts";
import { makeContiguous } from "../../tensor/tensor.ts";
import { FileNotFoundError, FormatError, guarded, OSError } from "../base/errors.ts";
import { absoluteFile, absolutePath, realTarget } from "../base/places.ts";
import { FUNCTIONS } from "../base/signatures.ts";
import { DirectoryLock } from "../disk/directory-lock.ts";
import { FileJobs } from "../disk/file-jobs.ts";
import { mapFile } from "../disk/mapping.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import { requireRoom } from "../disk/room.ts";
import { blockBehind, nativeBytes } from "../disk/tensor-bytes.ts";
import { TensorFile } from "../disk/tensor-file.ts";
import { FileWrite, type FileWriteOptions } from "../store/single-file.ts";
import { readZip, type ZipFile } from "../zip/zip.ts";
import { SIGNATURE, type ZipEntry } from "../zip/zip-directory.ts";
import { crcOf, type ZipWriteEntry, zipPieces } from "../zip/zip-write.ts";
import { archiveCompression, archiveOrder, isMemmapArchive, tensorEntry } from "./memmap-archive.ts";

/** How a directory is packed. */
export interface PackOptions extends FileWriteOptions {
  /** Compression of the tensors: "stored" (the default) or "deflate". */
  compression?: string | null;
  /** Level of the compression, 1 to 9. */
  compressLevel?: number | null;
}

const MAX_DEPTH = 128;
/** What file systems allow for one part of a path. */
const MAX_NAME_BYTES = 255;
const BYTES = dtypeByName("uint8") as DType;

/** The files below a directory, by their names in an archive. Links to directories and special files are refused. */
function filesBelow(path: string, name = "", depth = 0, found = new Map<string, string>()): Map<string, string> {
  if (depth > MAX_DEPTH) throw new FormatError("directories are nested too deeply", path);
  for (const entry of guarded(path, () => readdirSync(path))) {
    const file = join(path, entry);
    const inner = name === "" ? entry : `${name}/${entry}`;
    const stat = guarded(file, () => lstatSync(file));
    if (stat.isDirectory()) filesBelow(file, inner, depth + 1, found);
    else if (guarded(file, () => statSync(file)).isFile()) found.set(inner, file);
    else throw new OSError(`${file} is neither a file nor a directory`, { path: file, code: "not_a_file" });
  }
  return found;
}

/** The bytes of a file, read when they are used. */
function fileBytes(path: string): Uint8Array | TensorBytes {
  const storage = mapFile(path, "r");
  if (storage.nbytes === 0) return new Uint8Array(0);
  const keep = makeContiguous(storage, [storage.nbytes], BYTES);
  return { address: storage.ptr, nbytes: storage.nbytes, keep, block: blockBehind(storage) };
}

/**
 * Puts the files of a memory-mapped directory into one archive, tensors aligned so that they can be mapped there; gives
 * the archive's path. An existing file is replaced when the new one is complete. @torch tensordict.pack_memmap
 *
 * @throws ValueError when the directory has no `meta.json`, or when the archive would lie in it
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, []).memmap("/tmp/zensor-pack");
 * packMemmap("/tmp/zensor-pack", "/tmp/zensor-pack.tdz");
 * loadMemmap("/tmp/zensor-pack.tdz").get("a") // tensor([0, 1, 2])
 * ```
 */
export function packMemmap(prefix: string, archivePath: string, options: PackOptions = {}): string {
  [prefix, archivePath, options = {}] = inOrder<Parameters<typeof packMemmap>>(
    "packMemmap",
    FUNCTIONS.packMemmap,
    arguments,
  );
  if (!existsSync(join(prefix, "meta.json"))) {
    throw new ValueError(`${prefix} does not look like a memory-mapped tensordict directory (no meta.json found).`);
  }
  const source = realpathNative(absolutePath(prefix));
  const target = realTarget(absoluteFile(archivePath));
  const files = filesBelow(source);
  if (target.startsWith(source + sep) || [...files.values()].some((file) => realpathNative(file) === target)) {
    throw new ValueError(
      `The archive path ${archivePath} must be outside the source directory ${prefix} and must not ` +
        "alias a source file.",
    );
  }
  const compression = archiveCompression(options.compression);
  const entries = [...files].map(([name, file]): ZipWriteEntry => {
    const data = fileBytes(file);
    return name.endsWith(".memmap")
      ? tensorEntry(name, data, compression, options.compressLevel ?? undefined)
      : { name, data };
  });
  new FileWrite(target, zipPieces(archiveOrder(entries), { style: "tensordict" }).pieces, options).run();
  return archivePath;
}

function openArchive(path: string, arrays = false): ZipFile {
  absolutePath(path);
  if (!existsSync(path)) throw new FileNotFoundError(path);
  // Damage is told as such; a file of another kind gets Python's words.
  const zip = readZip(path);
  const isNpz = arrays && [...zip.entries.keys()].every((name) => name.endsWith(".npy"));
  if (!isNpz && !isMemmapArchive(path)) throw new ValueError(`${path} is not a memory-mapped tensordict archive.`);
  return zip;
}

/** Directories of an archive below `root`, the outer ones first; what is in the way is refused. */
function placesFor(zip: ZipFile, root: string): string[] {
  const places = new Set<string>();
  const add = (name: string) => {
    const at = name.lastIndexOf("/");
    if (at < 0 || places.has(name.slice(0, at))) return;
    add(name.slice(0, at));
    places.add(name.slice(0, at));
  };
  for (const name of zip.entries.keys()) {
    const parts = name.split("/");
    if (parts.length > MAX_DEPTH) throw new FormatError("directories are nested too deeply", zip.path);
    if (parts.some((part) => Buffer.byteLength(part) > MAX_NAME_BYTES)) {
      throw new FormatError(`entry ${JSON.stringify(name.slice(0, 50))} has a name that no file can have`, zip.path);
    }
    add(name);
  }
  const made = [...places].map((name) => join(root, name));
  for (const path of made) requireKind(path, "directory");
  for (const name of zip.entries.keys()) {
    if (places.has(name)) throw new FormatError(`entry ${JSON.stringify(name)} is a file and a directory`, zip.path);
    requireKind(join(root, name), "file");
  }
  return made;
}

function requireKind(path: string, kind: "file" | "directory"): void {
  const stat = guarded(path, () => lstatSync(path, { throwIfNoEntry: false }));
  if (stat === undefined) return;
  if (stat.isSymbolicLink()) {
    throw new OSError(`Refusing to write memory-mapped tensor through symlink ${path}.`, { path, code: "symlink" });
  }
  if (kind === "file" ? stat.isFile() : stat.isDirectory()) return;
  throw new OSError(`${path} exists and is no ${kind}`, { path, errno: kind === "file" ? 21 : 20 });
}

/**
 * Takes the files of an archive apart into a directory, which is made when it is missing; files of the same names are
 * replaced. Every checksum is compared before the first file is written. @torch tensordict.unpack_memmap
 *
 * @param options `maxBytes`: most bytes of what is compressed in it; by default 1 GiB, or 200 times the archive
 * @throws FormatError when the archive is damaged
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, []).memmap("data.tdz");
 * unpackMemmap("data.tdz", "unpacked");
 * loadMemmap("unpacked").get("a") // MemoryMappedTensor([0, 1, 2])
 * ```
 */
export function unpackMemmap(archivePath: string, prefix: string, options: { maxBytes?: number } = {}): string {
  [archivePath, prefix, options = {}] = inOrder<Parameters<typeof unpackMemmap>>(
    "unpackMemmap",
    FUNCTIONS.unpackMemmap,
    arguments,
  );
  const zip = openArchive(archivePath);
  zip.requireTotal(options.maxBytes);
  const root = absolutePath(prefix);
  const places = placesFor(zip, root);
  const archive = statSync(zip.path).ino;
  const mapped = new TensorFile(zip.path, zip.size);
  const jobs = new FileJobs();
  let room = totalmem();
  for (const entry of zip.entries.values()) {
    if (entry.method === "deflate") room -= entry.nbytes;
    if (room < 0) throw new FormatError("its files are larger than the memory of this machine", zip.path);
    const path = join(root, entry.name);
    if (statSync(path, { throwIfNoEntry: false })?.ino === archive) {
      throw new ValueError(`${prefix} has the archive itself under the name of one of its files, ${entry.name}.`);
    }
    const data = contentOf(zip, entry, mapped);
    jobs.add({
      path,
      nbytes: entry.nbytes,
      flags: JobFlag.write | JobFlag.create | JobFlag.replace | JobFlag.noFollow | JobFlag.writable,
      data: data instanceof Uint8Array ? addressOf(data) : data.address,
      runtime: data instanceof Uint8Array ? { bytes: data, at: 0 } : undefined,
      keep: data,
    });
  }
  requireRoom(
    root,
    [...zip.entries.values()].reduce((sum, { nbytes }) => sum + nbytes, 0),
  );
  const made = guarded(root, () => mkdirSync(root, { recursive: true }));
  using _ = DirectoryLock.take(root);
  const isNew = made !== undefined && readdirSync(root).length === 0;
  try {
    for (const path of places) guarded(path, () => mkdirSync(path, { recursive: true }));
    if (jobs.run() !== 0) jobs.throwFirstFailure();
  } catch (error) {
    // Half of an archive is of no use to anybody.
    if (isNew) rmSync(root, { recursive: true, force: true });
    throw error;
  }
  return prefix;
}

/** The bytes of a stored entry in the mapped archive. */
function storedBytes(entry: ZipEntry, mapped: TensorFile): TensorBytes {
  return nativeBytes(mapped.tensor(BYTES, [entry.nbytes], entry.offset));
}

function contentOf(zip: ZipFile, entry: ZipEntry, mapped: TensorFile): Uint8Array | TensorBytes {
  if (entry.method === "deflate" || entry.nbytes === 0) return zip.read(entry, entry.nbytes);
  const data = storedBytes(entry, mapped);
  if (crcOf(data) !== entry.crc) {
    throw new FormatError(`entry ${JSON.stringify(entry.name)}: its content does not match its checksum`, zip.path);
  }
  return data;
}

/**
 * Computes the checksums of stored entries again, after tensors of an archive were written in place (`mode: "r+"`);
 * of a .npz file as well.
 * The archive is changed in place. @torch tensordict.refresh_archive_checksums
 * @example
 * ```ts
 * new TensorDict({ a: arange(3) }, []).memmap("data.tdz");
 * refreshArchiveChecksums("data.tdz") // data.tdz
 * ```
 */
export function refreshArchiveChecksums(archivePath: string): string {
  [archivePath] = inOrder<Parameters<typeof refreshArchiveChecksums>>(
    "refreshArchiveChecksums",
    FUNCTIONS.refreshArchiveChecksums,
    arguments,
  );
  const zip = openArchive(archivePath, true);
  const mapped = new TensorFile(zip.path, zip.size, "r");
  const fd = guarded(zip.path, () => openSync(zip.path, "r+"));
  try {
    for (const entry of zip.entries.values()) {
      if (entry.method !== "stored" || entry.nbytes === 0) continue;
      const crc = crcOf(storedBytes(entry, mapped));
      if (crc !== entry.crc) for (const at of checksumPlaces(fd, entry)) writeNumber(fd, crc, at);
    }
  } finally {
    closeSync(fd);
  }
  return archivePath;
}

/** Where the checksum of an entry is written. */
function checksumPlaces(fd: number, entry: ZipEntry): number[] {
  const places = [entry.recordOffset + 16];
  if (readNumber(fd, entry.headerOffset + 14) === entry.crc) places.push(entry.headerOffset + 14);
  if (entry.hasDescriptor) {
    const at = entry.offset + entry.compressedBytes;
    const crcAt = readNumber(fd, at) === SIGNATURE.descriptor ? at + 4 : at;
    if (readNumber(fd, crcAt) === entry.crc) places.push(crcAt);
  }
  return places;
}

function readNumber(fd: number, offset: number): number {
  const bytes = Buffer.alloc(4);
  readSync(fd, bytes, 0, 4, offset);
  return bytes.readUInt32LE();
}

function writeNumber(fd: number, value: number, offset: number): void {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  writeSync(fd, bytes, 0, 4, offset);
}

// The directory of a ZIP archive: the records at its end and the local headers they point to, checked against each
// other. Field offsets are those of the ZIP application note (APPNOTE.TXT, sections 4.3 and 4.5).
import { FormatError } from "../base/errors.ts";
import type { Steps } from "../base/steps.ts";
import { textProblem } from "../base/well-formed.ts";
import type { FileRanges } from "../disk/file-ranges.ts";

/** One file of an archive. */
export interface ZipEntry {
  readonly name: string;
  /** Where in the archive its payload begins. */
  readonly offset: number;
  /** Bytes of its content. */
  readonly nbytes: number;
  /** Bytes of its payload; those of its content when it is stored. */
  readonly compressedBytes: number;
  readonly method: "stored" | "deflate";
  /** CRC-32 of its content, as the archive has it. */
  readonly crc: number;
  /** Where in the archive its local header begins. */
  readonly headerOffset: number;
  /** Where in the archive its record of the directory begins. */
  readonly recordOffset: number;
  /** True when sizes and checksum follow the payload as well. */
  readonly hasDescriptor: boolean;
}

/** Signatures of the parts of an archive. */
export const SIGNATURE = {
  local: 0x04034b50,
  descriptor: 0x08074b50,
  central: 0x02014b50,
  end: 0x06054b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
} as const;

/** Bytes of their fixed parts. */
export const FIXED = { local: 30, central: 46, end: 22, end64: 56, locator64: 20 } as const;

/** Id of the extra block with 64-bit sizes. */
export const ZIP64_BLOCK = 0x0001;
/** A field whose value is in the zip64 block. */
export const IN_ZIP64 = 0xffffffff;

/** Bits of the flags. */
export const FLAG = { encrypted: 1, levels: 6, descriptor: 8, utf8: 0x800 } as const;
const KNOWN_FLAGS = FLAG.levels | FLAG.descriptor | FLAG.utf8;

const METHODS: Record<number, string> = { 9: "deflate64", 12: "bzip2", 14: "lzma", 93: "zstd", 95: "xz" };

/** How large a directory may be. */
export interface ZipDirectoryLimits {
  /** Most entries. */
  maxEntries?: number;
  /** Most bytes of the directory. */
  maxDirectoryBytes?: number;
}

interface Directory {
  offset: number;
  size: number;
  count: number;
}

/** What a directory record says. */
interface Central {
  name: string;
  nameBytes: Uint8Array;
  flags: number;
  method: number;
  crc: number;
  compressedBytes: number;
  nbytes: number;
  headerOffset: number;
  recordOffset: number;
}

const UTF8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A 64-bit size or offset, which must be exact as a number. */
function wide(view: DataView, at: number, path: string): number {
  const value = view.getBigUint64(at, true);
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new FormatError("a size or offset is out of range", path);
  return Number(value);
}

/** Entries that are looked at in one step. */
const STEP = 256;

/** Entries by name, after every check that can be made without their content. */
export function* readZipDirectory(file: FileRanges, limits: ZipDirectoryLimits = {}): Steps<Map<string, ZipEntry>> {
  const directory = findDirectory(file);
  const { count, size } = directory;
  if (count > (limits.maxEntries ?? 4_000_000)) throw new FormatError(`${count} entries are too many`, file.path);
  if (size > (limits.maxDirectoryBytes ?? 512 * 2 ** 20)) {
    throw new FormatError(`a directory of ${size} bytes is too large`, file.path);
  }
  if (count * FIXED.central > size) throw new FormatError("its directory is too short for its entries", file.path);
  const records = yield* readRecords(file.read(directory.offset, size), directory, file.path);
  return yield* placeEntries(file, records, directory.offset);
}

function findDirectory(file: FileRanges): Directory {
  const { path } = file;
  const length = Math.min(file.size, FIXED.end + 0xffff);
  const tail = file.read(file.size - length, length);
  const view = viewOf(tail);
  for (let at = length - FIXED.end; at >= 0; at--) {
    if (view.getUint32(at, true) !== SIGNATURE.end) continue;
    // A comment may contain the signature; the real record is the one whose comment ends with the file.
    if (at + FIXED.end + view.getUint16(at + 20, true) !== length) continue;
    const end = file.size - length + at;
    const wideEnd = readEnd64(file, end);
    const count = view.getUint16(at + 10, true);
    const size = view.getUint32(at + 12, true);
    const offset = view.getUint32(at + 16, true);
    const volumes = [view.getUint16(at + 4, true), view.getUint16(at + 6, true)];
    if (
      volumes.some((volume) => volume !== 0 && !(volume === 0xffff && wideEnd !== null)) ||
      view.getUint16(at + 8, true) !== count
    ) {
      throw new FormatError("archives of several volumes cannot be read", path);
    }
    const found = wideEnd?.directory ?? { count, size, offset };
    const agrees = (short: number, long: number, saturated: number) => short === saturated || short === long;
    if (
      !agrees(count, found.count, 0xffff) ||
      !agrees(size, found.size, IN_ZIP64) ||
      !agrees(offset, found.offset, IN_ZIP64)
    ) {
      throw new FormatError("its end records contradict each other", path);
    }
    if (found.offset + found.size !== (wideEnd?.start ?? end)) {
      throw new FormatError("its directory is not where its end record says", path);
    }
    return found;
  }
  throw new FormatError("not a zip archive, or its end is missing", path);
}

/** The zip64 end record before the end record at `end`, null when there is none. */
function readEnd64(file: FileRanges, end: number): { start: number; directory: Directory } | null {
  const { path } = file;
  const locatorAt = end - FIXED.locator64;
  if (locatorAt < 0) return null;
  const locator = viewOf(file.read(locatorAt, FIXED.locator64));
  if (locator.getUint32(0, true) !== SIGNATURE.locator64) return null;
  if (locator.getUint32(4, true) !== 0 || locator.getUint32(16, true) > 1) {
    throw new FormatError("archives of several volumes cannot be read", path);
  }
  const start = wide(locator, 8, path);
  if (start + FIXED.end64 > locatorAt) throw new FormatError("its zip64 end record is misplaced", path);
  const view = viewOf(file.read(start, FIXED.end64));
  if (view.getUint32(0, true) !== SIGNATURE.end64 || start + 12 + wide(view, 4, path) !== locatorAt) {
    throw new FormatError("its zip64 end record is damaged", path);
  }
  const count = wide(view, 32, path);
  if (view.getUint32(16, true) !== 0 || view.getUint32(20, true) !== 0 || wide(view, 24, path) !== count) {
    throw new FormatError("archives of several volumes cannot be read", path);
  }
  return { start, directory: { count, size: wide(view, 40, path), offset: wide(view, 48, path) } };
}

function* readRecords(bytes: Uint8Array, directory: Directory, path: string): Steps<Central[]> {
  const view = viewOf(bytes);
  const records: Central[] = [];
  let at = 0;
  for (let i = 0; i < directory.count; i++) {
    if (i % STEP === STEP - 1) yield;
    if (at + FIXED.central > bytes.length || view.getUint32(at, true) !== SIGNATURE.central) {
      throw new FormatError(`record ${i} of its directory is damaged`, path);
    }
    const nameLength = view.getUint16(at + 28, true);
    const extraLength = view.getUint16(at + 30, true);
    const extraAt = at + FIXED.central + nameLength;
    const next = extraAt + extraLength + view.getUint16(at + 32, true);
    if (next > bytes.length) throw new FormatError(`record ${i} of its directory is damaged`, path);
    const nameBytes = bytes.subarray(at + FIXED.central, extraAt);
    const record: Central = {
      name: readName(nameBytes, i, path),
      nameBytes,
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      compressedBytes: view.getUint32(at + 20, true),
      nbytes: view.getUint32(at + 24, true),
      headerOffset: view.getUint32(at + 42, true),
      recordOffset: directory.offset + at,
    };
    const volume = view.getUint16(at + 34, true);
    const fields = ["nbytes", "compressedBytes", "headerOffset"] as const;
    const saturated = fields.filter((field) => record[field] === IN_ZIP64);
    const block = saturated.length === 0 ? null : extraBlock(bytes.subarray(extraAt, extraAt + extraLength));
    if (block !== null) {
      const wideFields = viewOf(block);
      if (block.length < saturated.length * 8) throw badEntry(record.name, "its zip64 sizes are missing", path);
      for (const [k, field] of saturated.entries()) record[field] = wide(wideFields, k * 8, path);
    }
    if (volume !== 0 && !(volume === 0xffff && block !== null)) throw badEntry(record.name, "another volume", path);
    checkRecord(record, path);
    records.push(record);
    at = next;
  }
  if (at !== bytes.length) throw new FormatError("its directory has more bytes than entries", path);
  return records;
}

/** What is wrong with a name: it could reach out of the directory an archive is unpacked into. Null when it is fine. */
export function entryNameProblem(name: string): string | null {
  const bare = name.endsWith("/") ? name.slice(0, -1) : name;
  return textProblem(name) !== null
    ? "holds half of a surrogate pair"
    : /[\0\\]/.test(name)
      ? "has a NUL or a backslash"
      : name.startsWith("/") || /^[A-Za-z]:\//.test(name)
        ? "is absolute"
        : bare.split("/").some((part) => part === "" || part === "." || part === "..")
          ? "has an empty part, '.' or '..'"
          : null;
}

function readName(bytes: Uint8Array, index: number, path: string): string {
  let name: string;
  try {
    name = UTF8.decode(bytes);
  } catch (error) {
    throw new FormatError(`the name of entry ${index} is not UTF-8`, path, error);
  }
  const problem = entryNameProblem(name);
  if (problem !== null) throw new FormatError(`the name ${JSON.stringify(name)} of an entry ${problem}`, path);
  return name;
}

/** The zip64 block of an extra field, null when there is none. */
function extraBlock(extra: Uint8Array): Uint8Array | null {
  const view = viewOf(extra);
  for (let at = 0; at + 4 <= extra.length; ) {
    const length = view.getUint16(at + 2, true);
    if (at + 4 + length > extra.length) return null;
    if (view.getUint16(at, true) === ZIP64_BLOCK) return extra.subarray(at + 4, at + 4 + length);
    at += 4 + length;
  }
  return null;
}

function badEntry(name: string, what: string, path: string): FormatError {
  return new FormatError(`entry ${JSON.stringify(name)}: ${what}`, path);
}

function checkRecord(record: Central, path: string): void {
  const { name, method, nbytes, compressedBytes } = record;
  if ((record.flags & FLAG.encrypted) !== 0) throw badEntry(name, "it is encrypted", path);
  if ((record.flags & ~KNOWN_FLAGS) !== 0) throw badEntry(name, `flags 0x${record.flags.toString(16)}`, path);
  if (method !== 0 && method !== 8) {
    const known = METHODS[method] ?? `method ${method}`;
    throw badEntry(name, `it is compressed with ${known}; only stored and deflate entries can be read`, path);
  }
  if (method === 0 && nbytes !== compressedBytes) throw badEntry(name, "it is stored, but has two sizes", path);
  if (name.endsWith("/") && nbytes !== 0) throw badEntry(name, "a directory with content", path);
}

/** Compares the local headers with the directory and finds the payloads. */
function* placeEntries(
  file: FileRanges,
  records: readonly Central[],
  directoryStart: number,
): Steps<Map<string, ZipEntry>> {
  const { path } = file;
  const names = new Set<string>();
  const offsets = new Map<Central, number>();
  const byPlace = [...records].sort((a, b) => a.headerOffset - b.headerOffset);
  for (const [i, record] of byPlace.entries()) {
    if (i % STEP === STEP - 1) yield;
    if (names.has(record.name)) throw badEntry(record.name, "its name occurs twice", path);
    names.add(record.name);
    const offset = payloadOffset(file, record);
    const next = byPlace[i + 1]?.headerOffset ?? directoryStart;
    if (offset + record.compressedBytes > next) {
      throw badEntry(record.name, "it reaches into another entry or out of the archive", path);
    }
    offsets.set(record, offset);
  }
  const entries = new Map<string, ZipEntry>();
  for (const [i, record] of records.entries()) {
    if (i % STEP === STEP - 1) yield;
    if (record.name.endsWith("/")) continue;
    const { name, nbytes, compressedBytes, crc, headerOffset, recordOffset } = record;
    const method = record.method === 0 ? "stored" : "deflate";
    const hasDescriptor = (record.flags & FLAG.descriptor) !== 0;
    const offset = offsets.get(record) as number;
    entries.set(name, {
      name,
      offset,
      nbytes,
      compressedBytes,
      method,
      crc,
      headerOffset,
      recordOffset,
      hasDescriptor,
    });
  }
  return entries;
}

function payloadOffset(file: FileRanges, record: Central): number {
  const { path } = file;
  const { headerOffset, name } = record;
  const fixed = viewOf(file.peek(headerOffset, FIXED.local));
  if (fixed.getUint32(0, true) !== SIGNATURE.local) throw badEntry(name, "its header is missing", path);
  const nameLength = fixed.getUint16(26, true);
  const extraLength = fixed.getUint16(28, true);
  const length = FIXED.local + nameLength + extraLength;
  const header = file.peek(headerOffset, length);
  const view = viewOf(header);
  const differs = (what: string) => badEntry(name, `its header and the directory differ in its ${what}`, path);
  const localName = header.subarray(FIXED.local, FIXED.local + nameLength);
  if (Buffer.compare(localName, record.nameBytes) !== 0) throw differs("name");
  if (view.getUint16(6, true) !== record.flags) throw differs("flags");
  if (view.getUint16(8, true) !== record.method) throw differs("compression");
  let compressedBytes = view.getUint32(18, true);
  let nbytes = view.getUint32(22, true);
  if (compressedBytes === IN_ZIP64 || nbytes === IN_ZIP64) {
    const block = extraBlock(header.subarray(FIXED.local + nameLength));
    if (block !== null && block.length >= 16) {
      nbytes = wide(viewOf(block), 0, path);
      compressedBytes = wide(viewOf(block), 8, path);
    }
  }
  const crc = view.getUint32(14, true);
  // With a descriptor the header may leave them open.
  const open = (record.flags & FLAG.descriptor) !== 0 && crc === 0 && compressedBytes === 0 && nbytes === 0;
  if (open) return headerOffset + length;
  if (crc !== record.crc) throw differs("checksum");
  if (compressedBytes !== record.compressedBytes || nbytes !== record.nbytes) throw differs("size");
  return headerOffset + length;
}

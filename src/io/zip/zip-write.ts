// Lays out ZIP archives byte for byte as Python's zipfile (for TensorDict archives and .npz) or torch's writer makes
// them. The layout gives pieces for `FileWrite`; payloads are not copied unless they are small or compressed.
import type { DeflateRaw } from "node:zlib";
import { addressOf } from "../../ffi/library.ts";
import { copyBytes, windowOn } from "../../ffi/memory.ts";
import { ValueError } from "../../tensor/errors.ts";
import { checkFile } from "../../tensor/values.ts";
import type { Slices } from "../base/slices.ts";
import { runSteps, type Steps, wait } from "../base/steps.ts";
import { FileRanges } from "../disk/file-ranges.ts";
import type { Piece, TensorBytes } from "../disk/pieces.ts";
import { gather, gatheredWindows, type StridedBytes } from "../disk/strided-bytes.ts";
import { FIXED, FLAG, IN_ZIP64, SIGNATURE, ZIP64_BLOCK } from "./zip-directory.ts";
import { zlib } from "./zlib.ts";

/** Zeros that take no room until they are written over. */
export interface ZeroBytes {
  zeros: number;
}

type Payload = Uint8Array | TensorBytes | StridedBytes | ZeroBytes;

/** A file to be put into an archive. */
export interface ZipWriteEntry {
  name: string;
  data: Payload;
  /** The content's first bytes, before `data`. */
  prefix?: Uint8Array;
  /** Its payload begins at a multiple of this. For "tensordict" none by default, for "torch" 64. */
  align?: number;
  /** Compress it: true, or the level from 1 to 9. */
  deflate?: boolean | number;
}

/** How an archive is laid out. */
export interface ZipWriteOptions {
  /**
   * "tensordict": zip64 sizes in every local header, padding in an extra block "td"; "numpy": the same without padding,
   * dated 1980; "torch": sizes after each payload, padding in an extra block "FB".
   */
  style: "tensordict" | "numpy" | "torch";
  /** Time written for each entry ("tensordict" only); by default now, in local time. */
  modified?: Date;
  /** Write zip64 end records even when they are not needed. */
  forceZip64?: boolean;
}

/** A laid out archive. */
export interface ZipLayout {
  pieces: Piece[];
  /** Bytes of the archive. */
  size: number;
}

/** Numbers above this go into zip64 fields in Python. */
const PYTHON_LIMIT = 2 ** 31 - 1;
const TD_BLOCK = 0x6474;
const FB_BLOCK = 0x4246;
/** Bytes of native memory that are looked at through one window. */
const CRC_PART = 64 * 2 ** 20;
const DEFLATE_PART = 2 ** 30;
const READ_PART = 8 * 2 ** 20;
/** Bytes of one step of work beside the program, and of what is copied to be looked at. */
const SLICE_BYTES = 2 ** 20;
/** Payloads up to this many bytes are written together with the headers around them. */
const SMALL = 16 * 1024;
const UTF8 = new TextEncoder();
const NOTHING = new Uint8Array(0);

interface Placed {
  nameBytes: Uint8Array;
  headerOffset: number;
  method: number;
  flags: number;
  crc: number;
  nbytes: number;
  compressedBytes: number;
  /** What the directory repeats of the local extra field. */
  padding: Uint8Array;
}

function sizeOf(data: Payload): number {
  if (data instanceof Uint8Array) return data.length;
  return "zeros" in data ? data.zeros : data.nbytes;
}

/** Bytes in parts, read from their file where they have one. A part is valid until the next. */
export function* windows(data: Payload, part: number): Generator<Uint8Array> {
  const nbytes = sizeOf(data);
  if ("zeros" in data) {
    const zeros = new Uint8Array(Math.min(nbytes, 2 ** 20));
    for (let at = 0; at < nbytes; at += zeros.length) yield zeros.subarray(0, Math.min(zeros.length, nbytes - at));
    return;
  }
  if ("strided" in data) {
    yield* gatheredWindows(data, Math.min(part, SLICE_BYTES));
    return;
  }
  const file = data instanceof Uint8Array ? undefined : data.file;
  if (file !== undefined) {
    // Through one small room instead of the mapping, whose pages would count as this process's memory.
    const room = new Uint8Array(Math.min(READ_PART, part, nbytes));
    const ranges = new FileRanges(file.path);
    try {
      for (let at = 0; at < nbytes; at += room.length) {
        const window = room.subarray(0, Math.min(room.length, nbytes - at));
        ranges.readInto(file.offset + at, window);
        yield window;
      }
    } finally {
      ranges.close();
    }
    return;
  }
  for (let at = 0; at < nbytes; at += part) {
    const length = Math.min(part, nbytes - at);
    yield data instanceof Uint8Array
      ? data.subarray(at, at + length)
      : new Uint8Array(windowOn(data.address + at, length));
    checkFile("writing an archive");
  }
}

/** CRC-32 of bytes here or in native memory, going on from that of the bytes before them. */
export function crcOf(data: Payload, before = 0): number {
  let crc = before;
  for (const window of windows(data, CRC_PART)) crc = zlib().crc32(window, crc);
  return crc;
}

function deflated(prefix: Uint8Array, data: Payload, level: boolean | number): Uint8Array {
  const parts: Uint8Array[] = [];
  const nbytes = sizeOf(data);
  const options = typeof level === "number" ? { level } : {};
  if (nbytes === 0) return zlib().deflateRawSync(prefix, options);
  let done = 0;
  for (const window of windows(data, DEFLATE_PART)) {
    const first = done === 0 && prefix.length > 0 ? concat(prefix, window) : window;
    done += window.length;
    const finishFlush = done < nbytes ? zlib().constants.Z_FULL_FLUSH : zlib().constants.Z_FINISH;
    parts.push(zlib().deflateRawSync(first, { ...options, finishFlush }));
  }
  return parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
}

/** What the records of an entry say about its content, and the content as it is written. */
interface Measured {
  crc: number;
  payload: readonly Payload[];
}

function measured({ prefix = NOTHING, data, deflate }: ZipWriteEntry): Measured {
  const payload = deflate ? [deflated(prefix, data, deflate)] : [prefix, data];
  return { crc: crcOf(data, crcOf(prefix)), payload };
}

/** The same while the program goes on: checksums in slices, compression in a thread of the runtime. */
async function measuredInSlices(entry: ZipWriteEntry, slices: Slices): Promise<Measured> {
  const { prefix = NOTHING, data, deflate } = entry;
  let crc = crcOf(prefix);
  const stream = deflate ? new Deflating(deflate) : null;
  if (prefix.length > 0) await stream?.write(prefix);
  try {
    for (const part of windows(data, SLICE_BYTES)) {
      crc = zlib().crc32(part, crc);
      await stream?.write(part);
      if (slices.over) await slices.pause();
    }
  } catch (error) {
    stream?.stop();
    throw error;
  }
  return { crc, payload: stream === null ? [prefix, data] : await stream.end() };
}

/** Compression beside the program. */
class Deflating {
  private readonly parts: Uint8Array[] = [];
  private readonly stream: DeflateRaw;
  private readonly failed: Promise<never>;

  constructor(level: boolean | number) {
    const options = typeof level === "number" ? { level } : {};
    this.stream = zlib().createDeflateRaw({ ...options, chunkSize: SLICE_BYTES });
    this.stream.on("data", (part: Uint8Array) => this.parts.push(part));
    this.failed = new Promise((_, fail) => this.stream.on("error", fail));
    this.failed.catch(() => {});
  }

  /** Waits until the bytes have been taken: they may be native memory. */
  async write(bytes: Uint8Array): Promise<void> {
    await Promise.race([this.failed, new Promise<void>((taken) => this.stream.write(bytes, () => taken()))]);
  }

  stop(): void {
    this.stream.destroy();
  }

  async end(): Promise<Uint8Array[]> {
    const ended = new Promise<void>((done) => this.stream.on("end", done));
    this.stream.end();
    await Promise.race([this.failed, ended]);
    return this.parts;
  }
}

/** Writes little-endian fields one after the other. */
class Fields {
  readonly bytes: Uint8Array;
  private readonly view: DataView;
  private at = 0;
  constructor(nbytes: number) {
    this.bytes = new Uint8Array(nbytes);
    this.view = new DataView(this.bytes.buffer);
  }
  u16(...values: number[]): this {
    for (const value of values) {
      this.view.setUint16(this.at, value, true);
      this.at += 2;
    }
    return this;
  }
  u32(...values: number[]): this {
    for (const value of values) {
      this.view.setUint32(this.at, value, true);
      this.at += 4;
    }
    return this;
  }
  u64(...values: number[]): this {
    for (const value of values) {
      this.view.setBigUint64(this.at, BigInt(value), true);
      this.at += 8;
    }
    return this;
  }
  raw(bytes: Uint8Array): this {
    this.bytes.set(bytes, this.at);
    this.at += bytes.length;
    return this;
  }
}

function zip64Block(values: readonly number[]): Uint8Array {
  if (values.length === 0) return new Uint8Array(0);
  return new Fields(4 + 8 * values.length).u16(ZIP64_BLOCK, 8 * values.length).u64(...values).bytes;
}

function concat(...parts: Uint8Array[]): Uint8Array {
  const all = new Fields(parts.reduce((sum, part) => sum + part.length, 0));
  for (const part of parts) all.raw(part);
  return all.bytes;
}

/** Time and date as FAT file systems have them: local, in steps of two seconds, from 1980 on. */
function dosTime(date: Date): [time: number, day: number] {
  const year = Math.min(Math.max(date.getFullYear(), 1980), 2107);
  const time = (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1);
  return [time, ((year - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate()];
}

/** Collects pieces; small neighbours become one. */
class Pieces {
  readonly pieces: Piece[] = [];
  size = 0;
  private pending: Uint8Array[] = [];
  private start = 0;

  add(data: Payload): void {
    const nbytes = sizeOf(data);
    if ("zeros" in data) {
      this.flush();
      this.start = this.size + nbytes;
    } else if (nbytes > SMALL) {
      this.flush();
      this.pieces.push({ offset: this.size, data });
      this.start = this.size + nbytes;
    } else if (data instanceof Uint8Array) {
      this.pending.push(data);
    } else {
      const copy = new Uint8Array(nbytes);
      if ("strided" in data) gather({ tensor: data.strided, offset: 0, nbytes }, addressOf(copy), copy);
      else copyBytes(addressOf(copy), data.address, nbytes);
      this.pending.push(copy);
    }
    this.size += nbytes;
  }

  flush(): void {
    const joined = concat(...this.pending);
    if (joined.length > 0) this.pieces.push({ offset: this.start, data: joined });
    this.pending = [];
    this.start = this.size;
  }
}

/** How one kind of program writes the records of an archive. */
interface Layout {
  local(entry: Placed, align: number | undefined): { header: Uint8Array; padding: Uint8Array };
  descriptor(entry: Placed): Uint8Array | null;
  central(entry: Placed): Uint8Array;
  end(count: number, size: number, offset: number, force: boolean): Uint8Array;
  flags(name: string): number;
}

function endRecords(count: number, size: number, offset: number, wide: boolean, made: number): Uint8Array {
  const at = offset + size;
  const short = new Fields(FIXED.end)
    .u32(SIGNATURE.end)
    .u16(0, 0, Math.min(count, 0xffff), Math.min(count, 0xffff))
    .u32(Math.min(size, IN_ZIP64), Math.min(offset, IN_ZIP64))
    .u16(0).bytes;
  if (!wide) return short;
  const record = new Fields(FIXED.end64)
    .u32(SIGNATURE.end64)
    .u64(FIXED.end64 - 12)
    .u16(made, 45)
    .u32(0, 0)
    .u64(count, count, size, offset).bytes;
  const locator = new Fields(FIXED.locator64).u32(SIGNATURE.locator64, 0).u64(at).u32(1).bytes;
  return concat(record, locator, short);
}

function pythonLayout(mode: number, [time, day]: [number, number]): Layout {
  return {
    flags: (name) => (/^[\0-\x7f]*$/.test(name) ? 0 : FLAG.utf8),
    local(entry, align) {
      const start = entry.headerOffset + FIXED.local + entry.nameBytes.length + 20;
      // An aligned entry has a block always, even where its payload would begin at a multiple without one.
      let gap = align === undefined ? 0 : align - (start % align);
      while (gap > 0 && gap < 4) gap += align as number;
      const padding = gap === 0 ? new Uint8Array(0) : new Fields(gap).u16(TD_BLOCK, gap - 4).bytes;
      const extra = concat(padding, zip64Block([entry.nbytes, entry.compressedBytes]));
      const header = new Fields(FIXED.local)
        .u32(SIGNATURE.local)
        .u16(45, entry.flags, entry.method, time, day)
        .u32(entry.crc, IN_ZIP64, IN_ZIP64)
        .u16(entry.nameBytes.length, extra.length).bytes;
      return { header: concat(header, entry.nameBytes, extra), padding };
    },
    descriptor: () => null,
    central(entry) {
      const large = entry.nbytes > PYTHON_LIMIT || entry.compressedBytes > PYTHON_LIMIT;
      const far = entry.headerOffset > PYTHON_LIMIT;
      const sizes = large ? [entry.nbytes, entry.compressedBytes] : [];
      const extra = concat(zip64Block([...sizes, ...(far ? [entry.headerOffset] : [])]), entry.padding);
      const record = new Fields(FIXED.central)
        .u32(SIGNATURE.central)
        .u16((3 << 8) | 45, 45, entry.flags, entry.method, time, day)
        .u32(entry.crc, large ? IN_ZIP64 : entry.compressedBytes, large ? IN_ZIP64 : entry.nbytes)
        .u16(entry.nameBytes.length, extra.length, 0, 0, 0)
        .u32(mode * 0x10000, far ? IN_ZIP64 : entry.headerOffset).bytes;
      return concat(record, entry.nameBytes, extra);
    },
    end: (count, size, offset, force) =>
      endRecords(count, size, offset, force || count > 0xffff || size > PYTHON_LIMIT || offset > PYTHON_LIMIT, 45),
  };
}

/** The zip64 fields that torch's writer needs for an entry. */
function torchWide(entry: Placed): Uint8Array {
  const sizes = entry.nbytes >= IN_ZIP64 ? [entry.nbytes, entry.compressedBytes] : [];
  return zip64Block([...sizes, ...(entry.headerOffset >= IN_ZIP64 ? [entry.headerOffset] : [])]);
}

const TORCH_LAYOUT: Layout = {
  flags: () => FLAG.utf8 | FLAG.descriptor,
  local(entry, align = 64) {
    const wide = torchWide(entry);
    const start = entry.headerOffset + FIXED.local + entry.nameBytes.length + wide.length + 4;
    const gap = (align - (start % align)) % align;
    const padding = new Fields(4 + gap).u16(FB_BLOCK, gap).raw(new Uint8Array(gap).fill(0x5a)).bytes;
    const header = new Fields(FIXED.local)
      .u32(SIGNATURE.local)
      .u16(0, entry.flags, entry.method, 0, 0)
      .u32(0, 0, 0)
      .u16(entry.nameBytes.length, wide.length + padding.length).bytes;
    return { header: concat(header, entry.nameBytes, wide, padding), padding };
  },
  descriptor(entry) {
    const wide = torchWide(entry).length > 0;
    const fields = new Fields(wide ? 24 : 16).u32(SIGNATURE.descriptor, entry.crc);
    if (wide) return fields.u64(entry.compressedBytes, entry.nbytes).bytes;
    return fields.u32(entry.compressedBytes, entry.nbytes).bytes;
  },
  central(entry) {
    const extra = torchWide(entry);
    const record = new Fields(FIXED.central)
      .u32(SIGNATURE.central)
      .u16(0, 0, entry.flags, entry.method, 0, 0)
      .u32(entry.crc, Math.min(entry.compressedBytes, IN_ZIP64), Math.min(entry.nbytes, IN_ZIP64))
      .u16(entry.nameBytes.length, extra.length, 0, 0, 0)
      .u32(0, Math.min(entry.headerOffset, IN_ZIP64)).bytes;
    return concat(record, entry.nameBytes, extra);
  },
  end: (count, size, offset) => endRecords(count, size, offset, true, 0x031e),
};

function layoutOf(options: ZipWriteOptions): Layout {
  switch (options.style) {
    case "tensordict":
      return pythonLayout(0o644, dosTime(options.modified ?? new Date()));
    case "numpy":
      return pythonLayout(0o600, [0, (1 << 5) | 1]);
    case "torch":
      return TORCH_LAYOUT;
  }
}

/**
 * The bytes of an archive as pieces for `FileWrite`. Sources must stay as they are until these are written.
 * Throws `ValueError` for a name that is empty, too long or used twice.
 */
export function zipPieces(entries: readonly ZipWriteEntry[], options: ZipWriteOptions): ZipLayout {
  return runSteps(layingOutZip(entries, options));
}

/** `zipPieces` in steps, one for each entry. */
export function* layingOutZip(entries: readonly ZipWriteEntry[], options: ZipWriteOptions): Steps<ZipLayout> {
  checkNames(entries);
  const contents: Measured[] = [];
  for (const entry of entries) {
    const content = yield* wait(
      () => measured(entry),
      (slices) => measuredInSlices(entry, slices),
    );
    contents.push(content);
    yield;
  }
  return layOut(entries, contents, options);
}

function checkNames(entries: readonly ZipWriteEntry[]): void {
  const names = new Set<string>();
  for (const { name } of entries) {
    if (name === "" || Buffer.byteLength(name) > 0xffff || names.has(name)) {
      throw new ValueError(`${JSON.stringify(name)} is empty, too long or used twice as a name in an archive`);
    }
    names.add(name);
  }
}

function layOut(entries: readonly ZipWriteEntry[], contents: readonly Measured[], options: ZipWriteOptions): ZipLayout {
  const layout = layoutOf(options);
  const out = new Pieces();
  const directory: Uint8Array[] = [];
  for (const [i, { name, data, prefix = NOTHING, align, deflate }] of entries.entries()) {
    const { crc, payload } = contents[i] as Measured;
    const placed: Placed = {
      nameBytes: UTF8.encode(name),
      headerOffset: out.size,
      method: deflate ? 8 : 0,
      flags: layout.flags(name),
      crc,
      nbytes: prefix.length + sizeOf(data),
      compressedBytes: payload.reduce((sum, part) => sum + sizeOf(part), 0),
      padding: NOTHING,
    };
    const local = layout.local(placed, align);
    placed.padding = local.padding;
    out.add(local.header);
    for (const part of payload) out.add(part);
    const descriptor = layout.descriptor(placed);
    if (descriptor !== null) out.add(descriptor);
    directory.push(layout.central(placed));
  }
  const start = out.size;
  const records = concat(...directory);
  out.add(records);
  out.add(layout.end(entries.length, records.length, start, options.forceZip64 === true));
  out.flush();
  return { pieces: out.pieces, size: out.size };
}

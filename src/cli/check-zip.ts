// Checks of ZIP archives: the checksum of every entry, in parts, and bytes that belong to nothing.
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { FileRanges } from "../io/disk/file-ranges.ts";
import { readZip, type ZipFile } from "../io/zip/zip.ts";
import type { ZipEntry } from "../io/zip/zip-directory.ts";
import { zlib } from "../io/zip/zlib.ts";
import { pause } from "./lifetime.ts";
import type { Report } from "./report.ts";

/** Bytes that are in memory at a time. */
const PART_BYTES = 8 * 2 ** 20;
const STREAM_BYTES = 256 * 2 ** 10;
/** How long what follows a payload can be: checksum and sizes, with or without a signature, of 4 or 8 bytes. */
const DESCRIPTORS = new Set([12, 16, 20, 24]);

function* parts(
  file: FileRanges,
  { offset, compressedBytes, method }: ZipEntry,
  report: Report,
): Generator<Uint8Array> {
  // One room for all parts: a stream keeps its parts for a while, and gets its own.
  const partBytes = method === "stored" ? PART_BYTES : STREAM_BYTES;
  const room = new Uint8Array(Math.min(partBytes, compressedBytes));
  for (let at = 0; at < compressedBytes; at += partBytes) {
    const part = room.subarray(0, Math.min(partBytes, compressedBytes - at));
    file.readInto(offset + at, part);
    yield method === "stored" ? part : part.slice();
    report.advance(part.length);
  }
}

/** What is wrong with the content of an entry, null when it is what its checksum says. */
async function contentProblem(file: FileRanges, entry: ZipEntry, report: Report): Promise<string | null> {
  let crc = 0;
  let nbytes = 0;
  const count = (part: Uint8Array): boolean => {
    crc = zlib().crc32(part, crc);
    nbytes += part.length;
    return nbytes <= entry.nbytes;
  };
  if (entry.method === "stored") {
    for (const part of parts(file, entry, report)) {
      count(part);
      await pause();
    }
  } else {
    try {
      await pipeline(Readable.from(parts(file, entry, report)), zlib().createInflateRaw(), async (output) => {
        for await (const part of output) if (!count(part as Uint8Array)) return;
      });
    } catch (error) {
      if (nbytes <= entry.nbytes) return `damaged deflate data (${(error as Error).message})`;
    }
  }
  if (nbytes !== entry.nbytes) return "its size is not that of its content";
  return crc === entry.crc ? null : "its content does not match its checksum";
}

/** Bytes between entries. Entries of directories have no content and are not listed: their headers stand there. */
function findUnused(zip: ZipFile, file: FileRanges, report: Report): void {
  const entries = [...zip.entries.values()].sort((a, b) => a.headerOffset - b.headerOffset);
  const directory = Math.min(...entries.map((entry) => entry.recordOffset));
  let end = 0;
  for (const [i, entry] of [...entries, null].entries()) {
    const begin = entry?.headerOffset ?? directory;
    const gap = begin - end;
    const known = i > 0 && entries[i - 1]?.hasDescriptor === true && DESCRIPTORS.has(gap);
    const isHeader = gap >= 4 && Buffer.from(file.read(end, 4)).toString("latin1") === "PK\x03\x04";
    if (gap > 0 && !known && !isHeader) report.problem("", `bytes ${end} to ${begin} belong to no entry`);
    if (entry !== null) end = entry.offset + entry.compressedBytes;
  }
}

/** Compares every checksum of an archive. */
export async function checkZip(path: string, report: Report, maxBytes?: number): Promise<ZipFile> {
  const zip = readZip(path);
  zip.requireTotal(maxBytes);
  const file = new FileRanges(path);
  try {
    report.expect([...zip.entries.values()].reduce((sum, entry) => sum + entry.compressedBytes, 0));
    if (zip.entries.size > 0) findUnused(zip, file, report);
    for (const entry of zip.entries.values()) {
      await pause();
      const problem = await contentProblem(file, entry, report);
      report.checksums++;
      if (problem !== null) report.problem(entry.name, problem);
    }
  } finally {
    file.close();
  }
  return zip;
}

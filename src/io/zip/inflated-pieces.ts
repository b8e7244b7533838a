// Compressed entries of archives in pieces, while the program goes on: the runtime's threads read and inflate.
import { promises, readWithoutWaiting } from "../../runtime/node.ts";
import { FormatError, guardedLater } from "../base/errors.ts";
import type { ZipFile } from "./zip.ts";
import type { ZipEntry } from "./zip-directory.ts";
import { zlib } from "./zlib.ts";

/** Bytes that are read, and inflated, at once. */
const PIECE_BYTES = 256 * 1024;

async function* payloadPieces({ path, size }: ZipFile, entry: ZipEntry): AsyncGenerator<Uint8Array> {
  const file = await guardedLater(path, () => promises.open(path, readWithoutWaiting()));
  try {
    const now = await guardedLater(path, () => file.stat());
    if (now.size !== size) throw new FormatError("the archive has changed since it was opened", path);
    for (let at = 0; at < entry.compressedBytes; ) {
      const piece = Buffer.allocUnsafe(Math.min(PIECE_BYTES, entry.compressedBytes - at));
      const { bytesRead } = await guardedLater(path, () => file.read(piece, 0, piece.length, entry.offset + at));
      if (bytesRead === 0) throw new FormatError("the file became shorter while it was read", path);
      at += bytesRead;
      yield piece.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}

/**
 * The content of an entry that is compressed, never more of it than the directory says. Throws `FormatError` when it
 * is not what the directory says; the checksum is compared after the last piece.
 */
export async function* inflatedPieces(zip: ZipFile, entry: ZipEntry): AsyncGenerator<Uint8Array> {
  zip.requireGrowth(entry);
  const { Readable, pipeline } = process.getBuiltinModule("node:stream");
  const inflate = zlib().createInflateRaw({ chunkSize: PIECE_BYTES });
  // What goes wrong on either side ends the reading of `inflate`, which throws it.
  pipeline(Readable.from(payloadPieces(zip, entry)), inflate, () => {});
  let length = 0;
  let crc = 0;
  try {
    for await (const piece of inflate as AsyncIterable<Uint8Array>) {
      length += piece.length;
      if (length > entry.nbytes) throw zip.sizesDiffer(entry);
      crc = zlib().crc32(piece, crc);
      yield piece;
    }
  } catch (error) {
    const { code, message } = error as { code?: unknown; message: string };
    throw String(code).startsWith("Z_") ? zip.bad(entry, `damaged deflate data (${message})`) : error;
  }
  // Bytes behind the end of the deflate data are not taken by it.
  if (length !== entry.nbytes || inflate.bytesWritten !== entry.compressedBytes) throw zip.sizesDiffer(entry);
  if (crc !== entry.crc) throw zip.checksumDiffers(entry);
}

// Compressed bytes of files whose headers say how many they hold: never more is made of them.
import { zlib } from "../zip/zlib.ts";
import { BadCode } from "./bad-code.ts";
import { lz4Any, lz4Block, lz4Frame } from "./lz4.ts";
import { unsnap } from "./snappy.ts";

export type Codec = "none" | "snappy" | "gzip" | "brotli" | "zstd" | "lz4" | "lz4 block" | "lz4 frame";

/** An engine of the runtime, bounded. */
function engine(name: Codec, input: Uint8Array, size: number): Uint8Array {
  const { gunzipSync, brotliDecompressSync, zstdDecompressSync } = zlib();
  const options = { maxOutputLength: Math.max(size, 1) };
  try {
    if (name === "gzip") return gunzipSync(input, options);
    return name === "brotli" ? brotliDecompressSync(input, options) : zstdDecompressSync(input, options);
  } catch (error) {
    throw new BadCode(`its ${name} data cannot be read: ${(error as Error).message}`);
  }
}

/** The `size` bytes that `input` holds. @throws BadCode where it holds others, fewer or more */
export function inflate(codec: Codec, input: Uint8Array, size: number): Uint8Array {
  if (codec === "snappy") return unsnap(input, size);
  if (codec === "lz4 block") return lz4Block(input, size);
  if (codec === "lz4 frame") return lz4Frame(input, size);
  if (codec === "lz4") return lz4Any(input, size);
  const out = codec === "none" ? input : engine(codec, input, size);
  if (out.length !== size) throw new BadCode(`its data is of ${out.length} bytes, not of ${size}`);
  return out;
}

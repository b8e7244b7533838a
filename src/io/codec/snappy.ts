// Snappy, as Parquet files have it: literals, and copies of what came before.
import { BadCode } from "./bad-code.ts";

/** Takes `input` apart, which must hold exactly `size` bytes. */
export function unsnap(input: Uint8Array, size: number): Uint8Array {
  let [at, shift, claimed] = [0, 1, 0];
  for (;;) {
    const byte = input[at++];
    if (byte === undefined || shift > 2 ** 31) throw new BadCode("its snappy data has no length");
    claimed += (byte & 127) * shift;
    shift *= 128;
    if (byte < 128) break;
  }
  if (claimed !== size) throw new BadCode(`its snappy data is of ${claimed} bytes, not of ${size}`);
  const out = new Uint8Array(size);
  let to = 0;
  while (at < input.length) {
    const tag = input[at++] as number;
    let length = (tag >> 2) + 1;
    let distance = 0;
    if ((tag & 3) === 0) {
      if (length > 60) {
        const more = length - 60;
        length = 1;
        for (let i = 0; i < more; i++) length += (input[at + i] ?? 0) * 2 ** (8 * i);
        at += more;
      }
      if (at + length > input.length || to + length > size) throw new BadCode("its snappy data leads outside of it");
      if (length < 24) for (let i = 0; i < length; i++) out[to + i] = input[at + i] as number;
      else out.set(input.subarray(at, at + length), to);
      at += length;
      to += length;
      continue;
    }
    if ((tag & 3) === 1) {
      length = ((tag >> 2) & 7) + 4;
      distance = ((tag >> 5) << 8) | (input[at++] ?? 0);
    } else {
      const bytes = (tag & 3) === 2 ? 2 : 4;
      for (let i = 0; i < bytes; i++) distance += (input[at + i] ?? 0) * 2 ** (8 * i);
      at += bytes;
    }
    if (at > input.length || distance < 1 || distance > to || to + length > size) {
      throw new BadCode("its snappy data leads outside of it");
    }
    for (let i = 0; i < length; i++, to++) out[to] = out[to - distance] as number;
  }
  if (to !== size) throw new BadCode(`its snappy data is of ${to} bytes, not of ${size}`);
  return out;
}

// LZ4: single blocks, frames of them (Arrow), and Hadoop's way to write them (old Parquet files).
import { BadCode } from "./bad-code.ts";

const outside = () => new BadCode("its LZ4 data leads outside of it");

/** Takes one block apart, behind what is in `out` already; gives where it ends there. */
function block(input: Uint8Array, out: Uint8Array, start: number, stop = out.length): number {
  let [at, to] = [0, start];
  const longer = (length: number) => {
    if (length !== 15) return length;
    for (;;) {
      const byte = input[at++];
      if (byte === undefined) throw outside();
      length += byte;
      if (byte !== 255) return length;
    }
  };
  while (at < input.length) {
    const token = input[at++] as number;
    const literals = longer(token >> 4);
    if (at + literals > input.length || to + literals > stop) throw outside();
    out.set(input.subarray(at, at + literals), to);
    at += literals;
    to += literals;
    if (at === input.length) break;
    const distance = (input[at] as number) | ((input[at + 1] ?? 0) << 8);
    at += 2;
    const length = longer(token & 15) + 4;
    if (at > input.length || distance === 0 || distance > to || to + length > stop) throw outside();
    for (let i = 0; i < length; i++, to++) out[to] = out[to - distance] as number;
  }
  return to;
}

/** One block of exactly `size` bytes. */
export function lz4Block(input: Uint8Array, size: number): Uint8Array {
  const out = new Uint8Array(size);
  const end = block(input, out, 0);
  if (end !== size) throw new BadCode(`its LZ4 data is of ${end} bytes, not of ${size}`);
  return out;
}

/** Frames of together exactly `size` bytes; their checksums are not looked at. */
export function lz4Frame(input: Uint8Array, size: number): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const out = new Uint8Array(size);
  let [at, to] = [0, 0];
  const word = () => {
    if (at + 4 > input.length) throw outside();
    at += 4;
    return view.getUint32(at - 4, true);
  };
  while (at < input.length) {
    if (word() !== 0x184d2204) throw new BadCode("its LZ4 data is no frame");
    const flags = input[at] ?? 0;
    if (flags >> 6 !== 1) throw new BadCode("its LZ4 data is of another version");
    at += 2 + ((flags & 8) === 0 ? 0 : 8) + ((flags & 1) === 0 ? 0 : 4) + 1;
    for (;;) {
      const head = word();
      if (head === 0) break;
      const length = head & 0x7fffffff;
      if (at + length > input.length) throw outside();
      const part = input.subarray(at, at + length);
      at += length + ((flags & 16) === 0 ? 0 : 4);
      if (head >>> 31 === 0) to = block(part, out, to);
      else {
        if (to + length > size) throw outside();
        out.set(part, to);
        to += length;
      }
    }
    if ((flags & 4) !== 0) at += 4;
  }
  if (to !== size) throw new BadCode(`its LZ4 data is of ${to} bytes, not of ${size}`);
  return out;
}

/** What Parquet's old name LZ4 stands for: Hadoop's blocks, frames, or one block. */
export function lz4Any(input: Uint8Array, size: number): Uint8Array {
  for (const way of [lz4Hadoop, lz4Frame]) {
    try {
      return way(input, size);
    } catch (error) {
      if (!(error instanceof BadCode)) throw error;
    }
  }
  return lz4Block(input, size);
}

function lz4Hadoop(input: Uint8Array, size: number): Uint8Array {
  const view = new DataView(input.buffer, input.byteOffset, input.byteLength);
  const out = new Uint8Array(size);
  let [at, to] = [0, 0];
  while (at < input.length) {
    if (at + 8 > input.length) throw outside();
    const [whole, packed] = [view.getUint32(at), view.getUint32(at + 4)];
    at += 8;
    if (at + packed > input.length || to + whole > size) throw outside();
    if (block(input.subarray(at, at + packed), out, to, to + whole) !== to + whole) throw outside();
    at += packed;
    to += whole;
  }
  if (to !== size) throw outside();
  return out;
}

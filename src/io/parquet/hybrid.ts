// Runs and packed bits, in which Parquet has levels, indices of dictionaries and truths; and packed differences.
import { BadFile } from "./bad-file.ts";

const cut = () => new BadFile("the values of a page are cut off");

/** Reads `count` numbers of `width` bits in runs and packed groups. */
export function readHybrid(bytes: Uint8Array, width: number, count: number, out: Uint8Array | Uint32Array): void {
  if (width > 32) throw new BadFile(`a page has numbers of ${width} bits`);
  const wide = (width + 7) >> 3;
  let [at, done] = [0, 0];
  while (done < count) {
    let [head, factor, byte] = [0, 1, 128];
    while (byte >= 128) {
      if (at >= bytes.length || factor > 2 ** 35) throw cut();
      byte = bytes[at++] as number;
      head += (byte & 127) * factor;
      factor *= 128;
    }
    if (head % 2 === 0) {
      let value = 0;
      if (at + wide > bytes.length) throw cut();
      for (let i = 0; i < wide; i++) value += (bytes[at++] as number) * 2 ** (8 * i);
      const end = Math.min(count, done + head / 2);
      out.fill(value, done, end);
      done = end;
      continue;
    }
    const size = Math.floor(head / 2) * width;
    const values = Math.min(count - done, Math.floor(head / 2) * 8);
    // The last group may lack the bytes that nothing needs.
    if (at + ((values * width + 7) >> 3) > bytes.length) throw cut();
    unpack(bytes, at, width, values, out, done);
    at += size;
    done += values;
  }
}

/** Numbers of `width` bits, the lowest bits first. */
function unpack(
  bytes: Uint8Array,
  start: number,
  width: number,
  count: number,
  out: Uint8Array | Uint32Array,
  to: number,
) {
  if (width === 0) {
    out.fill(0, to, to + count);
    return;
  }
  if (width === 1) {
    for (let i = 0; i < count; i++) out[to + i] = ((bytes[start + (i >> 3)] as number) >> (i & 7)) & 1;
    return;
  }
  let [at, held, have] = [start, 0, 0];
  const factor = 2 ** width;
  for (let i = 0; i < count; i++) {
    while (have < width) {
      held += (bytes[at++] ?? 0) * 2 ** have;
      have += 8;
    }
    const value = held % factor;
    out[to + i] = value;
    held = (held - value) / factor;
    have -= width;
  }
}

/** Levels in the old way, the highest bits first. Gives where they end. */
export function readPackedLevels(bytes: Uint8Array, width: number, count: number, out: Uint8Array): number {
  const size = Math.ceil((width * count) / 8);
  if (size > bytes.length) throw cut();
  for (let i = 0, bit = 0; i < count; i++) {
    let value = 0;
    for (let k = 0; k < width; k++, bit++)
      value = (value << 1) | (((bytes[bit >> 3] as number) >> (7 - (bit & 7))) & 1);
    out[i] = value;
  }
  return size;
}

/** Numbers as differences from one to the next, in packed blocks. Gives where they end. */
export function readDeltas(bytes: Uint8Array, count: number, out: BigInt64Array | Int32Array): number {
  let at = 0;
  const varint = (): bigint => {
    let [value, shift] = [0n, 0n];
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined || shift > 63n) throw cut();
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return value;
      shift += 7n;
    }
  };
  const signed = () => {
    const value = varint();
    return BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n));
  };
  const [size, blocks, total, first] = [Number(varint()), Number(varint()), Number(varint()), signed()];
  if (total !== count) throw new BadFile(`a page has ${total} differences, not ${count}`);
  const each = size / blocks;
  if (!(size > 0 && size <= 2 ** 24 && blocks > 0 && blocks <= 4096 && Number.isInteger(each) && each % 8 === 0)) {
    throw new BadFile(`a page has blocks of ${size} differences in ${blocks} parts`);
  }
  const isLong = out instanceof BigInt64Array;
  let value = first;
  if (count > 0) out[0] = (isLong ? value : Number(BigInt.asIntN(32, value))) as never;
  for (let done = 1; done < count; ) {
    const least = signed();
    const widths = bytes.subarray(at, at + blocks);
    at += blocks;
    if (at > bytes.length) throw cut();
    for (let block = 0; block < blocks && done < count; block++) {
      const width = widths[block] as number;
      if (width > 64) throw new BadFile(`a page has differences of ${width} bits`);
      const here = Math.min(each, count - done);
      if (at + ((here * width + 7) >> 3) > bytes.length) throw cut();
      for (let i = 0; i < here; i++) {
        value = BigInt.asIntN(64, value + least + bitsAt(bytes, at, i * width, width));
        out[done++] = (isLong ? value : Number(BigInt.asIntN(32, value))) as never;
      }
      at += (each * width) / 8;
    }
  }
  return Math.min(at, bytes.length);
}

/** Some bits as one number. */
function bitsAt(bytes: Uint8Array, start: number, bit: number, width: number): bigint {
  let at = start + Math.floor(bit / 8);
  let have = 8 - (bit % 8);
  if (width <= 44) {
    let value = (bytes[at++] as number) >> (bit % 8);
    while (have < width) {
      value += (bytes[at++] as number) * 2 ** have;
      have += 8;
    }
    return BigInt(value % 2 ** width);
  }
  let value = BigInt((bytes[at++] as number) >> (bit % 8));
  for (; have < width; have += 8) value |= BigInt(bytes[at++] as number) << BigInt(have);
  return BigInt.asUintN(width, value);
}

// Blocks of quantized elements in GGUF files, expanded to float32: the numbers are those of GGUF's Python package.
import { windowOn } from "../../ffi/memory.ts";
import { Storage } from "../../tensor/storage.ts";
import { CODEBOOKS } from "./gguf-codebooks.ts";
import { type Expand, halfAt, halfTable } from "./gguf-halves.ts";
import type { GgufType } from "./gguf-types.ts";

/** Blocks whose elements are bytes: scale, 32 signed bytes. */
function expandBytes(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0, to = 0; block < count; block++) {
    const scale = halfAt(half, blocks, at);
    at += 2;
    for (let i = 0; i < 32; i++) out[to++] = (((blocks[at++] as number) << 24) >> 24) * scale;
  }
}

/**
 * Blocks of four or five bits: scale, with `offset` its smallest value (else all are shifted to be around zero), with
 * `high` the fifth bits, then the lower four bits of the first and the second sixteen.
 */
function expandNibbles(high: boolean, offset: boolean): Expand {
  return (blocks, count, out) => {
    const half = halfTable();
    const shift = offset ? 0 : high ? 16 : 8;
    for (let block = 0, at = 0, to = 0; block < count; block++, to += 32) {
      const scale = halfAt(half, blocks, at);
      at += 2;
      let least = 0;
      if (offset) {
        least = halfAt(half, blocks, at);
        at += 2;
      }
      let fifth = 0;
      if (high) {
        for (let i = 3; i >= 0; i--) fifth = (fifth << 8) | (blocks[at + i] as number);
        at += 4;
      }
      for (let i = 0; i < 16; i++) {
        const pair = blocks[at++] as number;
        const low = (pair & 15) | (((fifth >>> i) & 1) << 4);
        const upper = (pair >> 4) | (((fifth >>> (i + 16)) & 1) << 4);
        out[to + i] = (low - shift) * scale + least;
        out[to + i + 16] = (upper - shift) * scale + least;
      }
    }
  };
}

/** Two bits each: four bits of scale and of offset for every sixteen; the elements; scales of the scales. */
function expandQ2K(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0, to = 0; block < count; block++, at += 84, to += 256) {
    const scale = halfAt(half, blocks, at + 80);
    const least = halfAt(half, blocks, at + 82);
    for (let i = 0; i < 256; i++) {
      const byte = blocks[at + 16 + (i >> 7) * 32 + (i & 31)] as number;
      const part = blocks[at + (i >> 4)] as number;
      const value = (byte >> (((i >> 5) & 3) * 2)) & 3;
      out[to + i] = scale * (part & 15) * value - least * (part >> 4);
    }
  }
}

/** Three bits each: the third bits, the lower two, six bits of scale for every sixteen, their scale. */
function expandQ3K(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0, to = 0; block < count; block++, at += 110, to += 256) {
    const scale = halfAt(half, blocks, at + 108);
    const scales = at + 96;
    for (let group = 0; group < 16; group++) {
      const low = (blocks[scales + (group & 7)] as number) >> (group < 8 ? 0 : 4);
      const high = (blocks[scales + 8 + (group & 3)] as number) >> ((group >> 2) * 2);
      const step = scale * (((low & 15) | ((high & 3) << 4)) - 32);
      for (let i = group * 16; i < group * 16 + 16; i++) {
        const byte = blocks[at + 32 + (i >> 7) * 32 + (i & 31)] as number;
        const third = ((blocks[at + (i & 31)] as number) >> (i >> 5)) & 1;
        out[to + i] = step * (((byte >> (((i >> 5) & 3) * 2)) & 3) - (third === 1 ? 0 : 4));
      }
    }
  }
}

/** Four bits each, five with `high`: six bits of scale and of offset for every thirty-two, packed into twelve bytes. */
function expandQ45K(high: boolean): Expand {
  const nbytes = high ? 176 : 144;
  const lower = high ? 48 : 16;
  return (blocks, count, out) => {
    const half = halfTable();
    for (let block = 0, at = 0, to = 0; block < count; block++, at += nbytes, to += 256) {
      const scale = halfAt(half, blocks, at);
      const least = halfAt(half, blocks, at + 2);
      for (let group = 0; group < 8; group++) {
        const a = blocks[at + 4 + (group & 3)] as number;
        const b = blocks[at + 8 + (group & 3)] as number;
        const c = blocks[at + 12 + (group & 3)] as number;
        const step = scale * (group < 4 ? a & 63 : (c & 15) | ((a >> 2) & 48));
        const offset = least * (group < 4 ? b & 63 : (c >> 4) | ((b >> 2) & 48));
        for (let i = 0; i < 32; i++) {
          const nibble = ((blocks[at + lower + (group >> 1) * 32 + i] as number) >> ((group & 1) * 4)) & 15;
          const fifth = high ? (((blocks[at + 16 + i] as number) >> group) & 1) << 4 : 0;
          out[to + group * 32 + i] = step * (nibble | fifth) - offset;
        }
      }
    }
  };
}

/** Six bits each: the lower four, the upper two, a signed byte of scale for every sixteen, their scale. */
function expandQ6K(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0, to = 0; block < count; block++, at += 210, to += 256) {
    const scale = halfAt(half, blocks, at + 208);
    for (let i = 0; i < 256; i++) {
      const nibble = ((blocks[at + (i >> 7) * 64 + (i & 63)] as number) >> (((i >> 6) & 1) * 4)) & 15;
      const upper = ((blocks[at + 128 + (i >> 7) * 32 + (i & 31)] as number) >> (((i >> 5) & 3) * 2)) & 3;
      const step = ((blocks[at + 192 + (i >> 4)] as number) << 24) >> 24;
      out[to + i] = scale * step * ((nibble | (upper << 4)) - 32);
    }
  }
}

const EXPAND: Record<string, Expand> = {
  Q8_0: expandBytes,
  Q4_0: expandNibbles(false, false),
  Q4_1: expandNibbles(false, true),
  Q5_0: expandNibbles(true, false),
  Q5_1: expandNibbles(true, true),
  Q2_K: expandQ2K,
  Q3_K: expandQ3K,
  Q4_K: expandQ45K(false),
  Q5_K: expandQ45K(true),
  Q6_K: expandQ6K,
  ...CODEBOOKS,
};

/** Whether blocks of this type can be turned into float32. */
export function canExpand(type: GgufType): boolean {
  return Object.hasOwn(EXPAND, type.name);
}

/** Blocks that are expanded through one window on native memory. */
const PART = 1 << 20;

/** The float32 elements of `count` blocks at an address, which must stay valid meanwhile. */
export function expandBlocks(type: GgufType, address: number, count: number): Storage {
  const storage = Storage.allocate(count * type.blockSize * 4);
  // The bytes of small storages move when they are exported; from then on they stay.
  if (count > 0) storage.buffer();
  for (let at = 0; at < count; at += PART) {
    const n = Math.min(PART, count - at);
    const blocks = new Uint8Array(windowOn(address + at * type.blockBytes, n * type.blockBytes));
    const out = new Float32Array(windowOn(storage.ptr + at * type.blockSize * 4, n * type.blockSize * 4));
    (EXPAND[type.name] as Expand)(blocks, n, out);
  }
  return storage;
}

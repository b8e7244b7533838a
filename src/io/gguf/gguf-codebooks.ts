// Blocks of GGUF's types of about one to four bits that are no plain integers: indices into code books, ternary digits,
// four-bit floats. The numbers are those of GGUF's Python package.
import { GRIDS } from "./gguf-grids.ts";
import { type Expand, halfAt, halfTable } from "./gguf-halves.ts";

/** Elements of one large block. */
const LARGE = 256;

const grids = new Map<string, Float32Array>();

/** The elements of every entry of a code book, one entry after the other. */
function gridOf(name: string): Float32Array {
  const known = grids.get(name);
  if (known !== undefined) return known;
  const { levels, width, entries } = GRIDS[name] as (typeof GRIDS)[string];
  const packed = Buffer.from(entries, "base64");
  const bits = 16 / width;
  const grid = new Float32Array((packed.length / 2) * width);
  for (let i = 0; i < grid.length; i++) {
    const entry = packed.readUInt16LE(2 * Math.floor(i / width));
    grid[i] = levels[(entry >> ((i % width) * bits)) & (2 ** bits - 1)] as number;
  }
  grids.set(name, grid);
  return grid;
}

function shortAt(blocks: Uint8Array, at: number): number {
  return (blocks[at] as number) | ((blocks[at + 1] as number) << 8);
}

function wordAt(blocks: Uint8Array, at: number): number {
  return (shortAt(blocks, at) | (shortAt(blocks, at + 2) << 16)) >>> 0;
}

/** Eight signs from seven bits: the eighth makes their number even. */
function evenSigns(bits: number): number {
  let odd = bits ^ (bits >> 4);
  odd ^= odd >> 2;
  odd ^= odd >> 1;
  return bits | ((odd & 1) << 7);
}

/** Writes one entry of a code book; a set bit of `signs` turns its element around. */
function writeEntry(
  out: Float32Array,
  to: number,
  grid: Float32Array,
  entry: number,
  width: number,
  step: number,
  signs: number,
): void {
  for (let i = 0; i < width; i++) {
    const value = step * (grid[entry * width + i] as number);
    out[to + i] = (signs >> i) & 1 ? -value : value;
  }
}

/** For every 32: four indices of eight bits; four times seven bits of signs and four bits of scale. */
function expandIQ2XXS(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ2_XXS");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 66) {
    const scale = halfAt(half, blocks, at);
    for (let group = 0; group < 8; group++) {
      const indices = at + 2 + group * 8;
      const word = wordAt(blocks, indices + 4);
      const step = scale * (0.5 + (word >>> 28)) * 0.25;
      for (let k = 0; k < 4; k++) {
        const to = block * LARGE + group * 32 + k * 8;
        writeEntry(out, to, grid, blocks[indices + k] as number, 8, step, evenSigns((word >>> (7 * k)) & 127));
      }
    }
  }
}

/** For every 8: nine bits of index, seven of signs; then four bits of scale for every 16. */
function expandIQ2XS(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ2_XS");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 74) {
    const scale = halfAt(half, blocks, at);
    for (let k = 0; k < 32; k++) {
      const short = shortAt(blocks, at + 2 + 2 * k);
      const nibble = ((blocks[at + 66 + (k >> 2)] as number) >> (((k >> 1) & 1) * 4)) & 15;
      const step = scale * (0.5 + nibble) * 0.25;
      writeEntry(out, block * LARGE + k * 8, grid, short & 511, 8, step, evenSigns(short >> 9));
    }
  }
}

/** Lower bits of the indices, signs, two upper bits of the indices, four bits of scale for every 16. */
function expandIQ2S(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ2_S");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 82) {
    const scale = halfAt(half, blocks, at);
    for (let k = 0; k < 32; k++) {
      const upper = ((blocks[at + 66 + (k >> 2)] as number) >> ((k & 3) * 2)) & 3;
      const nibble = ((blocks[at + 74 + (k >> 2)] as number) >> (((k >> 1) & 1) * 4)) & 15;
      const entry = (blocks[at + 2 + k] as number) | (upper << 8);
      const step = scale * (0.5 + nibble) * 0.25;
      writeEntry(out, block * LARGE + k * 8, grid, entry, 8, step, blocks[at + 34 + k] as number);
    }
  }
}

/** Indices for every four; then for every 32 four times seven bits of signs and four bits of scale. */
function expandIQ3XXS(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ3_XXS");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 98) {
    const scale = halfAt(half, blocks, at);
    for (let k = 0; k < 64; k++) {
      const word = wordAt(blocks, at + 66 + (k >> 3) * 4);
      const signs = evenSigns((word >>> (7 * ((k >> 1) & 3))) & 127) >> ((k & 1) * 4);
      const step = scale * (0.5 + (word >>> 28)) * 0.5;
      writeEntry(out, block * LARGE + k * 4, grid, blocks[at + 2 + k] as number, 4, step, signs);
    }
  }
}

/** Lower bits of the indices, their ninth bits, signs, four bits of scale for every 32. */
function expandIQ3S(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ3_S");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 110) {
    const scale = halfAt(half, blocks, at);
    for (let k = 0; k < 64; k++) {
      const upper = ((blocks[at + 66 + (k >> 3)] as number) >> (k & 7)) & 1;
      const nibble = ((blocks[at + 106 + (k >> 4)] as number) >> (((k >> 3) & 1) * 4)) & 15;
      const signs = (blocks[at + 74 + (k >> 1)] as number) >> ((k & 1) * 4);
      const entry = (blocks[at + 2 + k] as number) | (upper << 8);
      writeEntry(out, block * LARGE + k * 4, grid, entry, 4, scale * (1 + 2 * nibble), signs);
    }
  }
}

function writeShifted(out: Float32Array, to: number, grid: Float32Array, entry: number, step: number, shift: number) {
  for (let i = 0; i < 8; i++) out[to + i] = step * ((grid[entry * 8 + i] as number) + shift);
}

/** Lower bits of the indices; for every 32 four times three upper bits, three bits of scale, the sign of a shift. */
function expandIQ1S(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ1");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 50) {
    const scale = halfAt(half, blocks, at);
    for (let k = 0; k < 32; k++) {
      const short = shortAt(blocks, at + 34 + (k >> 2) * 2);
      const entry = (blocks[at + 2 + k] as number) | (((short >> (3 * (k & 3))) & 7) << 8);
      const step = scale * (2 * ((short >> 12) & 7) + 1);
      writeShifted(out, block * LARGE + k * 8, grid, entry, step, short & 0x8000 ? -0.125 : 0.125);
    }
  }
}

/** Like IQ1_S; the float16 scale lies in the upper four bits of the four numbers that hold the small scales. */
function expandIQ1M(blocks: Uint8Array, count: number, out: Float32Array): void {
  const grid = gridOf("IQ1");
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 56) {
    let bits = 0;
    for (let i = 0; i < 4; i++) bits |= (shortAt(blocks, at + 48 + 2 * i) >> 12) << (4 * i);
    const scale = half[bits] as number;
    for (let k = 0; k < 32; k++) {
      const upper = (blocks[at + 32 + (k >> 1)] as number) >> ((k & 1) * 4);
      const small = (shortAt(blocks, at + 48 + (k >> 3) * 2) >> (3 * ((k >> 1) & 3))) & 7;
      const entry = (blocks[at + k] as number) | ((upper & 7) << 8);
      writeShifted(out, block * LARGE + k * 8, grid, entry, scale * (2 * small + 1), upper & 8 ? -0.125 : 0.125);
    }
  }
}

/** What the four bits of IQ4 stand for. */
const UNEVEN = Float32Array.of(-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113);
/** Twice what the four bits of a float with two bits of exponent and one of fraction stand for. */
const FLOAT4 = Float32Array.of(0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12);

/** Pairs of four bits: the lower ones are the first `width` elements, the upper ones the others. */
function writePairs(
  out: Float32Array,
  to: number,
  blocks: Uint8Array,
  at: number,
  width: number,
  levels: Float32Array,
  step: number,
): void {
  for (let i = 0; i < width; i++) {
    const pair = blocks[at + i] as number;
    out[to + i] = step * (levels[pair & 15] as number);
    out[to + width + i] = step * (levels[pair >> 4] as number);
  }
}

/** Scale, 32 times four bits. */
function expandIQ4NL(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0; block < count; block++) {
    writePairs(out, block * 32, blocks, block * 18 + 2, 16, UNEVEN, halfAt(half, blocks, block * 18));
  }
}

/** Scale, two upper bits and four lower bits of scale for every 32, the elements. */
function expandIQ4XS(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 136) {
    const scale = halfAt(half, blocks, at);
    const upper = shortAt(blocks, at + 2);
    for (let group = 0; group < 8; group++) {
      const low = ((blocks[at + 4 + (group >> 1)] as number) >> ((group & 1) * 4)) & 15;
      const step = scale * ((low | (((upper >> (2 * group)) & 3) << 4)) - 32);
      writePairs(out, block * LARGE + group * 32, blocks, at + 8 + group * 16, 16, UNEVEN, step);
    }
  }
}

/** A power of two, 32 four-bit floats. */
function expandMXFP4(blocks: Uint8Array, count: number, out: Float32Array): void {
  for (let block = 0; block < count; block++) {
    const step = 2 ** ((blocks[block * 17] as number) - 128);
    writePairs(out, block * 32, blocks, block * 17 + 1, 16, FLOAT4, step);
  }
}

/** Half of a float without sign, four bits of exponent and three of fraction. */
function smallFloat(bits: number): number {
  const exponent = (bits >> 3) & 15;
  const fraction = bits & 7;
  if (bits === 0x7f) return 0;
  return exponent === 0 ? fraction * 2 ** -10 : (8 + fraction) * 2 ** (exponent - 11);
}

/** Four small floats, then 16 four-bit floats for each of them. */
function expandNVFP4(blocks: Uint8Array, count: number, out: Float32Array): void {
  for (let block = 0, at = 0; block < count; block++, at += 36) {
    for (let part = 0; part < 4; part++) {
      const step = smallFloat(blocks[at + part] as number);
      writePairs(out, block * 64 + part * 16, blocks, at + 4 + part * 8, 8, FLOAT4, step);
    }
  }
}

/** Five ternary digits to a byte (32 bytes, then 16), four to the last four bytes; scale. */
function expandTQ1(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  const parts: [number, number, number][] = [
    [0, 32, 5],
    [32, 16, 5],
    [48, 4, 4],
  ];
  for (let block = 0, at = 0, to = 0; block < count; block++, at += 54) {
    const scale = halfAt(half, blocks, at + 52);
    for (const [begin, width, digits] of parts) {
      for (let digit = 0, power = 1; digit < digits; digit++, power *= 3) {
        for (let i = 0; i < width; i++) {
          // The digits are those of a fraction of 256: the first is the whole part of three times it.
          const rest = ((blocks[at + begin + i] as number) * power) & 255;
          out[to++] = scale * (((rest * 3) >> 8) - 1);
        }
      }
    }
  }
}

/** Two bits each, 128 to 32 bytes; scale. */
function expandTQ2(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0; block < count; block++, at += 66) {
    const scale = halfAt(half, blocks, at + 64);
    for (let i = 0; i < LARGE; i++) {
      const byte = blocks[at + (i >> 7) * 32 + (i & 31)] as number;
      out[block * LARGE + i] = scale * (((byte >> (((i >> 5) & 3) * 2)) & 3) - 1);
    }
  }
}

/** How these types are expanded, by name. */
export const CODEBOOKS: Record<string, Expand> = {
  IQ1_S: expandIQ1S,
  IQ1_M: expandIQ1M,
  IQ2_XXS: expandIQ2XXS,
  IQ2_XS: expandIQ2XS,
  IQ2_S: expandIQ2S,
  IQ3_XXS: expandIQ3XXS,
  IQ3_S: expandIQ3S,
  IQ4_NL: expandIQ4NL,
  IQ4_XS: expandIQ4XS,
  MXFP4: expandMXFP4,
  NVFP4: expandNVFP4,
  TQ1_0: expandTQ1,
  TQ2_0: expandTQ2,
};

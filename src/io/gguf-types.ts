// The element types of GGUF files: which are plain, how the others group elements into blocks, and how some of these
// become float32.
import { windowOn } from "../ffi/memory.ts";
import { bfloat16, type DType, float16, float32, float64, int8, int16, int32, int64 } from "../tensor/dtype.ts";
import { Storage } from "../tensor/storage.ts";

/** An element type. Quantized types hold `blockSize` elements in `blockBytes` bytes. */
export interface GgufType {
  /** Its name, such as "F16" or "Q4_0". */
  readonly name: string;
  readonly blockSize: number;
  readonly blockBytes: number;
  /** The tensor's dtype; null for quantized types. */
  readonly dtype: DType | null;
}

const PLAIN: [number, string, DType][] = [
  [0, "F32", float32],
  [1, "F16", float16],
  [24, "I8", int8],
  [25, "I16", int16],
  [26, "I32", int32],
  [27, "I64", int64],
  [28, "F64", float64],
  [30, "BF16", bfloat16],
];

// Number, name, elements and bytes of a block, as GGUF's own Python package lists them.
const QUANTIZED: [number, string, number, number][] = [
  [2, "Q4_0", 32, 18],
  [3, "Q4_1", 32, 20],
  [6, "Q5_0", 32, 22],
  [7, "Q5_1", 32, 24],
  [8, "Q8_0", 32, 34],
  [9, "Q8_1", 32, 40],
  [10, "Q2_K", 256, 84],
  [11, "Q3_K", 256, 110],
  [12, "Q4_K", 256, 144],
  [13, "Q5_K", 256, 176],
  [14, "Q6_K", 256, 210],
  [15, "Q8_K", 256, 292],
  [16, "IQ2_XXS", 256, 66],
  [17, "IQ2_XS", 256, 74],
  [18, "IQ3_XXS", 256, 98],
  [19, "IQ1_S", 256, 50],
  [20, "IQ4_NL", 32, 18],
  [21, "IQ3_S", 256, 110],
  [22, "IQ2_S", 256, 82],
  [23, "IQ4_XS", 256, 136],
  [29, "IQ1_M", 256, 56],
  [34, "TQ1_0", 256, 54],
  [35, "TQ2_0", 256, 66],
  [39, "MXFP4", 32, 17],
  [40, "NVFP4", 64, 36],
  [41, "Q1_0", 128, 18],
];

/** All types, by their number in files. */
export const GGUF_TYPES: ReadonlyMap<number, GgufType> = new Map<number, GgufType>([
  ...PLAIN.map(([id, name, dtype]): [number, GgufType] => {
    return [id, { name, blockSize: 1, blockBytes: dtype.itemsize, dtype }];
  }),
  ...QUANTIZED.map(([id, name, blockSize, blockBytes]): [number, GgufType] => {
    return [id, { name, blockSize, blockBytes, dtype: null }];
  }),
]);

let halves: Float32Array | null = null;

/** Every float16 as a float32, by its bits. */
function halfTable(): Float32Array {
  if (halves !== null) return halves;
  halves = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const size = exponent === 31 ? (fraction === 0 ? Infinity : NaN) : magnitude(exponent, fraction);
    halves[bits] = bits & 0x8000 ? -size : size;
  }
  return halves;
}

function magnitude(exponent: number, fraction: number): number {
  return exponent === 0 ? fraction * 2 ** -24 : (1024 + fraction) * 2 ** (exponent - 25);
}

/** Writes the elements of `count` blocks. */
type Expand = (blocks: Uint8Array, count: number, out: Float32Array) => void;

/** Blocks whose elements are bytes: scale, 32 signed bytes. */
function expandBytes(blocks: Uint8Array, count: number, out: Float32Array): void {
  const half = halfTable();
  for (let block = 0, at = 0, to = 0; block < count; block++) {
    const scale = half[(blocks[at] as number) | ((blocks[at + 1] as number) << 8)] as number;
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
      const scale = half[(blocks[at] as number) | ((blocks[at + 1] as number) << 8)] as number;
      at += 2;
      let least = 0;
      if (offset) {
        least = half[(blocks[at] as number) | ((blocks[at + 1] as number) << 8)] as number;
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

const EXPAND: Record<string, Expand> = {
  Q8_0: expandBytes,
  Q4_0: expandNibbles(false, false),
  Q4_1: expandNibbles(false, true),
  Q5_0: expandNibbles(true, false),
  Q5_1: expandNibbles(true, true),
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

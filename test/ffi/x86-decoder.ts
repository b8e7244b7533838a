// Finds the instructions in x86-64 machine code: where each begins, how it is encoded, how wide its registers are.
// Enough to tell which instruction sets code needs; it names no instructions.

/** How an instruction is encoded: one of the old forms, with SSE registers or not, VEX (AVX) or EVEX (AVX-512). */
export type Encoding = "general" | "sse" | "vex" | "evex";

export interface Instruction {
  length: number;
  encoding: Encoding;
  /** Bits of the vector registers; 0 for general instructions. */
  width: number;
  /** Fused multiply and add. */
  fma: boolean;
}

type Read = (at: number) => number;

const within = (x: number, ...ranges: [number, number][]) => ranges.some(([low, high]) => x >= low && x <= high);

/** Bytes of the ModRM byte, what follows it for an address, and the displacement. */
function addressLength(byte: Read, at: number): number {
  const modrm = byte(at);
  const mod = modrm >> 6;
  if (mod === 3) return 1;
  let length = 1;
  let base = modrm & 7;
  if (base === 4) {
    length++;
    base = byte(at + 1) & 7;
  }
  if (mod === 1) return length + 1;
  if (mod === 2) return length + 4;
  return base === 5 ? length + 4 : length;
}

/** Instructions of the second map that end with a byte, in all encodings. */
const byteInSecondMap = (op: number) => within(op, [0x70, 0x73], [0xc4, 0xc6]) || op === 0xc2;

const isFma = (op: number) => within(op, [0x96, 0x9f], [0xa6, 0xaf], [0xb6, 0xbf]);

function vector(byte: Read, at: number, map: number, encoding: "vex" | "evex", width: number): Instruction {
  const op = byte(at);
  const fma = map === 2 && isFma(op);
  // vzeroupper alone has no operands.
  if (encoding === "vex" && map === 1 && op === 0x77) return { length: at + 1, encoding, width: 0, fma };
  let length = at + 1 + addressLength(byte, at + 1);
  if (map === 3 || (map === 1 && byteInSecondMap(op))) length++;
  return { length, encoding, width, fma };
}

function vex(byte: Read, at: number): Instruction {
  const long = byte(at) === 0xc4;
  const map = long ? byte(at + 1) & 31 : 1;
  const last = byte(at + (long ? 2 : 1));
  return vector(byte, at + (long ? 3 : 2), map, "vex", last & 4 ? 256 : 128);
}

function evex(byte: Read, at: number): Instruction {
  const map = byte(at + 1) & 7;
  const last = byte(at + 3);
  // With registers only, the broadcast bit turns the length into a rounding mode of the full width.
  const rounding = (last & 16) !== 0 && byte(at + 5) >> 6 === 3;
  return vector(byte, at + 4, map, "evex", rounding ? 512 : 128 << ((last >> 5) & 3));
}

function twoBytes(byte: Read, at: number): Instruction {
  const op = byte(at);
  const general = (length: number): Instruction => ({ length, encoding: "general", width: 0, fma: false });
  if (op === 0x38 || op === 0x3a) {
    const encoding = op === 0x38 && byte(at + 1) >= 0xf0 ? "general" : "sse";
    const length = at + 2 + addressLength(byte, at + 2) + (op === 0x3a ? 1 : 0);
    return { length, encoding, width: encoding === "sse" ? 128 : 0, fma: false };
  }
  if (within(op, [0x80, 0x8f])) return general(at + 5);
  if (within(op, [0x05, 0x0b], [0x30, 0x37], [0xa0, 0xa2], [0xa8, 0xaa], [0xc8, 0xcf]) || op === 0x77) {
    return general(at + 1);
  }
  let length = at + 1 + addressLength(byte, at + 1);
  if (byteInSecondMap(op) || op === 0xa4 || op === 0xac || op === 0xba) length++;
  const sse = within(op, [0x10, 0x17], [0x28, 0x2f], [0x50, 0x7f], [0xc2, 0xc2], [0xc4, 0xc6], [0xd0, 0xfe]);
  return sse ? { length, encoding: "sse", width: 128, fma: false } : general(length);
}

/** Bytes of the constant behind an instruction of the first map, or -1 for one that 64-bit code has not. */
function constantLength(op: number, reg: number, narrow: boolean, rexW: boolean): number {
  const word = narrow ? 2 : 4;
  if (op < 0x40) return within(op & 7, [0, 3]) ? 0 : (op & 7) === 4 ? 1 : (op & 7) === 5 ? word : -1;
  if (op === 0x68 || op === 0x69 || op === 0x81 || op === 0xa9 || op === 0xc7) return word;
  if (within(op, [0x70, 0x7f], [0xb0, 0xb7], [0xe0, 0xe7], [0xc0, 0xc1])) return 1;
  if ([0x6a, 0x6b, 0x80, 0x83, 0xa8, 0xc6, 0xcd, 0xeb].includes(op)) return 1;
  if (within(op, [0xb8, 0xbf])) return rexW ? 8 : word;
  if (op === 0xe8 || op === 0xe9) return 4;
  if (op === 0xc2) return 2;
  if (op === 0xf6) return reg < 2 ? 1 : 0;
  if (op === 0xf7) return reg < 2 ? word : 0;
  if (within(op, [0x60, 0x62], [0x06, 0x07], [0xd4, 0xd6]) || op === 0x82 || op === 0x9a || op === 0xea) return -1;
  return 0;
}

function hasModrm(op: number): boolean {
  if (op < 0x40) return (op & 7) < 4;
  if (within(op, [0x80, 0x8f], [0xd0, 0xd3], [0xd8, 0xdf])) return true;
  return [0x63, 0x69, 0x6b, 0xc0, 0xc1, 0xc6, 0xc7, 0xf6, 0xf7, 0xfe, 0xff].includes(op);
}

const PREFIXES = new Set([0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65, 0x66, 0x67, 0xf0, 0xf2, 0xf3]);

/** The instruction at `start`. */
export function decode(code: Uint8Array, start: number): Instruction {
  const byte: Read = (at) => code[start + at] ?? 0;
  let at = 0;
  let narrow = false;
  while (PREFIXES.has(byte(at))) narrow = byte(at++) === 0x66 || narrow;
  const first = byte(at);
  if (first === 0xc4 || first === 0xc5) return vex(byte, at);
  if (first === 0x62) return evex(byte, at);
  const rex = within(first, [0x40, 0x4f]) ? byte(at++) : 0;
  const op = byte(at++);
  if (op === 0x0f) return twoBytes(byte, at);
  const modrm = hasModrm(op);
  const constant = constantLength(op, (byte(at) >> 3) & 7, narrow, (rex & 8) !== 0);
  if (constant < 0) {
    const bytes = Array.from(code.subarray(start, start + 8), (b) => b.toString(16).padStart(2, "0"));
    throw new Error(`no instruction at byte ${start}: ${bytes.join(" ")}`);
  }
  const length = at + (modrm ? addressLength(byte, at) : 0) + constant;
  return { length, encoding: "general", width: 0, fma: false };
}

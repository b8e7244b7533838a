// Float16 numbers inside of the blocks of GGUF files.

/** Writes the elements of `count` blocks. */
export type Expand = (blocks: Uint8Array, count: number, out: Float32Array) => void;

let halves: Float32Array | null = null;

/** Every float16 as a float32, by its bits. */
export function halfTable(): Float32Array {
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

/** The float16 at a place. */
export function halfAt(half: Float32Array, blocks: Uint8Array, at: number): number {
  return half[(blocks[at] as number) | ((blocks[at + 1] as number) << 8)] as number;
}

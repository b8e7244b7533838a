// A 64-bit digest of contiguous element bytes: two sums over position-mixed 32-bit words, NaNs made one bit pattern.
// scripts/oracle/kernel_inputs.py computes the same.
import type { Code } from "../conformance/case-types.ts";
import { mix } from "./kernel-inputs.ts";

/** Elements of a strided window, packed row-major. */
export function packed(bytes: Uint8Array, size: number, pos: Int32Array): Uint8Array {
  let dense = true;
  const first = pos.length > 0 ? pos[0] : 0;
  for (let i = 0; i < pos.length && dense; i++) dense = pos[i] === first + i;
  if (dense) return bytes.slice(first * size, (first + pos.length) * size);
  const out = new Uint8Array(pos.length * size);
  for (let i = 0; i < pos.length; i++) {
    const at = pos[i] * size;
    for (let b = 0; b < size; b++) out[i * size + b] = bytes[at + b];
  }
  return out;
}

function canonical(code: Code, buffer: ArrayBuffer): void {
  if (code === "f16" || code === "bf16") {
    const [limit, nan] = code === "f16" ? [0x7c00, 0x7e00] : [0x7f80, 0x7fc0];
    const a = new Uint16Array(buffer);
    for (let i = 0; i < a.length; i++) if ((a[i] & 0x7fff) > limit) a[i] = nan;
  } else if (code === "f32" || code === "c64") {
    const a = new Uint32Array(buffer);
    for (let i = 0; i < a.length; i++) if ((a[i] & 0x7fffffff) > 0x7f800000) a[i] = 0x7fc00000;
  } else if (code === "f64" || code === "c128") {
    const values = new Float64Array(buffer);
    const a = new Uint32Array(buffer);
    for (let i = 0; i < values.length; i++) {
      if (Number.isNaN(values[i])) {
        a[2 * i] = 0;
        a[2 * i + 1] = 0x7ff80000;
      }
    }
  }
}

function hex(x: number): string {
  return (x >>> 0).toString(16).padStart(8, "0");
}

/** 16 hex digits for contiguous elements of a dtype. */
export function digest(code: Code, bytes: Uint8Array): string {
  const buffer = new ArrayBuffer(Math.ceil(bytes.length / 4) * 4);
  new Uint8Array(buffer).set(bytes);
  // The zero padding after 1- and 2-byte elements is no NaN: it stays.
  canonical(code, buffer);
  const w = new Uint32Array(buffer);
  let lo = 0;
  let hi = 0;
  for (let i = 0; i < w.length; i++) {
    lo = (lo + mix((w[i] + Math.imul(i + 1, 0x9e3779b1)) | 0)) | 0;
    hi = (hi + mix(w[i] ^ ((Math.imul(i + 1, 0x85ebca77) + 0x27d4eb2f) | 0))) | 0;
  }
  return hex(hi) + hex(lo);
}

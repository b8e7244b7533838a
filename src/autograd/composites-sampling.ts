/** Padding and resizing as people call them. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import { type Scalar, scalarToNumber } from "../tensor/complex.ts";
import { warn } from "../tensor/errors.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { adaptiveAvgPool1d, adaptiveAvgPool2d, adaptiveAvgPool3d } from "./composites-pooling.ts";

type Ints = readonly number[];
type Sizes = number | Ints | null;

/** `value` around a tensor, or elements of its own. */
export function functionalPad(input: Tensor, pad: Ints, mode: string, value: Scalar | null): Tensor {
  const { ndim } = input;
  if (!["constant", "reflect", "replicate", "circular"].includes(mode)) throw texts.padMode("pad", mode);
  if (pad.length % 2 !== 0) throw texts.padOdd("pad");
  if (pad.length > 2 * ndim) throw texts.padDims("pad", pad.length, ndim);
  if (mode === "constant") return O.constant_pad_nd(input, pad, value ?? 0);
  if (value !== null && scalarToNumber(value) !== 0) throw texts.padValue("pad", mode);
  const dims = pad.length / 2;
  if (dims < 1 || dims > 3 || (ndim !== dims + 1 && ndim !== dims + 2)) {
    throw texts.padUnsupported("pad", pad.length, ndim);
  }
  if (mode === "circular") return circular(input, pad, dims);
  if (mode === "reflect") return reflected(input, pad, dims);
  if (dims === 1) return O.replication_pad1d(input, pad);
  return dims === 2 ? O.replication_pad2d(input, pad) : O.replication_pad3d(input, pad);
}

function reflected(input: Tensor, pad: Ints, dims: number): Tensor {
  if (dims === 1) return O.reflection_pad1d(input, pad);
  return dims === 2 ? O.reflection_pad2d(input, pad) : O.reflection_pad3d(input, pad);
}

/** What is added in front of a dimension comes from its end, and the other way round. */
function circular(input: Tensor, pad: Ints, dims: number): Tensor {
  const sides = Array.from({ length: dims }, (_, d) => {
    const at = 2 * (dims - 1 - d);
    return [pad[at] as number, pad[at + 1] as number] as const;
  });
  const first = input.ndim - dims;
  sides.forEach(([front, behind], d) => {
    const n = input._shape[first + d] as number;
    if (front > n || behind > n) throw texts.padWraps("pad");
    if (n + front + behind < 0) throw texts.padWrapsNothing("pad");
  });
  const joined = sides.reduce((t, [front, behind], d) => {
    const dim = first + d;
    const from = Math.max(0, -front);
    const kept = O.narrow(t, dim, from, (t._shape[dim] as number) - from - Math.max(0, -behind));
    const n = kept._shape[dim] as number;
    // torch would read what it has not written yet.
    if (front > n || behind > n) throw texts.partialOverlap("pad");
    const parts = [
      ...(front > 0 ? [O.narrow(kept, dim, n - front, front)] : []),
      kept,
      ...(behind > 0 ? [O.narrow(kept, dim, 0, behind)] : []),
    ];
    return parts.length === 1 ? kept : O.cat(parts, dim);
  }, input);
  // What was only made smaller, or left as it is, is no view.
  return sides.every((side) => side.every((n) => n <= 0)) ? O.clone(joined, contiguousFormat) : joined.contiguous();
}

const NEAREST = new Set(["nearest", "area", "nearest-exact"]);

const tuple = (list: Ints): string => (list.length === 1 ? `(${list[0]},)` : `(${list.join(", ")})`);

/** A number for each dimension. */
function forEach(given: number | Ints, input: Tensor, scales: boolean): Ints {
  const dims = input.ndim - 2;
  if (typeof given === "number") return new Array<number>(Math.max(0, dims)).fill(given);
  if (given.length === dims) return given;
  const sizes = `[${input._shape.slice(2).join(", ")}]`;
  if (scales) {
    const form = "(s1, s2, ...,sK)";
    const what = "scale_factor";
    throw texts.sampleSizes("interpolate", what, sizes, `${what} of shape`, tuple(given), what, form);
  }
  const what = "output size";
  throw texts.sampleSizes("interpolate", "output", sizes, `${what} of`, tuple(given), what, "(o1, o2, ...,oK)");
}

export function interpolate(
  input: Tensor,
  size: Sizes,
  scaleFactor: Sizes,
  mode: string,
  alignCorners: boolean | null,
  recompute: boolean | null,
  antialias: boolean,
): Tensor {
  if (NEAREST.has(mode) && alignCorners !== null) throw texts.sampleCorners("interpolate");
  if (size !== null && scaleFactor !== null) throw texts.sampleBoth("interpolate");
  if (size === null && scaleFactor === null) throw texts.sampleNothing("interpolate");
  let scales = scaleFactor === null ? [] : forEach(scaleFactor, input, true);
  const sizes =
    size === null ? scales.map((s, d) => Math.floor((input._shape[d + 2] as number) * s)) : forEach(size, input, false);
  if (recompute === true && size !== null) throw texts.sampleRecompute("interpolate");
  if (recompute === true || mode === "area") scales = [];
  if (antialias || mode === "lanczos") {
    const fits = ["bilinear", "bicubic", "lanczos"].includes(mode) && input.ndim === 4;
    if (!fits) throw texts.sampleAntialias("interpolate");
    throw texts.sampleAntialiasMissing("interpolate");
  }
  return resized(input, sizes, scales, mode, alignCorners ?? false);
}

function resized(input: Tensor, sizes: Ints, scales: Ints, mode: string, corners: boolean): Tensor {
  const dims = input.ndim - 2;
  if (dims >= 1 && dims <= 3) {
    switch (mode) {
      case "nearest":
        if (dims === 1) return O.upsample_nearest1d(input, sizes, scales);
        return dims === 2 ? O.upsample_nearest2d(input, sizes, scales) : O.upsample_nearest3d(input, sizes, scales);
      case "nearest-exact":
        return exact(input, sizes, scales, dims);
      case "area":
        if (dims === 1) return adaptiveAvgPool1d(input, sizes);
        return dims === 2 ? adaptiveAvgPool2d(input, sizes) : adaptiveAvgPool3d(input, sizes);
      case "linear":
      case "bilinear":
      case "trilinear":
        return means(input, sizes, scales, mode, corners, dims);
      case "bicubic":
        if (dims === 2) return O.upsample_bicubic2d(input, sizes, corners, scales);
    }
  }
  throw texts.sampleMode("interpolate", input.ndim, mode);
}

function exact(input: Tensor, sizes: Ints, scales: Ints, dims: number): Tensor {
  if (dims === 1) return O._upsample_nearest_exact1d(input, sizes, scales);
  return dims === 2
    ? O._upsample_nearest_exact2d(input, sizes, scales)
    : O._upsample_nearest_exact3d(input, sizes, scales);
}

function means(input: Tensor, sizes: Ints, scales: Ints, mode: string, corners: boolean, dims: number): Tensor {
  const wanted = mode === "linear" ? 1 : mode === "bilinear" ? 2 : 3;
  if (wanted !== dims) throw texts.sampleNeeds("interpolate", dims + 2, mode, wanted + 2);
  if (dims === 1) return O.upsample_linear1d(input, sizes, corners, scales);
  if (dims === 2) return O.upsample_bilinear2d(input, sizes, corners, scales);
  return O.upsample_trilinear3d(input, sizes, corners, scales);
}

function deprecated(name: string): void {
  warn(`\`nn.functional.${name}\` is deprecated. Use \`nn.functional.interpolate\` instead.`);
}

export function upsample(input: Tensor, size: Sizes, scale: Sizes, mode: string, corners: boolean | null): Tensor {
  deprecated("upsample");
  return interpolate(input, size, scale, mode, corners, null, false);
}

export function upsampleNearest(input: Tensor, size: Sizes, scale: Sizes): Tensor {
  deprecated("upsample_nearest");
  return interpolate(input, size, scale, "nearest", null, null, false);
}

export function upsampleBilinear(input: Tensor, size: Sizes, scale: Sizes): Tensor {
  deprecated("upsample_bilinear");
  return interpolate(input, size, scale, "bilinear", true, null, false);
}

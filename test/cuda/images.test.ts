// Pooling, padding and resizing on a device, emulated: bit by bit what the CPU gives, with gradients.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import * as z from "../../src/index.ts";
import { available, both, expectNoRaces } from "./both.ts";
import { type Launches, watchLaunches } from "./launched.ts";

const F = z.nn.functional;
type Images = (x: z.Tensor) => z.Tensor;

/** How the images of a call lie. */
const PLACES: Readonly<Record<string, Images>> = {
  contiguous: (x) => x,
  "channels last": (x) =>
    x.dim() === 4 ? x.contiguous({ memoryFormat: z.channelsLast }) : x.transpose(0, 1).contiguous().transpose(0, 1),
  "with gaps": (x) => z.stack([x, x], -1).select(-1, 1),
};

/** A call's result and its gradient, of weights that differ. */
function withGradient(call: Images): (x: z.Tensor) => z.Tensor[] {
  return (x) => {
    const leaf = x.detach().requiresGrad_();
    const y = call(leaf);
    const weights = z.arange(y.numel(), { dtype: "float64" }).sin().to(y.dtype).view(y.shape).to(y.device);
    return [y.detach(), ...z.autograd.grad([y], [leaf], { gradOutputs: [weights] })] as z.Tensor[];
  };
}

const image = (...shape: number[]): z.Tensor => {
  const n = shape.reduce((a, b) => a * b, 1);
  return z.arange(n, { dtype: "float64" }).mul(0.7).sin().mul(4).round().view(shape).float();
};

const POOLS: Readonly<Record<string, readonly [shape: number[], call: Images]>> = {
  "maxima of signals": [[2, 3, 9], (x) => F.maxPool1d(x, 3, { stride: 2, padding: 1 })],
  "maxima without a batch": [[3, 7, 6], (x) => F.maxPool2d(x, 2)],
  "maxima that overlap": [[2, 3, 9, 8], (x) => F.maxPool2d(x, 3, { stride: 1, padding: 1 })],
  "maxima with dilation": [[1, 2, 9, 8], (x) => F.maxPool2d(x, [3, 2], { stride: [2, 1], dilation: [2, 3] })],
  "maxima with gaps": [[1, 2, 9, 8], (x) => F.maxPool2d(x, 2, { stride: 3, padding: 1, ceilMode: true })],
  "maxima of volumes": [[2, 1, 5, 4, 6], (x) => F.maxPool3d(x, [2, 3, 2], { stride: 1, padding: [1, 1, 0] })],
  "adaptive maxima": [[2, 2, 7, 5], (x) => F.adaptiveMaxPool2d(x, [3, 5])],
  "more adaptive maxima than elements": [[2, 2, 3, 2], (x) => F.adaptiveMaxPool2d(x, [5, 4])],
  "adaptive maxima of volumes": [[2, 2, 4, 3, 5], (x) => F.adaptiveMaxPool3d(x, [3, 3, 2])],
  "averages of signals": [[2, 3, 9], (x) => F.avgPool1d(x, 3, { stride: 2, padding: 1 })],
  averages: [[2, 3, 9, 8], (x) => F.avgPool2d(x, 3, { stride: 2, padding: 1 })],
  "averages without padding": [
    [2, 3, 9, 8],
    (x) => F.avgPool2d(x, [3, 2], { stride: 2, padding: 1, countIncludePad: false, ceilMode: true }),
  ],
  "averages with a divisor": [[2, 3, 6, 8], (x) => F.avgPool2d(x, 2, { stride: 3, divisorOverride: -3 })],
  "averages of volumes": [[2, 1, 5, 4, 6], (x) => F.avgPool3d(x, 2, { stride: 1, padding: 1 })],
  "adaptive averages": [[2, 2, 7, 5], (x) => F.adaptiveAvgPool2d(x, [3, 7])],
  "adaptive averages of volumes": [[1, 2, 4, 3, 5], (x) => F.adaptiveAvgPool3d(x, [3, 4, 1])],
  "means of everything": [[2, 2, 7, 5], (x) => F.adaptiveAvgPool2d(x, 1)],
  "of no batch": [[0, 2, 7, 5], (x) => F.maxPool2d(x, 2)],
};

const SAMPLES: Readonly<Record<string, readonly [shape: number[], call: Images]>> = {
  "reflected signals": [[2, 3, 5], (x) => F.pad(x, [4, 3], "reflect")],
  "reflected images": [[2, 2, 4, 5], (x) => F.pad(x, [4, 2, -1, 3], "reflect")],
  "reflected volumes": [[1, 2, 3, 4, 5], (x) => F.pad(x, [1, 2, 3, 0, 2, 1], "reflect")],
  "a reflected element": [[1, 2, 1], (x) => F.pad(x, [0, 0], "reflect")],
  "repeated edges": [[2, 2, 4, 5], (x) => F.pad(x, [6, -2, 3, 7], "replicate")],
  "edges that are cut off": [[2, 2, 6, 7], (x) => F.pad(x, [-3, -3, -2, 1], "replicate")],
  "repeated edges of volumes": [[1, 2, 3, 4, 5], (x) => F.pad(x, [1, 2, 3, 0, 2, 1], "replicate")],
  "from the other end": [[2, 2, 4, 5], (x) => F.pad(x, [2, 3, 1, 0], "circular")],
  "a constant": [[2, 2, 4, 5], (x) => F.pad(x, [2, -3, 1, 0], "constant", 7)],
  "nearest, larger": [[2, 2, 4, 5], (x) => F.interpolate(x, { size: [9, 7] })],
  "nearest, smaller": [[2, 2, 9, 7], (x) => F.interpolate(x, { size: [4, 5] })],
  "nearest by a factor": [[2, 2, 4], (x) => F.interpolate(x, { scaleFactor: 1.7 })],
  "nearest of volumes": [[1, 2, 2, 3, 4], (x) => F.interpolate(x, { size: [3, 7, 2] })],
  "nearest and exact": [[2, 2, 4, 5], (x) => F.interpolate(x, { size: [9, 3], mode: "nearest-exact" })],
  lines: [[2, 2, 7], (x) => F.interpolate(x, { size: 12, mode: "linear" })],
  "lines between corners": [[2, 2, 7], (x) => F.interpolate(x, { size: 3, mode: "linear", alignCorners: true })],
  "both ways, larger": [[2, 2, 4, 5], (x) => F.interpolate(x, { size: [9, 7], mode: "bilinear" })],
  "both ways, smaller": [[2, 2, 9, 8], (x) => F.interpolate(x, { size: [2, 3], mode: "bilinear" })],
  "both ways between corners": [
    [2, 2, 4, 5],
    (x) => F.interpolate(x, { size: [9, 1], mode: "bilinear", alignCorners: true }),
  ],
  "one element for many": [[2, 2, 1, 1], (x) => F.interpolate(x, { size: [3, 4], mode: "bilinear" })],
  "three ways": [[1, 2, 2, 3, 4], (x) => F.interpolate(x, { size: [3, 7, 3], mode: "trilinear" })],
  "curves, larger": [[2, 2, 4, 5], (x) => F.interpolate(x, { size: [9, 7], mode: "bicubic" })],
  "curves, smaller": [[1, 2, 9, 8], (x) => F.interpolate(x, { size: [2, 3], mode: "bicubic" })],
  "curves between corners": [
    [1, 2, 3, 2],
    (x) => F.interpolate(x, { scaleFactor: 2.5, mode: "bicubic", alignCorners: true }),
  ],
  areas: [[2, 2, 7, 5], (x) => F.interpolate(x, { size: [3, 2], mode: "area" })],
  "of no batch": [[0, 2, 4, 5], (x) => F.interpolate(x, { size: [3, 2] })],
};

describe.if(available)("images on a device", () => {
  let watched: Launches;
  beforeAll(() => {
    watched = watchLaunches();
  });
  afterAll(() => watched.restore());

  for (const [family, calls] of Object.entries({ pool: POOLS, sample: SAMPLES })) {
    for (const [name, [shape, call]] of Object.entries(calls)) {
      test(`${family}: ${name}`, () => {
        for (const place of Object.values(PLACES)) both(withGradient(call), [image(...shape)], place);
      });
      if (!/volumes|images|larger|maxima that/.test(name)) continue;
      test(`${family}: ${name}, of other floats`, () => {
        // PyTorch has no averages of short floats in volumes.
        const short = name === "averages of volumes" ? [] : (["bfloat16", "float16"] as const);
        for (const dtype of ["float64", ...short] as const) {
          both(withGradient(call), [image(...shape).to(dtype)]);
        }
      });
    }
  }

  test("places of maxima, and gradients of gradients", () => {
    const again = (call: Images) => (x: z.Tensor) => {
      const leaf = x.detach().requiresGrad_();
      const [g] = z.autograd.grad([call(leaf).pow(2).sum()], [leaf], { createGraph: true });
      return z.autograd.grad([(g as z.Tensor).mul(leaf).sum()], [leaf]) as z.Tensor[];
    };
    both((x) => F.maxPool2d(x, 3, { stride: 2, returnIndices: true }) as z.Tensor[], [image(2, 3, 7, 6)]);
    both(
      again((x) => F.maxPool2d(x, 3, { stride: 2 })),
      [image(2, 3, 7, 6)],
    );
    both(
      again((x) => F.avgPool2d(x, 3, { stride: 2 })),
      [image(2, 3, 7, 6)],
    );
    both(
      again((x) => F.interpolate(x, { size: [9, 4], mode: "bicubic" })),
      [image(1, 2, 5, 6)],
    );
  });

  test("images of integers", () => {
    for (const dtype of ["int64", "int32", "uint8"] as const) {
      const x = image(2, 3, 7, 6).abs().to(dtype);
      both((t) => F.maxPool2d(t, 3, { stride: 2 }), [x]);
      both((t) => F.pad(t, [1, 2, 3, 1], "reflect"), [x]);
    }
    both((t) => F.avgPool2d(t, 3, { stride: 2 }), [image(2, 3, 7, 6).long()]);
    both((t) => F.interpolate(t, { size: [4, 9], mode: "bilinear" }), [image(2, 3, 7, 6).abs().to("uint8")]);
    both((t) => F.pad(t, [1, 2, 3, 1], "replicate"), [image(2, 3, 7, 6).to("complex64").mul(new z.Complex(1, 2))]);
  });

  test("strides beyond all memory leave one window", () => {
    const options = { stride: 2 ** 52 };
    both(
      withGradient((t) => F.maxPool2d(t, 3, options)),
      [image(2, 3, 7, 6)],
    );
    both(
      withGradient((t) => F.avgPool2d(t, 3, options)),
      [image(2, 3, 7, 6)],
    );
    both(
      withGradient((t) => F.maxPool1d(t, 1, { dilation: 2 ** 40 })),
      [image(2, 3, 7)],
    );
  });

  test("NaN is the largest of a window", () => {
    const x = image(1, 1, 6, 6);
    x.view(36).select(0, 14).fill_(Number.NaN);
    both(
      withGradient((t) => F.maxPool2d(t, 3, { stride: 1 })),
      [x],
    );
  });

  test("windows of any numbers, drawn", () => {
    let seed = 11;
    const draw = (most: number) => {
      seed = (seed * 48271) % 2147483647;
      return seed % most;
    };
    for (let i = 0; i < 25; i++) {
      const [h, w] = [1 + draw(9), 1 + draw(9)];
      const [kh, kw] = [1 + draw(Math.min(4, h)), 1 + draw(Math.min(4, w))];
      const stride = [1 + draw(4), 1 + draw(3)];
      const padding = [draw((kh >> 1) + 1), draw((kw >> 1) + 1)];
      const countIncludePad = draw(2) === 1;
      const options = { stride, padding, ceilMode: draw(2) === 1 };
      const x = image(1 + draw(2), 1 + draw(3), h, w);
      const place = Object.values(PLACES)[draw(3)] as Images;
      both(
        withGradient((t) => F.maxPool2d(t, [kh, kw], options)),
        [x],
        place,
      );
      both(
        withGradient((t) => F.avgPool2d(t, [kh, kw], { ...options, countIncludePad })),
        [x],
        place,
      );
      const size = [1 + draw(12), 1 + draw(12)];
      both(
        withGradient((t) => F.adaptiveAvgPool2d(t, size)),
        [x],
        place,
      );
      for (const mode of ["nearest", "nearest-exact", "bilinear", "bicubic"] as const) {
        both(
          withGradient((t) => F.interpolate(t, { size, mode })),
          [x],
          place,
        );
      }
      both(
        withGradient((t) => F.interpolate(t, { size, mode: "bicubic", alignCorners: true })),
        [x],
        place,
      );
    }
  });

  test("each has a kernel of its own", () => {
    expect([...watched.lacking]).toEqual([]);
    const wanted = ["average", "average_backward", "maximum", "scatter"].map((name) => `pooling.${name}`);
    for (const path of [...wanted, "sampling.sample", "sampling.sample_backward"]) {
      expect(watched.launched.has(path)).toBe(true);
    }
  });
});

if (available) expectNoRaces();

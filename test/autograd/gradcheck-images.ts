// Arguments of operators on images, for gradient checks.
import { tensor } from "../../src/index.ts";

type Sizes = (...sizes: number[]) => unknown;
type Recipe = Record<string, unknown>;

const two = (n: number): number[] => [n, n];
const GEOMETRY = {
  stride: [2, 1],
  padding: [1, 0],
  dilation: [1, 2],
  transposed: false,
  outputPadding: [0, 0],
  groups: 2,
};
const BACK = { ...GEOMETRY, transposed: true, outputPadding: [1, 0], groups: 1 };
const POOL = { kernelSize: [2, 3], stride: [2, 1], padding: [1, 1], ceilMode: true };
const POOL3 = { kernelSize: two(2).concat(2), stride: [2, 1, 1], padding: [1, 0, 1], ceilMode: false };
const AVERAGE = { countIncludePad: false, divisorOverride: null };
const PLACES = { mode: 4, front: [], scales: [], dims: 2 };

function convolutions(of: Sizes): Record<string, readonly Recipe[]> {
  return {
    convolution: [
      { input: of(2, 4, 5, 6), weight: of(4, 2, 3, 2), bias: of(4), ...GEOMETRY },
      { input: of(2, 3, 4, 3), weight: of(3, 2, 2, 3), bias: null, ...BACK },
      {
        input: of(1, 2, 7),
        weight: of(2, 1, 3),
        bias: of(2),
        ...GEOMETRY,
        stride: [1],
        padding: [2],
        dilation: [2],
        outputPadding: [0],
      },
    ],
    convolution_input_backward: [
      { gradOutput: of(2, 4, 3, 4), weight: of(4, 2, 3, 2), inputSize: [2, 4, 5, 6], ...GEOMETRY },
      { gradOutput: of(2, 2, 7, 7), weight: of(3, 2, 2, 3), inputSize: [2, 3, 4, 3], ...BACK },
    ],
    convolution_weight_backward: [
      { gradOutput: of(2, 4, 3, 4), input: of(2, 4, 5, 6), weightSize: [4, 2, 3, 2], ...GEOMETRY },
      { gradOutput: of(2, 2, 7, 7), input: of(2, 3, 4, 3), weightSize: [3, 2, 2, 3], ...BACK },
    ],
  };
}

function pools(of: Sizes): Record<string, readonly Recipe[]> {
  const image = of(2, 2, 4, 5);
  return {
    constant_pad_nd: [{ self: of(2, 3), pad: [1, -1, 2, 0] }],
    max_pool2d_with_indices: [{ self: image, ...POOL, dilation: [1, 1] }],
    max_pool3d_with_indices: [{ self: of(1, 3, 4, 3), ...POOL3, dilation: [1, 2, 1] }],
    adaptive_max_pool2d: [{ self: image, outputSize: [3, 2] }],
    adaptive_max_pool3d: [{ self: of(1, 3, 4, 3), outputSize: [2, 3, 1] }],
    max_pool_backward: [
      {
        gradOutput: of(1, 2, 2),
        indices: tensor([
          [
            [0, 2],
            [2, 5],
          ],
        ]).long(),
        inputSize: [1, 2, 3],
        kernelSize: [],
        stride: [],
        padding: [],
        dilation: [],
        dims: 2,
      },
    ],
    avg_pool2d: [
      { self: image, ...POOL, ...AVERAGE },
      { self: image, ...POOL, ...AVERAGE, divisorOverride: 3 },
    ],
    avg_pool3d: [{ self: of(1, 3, 4, 3), ...POOL3, ...AVERAGE, countIncludePad: true }],
    avg_pool_backward: [{ gradOutput: of(2, 2, 3, 5), inputSize: [2, 2, 4, 5], ...POOL, ...AVERAGE, dims: 2 }],
    _adaptive_avg_pool2d: [{ self: image, outputSize: [3, 2] }],
    _adaptive_avg_pool3d: [{ self: of(1, 3, 4, 3), outputSize: [2, 3, 1] }],
    adaptive_avg_pool_backward: [{ gradOutput: of(2, 3, 2), inputSize: [2, 4, 5], dims: 2 }],
  };
}

/** By operator; the first of several is varied further. */
export function imageRecipes(of: Sizes): Record<string, readonly Recipe[]> {
  const image = of(2, 2, 4, 5);
  const pads: Recipe[] = [1, 2, 3].map((dims) => ({
    self: of(2, ...new Array<number>(dims).fill(3)),
    padding: [1, 2, 2, 0, 1, 1].slice(0, 2 * dims),
  }));
  const resized = (dims: number): Recipe => ({
    self: of(1, 2, ...new Array<number>(dims).fill(3)),
    outputSize: [4, 5, 2].slice(0, dims),
    scales: [],
  });
  const linear = (dims: number): Recipe[] => [
    { ...resized(dims), alignCorners: false },
    { ...resized(dims), alignCorners: true },
  ];
  return {
    ...convolutions(of),
    ...pools(of),
    reflection_pad1d: [pads[0] as Recipe],
    reflection_pad2d: [pads[1] as Recipe],
    reflection_pad3d: [pads[2] as Recipe],
    replication_pad1d: [pads[0] as Recipe],
    replication_pad2d: [pads[1] as Recipe],
    replication_pad3d: [pads[2] as Recipe],
    upsample_nearest1d: [resized(1)],
    upsample_nearest2d: [resized(2)],
    upsample_nearest3d: [resized(3)],
    _upsample_nearest_exact1d: [resized(1)],
    _upsample_nearest_exact2d: [resized(2)],
    _upsample_nearest_exact3d: [resized(3)],
    upsample_linear1d: linear(1),
    upsample_bilinear2d: linear(2),
    upsample_trilinear3d: linear(3),
    upsample_bicubic2d: linear(2),
    image_sample: [{ self: image, outputSize: [3, 7], ...PLACES }],
    image_sample_backward: [{ gradOutput: of(2, 2, 3, 7), inputSize: [2, 2, 4, 5], ...PLACES }],
  };
}

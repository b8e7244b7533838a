// With what methods of modules of images are called by test/api/by-name-exports.test.ts.
import { ones } from "../../src/index.ts";
import { IMAGE_MODULES } from "../nn-modules.ts";

const signal = () => ones(1, 2, 6);
const image = () => ones(1, 2, 6, 6);
const volume = () => ones(1, 2, 6, 6, 6);

const planes = (dims: number) => ones(1, 2, ...new Array<number>(dims).fill(6));

/** What no role says of operators. */
export const IMAGE_ARGUMENTS: Readonly<Record<string, readonly (() => unknown)[]>> = Object.fromEntries(
  [1, 2, 3].flatMap((dims) => [
    ...["conv", "conv_transpose"].flatMap((name) => [
      [`nn.functional.${name}${dims}d/input`, [() => planes(dims)]],
      [`nn.functional.${name}${dims}d/weight`, [() => ones(2, 2, ...new Array<number>(dims).fill(2))]],
    ]),
    ...["max_pool", "adaptive_max_pool", "avg_pool", "adaptive_avg_pool"].flatMap((name) =>
      ["", ".indices"].map((overload) => [`nn.functional.${name}${dims}d${overload}/input`, [() => planes(dims)]]),
    ),
    ...(dims > 1
      ? []
      : [
          ["nn.functional.interpolate/input", [() => planes(1)]],
          ["nn.functional.interpolate/size", [() => 4]],
          ["nn.functional.upsample/input", [() => planes(1)]],
          ["nn.functional.upsample/size", [() => 4]],
          ["nn.functional.upsample_nearest/input", [() => planes(1)]],
          ["nn.functional.upsample_nearest/size", [() => 4]],
          ["nn.functional.upsample_bilinear/input", [() => planes(2)]],
          ["nn.functional.upsample_bilinear/size", [() => 4]],
          ["nn.functional.pixel_shuffle/input", [() => ones(4, 3, 3)]],
          ["nn.functional.pixel_unshuffle/input", [() => ones(2, 4, 4)]],
          ["nn.functional.channel_shuffle/input", [() => planes(1)]],
        ]),
  ]),
);

export const IMAGE_VALUES: Readonly<Record<string, () => unknown>> = {
  "nn.ReflectionPad1d#forward.input": signal,
  "nn.ReplicationPad1d#forward.input": signal,
  "nn.ZeroPad1d#forward.input": signal,
  "nn.CircularPad1d#forward.input": signal,
  "nn.ConstantPad1d#forward.input": signal,
  "nn.Conv1d#forward.input": signal,
  "nn.ConvTranspose1d#forward.input": signal,
  "nn.MaxPool1d#forward.input": signal,
  "nn.AvgPool1d#forward.input": signal,
  "nn.AdaptiveAvgPool1d#forward.input": signal,
  "nn.AdaptiveMaxPool1d#forward.input": signal,
  "nn.ReflectionPad2d#forward.input": image,
  "nn.ReplicationPad2d#forward.input": image,
  "nn.ZeroPad2d#forward.input": image,
  "nn.CircularPad2d#forward.input": image,
  "nn.ConstantPad2d#forward.input": image,
  "nn.Conv2d#forward.input": image,
  "nn.ConvTranspose2d#forward.input": image,
  "nn.MaxPool2d#forward.input": image,
  "nn.AvgPool2d#forward.input": image,
  "nn.AdaptiveAvgPool2d#forward.input": image,
  "nn.AdaptiveMaxPool2d#forward.input": image,
  "nn.ReflectionPad3d#forward.input": volume,
  "nn.ReplicationPad3d#forward.input": volume,
  "nn.ZeroPad3d#forward.input": volume,
  "nn.CircularPad3d#forward.input": volume,
  "nn.ConstantPad3d#forward.input": volume,
  "nn.Conv3d#forward.input": volume,
  "nn.ConvTranspose3d#forward.input": volume,
  "nn.MaxPool3d#forward.input": volume,
  "nn.AvgPool3d#forward.input": volume,
  "nn.AdaptiveAvgPool3d#forward.input": volume,
  "nn.AdaptiveMaxPool3d#forward.input": volume,
  "nn.Flatten#forward.input": signal,
  "nn.Unflatten#forward.input": signal,
  "nn.PixelShuffle#forward.input": image,
  "nn.PixelUnshuffle#forward.input": image,
  "nn.Upsample#forward.input": image,
  ...Object.fromEntries(
    Object.keys(IMAGE_MODULES).flatMap((name) => [
      [`new nn.${name}.kernelSize`, () => 3],
      [`new nn.${name}.padding`, () => 1],
      [`new nn.${name}.stride`, () => 1],
      [`new nn.${name}.value`, () => 2],
      [`new nn.${name}.size`, () => null],
      [`new nn.${name}.dim`, () => 1],
    ]),
  ),
  ceilMode: () => true,
  countIncludePad: () => false,
  divisorOverride: () => 2,
  dilation: () => 1,
  outputPadding: () => 0,
  groups: () => 1,
  paddingMode: () => "zeros",
  "new nn.Upsample.mode": () => "nearest",
  alignCorners: () => null,
  recomputeScaleFactor: () => null,
  inChannels: () => 2,
  outChannels: () => 2,
  kernelSize: () => 2,
  returnIndices: () => true,
  upscaleFactor: () => 2,
  downscaleFactor: () => 2,
  scaleFactor: () => 2,
  "new nn.Unflatten.unflattenedSize": () => [1, 2],
};

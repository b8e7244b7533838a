// Convolutions: the shapes of ResNet-50, forward alone and with both gradients, and what else images go through.
import { autograd, nn, noGrad, randn, type Tensor } from "zensor";
import { type Case, loop } from "./case.ts";

const F = nn.functional;

/** Channels in and out, width of the filter, stride, padding, size of the image. */
type Shape = readonly [inner: number, outer: number, kernel: number, stride: number, padding: number, size: number];

const RESNET: readonly Shape[] = [
  [3, 64, 7, 2, 3, 224],
  [64, 64, 1, 1, 0, 56],
  [64, 64, 3, 1, 1, 56],
  [64, 256, 1, 1, 0, 56],
  [256, 64, 1, 1, 0, 56],
  [256, 128, 1, 1, 0, 56],
  [128, 128, 3, 2, 1, 56],
  [256, 512, 1, 2, 0, 56],
  [128, 512, 1, 1, 0, 28],
  [512, 128, 1, 1, 0, 28],
  [128, 128, 3, 1, 1, 28],
  [512, 256, 1, 1, 0, 28],
  [256, 256, 3, 2, 1, 28],
  [512, 1024, 1, 2, 0, 28],
  [256, 1024, 1, 1, 0, 14],
  [1024, 256, 1, 1, 0, 14],
  [256, 256, 3, 1, 1, 14],
  [1024, 512, 1, 1, 0, 14],
  [512, 512, 3, 2, 1, 14],
  [1024, 2048, 1, 2, 0, 14],
  [512, 2048, 1, 1, 0, 7],
  [2048, 512, 1, 1, 0, 7],
  [512, 512, 3, 1, 1, 7],
];

/** A layer of ResNet-50 on one image. */
function layer([inner, outer, kernel, stride, padding, size]: Shape, backward: boolean, groups = 1): Case {
  const sizes = `${inner} to ${outer}, ${kernel} x ${kernel}, stride ${stride}, ${size} x ${size}`;
  const options = `None, ${stride}, ${padding}, 1, ${groups}`;
  const setup = `import torch.nn.functional as F
x = torch.randn(1, ${inner}, ${size}, ${size}, requires_grad=${backward ? "True" : "False"})
w = torch.randn(${outer}, ${inner / groups}, ${kernel}, ${kernel}, requires_grad=${backward ? "True" : "False"})
g = torch.randn_like(F.conv2d(x, w, ${options}).detach())`;
  const call = `F.conv2d(x, w, ${options})`;
  return {
    name: `${groups > 1 ? "depthwise " : ""}${sizes}${backward ? ", and gradients" : ""}`,
    ours() {
      const x = randn(1, inner, size, size).requiresGrad_(backward);
      const w = randn(outer, inner / groups, kernel, kernel).requiresGrad_(backward);
      const run = (): Tensor => F.conv2d(x, w, null, stride, padding, 1, groups);
      const g = randn(noGrad(run).shape);
      return loop(() => {
        if (backward) autograd.grad([run()], [x, w], { gradOutputs: [g] });
        else run();
      });
    },
    python: [setup, backward ? `torch.autograd.grad(${call}, [x, w], g)` : call],
  };
}

/** Something else on a batch of 64 x 56 x 56. */
function other(name: string, ours: (x: Tensor) => unknown, python: string): Case {
  return {
    name,
    ours() {
      const x = randn(1, 64, 56, 56);
      return loop(() => ours(x));
    },
    python: ["import torch.nn.functional as F\nx = torch.randn(1, 64, 56, 56)", python],
  };
}

export const cases: readonly Case[] = [
  ...RESNET.map((shape) => layer(shape, false)),
  ...RESNET.map((shape) => layer(shape, true)),
  layer([128, 128, 3, 1, 1, 56], false, 128),
  layer([128, 128, 3, 1, 1, 56], true, 128),
  other("maxPool2d 3, stride 2", (x) => F.maxPool2d(x, 3, 2, 1), "F.max_pool2d(x, 3, 2, 1)"),
  other("avgPool2d 2", (x) => F.avgPool2d(x, 2), "F.avg_pool2d(x, 2)"),
  other("adaptiveAvgPool2d 7", (x) => F.adaptiveAvgPool2d(x, 7), "F.adaptive_avg_pool2d(x, 7)"),
  other("pad reflect 1", (x) => F.pad(x, [1, 1, 1, 1], "reflect"), 'F.pad(x, [1, 1, 1, 1], "reflect")'),
  other("interpolate 2, nearest", (x) => F.interpolate(x, { scaleFactor: 2 }), "F.interpolate(x, scale_factor=2)"),
  other(
    "interpolate 2, bilinear",
    (x) => F.interpolate(x, { scaleFactor: 2, mode: "bilinear" }),
    'F.interpolate(x, scale_factor=2, mode="bilinear")',
  ),
];

/** Convolutions and what else works on images: examples are more images of one batch, or more groups. */
import * as O from "../../generated/ops.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { Call, Rule } from "./call.ts";

type Ints = readonly number[];

/** The first two dimensions, the examples and another, as one. */
const merged = (t: Tensor): Tensor => {
  const [size, first, ...rest] = t._shape as [number, number, ...number[]];
  return O.reshape(t, [size * first, ...rest]);
};

/** The first dimension as the examples and what is left of it. */
const split = (t: Tensor, size: number): Tensor => {
  const [first, ...rest] = t._shape as [number, ...number[]];
  return O.reshape(t, [size, first / size, ...rest]);
};

/** The channels of all examples beside each other: (examples, batch, channels) as (batch, examples * channels). */
const asGroups = (t: Tensor): Tensor => {
  const [size, batch, channels, ...rest] = t._shape as [number, number, number, ...number[]];
  return O.reshape(O.transpose(t, 0, 1), [batch, size * channels, ...rest]);
};

/** What a convolution with a group for each example gives, with the examples in front. */
const ofGroups = (t: Tensor, size: number): Tensor => {
  const [batch, channels, ...rest] = t._shape as [number, number, ...number[]];
  return O.transpose(O.reshape(t, [batch, size, channels / size, ...rest]), 0, 1);
};

/** The numbers of groups, strides and so on of a call, whose last is how many groups there are. */
function numbersOf(call: Call, from: number): [Ints, Ints, Ints, boolean, Ints, number] {
  return call.args.slice(from) as [Ints, Ints, Ints, boolean, Ints, number];
}

function grouped(numbers: ReturnType<typeof numbersOf>, size: number): ReturnType<typeof numbersOf> {
  const [stride, padding, dilation, transposed, outputPadding, groups] = numbers;
  return [stride, padding, dilation, transposed, outputPadding, groups * size];
}

/** Sizes that do not fit are refused as for one example. */
function requireFit(call: Call, a: Tensor, b: Tensor): void {
  if (a.ndim !== b.ndim || a.ndim < 3) call.operator.run(...call.args);
}

const convolution: Rule = (call) => {
  const { level, args } = call;
  const [input, weight, bias] = args as [Tensor, Tensor, Tensor | null];
  requireFit(call, input, weight);
  const numbers = numbersOf(call, 3);
  if (!level.has(weight) && !(bias !== null && level.has(bias))) {
    return split(O.convolution(merged(level.front(input)), weight, bias, ...numbers), level.size);
  }
  const all = bias === null ? null : O.reshape(level.all(bias), [-1]);
  const [x, w] = [asGroups(level.all(input)), merged(level.all(weight))];
  return ofGroups(O.convolution(x, w, all, ...grouped(numbers, level.size)), level.size);
};

const inputBackward: Rule = (call) => {
  const { level, args } = call;
  const [grad, weight, size] = args as [Tensor, Tensor, Ints];
  const numbers = numbersOf(call, 3);
  const [batch, channels, ...rest] = size as [number, number, ...number[]];
  if (!level.has(weight)) {
    const all = [batch * level.size, channels, ...rest];
    return split(O.convolution_input_backward(merged(level.front(grad)), weight, all, ...numbers), level.size);
  }
  const all = [batch, channels * level.size, ...rest];
  const [g, w] = [asGroups(level.all(grad)), merged(level.all(weight))];
  return ofGroups(O.convolution_input_backward(g, w, all, ...grouped(numbers, level.size)), level.size);
};

const weightBackward: Rule = (call) => {
  const { level, args } = call;
  const [grad, input, size] = args as [Tensor, Tensor, Ints];
  const numbers = grouped(numbersOf(call, 3), level.size);
  const all = [(size[0] as number) * level.size, ...size.slice(1)];
  const [g, x] = [asGroups(level.all(grad)), asGroups(level.all(input))];
  return split(O.convolution_weight_backward(g, x, all, ...numbers), level.size);
};

/** Dimensions are counted from the end, so that the examples in front change nothing. */
const constantPad: Rule = ({ level, args }) => {
  const [self, pad, value] = args as [Tensor, Ints, never];
  if (pad.length > 2 * self.ndim) return O.constant_pad_nd(self, pad, value);
  return O.constant_pad_nd(level.front(self), pad, value);
};

/** Operators on planes, whose first argument has one dimension of planes in front or a batch as well. */
const planes =
  (dims: number): Rule =>
  ({ level, operator, args }) => {
    const [self, ...rest] = args as [Tensor, ...unknown[]];
    if (self.ndim !== dims + 2) return operator.run(self.ndim === dims + 1 ? level.front(self) : self, ...rest);
    const result = operator.run(merged(level.front(self)), ...rest) as Tensor | Tensor[];
    return Array.isArray(result) ? result.map((t) => split(t, level.size)) : split(result, level.size);
  };

/** Their gradients: the sizes of the input are those of all examples. */
const planesBackward =
  (place: number): Rule =>
  ({ level, operator, args }) => {
    const dims = args.at(-1) as number;
    const size = args[place] as Ints;
    const alone = size.length === dims + 1;
    const all = args.map((x) => {
      if (!(x instanceof Tensor)) return x;
      return alone ? level.all(x) : merged(level.all(x));
    });
    all[place] = alone ? [level.size, ...size] : [(size[0] as number) * level.size, ...size.slice(1)];
    const result = operator.run(...all) as Tensor;
    return alone ? result : split(result, level.size);
  };

export const IMAGE_RULES: Readonly<Record<string, Rule>> = {
  convolution,
  convolution_input_backward: inputBackward,
  convolution_weight_backward: weightBackward,
  constant_pad_nd: constantPad,
  max_pool2d_with_indices: planes(2),
  max_pool3d_with_indices: planes(3),
  adaptive_max_pool2d: planes(2),
  adaptive_max_pool3d: planes(3),
  avg_pool2d: planes(2),
  avg_pool3d: planes(3),
  _adaptive_avg_pool2d: planes(2),
  _adaptive_avg_pool3d: planes(3),
  reflection_pad1d: planes(1),
  reflection_pad2d: planes(2),
  reflection_pad3d: planes(3),
  replication_pad1d: planes(1),
  replication_pad2d: planes(2),
  replication_pad3d: planes(3),
  upsample_nearest1d: planes(1),
  upsample_nearest2d: planes(2),
  upsample_nearest3d: planes(3),
  _upsample_nearest_exact1d: planes(1),
  _upsample_nearest_exact2d: planes(2),
  _upsample_nearest_exact3d: planes(3),
  upsample_linear1d: planes(1),
  upsample_bilinear2d: planes(2),
  upsample_trilinear3d: planes(3),
  upsample_bicubic2d: planes(2),
  image_sample: (call) => planes(call.args[5] as number)(call),
  image_sample_backward: planesBackward(1),
  max_pool_backward: planesBackward(2),
  avg_pool_backward: planesBackward(1),
  adaptive_avg_pool_backward: planesBackward(1),
};

/** Channels and pixels in each other's places. */
import * as O from "../../generated/ops.ts";
import * as texts from "../../generated/texts.ts";
import { suggestedFormat } from "../dispatch/copy.ts";
import { contiguousFormat } from "../dispatch/memory-format.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** The sizes in front, and the last three. */
function sizesOf(input: Tensor): [lead: number[], channels: number, height: number, width: number] {
  const lead = input._shape.slice(0, -3);
  return [lead, ...(input._shape.slice(-3) as [number, number, number])];
}

function rearranged(
  input: Tensor,
  parts: readonly number[],
  order: readonly number[],
  size: readonly number[],
): Tensor {
  const lead = input.ndim - 3;
  const dims = [...Array.from({ length: lead }, (_, d) => d), ...order.map((d) => d + lead)];
  const pieces = O.permute(O.reshape(input, [...input._shape.slice(0, -3), ...parts]), dims);
  return inFormat(input, O.reshape(O.clone(pieces, contiguousFormat), size));
}

/** With channels last where the input has them last. */
function inFormat(input: Tensor, result: Tensor): Tensor {
  const format = suggestedFormat(input);
  return format === contiguousFormat ? result : O.clone(result, format);
}

export function pixelShuffle(input: Tensor, factor: number): Tensor {
  const name = "pixel_shuffle";
  if (input.ndim < 3) throw texts.shuffleDims(name, name, input.ndim);
  if (factor <= 0) throw texts.shuffleFactor(name, name, "upscale_factor", factor);
  const [lead, c, h, w] = sizesOf(input);
  if (c % factor ** 2 !== 0) throw texts.shuffleChannels(name, c, factor ** 2);
  const size = [...lead, c / factor ** 2, h * factor, w * factor];
  return rearranged(input, [c / factor ** 2, factor, factor, h, w], [0, 3, 1, 4, 2], size);
}

export function pixelUnshuffle(input: Tensor, factor: number): Tensor {
  const name = "pixel_unshuffle";
  if (input.ndim < 3) throw texts.shuffleDims(name, name, input.ndim);
  if (factor <= 0) throw texts.shuffleFactor(name, name, "downscale_factor", factor);
  const [lead, c, h, w] = sizesOf(input);
  if (h % factor !== 0) throw texts.unshuffleSize(name, "height", -2, h, factor);
  if (w % factor !== 0) throw texts.unshuffleSize(name, "width", -1, w, factor);
  // As torch has it: nothing is given as it came.
  if (input._numel === 0) return O.clone(input, null);
  const [rows, columns] = [h / factor, w / factor];
  const size = [...lead, c * factor ** 2, rows, columns];
  return rearranged(input, [c, rows, factor, columns, factor], [0, 2, 4, 1, 3], size);
}

export function channelShuffle(input: Tensor, groups: number): Tensor {
  const name = "channel_shuffle";
  if (input.ndim <= 2) throw texts.channelsDims(name, `[${input._shape.join(", ")}]`);
  if (groups <= 0) throw texts.channelsGroups(name, groups);
  const [batch, channels, ...rest] = input._shape as [number, number, ...number[]];
  if (channels % groups !== 0) throw texts.channelsIndivisible(name, channels, groups);
  const pieces = O.transpose(O.reshape(input, [batch, groups, channels / groups, ...rest]), 1, 2);
  return inFormat(input, O.reshape(O.clone(pieces, contiguousFormat), input._shape));
}

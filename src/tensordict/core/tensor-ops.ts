// The few functions of tensors that this room calls by name.
import {
  emptyStrided as emptyStridedOf,
  full as fullOf,
  ones as onesOf,
  zeros as zerosOf,
} from "../../../generated/functional.ts";
import { cat, stack, to } from "../../../generated/ops.ts";
import { tensor as tensorOf } from "../../api/tensor-data.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import type { DType, DTypeLike } from "../../tensor/dtype.ts";
import { Tensor } from "../../tensor/tensor.ts";

/** A tensor from numbers, arrays of numbers, or a typed array; tensors stay what they are. */
export function tensor(value: unknown): Tensor {
  return value instanceof Tensor ? value : tensorOf(value as never);
}

/** The same on the CPU, whatever the default device: an index that may be one of any device. */
export function onHost(value: unknown): Tensor {
  return value instanceof Tensor ? value.cpu() : tensorOf(value as never, { device: "cpu" });
}

/** The elements of a shape counted in row-major order, on the CPU. */
export function positionsIn(shape: readonly number[]): Tensor {
  const numbers = new Float64Array(shape.reduce((a, b) => a * b, 1));
  for (let i = 0; i < numbers.length; i++) numbers[i] = i;
  return onHost(numbers).reshape([...shape]);
}

export function zeros(shape: readonly number[], options: { dtype?: DTypeLike; device?: DeviceLike } = {}): Tensor {
  return zerosOf(shape, options);
}

export function ones(shape: readonly number[], options: { dtype?: DTypeLike; device?: DeviceLike } = {}): Tensor {
  return onesOf(shape, options);
}

export function full(shape: readonly number[], value: number | boolean): Tensor {
  return fullOf(shape, value);
}

export function stackTensors(tensors: readonly Tensor[], dim: number): Tensor {
  return stack(tensors, dim);
}

/** `t.to(dtype)`. */
export function castTensor(t: Tensor, dtype: DType): Tensor {
  return to(t, dtype, false, false, null, null);
}

export function catTensors(tensors: readonly Tensor[], dim: number): Tensor {
  return cat(tensors, dim);
}

/** The elements in row-major order. */
export function flatNumbers(t: Tensor): number[] {
  return t.reshape([-1]).tolist() as number[];
}

export function emptyStrided(
  shape: readonly number[],
  strides: readonly number[],
  options: { dtype: DTypeLike; device: DeviceLike },
): Tensor {
  return emptyStridedOf([...shape], [...strides], options);
}

/** The members of Tensor that this room implements; the registration file installs them. */
import type { TypedStorageLike } from "../tensor/storage-types.ts";
import type { Tensor } from "../tensor/tensor.ts";
import { repr } from "./printing.ts";
import { newTensor, type TensorData, type TensorOptions } from "./tensor-data.ts";
import { storage } from "./typed-storage.ts";
import { bigint, item, tolist, typedArray } from "./values.ts";

declare module "../tensor/tensor.ts" {
  interface Tensor {
    /** A copy of the data as a tensor of the same dtype and device. @torch Tensor.new_tensor */
    newTensor(data: TensorData, options?: TensorOptions): Tensor;
  }
}

/** For `late` in the tensor room. */
export const valueMembers = {
  repr: (t: Tensor): string => repr(t),
  item,
  bigint,
  tolist,
  typedArray,
  storage: (t: Tensor): TypedStorageLike => storage(t),
};

/** Methods that take JavaScript data. */
export function installDataMethods(prototype: Tensor): void {
  prototype.newTensor = function (this: Tensor, data: TensorData, options?: TensorOptions): Tensor {
    return newTensor(this, data, options);
  };
}

/** The members of Tensor that this room implements; the registration file installs them. */
import { checkedCall } from "../tensor/checks.ts";
import { MEMBERS } from "../tensor/signatures.ts";
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

/** `Tensor.newTensor`. */
export function newTensorMember(this: Tensor, ...args: [data: TensorData, options?: TensorOptions]): Tensor {
  const [data, options] = checkedCall("newTensor", MEMBERS.newTensor, args);
  return newTensor(this, data, options);
}

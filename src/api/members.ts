/** The members of Tensor that this room implements; the registration file installs them. */
import { checkedCall } from "../tensor/checks.ts";
import { MEMBERS } from "../tensor/signatures.ts";
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

/** What members of Tensor that give values do, by name. */
export function valueMemberOf(name: string): unknown {
  switch (name) {
    case "repr":
      return repr;
    case "item":
      return item;
    case "bigint":
      return bigint;
    case "tolist":
      return tolist;
    case "typedArray":
      return typedArray;
    case "storage":
      return storage;
  }
  return undefined;
}

/** `Tensor.newTensor`. */
export function newTensorMember(this: Tensor, ...args: [data: TensorData, options?: TensorOptions]): Tensor {
  const [data, options] = checkedCall("newTensor", MEMBERS.newTensor, args);
  return newTensor(this, data, options);
}

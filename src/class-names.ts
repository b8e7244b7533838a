/**
 * Classes carry the names that users know them by, which printed modules, collections and errors show. A minifier
 * shortens the names of classes, but not those of properties.
 */

import { Slice } from "./api/indexing.ts";
import { TypedStorage } from "./api/typed-storage.ts";
import { Generator } from "./dispatch/generator.ts";
import { MemoryFormat } from "./dispatch/memory-format.ts";
import * as distributions from "./distributions/index.ts";
import * as nn from "./nn/index.ts";
import { Complex, Float, Int } from "./tensor/complex.ts";
import { Device } from "./tensor/device.ts";
import { DType } from "./tensor/dtype.ts";
import { Size } from "./tensor/size.ts";
import { UntypedStorage } from "./tensor/storage.ts";
import { Tensor } from "./tensor/tensor.ts";
import {
  LazyStackedTensorDict,
  MemoryMappedTensor,
  MetaData,
  NestedTensor,
  NonTensorData,
  NonTensorStack,
  PersistentTensorDict,
  TensorClassBase,
  TensorDict,
  nn as tensordictNn,
} from "./tensordict/index.ts";

const CLASSES: Record<string, unknown> = {
  ...{ Tensor, Size, DType, Device, Complex, Float, Int, Slice, Generator, MemoryFormat, TypedStorage, UntypedStorage },
  ...{ TensorDict, LazyStackedTensorDict, PersistentTensorDict, NonTensorData, NonTensorStack, MetaData, NestedTensor },
  ...{ TensorClassBase, MemoryMappedTensor },
};

export function nameClasses(): void {
  // Two rooms may have classes of one name.
  const all = [CLASSES, nn, distributions, tensordictNn].flatMap((room) => Object.entries<unknown>(room));
  for (const [name, value] of all) {
    if (typeof value !== "function" || !/^[A-Z]/.test(name) || value.name === name) continue;
    Object.defineProperty(value, "name", { value: name });
  }
}

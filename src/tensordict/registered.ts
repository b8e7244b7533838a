// What files below the classes call to make and load collections, by name.
import { lazyOf } from "./classes/lazy.ts";
import { asNestedTensor } from "./classes/nested-api.ts";
import { valueOf } from "./classes/non-tensor.ts";
import { stackOf, stackOfParts } from "./classes/non-tensor-stack.ts";
import { PersistentTensorDict } from "./classes/persistent.ts";
import { toH5Async } from "./classes/persistent-later.ts";
import { TensorAttrs } from "./classes/tensor-attrs.ts";
import { denseOf } from "./classes/tensordict.ts";
import { isNonTensor, type loader, type make } from "./core/state.ts";
import { loadTree } from "./disk/memmap-load.ts";

type Make = typeof make;
type Loader = typeof loader;

const lazy: Make["lazy"] = (members, stackDim, stackDimName, none) =>
  lazyOf(members, { ...none, stackDim, stackDimName });
const stack: Make["stack"] = (members, stackDim, stackDimName) =>
  members.length > 0 && members.every(isNonTensor)
    ? stackOfParts(members, stackDim)
    : lazyOf(members, { stackDim, stackDimName });
const attributes: Make["attributes"] = (t, fields) => TensorAttrs.fromTensor(t, { fields });
const fromH5: Loader["fromH5"] = (filename, options) => PersistentTensorDict.fromH5(filename, options);
const toH5: Loader["toH5"] = (td, filename, options) => PersistentTensorDict.fromDict(td, filename, options);

/** What makes a kind of collection. */
export function makerOf(name: string): unknown {
  switch (name) {
    case "tensordict":
      return denseOf;
    case "lazy":
      return lazy;
    case "stack":
      return stack;
    case "nonTensor":
      return valueOf;
    case "nonTensorStack":
      return stackOf;
    case "attributes":
      return attributes;
    case "nested":
      return asNestedTensor;
  }
  return undefined;
}

/** What loads or keeps one. */
export function loaderOf(name: string): unknown {
  switch (name) {
    case "load":
      return loadTree;
    case "fromH5":
      return fromH5;
    case "toH5":
      return toH5;
    case "toH5Async":
      return toH5Async;
  }
  return undefined;
}

// Tells the files below the classes how to make and load collections, and puts the checks of arguments before methods.

import { setFunctionTaker } from "../dispatch/arguments.ts";
import { collections } from "../func/collections.ts";
import { MODULE } from "../nn/signatures.ts";
import { installChecks } from "../tensor/checks.ts";
import { TensorDictBase } from "./classes/base.ts";
import { DiskMethods, TensorDictFuture } from "./classes/disk-methods.ts";
import { ElementMethods } from "./classes/element-methods.ts";
import { EntryMethods } from "./classes/entry-methods.ts";
import { KeyMethods } from "./classes/key-methods.ts";
import { LayoutMethods } from "./classes/layout-methods.ts";
import { LazyStackedTensorDict, lazyOf } from "./classes/lazy.ts";
import { MapMethods } from "./classes/map-methods.ts";
import { MATH, MathMethods } from "./classes/math-methods.ts";
import { asNestedTensor } from "./classes/nested-api.ts";
import { NonTensorData, valueOf } from "./classes/non-tensor.ts";
import { NonTensorStack, stackOf, stackOfParts } from "./classes/non-tensor-stack.ts";
import { TensorDictParams } from "./classes/params.ts";
import { PersistentTensorDict } from "./classes/persistent.ts";
import { toH5Async } from "./classes/persistent-later.ts";
import { PlainMethods } from "./classes/plain-methods.ts";
import { ScanMethods } from "./classes/scan-methods.ts";
import { ShapeMethods } from "./classes/shape-methods.ts";
import { TableMethods } from "./classes/table-methods.ts";
import { TensorAttrs } from "./classes/tensor-attrs.ts";
import { denseOf, TensorDict } from "./classes/tensordict.ts";
import { NestedTensor } from "./core/nested.ts";
import {
  FUTURE_METHODS,
  LAYOUT_METHODS,
  LAZY_METHODS,
  MAPPED_METHODS,
  MAPPED_STATICS,
  METHODS,
  NESTED_METHODS,
  PARAMS_METHODS,
  PERSISTENT_METHODS,
  PERSISTENT_STATICS,
  STATICS,
  VALUE_METHODS,
} from "./core/signatures.ts";
import { Collection, isNonTensor, loader, make } from "./core/state.ts";
import { explainDepth } from "./core/too-deep.ts";
import { offerServe } from "./disk/map-serve.ts";
import { MemoryMappedTensor } from "./disk/mapped-tensor.ts";
import { loadTree } from "./disk/memmap-load.ts";
import { PackLayout } from "./ops/packing.ts";
import { ON_COLLECTIONS } from "./ops/torch-functions.ts";
import { batchedCollections } from "./ops/vmap.ts";

// The classes between these have no constructors of their own, nothing private and nothing static: making a collection
// need not call each of them.
Object.setPrototypeOf(TensorDictBase, TableMethods);
Object.setPrototypeOf(TableMethods, Collection);

const ALL = {
  ...METHODS,
  ...MATH,
  toString: "",
};

for (const target of [
  TensorDictBase,
  KeyMethods,
  ShapeMethods,
  EntryMethods,
  PlainMethods,
  LayoutMethods,
  ScanMethods,
  ElementMethods,
  TableMethods,
  MapMethods,
  MathMethods,
  DiskMethods,
  PersistentTensorDict,
  LazyStackedTensorDict,
]) {
  installChecks(target.prototype, ALL, explainDepth);
}
installChecks(LazyStackedTensorDict.prototype, LAZY_METHODS, explainDepth);
for (const target of [TableMethods, TensorDictBase, TensorDict, LazyStackedTensorDict])
  installChecks(target, STATICS, explainDepth);
const { train, eval: evaluate, parameters, namedParameters, buffers, namedBuffers } = MODULE;
const module = { train, eval: evaluate, parameters, namedParameters, buffers, namedBuffers };
installChecks(TensorDictParams.prototype, { ...ALL, ...PARAMS_METHODS, ...module }, explainDepth);
installChecks(NestedTensor.prototype, NESTED_METHODS);
installChecks(MemoryMappedTensor, MAPPED_STATICS);
installChecks(MemoryMappedTensor.prototype, MAPPED_METHODS);
installChecks(PersistentTensorDict.prototype, PERSISTENT_METHODS, explainDepth);
installChecks(PersistentTensorDict, PERSISTENT_STATICS, explainDepth);
for (const target of [NonTensorData, NonTensorStack]) installChecks(target.prototype, VALUE_METHODS);
installChecks(TensorDictFuture.prototype, FUTURE_METHODS);
installChecks(PackLayout.prototype, LAYOUT_METHODS);

setFunctionTaker(ON_COLLECTIONS);
collections.kind = batchedCollections;
make.tensordict = denseOf;
make.lazy = (members, stackDim, stackDimName, none) => lazyOf(members, { ...none, stackDim, stackDimName });
make.stack = (members, stackDim, stackDimName) =>
  members.length > 0 && members.every(isNonTensor)
    ? stackOfParts(members, stackDim)
    : lazyOf(members, { stackDim, stackDimName });
make.nonTensor = valueOf;
make.attributes = (t, fields) => TensorAttrs.fromTensor(t, { fields });
make.nonTensorStack = stackOf;
make.nested = (tensors) => asNestedTensor(tensors);
loader.load = loadTree;
loader.fromH5 = (filename, options) => PersistentTensorDict.fromH5(filename, options);
loader.toH5 = (td, filename, options) => PersistentTensorDict.fromDict(td, filename, options);
loader.toH5Async = toH5Async;
offerServe();

/**
 * The registration file: gives the low rooms what they need from the rooms above them. What a room does with its own
 * classes is in the install.ts of that room; no other file changes what it imports (codegen/verify/registrations.ts).
 */
import * as methods from "../generated/methods.ts";
import { _conj as conjView, _neg_view as negView } from "../generated/ops.ts";
import { at, atMember, setAtMember, whereMember } from "./api/indexing.ts";
import { linalg } from "./api/linalg.ts";
import { newTensorMember, valueMembers } from "./api/members.ts";
import { special } from "./api/special.ts";
import { TypedStorage } from "./api/typed-storage.ts";
import { members } from "./autograd/api.ts";
import * as composites from "./autograd/composites.ts";
import * as formulas from "./autograd/formulas.ts";
import * as registry from "./autograd/registry.ts";
import { nameClasses } from "./class-names.ts";
import { installCuda } from "./cuda/backend.ts";
import { onPlacesOfNow } from "./cuda/places.ts";
import { CLASSES as CUDA_CLASSES } from "./cuda/signatures.ts";
import { Event, markOn, recordStreamMember, Stream } from "./cuda/streams.ts";
import { staging } from "./dispatch/copy.ts";
import { Generator } from "./dispatch/generator.ts";
import { stageToCpu, stageToGpu } from "./dispatch/moving-many.ts";
import { marks } from "./dispatch/staging.ts";
import { DISTRIBUTION_KINDS } from "./distributions/kinds.ts";
import { IO_KINDS } from "./io/base/kinds.ts";
import { torchClasses } from "./io/torch/torch-classes.ts";
import { functional } from "./nn/functional.ts";
import { NN_KINDS } from "./nn/kinds.ts";
import { Module } from "./nn/module.ts";
import { inOrder, installChecks, registerKinds } from "./tensor/checks.ts";
import { Complex } from "./tensor/complex.ts";
import { Device } from "./tensor/device.ts";
import { addLateMembers, lastOfChain, type Member } from "./tensor/late-members.ts";
import { tellMissingFunctions, tellMissingMembers } from "./tensor/missing.ts";
import { walker } from "./tensor/scope-state.ts";
import { CLASSES, MEMBERS } from "./tensor/signatures.ts";
import { Size } from "./tensor/size.ts";
import { UntypedStorage } from "./tensor/storage.ts";
import { late, Tensor } from "./tensor/tensor.ts";
import { TensorDictBase } from "./tensordict/classes/base.ts";
import { TENSORDICT_KINDS } from "./tensordict/core/kinds.ts";
import { Collection } from "./tensordict/core/state.ts";
import { torchBridge } from "./tensordict/disk/torch-objects.ts";
import { installMatchers } from "./testing/matchers.ts";

type CompositeTypes = typeof composites;
type FormulaTypes = typeof formulas;

declare module "./autograd/registry.ts" {
  interface Composites extends CompositeTypes {}
  interface Formulas extends FormulaTypes {}
}

/** The members of Tensor that are written by hand, outside of its class. */
const WRITTEN = "at newTensor recordStream setAt where";

function writtenMember(name: string): Member | undefined {
  switch (name) {
    case "at":
      return atMember;
    case "newTensor":
      return newTensorMember;
    case "recordStream":
      return recordStreamMember;
    case "setAt":
      return setAtMember;
    case "where":
      return whereMember;
  }
  return undefined;
}

Object.assign(registry.composites, composites);
Object.assign(registry.formulas, formulas);
const inOrderOf = (op: string, args: ArrayLike<unknown>) => inOrder(op, MEMBERS[op as keyof typeof MEMBERS], args);
Object.assign(late, members, valueMembers, { at, conjView, negView, inOrder: inOrderOf });
tellMissingMembers("Tensor", Tensor.prototype, lastOfChain(Tensor.prototype));
addLateMembers(Tensor.prototype, {
  names: () => `${methods.memberNames()} ${WRITTEN}`,
  member: (name) => methods.memberOf(name) ?? writtenMember(name),
});
// Sizes look at their argument themselves.
const { size: _size, stride: _stride, ...checkedMembers } = MEMBERS;
installChecks(Tensor.prototype, checkedMembers);
const classes = { Complex, Device, Generator, Size, TypedStorage, UntypedStorage };
for (const [name, table] of Object.entries(CLASSES)) {
  installChecks(classes[name as keyof typeof CLASSES].prototype, table);
}
installCuda();
Object.assign(staging, { toGpu: stageToGpu, toCpu: stageToCpu });
Object.assign(marks, { on: markOn, here: onPlacesOfNow });
installChecks(Stream.prototype, CUDA_CLASSES.Stream);
installChecks(Event.prototype, CUDA_CLASSES.Event);
Object.assign(torchClasses, torchBridge);
walker.isTensor = (value): value is Tensor => value instanceof Tensor;
for (const kinds of [DISTRIBUTION_KINDS, IO_KINDS, NN_KINDS, TENSORDICT_KINDS]) registerKinds(kinds);
nameClasses();
tellMissingMembers("TensorDict", TensorDictBase.prototype, Collection.prototype);
tellMissingMembers("Module", Module.prototype, Module.prototype);
tellMissingFunctions("F", functional);
tellMissingFunctions("linalg", linalg);
tellMissingFunctions("special", special);
installMatchers();

/**
 * The registration file: says where the low rooms find what they need from the rooms above them. What it hands over is
 * found when it is first called, so that loading it makes nothing; no other file changes what it imports
 * (codegen/verify/registrations.ts).
 */
import { compositeOf, formulaOf } from "../generated/late.ts";
import * as methods from "../generated/methods.ts";
import { _conj as conjView, _neg_view as negView } from "../generated/ops.ts";
import { at, atMember, setAtMember, whereMember } from "./api/indexing.ts";
import { newTensorMember, valueMemberOf } from "./api/members.ts";
import { memberOf } from "./autograd/api.ts";
import type * as composites from "./autograd/composites.ts";
import type * as formulas from "./autograd/formulas.ts";
import { useCuda } from "./cuda/backend.ts";
import { onPlaces, onPlacesOfNow } from "./cuda/places.ts";
import { markOn, recordStreamMember } from "./cuda/streams.ts";
import { backends } from "./dispatch/backend.ts";
import { stageToCpu, stageToGpu } from "./dispatch/moving-many.ts";
import { DISTRIBUTION_KINDS } from "./distributions/kinds.ts";
import { IO_KINDS } from "./io/base/kinds.ts";
import { NN_KINDS } from "./nn/kinds.ts";
import { checkedCall, installChecks } from "./tensor/checks.ts";
import { Complex } from "./tensor/complex.ts";
import { chosen, Device } from "./tensor/device.ts";
import { addLateMembers, type Member } from "./tensor/late-members.ts";
import { setFinder, type Table } from "./tensor/later.ts";
import { tellMissingMembers } from "./tensor/missing.ts";
import { leaveToCollector, walker } from "./tensor/scope-state.ts";
import { CLASSES, MEMBERS } from "./tensor/signatures.ts";
import { Size } from "./tensor/size.ts";
import { UntypedStorage } from "./tensor/storage.ts";
import { beforeCollections } from "./tensor/temporaries.ts";
import { Tensor } from "./tensor/tensor.ts";
import { LATE_METHODS } from "./tensordict/classes/late-methods.ts";
import { TENSORDICT_KINDS } from "./tensordict/core/kinds.ts";
import { Collection, isTensorCollection } from "./tensordict/core/state.ts";
import { offerServe } from "./tensordict/disk/map-serve.ts";
import { torchBridge } from "./tensordict/disk/torch-objects.ts";
import { ON_COLLECTIONS } from "./tensordict/ops/torch-functions.ts";
import { batchedCollections } from "./tensordict/ops/vmap.ts";
import { loaderOf, makerOf } from "./tensordict/registered.ts";
import { installMatchers } from "./testing/matchers.ts";
import { runsTests } from "./testing/runner.ts";

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

function inOrderOf(op: string, args: ArrayLike<unknown>): unknown[] {
  return checkedCall(op, MEMBERS[op as keyof typeof MEMBERS], Array.from(args));
}

/** What Tensor's own members do. */
function tensorMember(name: string): unknown {
  if (name === "inOrder") return inOrderOf;
  if (name === "at") return at;
  if (name === "conjView") return conjView;
  if (name === "negView") return negView;
  return memberOf(name) ?? valueMemberOf(name);
}

function kindsOf(room: string): unknown {
  if (room === "tensordict") return TENSORDICT_KINDS;
  if (room === "nn") return NN_KINDS;
  return room === "distributions" ? DISTRIBUTION_KINDS : IO_KINDS;
}

/** Parts of work run where work goes now. A program without GPUs has one place. */
function placesOfNow(): <R>(part: () => R) => R {
  if (backends.cuda !== undefined) return onPlacesOfNow();
  const device = chosen.cuda;
  const changed = () => backends.cuda !== undefined || chosen.cuda !== device;
  return (part) => (changed() ? onPlaces({ device, handles: null }, part) : part());
}

function takesCollections(value: unknown): boolean {
  return value instanceof Collection && isTensorCollection(value);
}

function find(table: Table, name: string): unknown {
  switch (table) {
    case "composites":
      return compositeOf(name);
    case "formulas":
      return formulaOf(name);
    case "late":
      return tensorMember(name);
    case "make":
      return makerOf(name);
    case "loader":
      return loaderOf(name);
    case "kinds":
      return kindsOf(name);
    case "collections":
      return LATE_METHODS[name as keyof typeof LATE_METHODS];
    case "taker":
      return name === "takes" ? takesCollections : ON_COLLECTIONS.call;
    case "devices":
      return useCuda;
    case "staging":
      return name === "toGpu" ? stageToGpu : stageToCpu;
    case "marks":
      return name === "on" ? markOn : placesOfNow;
    case "torch":
      return torchBridge[name as keyof typeof torchBridge];
    case "vmap":
      return batchedCollections;
  }
}

setFinder(find);
beforeCollections(leaveToCollector);
walker.isTensor = (value): value is Tensor => value instanceof Tensor;
tellMissingMembers("Tensor", Tensor.prototype);
addLateMembers(Tensor.prototype, {
  names: () => `${methods.memberNames()} ${WRITTEN}`,
  member: (name) => methods.memberOf(name) ?? writtenMember(name),
});
// Sizes look at their argument themselves.
const { size: _size, stride: _stride, ...checkedMembers } = MEMBERS;
installChecks(Tensor.prototype, checkedMembers);
// Checks know these classes.
const classes = { Complex, Device, Size, UntypedStorage };
for (const name of Object.keys(classes) as (keyof typeof classes)[])
  installChecks(classes[name].prototype, CLASSES[name]);
// Workers of `map` say that they are.
if (Reflect.has(globalThis, Symbol.for("zensor.map"))) offerServe();
if (runsTests()) installMatchers();

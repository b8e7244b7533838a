/** The registration file: gives the low rooms what they need from the rooms above them. */
import { installMethods } from "../generated/methods.ts";
import { _conj as conjView, _neg_view as negView } from "../generated/ops.ts";
import { at, installIndexMethods, setAt } from "./api/indexing.ts";
import { installDataMethods, valueMembers } from "./api/members.ts";
import { members } from "./autograd/api.ts";
import * as composites from "./autograd/composites.ts";
import * as formulas from "./autograd/formulas.ts";
import * as registry from "./autograd/registry.ts";
import { installCudaCheck } from "./cuda/check.ts";
import { torchClasses } from "./io/torch/torch-classes.ts";
import { late, Tensor } from "./tensor/tensor.ts";
import { torchBridge } from "./tensordict/disk/torch-objects.ts";

type CompositeTypes = typeof composites;
type FormulaTypes = typeof formulas;

declare module "./autograd/registry.ts" {
  interface Composites extends CompositeTypes {}
  interface Formulas extends FormulaTypes {}
}

Object.assign(registry.composites, composites);
Object.assign(registry.formulas, formulas);
Object.assign(late, members, valueMembers, { at, setAt, conjView, negView });
installMethods(Tensor.prototype);
installDataMethods(Tensor.prototype);
installIndexMethods(Tensor.prototype);
installCudaCheck();
Object.assign(torchClasses, torchBridge);

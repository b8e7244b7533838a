// Puts the checks of arguments before the methods of all collections.

import { installChecks } from "../tensor/checks.ts";
import { TensorDictBase } from "./classes/base.ts";
import { DiskMethods } from "./classes/disk-methods.ts";
import { LazyStackedTensorDict } from "./classes/lazy.ts";
import { BINARY, COMPARE, MathMethods, REDUCE, SIMPLE } from "./classes/math-methods.ts";
import { PersistentTensorDict } from "./classes/persistent.ts";
import { TensorDict } from "./classes/tensordict.ts";
import { FORMS, LAZY_METHODS, METHODS, STATICS } from "./core/signatures.ts";
import { guarded } from "./core/too-deep.ts";

const forms = (names: readonly string[], form: string) => Object.fromEntries(names.map((name) => [name, form]));
const ALL = {
  ...METHODS,
  ...forms(SIMPLE, FORMS.unary),
  ...forms([...BINARY, ...BINARY.map((name) => `${name}_`)], FORMS.binary),
  ...forms(COMPARE, FORMS.compare),
  ...forms(REDUCE, FORMS.reduce),
  toString: "",
};

for (const target of [TensorDictBase, MathMethods, DiskMethods, PersistentTensorDict, LazyStackedTensorDict]) {
  installChecks(target.prototype, ALL, guarded);
}
installChecks(LazyStackedTensorDict.prototype, LAZY_METHODS, guarded);
installChecks(TensorDict, STATICS, guarded);

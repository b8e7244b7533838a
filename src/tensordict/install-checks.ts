// Puts the checks of arguments before the methods of all collections.

import { installChecks } from "../tensor/checks.ts";
import { TensorDictBase } from "./base.ts";
import { DiskMethods } from "./disk-methods.ts";
import { LazyStackedTensorDict } from "./lazy.ts";
import { BINARY, COMPARE, MathMethods, REDUCE, SIMPLE } from "./math-methods.ts";
import { PersistentTensorDict } from "./persistent.ts";
import { FORMS, LAZY_METHODS, METHODS, STATICS } from "./signatures.ts";
import { TensorDict } from "./tensordict.ts";
import { guarded } from "./too-deep.ts";

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

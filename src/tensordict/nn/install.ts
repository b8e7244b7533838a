// Puts the checks of arguments before the methods of modules and of composite distributions; `forward` has none.
import { METHODS as DISTRIBUTION } from "../../distributions/signatures.ts";
import { installChecks } from "../../tensor/checks.ts";
import { CompositeDistribution } from "./composite.ts";
import { EnsembleModule } from "./ensemble.ts";
import { TensorDictModuleBase } from "./module-base.ts";
import { OneHotCategorical } from "./one-hot.ts";
import { ProbabilisticTensorDictModule } from "./probabilistic.ts";
import { ProbabilisticTensorDictSequential } from "./probabilistic-sequential.ts";
import { TensorDictSequential } from "./sequential.ts";
import { COMPOSITE, METHODS, PROBABILISTIC, PROBABILISTIC_STEPS, SEQUENTIAL_METHODS } from "./signatures.ts";

installChecks(TensorDictModuleBase.prototype, METHODS);
installChecks(TensorDictSequential.prototype, { ...METHODS, ...SEQUENTIAL_METHODS });
installChecks(CompositeDistribution.prototype, COMPOSITE);
installChecks(OneHotCategorical.prototype, DISTRIBUTION);
installChecks(ProbabilisticTensorDictModule.prototype, { ...METHODS, ...PROBABILISTIC });
installChecks(ProbabilisticTensorDictSequential.prototype, { ...PROBABILISTIC, ...PROBABILISTIC_STEPS });
installChecks(EnsembleModule.prototype, METHODS);

// The namespace of functions of networks, with an end that knows the names that it has not.
import { namespace_nn_functional } from "../../generated/namespaces.ts";
import { tellMissingFunctions } from "../tensor/missing.ts";

/** The functions of torch.nn.functional. */
export const functional: typeof namespace_nn_functional = tellMissingFunctions("F", namespace_nn_functional);

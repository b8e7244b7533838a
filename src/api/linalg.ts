// The namespace of linear algebra, with an end that knows the names that it has not.
import { namespace_linalg } from "../../generated/namespaces.ts";
import { tellMissingFunctions } from "../tensor/missing.ts";

/** The functions of torch.linalg. */
export const linalg: typeof namespace_linalg = tellMissingFunctions("linalg", namespace_linalg);

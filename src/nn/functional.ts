/** The functions of torch.nn.functional. */
export { namespace_nn_functional as functional } from "../../generated/namespaces.ts";

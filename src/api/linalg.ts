/** The functions of torch.linalg. */
export { namespace_linalg as linalg } from "../../generated/namespaces.ts";

/** The namespace `autograd`. */
export {
  backward,
  enableGrad,
  type GradOptions,
  grad,
  isGradEnabled,
  noGrad,
  registerPostAccumulateGradHook,
  setGradEnabled,
} from "./api.ts";

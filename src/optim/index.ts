/** Optimisers, which change parameters by their gradients, and schedules of their learning rates. @torch torch.optim */

export { Adagrad, type AdagradOptions } from "./adagrad.ts";
export { Adam, type AdamOptions, AdamW, type AdamWOptions } from "./adam.ts";
export type { NamedParameter, ParamGroup, Params } from "./groups.ts";
export * as lrScheduler from "./lr-scheduler.ts";
export {
  type Closure,
  Optimizer,
  type OptimizerHook,
  type ParamState,
  type StateHook,
  type StepPostHook,
  type StepPreHook,
} from "./optimizer.ts";
export { RMSprop, type RMSpropOptions } from "./rmsprop.ts";
export { SGD, type SGDOptions } from "./sgd.ts";
export type { OptimizerState, SavedGroup } from "./state.ts";

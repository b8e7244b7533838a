/** Schedules of learning rates. @torch torch.optim.lr_scheduler */

export { LRScheduler, type Rate, type SchedulerState } from "./scheduler.ts";
export {
  ConstantLR,
  ExponentialLR,
  LambdaLR,
  LinearLR,
  type LinearLROptions,
  type LrLambda,
  MultiplicativeLR,
  MultiStepLR,
  PolynomialLR,
  StepLR,
} from "./schedulers.ts";
export {
  ChainedScheduler,
  ReduceLROnPlateau,
  type ReduceLROnPlateauOptions,
  SequentialLR,
} from "./schedulers-joined.ts";
export {
  CosineAnnealingLR,
  type CosineAnnealingLROptions,
  CosineAnnealingWarmRestarts,
  CyclicLR,
  type CyclicLROptions,
  OneCycleLR,
  type OneCycleLROptions,
  type WarmRestartsOptions,
} from "./schedulers-waves.ts";

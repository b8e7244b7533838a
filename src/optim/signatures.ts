// What the classes of this room take, as data that src/tensor/checks.ts reads.

const FLAGS = "maximize:bool foreach:bool differentiable:bool fused:bool";

/** Constructors of optimisers. */
export const OPTIMIZERS = {
  Adagrad:
    "params:any lr?:notDict lrDecay?:number weightDecay?:number initialAccumulatorValue?:number eps?:number " +
    "foreach?:bool? | maximize:bool differentiable:bool fused:bool",
  Adam:
    "params:any lr?:notDict betas?:list eps?:number weightDecay?:number amsgrad?:bool | " +
    `${FLAGS} capturable:bool decoupledWeightDecay:bool`,
  AdamW: `params:any lr?:notDict betas?:list eps?:number weightDecay?:number amsgrad?:bool | ${FLAGS} capturable:bool`,
  RMSprop:
    "params:any lr?:notDict alpha?:number eps?:number weightDecay?:number momentum?:number centered?:bool " +
    "capturable?:bool foreach?:bool? maximize?:bool differentiable?:bool",
  SGD: `params:any lr?:notDict momentum?:number dampening?:number weightDecay?:notDict nesterov?:bool | ${FLAGS}`,
};

/** The base's constructor. */
export const NEW_OPTIMIZER = "params:any defaults:dict";

/** Methods of every optimiser. */
export const OPTIMIZER = {
  step: "closure?:fn?",
  addParamGroup: "paramGroup:value",
  zeroGrad: "setToNone?:bool",
  stateDict: "",
  loadStateDict: "stateDict:value",
  registerStepPreHook: "hook:fn",
  registerStepPostHook: "hook:fn",
  registerStateDictPreHook: "hook:fn prepend?:bool",
  registerStateDictPostHook: "hook:fn prepend?:bool",
  registerLoadStateDictPreHook: "hook:fn prepend?:bool",
  registerLoadStateDictPostHook: "hook:fn prepend?:bool",
  toString: "",
};

/** Methods of every schedule. */
export const SCHEDULER = {
  stateDict: "",
  loadStateDict: "stateDict:value",
  getLastLr: "",
  getLr: "",
  step: "epoch?:number?",
};

/** Those of single schedules. */
export const PLATEAU = { step: "metrics:notDict epoch?:number?" };
export const CYCLIC = { scaleFn: "x:number" };

const LAST = "lastEpoch?:int";

/** Constructors of schedulers. */
export const SCHEDULERS = {
  ChainedScheduler: "schedulers:list optimizer?:notDict",
  ConstantLR: `optimizer:notDict factor?:number totalIters?:number ${LAST}`,
  CosineAnnealingLR: `optimizer:notDict TMax:number etaMin?:number ${LAST}`,
  CosineAnnealingWarmRestarts: `optimizer:notDict T0:number TMult?:number etaMin?:number ${LAST}`,
  CyclicLR:
    "optimizer:notDict baseLr:notDict maxLr:notDict stepSizeUp?:number stepSizeDown?:number? mode?:string " +
    "gamma?:number scaleFn?:notDict scaleMode?:string cycleMomentum?:bool baseMomentum?:notDict " +
    `maxMomentum?:notDict ${LAST}`,
  ExponentialLR: `optimizer:notDict gamma:number ${LAST}`,
  LambdaLR: `optimizer:notDict lrLambda:notDict ${LAST}`,
  LinearLR: `optimizer:notDict startFactor?:number endFactor?:number totalIters?:number ${LAST}`,
  LRScheduler: `optimizer:notDict ${LAST}`,
  MultiplicativeLR: `optimizer:notDict lrLambda:notDict ${LAST}`,
  MultiStepLR: `optimizer:notDict milestones:list gamma?:number ${LAST}`,
  OneCycleLR:
    "optimizer:notDict maxLr:notDict totalSteps?:number? epochs?:number? stepsPerEpoch?:number? pctStart?:number " +
    "annealStrategy?:string cycleMomentum?:bool baseMomentum?:notDict maxMomentum?:notDict divFactor?:number " +
    `finalDivFactor?:number threePhase?:bool ${LAST}`,
  PolynomialLR: `optimizer:notDict totalIters?:number power?:number ${LAST}`,
  ReduceLROnPlateau:
    "optimizer:notDict mode?:string factor?:number patience?:number threshold?:number thresholdMode?:string " +
    "cooldown?:number minLr?:notDict eps?:number",
  SequentialLR: `optimizer:notDict schedulers:list milestones:list ${LAST}`,
  StepLR: `optimizer:notDict stepSize:number gamma?:number ${LAST}`,
};

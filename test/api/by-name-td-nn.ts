// On what methods of tensordict's modules are called by test/api/by-name-exports.test.ts, and with what.
import * as Z from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: modules take and give all kinds of things
type Any = any;

const { nn } = Z.tensordict;
const { Uniform } = Z.distributions;
const params = (): Any => new Z.TensorDict({ x: { low: Z.zeros(2), high: Z.ones(2) } }, [2]);
const sample = () => new Z.TensorDict({ x: Z.zeros(2) }, [2]);
const composite = () => new nn.CompositeDistribution(params(), { x: Uniform });
const module = () => new nn.TensorDictModule(new Z.nn.Linear(2, 2), ["a"], ["b"]);
const sequence = () => new nn.TensorDictSequential(module(), new nn.TensorDictModule(Z.relu, ["b"], ["c"]));
const bounds = () => new Z.TensorDict({ a: Z.zeros(2, 2), low: Z.zeros(2), high: Z.ones(2), x: Z.zeros(2) }, [2]);
const policy = () => new nn.ProbabilisticTensorDictModule(["low", "high"], ["x"], { distributionClass: Uniform });
const oneHot = () => new nn.OneHotCategorical({ logits: Z.zeros(2) });
const HOT = ["logProb", "sample", "rsample", "expand", "entropy", "enumerateSupport"];

export const MODULE_RECEIVERS: Readonly<Record<string, () => Any>> = {
  AddStateIndependentNormalScale: () => new nn.AddStateIndependentNormalScale(2),
  BiasedSoftplus: () => new nn.BiasedSoftplus(1),
  CompositeDistribution: composite,
  EnsembleModule: () => new nn.EnsembleModule(module(), 2),
  NormalParamExtractor: () => new nn.NormalParamExtractor(),
  ...Object.fromEntries(HOT.map((name) => [`tensordict.nn.OneHotCategorical#${name}`, oneHot])),
  TensorDictModule: module,
  TensorDictModuleBase: module,
  TensorDictModuleWrapper: () => new nn.TensorDictModuleWrapper(module()),
  TensorDictSequential: sequence,
  ProbabilisticTensorDictModule: policy,
  ProbabilisticTensorDictSequential: () => new nn.ProbabilisticTensorDictSequential(module(), policy()),
  WrapModule: () => new nn.WrapModule((td: Any) => td),
};

const of = (owner: string, values: Record<string, () => unknown>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${owner}.${name}`, value]));
const keysIn = { inKeys: () => ["a"], outKeys: () => ["b"] };

export const MODULE_VALUES: Readonly<Record<string, () => unknown>> = {
  ...of("new tensordict.nn.AddStateIndependentNormalScale", { scaleShape: () => [2] }),
  ...of("new tensordict.nn.BiasedSoftplus", { bias: () => 1, minVal: () => 0.1 }),
  ...of("new tensordict.nn.CompositeDistribution", { params, distributionMap: () => ({ x: Uniform }) }),
  ...of("new tensordict.nn.EnsembleModule", { module, numCopies: () => 2, expandInput: () => true }),
  ...of("EnsembleModule", { outKeys: () => ["b"], parameters: () => Z.TensorDict.fromModule(module()) }),
  ...of("new tensordict.nn.NormalParamExtractor", { scaleMapping: () => "exp", scaleLb: () => 0.5 }),
  ...of("new tensordict.nn.OneHotCategorical", {
    logits: () => Z.zeros(2),
    probs: () => null,
    validateArgs: () => true,
  }),
  ...of("new tensordict.nn.TensorDictModule", { module: () => Z.relu, ...keysIn }),
  ...of("new tensordict.nn.TensorDictModuleWrapper", { tdModule: module }),
  ...of("new tensordict.nn.WrapModule", { func: () => (td: Any) => td }),
  ...of("CompositeDistribution", {
    value: sample,
    sample,
    samplesMc: () => 2,
    name: () => "x",
    params,
    distributions: () => ({ x: new Uniform(0, 1) }),
  }),
  ...of("TensorDictSequential", { index: () => 0, module, outKeys: () => ["c"] }),
  ...of("tensordict.nn.OneHotCategorical#logProb", { value: () => Z.tensor([0, 1]) }),
  ...of("TensorDictModuleBase", { outKeys: () => ["b"], parameters: () => Z.TensorDict.fromModule(module()), module }),
  ...of("TensorDictModule", { outKeys: () => ["b"], parameters: () => Z.TensorDict.fromModule(module()), module }),
  ...of("new tensordict.nn.ProbabilisticTensorDictModule", keysIn),
  ...of("ProbabilisticTensorDictModule", {
    tensordict: bounds,
    outKeys: () => ["x"],
    parameters: () => new Z.TensorDict({}, []),
  }),
  ...of("ProbabilisticTensorDictSequential", { tensordict: bounds, tensordictOut: () => null, outKeys: () => ["x"] }),
  ...of("asTensordictModule", keysIn),
  ...of("addCustomMapping", { name: () => "ours", mapping: () => Z.relu }),
  ...of("invSoftplus", { bias: () => 1 }),
  ...of("mappings", { key: () => "exp" }),
  ...of("randOneHot", { values: () => Z.zeros(2, 3), doSoftmax: () => true }),
  ...of("setCompositeLpAggregate", { mode: () => true, body: () => () => 1 }),
  ...of("setInteractionType", { type: () => "mode", body: () => () => 1 }),
  ...of("setSkipExisting", { mode: () => ["a"], body: () => () => 1 }),
};

const INPUTS = "inputs have the names of the module's keys";
const FORWARD = ["AddStateIndependentNormalScale", "BiasedSoftplus", "NormalParamExtractor"];
const MODULES = [
  "EnsembleModule",
  "ProbabilisticTensorDictModule",
  "ProbabilisticTensorDictSequential",
  "TensorDictModule",
  "TensorDictModuleWrapper",
  "TensorDictSequential",
  "WrapModule",
];

export const MODULE_LEFT_OUT: Readonly<Record<string, string>> = {
  ...Object.fromEntries(MODULES.map((name) => [`tensordict.nn.${name}#forward`, INPUTS])),
  ...Object.fromEntries(FORWARD.map((name) => [`tensordict.nn.${name}#forward`, "passes on whatever else it gets"])),
  "new tensordict.nn.TensorDictModuleBase": "a module of the user's takes what the user says",
  "new tensordict.nn.TensorDictSequential": "any number of modules",
  "new tensordict.nn.ProbabilisticTensorDictSequential": "any number of modules",
  "tensordict.nn.InteractionType.fromStr": "an enumeration's own",
};

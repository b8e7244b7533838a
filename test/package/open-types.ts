// Finds where public declarations say `any` or `unknown`.
import * as ts from "typescript";

/** How a declaration is called on the way to a type: `Tensor.tolist`. */
function nameOf(node: ts.Node): string | null {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  if (ts.isConstructSignatureDeclaration(node)) return "new";
  if (ts.isParameter(node) || ts.isTypeParameterDeclaration(node)) return null;
  const name = (node as { name?: ts.Node }).name;
  return name === undefined ? null : name.getText();
}

const isInternal = (node: ts.Node): boolean =>
  nameOf(node)?.startsWith("_") === true || ts.getJSDocTags(node).some((tag) => tag.tagName.text === "internal");

/** Without what the bundler adds to names that are there twice. */
const plainName = (path: string): string => path.replace(/\b\w+_d(\$\d+)?_|\$\d+/g, "");

/** The paths of all declarations in the text that say `any` or `unknown`, each once, in order. */
export function openTypes(text: string): string[] {
  const found = new Set<string>();
  const walk = (node: ts.Node, path: readonly string[], given = false): void => {
    if (isInternal(node)) return;
    // What is given by name is an argument, as it is in its place.
    const name = given ? null : nameOf(node);
    const here = name === null ? path : [...path, name];
    if (node.kind === ts.SyntaxKind.AnyKeyword || node.kind === ts.SyntaxKind.UnknownKeyword)
      found.add(plainName(here.join(".")));
    const named = given || (ts.isParameter(node) && node.name.getText() === "given");
    ts.forEachChild(node, (child) => walk(child, here, named));
  };
  walk(ts.createSourceFile("zensor.d.ts", text, ts.ScriptTarget.Latest, true), []);
  return [...found].sort();
}

/** What may say `any` or `unknown`, and why. */
export const REASONS: readonly (readonly [why: string, names: readonly string[]])[] = [
  [
    "a number and lists of any depth at once, which no other type says that a plain list may be compared with",
    ["Tensor.tolist"],
  ],
  [
    "the file decides what it holds; the caller may say what is wanted",
    ["load", "loadAsync", "loadTorch", "readPlainPickle", "Snapshot.readObject"],
  ],
  [
    "everything can be saved or printed that has a form in the file or as text",
    ["save", "saveAsync", "saveTorch", "saveTorchAsync", "print"],
  ],
  [
    "a question that is asked of anything",
    [
      ...["isNonTensor", "isTensorCollection", "isTensorclass", "ZensorError.[Symbol.hasInstance]"],
      ...["isBool", "isFloating", "isInexact", "isInteger", "Stream.equals"],
    ],
  ],
  [
    "every value can be an entry: what is no tensor is wrapped",
    [
      "TensorDictBase.set",
      "TensorDictBase.setAt",
      "TensorDictBase.setAt_",
      "TensorDictBase.set_",
      "TensorDictBase.setdefault",
      "ShapeMethods.setNonTensor",
      "PlainMethods.toDict",
      "PlainMethods.toPytree",
      "PlainMethods.tolist",
      "DenseTensorDict.fromAny",
      "DenseTensorDict.fromTuple",
      "DictSource",
      "EntryClass",
      "fromAny",
      "fromkeys",
      "collate",
      "groupBy.values",
      "fromTuple",
      "unravelKeyToTuple",
      "EntryMethods.numpy",
      "EntryMethods.toNamedtuple",
      "EntryMethods.newTensor",
      "SeparatesOptions.default",
      "SplitKeysOptions.default",
      "IterationOptions.isLeaf",
      "LazyStackedTensorDict.setEach",
      "UpdateSource",
      "UpdateWords",
      "TensorClass.fromkeys",
      "Operand",
      "Given",
      "MergeCallback",
      "DenseTensorDict.constructor",
      "TensorDictParams.constructor",
      "UnbatchedTensor.constructor",
      "DenseTensorDict.fromkeys",
      "PersistentTensorDict.fromDict",
      "Outside.write",
      "Hdf5File.putValues",
      "Hdf5Values.values",
    ],
  ],
  [
    "a wrapped value is any value, and the default of what is known about it",
    [
      "NonTensorData",
      "NonTensorStack",
      "MetaData",
      "NonTensorData.plain",
      "NonTensorStack.plain",
      "NonTensorStack.maybeToStack",
      "Values.plain",
      "ValueTd",
      "TensorDictBase.toJSON",
      "Shared.value",
      "Shared.values",
    ],
  ],
  ["what a function gives may be anything that can be an entry", ["TensorDictBase.apply", "TensorDictBase.namedApply"]],
  [
    "a TensorDict whose keys are not known is one of any keys",
    ["Schema", "SchemaOf", "Open", "Stored", "Td", "ClassTd"],
  ],
  [
    "a class of any constructor; a field that is declared as nothing in particular",
    ["AnyClass", "DistributionClass", "ValueOf"],
  ],
  ["what is collated or grouped by may be of any kind", ["collate", "groupBy.values"]],
  [
    "a transform takes functions of any arguments, and they are those of the new function",
    [
      "vmap",
      "functionalCall",
      "grad",
      "gradAndValue",
      "vjp",
      "jvp",
      "jacrev",
      "jacfwd",
      "hessian",
      "GradientsOf",
      "Callee",
    ],
  ],
  [
    "what a module takes and gives is its own business, and so is what hooks see of it",
    ["Any", "ForwardHook", "ForwardPreHook", "Identity.constructor", "Identity.forward", "Sequential.forward"],
  ],
  [
    "what a TensorDictModule wraps takes and gives is its own business, and so are the keywords that it is given",
    [
      "AddStateIndependentNormalScale.forward",
      "AddStateIndependentNormalScale.forward.others",
      "CompositeOptions.extraKwargs",
      "ForwardOptions",
      "NormalParamExtractor.forward",
      "NormalParamExtractor.forward.others",
      "ProbabilisticOptions.distributionKwargs",
      "ProbabilisticTensorDictModule.distributionKwargs",
      "TensorDictModule.methodKwargs",
      "Having",
      "Inputs",
      "Unchecked",
      "WrittenBy",
      "TensorDictModuleBase.isTdmoduleCompatible",
      "TensorDictModuleOptions.methodKwargs",
      "asTensordictModule",
      "dispatch",
    ],
  ],
  [
    "a state holds what its object put there",
    [
      "StateDict.constructor",
      "StateDict.loadStateDict",
      "StateDict.stateDict",
      "StateDict.values",
      "Stateful.loadStateDict",
      "Stateful.stateDict",
      "DiskMethods.loadStateDict",
    ],
  ],
  [
    "as JavaScript declares it: everything may be thrown",
    [
      "Details.cause",
      "FileNotFoundError.constructor",
      "FormatError.constructor",
      "OSError.constructor.cause",
      "TensorDictFuture.then",
    ],
  ],
  [
    "an object of a file's classes was given anything",
    [
      ...["args", "attributes", "dictItems", "get", "kwargs", "listItems", "state"].map(
        (name) => `PythonObject.${name}`,
      ),
      ...["args", "dictItems", "kwargs", "listItems", "state"].map((name) => `PythonObjectParts.${name}`),
      "UnknownArray.toJSON",
    ],
  ],
  ["whatever holds tensors is compared", ["assertClose"]],
  [
    "each optimiser and schedule has its own options, which groups and states hold by name; closures give anything",
    [
      ...["Adagrad", "Adam", "AdamW", "RMSprop", "SGD"].map((name) => `${name}.constructor`),
      ...["CosineAnnealingWarmRestarts", "CyclicLR", "LinearLR", "OneCycleLR"].map((name) => `${name}.constructor`),
      ...["addParamGroup", "constructor", "defaults", "step"].map((name) => `Optimizer.${name}`),
      ...["constructor", "step"].map((name) => `ReduceLROnPlateau.${name}`),
      ...["Closure", "OptimizerState", "OptimizerState.state", "ParamGroup", "ParamState", "Params", "SavedGroup"],
      ...["SchedulerState", "StepPostHook", "StepPreHook"],
    ],
  ],
  ["inner work that users see in declarations only", ["Steps", "Waiting.later", "Waiting.now", "Outside.read"]],
];

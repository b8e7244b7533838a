// All tables of signatures, by where functions stand and by the classes whose members they describe.
import * as CUDA from "../../src/cuda/signatures.ts";
import * as DISTRIBUTIONS from "../../src/distributions/signatures.ts";
import * as FUNC from "../../src/func/signatures.ts";
import * as IO from "../../src/io/base/signatures.ts";
import * as NN from "../../src/nn/signatures.ts";
import * as OPTIM from "../../src/optim/signatures.ts";
import * as PROFILER from "../../src/profiler/signatures.ts";
import * as TENSOR from "../../src/tensor/signatures.ts";
import { MATH } from "../../src/tensordict/core/math-names.ts";
import * as TD from "../../src/tensordict/core/signatures.ts";
import * as MODULES from "../../src/tensordict/nn/signatures.ts";
import * as TESTING from "../../src/testing/signatures.ts";

export type Table = Readonly<Record<string, string>>;

/** Methods of every collection. */
const COLLECTIONS: Table = {
  ...TD.METHODS,
  ...TD.UNWRAPPED,
  ...MATH,
};

/** Functions by room. */
export const ROOMS: Readonly<Record<string, Table>> = {
  api: { ...TENSOR.FUNCTIONS, ...TENSOR.CPU },
  autograd: TENSOR.FUNCTIONS,
  cuda: CUDA.FUNCTIONS,
  dispatch: TENSOR.FUNCTIONS,
  distributions: { ...DISTRIBUTIONS.FUNCTIONS, ...DISTRIBUTIONS.CONSTRAINTS },
  func: FUNC.FUNCTIONS,
  io: IO.FUNCTIONS,
  nn: NN.FUNCTIONS,
  profiler: PROFILER.FUNCTIONS,
  tensor: TENSOR.FUNCTIONS,
  tensordict: { ...TD.FUNCTIONS, ...MODULES.FUNCTIONS },
  testing: TESTING.FUNCTIONS,
};

export const CONSTRUCTORS: Table = {
  ...MODULES.CONSTRUCTORS,
  ...NN.CONSTRUCTORS,
  ...OPTIM.OPTIMIZERS,
  ...OPTIM.SCHEDULERS,
  Optimizer: OPTIM.NEW_OPTIMIZER,
  ...DISTRIBUTIONS.CONSTRUCTORS,
  ...IO.CONSTRUCTORS,
  ...TD.CONSTRUCTORS,
  Generator: TENSOR.GENERATOR,
  Stream: CUDA.STREAM,
  Event: CUDA.EVENT,
};

/** Methods by class; those of a class hold for what extends it. */
export const METHODS: Readonly<Record<string, Table>> = {
  ...TENSOR.CLASSES,
  ...CUDA.CLASSES,
  ...IO.METHODS,
  Tensor: { ...TENSOR.MEMBERS, recordStream: CUDA.RECORD_STREAM },
  NestedTensor: TD.NESTED_METHODS,
  NonTensorData: { ...TD.VALUE_METHODS, ...COLLECTIONS },
  NonTensorStack: { ...TD.VALUE_METHODS, ...COLLECTIONS },
  TensorDictFuture: TD.FUTURE_METHODS,
  PackLayout: TD.LAYOUT_METHODS,
  MemoryMappedTensor: TD.MAPPED_METHODS,
  PersistentTensorDict: TD.PERSISTENT_METHODS,
  LazyStackedTensorDict: TD.LAZY_METHODS,
  TensorDictParams: { ...NN.MODULE, ...COLLECTIONS, ...TD.PARAMS_METHODS },
  TensorDictBase: COLLECTIONS,
  ShapeMethods: COLLECTIONS,
  KeyMethods: COLLECTIONS,
  MathMethods: COLLECTIONS,
  MathSignatures: COLLECTIONS,
  DiskMethods: COLLECTIONS,
  TableMethods: COLLECTIONS,
  Module: NN.MODULE,
  PackedSequence: NN.PACKED,
  Optimizer: OPTIM.OPTIMIZER,
  LRScheduler: OPTIM.SCHEDULER,
  ReduceLROnPlateau: OPTIM.PLATEAU,
  CyclicLR: OPTIM.CYCLIC,
  Ordered: NN.ORDERED,
  Sequential: NN.ORDERED,
  ModuleDict: NN.DICT,
  TensorDictModuleBase: MODULES.METHODS,
  TensorDictSequential: { ...MODULES.METHODS, ...MODULES.SEQUENTIAL_METHODS },
  ProbabilisticTensorDictModule: MODULES.PROBABILISTIC,
  ProbabilisticTensorDictSequential: { ...MODULES.PROBABILISTIC, ...MODULES.PROBABILISTIC_STEPS },
  CompositeDistribution: MODULES.COMPOSITE,
  Distribution: DISTRIBUTIONS.METHODS,
  Transform: DISTRIBUTIONS.TRANSFORM,
  Profile: PROFILER.PROFILE,
  Averages: PROFILER.AVERAGES,
};

/** Class methods by class. */
export const STATICS: Readonly<Record<string, Table>> = {
  ...IO.STATICS,
  ...MODULES.STATICS,
  Distribution: DISTRIBUTIONS.STATICS,
  Embedding: NN.EMBEDDING_STATICS,
  Stream: { priorityRange: "" },
  MemoryMappedTensor: TD.MAPPED_STATICS,
  PersistentTensorDict: TD.PERSISTENT_STATICS,
  TensorDictBase: TD.STATICS,
  DenseTensorDict: TD.STATICS,
  TableMethods: TD.STATICS,
};

/** The signature of a function of a source file, by its path in src. */
export function functionSignature(file: string, name: string): string | undefined {
  return rowOf(ROOMS[file.split("/")[0] as string], name);
}

const rowOf = (table: Table | undefined, name: string) =>
  table !== undefined && Object.hasOwn(table, name) ? table[name] : undefined;

/** The signatures that classes of a lineage have for a member, each once: objects must fit the base class, too. */
export function allSignatures(lineage: readonly string[], member: string): string[] {
  const found = lineage.map((_, i) => classSignatures(lineage.slice(i))(member));
  return [...new Set(found.filter((text) => text !== undefined))];
}

/** The signature of a member of the first class of a lineage: `name`, `static name` or `new`. */
export function classSignatures(lineage: readonly string[]): (member: string) => string | undefined {
  const first = (tables: Readonly<Record<string, Table>>, name: string) =>
    lineage.map((owner) => rowOf(tables[owner], name)).find((text) => text !== undefined);
  return (member) => {
    if (member === "new") return lineage.map((owner) => rowOf(CONSTRUCTORS, owner)).find((text) => text !== undefined);
    return member.startsWith("static ") ? first(STATICS, member.slice("static ".length)) : first(METHODS, member);
  };
}

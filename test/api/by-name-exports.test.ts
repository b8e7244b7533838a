// Everything public that can be called, found by walking the package: called by position, by name and with a name that
// it has not. Operators have a test of their own; all others have a signature in a table and values for its arguments,
// or stand in a list with a reason.
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { rmSync } from "node:fs";
import { loadModel } from "../../codegen/model/load.ts";
import * as CUDA from "../../src/cuda/signatures.ts";
import * as DISTRIBUTIONS from "../../src/distributions/signatures.ts";
import * as Z from "../../src/index.ts";
import * as IO from "../../src/io/base/signatures.ts";
import * as NN from "../../src/nn/signatures.ts";
import { Averages } from "../../src/profiler/averages.ts";
import * as PROFILER from "../../src/profiler/signatures.ts";
import * as TENSOR from "../../src/tensor/signatures.ts";
import { BINARY, COMPARE, REDUCE, SIMPLE } from "../../src/tensordict/classes/math-methods.ts";
import * as TD from "../../src/tensordict/core/signatures.ts";
import { type Any, Comparison, exported, type Found, type Parameter, type Target } from "./by-name.ts";
import { FAILS, LEFT_OUT, PLACES_ONLY, RECEIVERS, VARIES } from "./by-name-receivers.ts";
import { scratch, VALUES } from "./by-name-values.ts";
import { operatorForms } from "./operator-forms.ts";

/** The package, and a class that users get objects of but cannot name. */
const PUBLIC = { ...Z, Averages };

type Table = Readonly<Record<string, string>>;

const forms = (names: readonly string[], form: string) => Object.fromEntries(names.map((name) => [name, form]));
const COLLECTIONS: Table = {
  ...TD.METHODS,
  ...forms(SIMPLE, TD.FORMS.unary),
  ...forms([...BINARY, ...BINARY.map((name) => `${name}_`)], TD.FORMS.binary),
  ...forms(COMPARE, TD.FORMS.compare),
  ...forms(REDUCE, TD.FORMS.reduce),
};

/** Functions by the namespace in which they stand. */
const FUNCTIONS: Readonly<Record<string, Table>> = {
  "": { ...IO.FUNCTIONS, ...TD.FUNCTIONS, ...TENSOR.FUNCTIONS },
  autograd: TENSOR.FUNCTIONS,
  cpu: { ...TENSOR.FUNCTIONS, ...TENSOR.CPU },
  cuda: CUDA.FUNCTIONS,
  distributions: DISTRIBUTIONS.FUNCTIONS,
  "distributions.constraints": DISTRIBUTIONS.CONSTRAINTS,
  errors: TENSOR.FUNCTIONS,
  io: IO.FUNCTIONS,
  nested: TD.FUNCTIONS,
  nn: NN.FUNCTIONS,
  "nn.init": NN.FUNCTIONS,
  profiler: PROFILER.FUNCTIONS,
  tensordict: { ...IO.FUNCTIONS, ...TD.FUNCTIONS },
};

const CONSTRUCTORS: Table = {
  ...NN.CONSTRUCTORS,
  ...DISTRIBUTIONS.CONSTRUCTORS,
  ...IO.CONSTRUCTORS,
  ...TD.CONSTRUCTORS,
  Generator: TENSOR.GENERATOR,
};

/** Methods by the class whose own they are. */
const METHODS: Readonly<Record<string, Table>> = {
  ...TENSOR.CLASSES,
  ...IO.METHODS,
  Tensor: TENSOR.MEMBERS,
  NestedTensor: TD.NESTED_METHODS,
  NonTensorData: TD.VALUE_METHODS,
  NonTensorStack: TD.VALUE_METHODS,
  TensorDictFuture: TD.FUTURE_METHODS,
  TensorDictParams: { ...NN.MODULE, ...COLLECTIONS, ...TD.UNWRAPPED, ...TD.PARAMS_METHODS },
  PersistentTensorDict: TD.PERSISTENT_METHODS,
  LazyStackedTensorDict: TD.LAZY_METHODS,
  MemoryMappedTensor: TD.MAPPED_METHODS,
  TensorDictBase: TD.UNWRAPPED,
  ModuleDict: NN.DICT,
  Profile: PROFILER.PROFILE,
  Averages: PROFILER.AVERAGES,
};

const STATICS: Readonly<Record<string, Table>> = {
  ...IO.STATICS,
  Distribution: DISTRIBUTIONS.STATICS,
  MemoryMappedTensor: TD.MAPPED_STATICS,
  PersistentTensorDict: TD.PERSISTENT_STATICS,
};

const extend = (made: Any, base: Any) => made === base || made.prototype instanceof base;

/** The table that knows a member, from the class that has it upwards. */
function memberSignature({ kind, name, owner }: Found): string | undefined {
  const own = (kind === "static" ? STATICS : METHODS)[owner.name]?.[name];
  if (own !== undefined) return own;
  if (name === "forward") return NN.FORWARD[owner.name as keyof typeof NN.FORWARD];
  if (extend(owner, Z.nn.Module)) return { ...NN.MODULE, ...NN.ORDERED }[name as keyof typeof NN.MODULE];
  if (extend(owner, Z.distributions.Distribution)) return (DISTRIBUTIONS.METHODS as Table)[name];
  if (extend(owner, Z.distributions.Transform)) return (DISTRIBUTIONS.TRANSFORM as Table)[name];
  const collection = extend(owner, Z.TensorDictBase) || extend(Z.TensorDictBase, owner);
  if (collection) return (kind === "static" ? (TD.STATICS as Table) : COLLECTIONS)[name];
  return undefined;
}

function constructorSignature(made: Any): string | undefined {
  for (let at = made; at !== Function.prototype; at = Object.getPrototypeOf(at)) {
    if (CONSTRUCTORS[at.name] !== undefined) return CONSTRUCTORS[at.name];
  }
  return undefined;
}

function signatureOf(found: Found): string | undefined {
  if (found.kind === "function") return FUNCTIONS[found.home.join(".")]?.[found.name];
  return found.kind === "constructor" ? constructorSignature(found.fn) : memberSignature(found);
}

function valueOf({ path, name, home }: Found, { name: argument, kind }: Parameter): unknown {
  const made =
    VALUES[`${path}.${argument}`] ??
    VALUES[`${home.at(-1)}.${argument}`] ??
    VALUES[`${name}.${argument}`] ??
    VALUES[argument];
  if (made === undefined) throw new Error(`the argument ${argument} of the kind ${kind} has no value (${home})`);
  return made();
}

function callOf({ kind, fn }: Found): Target["call"] {
  if (kind === "constructor") return (_receiver, args) => new (fn as Any)(...args);
  return (receiver, args) => fn.apply(receiver, args as unknown[]);
}

function receiverOf({ kind, path, name, home }: Found): Target["receiver"] | undefined {
  const made = home.reduce<Any>((at, part) => at[part], PUBLIC);
  if (kind === "function" || kind === "constructor") return () => null;
  if (kind === "static") return () => made;
  return RECEIVERS[path] ?? RECEIVERS[name] ?? RECEIVERS[home.at(-1) as string];
}

/** Without the library of HDF5 its files are left out. */
const needsHdf5 = ({ path }: Found) => noHdf5 && /Hdf5File|PersistentTensorDict|[a-z]H5/.test(path);
const noHdf5 = Z.io.hdf5Engine() === null;

/** Everything public, each function once, as a member of the first class that has it, with its other names. */
function everything(): Found[][] {
  const operators = new Set(operatorForms(loadModel()).map(({ fn }) => fn));
  const first: readonly unknown[] = [Z.TensorDict, Z.Tensor, Z.nn.Linear, Z.distributions.Distribution];
  const rank = ({ home, kind }: Found) =>
    (kind === "static" || kind === "method") && first.includes(home.reduce<Any>((at, part) => at[part], PUBLIC))
      ? 0
      : 1;
  const all = [...exported(PUBLIC)].filter(({ fn }) => !operators.has(fn)).sort((a, b) => rank(a) - rank(b));
  return [...Map.groupBy(all, ({ fn }) => fn).values()];
}

const inList = (list: object, { path, name }: Found) => [path, name].find((one) => one in list);

/** What is called, or why it is not. */
function targetOf(names: readonly Found[]): Target | string {
  const found = names.find((one) => signatureOf(one) !== undefined) ?? (names[0] as Found);
  const signature = signatureOf(found);
  if (signature === undefined) return `${found.path} has no signature`;
  const make = receiverOf(found);
  if (make === undefined) return `${found.path} has nobody to be called on`;
  return {
    path: found.path,
    signature,
    receiver: make,
    call: callOf(found),
    value: (parameter) => valueOf(found, parameter),
    placesOnly: inList(PLACES_ONLY, found) !== undefined,
    varies: inList(VARIES, found) !== undefined,
    fails: inList(FAILS, found) !== undefined,
  };
}

/** What is the same before every call. */
function begin(): void {
  Z.manualSeed(0);
  Z.setDefaultDtype("float32");
}

const restored = {
  lazy: Z.tensordict.lazyLegacy(),
  lists: Z.tensordict.listToStack(),
  defaults: Z.tensordict.getDefaultsToNull(),
  threads: Z.getNumThreads(),
};
const printed = spyOn(console, "log");

beforeAll(() => {
  Z.setWarningPolicy("never");
  printed.mockImplementation(() => undefined);
});
afterAll(() => {
  printed.mockRestore();
  begin();
  Z.setWarningPolicy("once");
  Z.setLazyLegacy(restored.lazy);
  Z.tensordict.setListToStack(restored.lists);
  Z.tensordict.setGetDefaultsToNull(restored.defaults);
  Z.setNumThreads(restored.threads);
  rmSync(scratch, { recursive: true, force: true });
});

test("by position, by name, and with a name that they have not", async () => {
  const comparison = new Comparison(scratch, begin);
  const wrong: string[] = [];
  let called = 0;
  for (const names of everything()) {
    if (names.some((one) => inList(LEFT_OUT, one) !== undefined || needsHdf5(one))) continue;
    const target = targetOf(names);
    if (typeof target === "string") wrong.push(target);
    else wrong.push(...(await comparison.problems(target)));
    called++;
  }
  expect(wrong).toEqual([]);
  expect(called).toBeGreaterThan(350);
}, 120_000);

test("what is called in a way of its own is there, and has a reason", () => {
  const all = [...exported(PUBLIC)];
  const known = new Set(all.flatMap(({ path, name }) => [path, name]));
  for (const list of [LEFT_OUT, PLACES_ONLY, VARIES, FAILS, RECEIVERS]) {
    const names = Object.keys(list).filter((name) => list !== RECEIVERS || name.includes("#"));
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  }
  for (const list of [LEFT_OUT, PLACES_ONLY, VARIES, FAILS]) {
    expect(Object.values(list).filter((reason) => reason.length < 5)).toEqual([]);
  }
});

test("every signature is that of something public", () => {
  const names = new Set([...exported(PUBLIC)].flatMap(({ path, name }) => [path, name]));
  const tables = [
    COLLECTIONS,
    CONSTRUCTORS,
    ...[FUNCTIONS, METHODS, STATICS].flatMap((tables) => Object.values(tables)),
  ];
  const unused = tables.flatMap((table) => Object.keys(table).filter((name) => !names.has(name)));
  expect([...new Set(unused)].sort()).toEqual([]);
});

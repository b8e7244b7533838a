// Every public function, class and method of nn and io, with arguments that are wrong one at a time: missing ones,
// unknown options and values of other kinds. What is thrown is ours and says which argument it means.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseSignature } from "../../scripts/signatures/parse.ts";
import * as DISTRIBUTIONS from "../../src/distributions/signatures.ts";
import * as Z from "../../src/index.ts";
import * as IO from "../../src/io/base/signatures.ts";
import * as NN from "../../src/nn/signatures.ts";
import * as OPTIM from "../../src/optim/signatures.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import * as MODULES from "../../src/tensordict/nn/signatures.ts";
import { isClass } from "../api/by-name.ts";
import { OPTIM_RECEIVERS } from "../api/by-name-optim.ts";
import { modules } from "../nn-modules.ts";

const folder = mkdtempSync(join(tmpdir(), "zensor-attack-"));
const before = process.cwd();
// Some wrong arguments are names of files.
process.chdir(folder);
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true, force: true });
});

type Call = (...args: unknown[]) => unknown;
type Table = Readonly<Record<string, string>>;

const file = (name: string) => join(folder, name);
const normal = () => new Z.distributions.Normal(Z.zeros(2, 2), Z.ones(2, 2));
const linear = () => new Z.nn.Linear(2, 2);
const state = () => new Z.io.StateDict({ a: 1 });
Z.io.saveSafetensors({ a: Z.ones(2) }, file("a.safetensors"));
Z.io.saveNpz(file("a.npz"), { a: Z.ones(2) });
const snapshot = Z.io.Snapshot.take({ path: file("snapshot"), appState: { state: state() } });

/** A value of each kind that is right, so that one wrong argument is the only one. */
const RIGHT: Readonly<Record<string, () => unknown>> = {
  any: () => Z.ones(2, 2),
  h5wasm: () => null,
  int: () => 2,
  ints: () => [2],
  size: () => 2,
  sizesOrNull: () => [2, null],
  wordOrSizes: () => "same",
  numbers: () => [1.5],
  number: () => 0.5,
  bool: () => true,
  notDict: () => true,
  value: () => Z.ones(2),
  string: () => "relu",
  text: () => file("scratch"),
  list: () => [1],
  strings: () => ["a"],
  fn: () => () => undefined,
  dict: () => ({}),
  bytes: () => new Uint8Array([0x80, 4, 0x5d, 0x4b, 1, 0x61, 0x2e]),
  tensor: () => Z.ones(2, 2, 2),
  named: () => ({ a: Z.ones(2) }),
  namedOrList: () => [Z.ones(2)],
  saved: () => ({ state: state() }),
  unknownArray: () => new Z.io.UnknownArray({ format: "gguf", name: "x", dtype: "Q4_2", shape: [1], bytes: null }),
  restored: () => ({ state: state() }),
  module: linear,
  activation: () => "relu",
  generator: () => new Z.Generator(),
  placement: () => "cpu",
  dtype: () => "float32",
  packed: () => Z.nn.utils.rnn.packSequence([Z.ones(2), Z.ones(1)]),
  tensorOrPacked: () => Z.ones(2, 2, 2),
  parameter: () => 0.5,
  limit: () => 2,
  sample: () => Z.ones(2),
  constraint: () => Z.distributions.constraints.real,
  distribution: normal,
  distributionClass: () => Z.distributions.Normal,
  td: () => new Z.TensorDict({ a: { low: Z.zeros(2), high: Z.ones(2) } }, [2]),
  map: () => ({ a: Z.distributions.Uniform }),
  key: () => "a",
  keyList: () => ["a"],
};

/** Values that some kinds refuse. */
const WRONG: readonly unknown[] = [
  null,
  Number.NaN,
  1.5,
  "text",
  true,
  [1.5],
  Symbol("s"),
  new Date(0),
  { unknown: 1 },
];

interface Target {
  name: string;
  signature: string | undefined;
  call: Call;
}

const hasAsync = (name: string) => /Async$|^async/.test(name);

/** The functions of a namespace that is exported. */
function functionsOf(room: string, namespace: object, table: Table): Target[] {
  return Object.entries(namespace)
    .filter(([, value]) => typeof value === "function" && !isClass(value))
    .map(([name, value]) => ({ name: `${room}.${name}`, signature: table[name], call: value as Call }));
}

function classesOf(namespace: object): [string, new (...args: never[]) => object][] {
  const isError = (value: object) => Object.prototype.isPrototypeOf.call(Error, value);
  return Object.entries(namespace).filter(([, value]) => isClass(value) && !isError(value)) as never;
}

/** Constructors; those of base classes count for classes that have none. */
function constructorsOf(namespace: object, table: Table, none: readonly string[]): Target[] {
  return classesOf(namespace)
    .filter(([name]) => !none.includes(name))
    .map(([name, made]) => {
      let at: { name: string } = made;
      while (!(at.name in table) && at !== Function.prototype) at = Object.getPrototypeOf(at);
      return { name: `new ${name}`, signature: table[at.name], call: (...args) => new made(...(args as never[])) };
    });
}

/** Methods and class methods, except those of tensors and functions. */
function methodsOf(
  receiver: object,
  signatureOf: (method: string, owner: string) => string | undefined,
  from: object = Object.getPrototypeOf(receiver),
): Target[] {
  const found: Target[] = [];
  const done = new Set(["constructor", "forward"]);
  for (let at = from; ![Function.prototype, Object.prototype].includes(at); at = Object.getPrototypeOf(at)) {
    for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof value !== "function" || name.startsWith("_") || done.has(name) || isClass(value)) continue;
      done.add(name);
      const owner = typeof at === "function" ? at.name : at.constructor.name;
      const call: Call = (...args) => (value as Call).apply(receiver, args);
      found.push({ name: `${owner}.${name}`, signature: signatureOf(name, owner), call });
    }
  }
  return found;
}

const value = (kind: string) => (RIGHT[kind] as () => unknown)();

/** What a call ends with; a promise's error is no error of the call itself. */
async function outcome(target: Target, args: readonly unknown[]): Promise<unknown> {
  let result: unknown;
  try {
    result = target.call(...args);
  } catch (error) {
    return hasAsync(target.name.split(".").at(-1) as string) ? new Error(`threw at once: ${error}`) : error;
  }
  try {
    await result;
  } catch (error) {
    return error;
  }
  return null;
}

const text = (error: unknown) => (error === null ? "nothing" : `${(error as Error).name}: ${(error as Error).message}`);

/** Everything that is wrong about the refusals of a function. */
async function problemsOf(target: Target): Promise<string[]> {
  const { name, signature } = target;
  if (signature === undefined) return [`${name} has no signature`];
  const { positional, options } = parseSignature(signature);
  const mustBe = options.filter(({ optional }) => !optional);
  const listed = positional.filter(({ rest }) => !rest);
  const required = listed.filter(({ optional }) => !optional).map(({ kind }) => kind);
  const needed = Object.fromEntries(mustBe.map(({ name: option, kind }) => [option, value(kind)]));
  const right = () => required.map(value);
  const found: string[] = [];
  const refuse = async (what: string, args: readonly unknown[], words: RegExp) => {
    const error = await outcome(target, args);
    if (!(error instanceof ZensorError && words.test(error.message))) found.push(`${name}, ${what}: ${text(error)}`);
  };
  const unknown = { ...needed, unknownOption: 1 };
  if (!["new StateDict", "new ModuleDict"].includes(name))
    await refuse(
      "unknown option",
      [...right(), unknown],
      /got an unexpected keyword argument 'unknownOption'|must be the module/,
    );
  if (required.length > 0) await refuse("missing", right().slice(0, -1), /missing 1 required .*'|must be/);
  for (const key of Object.keys(needed)) {
    await refuse(`${key} missing`, [{ ...needed, [key]: undefined }], new RegExp(`missing 1 required .*'${key}'`));
  }
  for (const i of required.keys()) {
    for (const wrong of WRONG) {
      const args = right();
      args[i] = wrong;
      const error = await outcome(target, args);
      if (error !== null && !(error instanceof ZensorError))
        found.push(`${name}, ${String(wrong)} at ${i}: ${text(error)}`);
      const kind = listed[i]?.kind as string;
      if (kind === "int" && wrong !== null && !(error instanceof ZensorError))
        found.push(`${name}: takes ${String(wrong)}`);
    }
  }
  return found;
}

async function expectNone(targets: readonly Target[], least: number): Promise<void> {
  expect(targets.length).toBeGreaterThanOrEqual(least);
  const found: string[] = [];
  for (const target of targets) found.push(...(await problemsOf(target)));
  expect(found).toEqual([]);
}

describe("nn", () => {
  const room = Z.nn as object;
  test("functions", () => expectNone(functionsOf("nn", room, NN.FUNCTIONS), 1));
  test("nn.utils", () => expectNone(functionsOf("utils", Z.nn.utils, NN.FUNCTIONS), 6));
  test("nn.utils.rnn", async () => {
    const { rnn } = Z.nn.utils;
    await expectNone(functionsOf("rnn", rnn, NN.FUNCTIONS), 7);
    await expectNone(constructorsOf(rnn, NN.CONSTRUCTORS, []), 1);
    const packed = rnn.packSequence([Z.ones(2), Z.ones(1)]);
    await expectNone(
      methodsOf(packed, (name) => (NN.PACKED as Table)[name]),
      12,
    );
  });
  test("nn.init", () => expectNone(functionsOf("init", Z.nn.init, NN.FUNCTIONS), 14));
  test("constructors", () => {
    // What Sequential and Identity take is any number of anything; what a module of the user's takes is not known here.
    return expectNone(constructorsOf(room, NN.CONSTRUCTORS, ["Module", "Sequential", "Identity"]), 14);
  });
  test("methods", async () => {
    const named = classesOf(room).map(([name]) => name);
    expect(named.filter((name) => !["Buffer", "Parameter"].includes(name)).sort()).toEqual(Object.keys(modules).sort());
    const table: Table = { ...NN.MODULE, ...NN.ORDERED };
    const ofDict: Table = { ...NN.MODULE, ...NN.DICT };
    for (const make of Object.values(modules)) {
      const receiver = make();
      const signatures = receiver instanceof Z.nn.ModuleDict ? ofDict : table;
      await expectNone(
        methodsOf(receiver, (name) => signatures[name]),
        30,
      );
    }
  });
  test("nn.functional", async () => {
    const found: string[] = [];
    for (const [name, call] of Object.entries(Z.F)) {
      for (const args of [
        [{ unknownOption: 1 }],
        [Z.ones(2), { unknownOption: 1 }],
        [],
        [Symbol("s")],
        [new Date(0)],
      ]) {
        const error = await outcome({ name, signature: "", call: call as Call }, args);
        if (!(error instanceof ZensorError)) found.push(`${name}(${args.map(String)}): ${text(error)}`);
      }
    }
    expect(found).toEqual([]);
  });
});

describe("optim", () => {
  const { optim } = Z;
  const table: Table = { ...OPTIM.OPTIMIZERS, ...OPTIM.SCHEDULERS, Optimizer: OPTIM.NEW_OPTIMIZER };
  const one = () => new optim.SGD([new Z.nn.Parameter(Z.ones(2))], { lr: 0.5 });
  test("optimisers", () => expectNone(constructorsOf(optim, table, []), 6));
  test("schedules", () => expectNone(constructorsOf(optim.lrScheduler, table, []), 15));
  test("methods", async () => {
    const owners: Readonly<Record<string, Table>> = {
      Optimizer: OPTIM.OPTIMIZER,
      LRScheduler: OPTIM.SCHEDULER,
      ReduceLROnPlateau: { ...OPTIM.SCHEDULER, ...OPTIM.PLATEAU },
      CyclicLR: { ...OPTIM.SCHEDULER, ...OPTIM.CYCLIC },
    };
    const signatureOf = (base: string) => (name: string, owner: string) =>
      ({ ...owners[base], ...owners[owner] })[name];
    const receivers = [...Object.values(OPTIM_RECEIVERS)].map((make) => make());
    for (const receiver of receivers) {
      const base = receiver instanceof optim.Optimizer ? "Optimizer" : "LRScheduler";
      await expectNone(methodsOf(receiver, signatureOf(base)), 5);
    }
  });
  test("what is said of no optimiser, and of no parameters", () => {
    for (const value of [...WRONG, Z.ones(2), linear()]) {
      expect(() => new optim.lrScheduler.StepLR(value as never, 2), String(value)).toThrow(ZensorError);
      expect(() => new optim.SGD(value as never), String(value)).toThrow(ZensorError);
      expect(() => one().loadStateDict(value as never), String(value)).toThrow(ZensorError);
      expect(() => one().addParamGroup(value as never), String(value)).toThrow(ZensorError);
    }
  });
});

describe("distributions", () => {
  const room = Z.distributions as object;
  const { constraints } = Z.distributions;
  // Two parameters of which one is given, and bounds in their order, are right together only.
  const makers: Record<string, () => object> = {
    AffineTransform: () => new Z.distributions.AffineTransform(1, 2),
    Bernoulli: () => new Z.distributions.Bernoulli(0.5),
    Categorical: () => new Z.distributions.Categorical(Z.ones(2)),
    ComposeTransform: () => new Z.distributions.ComposeTransform([]),
    Delta: () => new Z.distributions.Delta(Z.ones(2)),
    Independent: () => new Z.distributions.Independent(normal(), 1),
    Normal: normal,
    OneHotCategorical: () => new Z.distributions.OneHotCategorical(Z.ones(2)),
    OneHotCategoricalStraightThrough: () => new Z.distributions.OneHotCategoricalStraightThrough(Z.ones(2)),
    TanhNormal: () => new Z.distributions.TanhNormal(Z.zeros(2), 1),
    TanhTransform: () => new Z.distributions.TanhTransform(),
    TransformedDistribution: () => new Z.distributions.TransformedDistribution(normal(), []),
    TruncatedNormal: () => new Z.distributions.TruncatedNormal(0, 1, -1, 1),
    TruncatedStandardNormal: () => new Z.distributions.TruncatedStandardNormal(-1, 1),
    Uniform: () => new Z.distributions.Uniform(0, 1),
  };
  test("functions", () => expectNone(functionsOf("distributions", room, DISTRIBUTIONS.FUNCTIONS), 2));
  test("regions", () => expectNone(functionsOf("constraints", constraints, DISTRIBUTIONS.CONSTRAINTS), 7));
  test("constructors", () =>
    expectNone(constructorsOf(room, DISTRIBUTIONS.CONSTRUCTORS, ["Distribution", "Transform"]), 12));
  test("methods", async () => {
    const table: Table = { ...DISTRIBUTIONS.METHODS, ...DISTRIBUTIONS.TRANSFORM, ...DISTRIBUTIONS.REGION };
    const classes = classesOf(room).map(([name]) => name);
    expect(classes.filter((name) => !["Distribution", "Transform"].includes(name)).sort()).toEqual(
      Object.keys(makers).sort(),
    );
    for (const make of Object.values(makers)) {
      await expectNone(
        methodsOf(make(), (name) => table[name]),
        8,
      );
    }
    for (const region of [constraints.real, constraints.realVector, constraints.dependent]) {
      await expectNone(
        methodsOf(region, (name) => table[name]),
        2,
      );
    }
    const statics = DISTRIBUTIONS.STATICS as Table;
    await expectNone(
      methodsOf(Z.distributions.Distribution, (name) => statics[name], Z.distributions.Distribution),
      1,
    );
  });
});

describe("tensordict.nn", () => {
  const room = Z.tensordict.nn;
  afterAll(() => {
    room.setCompositeLpAggregate(false);
    room.setInteractionType(null);
    room.setSkipExisting(false);
  });
  const table: Table = { ...MODULES.METHODS, ...MODULES.SEQUENTIAL_METHODS, ...NN.MODULE };
  const module = () => new room.TensorDictModule(linear(), ["a"], ["b"]);
  test("functions", () => expectNone(functionsOf("tensordict.nn", room, MODULES.FUNCTIONS), 10));
  test("constructors", () => {
    // What a sequence takes is any number of modules; what a module of the user's takes is not known here.
    const constructors = { ...DISTRIBUTIONS.CONSTRUCTORS, ...MODULES.CONSTRUCTORS };
    const OPEN = ["TensorDictModuleBase", "TensorDictSequential", "ProbabilisticTensorDictSequential"];
    return expectNone(constructorsOf(room, constructors, OPEN), 8);
  });
  test("what is no sequence", () => {
    const wrong = [[1], [module(), "a"], [{ a: 1 }], [module(), { unknownOption: 1 }], [module(), { inplace: "yes" }]];
    for (const args of wrong) {
      expect(() => new room.TensorDictSequential(...(args as never[])), JSON.stringify(args)).toThrow(ZensorError);
    }
  });
  test("methods", async () => {
    const params = new Z.TensorDict({ a: { low: Z.zeros(2), high: Z.ones(2) } }, [2]) as never;
    const receivers = [module(), new room.TensorDictSequential(module(), module()), new room.WrapModule((td) => td)];
    for (const receiver of receivers) {
      await expectNone(
        methodsOf(receiver, (name) => table[name]),
        30,
      );
    }
    const composite: Table = { ...DISTRIBUTIONS.METHODS, ...MODULES.COMPOSITE };
    await expectNone(
      methodsOf(new room.CompositeDistribution(params, { a: Z.distributions.Uniform }), (name) => composite[name]),
      15,
    );
  });
});

/** What has no tensors. */
const withoutFile = (prototype: object) =>
  Object.assign(Object.create(prototype), { path: "a path", header: { entries: new Map(), unknown: new Map() } });

describe("io", () => {
  test("functions", () => expectNone(functionsOf("io", Z.io, IO.FUNCTIONS), 23));
  test("functions for archives, of io and of tensordict", () => {
    const { packMemmap, refreshArchiveChecksums, unpackMemmap, isMemmapArchive } = Z;
    const all = { packMemmap, refreshArchiveChecksums, unpackMemmap, isMemmapArchive };
    return expectNone(functionsOf("", all, IO.FUNCTIONS), 4);
  });
  // Those of the others are not public.
  const inner = ["UnknownArray", "PendingSnapshot", "RemoteSafetensors"];
  test("constructors", () => expectNone(constructorsOf(Z.io, IO.CONSTRUCTORS, inner), 5));
  test("class methods", () => {
    const statics = IO.STATICS as Readonly<Record<string, Table>>;
    const targets = classesOf(Z.io).flatMap(([, made]) =>
      methodsOf(made, (name, owner) => statics[owner]?.[name], made),
    );
    return expectNone(targets, 3);
  });
  test("methods", async () => {
    const tables = IO.METHODS as Readonly<Record<string, Table>>;
    const signatureOf = (name: string, owner: string) => tables[owner]?.[name];
    const pending = await Z.io.Snapshot.asyncTake({ path: file("later"), appState: { state: state() } });
    const receivers: object[] = [
      state(),
      snapshot,
      pending,
      new Z.io.SafetensorsFile(file("a.safetensors")),
      withoutFile(Z.io.RemoteSafetensors.prototype),
      withoutFile(Z.io.GgufFile.prototype),
      new Z.io.UnknownArray({ format: "hdf5", name: "x", dtype: "reference", shape: [1], bytes: null }),
      new Z.io.PythonName("a module", "Name"),
      new Z.io.PythonObject(new Z.io.PythonName("a module", "Name")),
      ...(Z.io.hdf5Engine() === null ? [] : [new Z.io.Hdf5File(file("a.h5"), "w")]),
    ];
    const known = receivers.map(
      (one) => (Object.hasOwn(one, "constructor") ? one : Object.getPrototypeOf(one)).constructor,
    );
    const all = classesOf(Z.io).filter(([name]) => name !== "Hdf5File" || Z.io.hdf5Engine() !== null);
    expect(all.filter(([, made]) => !known.includes(made)).map(([name]) => name)).toEqual([]);
    for (const receiver of receivers) await expectNone(methodsOf(receiver, signatureOf), 1);
  });
});

test("saving and loading whatever there is", async () => {
  const unknown = { unknownOption: 1 } as never;
  const refused = "got an unexpected keyword argument 'unknownOption'";
  expect(() => Z.save({}, file("a.pt"), unknown)).toThrow(refused);
  expect(() => Z.load(file("a.pt"), unknown)).toThrow(refused);
  expect(Z.saveAsync({}, file("a.pt"), unknown)).rejects.toThrow(refused);
  expect(Z.loadAsync(file("a.pt"), unknown)).rejects.toThrow(refused);
});

// Everything public that can be called, found by walking the package: called by position, by name and with a name that
// it has not. Operators have a test of their own; all others have a signature in a table and values for its arguments,
// or stand in a list with a reason.
import { afterAll, beforeAll, expect, spyOn, test } from "bun:test";
import { rmSync } from "node:fs";
import { loadModel } from "../../codegen/model/load.ts";
import type { Parameter } from "../../scripts/signatures/parse.ts";
import { CONSTRUCTORS, classSignatures, METHODS, ROOMS, STATICS, type Table } from "../../scripts/signatures/tables.ts";
import { CONSTRAINTS } from "../../src/distributions/signatures.ts";
import * as Z from "../../src/index.ts";
import { hdf5Engine } from "../../src/io/hdf5/hdf5.ts";
import { FORWARD, TRANSFORMER } from "../../src/nn/signatures.ts";
import { Averages } from "../../src/profiler/averages.ts";
import { CONSTRUCTORS as OWN } from "../../src/tensordict/nn/signatures.ts";
import { type Any, Comparison, exported, type Found, type Target } from "./by-name.ts";
import { background, FAILS, LEFT_OUT, OPTIONS, PLACES_ONLY, RECEIVERS, VARIES } from "./by-name-receivers.ts";
import { scratch, VALUES } from "./by-name-values.ts";
import { operatorForms } from "./operator-forms.ts";

/** The package, and a class that users get objects of but cannot name. */
const PUBLIC = { ...Z, Averages };

/** Functions by the namespace in which they stand. */
const FUNCTIONS: Readonly<Record<string, Table>> = {
  "": { ...ROOMS.io, ...ROOMS.tensordict, ...ROOMS.api },
  autograd: ROOMS.autograd,
  cpu: ROOMS.api,
  cuda: ROOMS.cuda,
  distributions: ROOMS.distributions,
  "distributions.constraints": CONSTRAINTS,
  errors: ROOMS.tensor,
  func: ROOMS.func,
  io: ROOMS.io,
  nested: ROOMS.tensordict,
  nn: ROOMS.nn,
  "nn.init": ROOMS.nn,
  "nn.utils": ROOMS.nn,
  "nn.utils.rnn": ROOMS.nn,
  profiler: ROOMS.profiler,
  testing: ROOMS.testing,
  tensordict: { ...ROOMS.io, ...ROOMS.tensordict },
  "tensordict.nn": ROOMS.tensordict,
};

/** The names of a class and of what it extends, the nearest first. */
function lineage(made: Any): string[] {
  let above = made.prototype == null ? null : Object.getPrototypeOf(made.prototype);
  // Objects that keep a class's late members.
  while (above !== null && above.constructor === made) above = Object.getPrototypeOf(above);
  return above === null || above === Object.prototype ? [made.name] : [made.name, ...lineage(above.constructor)];
}

/** Classes that have the names of others. */
const BY_PATH: Table = {
  "new tensordict.nn.OneHotCategorical": OWN.OneHotCategorical,
  "nn.Transformer.generateSquareSubsequentMask": TRANSFORMER.generateSquareSubsequentMask,
};

function signatureOf({ kind, path, home, name, owner, fn }: Found): string | undefined {
  if (BY_PATH[path] !== undefined) return BY_PATH[path];
  if (kind === "function") return FUNCTIONS[home.join(".")]?.[name];
  if (kind === "method" && name === "forward") return FORWARD[owner.name as keyof typeof FORWARD];
  // Late members of collections stand behind the class that all of them have in common.
  const above = lineage(kind === "constructor" ? fn : owner).map((one) =>
    one === "Collection" ? "TensorDictBase" : one,
  );
  const members = classSignatures(above);
  return members(kind === "constructor" ? "new" : kind === "static" ? `static ${name}` : name);
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

/** What works on HDF5 files is called where there is libhdf5 or h5wasm. */
const withHdf5 = hdf5Engine() !== null;
const ofHdf5 = ({ path }: Found) => !withHdf5 && /Hdf5File|PersistentTensorDict|[a-z]H5/.test(path);

/** Everything public, each function once, as a member of the first class that has it, with its other names. */
function everything(): Found[][] {
  const operators = new Set(operatorForms(loadModel()).map(({ fn }) => fn));
  const first: readonly unknown[] = [
    Z.TensorDict,
    Z.Tensor,
    Z.nn.Linear,
    Z.distributions.Distribution,
    Z.tensordict.nn.TensorDictModule,
  ];
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
    also: OPTIONS[found.path] ?? [],
  };
}

/** What is the same before every call. */
function begin(): void {
  Z.manualSeed(0);
  Z.setDefaultDtype("float32");
  Z.setDefaultDevice(null);
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
afterAll(async () => {
  await Promise.allSettled(background);
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
    if (names.some((one) => inList(LEFT_OUT, one) !== undefined) || names.every(ofHdf5)) continue;
    const target = targetOf(names);
    if (typeof target === "string") wrong.push(target);
    else wrong.push(...(await comparison.problems(target)));
    called++;
  }
  expect(wrong).toEqual([]);
  expect(called).toBeGreaterThan(790);
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
  const tables = [CONSTRUCTORS, ...[FUNCTIONS, METHODS, STATICS].flatMap((tables) => Object.values(tables))];
  const unused = tables.flatMap((table) => Object.keys(table).filter((name) => !names.has(name)));
  expect([...new Set(unused)].sort()).toEqual([]);
});

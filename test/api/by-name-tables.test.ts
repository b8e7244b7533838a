// Every method and function that a table of signatures describes, called by position, by name and with a name that it
// has not. What an argument is follows from its name, or stands in a list here.
import { afterAll, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as Z from "../../src/index.ts";
import { CONSTRUCTORS, MODULE } from "../../src/nn/signatures.ts";
import { BINARY, COMPARE, REDUCE, SIMPLE } from "../../src/tensordict/classes/math-methods.ts";
import { FORMS, LAZY_METHODS, METHODS, STATICS } from "../../src/tensordict/core/signatures.ts";

// biome-ignore lint/suspicious/noExplicitAny: objects of all classes are called by the names of their methods
type Any = any;

const scratch = mkdtempSync(join(tmpdir(), "zensor-by-name-"));
afterAll(() => rmSync(scratch, { recursive: true, force: true }));
let paths = 0;
/** A path that nothing has, the same text again for the call that is compared. */
const freshPath = () => join(scratch, `${paths++}`, "file");

const { arange, nn, ones, TensorDict, zeros } = Z;
const entries = () => ({ a: arange(6).reshape(2, 3).float(), b: { c: ones(2, 3) } });
const dense = () => new TensorDict(entries(), [2, 3]);
const saved = () => dense().save(freshPath());

/** Arguments by their name, or by `method.name` where one method needs another. */
const VALUES: Readonly<Record<string, () => unknown>> = {
  key: () => "a",
  oldKey: () => "a",
  newKey: () => "z",
  value: () => zeros(2, 3),
  index: () => 0,
  source: () => ({ a: zeros(2, 3) }),
  dim: () => 0,
  dim0: () => 0,
  dim1: () => 1,
  axis0: () => 0,
  axis1: () => 1,
  start: () => 0,
  length: () => 1,
  startDim: () => 0,
  endDim: () => -1,
  size: () => [6],
  shape: () => [2, 3],
  dims: () => [1, 0],
  repeats: () => [1, 2],
  unflattenedSize: () => [1, 2],
  splitSize: () => 1,
  chunks: () => 2,
  indicesOrSections: () => 2,
  destination: () => 1,
  fillValue: () => 3,
  mask: () => ones(2, 3).gt(0),
  other: () => 2,
  others: () => [],
  fn: () => (t: Any) => t.add(1),
  options: () => ({ batchSize: [2, 3] }),
  separator: () => ".",
  recurse: () => true,
  keepdim: () => true,
  requiresGrad: () => true,
  setToNone: () => true,
  min: () => 1,
  max: () => 2,
  names: () => ["x", "y"],
  keys: () => ["a"],
  target: () => "float64",
  fallback: () => null,
  prefix: freshPath,
  filename: freshPath,
  state: () => dense().stateDict(),
  tensor: () => ones(2, 3),
  storage: () => zeros(2, 3).untypedStorage(),
  module: () => new nn.Linear(2, 2),
  list: () => [dense(), dense()],
  values: () => [zeros(3), zeros(3)],
  tensordict: () => new TensorDict({ a: zeros(3), b: { c: ones(3) } }, [3]),
  input: () => [dense(), dense()],
  tdList: () => [dense(), dense()],
  "maximum.other": dense,
  "maximum_.other": dense,
  "minimum.other": dense,
  "minimum_.other": dense,
  "logicalAnd.other": dense,
  "logicalAnd_.other": dense,
  "logicalOr.other": dense,
  "logicalOr_.other": dense,
  "setAt.value": () => 0,
  "setAt_.value": () => 0,
  "updateAt_.source": () => ({ a: zeros(3), b: { c: zeros(3) } }),
  "copy_.source": dense,
  "movedim.source": () => 0,
  "moveaxis.source": () => 0,
  "gather.index": () => zeros(2, 3).long(),
  "expand.size": () => [4, 2, 3],
  "broadcastTo.size": () => [4, 2, 3],
  "expandAs.other": dense,
  "tile.dims": () => [1, 2],
  "flip.dims": () => [0],
  "repeatInterleave.repeats": () => 2,
  "unsqueeze.dim": () => 1,
  "unflatten.dim": () => 0,
  "squeeze.dim": () => 0,
  "fill_.value": () => 2,
  "apply_.fn": () => (t: Any) => t.add_(1),
  "namedApply.fn": () => (_name: string, t: Any) => t.add(1),
  "newZeros.size": () => [1, 2],
  "cuda.index": () => 0,
  "setNonTensor.value": () => "text",
  "makeMemmap.key": () => "m",
  "makeMemmapFromTensor.key": () => "m",
  "makeMemmapFromStorage.key": () => "m",
  "loadMemmap_.prefix": () => saved() && lastSaved(),
  "loadMemmap.prefix": () => saved() && lastSaved(),
  "load.prefix": () => saved() && lastSaved(),
  "loadMemmapAsync.prefix": () => saved() && lastSaved(),
  "loadAsync.prefix": () => saved() && lastSaved(),
  "insert.index": () => 1,
  "setEach.values": () => [zeros(3), ones(3)],
  "fromDict.source": entries,
  "fromDict.batchSize": () => [2],
  "fromkeys.value": () => 1,
};
const lastSaved = () => join(scratch, `${paths - 1}`, "file");

/** Who is called, where it is not a plain TensorDict. */
const RECEIVERS: Readonly<Record<string, () => Any>> = {
  unflattenKeys: () => new TensorDict({ "a.b": ones(2) }, [2]),
  refineNames: () => new TensorDict({ a: ones(2, 3) }, [2, 3]),
  memmapRefresh_: () => dense().memmap_(freshPath()),
  makeMemmap: () => dense().memmap_(freshPath()),
  makeMemmapFromTensor: () => dense().memmap_(freshPath()),
  makeMemmapFromStorage: () => dense().memmap_(freshPath()),
  loadStateDict: dense,
  toModule: () => TensorDict.fromModule(new nn.Linear(2, 2)),
  unflatten: dense,
  ...Object.fromEntries(
    ["bitwiseAnd", "bitwiseOr", "bitwiseXor", "bitwiseNot"].flatMap((name) => {
      const whole = () => new TensorDict({ a: arange(3) }, [3]);
      return [name, `${name}_`].map((one) => [one, whole] as const);
    }),
  ),
};

/** Calls that have nothing to compare, and why. */
const LEFT_OUT: Readonly<Record<string, string>> = {
  cuda: "there is no such device here",
  toH5: "needs libhdf5; test/tensordict/persistent.test.ts calls it by name",
  toH5Async: "needs libhdf5; test/tensordict/persistent.test.ts calls it by name",
  fromH5: "needs libhdf5; test/tensordict/persistent.test.ts calls it by name",
  fromConsolidated: "the file is made by consolidate, which has names only",
  toString: "Python's str() takes nothing",
  update: "a dictionary is data there",
  update_: "a dictionary is data there",
  updateAt_: "a dictionary is data there",
  loadStateDict: "a dictionary is data there",
  fromDict: "a dictionary is data there",
};

interface Parameter {
  name: string;
  kind: string;
  rest: boolean;
}

function parametersOf(signature: string): Parameter[] {
  const words = (signature.split("|")[0] as string).split(" ").filter((word) => word !== "");
  return words.map((word) => {
    const [name, kind] = word.split(":") as [string, string];
    return { name: name.replace(/^\.\.\.|[?!]$/g, ""), kind, rest: word.startsWith("...") };
  });
}

function valueOf(method: string, { name, kind }: Parameter): unknown {
  const made = VALUES[`${method}.${name}`] ?? VALUES[name];
  if (made === undefined) throw new Error(`${method} has an argument ${name} of the kind ${kind} without a value here`);
  return made();
}

/** What can be seen of a result, without the names of files. */
function seen(result: unknown): string {
  const text = Array.isArray(result)
    ? result.map(String).join()
    : typeof result === "object" && result !== null
      ? Bun.inspect(result)
      : String(result);
  return text.replaceAll(scratch, "").replace(/\/\d+\/file/g, "");
}

/** The result, and the receiver afterwards. */
async function outcome(call: () => unknown, receiver: unknown): Promise<string> {
  const result = await call();
  return `${seen(result)}\n${seen(receiver)}`;
}

async function compared(name: string, signature: string, receiver: () => Any): Promise<string[]> {
  const parameters = parametersOf(signature);
  const wrong: string[] = [];
  const unknown = { noSuchName: 1 };
  try {
    const values = parameters.map((p) => valueOf(name, p));
    const again = parameters.map((p) =>
      typeof valueOf(name, p) === "function" ? values[parameters.indexOf(p)] : valueOf(name, p),
    );
    if (parameters.length > 0) {
      const [first, second] = [receiver(), receiver()];
      const places = values.flatMap((value, i) => (parameters[i]?.rest ? (value as unknown[]) : [value]));
      const named = Object.fromEntries(parameters.map((p, i) => [p.name, again[i]]));
      const byPlace = await outcome(() => first[name](...places), first);
      const byName = await outcome(() => second[name](named), second);
      if (byPlace !== byName) wrong.push(`${name}: by name it gives another result\n${byPlace}\n${byName}`);
    }
    const third = receiver();
    try {
      await third[name](...values.slice(0, 0), {
        ...Object.fromEntries(parameters.map((p, i) => [p.name, again[i]])),
        ...unknown,
      });
      wrong.push(`${name}: a name that it has not is taken`);
    } catch (error) {
      if (!/unexpected keyword argument 'noSuchName'/.test(String(error)))
        wrong.push(`${name}: ${String(error).split("\n")[0]}`);
    }
  } catch (error) {
    wrong.push(`${name}: ${String(error).split("\n")[0]}`);
  }
  return wrong;
}

const forms = (names: readonly string[], form: string) => Object.fromEntries(names.map((name) => [name, form]));

beforeEach(() => {
  Z.manualSeed(0);
});

test("methods of TensorDicts", async () => {
  const tables = {
    ...METHODS,
    ...forms(SIMPLE, FORMS.unary),
    ...forms([...BINARY, ...BINARY.map((name) => `${name}_`)], FORMS.binary),
    ...forms(COMPARE, FORMS.compare),
    ...forms(REDUCE, FORMS.reduce),
  };
  const wrong: string[] = [];
  for (const [name, signature] of Object.entries(tables)) {
    if (name in LEFT_OUT) continue;
    wrong.push(...(await compared(name, signature, RECEIVERS[name] ?? dense)));
  }
  expect(wrong).toEqual([]);
}, 60_000);

test("methods of lazy stacks", async () => {
  const stack = () => Z.lazyStack([new TensorDict({ a: ones(3) }, [3]), new TensorDict({ a: zeros(3) }, [3])]);
  const wrong: string[] = [];
  for (const [name, signature] of Object.entries(LAZY_METHODS)) wrong.push(...(await compared(name, signature, stack)));
  expect(wrong).toEqual([]);
});

test("class methods of TensorDict", async () => {
  const wrong: string[] = [];
  for (const [name, signature] of Object.entries(STATICS)) {
    if (name in LEFT_OUT) continue;
    wrong.push(...(await compared(name, signature, () => TensorDict)));
  }
  expect(wrong).toEqual([]);
});

test("what is left out is in a table", () => {
  const known = new Set([...Object.keys(METHODS), ...Object.keys(STATICS), "toString"]);
  expect(Object.keys(LEFT_OUT).filter((name) => !known.has(name))).toEqual([]);
});

/** Arguments of modules by their names. */
const MODULES: Readonly<Record<string, Record<string, unknown>>> = {
  Dropout: { p: 0.5, inplace: false },
  LayerNorm: { normalizedShape: [2], eps: 0.1, elementwiseAffine: true, bias: true },
  Linear: { inFeatures: 2, outFeatures: 3, bias: true },
  MSELoss: {},
  ReLU: { inplace: true },
  Sigmoid: {},
  Softmax: { dim: 0 },
  Tanh: {},
};

test("constructors of modules", () => {
  const wrong: string[] = [];
  for (const [name, values] of Object.entries(MODULES)) {
    const Module = (nn as Any)[name];
    const signature = CONSTRUCTORS[name as keyof typeof CONSTRUCTORS];
    expect(parametersOf(signature).map((p) => p.name)).toEqual(Object.keys(values));
    const [byPlace, byName] = [new Module(...Object.values(values)), new Module(values)];
    if (String(byPlace) !== String(byName)) wrong.push(`${name}: ${byPlace} and ${byName}`);
    expect(() => new Module({ ...values, noSuchName: 1 })).toThrow("unexpected keyword argument 'noSuchName'");
  }
  expect(wrong).toEqual([]);
  expect(Object.keys(MODULE).length).toBeGreaterThan(10);
});

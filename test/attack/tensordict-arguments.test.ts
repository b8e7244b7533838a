// Every public method of every kind of collection, with arguments that are wrong one at a time. What is thrown is ours,
// and a call that fails changed nothing.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ones, zeros } from "../../generated/functional.ts";
import * as Z from "../../src/index.ts";
import { ZensorError } from "../../src/tensor/errors.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { isWhole } from "../campaign.ts";

const T = Z.tensordict;
const folder = mkdtempSync(join(tmpdir(), "zensor-attack-"));
process.chdir(folder);
afterAll(() => {
  process.chdir("/");
  rmSync(folder, { recursive: true, force: true });
});

class Pair extends T.tensorclass({ a: Tensor, s: String }) {}

const dense = () =>
  new T.TensorDict({ a: ones(2, 3), n: { b: zeros(2) }, s: "x", l: ["p", "q"] }, [2]) as unknown as Td;
const RECEIVERS: Record<string, () => Td> = {
  TensorDict: dense,
  "locked TensorDict": () => dense().lock_(),
  tensorclass: () => new Pair({ a: ones(2, 3), s: "x" }, { batchSize: [2] }) as unknown as Td,
  "lazy stack": () => T.lazyStack([dense(), dense()]),
  "lazy stack of lazy stacks": () => T.lazyStack([T.lazyStack([dense()], 1), T.lazyStack([dense()], 1)], 1),
  NonTensorData: () => new T.NonTensorData("x", { batchSize: [2] }) as unknown as Td,
  NonTensorStack: () => T.NonTensorStack.of("x", "y") as unknown as Td,
};

const loop: unknown[] = [];
loop.push(loop, loop);
const ring: Record<string, unknown> = {};
ring.ring = ring;
let deep: Record<string, unknown> = {};
for (let i = 0; i < 3000; i++) deep = { deep };
/** More levels than calls go down. */
let self = new T.TensorDict({ a: ones(2) }, [2]) as unknown as Td;
for (let i = 0; i < 3000; i++) self = new T.TensorDict({ self }, [2]) as unknown as Td;

/** Values in the place of every argument. */
const WRONG: readonly (() => unknown)[] = [
  () => undefined,
  () => null,
  () => Number.NaN,
  () => -1,
  () => 1.5,
  () => 7,
  () => 1e300,
  () => 3n,
  () => true,
  () => "",
  () => "nothing",
  () => "a",
  () => [],
  () => [1.5],
  () => [null],
  () => ["a", "b"],
  () => [[["a"]]],
  () => ({}),
  () => ({ a: 1 }),
  () => ({ unknownOption: 1 }),
  () => Symbol("s"),
  () => () => 1,
  () => () => {
    throw new T.KeyThroughLeafError("asked for");
  },
  () => ones(2),
  () => ones(7, 7),
  () => zeros(2, { dtype: "bool" }),
  () => dense(),
  () => new T.TensorDict({ a: ones(5) }, [5]),
  () => new T.NonTensorData("y"),
  () => new Date(0),
  () => new Map<unknown, unknown>([[1, 2]]),
  () => new Proxy({}, {}),
  () => Object.create(null),
  () => new Float32Array(2),
];

/** Values without an end, or of more levels than calls go down. */
const ENDLESS: readonly unknown[] = [loop, ring, deep, self];

/** What arguments are right, so that the wrong one is not the first. */
const RIGHT: Record<string, () => unknown[]> = {
  set: () => ["z", ones(2)],
  set_: () => ["a", ones(2, 3)],
  setAt: () => [0, { a: ones(3) }],
  setAt_: () => ["a", 1, 0],
  setdefault: () => ["a", ones(2)],
  renameKey_: () => ["a", "z"],
  update: () => [{ a: ones(2, 3) }, {}],
  update_: () => [{ a: ones(2, 3) }, {}],
  updateAt_: () => [{ a: 1 }, 0, {}],
  transpose: () => [0, 0],
  unflatten: () => [0, [1, 2]],
  split: () => [1, 0],
  chunk: () => [1, 0],
  gather: () => [0, zeros(1, { dtype: "int64" })],
  apply: () => [(t: Tensor) => t, dense(), {}],
  apply_: () => [(t: Tensor) => t],
  map: () => [(td: unknown) => td, 0, 0, {}],
  mapIter: () => [(td: unknown) => td, 0, 0, {}],
  namedApply: () => [(_: string, t: Tensor) => t, {}],
  fill_: () => ["a", 1],
  clamp: () => [0, 1],
  sum: () => [0, {}],
  mean: () => [0, {}],
  get: () => ["a", null],
  at: () => [0, null],
  to: () => ["cpu", {}],
  flatten: () => [0, -1],
  flattenKeys: () => [".", {}],
  unflattenKeys: () => [".", {}],
  select: () => ["a", {}],
  exclude: () => ["a", {}],
  empty: () => [true, {}],
  loadStateDict: () => [{ a: ones(2, 3) }, {}],
  makeMemmap: () => ["q", [2], {}],
  makeMemmapFromTensor: () => ["q", ones(2), {}],
  makeMemmapFromStorage: () => ["q", ones(2).untypedStorage(), [2], {}],
  toModule: () => [new Z.nn.Linear(1, 1), {}],
  memmap: () => [null, {}],
  memmap_: () => [null, {}],
  memmapLike: () => [null, {}],
  memmapAsync: () => [null, {}],
  consolidate: () => [{}],
  stateDict: () => [{}],
  insert: () => [0, dense()],
  extend: () => [[dense()]],
  setEach: () => ["a", [ones(2, 3), ones(2, 3)]],
  getRagged: () => ["a", {}],
  pop: () => ["a", 1],
};

/** No methods, or none for others than subclasses. */
const SKIPPED = new Set(["constructor", "withRaw", "plain"]);

function methodsOf(td: object): string[] {
  const names = new Set<string>();
  for (let at = Object.getPrototypeOf(td); at !== Object.prototype; at = Object.getPrototypeOf(at)) {
    for (const [name, own] of Object.entries(Object.getOwnPropertyDescriptors(at))) {
      if (typeof own.value === "function" && !name.startsWith("_") && !SKIPPED.has(name)) names.add(name);
    }
  }
  return [...names];
}

function content(td: Td): string {
  const entry = (one: unknown): unknown => {
    if (one instanceof Tensor) return [...one.shape, String(one.dtype), one.tolist()];
    const own = one as Td & { members?: Td[]; value_?: unknown; values_?: unknown };
    if (own._kind === "nonTensor" || own._kind === "nonTensorStack")
      return [own.value_, own.values_, [...own.batchSize]];
    const inside =
      own._kind === "lazy" ? (own.members ?? []).map(entry) : [...own._keys()].map((k) => [k, entry(own._own(k))]);
    return [own._kind, [...own.batchSize], own._names, own.isLocked, inside];
  };
  return JSON.stringify(entry(td));
}

/** Errors of the language itself, which say nothing about the argument. */
function foreign(error: unknown): boolean {
  if (error instanceof ZensorError) return false;
  return error instanceof Error || typeof error !== "object";
}

async function outcome(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error ?? "an error without a value";
  }
  return null;
}

function describe(value: unknown): string {
  if (value === loop || value === ring || value === deep || value === self) return "an endless value";
  if (Array.isArray(value)) return `[${value.map(describe)}]`;
  return typeof value === "object" && value !== null ? value.constructor?.name : String(value);
}

/** Argument lists with wrong values: alone, in each place of right ones, and behind them. */
function* calls(name: string): Generator<unknown[]> {
  yield [];
  for (const wrong of WRONG) {
    yield [wrong()];
    const right = (Object.hasOwn(RIGHT, name) ? RIGHT[name] : undefined) ?? (() => [null]);
    for (let i = 0; i < right().length; i++) {
      const args = right();
      args[i] = wrong();
      yield args;
    }
    yield [...right(), wrong()];
  }
  for (const endless of ENDLESS) {
    yield [endless];
    const right = Object.hasOwn(RIGHT, name) ? (RIGHT[name] as () => unknown[])() : [];
    if (right.length > 1) yield [right[0], endless, ...right.slice(2)];
  }
}

/** What differs from others in a few methods only takes its time where everything is run. */
const NOT_ALWAYS = ["lazy stack of lazy stacks", "locked TensorDict"];

for (const [kind, make] of Object.entries(RECEIVERS)) {
  test.skipIf(!isWhole && NOT_ALWAYS.includes(kind))(
    `methods of a ${kind}`,
    async () => {
      const problems = new Set<string>();
      for (const name of methodsOf(make())) {
        for (const args of calls(name)) {
          const td = make();
          const before = content(td);
          const method = (td as unknown as Record<string, (...args: unknown[]) => unknown>)[name] as () => unknown;
          const error = await outcome(() => method.apply(td, args as []));
          if (error === null) continue;
          const call = `${name}(${args.map(describe).join(", ")})`;
          // Workers get the text of a function, and not what it names.
          if (name === "map" && error instanceof ReferenceError) continue;
          if (foreign(error)) problems.add(`${call}: ${String(error).slice(0, 150)}`);
          if (content(td) !== before) problems.add(`${call}: changed, though ${String(error).slice(0, 100)}`);
        }
      }
      expect([...problems].slice(0, Number(process.env.ZENSOR_ATTACK_SHOW ?? 20))).toEqual([]);
    },
    120_000,
  );
}

test("properties that can be set", () => {
  for (const make of Object.values(RECEIVERS)) {
    for (const name of ["batchSize", "names"]) {
      for (const wrong of WRONG) {
        const td = make();
        const before = content(td);
        try {
          (td as unknown as Record<string, unknown>)[name] = wrong();
        } catch (error) {
          expect([name, describe(wrong()), foreign(error) ? String(error) : ""]).toEqual([name, describe(wrong()), ""]);
          expect(content(td)).toBe(before);
        }
      }
    }
  }
});

test("constructors, class methods and functions", async () => {
  const targets: [string, (...args: unknown[]) => unknown][] = [
    ["new TensorDict", (...args) => new T.TensorDict(...(args as []))],
    ["new Pair", (...args) => new Pair(...(args as []))],
    ["new NonTensorData", (...args) => new T.NonTensorData(...(args as [null]))],
    ["new NonTensorStack", (...args) => new T.NonTensorStack(...(args as [never]))],
    ["new LazyStackedTensorDict", (...args) => new T.LazyStackedTensorDict(...(args as [never]))],
    ["new PersistentTensorDict", (...args) => new T.PersistentTensorDict(...(args as [never]))],
    ["Pair.fromTensordict", (...args) => (Pair.fromTensordict as (...args: unknown[]) => unknown)(...args)],
    ["tensorclass", (...args) => T.tensorclass(...(args as [never]))],
  ];
  for (const name of Object.getOwnPropertyNames(T.TensorDict)) {
    const own = (T.TensorDict as unknown as Record<string, unknown>)[name];
    if (typeof own === "function" && name !== "prototype") {
      targets.push([
        `TensorDict.${name}`,
        (...args) => (own as (...args: unknown[]) => unknown).apply(T.TensorDict, args),
      ]);
    }
  }
  // Tools for archives belong to the room of files.
  const settings = /^set|^get|Error$|^[A-Z]|Memmap$|^refreshArchive/;
  for (const [name, own] of Object.entries(T)) {
    if (typeof own === "function" && !settings.test(name)) targets.push([name, own as never]);
  }
  const problems = new Set<string>();
  for (const [name, run] of targets) {
    for (const wrong of WRONG) {
      for (const args of [
        [],
        [wrong()],
        [wrong(), wrong()],
        [dense(), wrong()],
        [[dense()], wrong()],
        [{ a: 1 }, wrong()],
      ]) {
        const error = await outcome(() => run(...args));
        if (error !== null && foreign(error)) {
          problems.add(`${name}(${args.map(describe).join(", ")}): ${String(error).slice(0, 150)}`);
        }
      }
    }
  }
  expect([...problems].slice(0, Number(process.env.ZENSOR_ATTACK_SHOW ?? 20))).toEqual([]);
}, 120_000);

test("a TensorDict cannot contain itself", () => {
  const td = dense();
  for (const run of [
    () => td.set("self", td),
    () => td.set(["n", "self"], td),
    () => td.update({ self: { below: td } }),
    () => td.setAt("self", td),
    () => (td.get("n") as Td).set("above", new T.TensorDict({ td }, [2])),
  ]) {
    const before = content(td);
    expect(run).toThrow("cannot contain itself");
    expect(content(td)).toBe(before);
  }
});

test("nor does a stack or an object of a class, by any way in", () => {
  const dense = (entries: object) => new T.TensorDict(entries, [2]) as unknown as Td;
  const pair = new Pair({ a: ones(2, 3), s: "x" }, { batchSize: [2] }) as unknown as Td & { a: unknown };
  const stack = T.lazyStack([dense({ a: ones(2) }), dense({ a: ones(2) })]) as unknown as Td & Z.LazyStackedTensorDict;
  const twice = T.lazyStack([stack, stack] as never) as unknown as Td;
  const around = dense({ a: ones(2), stack });
  for (const [one, run] of [
    [pair, () => pair.set("a", T.lazyStack([pair, pair]))],
    [pair, () => (pair.a = T.lazyStack([pair, pair]))],
    [pair, () => (pair.a = dense({ pair }))],
    [stack, () => stack.append(around)],
    [stack, () => stack.insert(0, around)],
    [stack, () => stack.extend([dense({ a: ones(2) }), around])],
    [twice, () => twice.set("b", T.lazyStack([twice, twice] as never))],
    [around, () => around.setNonTensor("around", around)],
  ] as [Td, () => unknown][]) {
    const before = content(one);
    expect(run).toThrow("cannot contain itself");
    expect(content(one)).toBe(before);
  }
});

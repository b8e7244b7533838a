// Members of classes and functions of namespaces that come into being when they are touched.
import * as engine from "bun:jsc";
import { afterEach, expect, spyOn, test } from "bun:test";
import { types } from "node:util";
import { memberNames } from "../../generated/methods.ts";
import * as zensor from "../../src/index.ts";
import { addLateMembers, lateNamespace, takeLateMembers } from "../../src/tensor/late-members.ts";
import { membersOf } from "../members.ts";

const { F, linalg, nn, ones, special, TensorDict, Tensor, tensor, zeros } = zensor;
// biome-ignore lint/suspicious/noExplicitAny: members by name
type Any = any;

/** What the engine says of a value. */
const shown = (x: unknown): string => (engine as unknown as { describe(x: unknown): string }).describe(x);

test("arrays stay fast: a proxy behind an object that is a prototype already would make all of them slow", () => {
  expect(shown([1, 2, {}])).not.toContain("SlowPut");
  class Derived extends Tensor {}
  Object.setPrototypeOf(tensor([1]), Derived.prototype);
  (tensor([1]) as Any).note = 1;
  expect(shown([1, 2, {}])).not.toContain("SlowPut");
});

test("every operator's member is there, under its name, once", () => {
  const all = membersOf(Tensor.prototype);
  const names = memberNames().split(" ");
  expect(names.length).toBeGreaterThan(350);
  for (const name of names) {
    const { value, get } = all.get(name) ?? {};
    if (get === undefined)
      expect([name, value?.name, (tensor([1]) as Any)[name] === value]).toEqual([name, name, true]);
  }
  expect(names.filter((name) => all.get(name)?.get !== undefined)).toEqual(["T", "imag", "mT", "real"]);
});

test("names can be asked for and listed", () => {
  const x = tensor([1]);
  expect(["asinh" in x, "T" in x, "setAt" in x, "zork" in x, "then" in x, "toString" in x]).toEqual([
    ...[true, true, true],
    ...[false, false, true],
  ]);
  const all = membersOf(Tensor.prototype);
  for (const name of ["add", "acosh_", "T", "at", "where", "dim", "recordStream"]) expect(all.has(name)).toBe(true);
  expect(typeof all.get("nanmedian")?.value).toBe("function");
  expect([all.size > 400, all.has("zork")]).toEqual([true, false]);
  const listed: string[] = [];
  for (const name in x) listed.push(name);
  expect(listed.filter((name) => !Object.hasOwn(x, name))).toEqual([]);
});

const kept = { ceil: Tensor.prototype.ceil, floor: Tensor.prototype.floor };
afterEach(() => {
  for (const name of ["ceil", "floor", "trunc", "fancy"]) delete (Tensor.prototype as Any)[name];
});

test("members are replaced by assignment, before and after they were touched", () => {
  const x = tensor([1.5]) as Any;
  Tensor.prototype.ceil = () => "patched" as Any;
  expect(x.ceil()).toBe("patched");
  (Tensor.prototype as Any).trunc = () => "also";
  expect(x.trunc()).toBe("also");
  (Tensor.prototype as Any).fancy = () => "new";
  expect(x.fancy()).toBe("new");
  x.floor = () => "own";
  expect([x.floor(), kept.floor.call(tensor([1.5])).item(), tensor([1.5]).floor().item()]).toEqual(["own", 1, 1]);
  delete (Tensor.prototype as Any).ceil;
  expect([x.ceil === kept.ceil, x.ceil().item()]).toEqual([true, 2]);
  const spy = spyOn(Tensor.prototype, "floor");
  tensor([2.5]).floor();
  expect(spy).toHaveBeenCalledTimes(1);
  spy.mockRestore();
  expect(() => {
    x.T = 1;
  }).toThrow(TypeError);
});

test("classes that extend Tensor override members and call them", () => {
  class Loud extends Tensor {
    override abs(): zensor.Tensor {
      return super.abs().add(100);
    }
  }
  const x = Object.setPrototypeOf(tensor([-1]), Loud.prototype) as Loud;
  expect([x.abs().item(), x.neg().item(), x instanceof Tensor, "abs" in x]).toEqual([101, 1, true, true]);
});

test("a class has any number of late members, and what it has itself comes first", () => {
  class Many {
    value = 7;
    own() {
      return "own";
    }
    static {
      takeLateMembers(Many.prototype, 4);
    }
  }
  const names = Array.from({ length: 1000 }, (_, i) => `m${i}`);
  const made: string[] = [];
  addLateMembers(Many.prototype, {
    names: () => ["own", ...names].join(" "),
    member(name) {
      if (name !== "own" && !/^m\d+$/.test(name)) return undefined;
      made.push(name);
      const i = Number(name.slice(1));
      return i % 10 === 3 ? { get: () => i } : (((x: number) => x + i) as never);
    },
  });
  addLateMembers(Many.prototype, { names: () => "other", member: (name) => (name === "other" ? () => 1 : undefined) });
  const x = new Many() as Any;
  expect([x.own(), x.m999(1), x.m3, x.other(), made]).toEqual(["own", 1000, 3, 1, ["m999", "m3"]]);
  for (let round = 0; round < 3; round++) {
    names.forEach((name, i) => void expect(i % 10 === 3 ? x[name] : x[name](0)).toBe(i));
  }
  expect(made.length).toBe(1000);
  expect(Object.keys(x)).toEqual(["value"]);
});

test("common calls do not look for what is not there", () => {
  const found: string[] = [];
  let behind: object = Tensor.prototype;
  while (!types.isProxy(Object.getPrototypeOf(behind))) behind = Object.getPrototypeOf(behind);
  const next = Object.getPrototypeOf(behind) as object;
  const note = (what: string) => void found.push(`${what}\n${new Error().stack}`);
  const spy = new Proxy(next, {
    getPrototypeOf(of) {
      note("class of");
      return Object.getPrototypeOf(of);
    },
    get(of, name, x) {
      note(`get ${String(name)}`);
      return Reflect.get(of, name, x);
    },
    has(of, name) {
      note(`has ${String(name)}`);
      return Reflect.has(of, name);
    },
    set(of, name, value, x) {
      note(`set ${String(name)}`);
      return Reflect.set(of, name, value, x);
    },
  });
  const calls = () => {
    const [x, y, g] = [tensor([1, 2, 3.5]), tensor([3, 2, 1.5]), ones([3], { requiresGrad: true })];
    for (const z of [
      x.add(y),
      x.mul(2),
      x.sum({ dim: 0 }),
      x.at(0),
      x.at("1:"),
      x.at(tensor([0, 1], { dtype: "int64" })),
    ])
      z.tolist();
    zensor.cat([x, y]);
    zensor
      .where(x.gt(1), x, y)
      .to("float64")
      .view(3, 1)
      .T.matmul(ones([3, 1]).double());
    g.mul(x).tanh().sum().backward();
    zensor.noGrad(() => g.add(1));
    zensor.scope(() => ({ a: x.add(1) }));
    new nn.Linear(3, 2).forward(ones([1, 3]));
    const td = new TensorDict({ a: ones([3, 4]), b: { c: ones([3]) } }, { batchSize: [3] });
    td.set("a", zeros([3, 4]));
    td.get("a");
    td.update_(td.clone());
    td.add(td)
      .at(0)
      .apply((z) => z.add(1));
    zensor.stack([td, td]);
    zensor.func.vmap((z: zensor.Tensor) => z.add(1).sum())(ones([2, 2]));
  };
  calls();
  try {
    Object.setPrototypeOf(behind, spy);
    expect((tensor([1]) as object) instanceof Map).toBe(false);
    expect(found.splice(0).length).toBe(1);
    calls();
  } finally {
    Object.setPrototypeOf(behind, next);
  }
  expect(found).toEqual([]);
});

test("namespaces list their functions, and give each when it is touched", () => {
  expect(Object.keys(linalg)).toContain("vectorNorm");
  expect([Object.keys(special).length, special.psi === zensor.digamma, "relu" in F]).toEqual([18, true, true]);
  expect({ ...F }.relu(tensor([-1])).item()).toBe(0);
  const made: string[] = [];
  const make = (name: string) => {
    made.push(name);
    return () => name;
  };
  const space = lateNamespace("one two three", make, (): Any => made.push("all"));
  expect([Object.keys(space), made, space.two(), space.two === space["two".trim()], made]).toEqual([
    ["one", "two", "three"],
    ["two"],
    "two",
    true,
    ["two"],
  ]);
  space.three = () => 3;
  expect([space.three(), made]).toEqual([3, ["two"]]);
});

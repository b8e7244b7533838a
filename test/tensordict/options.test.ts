// Options: unknown ones are refused by every method and function, those that tensordict has work.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { ones, zeros } from "../../generated/functional.ts";
import { Linear } from "../../src/nn/index.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { METHODS } from "../../src/tensordict/core/signatures.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import * as T from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const folder = temporaryDirectory();
afterAll(() => folder.remove());

const { TensorDict, lazyStack } = T;
class Pair extends T.tensorclass({ a: Tensor }) {}
const sample = () => new TensorDict({ a: ones(2, 3), n: { b: zeros(2) } }, [2]) as unknown as Td;
const unknown = { unknownOption: 1 } as never;
const refused = "got an unexpected keyword argument 'unknownOption'";

describe("unknown options are refused", () => {
  const required: Record<string, unknown> = {
    key: "a",
    value: ones(2),
    source: { a: ones(2, 3) },
    td: sample(),
    fn: (t: Tensor) => t,
    any: 0,
    int: 0,
    ints: [2],
    intOrInts: 1,
    tensor: ones(2),
    number: 1,
    bool: true,
    text: join(folder.path, "never"),
    "text?": null,
    mapFunction: (td: unknown) => td,
    moduleLike: new Linear(1, 1),
    storage: ones(2).untypedStorage(),
  };
  for (const [name, signature] of Object.entries(METHODS)) {
    if (["namedApply", "refineNames", "pop", "getAt"].includes(name)) continue;
    test(name, async () => {
      const words = (signature.split("|")[0] as string).split(" ").filter((word) => word.includes(":"));
      const args = words.filter((word) => !/[?]|^[.]/.test(word)).map((word) => required[word.split(":")[1] as string]);
      const method = (sample() as unknown as Record<string, (...args: unknown[]) => unknown>)[name];
      expect(method).toBeInstanceOf(Function);
      const run = async () => await method?.apply(sample(), [...args, unknown]);
      expect(run()).rejects.toThrow(/unknownOption|takes at most/);
    });
  }

  test("of constructors, class methods and functions", async () => {
    const path = join(folder.fresh(), "x");
    sample().memmap(path);
    const calls: (() => unknown)[] = [
      () => new TensorDict({}, unknown),
      () => new TensorDict({}, [], unknown),
      () => new Pair({}, unknown),
      () => new T.NonTensorData(1, unknown),
      () => new T.LazyStackedTensorDict([sample()], unknown),
      () => TensorDict.load(path, unknown),
      () => TensorDict.loadMemmap(path, unknown),
      () => T.loadMemmap(path, unknown),
      () => TensorDict.fromDict({}, unknown),
      () => TensorDict.stack([sample()], unknown),
      () => T.makeTensordict({}, unknown),
      () => T.lazyStack([sample()], unknown),
      () => T.stack([sample()], unknown),
      () => T.cat([sample()], unknown),
      () => T.padSequence([sample()], unknown),
      () => T.mergeTensordicts([sample(), sample()], unknown),
      () => T.fromModule(new Linear(1, 1), unknown),
      () => T.toModule(sample(), new Linear(1, 1), unknown),
      () => T.toSafetensors(sample(), join(folder.path, "never"), unknown),
      () => T.fromSafetensors(path, unknown),
      () => sample().namedApply((_, t) => t, unknown),
      () => sample().sum(0, unknown),
      () => (sample().add as (...args: unknown[]) => Td)(1, unknown),
    ];
    for (const call of calls) expect(call).toThrow(/unknownOption|takes at most/);
    expect(T.loadMemmapAsync(path, unknown)).rejects.toThrow(refused);
    expect(TensorDict.loadAsync(path, unknown)).rejects.toThrow(refused);
  });

  test("and kinds of the known ones", () => {
    expect(() => sample().sum(0, { keepdim: "yes" as never })).toThrow(
      "sum(): argument 'keepdim' must be bool, not str",
    );
    expect(() => sample().update({}, { keysToUpdate: 3 as never })).toThrow("must be list of keys, not int");
    expect(() => sample().update_({ zz: 1 }, { keysToUpdate: "zz" })).toThrow("was not found in the dest tensordict");
    expect(() => sample().transpose(0, Number.NaN)).toThrow("transpose(): argument 'dim1' must be int, not nan");
    expect(() => (sample().unsqueeze as () => Td)()).toThrow("missing 1 required positional argument: 'dim'");
    expect(() => sample().copy_(3 as never)).toThrow("copy_(): argument 'source' must be TensorDict, not int");
    expect(() => (sample().copy as (x: number) => Td)(3)).toThrow("copy() takes at most 0 arguments but 1 were given");
  });
});

describe("options that tensordict has", () => {
  test("empty", () => {
    const td = sample();
    expect(td.empty().keys()).toEqual([]);
    expect(td.empty(true).keys()).toEqual(["n"]);
    expect(td.empty({ recurse: true } as never).keys()).toEqual(["n"]);
    const other = td.empty(false, { batchSize: [5], device: "cpu", names: ["x"] });
    expect([[...other.batchSize], String(other.device), other.names]).toEqual([[5], "cpu", ["x"]]);
  });

  test("to", () => {
    const double = zeros(1, { dtype: "float64" });
    expect(String(sample().to(double).get("a").dtype)).toBe("torch.float64");
    expect(String(sample().to({ other: double }).get("a").dtype)).toBe("torch.float64");
    expect(String(sample().to({ other: new TensorDict({}, { device: "cpu" }) as never }).device)).toBe("cpu");
    const td = sample();
    expect(td.to("float64", { inplace: true, nonBlocking: true })).toBe(td);
    expect(String(td.get(["n", "b"]).dtype)).toBe("torch.float64");
    expect([...sample().to({ batchSize: [], device: "cpu" }).batchSize]).toEqual([]);
  });

  test("select, exclude, clone, set, updateAt_", () => {
    expect(sample().select("a", "q", { strict: false }).keys()).toEqual(["a"]);
    expect(() => sample().select("a", "q")).toThrow('key "q" not found');
    expect(sample().exclude("a", { inplace: true }).keys()).toEqual(["n"]);
    const td = sample();
    expect(td.clone({ recurse: false }).get("a")).toBe(td.get("a"));
    const a = td.get("a");
    td.set("a", zeros(2, 3), { inplace: true, nonBlocking: true });
    expect(td.get("a")).toBe(a);
    td.updateAt_({ a: ones(3), n: { b: 5 } }, 0, { keysToUpdate: ["a"] });
    expect([a.sum().item(), td.get(["n", "b"]).sum().item()]).toEqual([3, 0]);
  });

  test("arguments by their names", () => {
    const td = sample() as unknown as Record<string, (options: object) => Td>;
    const call = (name: string, options: object) => [...(td[name] as (options: object) => Td)(options).batchSize];
    expect(call("view", { size: [1, 2] })).toEqual([1, 2]);
    expect(call("unsqueeze", { dim: 0 })).toEqual([1, 2]);
    expect(call("expand", { size: [4, 2] })).toEqual([4, 2]);
    expect(call("sum", { dim: 0, keepdim: true })).toEqual([1]);
    const path = join(folder.fresh(), "x");
    expect(td.memmap?.({ prefix: path }).savedPath).toBe(path);
    expect([...lazyStack([sample(), sample()], { dim: 1 } as never).batchSize]).toEqual([2, 2]);
    expect(() => td.unsqueeze?.({ dim: 0, other: 1 })).toThrow("unexpected keyword argument 'other'");
  });
});

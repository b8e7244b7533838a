// TensorDicts in safetensors files, beside files that Python's tensordict wrote.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, float, ones, tensor, zeros } from "../../src/index.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { RuntimeError } from "../../src/tensor/errors.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  fromSafetensors,
  lazyStack,
  MetaData,
  NonTensorData,
  registerTensorClass,
  TensorDict,
  tensorclass,
  toSafetensors,
  toSafetensorsAsync,
} from "../../src/tensordict/index.ts";

import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
const fixture = (name: string) => join(import.meta.dir, "..", "fixtures", "safetensors", `${name}.safetensors`);
const place = (name: string) => join(room.path, `${name}.safetensors`);

class Point extends tensorclass({ x: Tensor, label: String, y: Tensor }, { pythonName: "zensor_fixtures.Point" }) {}
registerTensorClass(Point);
class Pair extends tensorclass({ x: Tensor }, { pythonName: "zensor_fixtures.Pair" }) {}
registerTensorClass(Pair);

const a = () => arange(6).to("float32").reshape(2, 3) as Tensor;
const td = (source: Record<string, unknown>, batch: number[] = []) => new TensorDict(source, batch) as unknown as Td;

/** What scripts/oracle/make_safetensors.py saved. */
const trees: Record<string, () => Td> = {
  names: () => new TensorDict({ a: a() }, { batchSize: [2], names: ["time"] }) as unknown as Td,
  nested: () => td({ a: a(), n: { b: tensor([1n, 2n]), e: {} }, "x.y": a().to("bool") }, [2]),
  lazy: () => lazyStack([0, 1].map((i) => td({ a: a().add(i), n: { b: a().to("float16").mul(i) } }))),
  lazy_inside: () =>
    td(
      {
        s: lazyStack(
          [0, 1, 2].map((i) => td({ a: a().add(i) }, [2])),
          1,
        ),
      },
      [2],
    ),
  tensorclass: () => td({ p: new Point({ x: a(), label: "hé\n" }, { batchSize: [2] }) }, [2]),
  lazy_classes: () => lazyStack([0, 1].map((i) => td({ p: new Pair({ x: a().add(i) }), n: { b: a() } }))),
  values: () =>
    td({
      a: a(),
      d: new NonTensorData(
        new Map<string, unknown>([
          ["a", [1, 2.5, null, true, "s"]],
          ["2", { 1: float(2) }],
        ]),
      ),
      m: new MetaData("once"),
      i: new NonTensorData(2n ** 60n),
    }),
  layouts: () => td({ t: a().t(), e: ones(1).expand(4), z: zeros(0, 2), s: tensor(3, { dtype: "bfloat16" }) }),
};

describe("beside Python", () => {
  for (const [name, make] of Object.entries(trees)) {
    test(`${name} is written byte for byte and read back`, () => {
      const path = place(name);
      toSafetensors(make(), path);
      expect(readFileSync(path)).toEqual(readFileSync(fixture(name)));
      const read = fromSafetensors(fixture(name));
      const again = place(`${name}-again`);
      toSafetensors(read, again);
      if (name !== "values") expect(readFileSync(again)).toEqual(readFileSync(fixture(name)));
      expect(String(fromSafetensors(again))).toBe(String(read));
    });
  }
  test("structure comes back", () => {
    const lazy = fromSafetensors(fixture("lazy_inside")).at("s") as Td;
    expect(lazy._className).toBe("LazyStackedTensorDict");
    expect([...lazy.batchSize]).toEqual([2, 3]);
    expect(lazy.get("a").tolist()).toEqual((trees.lazy_inside as () => Td)().get(["s", "a"]).tolist());
    const point = fromSafetensors(fixture("tensorclass")).at("p") as unknown as Point;
    expect(point).toBeInstanceOf(Point);
    expect(point.label).toBe("hé\n");
    expect(fromSafetensors(fixture("names")).names).toEqual(["time"]);
    const values = fromSafetensors(fixture("values"));
    expect(values.at("i")).toBe(2n ** 60n);
    expect(values.at("d")).toEqual({ a: [1, 2.5, null, true, "s"], 2: { 1: 2 } });
  });
  test("a file without structure is nested at the dots", () => {
    const path = place("plain");
    saveSafetensors({ "0.weight": ones(2), "0.bias": zeros(1), scale: ones(1) }, path, { metadata: { format: "pt" } });
    const read = fromSafetensors(path, { device: "cpu" });
    expect([...read.keys()].sort()).toEqual(["0", "scale"]);
    expect((read.at("0") as Td).at("weight").tolist()).toEqual([1, 1]);
    expect(String(read.device)).toBe("cpu");
  });
  test("in the background, and over a file that is mapped", async () => {
    const path = place("async");
    toSafetensors(td({ w: ones(1000) }), path);
    const before = fromSafetensors(path);
    await toSafetensorsAsync(td({ w: zeros(5) }), path, { fsync: true });
    expect((before.at("w") as Tensor).sum().item()).toBe(1000);
    expect((fromSafetensors(path).at("w") as Tensor).tolist()).toEqual([0, 0, 0, 0, 0]);
  });
});

describe("what cannot be saved", () => {
  const refused: [string, () => Td, string][] = [
    [
      "a stack of values",
      () => td({ s: ["a", "b"] }, [2]),
      "Cannot save the non-tensor stack at ('s',) as safetensors",
    ],
    [
      "a value that is no JSON",
      () => td({ n: { s: new NonTensorData(new Set([1])) } }),
      "value at ('n', 's') as safetensors: Set is",
    ],
    ["two keys of one name", () => td({ "a.b": ones(1), a: { b: ones(1) } }), "the safetensors name 'a.b'"],
    ["members that differ", () => lazyStack([td({ a: ones(1) }), td({ b: ones(1) })]), "entries have different keys"],
    ["a bare value", () => new NonTensorData(3) as unknown as Td, "bare non-tensor value"],
  ];
  for (const [what, make, message] of refused) {
    test(what, () => {
      const path = place(what);
      expect(() => toSafetensors(make(), path)).toThrow(message);
      expect(() => readFileSync(path)).toThrow();
    });
  }
});

describe("hostile structure", () => {
  const level = (keys: object, more: object = {}) => ({ batch_size: [], names: null, keys, ...more });
  const bad: [string, unknown][] = [
    ["no object", 3],
    ["another version", { version: 2, root: level({}) }],
    ["no root", { version: 1 }],
    ["keys are a list", { version: 1, root: { batch_size: [], names: null, keys: [] } }],
    ["a negative batch size", { version: 1, root: { batch_size: [-1], names: null, keys: {} } }],
    ["a tensor that is not there", { version: 1, root: level({ b: { tensor: "b" } }) }],
    ["a tensor that is not named", { version: 1, root: level({}) }],
    ["an entry of no kind", { version: 1, root: level({ a: { tensor: "a" }, b: { other: 1 } }) }],
    ["an entry of two kinds", { version: 1, root: level({ a: { tensor: "a", non_tensor: 1 } }) }],
    [
      "a batch size that the tensor does not have",
      { version: 1, root: level({ a: { tensor: "a" } }, { batch_size: [9] }) },
    ],
    [
      "a class that is not known",
      { version: 1, root: level({ a: { tensor: "a" } }, { class: "<class 'os.system'>" }) },
    ],
    ["a stack dimension outside", { version: 1, root: level({ a: { tensor: "a" } }, { stack_dim: 0 }) }],
    [
      "a stack of trillions",
      { version: 1, root: level({ a: { tensor: "a" }, n: { td: level({}, { batch_size: [1e12], stack_dim: 0 }) } }) },
    ],
    ["names that are no strings", { version: 1, root: level({ a: { tensor: "a" } }, { names: [3] }) }],
  ];
  for (const [what, structure] of bad) {
    test(what, () => {
      const path = place("hostile");
      saveSafetensors({ a: ones(2) }, path, { metadata: { tensordict: JSON.stringify(structure) } });
      expect(() => fromSafetensors(path)).toThrow(/structure in its metadata/);
    });
  }
  test("nesting without end", () => {
    const path = place("deep");
    let text = JSON.stringify(level({}));
    for (let i = 0; i < 5000; i++) text = `{"batch_size": [], "names": null, "keys": {"n": {"td": ${text}}}}`;
    saveSafetensors({}, path, { metadata: { tensordict: `{"version": 1, "root": ${text}}` } });
    expect(() => fromSafetensors(path)).toThrow(/structure in its metadata/);
  });
  test("every byte of the file flipped", () => {
    const good = readFileSync(fixture("nested"));
    const path = place("flipped");
    for (let i = 0; i < good.length; i++) {
      const bytes = Buffer.from(good);
      bytes[i] = (bytes[i] as number) ^ (1 << (i % 8));
      writeFileSync(path, bytes);
      try {
        String(fromSafetensors(path));
      } catch (error) {
        expect(error).toBeInstanceOf(RuntimeError);
      }
    }
  });
});

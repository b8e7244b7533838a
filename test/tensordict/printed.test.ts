// Printed text of every kind of object, against what Python's tensordict 0.15.3 prints for the same
// (scripts/oracle/make_printed_texts.py).
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { arange, nn, ones, Tensor, zeros } from "../../src/index.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  MemoryMappedTensor,
  MetaData,
  NonTensorData,
  NonTensorStack,
  setTensorDictPrintoptions,
  TensorDict,
  tensorclass,
} from "../../src/tensordict/index.ts";
import texts from "../fixtures/tensordict/printed.json" with { type: "json" };
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

class P extends tensorclass({ x: Tensor, y: Tensor, label: String }) {}
class N extends tensorclass({ v: Tensor, next: () => N as never }) {}
class Q extends tensorclass({ d: null, b: Tensor, x: Tensor, a: Tensor, s: String, zz: null }) {}

const z = (...shape: number[]) => zeros(shape);
const td = (entries: object, batchSize: number[] = [], more: object = {}): Td =>
  new TensorDict(entries, { batchSize, ...more }) as unknown as Td;
const point = () => new P({ x: z(2, 3), y: z(2), label: "q" }, { batchSize: [2] });
const DTYPES = [
  ...["bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64"],
  ...["float16", "bfloat16", "float32", "float64", "complex64", "complex128"],
];

const cases: Record<keyof typeof texts, () => unknown> = {
  empty: () => td({}),
  plain: () => td({ b: z(2, 3), a: ones([2], { dtype: "int64" }) }, [2]),
  nested: () => td({ n: { m: { c: z(2, 1) } }, a: z(2) }, [2]),
  device: () => td({ a: z(2) }, [2], { device: "cpu" }),
  names: () => td({ a: z(2) }, [2], { names: ["t"] }),
  order: () => td({ "\u{1f511}": z(1), "\ufb00": z(1), Z: z(1), a: z(1) }),
  value: () =>
    td({
      s: "hello",
      i: new NonTensorData(3),
      f: new NonTensorData(2.5),
      n: new NonTensorData(null),
      d: new NonTensorData({ a: [1, "x"] }),
      t: new NonTensorData(true),
    }),
  values: () => td({ s: new NonTensorStack(["a", "b'c"]) }, [2]),
  lazy: () => TensorDict.lazyStack([td({ a: z(3), z: z(1) }), td({ a: z(4) })]),
  "lazy, dim 1": () => TensorDict.lazyStack([td({ a: z(2, 3) }, [2]), td({ a: z(2, 3) }, [2])], 1),
  "lazy inside": () => td({ l: TensorDict.lazyStack([td({ a: z(3) }), td({ a: z(3) })]) }, [2]),
  class: point,
  "class inside": () => td({ p: point() }, [2]),
  recursive: () => new N({ v: z(2), next: new N({ v: z(2, 4) }, { batchSize: [2] }) as never }, { batchSize: [2] }),
  "missing fields": () => new Q({ x: z(2), a: z(2), s: "x" }, { batchSize: [2] }),
  mapped: () => td({ a: z(2, 3), n: { b: z(2) }, s: "x" }, [2]).memmap(join(room.path, "mapped")),
  "mapped, no file": () => td({ a: z(2, 3) }, [2]).memmap(),
  dtypes: () => td(Object.fromEntries(DTYPES.map((name) => [name, zeros([1], { dtype: name as "bool" })])), [1]),
  indexed: () => td({ a: z(2, 3) }, [2]).at(0),
  compared: () => td({ a: z(2) }, [2]).eq(td({ a: z(2) }, [2])),
  parameter: () => td({ w: new nn.Parameter(z(2)) }),
  module: () => TensorDict.fromModule(new nn.Linear(2, 3) as never),
  expanded: () => td({ a: z(3) }).expand(4),
  "longer batch inside": () => td({ n: td({ x: z(2, 3, 4) }, [2, 3]) }, [2]),
  "mapped tensor": () => MemoryMappedTensor.fromTensor(arange(6, { dtype: "float32" }).reshape(2, 3)),
  wrapped: () => new NonTensorData("x"),
  "wrapped stack": () => new NonTensorStack(["a", "b"]),
  metadata: () => new MetaData(1),
  long: () => td(Object.fromEntries(Array.from({ length: 7 }, (_, i) => [`key_number_${i}`, z(2, 3)])), [2]),
  "meta device": () => td({ a: zeros([2, 3], { device: "meta" }) }, [2]),
};

for (const form of ["detailed", "compact"] as const) {
  describe(form, () => {
    for (const [name, make] of Object.entries(cases)) {
      test(name, () => {
        using _ = setTensorDictPrintoptions({ compact: form === "compact" });
        expect(String(make())).toBe(texts[name as keyof typeof texts][form]);
      });
    }
  });
}
test("all of Python's texts are compared", () => {
  expect(Object.keys(cases).sort()).toEqual(Object.keys(texts).sort());
});

// Tensors are no plain objects: to clone or post one is refused, with what to do instead.
import { describe, expect, test } from "bun:test";
import { errors, float32, fromShared, MemoryMappedTensor, nn, ones, type Tensor, toShared } from "../../src/index.ts";

const things: Record<string, () => unknown> = {
  tensor: () => ones(3),
  "a large one": () => ones(1000, 1000),
  view: () => ones(3, 4).t(),
  "on meta": () => ones([3], { device: "meta" }),
  "in an object": () => ({ batch: [ones(3)] }),
  "in a Map": () => new Map([["x", ones(3)]]),
  parameter: () => new nn.Linear(2, 2).weight,
  storage: () => ({ t: ones(3).storage() }),
  dtype: () => float32,
};

describe("refused with advice", () => {
  for (const [name, make] of Object.entries(things)) {
    test(name, () => {
      const thing = make();
      const { port1 } = new MessageChannel();
      for (const send of [() => structuredClone(thing), () => port1.postMessage(thing)]) {
        expect(send).toThrow(errors.TypeError);
        expect(send).toThrow("send toShared(MemoryMappedTensor.fromTensor(tensor))");
      }
      port1.close();
    });
  }
});

test("the advice works", () => {
  const t = MemoryMappedTensor.fromTensor(ones(3));
  const there = fromShared(structuredClone(toShared(t))) as Tensor;
  there.mul_(2);
  expect(there.tolist()).toEqual([2, 2, 2]);
  expect(t.tolist()).toEqual([2, 2, 2]);
});

test("dtypes print, compare and are written as before", () => {
  expect(JSON.stringify({ d: float32, t: ones(2) })).toBe('{"d":"torch.float32","t":[1,1]}');
  expect(String(float32)).toBe("torch.float32");
  expect(Bun.inspect({ d: float32 })).toContain("torch.float32");
  expect({ d: ones(2).dtype }).toEqual({ d: float32 });
});

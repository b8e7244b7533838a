// Collections are no plain objects: JSON has their values, cloning and posting them is refused with advice.
import "../../src/install.ts";
import { describe, expect, test } from "bun:test";
import { ones, zeros } from "../../generated/functional.ts";
import { TypeError as TypeErrorOfZensor } from "../../src/tensor/errors.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import {
  fromShared,
  lazyStack,
  NonTensorData,
  NonTensorStack,
  TensorDict,
  tensorclass,
  toShared,
} from "../../src/tensordict/index.ts";

class JsonPoint extends tensorclass({ a: Tensor, s: String }) {}

const member = (n: number) => new TensorDict({ a: zeros(n), s: "x" }) as unknown as Td;
const THINGS: Record<string, [() => unknown, string]> = {
  TensorDict: [
    () => new TensorDict({ a: ones(2), n: { b: zeros(2, 1) }, s: "x", l: ["p", "q"], none: null }, [2]),
    '{"a":[1,1],"n":{"b":[[0],[0]]},"s":"x","l":["p","q"],"none":null}',
  ],
  "an empty one": [() => new TensorDict({}), "{}"],
  tensorclass: [() => new JsonPoint({ a: ones(2), s: "x" }, { batchSize: [2] }), '{"a":[1,1],"s":"x"}'],
  "lazy stack": [() => lazyStack([member(1), member(1)]), '{"a":[[0],[0]],"s":["x","x"]}'],
  "lazy stack of different shapes": [() => lazyStack([member(1), member(2)]), '{"a":[[0],[0,0]],"s":["x","x"]}'],
  NonTensorData: [() => new NonTensorData({ x: 1 }), '{"x":1}'],
  NonTensorStack: [() => NonTensorStack.of("x", "y"), '["x","y"]'],
  "an odd key": [() => new TensorDict(new Map([["__proto__", 1]])), '{"__proto__":1}'],
};

describe("JSON", () => {
  for (const [name, [make, text]] of Object.entries(THINGS)) {
    test(name, () => {
      expect(JSON.stringify(make())).toBe(text);
      expect(JSON.stringify({ td: [make()] })).toBe(`{"td":[${text}]}`);
    });
  }
});

describe("clones are refused", () => {
  for (const [name, [make]] of Object.entries(THINGS)) {
    test(name, () => {
      const { port1 } = new MessageChannel();
      const thing = make();
      for (const send of [
        () => structuredClone(thing),
        () => structuredClone([thing]),
        () => port1.postMessage(thing),
      ]) {
        expect(send).toThrow(TypeErrorOfZensor);
        expect(send).toThrow("use clone(), or send toShared(tensordict.memmap())");
      }
      port1.close();
    });
  }

  test("the advice works", () => {
    const td = new TensorDict({ a: ones(2), s: "x" }, [2]).memmap();
    const there = fromShared(structuredClone(toShared(td as unknown as Td))) as Td;
    there.get("a").mul_(3);
    expect((td.get("a") as Tensor).tolist()).toEqual([3, 3]);
  });
});

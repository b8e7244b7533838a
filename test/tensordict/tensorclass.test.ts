// Tensorclasses: fields, constructors, files, nesting.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { isTensorclass, TensorDict, tensorclass } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

class MyClass extends tensorclass({ data: Tensor, metadata: String }) {}
class Node extends tensorclass({ x: Tensor, y: () => Node, names: null }) {}

describe("fields", () => {
  test("typed access, also where a method has the same name", () => {
    const tc = new MyClass({ data: zeros([3]), metadata: "some text" });
    const data: Tensor = tc.data;
    expect(data.shape).toEqual([3] as never);
    expect(tc.metadata).toBe("some text");
    tc.metadata = "other";
    expect(tc.at("metadata" as never)).toBe("other" as never);
    const node = new Node({ x: zeros([2]), names: { k: 1 } }, { batchSize: [2] });
    expect(((node as unknown as Td).at(0) as unknown as Node).x.shape).toEqual([] as never);
    expect(node.names as unknown).toEqual({ k: 1 });
  });
  test("missing fields are null; recursive ones come through a thunk", () => {
    const tc = new Node({ x: zeros([3]), y: new Node({ x: zeros([3]) }) });
    expect(tc.y.x.shape).toEqual([3] as never);
    expect(tc.y.y).toBeNull();
    tc.y = null as never;
    expect(tc.y).toBeNull();
  });
  test("as in Python, types of fields are for the compiler: any value goes into any field", () => {
    expect(new MyClass({ data: "text" as never }).data as unknown).toBe("text");
    expect((new MyClass({ metadata: zeros([2]) as never }).metadata as unknown as Tensor).shape).toEqual([2] as never);
  });
  test("errors", () => {
    expect(() => new MyClass({ wrong: 1 } as never)).toThrow("MyClass has no field 'wrong'");
    expect(() => new MyClass({ data: zeros([2]) }, { batchSize: [3] })).toThrow("batch dimension mismatch");
    const locked = new MyClass({ data: zeros([2]) }).lock_();
    expect(() => {
      locked.data = zeros([2]);
    }).toThrow("Cannot modify locked TensorDict");
  });
  test("operations keep the class", () => {
    const tc = new MyClass(
      {
        data: tensor([
          [1, 2],
          [3, 4],
        ]),
        metadata: "m",
      },
      { batchSize: [2] },
    );
    expect(tc.at(0)).toBeInstanceOf(MyClass);
    expect(tc.at(0).metadata).toBe("m");
    expect(tc.unsqueeze(0).data.shape).toEqual([1, 2, 2] as never);
    expect(tc.clone()).toBeInstanceOf(MyClass);
    expect(tc.eq(tc).all()).toBe(true);
    const both = TensorDict.stack([tc as unknown as Td, tc as unknown as Td]);
    expect(both).toBeInstanceOf(MyClass);
    expect(isTensorclass(tc)).toBe(true);
    expect(isTensorclass(MyClass)).toBe(true);
    expect(isTensorclass(new TensorDict({}))).toBe(false);
  });
  test("from a TensorDict", () => {
    const tc = MyClass.fromTensordict(new TensorDict({ data: zeros([2]) }, [2]) as unknown as Td);
    expect(tc.data.shape).toEqual([2] as never);
    expect(() => MyClass.fromTensordict(new TensorDict({ other: 1 }) as unknown as Td)).toThrow("has no field 'other'");
  });
});

describe("files", () => {
  test("saved and loaded, alone and inside a TensorDict", () => {
    const tc = new MyClass({ data: tensor([1, 2, 3]), metadata: "some text" });
    const td = new TensorDict({
      list: TensorDict.lazyStack([0, 1].map((i) => new TensorDict({ item: i }) as unknown as Td)),
      tensorclass: tc,
    });
    const path = join(room.path, "both");
    td.memmap_(path);
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect(loaded.eq(td as unknown as Td).all()).toBe(true);
    expect(loaded.at("tensorclass")).toBeInstanceOf(MyClass);
    expect((loaded.at("tensorclass") as unknown as MyClass).metadata).toBe("some text");
  });
  test("recursive classes", () => {
    const node = new Node({ x: zeros([3]), y: new Node({ x: tensor([1, 2, 3]) }) });
    const path = join(room.path, "node");
    node.memmap_(path);
    const loaded = TensorDict.loadMemmap(path) as unknown as Node;
    expect(loaded.y.x.tolist()).toEqual([1, 2, 3]);
    expect(loaded.y.y).toBeNull();
  });
  test("an unknown class is an error that says what to do", () => {
    const Hidden = {
      C: class Unregistered extends tensorclass({ x: Tensor }, { pythonName: "lib.Elsewhere" }) {},
    }.C;
    const path = join(room.path, "hidden");
    new Hidden({ x: zeros([1]) }).memmap(path);
    expect(() => TensorDict.loadMemmap(path)).toThrow(
      /Could not find the class Elsewhere saved in .*Import the module that defines it/,
    );
  });
});

// TensorDicts made of lists, records, trees and printed texts, and what they become again.
import { describe, expect, test } from "bun:test";
import { lazyStack, ones, type Tensor, TensorDict, tensordict, zeros } from "../../src/index.ts";
import { dense } from "../api/by-name-values.ts";

const { fromAny, fromDataclass, fromDict, fromPytree, fromTuple, parseTensorDictString } = tensordict;

describe("constructors", () => {
  test("the batch size is found, at most so many dimensions of it", () => {
    const source = () => ({ a: zeros(3, 4, 5), b: { c: zeros(3, 4, 6) } });
    const found = fromDict(source(), { autoBatchSize: true });
    expect([found.batchSize, (found.get("b") as TensorDict).batchSize]).toEqual([
      [3, 4],
      [3, 4, 6],
    ] as never);
    expect(fromDict(source(), { batchDims: 1 }).batchSize).toEqual([3] as never);
    expect(fromDict(source()).batchSize).toEqual([] as never);
    expect(() => fromDict(source(), { batchSize: [3], batchDims: 1 })).toThrow(
      "Cannot pass both batch_size and batch_dims to `from_dict`.",
    );
  });
  test("numbers beside a batch size are values; tensordicts stay what they are", () => {
    expect(fromDict({ n: 3, a: zeros(2) }, { batchSize: [2] }).at("n")).toBe(3);
    const td = new TensorDict({ a: zeros(2) }, [2]);
    expect(fromDict(td)).toBe(td);
    expect(fromAny(td)).toBe(td);
  });
  test("keys of a Map may be paths; they come last", () => {
    const source = new Map<unknown, unknown>([
      [["a", "b"], zeros(1)],
      ["c", zeros(1)],
      [["a", "d", "e"], zeros(1)],
    ]);
    const keys = ["c", ["a", "b"], ["a", "d", "e"]];
    const listed = { includeNested: true, leavesOnly: true };
    expect(new TensorDict(source as never, []).keys(listed)).toEqual(keys);
    expect(fromDict(source).keys(listed)).toEqual(keys);
    source.set(["c", "f"], zeros(1));
    expect(() => fromDict(source)).toThrow("'c' is a Tensor, not a tensordict, so it has no entry 'f'.");
  });
  test("lists of tensors of one shape are stacked, others are values", () => {
    expect((new TensorDict({ a: [ones(3), ones(3)] }, [2]) as unknown as TensorDict).get("a").shape).toEqual([
      2, 3,
    ] as never);
    expect((new TensorDict({ a: [ones(3), ones(4)] }, []) as unknown as TensorDict).at("a")).toHaveLength(2);
  });
  test("records, tuples, lists of objects", () => {
    class Point {
      x = zeros(3);
      inner = { y: ones(3) };
      norm() {
        return 0;
      }
    }
    const made = fromDataclass(new Point(), { autoBatchSize: true });
    expect([made.keys(), made.batchSize]).toEqual([["x", "inner"], [3]] as never);
    expect(fromTuple([zeros(1), "s"]).at("1")).toBe("s");
    expect(TensorDict.fromList([{ a: 1 }, { a: 2 }], { lazy: true })).toBeInstanceOf(
      Object.getPrototypeOf(lazyStack([dense()])).constructor,
    );
    expect(() => TensorDict.fromList([{ a: 1 }], { batchSize: [2] })).toThrow(
      "The provided batch size (torch.Size([2])) does not match the length of the list (1).",
    );
  });
  test("trees come back as they were", () => {
    const tree = [zeros(2), { a: [ones(1)], b: new Map<unknown, unknown>([[3, ones(2)]]) }];
    const back = (fromPytree(tree) as TensorDict).toPytree();
    expect(back[0]).toBe(tree[0]);
    expect(back[1].a[0].sum().item()).toBe(1);
    expect(back[1].b.get(3).shape).toEqual([2]);
    expect(() => fromPytree(["text"])).toThrow("from_pytree takes lists, objects and tensors, not string");
  });
  test("shapes and dtypes: zeros in memory, in files, shared", () => {
    const schema = { obs: [[4], "float32"], action: [[], "int64"] } as const;
    const td = TensorDict.fromSchema(schema, { batchSize: [8] });
    expect([td.get("obs").shape, td.get("action").dtype.name]).toEqual([[8, 4], "int64"] as never);
    expect(TensorDict.fromSchema(schema, { storage: "shared" }).isMemmap()).toBe(true);
    expect(() => TensorDict.fromSchema(schema, { storage: "foobar" as never })).toThrow(
      "Unknown storage backend 'foobar'. Expected one of None, 'memmap', 'h5', 'zarr', 'shared', 'redis', 'dragonfly'.",
    );
  });
});

describe("printed texts", () => {
  const samples = () => [
    new TensorDict({ obs: ones(3, 4), next: { done: zeros(3, 1, { dtype: "bool" }) } }, [3]),
    new TensorDict({ "a.b": ones(2), deep: { down: { x: zeros(2, 1) } } }, { batchSize: [2], device: "cpu" }),
    new TensorDict({}, []),
    lazyStack([new TensorDict({ a: ones(2) }, []), new TensorDict({ a: ones(2) }, [])]),
  ];
  for (const compact of [true, false]) {
    test(`the ${compact ? "compact" : "detailed"} form`, () => {
      using _ = tensordict.setTensorDictPrintoptions({ compact }) as never as Disposable;
      for (const td of samples()) {
        const made = parseTensorDictString(String(td));
        const listed = { includeNested: true, leavesOnly: true, sort: true };
        expect([made.batchSize, made.keys(listed), String(made.device)]).toEqual([
          td.batchSize,
          td.keys(listed),
          String(td.device),
        ]);
        for (const [key, t] of td.items(listed)) {
          const own = made.get(key as never) as Tensor;
          expect([own.shape, own.dtype]).toEqual([(t as Tensor).shape, (t as Tensor).dtype]);
        }
      }
    });
  }
  test("what cannot be read is refused", () => {
    const refused = (text: string, words: string) => expect(() => parseTensorDictString(text)).toThrow(words);
    refused("TensorDict(batch_size=[], fields={a: str})", "Cannot parse the field 'a: str'");
    refused("TensorDict(batch_size=[], fields={a: f32[-1]})", "Cannot parse the field 'a: f32[-1]'");
    refused("TensorDict(batch_size=[], fields={a", "Cannot parse the fields 'a'.");
    refused("nothing", "Batch size not found in the string");
    refused("TensorDict(fields={a: f32[2]})", "Batch size not found in the string");
    refused(`TensorDict(batch_size=[], fields=${"{a: ".repeat(2000)}`, "Cannot parse the fields");
    using _ = tensordict.setTensorDictPrintoptions({ compact: false }) as never as Disposable;
    refused(String(new TensorDict({ a: "text" }, [])), "Cannot parse the field 'a: NonTensorData(");
  });
});

describe("plain values", () => {
  const td = () => new TensorDict({ a: zeros(2, 3), b: new TensorDict({ c: ones(2) }, [2]), s: "x", n: null }, [2]);
  test("objects and lists", () => {
    const plain = td().toDict({ convertTensors: true, retainNone: false });
    expect(plain).toEqual({
      a: [
        [0, 0, 0],
        [0, 0, 0],
      ],
      b: { c: [1, 1] },
      s: "x",
    });
    expect(td().tolist({ convertTensors: true })[1]).toEqual({ a: [0, 0, 0], b: { c: 1 }, s: "x", n: null });
    expect(td().toDict({ tolistFirst: true, convertTensors: true }).b).toEqual([{ c: 1 }, { c: 1 }]);
    expect(() => td().tolist({ convertTensors: true, convertNodes: false })).toThrow(
      "convert_tensors requires convert_nodes to be set to True",
    );
  });
  test("keys are renamed at once", () => {
    const swapped = td().renameKeys({ a: "s", s: "a" });
    expect(swapped.at("a")).toBe("x");
    expect(() => td().renameKeys({ a: "s" })).toThrow(
      "The destination ('s',) is already present and is not renamed away.",
    );
    expect(() =>
      td().renameKeys(
        new Map<never, never>([
          ["b", "z"],
          [["b", "c"], "y"],
        ] as never),
      ),
    ).toThrow("lie inside one another");
    expect(() => td().renameKeys({ q: "z" })).toThrow('key "q" not found');
    expect(td().renameKeys({ q: "z" }, { strict: false }).keys()).toEqual(["a", "b", "s", "n"]);
  });
  test("gradients in one pass", () => {
    const x = ones(2, { requiresGrad: true });
    const make = () => new TensorDict({ y: x.mul(3), n: { z: x.sum() }, c: zeros(2) }, []);
    expect(() => make().backward()).toThrow("the leaf at key 'y' has shape (2,)");
    expect(() => make().backward(new TensorDict({ y: ones(2) }, []))).toThrow(
      "Missing gradient entry for key ('n', 'z')",
    );
    expect(() => make().backward(new TensorDict({ y: ones(3), n: { z: ones([]) } }, []))).toThrow("Mismatch in shape");
    expect(x.grad).toBeNull();
    make().backward(new TensorDict({ y: ones(2), n: { z: ones([]) } }, []));
    expect((x.grad as Tensor).tolist()).toEqual([4, 4]);
  });
});

describe("changes that a collection makes to itself", () => {
  const td = () => new TensorDict({ a: zeros(4, 3), b: new TensorDict({ c: ones(4, 3, 2) }, [4, 3]) }, [4, 3]);
  test("shape, dtype, device", () => {
    const one = td();
    const inner = one.get("b");
    expect(one.reshape(12, { inplace: true })).toBe(one);
    expect([one.batchSize, one.get("b")]).toEqual([[12], inner] as never);
    expect(one.unflatten(0, [3, 4], { inplace: true }).batchSize).toEqual([3, 4] as never);
    expect(one.repeat(2, 1, { inplace: true }).get(["b", "c"]).shape).toEqual([6, 4, 2] as never);
    expect(one.flatten(null, null, { inplace: true }).batchSize).toEqual([24] as never);
    expect(one.to("cpu", "float64")?.get("a").dtype.name).toBe("float64");
    expect(one.to({ batchSize: [] })).toBe(one);
    const lazy = lazyStack([td(), td()]);
    expect(() => lazy.reshape(24, { inplace: true } as never)).toThrow(
      "reshape(inplace=True) is not supported on LazyStacked",
    );
    expect(() => lazy.to({ batchSize: [] })).toThrow("Cannot pass batch-size to a LazyStackedTensorDict.");
    expect(() => td().lock_().reshape(12, { inplace: true })).toThrow("Cannot modify locked TensorDict");
  });
  test("bytes as another dtype", () => {
    const seen = td().view("uint8", { batchSize: [4] });
    expect([seen.batchSize, seen.get("a").shape]).toEqual([[4], [4, 12]] as never);
  });
});

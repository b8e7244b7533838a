// Collections in other forms: packed, as records, padded, described; and where their memory is.
import { expect, test } from "bun:test";
import {
  arange,
  cuda,
  isTensorclass,
  lazyStack,
  nested,
  ones,
  Tensor,
  TensorDict,
  tensor,
  tensorclass,
  tensordict,
  zeros,
} from "../../src/index.ts";

// biome-ignore lint/suspicious/noExplicitAny: calls that the compiler refuses, too
type Any = any;
const own = (entries: Any, batch: number[] = []): Any => new TensorDict(entries, batch);
const tree = () => own({ b: own({ c: arange(2).float() }, [2]), a: arange(6).float().view(2, 3) }, [2]);

class PackedPoint extends tensorclass({ x: Tensor }) {}

test("a packed collection comes back, at any place of the packed dimension", () => {
  const [flat, layout] = tree().pack();
  expect(flat.tolist()).toEqual([
    [0, 1, 2, 0],
    [3, 4, 5, 1],
  ]);
  expect([layout.keys, layout.offsets, layout.numel, layout.dim]).toEqual([["a", ["b", "c"]], [0, 3], 4, -1]);
  const back = layout.unpack(flat);
  expect(back.get("b").get("c").tolist()).toEqual([0, 1]);
  expect(back.get("a")._storage === flat._storage).toBe(true);
  expect([...layout.unpack(zeros(7, 5, 4)).batchSize]).toEqual([7, 5]);
  const [first, at] = tree().pack(0);
  expect([first.shape.join(), at.dim, at.unpack(first).get("a").tolist()]).toEqual([
    "4,2",
    -2,
    [
      [0, 1, 2],
      [3, 4, 5],
    ],
  ]);
  const [points, of] = new PackedPoint({ x: ones(2) }, { batchSize: [2] }).pack();
  expect(isTensorclass(of.unpack(points))).toBe(true);
});

test("what cannot be packed says why", () => {
  const [flat, layout] = tree().pack();
  expect(() => own({ a: "x" }).pack()).toThrow("Cannot pack the non-tensor entry 'a'. Drop the non-tensor entries");
  expect(() => own({ a: ones(2), b: ones(2).int() }).pack()).toThrow(
    "Cannot pack leaves of different dtypes: torch.float32 and torch.int32 at 'b'.",
  );
  expect(() => tree().pack(2)).toThrow("dim 2 is out of range for packing a tensordict with 1 batch dimensions.");
  expect(() => layout.unpack(flat.narrow(1, 0, 2))).toThrow(
    "Expected 4 entries along dim -1 of the packed tensor, got 2.",
  );
  expect(() => tree().pack(0, { layout })).toThrow("Cannot pack along dim 0 with a layout packed along dim -1.");
  expect(() => tree().select("a").pack({ layout })).toThrow(
    "The leaves of the tensordict differ from the keys of the layout: ['a'] vs ['a', ('b', 'c')].",
  );
  const ragged = lazyStack([own({ a: ones(1) }), own({ b: ones(1) })]);
  expect(() => ragged.pack()).toThrow("Cannot pack a lazy stack whose members have different keys.");
});

test("records have the fields that NumPy's have", () => {
  const td = own({ a: arange(4), s: "txt", l: ones(4, 2).bool(), n: own({ c: ones(4) }, [4]) }, [4]);
  const made = td.toStructArray();
  expect(
    made.fields.map(({ name, dtype, shape, offset }: Any) => [name, dtype.fields ? "record" : dtype, shape, offset]),
  ).toEqual([
    ["a", "int64", undefined, 0],
    ["s", "U10", undefined, 8],
    ["l", "bool", [2], 48],
    ["n", "record", undefined, 50],
  ]);
  expect([made.itemsize, made.shape, made.buffer.byteLength]).toEqual([54, [4], 216]);
  const back = TensorDict.fromStructArray(made) as Any;
  expect([back.get("a").tolist(), back.at("s"), back.get("n").get("c").tolist(), back.get("l").shape.join()]).toEqual([
    [0, 1, 2, 3],
    ["txt", "txt", "txt", "txt"],
    [1, 1, 1, 1],
    "4,2",
  ]);
});

test("records that numpy made: names, ages and weights", () => {
  const bytes = Buffer.alloc(2 * 20);
  for (const [i, [name, age, weight]] of (
    [
      ["Al", 3, 2.5],
      ["B", 4, 1.5],
    ] as const
  ).entries()) {
    for (const [c, letter] of [...name].entries()) bytes.writeUInt32LE(letter.codePointAt(0) as number, i * 20 + 4 * c);
    bytes.writeInt32LE(age, i * 20 + 8);
    bytes.writeDoubleLE(weight, i * 20 + 12);
  }
  const buffer = new Uint8Array(bytes).buffer as ArrayBuffer;
  const fields = [
    { name: "name", dtype: "U2", offset: 0 },
    { name: "age", dtype: "int32", offset: 8 },
    { name: "w", dtype: "float64", offset: 12 },
  ] as const;
  const td = tensordict.fromStructArray({ buffer, fields, itemsize: 20 }) as Any;
  expect([td.at("name"), td.get("age").tolist(), td.get("w").tolist()]).toEqual([
    ["Al", "B"],
    [3, 4],
    [2.5, 1.5],
  ]);
  const wrong = (change: Any) => () => tensordict.fromStructArray({ buffer, fields, itemsize: 20, ...change });
  for (const none of [3, null, {}, { buffer: bytes, fields, itemsize: 20 }])
    expect(() => tensordict.fromStructArray(none as Any)).toThrow("takes { buffer, fields, itemsize }");
  expect(wrong({ itemsize: 12 })).toThrow("field 'w' is not within the 12 bytes of a record");
  expect(wrong({ shape: [3] })).toThrow("the buffer has 40 bytes, which are no 3 records of 20 bytes");
  expect(wrong({ itemsize: 0 })).toThrow("itemsize is 0");
  expect(wrong({ fields: [{ name: "a", dtype: "float3", offset: 0 }] })).toThrow("a field has no dtype float3");
  expect(wrong({ fields: [{ name: "a", dtype: "int8", offset: -1 }] })).toThrow("is not within");
});

test("padded, described and made alike", () => {
  const a = nested.nestedTensor([ones(1), ones(2)]);
  expect(
    own({ n: own({ a }, [2]) }, [2])
      .toPaddedTensor(-1)
      .get(["n", "a"])
      .tolist(),
  ).toEqual([
    [1, -1],
    [1, 1],
  ]);
  expect(() => tree().toPaddedTensor(0, { maskKey: "m" })).toThrow("mask_key should only be provided if");
  const attrs = tree().attrs({ fields: ["shape"] });
  expect([attrs.batchSize.length, [...attrs.get("a").tgtShape], attrs.get(["b", "c"]).tgtDtype]).toEqual([
    0,
    [2, 3],
    null,
  ]);
  const point = own({ p: new PackedPoint({ x: ones(1) }, { batchSize: [] }), q: own({ z: ones(1) }) });
  const made = point.fromDictInstance({ p: { x: 2 }, q: { z: 3 }, r: [1, 2] });
  expect([isTensorclass(made.get("p")), made.get(["q", "z"]).item(), made.get("r").tolist()]).toEqual([
    true,
    3,
    [1, 2],
  ]);
});

test("shared memory holds the same tensors", () => {
  const td = own({ a: ones(2), n: own({ b: zeros(3) }) });
  const before = td.get("a");
  td.shareMemory_();
  expect([td.get("a") === before, before.tolist(), td.isLocked, td.isMemmap()]).toEqual([true, [1, 1], true, false]);
});

// Tests of CUDA in the same process have one.
test.skipIf(cuda.isAvailable())("nothing is pinned without an accelerator", () => {
  expect(() => tree().pinMemory()).toThrow("Cannot access accelerator device when none is available.");
  expect(() => tree().pinMemory_()).toThrow("Cannot access accelerator device");
  expect(
    own({ a: own({}) })
      .pinMemory()
      .keys(),
  ).toEqual(["a"]);
});

test("leaves by dtype, and one value of many", () => {
  const { isBool, isFloating, isInexact, isInteger, setCaptureNonTensorStack, captureNonTensorStack } =
    tensordict as Any;
  const rows = [ones(1), ones(1).int(), ones(1).bool(), ones(1).to("complex64")];
  const facts = (test: Any) => rows.map((t) => test("key", t));
  expect([isInexact, isFloating, isInteger, isBool].map(facts)).toEqual([
    [true, false, false, true],
    [true, false, false, false],
    [false, true, false, false],
    [false, false, true, false],
  ]);
  expect(
    own({ a: ones(1), b: ones(1).int() })
      .double({ castFilter: isFloating })
      .get("b").dtype.name,
  ).toBe("int32");
  const two = () => lazyStack([own({ a: "x" }), own({ a: "x" })]).get("a");
  expect([captureNonTensorStack(), two().constructor.name]).toEqual([false, "NonTensorStack"]);
  {
    using _ = setCaptureNonTensorStack(true);
    expect([two().constructor.name, two().value_]).toEqual(["NonTensorData", "x"]);
  }
  expect(captureNonTensorStack()).toBe(false);
});

test("records of a single element that has a stride, or bits that are turned when they are read", () => {
  const pair = tensor([1, 2]).to("complex64");
  const odd = { one: pair.real.narrow(0, 1, 1), turned: pair.conj().imag.narrow(0, 0, 1) };
  const made = own({ one: odd.one, turned: odd.turned }, [1]).toStructArray();
  expect([...new Float32Array(made.buffer)]).toEqual([2, -0]);
});

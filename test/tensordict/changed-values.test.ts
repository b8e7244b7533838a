// Values that are no tensors: changed in place, in memory and in the files that hold them.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readPlainPickle } from "../../src/io/pickle/plain-pickle.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  fromConsolidated,
  fromSafetensors,
  loadMemmap,
  NonTensorData,
  NonTensorStack,
  TensorDict,
  toSafetensors,
} from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++));
const sample = () =>
  new TensorDict({ one: "x", each: NonTensorStack.of("a", "b") as never, t: zeros([2]) }, [2]) as unknown as Td;
const saved = (path: string, key: string) => JSON.parse(readFileSync(join(path, key, "meta.json"), "utf8")).data;
const list = (td: Td, key: string) => (td.get(key) as unknown as { tolist(): unknown }).tolist();

describe("writing a part", () => {
  test("of a stack reaches its file", () => {
    const path = fresh();
    const td = sample().memmap(path);
    td.setAt_("each", "q", 0);
    expect(list(td, "each")).toEqual(["q", "b"]);
    expect(saved(path, "each")).toEqual(["q", "b"]);
    (td.get("each") as unknown as Td).update_(NonTensorStack.of("c", "d") as never);
    expect(saved(path, "each")).toEqual(["c", "d"]);
  });

  test("of a stack that was loaded is what a later save writes", () => {
    const path = fresh();
    sample().memmap(path);
    const td = loadMemmap(path) as unknown as Td;
    td.setAt(1, { one: "x", each: "q", t: tensor(1) });
    expect(saved(path, "each")).toEqual(["a", "q"]);
    const copy = fresh();
    td.memmap(copy, { copyExisting: true });
    expect(saved(copy, "each")).toEqual(["a", "q"]);
  });

  test("of one value makes a stack of it in memory, and is an error where files hold it", () => {
    expect(list(sample().setAt_("one", "q", 0), "one")).toEqual(["q", "x"]);
    const path = fresh();
    const td = sample().memmap(path);
    expect(() => td.setAt_("one", "q", 0)).toThrow(/^You're attempting to update a leaf in-place with a shared/);
    expect(td.setAt_("one", "x", 0).at("one")).toBe("x" as never);
    expect(list(td, "one")).toEqual(["x", "x"]);
    expect(saved(path, "one")).toBe("x");
  });

  test("with something else than a value", () => {
    const td = sample();
    expect(() => td.setAt_("each", td, 0)).toThrow();
    for (const other of [{ a: 1 }, new TensorDict({}, [2])]) {
      expect(() => (td.get("each") as unknown as Td).update_(other as never)).toThrow(
        "NonTensorDataBase.copy_ / update_ requires the source to be a NonTensorDataBase object.",
      );
    }
  });
});

test("a value that a file cannot hold changes nothing", () => {
  const path = fresh();
  const td = sample().memmap(path);
  expect(() => td.set_("one", new Set([1]))).toThrow(/is saved as JSON/);
  expect(() => td.setAt_("each", new Set([1]), 0)).toThrow(/is saved as JSON/);
  expect([td.at("one") as unknown, list(td, "each")]).toEqual(["x", ["a", "b"]]);
  expect([saved(path, "one"), saved(path, "each")]).toEqual(["x", ["a", "b"]]);
  // An array with holes has no text in JSON.
  const holes: number[] = [];
  holes[1] = 1;
  const other = fresh();
  expect(() => (new TensorDict({ h: new NonTensorData(holes) }, []) as unknown as Td).memmap(other)).toThrow();
  expect(existsSync(join(other, "h", "meta.json"))).toBe(false);
});

test("numbers keep their text until they change, objects changed inside are saved as they are", () => {
  const path = fresh();
  (new TensorDict({ v: new NonTensorData({ a: 1 }) }, []) as unknown as Td).memmap(path);
  const file = join(path, "v", "meta.json");
  const text = readFileSync(file, "utf8").replace('{"a": 1}', '{"a": 1.0, "b": [2.0, 3]}');
  writeFileSync(file, text);
  const td = loadMemmap(path) as unknown as Td;
  const same = fresh();
  td.clone().memmap(same);
  expect(readFileSync(join(same, "v", "meta.json"), "utf8")).toBe(text);
  const value = td.at("v") as unknown as { b: number[] };
  value.b[1] = 4;
  const changed = fresh();
  td.memmap(changed);
  expect(saved(changed, "v")).toEqual({ a: 1, b: [2, 4] });
});

test("numbers keep their text in copies, in parts and in what is joined", () => {
  const path = fresh();
  const values = { one: new NonTensorData(2, { batchSize: [2] }), each: NonTensorStack.of(1, 3) };
  (new TensorDict({ ...values, t: zeros([2]) } as never, [2]) as unknown as Td).memmap(path);
  for (const [key, plain, exact] of [
    ["one", '"data": 2,', '"data": 2.0,'],
    ["each", '"data":[1,3]', '"data":[1.0,3.0]'],
  ] as const) {
    const file = join(path, key, "meta.json");
    const text = readFileSync(file, "utf8");
    expect(text).toContain(plain);
    writeFileSync(file, text.replace(plain, exact));
  }
  const td = loadMemmap(path) as unknown as Td;
  const textOf = (file: string) => readFileSync(file, "utf8").replaceAll(" ", "");
  const texts = (saving: Td) => {
    const copy = fresh();
    saving.memmap(copy, { copyExisting: true });
    const found = (key: string) => /"data":([-\d.,[\]]*?),?(?:"_|})/.exec(textOf(join(copy, key, "meta.json")));
    return ["one", "each"].map((key) => found(key)?.[1]);
  };
  const whole = ["2.0", "[1.0,3.0]"];
  for (const [name, copy] of Object.entries({
    clone: td.clone(),
    shallow: td.clone({ recurse: false } as never),
    contiguous: td.contiguous(),
    select: td.select("one", "each", "t"),
    apply: td.apply((t) => t.add(1)),
    moved: td.to("cpu"),
    flat: td.flattenKeys("."),
    again: td.clone().clone(),
    whole: td.at("0:2"),
    twice: td.unsqueeze(0).squeeze(0),
    held: new TensorDict({ one: td.get("one"), each: td.get("each") } as never, [2]),
  }) as unknown as [string, Td][]) {
    expect([name, ...texts(copy)]).toEqual([name, ...whole]);
  }
  expect(texts(td.at("1:2") as unknown as Td)).toEqual(["2.0", "[3.0]"]);
  expect(texts(td.at([[1, 0, 1]] as never) as unknown as Td)[1]).toEqual("[3.0,1.0,3.0]");
  expect(texts(TensorDict.cat([td, td], 0) as unknown as Td)).toEqual(["2.0", "[1.0,3.0,1.0,3.0]"]);
  expect(texts(TensorDict.stack([td, td], 1) as unknown as Td)[1]).toEqual("[[1.0,1.0],[3.0,3.0]]");
  expect(texts(td.reshape(2, 1) as unknown as Td)[1]).toEqual("[[1.0],[3.0]]");
  // What is not known for all is not known, and what changed is written as it is.
  const added = { one: new NonTensorData(2, { batchSize: [1] }), each: NonTensorStack.of(5), t: zeros([1]) };
  const other = new TensorDict(added as never, [1]) as unknown as Td;
  expect(texts(TensorDict.cat([td, other], 0) as unknown as Td)[1]).toEqual("[1,3,5]");
  const copy = td.clone();
  copy.setAt_("each", 7, 0);
  expect(texts(copy)).toEqual(["2.0", "[7,3]"]);
});

test("numbers keep their text in safetensors and in consolidated files", () => {
  const place = fresh();
  (new TensorDict({ v: new NonTensorData({ a: 1 }) }, []) as unknown as Td).memmap(place);
  const file = join(place, "v", "meta.json");
  writeFileSync(file, readFileSync(file, "utf8").replace('{"a": 1}', '{"a": 1.0}'));
  const td = loadMemmap(place) as unknown as Td;
  const [one, two] = [fresh(), fresh()];
  toSafetensors(td.clone(), one);
  expect(readFileSync(one, "latin1")).toContain("1.0");
  toSafetensors(fromSafetensors(one).clone(), two);
  expect(readFileSync(two)).toEqual(readFileSync(one));
  const [three, four] = [fresh(), fresh()];
  td.consolidate({ filename: three });
  (fromConsolidated(three) as unknown as Td).clone().consolidate({ filename: four });
  expect(readFileSync(three, "latin1")).toContain('{"a": 1.0}');
  expect(readFileSync(four)).toEqual(readFileSync(three));
});

describe("loadMemmap_", () => {
  test("makes all levels those of the other directory", () => {
    const [first, second] = [fresh(), fresh()];
    const make = (n: number) => new TensorDict({ "a b": { c: zeros([2]).add(n) } }, [2]) as unknown as Td;
    const td = make(1).memmap(first);
    make(2).memmap(second);
    td.loadMemmap_(second);
    expect((td.get("a b") as unknown as Td).savedPath).toBe(join(second, "a%20b"));
    td.makeMemmap(["a b", "new"], [2]);
    expect(existsSync(join(second, "a%20b", "new.memmap"))).toBe(true);
    expect(existsSync(join(first, "a%20b", "new.memmap"))).toBe(false);
  });

  test("of nothing leaves it locked and mapped", () => {
    const path = fresh();
    const td = sample().memmap(path);
    expect(() => td.loadMemmap_(join(room.path, "nothing"))).toThrow(/No such file/);
    expect([td.isLocked, td.isMemmap(), td.savedPath]).toEqual([true, true, path]);
  });
});

test("what was unlocked is not mapped any more: its entries may differ from the files", () => {
  const path = fresh();
  const td = sample().memmap(path);
  td.unlock_();
  td.set("new", zeros([2]));
  td.lock_();
  expect(td.isMemmap()).toBe(false);
  expect(() => td.makeMemmap("more", [2])).toThrow("Can only make a memmap tensor within a memory-mapped tensordict.");
  expect(() => td.memmapRefresh_()).toThrow(/^Cannot refresh a TensorDict that is not memory mapped/);
  expect([...(loadMemmap(path) as unknown as Td)._keys()].sort()).toEqual(["each", "one", "t"]);
  const again = td.memmap(path);
  expect([again.isMemmap(), again.makeMemmap("more", [2]).sum().item()]).toEqual([true, 0]);
  expect([...(loadMemmap(path) as unknown as Td)._keys()].sort()).toEqual(["each", "more", "new", "one", "t"]);
  expect(again.memmapRefresh_().isMemmap()).toBe(true);
  expect((loadMemmap(path) as unknown as Td).lock_().isMemmap()).toBe(false);
});

test("a locked TensorDict of Python's .pt files is locked", () => {
  const td = loadTorch(join(import.meta.dir, "../fixtures/torch/locked.pt")) as unknown as Td;
  expect([td, td.get("n"), td.get("l")].map((level) => (level as unknown as Td).isLocked)).toEqual([true, true, true]);
  expect(td.unlock_().isLocked).toBe(false);
  expect((td.get("n") as unknown as Td).isLocked).toBe(false);
});

test("a Counter in a pickle is a dict", () => {
  // pickle.dumps(collections.Counter("aab"), 2)
  const opcodes =
    "\x80\x02ccollections\nCounter\nq\x00}q\x01(X\x01\x00\x00\x00aq\x02K\x02" +
    "X\x01\x00\x00\x00bq\x03K\x01u\x85q\x04Rq\x05.";
  expect(
    readPlainPickle(
      Uint8Array.from(opcodes, (c) => c.charCodeAt(0)),
      "counts",
    ),
  ).toEqual({ a: 2, b: 1 });
});

describe("what is made of a locked collection has values of its own", () => {
  const kept = zeros([2]).eq(0);
  const made: Record<string, (td: Td) => Td> = {
    "a conversion": (td) => td.to("float64" as never) as unknown as Td,
    "a function of all tensors": (td) => td.apply((x) => x) as unknown as Td,
    arithmetic: (td) => td.add(1) as unknown as Td,
    "absolute values": (td) => td.abs() as unknown as Td,
    "detached tensors": (td) => td.detach() as unknown as Td,
    "a choice": (td) => td.where(kept, td as never) as unknown as Td,
    "a shallow copy": (td) => td.clone(false) as unknown as Td,
  };

  test.each(Object.keys(made))("%s", (name) => {
    const td = new TensorDict({ outer: sample() as never, own: "y" as never }, [2]) as unknown as Td;
    td.lock_();
    const after = (made[name] as (td: Td) => Td)(td).lock_() as unknown as Td;
    // Each is unlocked by itself, and changes alone.
    td.unlock_();
    expect([td.isLocked, after.isLocked]).toEqual([false, true]);
    (td as unknown as TensorDict).setAt_(["outer", "each"] as never, "q" as never, 0 as never);
    const inside = (of: Td) => (of.get(["outer", "each"] as never) as unknown as { tolist(): unknown }).tolist();
    expect([inside(td), inside(after)]).toEqual([
      ["q", "b"],
      ["a", "b"],
    ]);
  });
});

// Snapshots in torchsnapshot's format: Python's directories are read, ours have the same layout.
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import "../../src/install.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import { filesBelow } from "../tensordict/helpers.ts";
import { counting, Room } from "./snapshot-helpers.ts";

const room = new Room();
afterAll(() => room.remove());
const fresh = () => room.fresh();
const unpack = (name: string) => room.unpack(name);

describe("snapshots that Python took", () => {
  test("values of every kind", () => {
    const snapshot = new Snapshot(unpack("nobatch"));
    const list = (path: string) => (snapshot.readObject(path) as Tensor).tolist();
    expect(list("0/app/f32")).toEqual([
      [0, 1, 2],
      [3, 4, 5],
    ]);
    expect(list("0/app/noncontig")).toEqual([
      [0, 3],
      [1, 4],
      [2, 5],
    ]);
    expect(list("0/app/scalar")).toBe(5);
    expect((snapshot.readObject("0/app/empty") as Tensor).shape).toEqual([0] as never);
    expect(list("0/app/sl%2Fash%25")).toEqual([1]);
    const items = snapshot.readObject("0/app/nested/l") as unknown[];
    expect(items.slice(1)).toEqual([3, "s", 2.5, true, new Uint8Array([97, 98])]);
    expect((snapshot.readObject("0/app/intkeys") as Map<unknown, unknown>).get("a")).toBe(2);
    expect(snapshot.readObject("0/app/nested/od")).toBeInstanceOf(Map);
    // What Python pickled.
    expect(snapshot.readObject("0/app/none")).toBeNull();
    expect(snapshot.readObject("0/app/obj")).toBeInstanceOf(Set);
    expect(Object.isFrozen(snapshot.readObject("0/app/tup"))).toBe(true);
    const complex = snapshot.readObject("0/app/c64") as Tensor;
    expect([complex.dtype.name, complex.shape]).toEqual(["complex64", [2]] as never);
    const target = zeros([2], { dtype: "complex64" });
    expect(snapshot.readObject("0/app/c64", { into: target })).toBe(target);
    expect(target.equal(complex)).toBe(true);
    // Python's library itself loses bytes of bfloat16 tensors with an odd number of elements.
    expect(() => snapshot.readObject("0/app/bf")).toThrow("4 bytes of 4 do not hold shape [3] of torch.bfloat16");
  });
  test("batched and chunked tensors", () => {
    const batched = new Snapshot(unpack("batched"));
    expect((batched.readObject("0/app/i") as Tensor).dtype.name).toBe("int64");
    expect((batched.readObject("0/app/b") as Tensor).dtype.name).toBe("bool");
    expect((batched.readObject("0/app/a") as Tensor).shape).toEqual([2, 3] as never);
    const big = new Snapshot(unpack("chunked")).readObject("0/m/big") as Tensor;
    expect(big.tolist()).toEqual(Array.from({ length: 10 }, (_, i) => [2 * i, 2 * i + 1]));
  });
  test("a TensorDict, restored into an empty one and into a mapped one", () => {
    const path = unpack("tensordict");
    const empty = new TensorDict() as unknown as Td;
    new Snapshot(path).restore({ appState: { state: empty } });
    expect((empty.at("a") as Tensor).tolist()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    expect((empty.at(["n", "b"]) as Tensor).tolist()).toEqual([1, 1]);
    const mapped = new TensorDict({ a: zeros([2, 2]), n: { b: zeros([2]) } }, [2]).memmap_() as unknown as Td;
    const a = mapped.at("a");
    new Snapshot(path).restore({ appState: { state: mapped } });
    expect(mapped.at("a")).toBe(a);
    expect(a).toBeInstanceOf(MemoryMappedTensor);
    expect((a as Tensor).tolist()).toEqual([
      [0, 1],
      [2, 3],
    ]);
    const nested = new Snapshot(unpack("tensordict_nested_sd")).readObject("0/state") as Map<string, unknown>;
    expect([...nested.keys()]).toEqual(["a", "n"]);
  });
});

describe("every snapshot that Python took", () => {
  test("a module, its optimizer, the state of a generator, a quantized tensor", () => {
    const module = new Snapshot(unpack("module"));
    expect([...(module.readObject("0/model") as Map<string, unknown>).keys()]).toEqual(["weight", "bias"]);
    expect(module.readObject("0/optim/param_groups/0/lr")).toBe(0.1);
    expect(module.readObject("0/optim/param_groups/0/params")).toEqual([0, 1]);
    expect(module.readObject("0/optim/state")).toEqual({});
    const optimizer = new StateDict({});
    module.restore({ appState: { optim: optimizer } });
    expect(optimizer.values.param_groups).toMatchObject([{ momentum: 0.9, foreach: null, fused: null }]);
    expect((new Snapshot(unpack("rng")).readObject("0/rng/rng_state") as Tensor).shape).toEqual([5056] as never);
    const quant = unpack("quant");
    expect(() => new Snapshot(quant).readObject("0/s/q")).toThrow(
      `0/s/q: the torch.quint8 in ${join(quant, "0/s/q")} cannot be read`,
    );
  });
  test("common files of small tensors", () => {
    const snapshot = new Snapshot(unpack("slabs"));
    const list = (key: string) => (snapshot.readObject(`0/m/${key}`) as Tensor).tolist();
    expect(list("a")).toEqual([0, 1, 2, 3, 4, 5]);
    expect([list("b"), list("c"), list("d"), list("f")]).toEqual([[true, true], [0, 1, 2], [1], [1, 1, 1, 1]]);
    expect(list("e")).toEqual(Array.from({ length: 20 }, (_, i) => i));
    expect(list("g")).toEqual(Array.from({ length: 12 }, (_, i) => i));
  });
  test("two processes: shards become one tensor, replicated values are everybody's", () => {
    const path = unpack("two_ranks");
    const snapshot = new Snapshot(path);
    expect(snapshot.worldSize).toBe(2);
    const whole = Array.from({ length: 5 }, (_, i) => [3 * i, 3 * i + 1, 3 * i + 2]);
    for (const rank of [0, 1, 2]) {
      expect((snapshot.readObject(`${rank}/s/st`) as Tensor).tolist()).toEqual(whole);
      expect((snapshot.readObject(`${rank}/r/rep`) as Tensor).tolist()).toEqual([0, 1, 2, 3]);
      expect(snapshot.readObject(`${rank}/r/n`)).toBe(5);
    }
    const state = () => new StateDict({ own: zeros([2]) });
    const [first, second] = [state(), state()];
    snapshot.restore({ appState: { r: first } });
    snapshot.restore({ appState: { r: second }, rank: 1 });
    expect([first.values.mine, second.values.mine]).toEqual([0, 1]);
    expect((second.values.own as Tensor).tolist()).toEqual([1, 1]);
    expect((second.values.rep as Tensor).tolist()).toEqual([0, 1, 2, 3]);
    expect(() => snapshot.restore({ appState: { r: first }, rank: 2 })).toThrow('no state of "r"');
    expect(() => snapshot.readObject("2/r/mine")).toThrow('no entry "2/r/mine"');
    expect(() => snapshot.restore({ appState: {}, rank: -1 })).toThrow("no number of a process");
    for (const odd of ["", "s/st", "00000000000/s/st", "x/s/st"]) {
      expect(() => snapshot.readObject(odd)).toThrow("has no entry");
    }
  });
  test("shards of a device mesh, replicas among them", () => {
    const path = unpack("two_ranks");
    const file = join(path, ".snapshot_metadata");
    const metadata = JSON.parse(readFileSync(file, "utf8"));
    const shard = (offsets: number[], sizes: number[], name: string, bytes: Uint8Array) => {
      mkdirSync(join(path, "replicated_sharded"), { recursive: true });
      const location = `replicated_sharded/${name}`;
      writeFileSync(join(path, location), bytes);
      const base = { type: "Tensor", serializer: "buffer_protocol", dtype: "torch.uint8", replicated: false };
      return { offsets, sizes, tensor: { ...base, location, shape: sizes, byte_range: null } };
    };
    const left = shard([0, 0], [2, 1], "left", new Uint8Array([1, 4]));
    const right = shard([0, 1], [2, 2], "right", new Uint8Array([2, 3, 5, 6]));
    const entry = (shards: unknown[]) => ({ type: "DTensor", shards, mesh: [[0, 1]], dim_map: [[-1], [1]] });
    metadata.manifest["0/d"] = entry([left]);
    metadata.manifest["1/d"] = entry([right, left]);
    writeFileSync(file, JSON.stringify(metadata));
    const target = zeros([2, 3], { dtype: "uint8" });
    const whole = new Snapshot(path).readObject("0/d", { into: target });
    expect(whole).toBe(target);
    expect(target.tolist()).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ]);
  });
});

/** The values of Python's example "values", with Python's types. */
function sampleValues() {
  return new StateDict({
    i: 3,
    t: tensor([
      [0, 1, 2],
      [3, 4, 5],
    ]),
    f: 2.5,
    s: "x",
    nested: {
      k: tensor([0, 1, 2]).to("int16"),
      b: true,
      by: new Uint8Array([97, 98]),
      l: [tensor([1]), 1, { z: 2 }],
    },
    od: new Map([["a", zeros([2], { dtype: "bool" })]]),
    ints: { 1: tensor([1]), 2: 4 },
    sc: tensor(5).to("int64"),
  });
}

/** The same files with the same bytes; names in common folders are random. */
function expectSame(ours: string, python: string): void {
  const [a, b] = [filesBelow(ours), filesBelow(python)];
  expect([...a.keys()].sort()).toEqual([...b.keys()].sort());
  for (const [name, bytes] of b)
    expect([name, a.get(name)?.toString("latin1")]).toEqual([name, bytes.toString("latin1")]);
}

describe("files are Python's, byte for byte", () => {
  test("values of every kind", () => {
    const path = unpack("values");
    const file = join(path, ".snapshot_metadata");
    // Keys of objects are text here.
    writeFileSync(file, readFileSync(file, "utf8").replace(/1,\s+2\n/, '"1",\n        "2"\n'));
    const target = fresh();
    const numbers = new StateDict({ x: counting(3, "int64") });
    Snapshot.take({ path: target, appState: { app: sampleValues(), "b b": numbers } });
    expectSame(target, path);
  });
  test("split tensors", () => {
    const target = fresh();
    const state = new StateDict({
      big: counting(70).reshape(7, 10),
      tall: counting(33),
      one: counting(100).reshape(1, 100),
      small: tensor(Array(16).fill(1)),
      three: counting(48, "uint8").reshape(4, 3, 4),
      thr: counting(72, "uint8").reshape(4, 3, 6),
      by: counting(65, "uint8"),
    });
    Snapshot.take({ path: target, appState: { m: state }, maxChunkBytes: 64, numThreads: 2, fsync: true });
    expectSame(target, unpack("split"));
    for (const key of Object.keys(state.values)) {
      const back = new Snapshot(target).readObject(`0/m/${key}`) as Tensor;
      expect(back.tolist()).toEqual((state.values[key] as Tensor).tolist());
    }
  });
  test("small tensors in common files", () => {
    const target = fresh();
    const ones = (n: number) => tensor(Array(n).fill(1));
    const state = new StateDict({
      a: counting(6),
      b: ones(2).to("bool"),
      c: counting(3, "int64"),
      d: ones(1),
      e: counting(20),
      f: ones(4).to("uint8"),
      g: counting(12, "uint8"),
    });
    Snapshot.take({ path: target, appState: { m: state }, slabBytes: 40 });
    const plain = (path: string) => {
      const text = readFileSync(join(path, ".snapshot_metadata"), "utf8");
      const names = [...new Set(text.match(/batched\/[0-9a-f-]{36}/g))];
      const bytes = names.map((name) => readFileSync(join(path, name)).toString("hex"));
      return [names.reduce((all, name, i) => all.replaceAll(name, `slab ${i}`), text), bytes];
    };
    expect(plain(target)).toEqual(plain(unpack("slabs")));
  });
});

describe("snapshots of ours", () => {
  test("the manifest is Python's, byte for byte", () => {
    const path = unpack("tensordict_nested_sd");
    const n = new Map<string, unknown>([["b", tensor([1, 1])]]);
    const state = new Map<string, unknown>([
      [
        "a",
        tensor([
          [0, 1],
          [2, 3],
        ]),
      ],
      ["n", n],
    ]);
    const target = fresh();
    Snapshot.take({ path: target, appState: { state: { stateDict: () => state, loadStateDict: () => {} } } });
    for (const file of [".snapshot_metadata", "0/state/a", "0/state/n/b"]) {
      expect(readFileSync(join(target, file)).toString("latin1")).toBe(
        readFileSync(join(path, file)).toString("latin1"),
      );
    }
  });
  test("the two ways of the guide", () => {
    const source = new TensorDict({ a: tensor([1, 2, 3]), b: { c: tensor([4, 5, 6]) } }) as unknown as Td;
    const path = fresh();
    Snapshot.take({ path, appState: { state: source } });
    const target = new TensorDict() as unknown as Td;
    new Snapshot(path).restore({ appState: { state: target } });
    expect(target.eq(source).all()).toBe(true);

    const nested = new TensorDict(
      { a: tensor([1, 2, 3]), b: new TensorDict({ c: zeros([3, 1]) }, [3, 1]) },
      [3],
    ).memmap_() as unknown as Td;
    const other = fresh();
    Snapshot.take({
      path: other,
      appState: { state: new StateDict({ tensordict: nested.stateDict({ keepVars: true }) }) },
    });
    const dest = new TensorDict(
      { a: zeros([3]), b: new TensorDict({ c: zeros([3, 1]).add(1) }, [3, 1]) },
      [3],
    ).memmap_() as unknown as Td;
    const appState = { state: new StateDict({ tensordict: dest.stateDict({ keepVars: true }) }) };
    new Snapshot(other).restore({ appState });
    expect(dest.eq(nested).all()).toBe(true);
    expect(dest.at("b").batchSize).toEqual(nested.at("b").batchSize);
    expect(dest.at(["b", "c"])).toBeInstanceOf(MemoryMappedTensor);
  });
  test("keys of any characters", () => {
    const path = fresh();
    const values = {
      "back\\slash": counting(2),
      "🔑": { "n/b%": counting(3), "\\ud83d": "\\ud83d\\udd11 🔑" },
      "a:b": 1,
    };
    Snapshot.take({ path, appState: { app: new StateDict(values) } });
    // Python reads it as YAML, where two escapes do not stand for one character.
    expect(readFileSync(join(path, ".snapshot_metadata"), "utf8")).toContain('"0/app/🔑"');
    const back = new StateDict({});
    new Snapshot(path).restore({ appState: { app: back } });
    const { "🔑": inner, ...rest } = back.values as typeof values;
    expect(rest["back\\slash"].tolist()).toEqual([0, 1]);
    expect([rest["a:b"], inner["n/b%"].tolist(), inner["\\ud83d"]]).toEqual([1, [0, 1, 2], "\\ud83d\\udd11 🔑"]);
  });
  test("a manifest in YAML, as early versions wrote it", () => {
    // Made of the example's manifest with PyYAML's dump(…, sort_keys=False).
    const path = unpack("nobatch");
    const json = new Snapshot(path).manifest;
    copyFileSync(
      join(import.meta.dir, "../fixtures/tensordict/snapshot-nobatch.yaml"),
      join(path, ".snapshot_metadata"),
    );
    const snapshot = new Snapshot(path);
    expect(snapshot.manifest).toEqual(json);
    expect([...snapshot.manifest.keys()]).toEqual([...json.keys()]);
    expect(snapshot.readObject("0/app/c64")).toBeInstanceOf(Tensor);
  });
  test("what Python's library pickles: null, sets, complex tensors", () => {
    const path = fresh();
    const c = counting(6, "complex64").reshape(2, 3);
    const values = { none: null, set: new Set([1, "two"]), c: c.t(), part: c.at(1), deep: [{ none: null }] };
    Snapshot.take({ path, appState: { app: new StateDict(values) }, fsync: true });
    const manifest = JSON.parse(readFileSync(join(path, ".snapshot_metadata"), "utf8")).manifest;
    const python = JSON.parse(readFileSync(join(unpack("nobatch"), ".snapshot_metadata"), "utf8")).manifest;
    expect(manifest["0/app/none"]).toEqual(python["0/app/none"]);
    expect(manifest["0/app/c"]).toEqual({ ...python["0/app/c64"], location: "0/app/c", shape: [3, 2] });
    const back = new StateDict({});
    new Snapshot(path).restore({ appState: { app: back } });
    expect(back.values).toMatchObject({ none: null, set: values.set, deep: values.deep });
    expect((back.values.c as Tensor).equal(values.c)).toBe(true);
    expect((back.values.part as Tensor).equal(values.part)).toBe(true);
  });
  test("round trip of plain values", () => {
    const values = {
      i: 3,
      f: 2.5,
      s: "x",
      t: true,
      big: 2n ** 70n,
      bytes: new Uint8Array([1, 2]),
      list: [1, [2, "a/b%"]],
      "k/%": { z: 1 },
    };
    const path = fresh();
    Snapshot.take({ path, appState: { app: new StateDict(values) } });
    const back = new StateDict({});
    new Snapshot(path).restore({ appState: { app: back } });
    expect(back.values).toEqual(values);
  });
  test("refusals", () => {
    const path = fresh();
    const take = (values: Record<string, unknown>) => () =>
      Snapshot.take({ path, appState: { app: new StateDict(values) } });
    expect(take({ d: new Date() })).toThrow("a snapshot holds tensors");
    expect(take({ c: zeros([1], { dtype: "uint16" }) })).toThrow("cannot hold torch.uint16");
    expect(take({ s: new Set([new Date()]) })).toThrow("Date");
    expect(existsSync(path)).toBe(false);
    expect(take({ "..": { "..": zeros([1]) } })).toThrow("is no file name");
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    expect(take(circle)).toThrow("contains itself");
    const twice = new Map<unknown, unknown>([
      [1, 2],
      ["1", 3],
    ]);
    expect(take({ twice })).toThrow("there as text and as a number");
    expect(() => Snapshot.take({ path, appState: {}, maxChunkBytes: 0 })).toThrow("positive number of bytes");
    expect(() => Snapshot.take({ path, appState: {}, slabBytes: -1 })).toThrow("positive number of bytes");
    const clash = { t: zeros([40]), t_0: zeros([1]) };
    expect(() => Snapshot.take({ path, appState: { app: new StateDict(clash) }, maxChunkBytes: 80 })).toThrow(
      "share a",
    );
    const linked = fresh();
    mkdirSync(linked);
    symlinkSync(room.path, join(linked, "0"));
    expect(() => Snapshot.take({ path: linked, appState: { app: new StateDict({ t: zeros([1]) }) } })).toThrow(
      "a link is no place for a snapshot",
    );
    expect(() => new Snapshot(path)).toThrow("No such file or directory");
    take({ ok: zeros([1]) })();
    expect(take({ ok: zeros([1]) })).toThrow("there is a snapshot in this directory already");
    expect(() => new Snapshot(path).restore({ appState: { other: new StateDict({}) } })).toThrow('no state of "other"');
  });
});

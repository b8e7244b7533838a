// Files of torch.save: what Python wrote is read, and what is written is what Python would have written.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { copyFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, load, nn, ones, save, TensorDict, tensorclass, zeros } from "../../src/index.ts";
import { FileNotFoundError, FormatError } from "../../src/io/base/errors.ts";
import { PickleWriter } from "../../src/io/pickle/pickle-write.ts";
import { PythonName } from "../../src/io/pickle/python-object.ts";
import { FileWrite } from "../../src/io/store/single-file.ts";
import { loadTorch, type TorchLoadOptions } from "../../src/io/torch/torch-file.ts";
import { saveTorch, saveTorchAsync } from "../../src/io/torch/torch-save.ts";
import { readZip } from "../../src/io/zip/zip.ts";
import { zipPieces } from "../../src/io/zip/zip-write.ts";
import { Complex, Float } from "../../src/tensor/complex.ts";
import { Device } from "../../src/tensor/device.ts";
import { bfloat16, DType, float32 } from "../../src/tensor/dtype.ts";
import { Size } from "../../src/tensor/size.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { isTensorCollection, registerTensorClass } from "../../src/tensordict/index.ts";
import { packZip } from "../fuzz/containers.ts";

const fixtures = join(import.meta.dir, "../fixtures/torch");
const dir = mkdtempSync(join(tmpdir(), "zensor-pt-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const fixture = (name: string): string => join(fixtures, `${name}.pt`);

/** An archive as torch lays it out, around any pickle. */
function archive(name: string, pickle: Uint8Array, more: Record<string, Uint8Array> = {}): string {
  const path = join(dir, name);
  const entries = Object.entries({ "data.pkl": pickle, ...more });
  const list = entries.map(([entry, data]) => ({ name: `archive/${entry}`, data }));
  new FileWrite(path, zipPieces(list, { style: "torch" }).pieces).run();
  return path;
}

/** A tensor as files before 1.6 describe it. */
class OldTensor {
  constructor(
    readonly id: readonly unknown[],
    readonly offset: number,
    readonly shape: readonly number[],
    readonly strides: readonly number[],
  ) {}
}

function oldTensor(value: object, pickle: PickleWriter): boolean {
  if (value instanceof OldReference) {
    pickle.tuple(value.id);
    pickle.refer();
    return true;
  }
  if (!(value instanceof OldTensor)) return false;
  pickle.name("torch._utils", "_rebuild_tensor");
  const [shape, strides] = [Object.freeze([...value.shape]), Object.freeze([...value.strides])];
  pickle.tuple([new OldReference(value.id), value.offset, shape, strides]);
  pickle.call(value);
  return true;
}

class OldReference {
  constructor(readonly id: readonly unknown[]) {}
}

function refusal(path: string, options: TorchLoadOptions = {}): string {
  try {
    loadTorch(path, options);
  } catch (error) {
    expect(error).toBeInstanceOf(FormatError);
    expect((error as Error).message).toStartWith(`${path}: `);
    return (error as Error).message;
  }
  throw new Error("it was loaded");
}

describe("what torch wrote", () => {
  test("tensors of every kind, sharing their storage", () => {
    const value = loadTorch(fixture("values"));
    const base = arange(12, { dtype: float32 }).reshape(3, 4);
    expect(value.param).toBeInstanceOf(nn.Parameter);
    expect([value.param.requiresGrad, value.frozen.requiresGrad, value.wants.requiresGrad]).toEqual([
      true,
      false,
      true,
    ]);
    expect(value.frozen).toBeInstanceOf(nn.Parameter);
    expect(value.wants).not.toBeInstanceOf(nn.Parameter);
    expect(value.param.detach().equal(base)).toBe(true);
    expect(value.transposed.equal(base.t())).toBe(true);
    expect(value.transposed.stride()).toEqual([1, 4]);
    expect([value.expanded.stride(), [...value.expanded.shape]]).toEqual([
      [0, 1],
      [5, 4],
    ]);
    expect([value.part.storageOffset(), value.part.tolist()]).toEqual([
      5,
      [
        [5, 6],
        [9, 10],
      ],
    ]);
    expect([value.scalar.item(), [...value.empty.shape]]).toEqual([2.5, [0, 3]]);
    expect(value.conj.isConj()).toBe(true);
    expect(value.conj.tolist()).toEqual([new Complex(1, -2), new Complex(3, 4)]);
    expect([value.meta.isMeta, [...value.meta.shape]]).toEqual([true, [2, 3]]);
    value.part.fill_(-1);
    expect(value.transposed.at(1, 1).item()).toBe(-1);
    expect(loadTorch(fixture("values")).part.at(0, 0).item()).toBe(5);
  });
  test("what is no tensor", () => {
    const value = loadTorch(fixture("values"));
    expect(value.size).toBeInstanceOf(Size);
    expect([...value.size]).toEqual([3, 4]);
    expect(value.dtype).toBe(bfloat16);
    expect(value.device).toEqual(new Device("cuda", 1));
    expect(Object.entries(value.ordered)).toEqual([
      ["b", 1],
      ["a", null],
    ]);
    const [one, half, large, text, yes, tuple, complex, bytes, set] = value.plain;
    expect([one, half, large, text, yes]).toEqual([1, 2.5, 2n ** 70n, "text", true]);
    expect([tuple, Object.isFrozen(tuple)]).toEqual([[1, 2], true]);
    expect(complex).toEqual(new Complex(1, 2));
    expect([...bytes]).toEqual([0, 255]);
    expect(set).toEqual(new Set([3, 4]));
    expect(value.numbers).toEqual(
      new Map([
        [1, "one"],
        [2, "two"],
      ]),
    );
  });
  test("all dtypes", () => {
    for (const [name, value] of Object.entries(loadTorch(fixture("dtypes"))) as [string, Tensor][]) {
      expect(String(value.dtype)).toBe(`torch.${name}`);
      expect(value.to("float32").tolist()).toEqual([0, 1, 0]);
    }
  });
  test("the state of a training, into modules, from both forms of files", () => {
    for (const name of ["training", "legacy"]) {
      const state = loadTorch(fixture(name));
      const model = new nn.Linear(3, 2);
      const { "0.weight": weight, "0.bias": bias } = state.model;
      expect(String(model.loadStateDict({ weight, bias }))).toBe("<All keys matched successfully>");
      expect(model.weight.tolist()).toEqual([
        [0, 1, 2],
        [3, 4, 5],
      ]);
      expect(state.model["1.num_batches_tracked"].item()).toBe(1);
      expect(state.optimizer.state).toBeInstanceOf(Map);
      expect(state.optimizer.state.get(0).step.item()).toBe(1);
      expect([state.optimizer.param_groups[0].lr, state.epoch]).toEqual([0.5, 3]);
    }
  });
  test("old files: views share, the file stays", () => {
    const [base, turned, rest, whole, empty, yes] = loadTorch(fixture("legacy_views"));
    expect(base.tolist()).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9, 10, 11],
    ]);
    expect([turned.stride(), rest.storageOffset(), whole.tolist()]).toEqual([[1, 4], 4, [0, 1, 2]]);
    expect([empty.numel(), yes.item()]).toEqual([0, true]);
    base.fill_(7);
    expect(rest.tolist()).toEqual([
      [7, 7, 7, 7],
      [7, 7, 7, 7],
    ]);
  });
  test("old files whose storages lie inside of others", () => {
    // Versions before 0.4 wrote a view of a storage as the storage's key, and where in it the view begins.
    const pickles: unknown[] = [0x1950a86a20f9469cfc6cn, 1001, { little_endian: true }];
    const parts = pickles.map((value) => new PickleWriter("x").write(value));
    const tensor = (begin: number, offset: number, shape: number[], strides: number[]): OldTensor => {
      const view = Object.freeze(["7", begin, 4]);
      const id = Object.freeze(["storage", new PythonName("torch", "FloatStorage"), "9", "cpu", 6, view]);
      return new OldTensor(id, offset, shape, strides);
    };
    const value = [tensor(2, 1, [3], [1]), tensor(0, 0, [2, 3], [3, 1]), tensor(2, 0, [5], [1])];
    const data = Buffer.concat([
      Buffer.from([6, 0, 0, 0, 0, 0, 0, 0]),
      Buffer.from(new Float32Array([0, 1, 2, 3, 4, 5]).buffer),
    ]);
    const write = (list: OldTensor[]): string => {
      const path = join(dir, "inside.pt");
      const main = new PickleWriter(path, oldTensor).write(list);
      writeFileSync(path, Buffer.concat([...parts, main, new PickleWriter(path).write(["9"]), data]));
      return path;
    };
    const [part, whole] = loadTorch(write(value.slice(0, 2)));
    expect([part.tolist(), whole.tolist()]).toEqual([
      [3, 4, 5],
      [
        [0, 1, 2],
        [3, 4, 5],
      ],
    ]);
    whole.fill_(8);
    expect(part.tolist()).toEqual([8, 8, 8]);
    expect(refusal(write(value))).toContain("does not fit into its storage");
  });
  test("TensorDicts of all kinds", () => {
    const { td, stack } = load(fixture("tensordict"));
    expect(td).toBeInstanceOf(TensorDict);
    expect([[...td.batchSize], td.names, td.device]).toEqual([[3], ["t"], null]);
    expect([td.get(["n", "b"]).tolist(), td.get("s").data]).toEqual([[1, 1, 1], "txt"]);
    expect(td.get("a").sum().item()).toBe(66);
    expect(stack.get("v").tolist()).toEqual(["x", "y", "z"]);
    const consolidated = load(fixture("consolidated"));
    expect([consolidated.get("a").sum().item(), consolidated.get(["n", "b"]).tolist()]).toEqual([66, [1, 1, 1]]);
    expect([consolidated.names, consolidated.get("s").data]).toEqual([["t"], "txt"]);
    consolidated.get("a").fill_(2);
    expect(load(fixture("consolidated")).get("a").sum().item()).toBe(66);
    const lazy = load(fixture("lazy"));
    expect([lazy.constructor.name, lazy.stackDim, [...lazy.batchSize]]).toEqual(["LazyStackedTensorDict", 1, [3, 2]]);
    expect(load(fixture("params")).get("a")).toBeInstanceOf(nn.Parameter);
  });
  test("tensorclasses, once they are known", () => {
    expect(refusal(fixture("tensorclass"), { unknown: "refuse" })).toContain('names "readings.Reading"');
    class Reading extends tensorclass({ value: Tensor, label: String }) {}
    registerTensorClass(Reading as never);
    const reading = loadTorch(fixture("tensorclass"));
    expect(reading).toBeInstanceOf(Reading);
    expect([reading.label, reading.value.sum().item()]).toEqual(["q", 66]);
    const path = join(dir, "tensorclass.pt");
    saveTorch(reading, path);
    expect(loadTorch(path).label).toBe("q");
  });
});

/** A file without the digits of its last record, which are the writer's own, and their checksum. */
function comparable(path: string): string {
  const zip = readZip(path);
  const name = [...zip.entries.keys()].find((key) => key.endsWith("serialization_id")) as string;
  const { offset, nbytes, recordOffset } = zip.entry(name);
  const bytes = readFileSync(path);
  bytes.fill(0, offset, offset + nbytes);
  bytes.fill(0, offset + nbytes + 4, offset + nbytes + 8);
  bytes.fill(0, recordOffset + 16, recordOffset + 20);
  return bytes.toString("latin1");
}

describe("what is written", () => {
  test("the bytes that torch writes", () => {
    for (const name of ["dtypes"]) {
      const path = join(dir, `${name}.pt`);
      saveTorch(loadTorch(fixture(name)), path);
      expect(comparable(path) === comparable(fixture(name))).toBe(true);
    }
  });
  test("everything comes back as it was", () => {
    for (const name of ["values", "training", "tensordict", "lazy", "params"]) {
      const path = join(dir, `${name}.pt`);
      const first = load(fixture(name));
      save(first, path);
      expect(Bun.inspect(load(path), { depth: 9 })).toBe(Bun.inspect(first, { depth: 9 }));
    }
    const again = loadTorch(join(dir, "values.pt"));
    expect([again.transposed.stride(), again.expanded.stride(), again.part.storageOffset()]).toEqual([
      [1, 4],
      [0, 1],
      5,
    ]);
    again.part.fill_(-1);
    expect(again.transposed.at(1, 1).item()).toBe(-1);
    expect([...readZip(join(dir, "values.pt")).entries.keys()].filter((key) => key.includes("/data/")).length).toBe(6);
  });
  test("payloads begin at multiples of 64", () => {
    const path = join(dir, "aligned.pt");
    saveTorch([ones(3), ones(100_000), ones(1), zeros(0)], path);
    const offsets = [...readZip(path).entries]
      .filter(([name]) => name.includes("/data/"))
      .map(([, entry]) => entry.offset);
    expect(offsets.map((offset) => offset % 64)).toEqual([0, 0, 0, 0]);
    expect(loadTorch(path)[1].sum().item()).toBe(100_000);
  });
  test("floats, tuples, shared lists, loops, long lists", () => {
    const shared = [1];
    const loop: unknown[] = [];
    loop.push(loop);
    const path = join(dir, "plain.pt");
    const long = Array.from({ length: 3001 }, (_, i) => i);
    const integers = [0, 255, 256, 65535, 65536, -1, -129, 2 ** 31 - 1, 2 ** 31, -(2 ** 31), 2 ** 53 - 1];
    const bigints = [2n ** 63n, -(2n ** 63n), -(2n ** 64n), 2n ** 2100n];
    saveTorch(
      { shared: [shared, shared], loop, long, integers, bigints, f: new Float(2), z: -0, empty: new Uint8Array(0) },
      path,
    );
    const value = loadTorch(path);
    expect(value.shared[0]).toBe(value.shared[1]);
    expect(value.loop[0]).toBe(value.loop);
    expect([value.long, value.integers, value.bigints, value.f, value.z]).toEqual([long, integers, bigints, 2, -0]);
    expect([value.empty instanceof Uint8Array, value.empty.length]).toEqual([true, 0]);
    const keys = JSON.parse('{"__proto__": 1, "a": 2}');
    saveTorch(keys, path);
    expect(Object.keys(loadTorch(path))).toEqual(["__proto__", "a"]);
  });
  test("in the background", async () => {
    const path = join(dir, "async.pt");
    await saveTorchAsync({ x: ones(50_000) }, path);
    expect(loadTorch(path).x.sum().item()).toBe(50_000);
  });
  test("TensorDicts: a directory, or a file by its ending", () => {
    const td = new TensorDict({ a: ones(2) }, { batchSize: [2] });
    save(td, join(dir, "td"));
    expect(existsSync(join(dir, "td", "meta.json"))).toBe(true);
    save(td, join(dir, "td.pt"));
    for (const name of ["td", "td.pt"]) expect(load(join(dir, name)).get("a").tolist()).toEqual([1, 1]);
  });
  test("tensors whose bytes are gone", () => {
    const path = join(dir, "gone.pt");
    const [disposed, shrunk] = [ones(1000), ones(1000)];
    disposed.dispose();
    shrunk.untypedStorage().resize_(100);
    expect(() => saveTorch(disposed, path)).toThrow("disposed");
    expect(() => saveTorch(shrunk, path)).toThrow("a tensor of 4000 bytes has a storage of 100 bytes");
    expect(existsSync(path)).toBe(false);
  });
  test("values that cannot be saved leave the old file", () => {
    const path = join(dir, "kept.pt");
    saveTorch({ x: 1 }, path);
    const before = readFileSync(path);
    const bits = ones(4);
    const tuple: unknown[] = [];
    tuple.push(tuple);
    let deep: unknown = 0;
    for (let i = 0; i < 5000; i++) deep = [deep];
    const bad = [
      () => 1,
      Symbol("x"),
      new Date(),
      undefined,
      "\ud800",
      Object.freeze(tuple),
      deep,
      new Proxy(Date, {}),
    ];
    for (const value of [...bad, [bits, bits.view("int32" as never)]])
      expect(() => saveTorch({ value }, path)).toThrow();
    expect(readFileSync(path).equals(before)).toBe(true);
    expect(readdirSync(dir).filter((name) => name.startsWith("kept")).length).toBe(1);
    expect(() => saveTorch([bits, bits.view("int32" as never)], path)).toThrow("view the same data as different types");
  });
});

/** Reads everything that was loaded: a crash here would end the test run. */
function touch(value: unknown, seen = new Set<unknown>()): void {
  if (typeof value !== "object" || value === null || seen.has(value)) return;
  seen.add(value);
  if (value instanceof Tensor) {
    if (!value.isMeta && value.numel() < 100_000) String(value);
  } else if (isTensorCollection(value)) {
    for (const item of (value as unknown as { members?: unknown[] }).members ?? value.values()) touch(item, seen);
  } else if (value instanceof Map) for (const item of value.values()) touch(item, seen);
  else if (!(value instanceof DType)) for (const item of Object.values(value)) touch(item, seen);
}

function touchIfRead(path: string, options: TorchLoadOptions = {}): void {
  try {
    touch(loadTorch(path, options));
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
  }
}

describe("hostile files", () => {
  const names = readdirSync(fixtures).filter((name) => name.endsWith(".pt"));
  test("pickles that would run something run nothing", () => {
    const mark = join(dir, "executed");
    const calls = [
      `cos\nsystem\n(X${"\x20\0\0\0"}${`touch ${mark}`.padEnd(32)}tR.`,
      `cposix\nsystem\n(S'touch ${mark}'\ntR.`,
      `c__builtin__\neval\n(S'open("${mark}","w")'\ntR.`,
      `csubprocess\nPopen\n(S'touch ${mark}'\ntR.`,
      "ctorch\nload\n(S'/etc/passwd'\ntR.",
      "ctorch.hub\nload\n(S'x'\ntR.",
      "cbuiltins\n__import__\n(S'os'\ntR.",
      "ctensordict._reductions\n_make_td\n(cos\nsystem\n}tR.",
      "ctorch._tensor\n_rebuild_from_type_v2\n(cos\nsystem\nctorch\nTensor\n)}tR.",
    ];
    for (const [i, call] of calls.entries()) {
      const path = archive(`call${i}.pt`, Buffer.from(call, "latin1"));
      expect(refusal(path, { unknown: "refuse" })).toContain("which is no data");
      for (const unknown of ["describe", "skip"] as const) touchIfRead(path, { unknown });
      const old = join(dir, `old${i}.pt`);
      writeFileSync(old, Buffer.from(`\x80\x02${call}`, "latin1"));
      refusal(old);
    }
    expect(existsSync(mark)).toBe(false);
  });
  test("tensors beyond their storages", () => {
    const tensor = (shape: string, strides: string, offset = "K\0", count = "K\x04", key = "X\x01\0\0\x000"): string =>
      `ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\n${key}X\x03\0\0\0cpu${count}tQ` +
      `${offset}(${shape}t(${strides}t\x89)tR.`;
    const data = { "data/0": new Uint8Array(16) };
    const written = (code: string): string => archive("bounds.pt", Buffer.from(code, "latin1"), data);
    expect([...loadTorch(written(tensor("K\x04", "K\x01"))).shape]).toEqual([4]);
    for (const code of [
      tensor("K\x05", "K\x01"),
      tensor("K\x02", "K\x04"),
      tensor("K\x04", "K\x01", "K\x01"),
      tensor("K\x04", "J\xff\xff\xff\xff"),
      tensor("J\xff\xff\xff\xff", "K\x01"),
      tensor("K\x04", ""),
      tensor("\x8a\x09\0\0\0\0\0\0\0\0\x01", "K\0"),
      tensor("G\x3f\xf8\0\0\0\0\0\0", "K\x01"),
      tensor("K\x02", "K\x01", "K\0", "K\x05"),
      tensor("K\x02", "K\x01", "K\0", "K\x04", "X\x0a\0\0\0../../evil"),
      tensor("K\x02", "K\x01", "K\0", "K\x04", "X\x01\0\0\x001"),
      tensor("K\x01".repeat(65), "K\x01".repeat(65)),
      tensor("\x8a\x07\xff\xff\xff\xff\xff\xff\x1f".repeat(2), "K\0K\0"),
    ])
      refusal(written(code));
  });
  test("structures of consolidated TensorDicts that are none", () => {
    const name = "ctensordict._reductions\n_rebuild_tensordict_files_consolidated\n";
    const written = (code: string): string => archive("structure.pt", Buffer.from(`${name}${code}R.`, "latin1"));
    expect(refusal(written("]N\x86"))).toContain("without its bytes");
    expect(refusal(written("c__builtin__\nset\n)RN\x86"))).toContain("something else than plain values");
    expect(refusal(written(`${"]".repeat(500)}${"a".repeat(499)}N\x86`))).toContain("too large");
    let doubling = "]q\0";
    for (let i = 0; i < 60; i++) doubling = `${doubling}0](h\0h\0eq\0`;
    expect(refusal(written(`${doubling}N\x86`))).toContain("too large");
  });
  test("a consolidated TensorDict with a key that is no string", () => {
    const bytes = packZip(readFileSync(join(fixtures, "consolidated.pt")), (parts) => {
      for (const part of parts) {
        if (!part.name.endsWith("data.pkl")) continue;
        const text = Buffer.from(part.content).toString("latin1");
        part.content = Buffer.from(text.replace("X\x01\0\0\0a", "K\x07"), "latin1");
      }
      return parts;
    });
    const path = join(dir, "keys.pt");
    writeFileSync(path, bytes);
    expect(refusal(path)).toContain("a key that is no string");
  });
  test("archives that are none of torch's", () => {
    const path = join(dir, "nothing.pt");
    for (const names of [["archive/version"], ["data.pkl"], ["a/data.pkl", "b/data.pkl"], ["a/b/data.pkl"]]) {
      const list = names.map((name) => ({ name, data: Buffer.from("N.") }));
      new FileWrite(path, zipPieces(list, { style: "torch" }).pieces).run();
      expect(refusal(path)).toContain("no file of torch.save");
    }
  });
  test("missing, empty and foreign files", () => {
    expect(() => loadTorch(join(dir, "missing.pt"))).toThrow(FileNotFoundError);
    const path = join(dir, "other.pt");
    for (const text of ["", "x", "hello world", "PK", "PK\x03\x04", "\x80", "\x80\x02N."]) {
      writeFileSync(path, text, "latin1");
      refusal(path);
    }
    const big = archive("big.pt", Buffer.from("\x80\x02N.", "latin1"), { byteorder: Buffer.from("middle") });
    expect(refusal(big)).toContain("byte order");
    const script = archive("script.pt", Buffer.from("\x80\x02N.", "latin1"), { "constants.pkl": Buffer.from("N.") });
    expect(refusal(script)).toContain("TorchScript");
    const twice = archive("twice.pt", Buffer.from("N."), { "../other/data.pkl": Buffer.from("N.") });
    refusal(twice);
  });
  test("files that end too early", () => {
    const path = join(dir, "short.pt");
    for (const name of names) {
      const bytes = readFileSync(join(fixtures, name));
      for (let end = 0; end < bytes.length; end += 1 + Math.floor(bytes.length / 60)) {
        writeFileSync(path, bytes.subarray(0, end));
        refusal(path);
      }
    }
  });
  test("damaged files and damaged pickles: an error or a value, never anything else", () => {
    let state = 99;
    const random = (n: number): number => {
      state = (Math.imul(state, 1103515245) + 12345) >>> 0;
      return (state >>> 8) % n;
    };
    const path = join(dir, "damaged.pt");
    for (const name of names) {
      copyFileSync(join(fixtures, name), path);
      const bytes = readFileSync(path);
      const zip = name.startsWith("legacy") ? null : readZip(path);
      const contents =
        zip === null ? null : [...zip.entries.values()].map((entry) => [entry.name, zip.read(entry, 1e6)] as const);
      for (let i = 0; i < 60; i++) {
        const damaged = Buffer.from(bytes);
        damaged[random(bytes.length)] = random(256);
        writeFileSync(path, damaged);
        touchIfRead(path);
        if (contents === null) continue;
        const list = contents.map(([entry, data]) => ({ name: entry, data: Uint8Array.from(data) }));
        const pickle = list.find((entry) => entry.name.endsWith("data.pkl")) as { data: Uint8Array };
        for (let k = 0; k < 1 + (i % 3); k++) pickle.data[random(pickle.data.length)] = random(256);
        new FileWrite(path, zipPieces(list, { style: "torch" }).pieces).run();
        touchIfRead(path);
      }
    }
  }, 120_000);
});

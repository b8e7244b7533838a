// Memory-mapped TensorDicts and tensors: saving, loading, growing, and what stays in memory.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../src/ffi/library.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { loadMemmap, MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++));
const sample = () =>
  new TensorDict({ a: tensor([1, 2, 3]), b: { c: zeros([3, 2]).add(5) }, s: "text" }, [3]) as unknown as Td;

describe("saving and loading", () => {
  test("memmap leaves the source alone", () => {
    const td = sample();
    const path = fresh();
    const saved = td.memmap(path);
    expect(td.at("a")).not.toBeInstanceOf(MemoryMappedTensor);
    expect(saved.at("a")).toBeInstanceOf(MemoryMappedTensor);
    expect((saved.at("a") as MemoryMappedTensor).filename).toBe(join(path, "a.memmap"));
    expect(saved.isLocked).toBe(true);
    expect(saved.isMemmap()).toBe(true);
    expect(saved.savedPath).toBe(path);
    expect(saved.at("b").savedPath).toBe(join(path, "b"));
    expect(String(saved.device)).toBe("cpu");
    expect(readdirSync(path).sort()).toEqual(["a.memmap", "b", "meta.json", "s"]);
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect(loaded.isLocked).toBe(false);
    expect(loaded.isMemmap()).toBe(false);
    expect(loaded.eq(td).all()).toBe(true);
    expect(loaded.at("s")).toBe("text" as never);
    expect(() => loaded.savedPath).toThrow(`The tensordict has no saved path (memmap=False, path=${path}).`);
  });
  test("directories with the same metadata, letter for letter, stay apart", () => {
    const path = fresh();
    const layer = (n: number) => new TensorDict({ w: tensor([n, n]) }, []);
    new TensorDict({ l0: layer(0), l1: layer(1) }, []).memmap(path);
    expect(readFileSync(join(path, "l0", "meta.json"))).toEqual(readFileSync(join(path, "l1", "meta.json")));
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    (loaded.at("l0") as unknown as Td).set("more", tensor([5]));
    (loaded.at("l0") as unknown as Td).at("w").unsqueeze_(0);
    const again = TensorDict.loadMemmap(path) as unknown as Td;
    for (const td of [again.at("l0"), again.at("l1"), loaded.at("l1")] as unknown as Td[]) {
      expect([...td.keys()]).toEqual(["w"]);
      expect(td.at("w").shape).toEqual([2] as never);
    }
    expect((again.at("l1") as unknown as Td).at("w").tolist()).toEqual([1, 1]);
  });
  test("memmap_ replaces the entries", () => {
    const td = sample();
    expect(td.memmap_(fresh())).toBe(td);
    expect(td.at("a")).toBeInstanceOf(MemoryMappedTensor);
    expect(td.isLocked).toBe(true);
  });
  test("without a directory: shared memory without a file", () => {
    const saved = sample().memmap();
    expect(saved.isMemmap()).toBe(true);
    expect(() => saved.savedPath).toThrow("The tensordict has no saved path (memmap=True, path=None).");
    expect(() => (saved.at("a") as MemoryMappedTensor).filename).toThrow(
      "The MemoryMappedTensor has no file associated.",
    );
    expect(saved.memmap().at("a")).toBe(saved.at("a"));
    expect(saved.eq(sample()).all()).toBe(true);
  });
  test("changes go to the file and are seen by others", () => {
    const path = fresh();
    const saved = sample().memmap(path);
    const other = TensorDict.loadMemmap(path) as unknown as Td;
    saved.set_("a", tensor([7, 8, 9]));
    expect((other.at("a") as Tensor).tolist()).toEqual([7, 8, 9]);
    other.setAt(0, 0);
    expect((saved.at("a") as Tensor).tolist()).toEqual([0, 8, 9]);
    saved.set_("s", "changed");
    expect((TensorDict.loadMemmap(path) as unknown as Td).at("s")).toBe("changed" as never);
  });
  test("saving twice to the same place works, to another place only with copyExisting", () => {
    const td = sample();
    const path = fresh();
    const saved = td.memmap(path);
    expect(td.memmap(path).eq(saved).all()).toBe(true);
    expect(saved.memmap(path).at("a")).toBe(saved.at("a"));
    expect(() => saved.memmap(fresh())).toThrow(
      `A filename was provided but the tensor already has a file associated (${join(path, "a.memmap")}). ` +
        "To copy the tensor onto the new location, pass copy_existing=True.",
    );
    const target = fresh();
    saved.memmap(target, { copyExisting: true });
    expect((loadMemmap(target) as unknown as Td).eq(td).all()).toBe(true);
  });
  test("a save of another size leaves earlier mappings whole", () => {
    const path = fresh();
    const long = new TensorDict({ a: zeros([5000]).add(3) }).memmap(path);
    new TensorDict({ a: zeros([2]) }).memmap(path);
    expect((long.at("a") as Tensor).at(4999).item()).toBe(3);
    expect(statSync(join(path, "a.memmap")).size).toBe(8);
  });
  test("threads, early return, async with progress, fsync", async () => {
    const source = Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${i}`, zeros([100]).add(i)]));
    const td = new TensorDict(source) as unknown as Td;
    for (const save of [
      async (path: string) => td.memmap(path, { numThreads: 4 }),
      async (path: string) => td.memmap(path, { returnEarly: true, numThreads: 2 }).result(),
      async (path: string) => await td.memmap(path, { returnEarly: true }),
      async (path: string) =>
        td.memmapAsync(path, {
          fsync: true,
          numThreads: 2,
          onProgress: (done, total) => expect(done).toBeLessThanOrEqual(total),
        }),
    ]) {
      const path = fresh();
      const saved = await save(path);
      expect(saved.isMemmap()).toBe(true);
      expect((TensorDict.loadMemmap(path, { numThreads: 3 }) as unknown as Td).eq(td).all()).toBe(true);
    }
    expect(td.memmapAsync(fresh(), { signal: AbortSignal.abort() })).rejects.toThrow();
  });
  test("lazy stacks and zero-element tensors", () => {
    const path = fresh();
    const member = (x: number) => new TensorDict({ item: x, none: zeros([0, 2]) }) as unknown as Td;
    const td = new TensorDict({ list: TensorDict.lazyStack([0, 1, 2].map(member)) }) as unknown as Td;
    td.memmap_(path);
    expect(existsSync(join(path, "list", "1", "item.memmap"))).toBe(true);
    expect(existsSync(join(path, "list", "1", "none.memmap"))).toBe(false);
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect(loaded.eq(td).all()).toBe(true);
    expect((loaded.at(["list", "none"]) as Tensor).shape).toEqual([3, 0, 2] as never);
  });
  test("refresh and loading into", () => {
    const path = fresh();
    const saved = sample().memmap(path);
    const other = TensorDict.loadMemmap(path) as unknown as Td;
    other.set("extra", zeros([3]));
    other.loadMemmap_(path);
    expect(other.has("extra")).toBe(false);
    saved.makeMemmap("later", [3, 2], { dtype: "int32" });
    other.loadMemmap_(path);
    expect((other.at("later") as Tensor).dtype.name).toBe("int32");
    expect(saved.memmapRefresh_().has("later")).toBe(true);
    expect(() => sample().memmapRefresh_()).toThrow(
      "Cannot refresh a TensorDict that is not memory mapped or has no path associated.",
    );
  });
});

describe("loading into one that is locked", () => {
  const stored = () => {
    const path = fresh();
    new TensorDict({ a: tensor([4, 5, 6]), b: { c: zeros([3, 2]) }, more: zeros([3]) }, [3]).memmap(path);
    return path;
  };
  const told = (td: Td) => [
    [...td.keys()].sort(),
    (td.at("a") as Tensor).tolist(),
    [td.isLocked, (td.at("b") as Td).isLocked, td.isMemmap()],
  ];
  const locked = "Cannot modify locked TensorDict";
  const inner = (td: Td) => {
    (td.at("b") as Td).lock_();
    return td;
  };
  const cases: [string, () => Td, () => string, string][] = [
    ["locked", () => sample().lock_(), stored, locked],
    ["locked below", () => inner(sample()), stored, locked],
  ];
  for (const missing of ["", "nowhere", "an empty folder"]) {
    const where = () =>
      missing === "an empty folder" ? mkdtempSync(`${room.path}/empty`) : missing === "" ? "" : fresh();
    cases.push([`locked, from ${missing === "" ? '""' : missing}`, () => sample().lock_(), where, "No such file"]);
    cases.push([`locked below, from ${missing === "" ? '""' : missing}`, () => inner(sample()), where, "No such file"]);
    cases.push([
      `mapped, from ${missing === "" ? '""' : missing}`,
      () => sample().memmap(fresh()) as Td,
      where,
      "No such file",
    ]);
    const lone = () => sample().memmap(fresh()).unlock_() as Td;
    cases.push([`mapped and unlocked, from ${missing === "" ? '""' : missing}`, lone, where, "No such file"]);
  }
  test.each(cases)("%s: refused, and as it was", (_, make, where, message) => {
    for (const load of ["loadMemmap_", "load_"] as const) {
      const td = make();
      const before = told(td);
      expect(() => td[load](where())).toThrow(message);
      expect(told(td)).toEqual(before);
    }
  });

  test("a mapped one is filled, and locked again", () => {
    const td = sample().memmap(fresh()) as Td;
    td.loadMemmap_(stored());
    expect(told(td)).toEqual([
      ["a", "b", "more"],
      [4, 5, 6],
      [true, true, true],
    ]);
  });
});

describe("preallocating", () => {
  test("memmapLike makes sparse files of an expanded example", () => {
    const datum = new TensorDict({
      image: zeros([3, 64, 64], { dtype: "uint8" }),
      label: 0,
    }) as unknown as Td;
    const path = fresh();
    const data = datum.expand(1_000_000).memmapLike(path);
    expect(statSync(join(path, "image.memmap")).size).toBe(12_288_000_000);
    expect(statSync(join(path, "image.memmap")).blocks).toBeLessThan(1000);
    data.setAt(999_999, { image: zeros([3, 64, 64], { dtype: "uint8" }).add(7), label: 3 });
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect((loaded.at(999_999).at("image") as Tensor).at(0, 0, 0).item()).toBe(7);
    expect((loaded.at("label") as Tensor).at(5).item()).toBe(0);
  });
  test("makeMemmap adds to files and metadata", () => {
    const path = fresh();
    const saved = sample().memmap(path);
    saved.makeMemmap(["b", "y"], [3], { dtype: "int32" });
    saved.makeMemmap(["n", "y"], [3], { dtype: "int32" });
    saved.makeMemmapFromTensor("copy", tensor([4, 5, 6]));
    const text = readFileSync(join(path, "meta.json"), "utf8");
    expect(text.indexOf('"_class"')).toBeLessThan(text.indexOf('"copy"'));
    expect(readFileSync(join(path, "n", "meta.json"), "utf8")).toBe(
      '{"shape": [3], "device": "cpu", "_type": "<class \'tensordict._td.TensorDict\'>", "_format_version": 1, ' +
        '"_class": "tensordict:TensorDict", "y": {"device": "cpu", "shape": [3], "dtype": "torch.int32", ' +
        '"is_nested": false}}',
    );
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect((loaded.at("copy") as Tensor).tolist()).toEqual([4, 5, 6]);
    expect((loaded.at(["n", "y"]) as Tensor).tolist()).toEqual([0, 0, 0]);
    expect(() => saved.makeMemmap("a", [3])).toThrow(
      "The key a already exists within the target tensordict. Delete that entry before overwriting it.",
    );
    expect(() => sample().makeMemmap("q", [3])).toThrow(
      "Can only make a memmap tensor within a memory-mapped tensordict.",
    );
    expect(() => saved.makeMemmap("shape", [3])).toThrow("cannot be saved");
  });
});

describe("makeMemmapFromStorage", () => {
  const numbers = () => tensor([0, 1, 2, 3, 4, 5]).to("int64").untypedStorage();
  test("the elements go to a file of their own", () => {
    const path = fresh();
    const saved = sample().memmap(path);
    const made = saved.makeMemmapFromStorage("s2", numbers(), [3, 2], { dtype: "int64" });
    saved.makeMemmapFromStorage(["k", "j"], numbers(), [3, 2], { dtype: "int64" });
    made.at(0).fill_(9);
    const loaded = TensorDict.loadMemmap(path) as unknown as Td;
    expect((loaded.at("s2") as Tensor).tolist()).toEqual([
      [9, 9],
      [2, 3],
      [4, 5],
    ]);
    expect((loaded.at(["k", "j"]) as Tensor).sum().item()).toBe(15);
    expect((loaded.at("k") as unknown as Td).batchSize).toEqual([3] as never);
  });
  test("without a directory the storage itself is used", () => {
    const saved = sample().memmap();
    const storage = numbers();
    saved.makeMemmapFromStorage("s2", storage, [3, 2], { dtype: "int64" });
    storage.fill_(0);
    expect((saved.at("s2") as Tensor).sum().item()).toBe(0);
  });
  test("refusals", () => {
    const path = fresh();
    const saved = sample().memmap(path);
    const make = (key: string, shape: number[], dtype = "int64") =>
      saved.makeMemmapFromStorage(key, numbers(), shape, { dtype: dtype as "int64" });
    expect(() => make("q", [3, 200])).toThrow("shape '[3, 200]' is invalid for input of size 6");
    expect(() => make("q", [3], "float32")).toThrow("shape '[3]' is invalid for input of size 12");
    expect(() => make("a", [3, 2])).toThrow("The key a already exists");
    expect(() => make("q", [2, 3])).toThrow("batch dimension mismatch, got self.batch_size=torch.Size([3])");
    expect(() => make("shape", [3, 2])).toThrow("cannot be saved");
    expect(() => sample().makeMemmapFromStorage("q", numbers(), [3, 2])).toThrow("invalid for input");
    expect(() => sample().makeMemmapFromStorage("q", numbers(), [3, 2], { dtype: "int64" })).toThrow(
      "Can only make a memmap tensor within a memory-mapped tensordict.",
    );
    const own = MemoryMappedTensor.fromTensor(tensor([1, 2, 3]), { filename: fresh() });
    expect(() => saved.makeMemmapFromStorage("q", own.untypedStorage(), [3], { dtype: own.dtype })).toThrow(
      `unless filename=None. Got filename=${join(path, "q.memmap")}, storage.filename=${own.filename}`,
    );
    expect(readdirSync(path).sort()).toEqual(["a.memmap", "b", "meta.json", "s"]);
  });
});

/** Memory of this process that is really there; 0 where the system does not tell. */
describe("MemoryMappedTensor", () => {
  test("files", () => {
    const path = fresh();
    const t = MemoryMappedTensor.fromTensor(tensor([1, 2, 3]), { filename: path });
    expect(t.filename).toBe(path);
    expect(() => MemoryMappedTensor.fromTensor(tensor([1]), { filename: path })).toThrow(
      `The file ${path} already exists.`,
    );
    expect(() => MemoryMappedTensor.empty([2], { filename: path })).toThrow("already exists");
    expect(MemoryMappedTensor.fromFilename(path, { shape: [3] }).tolist()).toEqual([1, 2, 3]);
    expect(MemoryMappedTensor.fromFilename(path, { shape: [3], index: 1 }).item()).toBe(2);
    expect(() => MemoryMappedTensor.fromFilename(path, { shape: [20] })).toThrow("smaller than");
    expect(MemoryMappedTensor.fromTensor(t)).toBe(t);
    expect(() => MemoryMappedTensor.fromTensor(t, { filename: fresh() })).toThrow("copy_existing=True");
  });
  test("factories", () => {
    expect(MemoryMappedTensor.zeros(3).tolist()).toEqual([0, 0, 0]);
    expect(MemoryMappedTensor.ones([2]).tolist()).toEqual([1, 1]);
    expect(MemoryMappedTensor.full([2], 4, { filename: fresh() }).tolist()).toEqual([4, 4]);
    expect(MemoryMappedTensor.emptyLike(zeros([2, 2], { dtype: "int64" })).dtype.name).toBe("int64");
    expect(() => MemoryMappedTensor.empty([-1])).toThrow("no shape");
    expect(() => MemoryMappedTensor.empty([2 ** 50, 2 ** 10])).toThrow("too large");
  });
  test("only views by basic indexing keep the class", () => {
    const t = MemoryMappedTensor.fromTensor(tensor([1, 2, 3]));
    expect(t.at("0:2")).toBeInstanceOf(MemoryMappedTensor);
    expect(t.clone()).not.toBeInstanceOf(MemoryMappedTensor);
    expect(t.add(1)).not.toBeInstanceOf(MemoryMappedTensor);
    expect(t.at([[0, 1]])).not.toBeInstanceOf(MemoryMappedTensor);
  });
});

test("mappings are given back, also when loading fails midway", () => {
  const path = fresh();
  sample().memmap(path);
  Bun.gc(true);
  const before = native.zs_io_live_maps();
  for (let i = 0; i < 1000; i++) {
    const td = TensorDict.loadMemmap(path) as unknown as Td;
    if (i % 10 === 0) expect(() => td.memmap(`${path}-other`)).toThrow("copy_existing");
  }
  Bun.gc(true);
  expect(native.zs_io_live_maps()).toBeLessThan(before + 300);
});

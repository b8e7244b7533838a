// Storages that lose their bytes while tensors refer to them: every use knows the present size.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { arange, errors, fromTypedArray, full, io, ones, type Tensor, TensorDict, zeros } from "../../src/index.ts";

const EMPTIED = "The tensor has a non-zero number of elements, but its data is not allocated yet.";
const SHORT = /^this tensor needs \d+ bytes of its storage, which was resized to \d+ bytes since$/;

const uses: Record<string, (t: Tensor) => unknown> = {
  sum: (t) => t.sum(),
  fill_: (t) => t.fill_(3),
  "add, both sides": (t) => ones(t.shape).add(t),
  "in place": (t) => ones(t.shape).mul_(t),
  out: (t) => ones(t.shape).exp({ out: t } as never),
  item: (t) => t.at(-1).item(),
  tolist: (t) => t.tolist(),
  text: (t) => String(t),
  setAt: (t) => t.setAt(-1, 5),
  clone: (t) => t.clone(),
  matmul: (t) => t.view(-1, 1).matmul(ones(1, 3)),
  sort: (t) => t.sort(),
  "a view of it": (t) => t.at("1:").sum(),
  dataPtr: (t) => t.dataPtr(),
};

describe("resized", () => {
  for (const [name, use] of Object.entries(uses)) {
    test(name, () => {
      for (const n of [100, 100_000]) {
        const t = arange(n).float();
        const storage = t.untypedStorage();
        storage.resize_(0);
        expect(() => use(t)).toThrow(EMPTIED);
        storage.resize_(8);
        expect(() => use(t)).toThrow(SHORT);
        storage.resize_(4 * n);
        t.copy_(arange(n));
        storage.resize_(8);
        expect(() => use(t)).toThrow(SHORT);
        storage.resize_(4 * n);
        use(t);
      }
    });
  }
  test("typedArray", () => {
    const t = arange(100).float();
    t.untypedStorage().resize_(0);
    expect(() => t.typedArray()).toThrow("400 bytes are out of bounds for storage of size 0");
    t.untypedStorage().resize_(8);
    expect(() => t.typedArray()).toThrow("400 bytes are out of bounds for storage of size 8");
  });
  test("what still fits is used", () => {
    const t = arange(10).float();
    const head = t.at(":2");
    t.untypedStorage().resize_(8);
    expect(head.tolist()).toEqual([0, 1]);
    expect(t.at(":0").sum().item()).toBe(0);
  });
});

describe("buffers that are gone", () => {
  for (const [name, use] of Object.entries(uses)) {
    test(name, () => {
      const own = zeros(100);
      (own.typedArray().buffer as ArrayBuffer).transfer(0);
      expect(() => use(own)).toThrow("ArrayBuffer that was transferred");
      const array = new Float32Array(100);
      const lent = fromTypedArray(array);
      structuredClone(array.buffer, { transfer: [array.buffer] });
      expect(() => use(lent)).toThrow("ArrayBuffer that was transferred");
    });
  }
});

test("a consolidated TensorDict's tensors share one storage, whatever becomes of it", () => {
  const td = new TensorDict(
    { a: ones(3, { dtype: "uint8" }), b: full([1000], 2), c: full([1000], 3) },
    [],
  ).consolidate();
  const [b, c] = [td.get("b") as Tensor, td.get("c") as Tensor];
  b.untypedStorage().resize_(0);
  for (const t of [b, c]) expect(() => t.sum()).toThrow(EMPTIED);
});

const room = mkdtempSync(join(tmpdir(), "zensor-attack-"));
afterAll(() => rmSync(room, { recursive: true, force: true }));
const LARGE = 2 ** 22;

const saves: Record<
  string,
  [(t: Tensor, path: string) => Promise<unknown>, (path: string) => Tensor, ending?: string]
> = {
  safetensors: [(t, path) => io.saveSafetensorsAsync({ t }, path), (path) => io.loadSafetensors(path).t as Tensor],
  npz: [(t, path) => io.saveNpzAsync(path, { t }), (path) => io.loadNpz(path).t as Tensor, ".npz"],
  npy: [(t, path) => io.saveNpyAsync(path, t), (path) => io.loadNpy(path), ".npy"],
  pt: [(t, path) => io.saveTorchAsync({ t }, path), (path) => (io.loadTorch(path) as { t: Tensor }).t],
  directory: [
    (t, path) => new TensorDict({ t }, []).memmapAsync(path),
    (path) => TensorDict.loadMemmap(path).get("t") as Tensor,
  ],
  archive: [
    (t, path) => new TensorDict({ t }, []).memmapAsync(path),
    (path) => TensorDict.loadMemmap(path).get("t") as Tensor,
    ".tdz",
  ],
  consolidated: [
    (t, path) => new TensorDict({ t }, []).consolidateAsync({ filename: path }),
    (path) => TensorDict.fromConsolidated(path).get("t") as Tensor,
  ],
};

const losses: Record<string, (t: Tensor) => void> = {
  emptied: (t) => void t.untypedStorage().resize_(0),
  grown: (t) => void t.untypedStorage().resize_(8 * LARGE),
  transferred: (t) => void (t.typedArray().buffer as ArrayBuffer).transfer(0),
  disposed: (t) => t.dispose(),
};

for (const [format, [save, load, ending = ""]] of Object.entries(saves)) {
  describe(`saved beside the program: ${format}`, () => {
    for (const [name, lose] of Object.entries(losses)) {
      test(`${name}: the file has what was there`, async () => {
        const t = full([LARGE], 7);
        const path = join(room, `${format}-${name}${ending}`);
        const saved = save(t, path);
        lose(t);
        const others = Array.from({ length: 4 }, () => full([LARGE], 9));
        await saved;
        expect(load(path).eq(7).all().item()).toBe(true);
        expect(others.length).toBe(4);
        rmSync(path, { recursive: true });
      });
    }
    test("an array of the user's that is transferred: read before, or an error and no file", async () => {
      const array = new Float32Array(LARGE).fill(7);
      const path = join(room, `${format}-lent${ending}`);
      const saved = save(fromTypedArray(array), path);
      array.buffer.transfer(0);
      const error = await saved.then(
        () => null,
        (e: unknown) => e,
      );
      if (error === null) {
        expect(load(path).eq(7).all().item()).toBe(true);
        return;
      }
      expect(error).toBeInstanceOf(errors.RuntimeError);
      expect(String(error)).toContain("ArrayBuffer that was transferred");
      expect(() => load(path)).toThrow();
    });
    test("an array of the user's that stays is saved", async () => {
      const path = join(room, `${format}-stays${ending}`);
      await save(fromTypedArray(new Float32Array(LARGE).fill(7)), path);
      expect(load(path).eq(7).all().item()).toBe(true);
      rmSync(path, { recursive: true });
    });
  });
}

// Directories of tensorclasses: entries that are added later, stacks that Python wrote.
import "../../src/install.ts";
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { lazyStack, loadMemmap, loadMemmapAsync, TensorDict } from "../../src/tensordict/index.ts";
import { Point } from "./classes.ts";
import { filesBelow, temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++));
const td = (entries: Record<string, unknown>, batchSize: number[] = []) =>
  new TensorDict(entries, batchSize) as unknown as Td;

test("makeMemmap on an object adds to its fields", () => {
  const path = fresh();
  const source = new Point({ x: zeros([2]), label: "hi" }, { batchSize: [2] });
  const holder = td({ p: source }, [2]).memmap(path);
  const outer = readFileSync(join(path, "p", "meta.json"), "utf8");
  holder.makeMemmap(["p", "y"], [2, 3]).fill_(4);
  expect(existsSync(join(path, "p", "_tensordict", "y.memmap"))).toBe(true);
  expect(readFileSync(join(path, "p", "meta.json"), "utf8")).toBe(outer);
  const loaded = (loadMemmap(path) as unknown as Td).at("p") as unknown as Point;
  expect(loaded).toBeInstanceOf(Point);
  expect(loaded.label).toBe("hi");
  expect(loaded.y.sum().item()).toBe(24);
});

test("makeMemmap where there is no place for an entry changes no file", () => {
  const path = fresh();
  const stack = lazyStack([1, 2].map((n) => td({ x: zeros([n]) })));
  const source = new Point({ x: zeros([2]) }, { batchSize: [2] });
  const holder = td({ p: source, l: stack, s: "text" }, [2]).memmap(path);
  const before = filesBelow(path);
  const text = (name: string) => readFileSync(join(path, name, "meta.json"), "utf8");
  const metas = ["p", "l", "s"].map(text);
  expect(() => holder.makeMemmap(["p", "other"], [2])).toThrow("Point has no field 'other'");
  for (const key of ["l", "s"]) {
    expect(() => holder.makeMemmap([key, "new"], [2])).toThrow(/Cannot call `make_memmap` on a (Lazy|NonTensorData)/);
    expect(() => holder.makeMemmap([key, "new", "deep"], [2])).toThrow(/Cannot call `make_memmap` on a/);
  }
  expect(filesBelow(path)).toEqual(before);
  expect(["p", "l", "s"].map(text)).toEqual(metas);
});

test("an object around a lazy stack is a lazy stack of objects", async () => {
  const path = fresh();
  mkdirSync(path);
  // As Python's lazy_stack of tensorclasses saves itself.
  writeFileSync(join(path, "meta.json"), `{"_type": "<class 'td_example_classes.Point'>"}`);
  const members = ["a", "b"].map((label, n) => td({ x: zeros([n + 1]).add(n), label }));
  lazyStack(members).memmap(join(path, "_tensordict"));
  for (const loaded of [loadMemmap(path), await loadMemmapAsync(path)]) {
    expect(loaded.batchSize).toEqual([2] as never);
    const second = loaded.at(1) as unknown as Point;
    expect(second).toBeInstanceOf(Point);
    expect(second.label).toBe("b");
    expect(second.x.tolist()).toEqual([1, 1]);
  }
  expect(loadMemmap(path, { device: "meta" }).batchSize).toEqual([2] as never);
  writeFileSync(join(path, "_tensordict", "1", "meta.json"), `{"_type": "<class 'td_example_classes.Point'>"}`);
  expect(() => loadMemmap(path)).toThrow();
});

test("a lazy stack of objects saves itself as Python's does, and comes back as one", async () => {
  const members = ["a", "b"].map((label, n) => new Point({ x: zeros([n + 1]).add(n), label }));
  const stack = lazyStack(members as never) as unknown as Td;
  const path = fresh();
  const saved = stack.memmap(path);
  expect(JSON.parse(readFileSync(join(path, "meta.json"), "utf8"))).toEqual({
    _type: "<class 'td_example_classes.Point'>",
  });
  expect([...filesBelow(path).keys()].filter((name) => name.endsWith("x.memmap")).sort()).toEqual(
    ["0/x.memmap", "1/x.memmap"].map((name) => `_tensordict/${name}`),
  );
  const file = `${fresh()}.tdz`;
  stack.memmap(file);
  const holder = fresh();
  td({ p: stack }, [2]).memmap(holder);
  const nested = (loadMemmap(holder) as unknown as Td).at("p");
  for (const found of [saved, loadMemmap(path), await loadMemmapAsync(path), loadMemmap(file), nested]) {
    const loaded = found as unknown as Td;
    expect(loaded).toBeInstanceOf(Point);
    expect([...loaded.batchSize]).toEqual([2]);
    const each = loaded.unbind(0) as unknown as Point[];
    expect(each.map((one) => [one instanceof Point, one.label, one.x.tolist()])).toEqual([
      [true, "a", [0]],
      [true, "b", [1, 1]],
    ]);
  }
  expect(saved.isMemmap()).toBe(true);
  const place = fresh();
  const own = stack.clone().memmap_(place) as unknown as Td;
  expect(own).toBeInstanceOf(Point);
  expect(own.isMemmap()).toBe(true);
  const before = filesBelow(place);
  own.memmap_();
  expect([...filesBelow(place).keys()]).toEqual([...before.keys()]);
  expect((own.unbind(0)[1] as unknown as Point).x.tolist()).toEqual([1, 1]);
});

test("a consolidated TensorDict of two dtypes is saved in a .pt file", () => {
  const file = `${fresh()}.pt`;
  const block = td({ a: zeros([2]), n: td({ b: tensor([1, 2, 3]).to("int64") }) }).consolidate();
  saveTorch(block, file);
  const loaded = loadTorch(file) as unknown as Td;
  expect(loaded.eq(block).all()).toBe(true);
  expect(String((loaded.at(["n", "b"]) as unknown as { dtype: unknown }).dtype)).toBe("torch.int64");
});

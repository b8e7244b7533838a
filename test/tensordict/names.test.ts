// Names of batch dimensions: what nested collections share with what holds them.
import "../../src/install.ts";
import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import {
  fromSafetensors,
  LazyStackedTensorDict,
  lazyStack,
  loadMemmap,
  TensorDict,
  tensorclass,
  toSafetensors,
} from "../../src/tensordict/index.ts";

class P extends tensorclass({ x: Tensor }) {}
const td = (batchSize: number[], names: (string | null)[] | null = null, entries: object = {}) =>
  new TensorDict(entries, { batchSize, names }) as unknown as Td;
const inner = (holder: Td, ...path: string[]) => (holder.get(path) as unknown as Td).names;

test("entries take the names of what holds them, and what was passed keeps its own", () => {
  const child = td([2, 3]);
  const holder = td([2], ["x"], { a: child, b: { c: zeros([2]) } });
  expect(inner(holder, "a")).toEqual(["x", null]);
  expect(inner(holder, "b")).toEqual(["x"]);
  expect(child.names).toEqual([null, null]);
});
test("a holder without names takes those of an entry", () => {
  const holder = td([2]);
  holder.set("n", td([2, 4], ["y", "k"]));
  expect(holder.names).toEqual(["y"]);
  holder.set("m", td([2]));
  expect(inner(holder, "m")).toEqual(["y"]);
});
test("names that differ are an error, and nothing changes", () => {
  const holder = td([2], ["x"]);
  expect(() => holder.set("b", td([2], ["y"]))).toThrow(
    "refine_names: cannot coerce TensorDict names ['y'] with ['x'].",
  );
  expect([...holder.keys()]).toEqual([]);
});
test("renaming reaches everything below, beyond shared dimensions nothing", () => {
  const holder = td([2], null, { n: td([2], null, { m: td([2, 4], [null, "k"]) }) });
  holder.names = ["z"];
  expect(inner(holder, "n")).toEqual(["z"]);
  expect(inner(holder, "n", "m")).toEqual(["z", "k"]);
  holder.names = null;
  expect(inner(holder, "n", "m")).toEqual([null, "k"]);
  expect(() => {
    holder.names = ["k"];
  }).toThrow("non-unique");
  expect(holder.names).toEqual([null]);
});
test("lazy stacks and tensorclasses", () => {
  const lazy = new LazyStackedTensorDict([td([2]), td([2])], { stackDim: 1 }) as unknown as Td;
  const holder = td([2], ["x"], { lazy, p: new P({ x: zeros([2]) }, { batchSize: [2] }) });
  expect(inner(holder, "lazy")).toEqual(["x", null]);
  expect((holder.get("lazy") as unknown as { members: Td[] }).members[0]?.names).toEqual(["x"]);
  expect((holder.get("p") as unknown as Td)._names).toEqual(["x"]);
  expect(lazy.names).toEqual([null, null]);
});
test("another batch size keeps the names that still apply", () => {
  const holder = td([2, 3], ["z", null]);
  holder.batchSize = [2];
  expect(holder.names).toEqual(["z"]);
  holder.batchSize = [2, 3];
  expect(holder.names).toEqual(["z", null]);
});
test("refineNames names only what has no name", () => {
  const holder = td([2, 3], ["a", null]);
  expect(holder.refineNames("a", "b").names).toEqual(["a", "b"]);
  expect(() => holder.refineNames("c", "b")).toThrow("cannot coerce");
});
test("what a file has without names takes those of what holds it", () => {
  const room = mkdtempSync(join(tmpdir(), "zensor-names-"));
  try {
    const holder = td([2], ["x"], { a: td([2, 3], null, { b: td([2, 3]) }), l: lazyStack([td([]), td([])]) });
    holder.memmap(join(room, "td"));
    // Python loses the names of a level that has a level called _names, and versions before 0.15 lost all.
    for (const path of ["a", "a/b"]) {
      const file = join(room, "td", path, "meta.json");
      writeFileSync(file, readFileSync(file, "utf8").replace(/, "_names": \[[^\]]*\]/, ""));
    }
    const read = loadMemmap(join(room, "td")) as unknown as Td;
    for (const path of [["a"], ["a", "b"]]) expect(inner(read, ...path)).toEqual(["x", null]);
    // Lazy stacks never have names in these files.
    toSafetensors(holder as never, join(room, "a.safetensors"));
    const weights = fromSafetensors(join(room, "a.safetensors")) as unknown as Td;
    expect([inner(weights, "l"), inner(weights, "a")]).toEqual([["x"], ["x", null]]);
    const own = join(room, "td/a/meta.json");
    writeFileSync(own, readFileSync(own, "utf8").replace(/}$/, ', "_names": ["y", null]}'));
    expect(inner(loadMemmap(join(room, "td")) as unknown as Td, "a")).toEqual(["y", null]);
  } finally {
    rmSync(room, { recursive: true });
  }
});

// Saves whose tensors are mapped from files of the very directory that is written: nothing is lost, and what was loaded
// before keeps what it holds.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, linkSync, mkdirSync, readdirSync, renameSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { arange, lazyStack, ones, type Tensor } from "../../src/index.ts";
import { packMemmap, unpackMemmap } from "../../src/io/memmap/archive-tools.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { contentOf } from "../durability/writers.ts";
import { TREE_WRITERS } from "../io/all-writers.ts";
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

const N = 2000;
const td = (entries: Record<string, unknown>) => new TensorDict(entries as never) as unknown as Td;
const load = (path: string) => TensorDict.loadMemmap(path) as unknown as Td;
const get = (of: Td, key: string) => of.get(key) as Tensor;
const filled = (value: number) => ones(N).mul(value).add(arange(N));
const holds = (tensor: Tensor, value: number) => tensor.equal(filled(value));

/** A directory with the tensors a, b and c, mapped. */
function saved(): { path: string; td: Td } {
  const path = join(room.fresh(), "saved");
  td({ a: filled(1), b: filled(2), c: filled(3) }).memmap(path);
  return { path, td: load(path) };
}

const SAVES: [string, (of: Td, path: string) => unknown][] = [
  ["memmap", (of, path) => of.memmap(path, { copyExisting: true })],
  ["memmap_", (of, path) => (of.clone(false) as Td).memmap_(path, { copyExisting: true })],
  ["memmap, atomic", (of, path) => of.memmap(path, { copyExisting: true, atomic: true })],
  ["memmapAsync", (of, path) => of.memmapAsync(path, { copyExisting: true })],
  ["memmap with two threads", (of, path) => of.memmap(path, { copyExisting: true, numThreads: 2 })],
];

describe.each(SAVES)("%s", (_, save) => {
  test("entries that change places", async () => {
    const { path, td: old } = saved();
    const [a, b, c] = ["a", "b", "c"].map((key) => get(old, key)) as [Tensor, Tensor, Tensor];
    await save(td({ a: b, b: c, c: a }), path);
    const now = load(path);
    expect([holds(get(now, "a"), 2), holds(get(now, "b"), 3), holds(get(now, "c"), 1)]).toEqual([true, true, true]);
    expect([holds(a, 1), holds(b, 2), holds(c, 3)]).toEqual([true, true, true]);
    expect(readdirSync(path).sort()).toEqual(["a.memmap", "b.memmap", "c.memmap", "meta.json"]);
  });

  test("an entry under two names, and one that gets the name of another", async () => {
    const { path, td: old } = saved();
    await save(td({ b: get(old, "a"), c: get(old, "a"), d: get(old, "b") }), path);
    const now = load(path);
    expect([holds(get(now, "b"), 1), holds(get(now, "c"), 1), holds(get(now, "d"), 2)]).toEqual([true, true, true]);
    expect([holds(get(old, "a"), 1), holds(get(old, "b"), 2)]).toEqual([true, true]);
  });

  test("views and copies of parts", async () => {
    const { path, td: old } = saved();
    const turned = (of: Tensor) => of.view(2, N / 2).t();
    const flipped = turned(get(old, "b"));
    await save(td({ a: flipped, b: turned(get(old, "a")), c: get(old, "b").at(`0:${N / 2}`) }), path);
    const now = load(path);
    expect(get(now, "a").equal(turned(filled(2)))).toBe(true);
    expect(get(now, "b").equal(turned(filled(1)))).toBe(true);
    expect(get(now, "c").equal(filled(2).at(`0:${N / 2}`))).toBe(true);
    expect(flipped.equal(turned(filled(2)))).toBe(true);
  });

  test("a directory by another name, and files with two names", async () => {
    const { path } = saved();
    const link = join(room.fresh(), "link");
    symlinkSync(path, link);
    const old = load(link);
    await save(td({ a: get(old, "b"), b: get(old, "a") }), path);
    expect([holds(get(load(path), "a"), 2), holds(get(load(path), "b"), 1)]).toEqual([true, true]);
    const other = join(room.fresh(), "other");
    mkdirSync(other);
    for (const name of readdirSync(path)) linkSync(join(path, name), join(other, name));
    const hard = load(other);
    await save(td({ a: get(hard, "b"), b: get(hard, "a") }), path);
    expect([holds(get(load(path), "a"), 1), holds(get(load(path), "b"), 2)]).toEqual([true, true]);
    expect([holds(get(hard, "a"), 2), holds(get(hard, "b"), 1)]).toEqual([true, true]);
  });

  test("files that were renamed after they were mapped", async () => {
    const { path, td: old } = saved();
    const at = (name: string) => join(path, `${name}.memmap`);
    renameSync(at("a"), at("x"));
    renameSync(at("b"), at("a"));
    renameSync(at("x"), at("b"));
    await save(old, path);
    const now = load(path);
    expect([holds(get(now, "a"), 1), holds(get(now, "b"), 2)]).toEqual([true, true]);
    expect([holds(get(old, "a"), 1), holds(get(old, "b"), 2)]).toEqual([true, true]);
  });

  test("a directory that another save has replaced since", async () => {
    const { path, td: old } = saved();
    td({ a: filled(7), b: filled(8), c: filled(9) }).memmap(path, { atomic: true });
    await save(old, path);
    const now = load(path);
    expect([holds(get(now, "a"), 1), holds(get(now, "b"), 2), holds(get(now, "c"), 3)]).toEqual([true, true, true]);
  });
});

test("a file that stays what it is, is not written", () => {
  const { path, td: old } = saved();
  const before = statSync(join(path, "a.memmap"));
  td({ a: get(old, "a"), b: get(old, "c") }).memmap(path, { copyExisting: true });
  const after = statSync(join(path, "a.memmap"));
  expect([after.ino, after.mtimeMs]).toEqual([before.ino, before.mtimeMs]);
  expect(holds(get(load(path), "b"), 3)).toBe(true);
});

test("a save that fails leaves neither files beside nor changed sources", () => {
  const { path, td: old } = saved();
  mkdirSync(join(path, "d.memmap"));
  const swapped = td({ a: get(old, "b"), b: get(old, "a"), d: filled(4) });
  expect(() => swapped.memmap(path, { copyExisting: true })).toThrow("d.memmap is not a regular file");
  expect(readdirSync(path).sort()).toEqual(["a.memmap", "b.memmap", "c.memmap", "d.memmap", "meta.json"]);
  expect([holds(get(old, "a"), 1), holds(get(old, "b"), 2)]).toEqual([true, true]);
});

describe.each(TREE_WRITERS.filter(({ once }) => !once).map((writer) => [writer.name, writer] as const))(
  "%s",
  (_, writer) => {
    test("over the file its tensors are mapped from", async () => {
      const path = join(room.fresh(), writer.target);
      await writer.write({ a: filled(1), b: filled(2) }, path);
      const old = writer.read(path) as { a: Tensor; b: Tensor };
      await writer.write({ a: old.b, b: old.a.at("::2") }, path);
      const now = writer.read(path) as { a: Tensor; b: Tensor };
      expect([holds(now.a, 2), now.b.equal(filled(1).at("::2"))]).toEqual([true, true]);
      expect([holds(old.a, 1), holds(old.b, 2)]).toEqual([true, true]);
    });
  },
);

test("a directory inside of the one that a tensordict comes from is refused", async () => {
  const path = join(room.fresh(), "saved");
  td({ a: filled(1), n: { b: filled(2), deep: { c: filled(3) } } }).memmap(path);
  const stack = join(room.fresh(), "stack");
  (lazyStack([td({ a: filled(1) }), td({ a: filled(2) })]) as unknown as Td).memmap(stack);
  const link = join(room.fresh(), "link");
  symlinkSync(path, link);
  const before = [contentOf(path), contentOf(stack)];
  const message = "which the tensordict itself was loaded from or saved to";
  const saved = td({ a: filled(1) });
  const places = [
    join(path, "n"),
    join(path, "new"),
    join(link, "n"),
    join(path, "n", "deep"),
    join(path, "..", "saved", "x", "y"),
  ];
  for (const place of places) {
    for (const options of [{}, { atomic: true }, { archive: false }]) {
      expect(() => load(path).memmap(place, { copyExisting: true, ...options })).toThrow(message);
    }
    expect(() => load(path).memmap_(place, { copyExisting: true })).toThrow(message);
    expect(() => load(path).memmapLike(place)).toThrow(message);
    expect(() => td({ wrapped: load(path) }).memmap(place, { copyExisting: true })).toThrow(message);
    await expect(load(path).memmapAsync(place, { copyExisting: true })).rejects.toThrow(message);
  }
  expect(() => load(stack).memmap(join(stack, "2"), { copyExisting: true })).toThrow(message);
  expect([contentOf(path), contentOf(stack)]).toEqual(before);
  // Beside it, over it, or over one of its levels with that level.
  load(path).memmap(`${path}-other`, { copyExisting: true });
  load(path).memmap(path, { copyExisting: true });
  (load(path).get("n") as Td).memmap(join(path, "n"), { copyExisting: true });
  saved.memmap(join(path, "new"));
  expect(contentOf(`${path}-other`)).toEqual(before[0] as never);
});

test("an archive that would be unpacked over itself is refused", () => {
  const { path } = saved();
  const folder = room.fresh();
  const archive = join(folder, "a.memmap");
  packMemmap(path, archive);
  expect(() => unpackMemmap(archive, folder)).toThrow("has the archive itself under the name of one of its files");
  expect(existsSync(join(folder, "b.memmap"))).toBe(false);
  expect(holds(get(load(archive), "a"), 1)).toBe(true);
});

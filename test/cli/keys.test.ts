// Names of entries: one language for all formats, however a dot came into a name.
import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Keys } from "../../src/cli/keys.ts";
import { nearest, suggestion } from "../../src/cli/near.ts";
import { openSource } from "../../src/cli/source.ts";
import { ones } from "../../src/index.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { TensorDict } from "../../src/tensordict/index.ts";
import { zensor } from "./run.ts";

const dir = mkdtempSync(join(tmpdir(), "zensor-keys-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }), 60_000);

/** Numbers that are the same at each run. */
function drawing(seed: number): (n: number) => number {
  let state = seed;
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

type Tree = Map<string, Tree | null>;

/** Levels with keys that may have dots in them, such that no name stands for two entries. */
function drawn(draw: (n: number) => number, taken = new Set<string>(), before: string[] = []): Tree {
  const tree: Tree = new Map();
  const words = ["a", "b", "head", "w", "0", "1"];
  for (let i = 0; i < 1 + draw(4); i++) {
    const parts = Array.from({ length: 1 + draw(3) }, () => words[draw(words.length)] as string);
    const all = [...before, ...parts];
    const name = all.join(".");
    const clash = [...taken].some((own) => own === name || own.startsWith(`${name}.`) || name.startsWith(`${own}.`));
    if (clash) continue;
    const key = parts.join(".");
    if (before.length < 5 && draw(3) === 0) {
      const inner = drawn(draw, taken, all);
      if (inner.size > 0) tree.set(key, inner);
    } else {
      taken.add(name);
      tree.set(key, null);
    }
  }
  return tree;
}

function names(tree: Tree, before: readonly string[] = []): string[] {
  return [...tree].flatMap(([key, inner]) => {
    const path = [...before, key];
    return inner === null ? [path.join(".")] : names(inner, path);
  });
}

function asValue(tree: Tree): Map<string, unknown> {
  return new Map([...tree].map(([key, inner]) => [key, inner === null ? ones(1) : asValue(inner)]));
}

function leavesBelow(td: Td, path: readonly string[]): string[] {
  const at = path.reduce<unknown>((level, key) => (level as Td)._own(key), td);
  const visit = (entry: unknown, name: string): string[] => {
    const level = entry as Td;
    return level._kind === undefined
      ? [name]
      : [...level._keys()].flatMap((key) => visit(level._own(key), `${name}.${key}`));
  };
  return visit(at, path.join("."));
}

test("any beginning of a name finds what begins with it, in every format", async () => {
  const draw = drawing(37);
  for (let round = 0; round < 12; round++) {
    const tree = drawn(draw);
    const all = names(tree);
    if (all.length === 0) continue;
    const from = join(dir, `drawn${round}.pt`);
    saveTorch(asValue(tree), from);
    const sources = [from];
    for (const ending of ["", ".npz", ".safetensors", ".tdz", ".snapshot"]) {
      const to = join(dir, `drawn${round}${ending}`);
      expect(await zensor("convert", from, to)).toMatchObject({ code: 0, err: "" });
      sources.push(to);
    }
    const parts = all.map((name) => name.split("."));
    const wanted = new Set(parts.flatMap((list) => list.map((_, i) => list.slice(0, i + 1).join("."))));
    for (const source of sources) {
      const { td } = await openSource(source);
      for (const name of wanted) {
        const expected = all.filter((own) => own === name || own.startsWith(`${name}.`)).sort();
        for (const spelt of [name, name.replaceAll(".", "/"), `${name}.`]) {
          const found = new Keys([spelt]).all(td).flatMap((path) => leavesBelow(td, path));
          expect([source, spelt, found.sort()]).toEqual([source, spelt, expected]);
        }
      }
      expect(
        new Keys(["**"])
          .all(td)
          .flatMap((path) => leavesBelow(td, path))
          .sort(),
      ).toEqual([...all].sort());
    }
  }
}, 120_000);

test("an entry of a name counts before those that begin with it, unless there are wildcards", () => {
  const td = new TensorDict({ "l.b": ones(1), "l.b.scale": ones(1), l2: { "a.b": ones(1), a: { c: ones(1) } } }) as Td;
  const paths = (...texts: string[]) => new Keys(texts).all(td);
  expect(paths("l.b")).toEqual([["l.b"]]);
  expect(paths("l")).toEqual([["l.b"], ["l.b.scale"]]);
  expect(paths("l.b*")).toEqual([["l.b"], ["l.b.scale"]]);
  expect(paths("l2.a")).toEqual([
    ["l2", "a.b"],
    ["l2", "a"],
  ]);
  expect(paths("l2/a/b")).toEqual([["l2", "a.b"]]);
  expect(paths("l2.?")).toEqual([
    ["l2", "a.b"],
    ["l2", "a"],
  ]);
  expect(paths("**.c")).toEqual([["l2", "a", "c"]]);
  expect(paths("l2.a\\.b")).toEqual([["l2", "a.b"]]);
  expect(paths('["l2", "a", "c"]', "('l.b',)")).toEqual([["l2", "a", "c"], ["l.b"]]);
  for (const none of ["l2.a\\.c", "['l2', 'a.c']", "m", "l.b.scale.x", "L.b", "l2.ab"]) {
    expect(() => paths(none)).toThrow("there is no entry");
  }
  expect(() => paths("l.b.scale.x")).toThrow("l.b.scale is a tensor, which has no entries");
});

test("keys with commas and stars are found as they are", () => {
  const td = new TensorDict({ "a,b": ones(1), "x*": ones(1), xy: ones(1), c: ones(1) }) as Td;
  expect(new Keys(["a,b"]).all(td)).toEqual([["a,b"]]);
  expect(new Keys(["a\\,b,c"]).all(td)).toEqual([["a,b"], ["c"]]);
  expect(new Keys(["x*"]).all(td)).toEqual([["x*"]]);
  expect(new Keys(["x?"]).all(td)).toEqual([["x*"], ["xy"]]);
});

test("near names", () => {
  const names = ["inspect", "convert", "slice", "merge", "verify"];
  expect(nearest("inspct", names)).toEqual(["inspect"]);
  expect(nearest("vreify", names)).toEqual(["verify"]);
  expect(nearest("frobnicate", names)).toEqual([]);
  expect(suggestion("slic", names)).toBe(" Did you mean slice?");
  expect(suggestion("zzz", names)).toBe("");
});

// What holds for every function that writes.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, lazyStack, ones, Tensor, tensorclass, zeros } from "../../src/index.ts";
import { MemoryMappedTensor, NonTensorStack, TensorDict } from "../../src/tensordict/index.ts";
import { contentOf } from "../durability/writers.ts";
import { temporaryDirectory } from "../tensordict/helpers.ts";
import { TREE_WRITERS, type Tree } from "./all-writers.ts";

const room = temporaryDirectory();
afterAll(room.remove);

/** The error of a write that must fail. */
async function refusal(write: () => unknown): Promise<Error> {
  try {
    await write();
  } catch (error) {
    return error as Error;
  }
  throw new Error("nothing was refused");
}

/** An object whose keys are all its own. */
function own(entries: readonly [string, unknown][]): Tree {
  const tree: Tree = Object.create(null);
  for (const [key, value] of entries) tree[key] = value;
  return tree;
}

class Unknown {
  value = 1;
}

/** An object of a class that no file can name: whoever reads it does not find the class. */
function nameless(): unknown {
  const Made = class extends tensorclass({ x: Tensor }) {};
  return new (Made as unknown as new (fields: object) => object)({ x: ones(2) });
}

const levels = (depth: number): unknown => {
  let value: unknown = ones(2);
  for (let i = 0; i < depth; i++) value = { a: value };
  return value;
};

/** Values that most formats cannot hold, each for a reason of its own. */
const REFUSED: Record<string, () => unknown> = {
  "no bytes": () => zeros([3], { device: "meta" }),
  "resized away": () => {
    const tensor = ones(3000);
    tensor.untypedStorage().resize_(0);
    return tensor;
  },
  "a function": () => () => 1,
  "a symbol": () => Symbol("x"),
  "a date": () => new Date(0),
  "an object of a class": () => new Unknown(),
  "an object of a class in an array": () => [1, new Unknown()],
  "an object of a nameless class": nameless,
  "a big integer": () => 10n ** 30n,
  "an array with a hole": () => Array.from([1, 2, 3]).concat(new Array(2)),
  "a NUL": () => "a\0b",
  "an unusual dtype": () => ones(3).to("float8_e4m3fn"),
  "a wide dtype": () => ones(3).to("complex128"),
  "levels that are too deep for directories": () => levels(140),
  "a stack of values": () => NonTensorStack.of<string | number>("a", 1),
  "a stack of other shapes": () => lazyStack([new TensorDict({ a: ones(2) }), new TensorDict({ a: ones(3) })]),
  "a stack of other keys": () => lazyStack([new TensorDict({ a: ones(2) }), new TensorDict({ b: ones(2) })]),
  "a key with a NUL": () => ({ "a\0b": ones(2) }),
  "a long key": () => ({ ["k".repeat(300)]: ones(2) }),
};

const HALF = "a\ud800";
/** Half of a surrogate pair in every place that a format has for texts, and what errors call it. */
const HALVES: [string, Tree, string, flat: boolean][] = [
  [
    "a key of a tensor",
    own([
      ["a", arange(2)],
      [HALF, arange(3)],
    ]),
    '"a\\ud800"',
    true,
  ],
  [
    "a key of a level",
    own([
      ["a", arange(2)],
      [HALF, { b: arange(3) }],
    ]),
    '"a\\ud800"',
    false,
  ],
  ["a key in a level", { a: arange(2), n: { [HALF]: arange(3) } }, '\\ud800"', false],
  [
    "a key of a value",
    own([
      ["a", arange(2)],
      [HALF, "text"],
    ]),
    '"a\\ud800"',
    false,
  ],
  ["a value", { a: arange(2), text: `${HALF}!` }, '"a\\ud800!"', false],
  [
    "a key next to its twin",
    own([
      ["a\udfff", arange(2)],
      [HALF, arange(3)],
    ]),
    "\\ud",
    true,
  ],
];

describe.each(TREE_WRITERS.map((writer) => [writer.name, writer] as const))("%s", (_, writer) => {
  test.each(HALVES.filter(([, , , flat]) => flat || !writer.flat))(
    "refuses half of a surrogate pair: %s",
    async (_what, tree, named) => {
      const folder = room.fresh();
      const path = join(folder, writer.target);
      if (!writer.once) await writer.write({ a: arange(4), b: arange(5) }, path);
      const before = contentOf(folder);
      const { message, name } = await refusal(() => writer.write(tree, path));
      expect(message).toContain("half of a surrogate pair");
      expect(message).toContain(named);
      expect(["ValueError", "KeyError"]).toContain(name);
      expect(contentOf(folder)).toEqual(before);
    },
  );

  test("what it refuses leaves the old target", async () => {
    const folder = room.fresh();
    const path = join(folder, writer.target);
    if (!writer.once) await writer.write({ a: arange(4000), good: arange(5) }, path);
    let before = contentOf(folder);
    for (const [what, make] of Object.entries(REFUSED)) {
      let failed = false;
      const value = make();
      const target = writer.once ? join(folder, `${what}-${writer.target}`) : path;
      try {
        await writer.write({ good: arange(4000), x: value }, target);
      } catch (error) {
        failed = true;
        expect([what, typeof (error as { code?: unknown }).code]).toEqual([what, "string"]);
      }
      if (failed) expect([what, contentOf(folder)]).toEqual([what, before]);
      else {
        // What is not refused can be read.
        expect([what, Object.hasOwn(writer.read(target), "x")]).toEqual([what, true]);
        rmSync(target, { recursive: true, force: true });
        if (!writer.once) await writer.write({ a: arange(4000), good: arange(5) }, path);
        before = contentOf(folder);
      }
    }
  });

  test("refuses half of a surrogate pair in its own name", async () => {
    const folder = room.fresh();
    const { message } = await refusal(() => writer.write({ a: arange(4) }, `${folder}/x\ud800-${writer.target}`));
    expect(message).toContain("half of a surrogate pair");
    expect(contentOf(folder)).toEqual({});
  });

  test("keeps whole pairs, and keys that objects have a meaning for", async () => {
    const path = join(room.fresh(), writer.target);
    const keys = ["🔑", "__proto__", "constructor", "toString", "hasOwnProperty", "漢字"];
    await writer.write(own(keys.map((key, i) => [key, arange(i + 1)])), path);
    const back = writer.read(path);
    for (const [i, key] of keys.entries()) {
      expect(Object.hasOwn(back, key)).toBe(true);
      expect((back[key] as Tensor).tolist()).toEqual(Array.from({ length: i + 1 }, (_, k) => k));
    }
    expect(Object.keys(back).length).toBe(keys.length);
  });

  test("tells the path as it was given", async () => {
    const folder = room.fresh();
    const missing = join("none", writer.target);
    const before = process.cwd();
    process.chdir(folder);
    try {
      const told = await refusal(() => writer.read(missing));
      expect(told.message).toContain(missing);
      expect(told.message).not.toContain(folder);
      // No directory can be made where a file is.
      writeFileSync("file", "");
      const inside = join("file", writer.target);
      const { message } = await refusal(() => writer.write({ a: arange(3) }, inside));
      expect(message).toContain("file");
      expect(message).not.toMatch(/tmp-|\.new-|tdtmp/);
      expect(message).not.toContain(folder);
      const full = await refusal(() => writer.read(join(folder, missing)));
      expect(full.message).toContain(join(folder, missing));
    } finally {
      process.chdir(before);
    }
  });

  test("gives back what it was given", async () => {
    const path = join(room.fresh(), writer.target);
    const tree = writer.flat ? { a: arange(5), b: arange(3) } : { a: arange(5), n: { b: arange(3) }, s: "text" };
    await writer.write(tree, path);
    const read = writer.read(path) as { a: Tensor; b: Tensor; n: { b: Tensor }; s: string };
    expect(read.a.tolist()).toEqual([0, 1, 2, 3, 4]);
    expect((writer.flat ? read.b : read.n.b).tolist()).toEqual([0, 1, 2]);
    if (!writer.flat) expect(read.s).toBe("text");
  });

  test("tells of a source file that was cut short, and leaves the old target", async () => {
    const folder = room.fresh();
    const source = join(room.fresh(), "source.memmap");
    const path = join(folder, writer.target);
    if (!writer.once) await writer.write({ a: arange(4096) }, path);
    const before = contentOf(folder);
    const tensor = MemoryMappedTensor.full([65536], 3, { filename: source });
    truncateSync(source, 4096);
    // In place on its way to the file, and copied on its way.
    for (const each of [tensor, tensor.view(256, 256).t()]) {
      const { message } = await refusal(() => writer.write({ a: each }, path));
      expect(message).toContain(`the file ${source} is shorter than when it was mapped`);
      if (!writer.oneByOne) expect(contentOf(folder)).toEqual(before);
    }
  });
});

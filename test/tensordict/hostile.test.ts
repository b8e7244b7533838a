// Damaged and malicious directories: one clear error each, and nothing outside the directory is touched.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { arange } from "../../src/index.ts";
import { FileNotFoundError } from "../../src/io/base/errors.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { lazyStack, MemoryMappedTensor, TensorDict } from "../../src/tensordict/index.ts";
import { filesBelow, temporaryDirectory, unpack } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;

function copyOf(name: string): string {
  return unpack(name, join(room.path, String(count++)));
}

function edit(path: string, change: (text: string) => string): void {
  writeFileSync(path, change(readFileSync(path, "utf8")));
}

describe("tensor files", () => {
  test("missing", () => {
    const path = copyOf("plain");
    rmSync(join(path, "a.memmap"));
    expect(() => TensorDict.loadMemmap(path)).toThrow(FileNotFoundError);
  });
  test("truncated: an error, and the file stays as it is", () => {
    const path = copyOf("plain");
    truncateSync(join(path, "a.memmap"), 4);
    expect(() => TensorDict.loadMemmap(path)).toThrow(/size <4> is smaller than the required mapping size <24>/);
    expect(statSync(join(path, "a.memmap")).size).toBe(4);
  });
  test("longer than needed is accepted", () => {
    const path = copyOf("plain");
    writeFileSync(join(path, "b.memmap"), Buffer.alloc(40));
    expect(TensorDict.loadMemmap(path).at("b").tolist()).toEqual([0, 0]);
  });
  test("a directory in place of a file", () => {
    const path = copyOf("plain");
    rmSync(join(path, "a.memmap"));
    mkdirSync(join(path, "a.memmap"));
    expect(() => TensorDict.loadMemmap(path)).toThrow();
  });
});

describe("meta.json", () => {
  const changes: [string, (text: string) => string, RegExp][] = [
    ["huge shape", (t) => t.replace("[2, 3]", "[2, 1152921504606846976]"), /shape is not a list|too large/],
    [
      "shape beyond the file",
      (t) => t.replace("[2, 3]", "[2, 4503599627370]"),
      /smaller than the required mapping size/,
    ],
    ["overflowing shape", (t) => t.replace("[2, 3]", "[2, 9007199254740991, 9]"), /too large/],
    ["negative size", (t) => t.replace("[2, 3]", "[2, -3]"), /shape is not a list/],
    ["fractional size", (t) => t.replace("[2, 3]", "[2, 3.5]"), /shape is not a list/],
    ["too many dimensions", (t) => t.replace("[2, 3]", `[${"1, ".repeat(64)}1]`), /shape is not a list/],
    ["unknown dtype", (t) => t.replace("torch.float32", "torch.float999"), /unsupported dtype "torch.float999"/],
    ["dtype without torch", (t) => t.replace("torch.float32", "float32"), /unsupported dtype/],
    [
      "batch size mismatch",
      (t) => t.replace('"shape": [2], "device": "cpu", "_type"', '"shape": [3], "device": "cpu", "_type"'),
      /does not begin with the batch size/,
    ],
    ["no batch size", (t) => t.replace(/"shape": \[2\], "device": "cpu", "_type"/, '"_type"'), /it has no batch size/],
    [
      "newer format",
      (t) => t.replace('"_format_version": 1', '"_format_version": 99'),
      /was saved in the format version 99/,
    ],
    ["no type", (t) => t.replace('"_type"', '"_kind"'), /_type is missing/],
    ["duplicate keys", (t) => t.replace('{"a"', '{"b": {}, "a"'), /duplicate key/],
    ["not JSON", () => "{", /text ends|expected/],
    ["a list", () => "[]", /expected an object/],
    ["truncated", (t) => t.slice(0, 100), /text ends|expected/],
    ["deep", () => "[".repeat(1_000_000), /nesting exceeds/],
    ["entry is a number", (t) => t.replace('{"a"', '{"z": 3, "a"'), /neither a tensor nor a directory/],
    [
      "entry is a directory that is missing",
      (t) => t.replace('{"a"', '{"z": {"type": "TensorDict"}, "a"'),
      /No such file or directory/,
    ],
  ];
  for (const [what, change, reason] of changes) {
    test(what, () => {
      const path = copyOf("plain");
      edit(join(path, "meta.json"), change);
      expect(() => TensorDict.loadMemmap(path)).toThrow(reason);
    });
  }
  test("missing", () => {
    expect(() => TensorDict.loadMemmap(join(room.path, "nonexistent"))).toThrow(
      `[Errno 2] No such file or directory: '${join(room.path, "nonexistent", "meta.json")}'`,
    );
  });
  test("keys that point outside are names inside", () => {
    const path = copyOf("plain");
    const outside = join(path, "..", "outside");
    mkdirSync(outside, { recursive: true });
    writeFileSync(join(outside, "meta.json"), readFileSync(join(path, "meta.json")));
    edit(join(path, "meta.json"), (t) => t.replace('{"a"', '{"../outside": {"type": "TensorDict"}, "a"'));
    expect(() => TensorDict.loadMemmap(path)).toThrow(FileNotFoundError);
    edit(join(path, "meta.json"), (t) =>
      t.replace('"../outside": {"type": "TensorDict"}', '"..": {"type": "TensorDict"}'),
    );
    expect(() => TensorDict.loadMemmap(path)).toThrow(FileNotFoundError);
  });
  test("a directory that contains itself ends", () => {
    const path = copyOf("plain");
    edit(join(path, "meta.json"), (t) => t.replace('{"a"', '{"loop": {"type": "TensorDict"}, "a"'));
    symlinkSync(path, join(path, "loop"));
    expect(() => TensorDict.loadMemmap(path)).toThrow("it is a link to a folder that it lies in");
  });
  test("a lazy stack along a dimension that its members do not have, or of members that differ", () => {
    const stack = (batch: number[][]) => {
      const path = copyOf("plain");
      rmSync(path, { recursive: true });
      lazyStack(batch.map((size) => new TensorDict({}, size) as unknown as Td)).memmap(path);
      return path;
    };
    const path = stack([[2], [2]]);
    edit(join(path, "meta.json"), (t) => t.replace('"stack_dim": 0', '"stack_dim": 2'));
    expect(() => TensorDict.loadMemmap(path)).toThrow("meta.json: stack_dim is not a dimension");
    edit(join(path, "meta.json"), (t) => t.replace('"stack_dim": 2', '"stack_dim": 1'));
    expect([...TensorDict.loadMemmap(path).batchSize]).toEqual([2, 2]);
    edit(join(path, "1", "meta.json"), (t) => t.replace('"shape": [2]', '"shape": [3]'));
    expect([...TensorDict.loadMemmap(path).batchSize]).toEqual([-1, 2]);
    edit(join(path, "1", "meta.json"), (t) => t.replace('"shape": [3]', '"shape": [3, 1]'));
    expect(() => TensorDict.loadMemmap(path)).toThrow("members of a stack have batches of different numbers of dimen");
  });
  test("members of a stack with a tensor here and a value there under one key", () => {
    const values = [arange(2), "text"].map((x) => new TensorDict({ x, y: arange(1) }, []) as unknown as Td);
    const stack = lazyStack(values);
    expect(() => stack.get("x")).toThrow("under key 'x' are tensors in some members and not in others");
    expect(String(stack)).toContain("x: [Tensor, NonTensorData],");
    expect(String(stack)).toContain("y: Tensor(");
  });
  test("a lazy stack with a lost member", () => {
    const path = copyOf("lazy");
    rmSync(join(path, "0"), { recursive: true });
    expect(() => TensorDict.loadMemmap(path)).toThrow();
  });
});

describe("saving", () => {
  test("refuses symbolic links inside the target", () => {
    const td = new TensorDict({ a: [1, 2], n: { b: [3] } });
    const path = join(room.path, "links");
    mkdirSync(path);
    writeFileSync(join(room.path, "victim"), "untouched");
    symlinkSync(join(room.path, "victim"), join(path, "a.memmap"));
    expect(() => td.memmap(path)).toThrow("Refusing to write memory-mapped tensor through symlink");
    expect(readFileSync(join(room.path, "victim"), "utf8")).toBe("untouched");
    rmSync(join(path, "a.memmap"));
    symlinkSync(room.path, join(path, "n2"));
    expect(() => new TensorDict({ n2: { b: 1 } }).memmap(path)).toThrow("through symlink");
  });
  test("keys that Python loses or cannot name are errors", () => {
    const target = join(room.path, "keys");
    for (const key of ["shape", "device", "_type"]) {
      expect(() => new TensorDict(new Map([[key, 1]])).memmap(target)).toThrow(`The key '${key}' cannot be saved`);
    }
    expect(() => new TensorDict({ "meta.json": { v: 1 } }).memmap(target)).toThrow("that of the metadata");
    expect(() => new TensorDict({ ["k".repeat(300)]: 1 }).memmap(target)).toThrow("more than 255");
    expect(() => new TensorDict({ "s\ud800": 1 }).memmap(target)).toThrow("surrogate");
    expect(() =>
      new TensorDict(
        new Map<string, unknown>([
          ["a", 1],
          ["a.memmap", { b: 1 }],
        ]),
      ).memmap(target),
    ).toThrow("its file a.memmap is that of");
    expect(() => new TensorDict({ "../x": 1 }).memmap(target, { robustKey: false })).toThrow("no file name");
    expect(existsSync(join(room.path, "x.memmap"))).toBe(false);
  });
  test("values that JSON cannot hold are errors", () => {
    expect(() => new TensorDict({ d: new Date() }).memmap(join(room.path, "date"))).toThrow("saved as JSON");
  });
  test("existing files can be an error", () => {
    const path = join(room.path, "exists");
    new TensorDict({ a: [1] }).memmap(path);
    expect(() => new TensorDict({ a: [1] }).memmap(path, { existsok: false })).toThrow(
      `The file ${join(path, "a.memmap")} already exists.`,
    );
  });
  test("a shorter lazy stack over a longer one loads as the shorter one", () => {
    const path = join(room.path, "lazies");
    const member = (x: number) => new TensorDict({ a: [x] });
    TensorDict.lazyStack([member(1), member(2), member(3)]).memmap(path);
    TensorDict.lazyStack([member(1), member(2)]).memmap(path);
    expect(TensorDict.loadMemmap(path).batchSize).toEqual([2] as never);
  });
});

test("from a file that is too small: an error, not a longer file", () => {
  const path = join(room.path, "raw.memmap");
  writeFileSync(path, Buffer.alloc(8));
  expect(() => MemoryMappedTensor.fromFilename(path, { shape: [20] })).toThrow("smaller than");
  expect(statSync(path).size).toBe(8);
});

describe("a save that is refused changes nothing", () => {
  const old = () => new TensorDict({ a: [1, 2], n: { b: [3, 4] }, s: "text" });
  const next = () =>
    new Map<string, unknown>([
      ["a", [5]],
      ["n", { b: [6], c: { d: 1 } }],
      ["s", "new"],
    ]);
  const cases: [string, (path: string, td: Map<string, unknown>) => object | undefined, string][] = [
    ["a key that cannot be saved", (_, td) => void td.set("shape", 1), "cannot be saved"],
    ["a value that is no JSON", (_, td) => void td.set("f", () => 1), "saved as JSON"],
    ["a directory in the place of a tensor", (path) => void mkdirSync(join(path, "z.memmap")), "not a regular file"],
    ["a file in the place of a directory", (path) => void writeFileSync(join(path, "n", "c"), ""), "no directory"],
    ["a link in the place of a tensor", (path) => void symlinkSync("/dev/null", join(path, "z.memmap")), "symlink"],
    [
      "a link in the place of metadata",
      (path) => void symlinkSync("/dev/null", join(path, "z", "meta.json")),
      "symlink",
    ],
    ["existing files, with existsok: false", () => ({ existsok: false }), "already exists"],
  ];
  for (const [name, prepare, reason] of cases) {
    test(name, () => {
      const path = join(room.path, `refused ${name}`);
      old().memmap(path);
      if (name.includes("metadata")) mkdirSync(join(path, "z"));
      const content = next();
      const options = prepare(path, content) ?? {};
      if (name.includes("tensor")) content.set("z", [7]);
      if (name.includes("metadata")) content.set("z", { q: 1 });
      const before = filesBelow(path);
      expect(() => new TensorDict(content).memmap(path, options)).toThrow(reason);
      expect(filesBelow(path)).toEqual(before);
      expect(existsSync(join(path, "n", "c", "meta.json"))).toBe(false);
    });
  }
  test("nothing is made where nothing was", () => {
    const path = join(room.path, "nothing");
    expect(() => new TensorDict({ n: { b: 1 }, device: 1 }).memmap(path)).toThrow("cannot be saved");
    expect(existsSync(path)).toBe(false);
  });
});

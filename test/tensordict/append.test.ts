// Appending rows to saved TensorDicts: files and metadata as Python's library leaves them, refusals, ended processes.
import "../../src/install.ts";
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor, zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { appendMemmap, NonTensorStack, TensorDict } from "../../src/tensordict/index.ts";
import { Point } from "./classes.ts";
import { filesBelow, temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const fresh = () => join(room.path, String(count++));
const load = (path: string) => TensorDict.loadMemmap(path) as unknown as Td;
const td = (source: Record<string, unknown>, batchSize: number[]) => new TensorDict(source, batchSize) as unknown as Td;
const TAIL =
  '"device": "cpu", "_type": "<class \'tensordict._td.TensorDict\'>", "_format_version": 1, ' +
  '"_class": "tensordict:TensorDict"';
const PENDING = ".meta.json.append.tmp";

function sample(rows: number, value: number): Td {
  const b = zeros([rows, 4], { dtype: "int64" }).add(value);
  return td({ a: zeros([rows, 2]).add(value), n: td({ b }, [rows, 4]), s: "x" }, [rows]);
}

describe("growing", () => {
  test("files and metadata of all levels", () => {
    const path = fresh();
    const before = sample(3, 1).memmap(path);
    appendMemmap(path, sample(2, 7));
    expect(readFileSync(join(path, "meta.json"), "utf8")).toBe(
      '{"a": {"device": "cpu", "shape": [5, 2], "dtype": "torch.float32", "is_nested": false}, ' +
        `"n": {"type": "TensorDict"}, "s": {"type": "NonTensorData"}, "shape": [5], ${TAIL}}`,
    );
    expect(readFileSync(join(path, "n", "meta.json"), "utf8")).toBe(
      '{"b": {"device": "cpu", "shape": [5, 4], "dtype": "torch.int64", "is_nested": false}, ' +
        `"shape": [5, 4], ${TAIL}}`,
    );
    expect([statSync(join(path, "a.memmap")).size, statSync(join(path, "n/b.memmap")).size]).toEqual([40, 160]);
    const after = load(path);
    expect((after.at("a") as Tensor).sum(1).tolist()).toEqual([2, 2, 2, 14, 14]);
    expect((after.at(["n", "b"]) as Tensor).at(4).tolist()).toEqual([7, 7, 7, 7]);
    expect((before.at("a") as Tensor).shape).toEqual([3, 2] as never);
    expect([...filesBelow(path).keys()].some((name) => name.endsWith(".tmp"))).toBe(false);
  });
  test("no rows before, none to add, an empty TensorDict, dimension names", () => {
    const path = fresh();
    td({ a: zeros([0, 3]) }, [0]).memmap(path);
    appendMemmap(path, td({ a: zeros([2, 3]).add(1) }, [2]));
    appendMemmap(path, td({ a: zeros([0, 3]) }, [0]));
    expect((load(path).at("a") as Tensor).sum().item()).toBe(6);
    const empty = fresh();
    td({}, [2]).memmap(empty);
    appendMemmap(empty, td({}, [2]));
    expect(readFileSync(join(empty, "meta.json"), "utf8")).toBe(`{"shape": [4], ${TAIL}}`);
    const named = fresh();
    new TensorDict({ a: zeros([1, 3]) }, { batchSize: [1], names: ["t"] }).memmap(named);
    appendMemmap(named, td({ a: zeros([2, 3]) }, [2]));
    expect(readFileSync(join(named, "meta.json"), "utf8")).toEndWith('"_names": ["t"]}');
    expect(load(named).names).toEqual(["t"]);
  });
  test("a longer file, entries that came late, rows mapped from the same file", () => {
    const path = fresh();
    const saved = td({ a: tensor([1, 2]) }, [2]).memmap(path);
    saved.makeMemmap("late", [2, 3]);
    writeFileSync(join(path, "a.memmap"), Buffer.alloc(64, 0x7f), { flag: "r+" });
    saved.set_("a", tensor([1, 2]));
    const own = load(path);
    appendMemmap(path, own);
    expect((load(path).at("a") as Tensor).tolist()).toEqual([1, 2, 1, 2]);
    expect(statSync(join(path, "a.memmap")).size).toBe(64);
    expect(readFileSync(join(path, "meta.json"), "utf8")).toBe(
      '{"a": {"device": "cpu", "shape": [4], "dtype": "torch.float32", "is_nested": false}, "shape": [4], ' +
        `${TAIL}, "late": {"device": "cpu", "shape": [4, 3], "dtype": "torch.float32", "is_nested": false}}`,
    );
  });
  test("a tensorclass", () => {
    const path = fresh();
    const point = () => new Point({ x: zeros([2, 3]).add(1), label: "l" }, { batchSize: [2] }) as unknown as Td;
    point().memmap(path);
    appendMemmap(path, point());
    expect(load(path).batchSize).toEqual([4] as never);
    expect(() => appendMemmap(path, td({ x: zeros([2, 3]), label: "l" }, [2]))).toThrow(
      "Cannot append a TensorDict to the saved tensordict, a Point.",
    );
  });
  test("values that are no tensors are one value or a stack of equal ones", () => {
    const path = fresh();
    td({ s: "x" }, [2]).memmap(path);
    appendMemmap(path, td({ s: NonTensorStack.of("x", "x") }, [2]));
    expect(load(path).batchSize).toEqual([4] as never);
    expect(() => appendMemmap(path, td({ s: NonTensorStack.of("x", "y") }, [2]))).toThrow(
      "Cannot append to the entry 's': the saved non-tensor value 'x' stays as it is, so the rows must hold the same " +
        "value, not 'y'.",
    );
  });
});

describe("what does not fit is refused, and nothing changes", () => {
  const rows = (change: Record<string, unknown>, batchSize = [2]) =>
    td({ a: zeros([2, 2]), n: td({ b: zeros([2, 4], { dtype: "int64" }) }, [2, 4]), s: "x", ...change }, batchSize);
  const cases: [string, () => Td, string][] = [
    [
      "a dtype",
      () => rows({ a: zeros([2, 2], { dtype: "float64" }) }),
      "Cannot append rows of dtype torch.float64 and shape (2, 2) to the entry 'a', of dtype torch.float32 and shape " +
        "(3, 2).",
    ],
    [
      "a nested shape",
      () => rows({ n: td({ b: zeros([2, 4, 1], { dtype: "int64" }) }, [2, 4]) }),
      "Cannot append rows of dtype torch.int64 and shape (2, 4, 1) to the entry ('n', 'b'), of dtype torch.int64 and " +
        "shape (3, 4).",
    ],
    [
      "a key too many",
      () => rows({ z: zeros([2]) }),
      "Cannot append rows with the keys ['a', 'n', 's', 'z'] to the saved tensordict, which has the keys " +
        "['a', 'n', 's'].",
    ],
    [
      "another nested key",
      () => rows({ n: td({ c: zeros([2, 4]) }, [2, 4]) }),
      "Cannot append rows with the keys ['c'] to the entry 'n', which has the keys ['b'].",
    ],
    ["a tensor for a level", () => rows({ n: zeros([2]) }), "Cannot append a Tensor to the entry 'n', a TensorDict."],
    ["a level for a tensor", () => rows({ a: td({}, [2]) }), "Cannot append a TensorDict to the entry 'a', a tensor."],
    [
      "another nested batch size",
      () => rows({ n: td({ b: zeros([2, 4], { dtype: "int64" }) }, [2]) }),
      "Cannot append rows of batch size torch.Size([2]) to the entry 'n', of batch size torch.Size([3, 4]): they " +
        "differ beyond the first dimension.",
    ],
    ["another value", () => rows({ s: "y" }), "must hold the same value, not 'y'."],
    [
      "no rows",
      () => td({}, []),
      "the saved tensordict (batch size torch.Size([3])) and the rows (batch size torch.Size([])) must both have.",
    ],
  ];
  test.each(cases)("%s", (_what, made, message) => {
    const path = fresh();
    sample(3, 1).memmap(path);
    const before = filesBelow(path);
    expect(() => appendMemmap(path, made())).toThrow(message);
    expect(filesBelow(path)).toEqual(before);
  });
  test("lazy stacks, stacks of values, no directory", () => {
    const member = () => td({ a: zeros([2]) }, []);
    const lazy = TensorDict.lazyStack([member(), member()]) as unknown as Td;
    const path = fresh();
    lazy.memmap(path);
    expect(() => appendMemmap(path, lazy)).toThrow(
      "Cannot append a LazyStackedTensorDict to the saved tensordict, a LazyStackedTensorDict.",
    );
    const holder = td({ l: lazy }, [2]);
    const inner = fresh();
    holder.memmap(inner);
    expect(() => appendMemmap(inner, holder)).toThrow("Cannot append to the entry 'l': a lazy stack cannot grow.");
    const values = td({ s: NonTensorStack.of("a", "b") }, [2]);
    const stacks = fresh();
    values.memmap(stacks);
    expect(() => appendMemmap(stacks, values)).toThrow("a NonTensorStack: a stack of non-tensor values cannot grow.");
    expect(() => appendMemmap(fresh(), values)).toThrow("is not one. An archive cannot grow: unpack it first.");
  });
  test("damaged directories: short or missing files, levels of other lengths, links", () => {
    const path = fresh();
    sample(3, 1).memmap(path);
    truncateSync(join(path, "a.memmap"), 4);
    expect(() => appendMemmap(path, sample(2, 1))).toThrow("4 bytes are fewer than 24");
    rmSync(join(path, "a.memmap"));
    expect(() => appendMemmap(path, sample(2, 1))).toThrow("0 bytes are fewer than 24");
    expect(statSync(join(path, "n/b.memmap")).size).toBe(96);
    const uneven = fresh();
    sample(3, 1).memmap(uneven);
    sample(4, 1).memmap(`${uneven}-other`);
    rmSync(join(uneven, "n"), { recursive: true });
    renameSync(join(`${uneven}-other`, "n"), join(uneven, "n"));
    expect(() => appendMemmap(uneven, sample(2, 1))).toThrow("it has 4 rows, the outermost level 3");
    const linked = fresh();
    sample(3, 1).memmap(linked);
    const victim = join(room.path, "victim");
    writeFileSync(victim, Buffer.alloc(96, 1));
    rmSync(join(linked, "n/b.memmap"));
    symlinkSync(victim, join(linked, "n/b.memmap"));
    expect(() => appendMemmap(linked, sample(2, 1))).toThrow("symlink");
    expect(readFileSync(victim)).toEqual(Buffer.alloc(96, 1));
    expect(statSync(join(linked, "a.memmap")).size).toBe(24);
    expect(() => load(linked)).toThrow("is a symbolic link out of the folder");
    const followed = TensorDict.loadMemmap(linked, { followLinks: true }) as unknown as Td;
    expect((followed.at("a") as Tensor).shape).toEqual([3, 2] as never);
  });
});

describe("an append that was killed midway", () => {
  /** A directory of three rows, and beside it the metadata that two more rows would give. */
  function grown(): { path: string; text: (level: string) => string } {
    const path = fresh();
    sample(3, 1).memmap(path);
    const later = fresh();
    sample(5, 1).memmap(later);
    return { path, text: (level) => readFileSync(join(later, level, "meta.json"), "utf8") };
  }
  test("before the first level was replaced: the old rows stay", () => {
    const { path, text } = grown();
    truncateSync(join(path, "a.memmap"), 40);
    writeFileSync(join(path, PENDING), '{"half of the te');
    writeFileSync(join(path, "n", PENDING), text("n"));
    expect(load(path).batchSize).toEqual([3] as never);
    appendMemmap(path, sample(1, 5));
    expect((load(path).at("a") as Tensor).sum(1).tolist()).toEqual([2, 2, 2, 10]);
    expect(existsSync(join(path, PENDING)) || existsSync(join(path, "n", PENDING))).toBe(false);
  });
  test("between the levels: the new rows are there", () => {
    const { path, text } = grown();
    truncateSync(join(path, "a.memmap"), 40);
    truncateSync(join(path, "n/b.memmap"), 160);
    writeFileSync(join(path, "meta.json"), text(""));
    writeFileSync(join(path, "n", PENDING), text("n"));
    expect(() => load(path)).toThrow("does not begin with the batch size");
    appendMemmap(path, sample(1, 5));
    expect((load(path).at("a") as Tensor).sum(1).tolist()).toEqual([2, 2, 2, 0, 0, 10]);
  });
  test("a waiting file that is a link or a directory is no metadata", () => {
    const { path } = grown();
    const before = readFileSync(join(path, "meta.json"), "utf8");
    linkSync(join(path, "meta.json"), join(path, "..", `kept-${count}`));
    symlinkSync(join(path, "meta.json"), join(path, "n", PENDING));
    expect(() => appendMemmap(path, sample(1, 5))).toThrow("File exists");
    expect(readFileSync(join(path, "meta.json"), "utf8")).toBe(before);
    expect(load(path).batchSize).toEqual([3] as never);
    const looped = fresh();
    sample(2, 1).memmap(looped);
    rmSync(join(looped, "a.memmap"));
    symlinkSync("a.memmap", join(looped, "a.memmap"));
    expect(() => appendMemmap(looped, sample(1, 5))).toThrow("Too many levels of symbolic links");
    // It is not ours: it stays, and nothing grew.
    expect(lstatSync(join(path, "n", PENDING)).isSymbolicLink()).toBe(true);
    const size = statSync(join(path, "a.memmap")).size;
    rmSync(join(path, "n", PENDING));
    mkdirSync(join(path, "n", PENDING));
    expect(() => appendMemmap(path, sample(1, 5))).toThrow("File exists");
    expect(statSync(join(path, "a.memmap")).size).toBe(size);
  });
});

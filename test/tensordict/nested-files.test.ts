// Nested tensors and files of tensors: .pt files are read, and what cannot hold them says so. The files are Python's.
import "../../src/index.ts";
import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { arange, type NestedTensor, nested, tensor, zeros } from "../../src/index.ts";
import { readDirectory } from "../../src/io/memmap/memmap-read.ts";
import type { NestedNode, TensorDictNode } from "../../src/io/memmap/tree.ts";
import { selectKeys, selectRows } from "../../src/io/memmap/tree-select.ts";
import { saveNpz } from "../../src/io/numpy/npz.ts";
import { saveSafetensors } from "../../src/io/safetensors/safetensors.ts";
import { Snapshot, StateDict } from "../../src/io/snapshot/snapshot.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { loadMemmapAsync, TensorDict } from "../../src/tensordict/index.ts";
import { nestedFromParts } from "../../src/tensordict/ops/nested-parts.ts";
import fixtures from "../fixtures/tensordict/nested.json" with { type: "json" };
import { temporaryDirectory } from "./helpers.ts";

const room = temporaryDirectory();
afterAll(room.remove);
let count = 0;
const place = () => join(room.path, String(count++));
const matrices = () =>
  [2, 4].map((n) =>
    arange(3 * n)
      .to("float32")
      .reshape([n, 3]),
  );

describe(".pt files", () => {
  test("Python's are read", () => {
    const path = `${place()}.pt`;
    writeFileSync(path, Buffer.from(fixtures.pt, "base64"));
    const { matrix, transposed, scalars, empty, grad, td } = loadTorch(path) as Record<string, NestedTensor>;
    expect(matrix?.tolist()).toEqual(matrices().map((t) => t.tolist()));
    expect(transposed?.tolist()).toEqual(matrices().map((t) => t.t().tolist()));
    expect([scalars?.tolist(), empty?.tolist(), grad?.tolist()]).toEqual([[1, 2], [], [[1]]]);
    expect([matrix?.requiresGrad, grad?.requiresGrad]).toEqual([false, true]);
    expect(((td as unknown as Td).at("j") as unknown as NestedTensor).tolist()).toEqual(matrix?.tolist() as never);
  });
  test("none are written: torch does not load them by default", () => {
    const path = `${place()}.pt`;
    expect(() => saveTorch({ td: new TensorDict({ j: nested.nestedTensor([[1]]) }) }, path)).toThrow(
      /is not possible with the nested tensor under key 'j'/,
    );
    expect(() => saveTorch([nested.nestedTensor([[1]])], path)).toThrow("a NestedTensor cannot be saved");
    expect(existsSync(path)).toBe(false);
  });
  test("parts that do not fit", () => {
    const whole = (values: readonly (number | readonly number[])[]) => tensor(values as number[], { dtype: "int64" });
    const values = arange(6).to("float32");
    const [sizes, strides, offsets] = [whole([[2], [4]]), whole([[1], [1]]), whole([0, 2])];
    expect(nestedFromParts([values, sizes, strides, offsets], "a.pt").at(1).tolist()).toEqual([2, 3, 4, 5]);
    const swapped = nestedFromParts([values, whole([[4], [2]]), strides, whole([2, 0])], "a.pt");
    expect(swapped.tolist()).toEqual([
      [2, 3, 4, 5],
      [0, 1],
    ]);
    const attacks: [unknown[], RegExp][] = [
      [[values, sizes, strides], /without its elements/],
      [[zeros([2, 3]), sizes, strides, offsets], /without its elements/],
      [[values, sizes.to("int32"), strides, offsets], /sizes of a nested tensor are no int64/],
      [[values, sizes, strides, "x"], /offsets of a nested tensor are no int64/],
      [[values, whole([[2], [-4]]), strides, offsets], /sizes of a nested tensor hold something else/],
      [[values, sizes, whole([[1], [-1]]), offsets], /strides of a nested tensor hold/],
      [[values, whole([2, 4]), strides, offsets], /do not fit its components/],
      [[values, whole([[2]]), whole([[1]]), offsets], /do not fit its components/],
      [[values, sizes, whole([[1, 1]]), offsets], /do not fit its components/],
      [[values, whole([[2], [5]]), strides, offsets], /reaches beyond its 6 elements/],
      [[values, sizes, whole([[1], [2]]), offsets], /reaches beyond/],
      [[values, sizes, whole([[1], [2 ** 52]]), offsets], /reaches beyond/],
      [[values, whole([[2], [2 ** 50]]), whole([[1], [0]]), offsets], /more elements than it was saved with/],
    ];
    for (const [parts, message] of attacks) expect(() => nestedFromParts(parts, "a.pt")).toThrow(message);
  });
});

describe("parts of a tree", () => {
  const path = place();
  const level = () => readDirectory(path) as TensorDictNode;
  const saved = { j: nested.nestedTensor([[1], [2, 3], [4, 5, 6]]), scalars: nested.nestedTensor([7, 8, 9]) };
  new TensorDict(saved, [3]).memmap(path);
  test("rows are a range of the elements", () => {
    const { entries } = selectRows(level(), 1, 3) as TensorDictNode;
    const j = entries.get("j") as NestedNode;
    expect([j.count, [...j.sizes], j.values.offset]).toEqual([2, [2, 3], 4]);
    expect([j.values.meta.shape, j.values.meta.nbytes]).toEqual([[5], 20]);
    const { count: two, values } = entries.get("scalars") as NestedNode;
    expect([two, values.offset, values.meta.nbytes]).toEqual([2, 4, 8]);
    expect((selectRows(level(), 1, 1) as TensorDictNode).entries.get("j")).toMatchObject({ count: 0 });
    expect(() => selectRows(level(), 0, 4)).toThrow("rows 0 to 4 of 3");
  });
  test("keys", () => {
    expect([...(selectKeys(level(), ["j"]) as TensorDictNode).entries.keys()]).toEqual(["j"]);
    expect(() => selectKeys(level(), [["j", "k"]])).toThrow("a tensor has no entries");
  });
  test("loaded while the program goes on", async () => {
    const td = (await loadMemmapAsync(path)) as unknown as Td;
    expect((td.at("j") as unknown as NestedTensor).tolist()).toEqual([[1], [2, 3], [4, 5, 6]]);
  });
});

test("files of tensors refuse it by its name", () => {
  const named = { weight: nested.nestedTensor([[1]]) } as never;
  const folder = place();
  expect(() => saveSafetensors(named, folder)).toThrow('"weight" is no tensor');
  expect(() => saveNpz(`${folder}.npz`, named)).toThrow('"weight" is no tensor');
  const state = { weight: nested.nestedTensor([[1]]) };
  expect(() => Snapshot.take({ path: folder, appState: { model: new StateDict(state) } })).toThrow("model/weight");
  expect([folder, `${folder}.npz`].map((path) => existsSync(path))).toEqual([false, false]);
});

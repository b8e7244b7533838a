// Stacks of values in files: members that are values of a whole batch, other dimensions, and floats that are whole.
import "../../src/index.ts";
import { afterAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { fromConsolidated, TensorDict } from "../../src/tensordict/index.ts";
import { roomFor } from "../io/archive-files.ts";

const room = roomFor("value-stacks");
afterAll(room.remove);
const path = (name: string) => join(room.path, name);
const FIXTURE = join(import.meta.dir, "../fixtures/torch/value_stacks.pt");

const list = (td: Td, key: string) => (td.get(key) as unknown as { tolist(): unknown }).tolist();
const jsonOf = (folder: string, key: string) => readFileSync(join(folder, key, "meta.json"), "utf8");

test("a .pt file's stacks along any dimension, of values with a batch", () => {
  const { dim0, dim1 } = loadTorch<Record<string, Td>>(FIXTURE);
  expect(list(dim0 as Td, "s")).toEqual([
    ["a", "a", "a"],
    [1, 1, 1],
  ]);
  expect(list(dim1 as Td, "s")).toEqual([
    ["a", 1],
    ["a", 1],
    ["a", 1],
  ]);
  expect(list(dim1 as Td, "n")).toEqual([
    ["a", 1],
    [2, 2],
    [3, 3],
  ]);
});

test("floats of a .pt file's stacks stay floats in every format", () => {
  const { dim1 } = loadTorch<Record<string, Td>>(FIXTURE);
  saveTorch(dim1, path("again.pt"));
  const again = loadTorch<Td>(path("again.pt"));
  (dim1 as Td).consolidate({ filename: path("stack.bin") });
  const stacks = [dim1 as Td, again, fromConsolidated(path("stack.bin"))];
  for (const [i, td] of stacks.entries()) {
    const folder = path(String(i));
    td.memmap(folder);
    expect(jsonOf(folder, "n")).toContain('"data":[["a",1.0],[2.0,2.0],[3,3]]');
  }
});

function consolidated(nested: object): Td {
  const rest = { cls: "TensorDict", non_tensors: {}, leaves: {} };
  const metadata = { device: null, names: [null, null], batch_size: [3, 2], is_locked: false };
  const json = Buffer.from(JSON.stringify({ ...rest, cls_metadata: metadata, ...nested }));
  const length = Buffer.alloc(8);
  length.writeBigInt64LE(BigInt(json.length));
  return fromConsolidated(room.file("made.bin", Buffer.concat([json, length]))) as Td;
}

const stack = (dim: number, non_tensors: object, nested: object = {}) => ({
  cls: "NonTensorStack",
  non_tensors,
  leaves: {},
  cls_metadata: { stack_dim: dim, stack_dim_name: null, is_locked: false },
  ...nested,
});

test("a consolidated file's stacks along any dimension, of values with a batch beside stacks", () => {
  const inner = stack(0, { 0: ["x", [], null], 1: ["y", [], null], 2: ["z", [], null] });
  const td = consolidated({
    s: stack(1, { 0: ["a", [3], null], 1: ["b", [3], null] }),
    m: stack(1, { 0: ["q", [3], null] }, { 1: inner }),
  });
  expect(list(td, "s")).toEqual([
    ["a", "b"],
    ["a", "b"],
    ["a", "b"],
  ]);
  expect(list(td, "m")).toEqual([
    ["q", "x"],
    ["q", "y"],
    ["q", "z"],
  ]);
});

test("dictionaries in values of a consolidated TensorDict are dicts in a .pt file", () => {
  const td = new TensorDict({ a: 1, s: { k: [{ 10: 1 }] } }) as unknown as Td;
  td.setNonTensor("v", { k: [{ 10: 1.5 }] });
  td.consolidate({ filename: path("dict.bin") });
  saveTorch(fromConsolidated(path("dict.bin")), path("dict.pt"));
  const pickle = readFileSync(path("dict.pt"), "latin1");
  expect(pickle).toContain("_rebuild_tensordict_files_consolidated");
  // The first one is that of the tensor's hooks, behind the structure.
  expect(pickle.indexOf("OrderedDict")).toBeGreaterThan(pickle.indexOf("_rebuild_tensor_v2"));
});

test("elements of 16 bytes lie at multiples of 16 in a consolidated file", () => {
  const make = (dtype: string) => new TensorDict({ z: 1 }).to(dtype as never).get("z");
  const td = new TensorDict({ a: make("int8"), z: make("complex128"), b: make("int8"), y: make("complex128") });
  td.consolidate({ filename: path("wide.bin") });
  const bytes = readFileSync(path("wide.bin"));
  const length = Number(bytes.readBigInt64LE(bytes.length - 8));
  const { leaves } = JSON.parse(bytes.subarray(bytes.length - 8 - length, -8).toString());
  expect(leaves.a.slice(2)).toEqual([0, 16, 15]);
  expect(leaves.z.slice(2)).toEqual([16, 32, 0]);
  expect(leaves.b.slice(2)).toEqual([32, 48, 15]);
  expect(leaves.y.slice(2)).toEqual([48, 64, 0]);
  expect(String(fromConsolidated(path("wide.bin")).get("y"))).toBe("tensor(1.+0.j, dtype=torch.complex128)");
});

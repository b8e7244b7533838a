// Our side of real_input.py: random trees as plain descriptions, built, saved, loaded and described again.
//   exchange.ts generate COUNT SEED        descriptions, one JSON line each
//   exchange.ts build TREES DIRECTORY      saves tree i of a file of descriptions as DIRECTORY/i
//   exchange.ts describe DIRECTORY COUNT   loads each of them and prints what it holds
//   exchange.ts save TREES DIRECTORY FORMAT, read DIRECTORY COUNT FORMAT
//                                          the same for files: DIRECTORY/i.FORMAT; a line with an error where it fails
//   exchange.ts transformer DIRECTORY      saves the weights of nn.Transformer() with seed 0
//   exchange.ts two DIRECTORY KEY KEY      loads a directory and reads two of its tensors
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { windowOn } from "../../src/ffi/memory.ts";
import {
  LazyStackedTensorDict,
  manualSeed,
  NonTensorData,
  NonTensorStack,
  nn,
  Tensor,
  TensorDict,
  tensorclass,
} from "../../src/index.ts";
import { type PythonJson, parsePythonJson, pythonJsonStringify } from "../../src/io/base/python-json.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { loadTorch } from "../../src/io/torch/torch-file.ts";
import { saveTorch } from "../../src/io/torch/torch-save.ts";
import { writeBytes } from "../../src/tensor/values.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";
import { fromSafetensors, registerTensorClass, toSafetensors } from "../../src/tensordict/index.ts";

class Point extends tensorclass({ x: Tensor, y: Tensor, label: String }, { pythonName: "exchange_classes.Point" }) {}
class Node extends tensorclass({ value: Tensor, next: () => Node as never }, { pythonName: "exchange_classes.Node" }) {}
registerTensorClass(Point);
registerTensorClass(Node);

/** A tree in words that JSON holds without loss: bytes as hexadecimal digits, values as Python's JSON text. */
type Tree =
  | { k: "tensor"; dtype: string; shape: number[]; hex: string }
  | { k: "td"; batch: number[]; names: (string | null)[] | null; entries: [string, Tree][] }
  | { k: "class"; name: string; batch: number[]; entries: [string, Tree][] }
  | { k: "lazy"; dim: number; members: Tree[] }
  | { k: "value"; text: string }
  | { k: "values"; texts: string[] };

const ITEM_SIZES: Record<string, number> = {
  bool: 1,
  uint8: 1,
  uint16: 2,
  uint32: 4,
  uint64: 8,
  int8: 1,
  int16: 2,
  int32: 4,
  int64: 8,
  float16: 2,
  bfloat16: 2,
  float32: 4,
  float64: 8,
  complex64: 8,
  complex128: 16,
};
const DTYPES = Object.keys(ITEM_SIZES);
const KEYS = [
  "a",
  "b",
  "10",
  "2",
  "ключ",
  "鍵",
  "🔑",
  "sp ace",
  "a/b",
  "..",
  ".",
  "",
  "%",
  "x.y",
  "\u00e9",
  "e\u0301",
  "-rf",
  'q"uote',
  "back\\slash",
  "__proto__",
  "constructor",
  "tab\t",
  "UPPER",
  "upper",
  "data",
  "_names_",
  "0",
];
const TEXTS = [
  "null",
  "true",
  "0",
  "-7",
  "1.0",
  "1e-05",
  "1e+16",
  "NaN",
  "-Infinity",
  "1180591620717411303424",
  '"text"',
  '"\\u00fc\\ud83d\\ude00\\n"',
  "{}",
  '{"b": 1, "a": [1, 2.5, null]}',
  '{"10": "x", "2": {"y": false}}',
  '""',
];

class Random {
  #state: number;
  constructor(seed: number) {
    this.#state = seed >>> 0;
  }
  /** An integer below `n`. */
  below(n: number): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % n;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
}

function randomTensor(random: Random, batch: readonly number[]): Tree {
  const dtype = random.pick(DTYPES);
  const shape = [...batch];
  for (let i = random.below(4); i > 0; i--) shape.push(random.pick([0, 1, 2, 3, 3, 5]));
  const size = shape.reduce((n, d) => n * d, ITEM_SIZES[dtype] as number);
  const bytes = Array.from({ length: size }, () => random.below(dtype === "bool" ? 2 : 256));
  return { k: "tensor", dtype, shape, hex: Buffer.from(bytes).toString("hex") };
}

function randomLazy(random: Random, batch: readonly number[], depth: number): Tree {
  const atEnd = batch.length === 0 || random.below(2) === 0;
  const count = atEnd ? 1 + random.below(3) : (batch[0] as number);
  const inner = atEnd ? [...batch] : batch.slice(1);
  const members = Array.from({ length: count }, () => randomTd(random, inner, depth - 1));
  return { k: "lazy", dim: atEnd ? batch.length : 0, members };
}

function randomClass(random: Random, batch: number[], depth: number): Tree {
  if (random.below(2) === 0) {
    const entries: [string, Tree][] = [
      ["x", randomTensor(random, batch)],
      ["y", randomTensor(random, batch)],
    ];
    return { k: "class", name: "Point", batch, entries: [...entries, ["label", { k: "value", text: '"p\\u00e9"' }]] };
  }
  const entries: [string, Tree][] = [["value", randomTensor(random, batch)]];
  if (depth > 0 && random.below(3) > 0) {
    let next = randomClass(random, batch, depth - 1);
    while (next.k === "class" && next.name !== "Node") next = randomClass(random, batch, depth - 1);
    entries.push(["next", next]);
  }
  return { k: "class", name: "Node", batch, entries };
}

function randomEntry(random: Random, batch: number[], depth: number): Tree {
  const roll = random.below(100);
  if (depth > 0 && roll < 18) return randomTd(random, [...batch, ...(random.below(3) === 0 ? [2] : [])], depth - 1);
  if (depth > 0 && roll < 25) return randomLazy(random, batch, depth);
  if (depth > 0 && roll < 32) return randomClass(random, batch, depth);
  if (roll < 42) return { k: "value", text: random.pick(TEXTS) };
  if (roll < 48 && batch.length === 1)
    return { k: "values", texts: Array.from({ length: batch[0] as number }, () => random.pick(TEXTS)) };
  return randomTensor(random, batch);
}

function randomTd(random: Random, batch: number[], depth: number): Tree {
  const entries = new Map<string, Tree>();
  for (let i = random.below(6); i > 0; i--) entries.set(random.pick(KEYS), randomEntry(random, batch, depth));
  return { k: "td", batch, names: null, entries: [...entries] };
}

function randomRoot(random: Random): Tree {
  const batch = Array.from({ length: random.below(3) }, () => 1 + random.below(3));
  const roll = random.below(10);
  if (roll === 0) return randomLazy(random, batch, 2);
  if (roll === 1) return randomClass(random, batch, 2);
  const root = randomTd(random, batch, 3);
  if (root.k === "td" && batch.length > 0 && random.below(4) === 0)
    root.names = batch.map((_, i) => (random.below(2) === 0 ? `dim${i}` : null));
  return root;
}

function build(tree: Tree, batch: readonly number[]): Tensor | Td {
  switch (tree.k) {
    case "tensor": {
      const t = zeros(tree.shape, { dtype: tree.dtype as never });
      if (t.numel() > 0) writeBytes(t.dataPtr(), Buffer.from(tree.hex, "hex"));
      return t;
    }
    case "td": {
      const entries = new Map(tree.entries.map(([key, entry]) => [key, build(entry, tree.batch)]));
      return new TensorDict(entries, { batchSize: tree.batch, names: tree.names }) as unknown as Td;
    }
    case "class": {
      const fields = Object.fromEntries(tree.entries.map(([key, entry]) => [key, build(entry, tree.batch)]));
      const options = { batchSize: tree.batch };
      return (tree.name === "Point" ? new Point(fields, options) : new Node(fields, options)) as unknown as Td;
    }
    case "lazy":
      return new LazyStackedTensorDict(
        tree.members.map((member) => build(member, []) as Td),
        { stackDim: tree.dim },
      ) as unknown as Td;
    case "value":
      return new NonTensorData(parsePythonJson(tree.text), { batchSize: batch }) as unknown as Td;
    case "values":
      return new NonTensorStack(tree.texts.map((text) => parsePythonJson(text))) as unknown as Td;
  }
}

/** The exact value of a file when it was not changed: 1.0 is not 1. */
function valueText(td: Td, value: unknown): string {
  const raw = (td as unknown as { _raw?: PythonJson })._raw;
  return pythonJsonStringify(raw ?? (value as PythonJson));
}

function describe(entry: Tensor | Td): unknown {
  if (entry instanceof Tensor) {
    const { address, nbytes, keep } = nativeBytes(entry);
    const bytes = nbytes === 0 ? Buffer.alloc(0) : Buffer.from(windowOn(address, nbytes));
    const hex = bytes.toString("hex");
    return { k: "tensor", dtype: keep.dtype.name, shape: [...keep.shape], hex };
  }
  if (entry._kind === "nonTensor") return { k: "value", text: valueText(entry, (entry as { data?: unknown }).data) };
  if (entry._kind === "nonTensorStack")
    return { k: "values", text: valueText(entry, (entry as unknown as { tolist(): unknown }).tolist()) };
  if (entry._kind === "lazy") {
    const { members, stackDim } = entry as unknown as { members: Td[]; stackDim: number };
    return { k: "lazy", dim: stackDim, members: members.map(describe) };
  }
  const entries = [...entry._keys()].map((key) => [key, describe(entry._own(key) as Tensor)]);
  const common = { batch: [...entry.batchSize], entries };
  if (entry._kind === "tensorclass") return { k: "class", name: entry._className, ...common };
  return { k: "td", names: entry._names, ...common };
}

function readTwo(directory: string, keys: readonly string[]): unknown {
  const resident = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) * 1024;
  const before = resident();
  const start = performance.now();
  const td = TensorDict.loadMemmap(directory);
  const loaded = performance.now() - start;
  const read = keys.map((key) => {
    const t = td.get(key.split(".")) as unknown as Tensor;
    const { address, nbytes } = nativeBytes(t);
    const sha256 = new Bun.CryptoHasher("sha256").update(new Uint8Array(windowOn(address, nbytes))).digest("hex");
    return { key, shape: [...t.shape], nbytes, sha256 };
  });
  return { milliseconds: loaded, bytes: td.bytes(), resident: resident() - before, read };
}

const FILES: Record<string, { save(td: Td, path: string): void; load(path: string): Td }> = {
  tdz: { save: (td, path) => void td.memmap(path), load: (path) => TensorDict.loadMemmap(path) as unknown as Td },
  consolidated: {
    save: (td, path) => void td.consolidate({ filename: path }),
    load: (path) => TensorDict.fromConsolidated(path) as unknown as Td,
  },
  safetensors: { save: (td, path) => toSafetensors(td, path), load: (path) => fromSafetensors(path) },
  pt: { save: (td, path) => saveTorch(td, path), load: (path) => loadTorch(path) as Td },
};

/** What a task gives, or why it failed; one line either way. */
function line(task: () => unknown): void {
  try {
    console.log(JSON.stringify(task() ?? null));
  } catch (error) {
    console.log(JSON.stringify({ error: `${(error as Error).name}: ${(error as Error).message}` }));
  }
}

const [command, first = "", second = "", third = ""] = process.argv.slice(2);
switch (command) {
  case "generate": {
    const random = new Random(Number(second));
    for (let i = 0; i < Number(first); i++) console.log(JSON.stringify(randomRoot(random)));
    break;
  }
  case "build":
    for (const [i, line] of readFileSync(first, "utf8").trim().split("\n").entries())
      (build(JSON.parse(line) as Tree, []) as Td).memmap(join(second, String(i)), { numThreads: 1 + (i % 3) });
    break;
  case "describe":
    for (let i = 0; i < Number(second); i++)
      console.log(JSON.stringify(describe(TensorDict.loadMemmap(join(first, String(i))) as unknown as Td)));
    break;
  case "save":
    for (const [i, text] of readFileSync(first, "utf8").trim().split("\n").entries())
      line(() => FILES[third]?.save(build(JSON.parse(text) as Tree, []) as Td, join(second, `${i}.${third}`)));
    break;
  case "read":
    for (let i = 0; i < Number(second); i++)
      line(() => describe(FILES[third]?.load(join(first, `${i}.${third}`)) as Td));
    break;
  case "transformer":
    manualSeed(0);
    TensorDict.fromModule(new nn.Transformer()).memmap(first, { numThreads: 2 });
    break;
  case "two":
    console.log(JSON.stringify(readTwo(first, [second, third])));
    break;
  default:
    console.error("usage: exchange.ts generate|build|describe|transformer|two ...");
    process.exitCode = 2;
}

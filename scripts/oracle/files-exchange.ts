// Our side of files_exchange.py and gguf_exchange.py: nested values with tensors in files of Python's other formats.
//   files-exchange.ts read FORMAT DIRECTORY COUNT    prints what DIRECTORY/i.FORMAT holds, one JSON line each
//   files-exchange.ts save FORMAT VALUES DIRECTORY   writes value i of a file of JSON lines as DIRECTORY/i.FORMAT
// The formats: npy, npz, deflated.npz, pt, legacy.pt (read only), gguf (read only), snapshot, batched.snapshot.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { windowOn } from "../../src/ffi/memory.ts";
import * as io from "../../src/io/index.ts";
import "../../src/install.ts";
import { parsePythonJson, pythonJsonStringify, toPlain } from "../../src/io/base/python-json.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { Tensor } from "../../src/tensor/tensor.ts";
import { writeBytes } from "../../src/tensor/values.ts";
import { zeros } from "../../src/tensordict/core/tensor-ops.ts";

/** A value in words: bytes as hexadecimal digits, numbers and texts as Python's JSON. */
type Value =
  | { k: "tensor"; dtype: string; shape: number[]; hex: string }
  | { k: "value"; text: string }
  | { k: "dict"; entries: [string, Value][] }
  | { k: "list"; items: Value[] };

function build(value: Value): unknown {
  switch (value.k) {
    case "tensor": {
      const t = zeros(value.shape, { dtype: value.dtype as never });
      if (t.numel() > 0) writeBytes(t.dataPtr(), Buffer.from(value.hex, "hex"));
      return t;
    }
    case "value":
      return toPlain(parsePythonJson(value.text));
    case "dict":
      return new Map(value.entries.map(([key, entry]) => [key, build(entry)]));
    case "list":
      return value.items.map(build);
  }
}

function describe(value: unknown): Value {
  if (value instanceof Tensor) {
    const { address, nbytes, keep } = nativeBytes(value);
    const bytes = nbytes === 0 ? Buffer.alloc(0) : Buffer.from(windowOn(address, nbytes));
    return { k: "tensor", dtype: keep.dtype.name, shape: [...keep.shape], hex: bytes.toString("hex") };
  }
  if (Array.isArray(value)) return { k: "list", items: value.map(describe) };
  if (ArrayBuffer.isView(value)) return { k: "list", items: [...(value as Uint8Array)].map(describe) };
  const plain = typeof value === "object" && value !== null && !("code" in value);
  if (value instanceof Map || plain) {
    const pairs = value instanceof Map ? [...value] : Object.entries(value as object);
    return { k: "dict", entries: pairs.map(([key, entry]) => [String(key), describe(entry)]) };
  }
  return { k: "value", text: pythonJsonStringify(value as never) };
}

function loadGguf(path: string): unknown {
  const file = io.loadGguf(path);
  // Blocks, and what NumPy has no dtype for, are compared as the numbers they stand for.
  const plain = (key: string) => /^[FI]\d+$/.test(file.entry(key).type.name);
  const tensors = file.keys().map((key) => [key, plain(key) ? file.tensor(key) : file.dequantize(key)] as const);
  return new Map<string, unknown>([
    ["metadata", file.metadata],
    ["tensors", new Map(tensors)],
  ]);
}

function restore(path: string): unknown {
  const state = new io.StateDict({});
  new io.Snapshot(path).restore({ appState: { app: state } });
  return state.values;
}

function take(value: unknown, path: string, slabBytes?: number): void {
  const state = new io.StateDict(Object.fromEntries(value as Map<string, never>));
  io.Snapshot.take({ path, appState: { app: state }, ...(slabBytes === undefined ? {} : { slabBytes }) });
}

const arrays = (value: unknown) => value as Map<string, Tensor>;

const FORMATS: Record<string, { load(path: string): unknown; save?(value: unknown, path: string): void }> = {
  npy: { load: (path) => io.loadNpy(path), save: (value, path) => io.saveNpy(path, value as Tensor) },
  npz: { load: (path) => io.loadNpz(path), save: (value, path) => io.saveNpz(path, arrays(value)) },
  "deflated.npz": {
    load: (path) => io.loadNpz(path),
    save: (value, path) => io.saveNpz(path, arrays(value), { compressed: true }),
  },
  pt: { load: (path) => io.loadTorch(path), save: (value, path) => io.saveTorch(value, path) },
  "legacy.pt": { load: (path) => io.loadTorch(path) },
  gguf: { load: loadGguf },
  snapshot: { load: restore, save: (value, path) => take(value, path) },
  "batched.snapshot": { load: restore, save: (value, path) => take(value, path, 2 ** 20) },
};

/** What a task gives, or why it failed; one line either way. */
function line(task: () => unknown): void {
  try {
    console.log(JSON.stringify(task() ?? null));
  } catch (error) {
    console.log(JSON.stringify({ error: `${(error as Error).name}: ${(error as Error).message}` }));
  }
}

const [command, name = "", first = "", second = ""] = process.argv.slice(2);
const format = FORMATS[name];
if (command === "read" && format !== undefined) {
  for (let i = 0; i < Number(second); i++) line(() => describe(format.load(join(first, `${i}.${name}`))));
} else if (command === "save" && format?.save !== undefined) {
  for (const [i, text] of readFileSync(first, "utf8").trim().split("\n").entries())
    line(() => format.save?.(build(JSON.parse(text) as Value), join(second, `${i}.${name}`)));
} else {
  console.error("usage: files-exchange.ts read FORMAT DIRECTORY COUNT | save FORMAT VALUES DIRECTORY");
  process.exitCode = 2;
}

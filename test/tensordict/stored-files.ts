// One content in every format that is written the same each time, for the test of stored hashes and for Python.
//   stored-files.ts DIRECTORY   writes the files there and prints their hashes
import "../../src/install.ts";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import * as io from "../../src/io/index.ts";
import type { SnapshotWriteOptions } from "../../src/io/snapshot/snapshot-write.ts";
import type { Tensor } from "../../src/tensor/tensor.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import { tensor } from "../../src/tensordict/core/tensor-ops.ts";
import { lazyStack, NonTensorData, packMemmap, TensorDict, toSafetensors } from "../../src/tensordict/index.ts";

const DTYPES = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex64".split(" ");
/** What NumPy has as well. */
const NUMPY = DTYPES.filter((name) => name !== "bfloat16");

function numbers(dtype: string): Tensor {
  return tensor([0, 1, 2, 3, 4, 5])
    .to(dtype as "int8")
    .view(2, 3);
}

function arrays(names: readonly string[]): Record<string, Tensor> {
  const transposed = numbers("int32").t();
  const empty = tensor([]).to("float64").view(2, 0);
  const all = Object.fromEntries(names.map((name) => [name, numbers(name)]));
  return { ...all, transposed, empty, scalar: tensor(3).to("int64"), "ключ/鍵": numbers("uint8") };
}

function collection(): Td {
  const tensors = Object.fromEntries(DTYPES.map((name) => [name, numbers(name)]));
  const member = (x: number) => new TensorDict({ x: tensor([x, x + 0.5]) }, [2]) as unknown as Td;
  return new TensorDict(
    {
      ...tensors,
      nested: new TensorDict({ "a/b": numbers("int16"), deep: { "..": numbers("float32") } }, [2, 3]),
      stack: lazyStack([member(1), member(2)], 0),
      text: "ü😀",
      values: new NonTensorData({ list: [1, 2.5, null, true], text: "x" }, { batchSize: [2] }),
    },
    { batchSize: [2], names: ["time"] },
  ) as unknown as Td;
}

/** Writes all files below a directory. */
export function writeStored(directory: string): void {
  const place = (name: string) => join(directory, name);
  const td = collection();
  td.memmap(place("directory"));
  td.memmap(place("archive.tdz"));
  packMemmap(place("directory"), place("deflated.tdz"), { compression: "deflate" });
  td.consolidate({ filename: place("consolidated.bin") });
  toSafetensors(td, place("tensordict.safetensors"));
  const state = { ...arrays(DTYPES), nested: { list: [1, "two", null, numbers("int8")], flag: true, number: 2.5 } };
  io.saveSafetensors(arrays(DTYPES), place("plain.safetensors"), { metadata: { made: "ü" } });
  io.saveTorch(state, place("state.pt"));
  io.saveTorch(td, place("tensordict.pt"));
  io.saveNpy(place("transposed.npy"), numbers("float32").t());
  io.saveNpz(place("arrays.npz"), arrays(NUMPY));
  const plain = { ...Object.fromEntries(DTYPES.map((name) => [name, numbers(name)])), nested: state.nested };
  const snapshot = (name: string, options: SnapshotWriteOptions) =>
    io.Snapshot.take({ path: place(name), appState: { state: new io.StateDict(plain) }, ...options });
  snapshot("unbatched", {});
  snapshot("chunked", { maxChunkBytes: 16 });
  snapshot("batched", { slabBytes: 2 ** 20 });
}

const IDENTIFIER = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** The bytes of a file without what differs from one time to the next: times in archives, names of slabs. */
function lasting(path: string): Uint8Array {
  const bytes = readFileSync(path);
  if (path.endsWith(".snapshot_metadata")) return Buffer.from(bytes.toString("latin1").replace(IDENTIFIER, "slab"));
  if (!path.endsWith(".tdz")) return bytes;
  for (const [signature, time] of [
    ["PK\x03\x04", 10],
    ["PK\x01\x02", 12],
  ] as const) {
    for (let at = bytes.indexOf(signature); at >= 0; at = bytes.indexOf(signature, at + 4)) {
      bytes.fill(0, at + time, at + time + 4);
    }
  }
  return bytes;
}

/** The SHA-256 of each file below a directory; what deflate makes of bytes is up to the runtime. */
export function hashesBelow(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  const files = names.filter((name) => name !== "deflated.tdz" && statSync(join(directory, name)).isFile());
  const hash = (name: string) => new Bun.CryptoHasher("sha256").update(lasting(join(directory, name))).digest("hex");
  return Object.fromEntries(files.map((name) => [name.replaceAll("\\", "/").replace(IDENTIFIER, "slab"), hash(name)]));
}

if (import.meta.main) {
  const directory = process.argv[2] as string;
  writeStored(directory);
  console.log(JSON.stringify(hashesBelow(directory), null, 2));
}

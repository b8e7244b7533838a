// Our side of hdf5_exchange.py.
//   hdf5-exchange.ts engine                    prints the HDF5 library
//   hdf5-exchange.ts build TREES DIRECTORY     writes tree i of a file of descriptions as DIRECTORY/i.h5
//   hdf5-exchange.ts describe DIRECTORY COUNT  opens each of them and prints what it holds
//   hdf5-exchange.ts change DIRECTORY COUNT    sets, renames and deletes entries, prints what then is there
//   hdf5-exchange.ts indices FILE INDEX...     prints parts of the dataset "x"
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { windowOn } from "../../src/ffi/memory.ts";
import { arange, io, NonTensorData, NonTensorStack, Tensor, TensorDict, tensordict, zeros } from "../../src/index.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import { writeBytes } from "../../src/tensor/values.ts";
import type { Td } from "../../src/tensordict/core/state.ts";

type Tree =
  | { k: "tensor"; dtype: string; shape: number[]; hex: string }
  | { k: "text"; text: string }
  | { k: "texts"; texts: string[] }
  | { k: "td"; batch: number[]; entries: Record<string, Tree> };

const LAYOUTS = [{}, { compression: "gzip" }, { chunks: true }, { compression: "gzip", shuffle: true }] as const;

function build(tree: Tree, batch: number[]): Tensor | Td {
  if (tree.k === "text") return new NonTensorData(tree.text, { batchSize: batch }) as unknown as Td;
  if (tree.k === "texts") return new NonTensorStack(tree.texts) as unknown as Td;
  if (tree.k === "tensor") {
    const t = zeros(tree.shape, { dtype: tree.dtype as never });
    if (t.numel() > 0) writeBytes(t.dataPtr(), Buffer.from(tree.hex, "hex"));
    return t;
  }
  const entries = new Map(Object.entries(tree.entries).map(([key, entry]) => [key, build(entry, tree.batch)]));
  return new TensorDict(entries, { batchSize: tree.batch }) as unknown as Td;
}

function describe(entry: Tensor | Td): unknown {
  if (entry instanceof Tensor) {
    const { address, nbytes, keep } = nativeBytes(entry);
    const hex = nbytes === 0 ? "" : Buffer.from(windowOn(address, nbytes)).toString("hex");
    return { k: "tensor", dtype: keep.dtype.name, shape: [...keep.shape], hex };
  }
  if (entry._kind === "nonTensor") return { k: "text", text: (entry as unknown as NonTensorData).data };
  if (entry._kind === "nonTensorStack") return { k: "texts", texts: (entry as unknown as NonTensorStack).tolist() };
  // Entries by themselves: an object would lose the key __proto__.
  const entries = entry.items().map(([key, value]) => [key, describe(value as Tensor)] as const);
  return { k: "td", batch: [...entry.batchSize], entries: Object.fromEntries(entries) };
}

function change(path: string, i: number): unknown {
  using td = TensorDict.fromH5(path, { mode: "r+" });
  const batch = [...td.batchSize];
  const [first] = td.keys() as string[];
  td.set("fresh", arange(batch.reduce((n, d) => n * d, 1)).view(batch.length === 0 ? [1] : batch));
  td.set(["deep", "er"], zeros([...batch, 2]).add(i));
  if (i % 2 === 0) td.renameKey_(first as string, "renamed");
  else td.del_(first as string);
  td.setAt_(["deep", "er"], -1, ["...", 0]);
  return describe(td.toTensorDict());
}

const [command, first = "", ...rest] = process.argv.slice(2);
const files = () => Array.from({ length: Number(rest[0]) }, (_, i) => join(first, `${i}.h5`));
tensordict.setTensorDictPrintoptions({ compact: true });
switch (command) {
  case "engine":
    console.log(io.hdf5Engine());
    break;
  case "build":
    for (const [i, line] of readFileSync(first, "utf8").trim().split("\n").entries()) {
      const td = build(JSON.parse(line) as Tree, []) as Td;
      td.toH5(join(rest[0] as string, `${i}.h5`), LAYOUTS[i % 4]).close();
    }
    break;
  case "describe":
    for (const path of files()) {
      using td = TensorDict.fromH5(path);
      console.log(JSON.stringify({ tree: describe(td as unknown as Td), batch: [...td.batchSize], text: String(td) }));
    }
    break;
  case "change":
    console.log(JSON.stringify(files().map(change)));
    break;
  case "indices": {
    using file = new io.Hdf5File(first);
    console.log(JSON.stringify(rest.map((index) => file.read("x", index as ":").tolist())));
    break;
  }
  default:
    console.error("usage: hdf5-exchange.ts engine|build|describe|change|indices ...");
    process.exitCode = 2;
}

// Our side of nested_exchange.py.
//   nested-exchange.ts build TREES DIRECTORY            saves tree i of a file of descriptions as DIRECTORY/i and i.tdz
//   nested-exchange.ts describe DIRECTORY COUNT ENDING  loads each of them and prints what it holds
//   nested-exchange.ts print TREES                      prints the text of every nested tensor
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { windowOn } from "../../src/ffi/memory.ts";
import { NestedTensor, Tensor, TensorDict } from "../../src/index.ts";
import { nativeBytes } from "../../src/io/disk/tensor-bytes.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import type { Entry } from "../../src/tensordict/index.ts";
import { build, type Tree } from "../../test/tensordict/nested-trees.ts";

function describe(entry: Entry): unknown {
  if (entry instanceof NestedTensor) return { k: "nested", parts: entry.unbind().map(describe) };
  if (entry instanceof Tensor) {
    const { address, nbytes, keep } = nativeBytes(entry);
    const hex = nbytes === 0 ? "" : Buffer.from(windowOn(address, nbytes)).toString("hex");
    return { k: "tensor", dtype: keep.dtype.name, shape: [...keep.shape], hex };
  }
  const entries = [...entry._keys()].map((key) => [key, describe(entry._own(key) as Entry)]);
  return { k: "td", batch: [...entry.batchSize], entries: Object.fromEntries(entries) };
}

function printAll(tree: Tree): void {
  if (tree.k === "nested") console.log(JSON.stringify(String(build(tree))));
  if (tree.k === "td") for (const entry of Object.values(tree.entries)) printAll(entry);
}

const [command, place = "", last = "", ending = ""] = process.argv.slice(2);
const trees = (): Tree[] => JSON.parse(readFileSync(place, "utf8"));
if (command === "build") {
  for (const [i, tree] of trees().entries()) {
    (build(tree) as Td).memmap(join(last, String(i)));
    (build(tree) as Td).save(join(last, `${i}.tdz`));
  }
} else if (command === "describe") {
  for (let i = 0; i < Number(last); i++) {
    console.log(JSON.stringify(describe(TensorDict.loadMemmap(join(place, `${i}${ending}`)) as unknown as Td)));
  }
} else for (const tree of trees()) printAll(tree);

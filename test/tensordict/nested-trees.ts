// Descriptions of TensorDicts with nested tensors, as scripts/oracle/nested_exchange.py writes them.
import { nested, type Tensor, TensorDict, zeros } from "../../src/index.ts";
import { writeBytes } from "../../src/tensor/values.ts";
import type { Td } from "../../src/tensordict/core/state.ts";
import type { Entry } from "../../src/tensordict/index.ts";

/** A tensor and its bytes. */
export type Leaf = { k: "tensor"; dtype: string; shape: number[]; hex: string };
/** A tensor, a nested one, or a TensorDict. */
export type Tree = Leaf | { k: "nested"; parts: Leaf[] } | { k: "td"; batch: number[]; entries: Record<string, Tree> };

/** What a description describes. */
export function build(tree: Tree): Entry {
  if (tree.k === "nested") return nested.nestedTensor(tree.parts.map((part) => build(part) as Tensor));
  if (tree.k === "tensor") {
    const t = zeros(tree.shape, { dtype: tree.dtype as never });
    if (t.numel() > 0) writeBytes(t.dataPtr(), Buffer.from(tree.hex, "hex"));
    return t;
  }
  const entries = Object.entries(tree.entries).map(([key, entry]): [string, Entry] => [key, build(entry)]);
  return new TensorDict(new Map(entries), { batchSize: tree.batch }) as unknown as Td;
}

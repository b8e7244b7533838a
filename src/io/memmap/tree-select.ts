// Parts of a tree: some of its entries, or some rows of its first batch dimension. Only the description changes.
import { KeyError, ValueError } from "../../tensor/errors.ts";
import type { LeafNode, NestedNode, TensorClassNode, TensorDictNode, TreeNode } from "./tree.ts";

/** A nested key: "a", or ["a", "b"]. */
export type TreeKey = string | readonly string[];

function keyText(key: TreeKey): string {
  return typeof key === "string" ? JSON.stringify(key) : `[${key.map((part) => JSON.stringify(part)).join(", ")}]`;
}

/** The tree with these entries only, and what is inside of them. Throws `KeyError` for those that it does not have. */
export function selectKeys(node: TreeNode, keys: readonly TreeKey[]): TreeNode {
  const wanted = new Map<string, TreeKey[] | null>();
  for (const key of keys) {
    const [first, ...rest] = typeof key === "string" ? [key] : key;
    if (first === undefined) throw new KeyError("an empty key");
    const before = wanted.get(first);
    if (rest.length === 0 || before === null) wanted.set(first, null);
    else wanted.set(first, [...(before ?? []), rest]);
  }
  switch (node.kind) {
    case "tensordict":
      return selectEntries(node, wanted, keys);
    case "tensorclass":
      return { ...node, inner: selectKeys(node.inner, keys) as TensorClassNode["inner"] };
    case "lazy":
      return { ...node, members: node.members.map((member) => selectKeys(member, keys)) };
    default:
      throw new KeyError(`${keyText(keys[0] ?? "")} in a value that is no TensorDict`);
  }
}

function selectEntries(
  node: TensorDictNode,
  wanted: ReadonlyMap<string, TreeKey[] | null>,
  keys: readonly TreeKey[],
): TensorDictNode {
  for (const key of wanted.keys()) {
    if (node.entries.has(key)) continue;
    const asked = keys.find((one) => (typeof one === "string" ? one : one[0]) === key) as TreeKey;
    throw new KeyError(`key ${keyText(asked)} not found in ${node.path}`);
  }
  const entries: TensorDictNode["entries"] = new Map();
  for (const [key, entry] of node.entries) {
    const inside = wanted.get(key);
    if (inside === undefined) continue;
    if (inside === null) entries.set(key, entry);
    else if (entry.kind === "leaf" || entry.kind === "nested")
      throw new KeyError(`key ${keyText([key, ...(inside[0] as string[])])}: a tensor has no entries`);
    else entries.set(key, selectKeys(entry, inside));
  }
  return { ...node, entries };
}

/** Rows [begin, end) along the first batch dimension. Throws `ValueError` where there are none such. */
export function selectRows(node: TreeNode, begin: number, end: number): TreeNode {
  const whole = Number.isSafeInteger(begin) && Number.isSafeInteger(end) && 0 <= begin && begin <= end;
  if (!whole) throw new ValueError(`${begin} to ${end} are no rows`);
  switch (node.kind) {
    case "tensordict":
      return levelRows(node, begin, end);
    case "tensorclass":
      return { ...node, inner: selectRows(node.inner, begin, end) as TensorClassNode["inner"] };
    case "lazy":
      if (node.stackDim !== 0)
        return { ...node, members: node.members.map((member) => selectRows(member, begin, end)) };
      if (end > node.members.length || begin === end) throw outside(node.members.length, begin, end);
      return { ...node, members: node.members.slice(begin, end) };
    case "nonTensorStack":
      if (node.pickle !== null || !Array.isArray(node.data) || node.stackDim !== 0) {
        throw new ValueError(`rows of the values in ${node.path} cannot be taken`);
      }
      if (end > node.data.length) throw outside(node.data.length, begin, end);
      return { ...node, data: node.data.slice(begin, end) };
    case "nonTensor":
      return node;
  }
}

function outside(size: number, begin: number, end: number): ValueError {
  return new ValueError(`rows ${begin} to ${end} of ${size}`);
}

function levelRows(node: TensorDictNode, begin: number, end: number): TensorDictNode {
  const [size, ...rest] = node.batchSize;
  if (size === undefined) throw new ValueError(`${node.path} has no batch dimension to take rows of`);
  if (end > size) throw outside(size, begin, end);
  const entries: TensorDictNode["entries"] = new Map();
  for (const [key, entry] of node.entries) {
    if (entry.kind === "leaf") entries.set(key, leafRows(entry, begin, end));
    else entries.set(key, entry.kind === "nested" ? nestedRows(entry, begin, end) : selectRows(entry, begin, end));
  }
  return { ...node, batchSize: [end - begin, ...rest], entries };
}

function nestedRows(nested: NestedNode, begin: number, end: number): NestedNode {
  const { count, rank, sizes, values } = nested;
  if (end > count) throw outside(count, begin, end);
  const elements = (from: number, to: number) => {
    if (rank === 0) return to - from;
    let sum = 0;
    for (let i = from; i < to; i++) {
      sum += sizes.subarray(i * rank, (i + 1) * rank).reduce((product, n) => product * n, 1);
    }
    return sum;
  };
  const before = elements(0, begin);
  const whole = { ...values, meta: { ...values.meta, shape: [before + elements(begin, end)] } };
  const { itemsize } = values.meta.dtype;
  whole.meta.nbytes = (whole.meta.shape[0] as number) * itemsize;
  return {
    ...nested,
    count: end - begin,
    sizes: sizes.slice(begin * rank, end * rank),
    values: leafRows(whole, before, whole.meta.shape[0] as number),
  };
}

function leafRows(leaf: LeafNode, begin: number, end: number): LeafNode {
  const { shape, nbytes } = leaf.meta;
  const size = shape[0] ?? 0;
  if (end > size) throw outside(size, begin, end);
  const rowBytes = size === 0 ? 0 : nbytes / size;
  const meta = { ...leaf.meta, shape: [end - begin, ...shape.slice(1)], nbytes: (end - begin) * rowBytes };
  return { ...leaf, offset: leaf.offset + begin * rowBytes, meta };
}

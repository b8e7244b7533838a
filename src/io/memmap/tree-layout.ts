// Which files a tree consists of, in a directory or in an archive: their names, and the text of each `meta.json`.

import { KeyError, ValueError } from "../../tensor/errors.ts";
import { encodeKey, isSafeRawName, keyProblem } from "../base/keys.ts";
import { runSteps, type Steps } from "../base/steps.ts";
import { requireTexts } from "../base/well-formed.ts";
import {
  type CollectionMeta,
  type LeafMeta,
  LOST_KEYS,
  lazyText,
  levelText,
  nonTensorStackText,
  nonTensorText,
  tensorclassText,
} from "./memmap-meta.ts";
import type { LeafWrite, TreeWrite } from "./tree.ts";

/** Receives the files of a tree. */
export interface TreeSink {
  join(path: string, name: string): string;
  /** A directory below the root, before anything that lies in it. */
  directory(path: string): void;
  /** A tensor; without elements it has no file. */
  leaf(leaf: LeafWrite, path: string): void;
  /** A `meta.json`, or a file beside it. */
  file(path: string, bytes: Uint8Array): void;
  /** The directory of a lazy stack, which has this many members. */
  stack(path: string, count: number): void;
}

const UTF8 = new TextEncoder();
/** Directories in one another that are read, and so that are written. */
export const MAX_TREE_DEPTH = 128;

/** Hands every file of `node` to `sink`. Throws `KeyError` for keys that cannot be file names. */
export function layOutTree(node: TreeWrite, path: string, robust: boolean, sink: TreeSink): void {
  runSteps(layingOutTree(node, path, robust, sink));
}

/** `layOutTree` in small steps. */
export function* layingOutTree(node: TreeWrite, path: string, robust: boolean, sink: TreeSink, depth = 0): Steps<void> {
  if (depth > MAX_TREE_DEPTH) throw new ValueError(`more than ${MAX_TREE_DEPTH} levels cannot be saved`);
  const child = function* (inner: TreeWrite, name: string): Steps<void> {
    const place = sink.join(path, name);
    sink.directory(place);
    yield* layingOutTree(inner, place, robust, sink, depth + 1);
  };
  const meta = (text: string) => sink.file(sink.join(path, "meta.json"), UTF8.encode(text));
  switch (node.kind) {
    case "tensordict":
      meta(yield* layOutLevel(node, path, robust, sink, child));
      return;
    case "lazy":
      for (const [i, member] of node.members.entries()) yield* child(member, String(i));
      sink.stack(path, node.members.length);
      meta(lazyText(node.stackDim, node.stackDimName));
      return;
    case "tensorclass":
      yield* child(node.inner, "_tensordict");
      meta(tensorclassText(node.qualified, node.extras));
      return;
    case "nonTensor":
      for (const file of node.files ?? []) sink.file(sink.join(path, file.name), file.bytes);
      meta(nonTensorText(node.typeName, node.data));
      return;
    case "nonTensorStack":
      for (const file of node.files ?? []) sink.file(sink.join(path, file.name), file.bytes);
      meta(nonTensorStackText(node.data, node.stackDim, node.device));
      return;
  }
}

function* layOutLevel(
  node: Extract<TreeWrite, { kind: "tensordict" }>,
  path: string,
  robust: boolean,
  sink: TreeSink,
  child: (inner: TreeWrite, name: string) => Steps<void>,
): Steps<string> {
  const used = new Map<string, string>([["meta.json", ""]]);
  const entries = new Map<string, LeafMeta | CollectionMeta>();
  requireTexts(node.names, () => `${path}: the dimension names`);
  for (const [key, entry] of node.entries) {
    const rules = { robust, named: node.names !== null };
    const name = fileName(key, entry.kind === "leaf" || entry.kind === "nested" ? ".memmap" : "", used, rules);
    if (entry.kind === "nested") {
      const { values, sizes } = entry;
      entries.set(key, {
        kind: "leaf",
        dtype: values.dtype,
        shape: sizes.shape,
        device: values.device,
        isNested: true,
      });
      sink.leaf(values, sink.join(path, name));
      sink.leaf(sizes, sink.join(path, fileName(key, ".shape.memmap", used, rules)));
    } else if (entry.kind === "leaf") {
      const { dtype, shape, device } = entry;
      entries.set(key, { kind: "leaf", dtype, shape, device, isNested: false });
      sink.leaf(entry, sink.join(path, name));
    } else {
      entries.set(key, { kind: "collection", type: entry.typeName });
      yield* child(entry, name);
    }
    yield;
  }
  const { batchSize, device, names } = node;
  return levelText({ entries, batchSize, device, names }, node.late);
}

function fileName(
  key: string,
  extension: string,
  used: Map<string, string>,
  { robust, named }: { robust: boolean; named: boolean },
): string {
  if (LOST_KEYS.has(key) || (key === "_names" && named)) {
    throw new KeyError(`The key '${key}' cannot be saved: meta.json uses this name itself. Rename the entry first.`);
  }
  const problem = keyProblem(key, extension);
  if (problem !== null) throw new KeyError(`The key ${JSON.stringify(key)} cannot be saved: ${problem}.`);
  if (!robust && !isSafeRawName(key, extension !== "")) {
    throw new KeyError(`The key ${JSON.stringify(key)} is no file name; save it with robustKey.`);
  }
  const name = (robust ? encodeKey(key) : key) + extension;
  const folded = process.platform === "linux" ? name : name.normalize("NFC").toLowerCase();
  const other = used.get(folded);
  if (other !== undefined) {
    const whom = other === "" ? "the metadata" : `the key ${JSON.stringify(other)}`;
    throw new KeyError(`The key ${JSON.stringify(key)} cannot be saved: its file ${name} is that of ${whom}.`);
  }
  used.set(folded, key);
  return name;
}

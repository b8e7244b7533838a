// Trees of tensors and values: what every format of TensorDicts is read into, and what it is written from.
import type { DType } from "../../tensor/dtype.ts";
import type { Storage } from "../../tensor/storage.ts";
import type { PythonJson, PythonJsonObject } from "../base/python-json.ts";
import type { TensorBytes } from "../disk/pieces.ts";
import type { StridedBytes } from "../disk/strided-bytes.ts";
import type { FoundLeaf } from "./memmap-meta.ts";

/** A tensor on disk. */
export interface LeafNode {
  /** What tells it from a level. */
  kind: "leaf";
  /** The file that holds its bytes. */
  path: string;
  /** Where in the file they begin. */
  offset: number;
  /** Shape, dtype and file, as `meta.json` has them. */
  meta: FoundLeaf;
}

/** Tensors of different sizes, one after the other in one file. */
export interface NestedNode {
  kind: "nested";
  path: string;
  /** The elements of all components, as one dimension. */
  values: LeafNode;
  /** Number of components. */
  count: number;
  /** Dimensions of each component. */
  rank: number;
  /** `rank` sizes for each component; their products add up to the number of elements. */
  sizes: Float64Array;
}

/** A TensorDict. */
export interface TensorDictNode {
  kind: "tensordict";
  /** Its directory, or its place in an archive; for messages. */
  path: string;
  className: string;
  batchSize: readonly number[];
  device: string | null;
  names: readonly (string | null)[] | null;
  entries: Map<string, LeafNode | NestedNode | TreeNode>;
}

/** A stack of TensorDicts that are kept apart. */
export interface LazyNode {
  kind: "lazy";
  path: string;
  stackDim: number;
  stackDimName: string | null;
  members: TreeNode[];
}

/** A tensorclass: its fields are those of `inner`. A lazy stack of objects is an object around a lazy stack. */
export interface TensorClassNode {
  kind: "tensorclass";
  path: string;
  className: string;
  /** Python's module and class name. */
  qualified: string;
  extras: PythonJsonObject;
  inner: TensorDictNode | LazyNode;
}

/** A value that is no tensor. `pickle` names the file that holds it when JSON could not. */
export interface NonTensorNode {
  kind: "nonTensor";
  path: string;
  className: "NonTensorData" | "MetaData";
  data: PythonJson;
  pickle: string | null;
}

/** A stack of values. */
export interface NonTensorStackNode {
  kind: "nonTensorStack";
  path: string;
  stackDim: number;
  device: string | null;
  data: PythonJson;
  pickle: string | null;
}

/** What a directory or a file holds. */
export type TreeNode = TensorDictNode | LazyNode | TensorClassNode | NonTensorNode | NonTensorStackNode;

/** Every tensor below a node; of a nested one that with the elements of all components. */
export function leavesOf(node: TreeNode, found: LeafNode[] = []): LeafNode[] {
  switch (node.kind) {
    case "tensordict":
      for (const entry of node.entries.values()) {
        if (entry.kind === "leaf") found.push(entry);
        else if (entry.kind === "nested") found.push(entry.values);
        else leavesOf(entry, found);
      }
      break;
    case "lazy":
      for (const member of node.members) leavesOf(member, found);
      break;
    case "tensorclass":
      leavesOf(node.inner, found);
      break;
    default:
  }
  return found;
}

/** A tensor to be saved. */
export interface LeafWrite {
  kind: "leaf";
  dtype: DType;
  shape: readonly number[];
  /** Device of the source, kept for information. */
  device: string;
  /** What to write; null makes a zero-filled sparse file, or maps an existing one as it is. */
  bytes: TensorBytes | StridedBytes | null;
  /** Where they were before anything was copied: a file that is mapped there is not written over. */
  source?: Storage;
  /** Receives the mapped bytes. */
  onMapped?: (storage: Storage) => void;
}

/** A nested tensor to be saved: its elements, and int64 sizes with one row for each component. */
export interface NestedWrite {
  kind: "nested";
  values: LeafWrite;
  sizes: LeafWrite;
}

/** What is to be written, into directories or into one file. */
export type TreeWrite =
  | {
      kind: "tensordict";
      typeName: string;
      batchSize: readonly number[];
      device: string | null;
      names: readonly (string | null)[] | null;
      entries: Map<string, LeafWrite | NestedWrite | TreeWrite>;
      /** Keys that were added after the first save. */
      late?: ReadonlySet<string>;
    }
  | {
      kind: "lazy";
      typeName: string;
      stackDim: number;
      stackDimName: string | null;
      members: TreeWrite[];
    }
  | {
      kind: "tensorclass";
      typeName: string;
      qualified: string;
      extras: PythonJsonObject;
      inner: TreeWrite;
    }
  | {
      kind: "nonTensor";
      typeName: "NonTensorData" | "MetaData";
      data: PythonJson | undefined;
      files?: ExtraFile[];
    }
  | {
      kind: "nonTensorStack";
      typeName: "NonTensorStack";
      data: PythonJson;
      stackDim: number;
      device: string | null;
      files?: ExtraFile[];
    };

/** A file written beside `meta.json`. */
export interface ExtraFile {
  name: string;
  bytes: Uint8Array;
}

/** Where the files of a tree are: in directories, or in an archive. */
export interface TreeSource {
  /** The bytes of a `meta.json` or of a file beside it; valid until the next call. */
  small(path: string): Uint8Array;
  exists(path: string): boolean;
  isDirectory(path: string): boolean;
  /** What is to be known of a directory before it is read: null where no link leads to it. */
  enter?(path: string, above: Linked | null): Linked | null;
}

/** A directory that a symbolic link leads to, or one in such a directory. */
export interface Linked {
  /** Its path without links. */
  real: string;
  /** Whether it was read before. */
  again: boolean;
  /** The one around it. */
  above: Linked | null;
}

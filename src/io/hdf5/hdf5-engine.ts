// What an engine for HDF5 files has to do; above it nothing knows which one is at work.
import type { DType } from "../../tensor/dtype.ts";

/** How a file is opened, with h5py's words. */
export type Hdf5Mode = "r" | "r+" | "w" | "w-" | "x" | "a";

/**
 * What elements are that no tensor has: texts, bytes under a tag, lists and records with texts and lists; bytes of
 * another type, or pointers; none where a dataset has no shape; those of other files are not read.
 */
export type Hdf5Other =
  | { kind: "text" }
  | { kind: "opaque"; tag: string; itemsize: number; type: Uint8Array | null }
  | { kind: "values" }
  | { kind: "bytes"; itemsize: number; type: Uint8Array | null }
  | { kind: "empty"; type: Uint8Array | null }
  | { kind: "unknown" }
  | { kind: "elsewhere" };

/** What a dataset is, without its elements. */
export interface Hdf5Info {
  /** Element type of a tensor; null for everything that is none. */
  dtype: DType | null;
  /** What elements that belong to no tensor are. */
  other: Hdf5Other | null;
  /** The type in words, for messages. */
  typeName: string;
  /** Its shape. */
  shape: readonly number[];
  /** How far each dimension can grow; null is without limit. */
  maxShape: readonly (number | null)[];
  /** Shape of the pieces that it is stored in; null for one piece. */
  chunks: readonly number[] | null;
}

/** How a new dataset is stored. */
export interface Hdf5Layout {
  /** "gzip" (also `true`) with its level from 0 to 9. Compressed data is stored in chunks. */
  compression?: "gzip" | boolean | null;
  /** The level of gzip, 0 to 9. */
  compressionOpts?: number;
  /** Sort bytes by significance before they are compressed, which makes numbers smaller. */
  shuffle?: boolean;
  /** Shape of the pieces in which data is stored; `true` chooses one. */
  chunks?: readonly number[] | boolean | null;
  /** How far each dimension may grow; null is without limit. */
  maxShape?: readonly (number | null)[] | null;
}

/** A layout with everything decided. */
export interface Hdf5Storage {
  chunks: readonly number[] | null;
  maxShape: readonly (number | null)[] | null;
  /** Level of gzip, null for none. */
  gzip: number | null;
  shuffle: boolean;
}

/** Part of a dataset: per dimension where it begins, the distance of elements, and how many there are. */
export interface Hdf5Selection {
  start: readonly number[];
  step: readonly number[];
  count: readonly number[];
}

/** The value of an attribute. */
export type Hdf5Attribute = boolean | readonly number[];

/** An open file. Paths are keys joined by "/", "" is the file itself. All calls throw OSError or FormatError. */
export interface Hdf5Handle {
  /** Names in a group, in the order of the file: of groups and datasets, not of links that lead nowhere or away. */
  names(group: string): string[];
  /** Bytes of the file. */
  size(): number;
  /** What is at a path; null when there is nothing. */
  kind(path: string): "group" | "dataset" | null;
  /** The same for all paths to one group or dataset, and for them only; null when nothing is there. */
  identity(path: string): string | null;
  describe(path: string): Hdf5Info;
  /** Reads elements as the dataset's dtype, row-major, to an address with room for them. */
  read(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number, nbytes: number): void;
  /** Writes elements of the dataset's dtype. */
  write(path: string, info: Hdf5Info, selection: Hdf5Selection | null, address: number, nbytes: number): void;
  create(path: string, dtype: DType, shape: readonly number[], storage: Hdf5Storage): void;
  readTexts(path: string, info: Hdf5Info): string[];
  createTexts(path: string, shape: readonly number[], texts: readonly string[]): void;
  /** Reads the bytes of elements that are no tensor's, as they are in the file. */
  readBytes(path: string, info: Hdf5Info, address: number, nbytes: number): void;
  /** Values of elements that are lists or hold some, row by row; records are Maps. */
  readValues(path: string, info: Hdf5Info): unknown[];
  /** Makes a dataset of a type that `describe` gave; without a shape when that is null. */
  createBytes(path: string, type: Uint8Array, shape: readonly number[] | null, bytes: Uint8Array): void;
  createOpaque(path: string, shape: readonly number[], tag: string, itemsize: number, bytes: Uint8Array): void;
  /** An attribute of integers; null when there is none, or one of another kind. */
  attribute(path: string, name: string): number[] | null;
  setAttribute(path: string, name: string, value: Hdf5Attribute): void;
  createGroup(path: string): void;
  /** Throws where entries cannot be removed or moved, before anything was changed. */
  requireRemoval(): void;
  remove(path: string): void;
  move(from: string, to: string): void;
  extend(path: string, shape: readonly number[]): void;
  flush(): void;
  close(): void;
}

/** Opens files. */
export interface Hdf5Engine {
  /** Its name and version. */
  readonly name: string;
  open(path: string, mode: Hdf5Mode): Hdf5Handle;
}

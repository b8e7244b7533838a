// Sequences of operations on TensorDicts as data: what is done, and what is seen of all collections after each step.

/** The dtypes of leaves. */
export type DT = "f32" | "i64" | "bool";

/** A tensor: its elements count up from `from` (a bool is whether that number is odd). */
export interface LeafData {
  dt: DT;
  sh: number[];
  from: number;
}

/** A collection that a sequence makes. */
export interface TreeData {
  c: "td" | "point";
  bs: number[];
  e: [key: string, value: LeafData | TreeData][];
}

/** A slice, elements by number, by mask, and what JavaScript writes itself. */
export type Part =
  | number
  | "..."
  | null
  | boolean
  | { s: [start: number | null, stop: number | null, step: number | null] }
  | { i: number[] }
  | { m: boolean[] };

export type Path = string[];

/** What is written: a tensor, a tree, a collection that is there, or a number. */
export type Value = LeafData | TreeData | { v: number } | number;

/** One call; collections are numbered as they come, and those that it gives are new numbers. */
export interface Step {
  op: string;
  on: number;
  path?: Path;
  to?: Path;
  paths?: Path[];
  value?: Value;
  index?: Part[];
  list?: number[];
  dims?: number[];
  flag?: boolean;
  text?: string;
  /** How many of the results are kept, where there are several. */
  keep?: number;
  tree?: TreeData;
}

/** A tensor as it is: `s` numbers the storages in the order in which they are met, -1 has no bytes. */
export interface SeenLeaf {
  dt: string;
  sh: number[];
  st?: number[];
  off?: number;
  s: number;
  v: (number | boolean)[];
}

/** A collection as it is: the members of a lazy stack, the entries of others. */
export interface Seen {
  c: "td" | "point" | "lazy";
  bs: number[];
  lk: boolean;
  sd?: number;
  m?: Seen[];
  e?: [string, Seen | SeenLeaf][];
}

/** What a step led to. */
export interface Outcome {
  err?: [type: string, text: string];
  vars: Seen[];
}

export const isLeaf = (x: Seen | SeenLeaf): x is SeenLeaf => "dt" in x;
export const isLeafData = (x: Value): x is LeafData => typeof x === "object" && "dt" in x;
export const isTreeData = (x: Value): x is TreeData => typeof x === "object" && "bs" in x;

export const product = (list: readonly number[]): number => list.reduce((a, b) => a * b, 1);

/** The fields of the tensorclass of the sequences, `Point`. */
export const FIELDS = ["a", "b", "n"];

/** What two shapes broadcast to, or null. */
export function broadcast(a: readonly number[], b: readonly number[]): number[] | null {
  const rank = Math.max(a.length, b.length);
  const sizes = Array.from(
    { length: rank },
    (_, i) => [a[a.length - rank + i] ?? 1, b[b.length - rank + i] ?? 1] as const,
  );
  return sizes.some(([m, n]) => m !== n && m !== 1 && n !== 1) ? null : sizes.map(([m, n]) => (m === 1 ? n : m));
}

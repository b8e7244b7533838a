// Draws the next step of a sequence from numbers, so that smaller numbers and fewer of them are simpler sequences.
import {
  batchOf,
  entryAt,
  hasPoint,
  isBare,
  isRagged,
  leavesOf,
  pathsOf,
  shapeAt,
  stackDims,
  storagesOf,
} from "./seen.ts";
import type { LeafData, Part, Path, Seen, Step, TreeData, Value } from "./steps.ts";
import { broadcast, isLeaf, product } from "./steps.ts";

const KEYS = ["a", "b", "c", "n"];

/** The numbers that a step is drawn from; 0 from their end on. */
export class Draw {
  readonly #numbers: readonly number[];
  #at = 0;
  /** Elements of new tensors count from here, so that all are told apart. */
  #from: number;
  /** Whether only what the plain model knows is drawn. */
  readonly plain: boolean;

  constructor(numbers: readonly number[], from: number, plain: boolean) {
    this.#numbers = numbers;
    this.#from = from;
    this.plain = plain;
  }

  below(n: number): number {
    return n <= 0 ? 0 : (this.#numbers[this.#at++] ?? 0) % n;
  }
  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }
  /** True once in `n` times, never for 0. */
  rare(n: number): boolean {
    return this.below(n) === n - 1;
  }

  leaf(bs: readonly number[]): LeafData {
    const feature = this.pick([[], [2], [1]]);
    const sh = this.rare(12) ? [...bs, 3].slice(1) : [...bs, ...feature];
    const from = this.#from;
    this.#from += product(sh);
    return { dt: this.pick(["f32", "f32", "i64", "bool"] as const), sh, from };
  }

  tree(bs: readonly number[], depth: number, c: TreeData["c"] = "td"): TreeData {
    const e: TreeData["e"] = [];
    const keys = c === "point" ? ["a", "b", "n"] : KEYS;
    for (const key of keys) {
      if (c === "td" && key !== "a" && !this.rare(2)) continue;
      if (key !== "n" || depth === 0) e.push([key, this.leaf(bs)]);
      else e.push([key, this.tree(this.rare(4) ? [...bs, 2] : bs, depth - 1)]);
    }
    if (c === "td" && this.rare(2)) e.reverse();
    return { c, bs: [...bs], e };
  }

  batch(): number[] {
    return [...this.pick([[2], [2, 3], [3], [], [2, 1], [0], [1, 2, 2], [4]])];
  }
}

/** A path: mostly one that is there. */
export function somePath(d: Draw, seen: Seen): Path {
  const there = pathsOf(seen);
  return there.length === 0 || d.rare(8) ? freshPath(d) : d.pick(there);
}

/** A path that need not be there. */
export function freshPath(d: Draw): Path {
  return d.pick([["a"], ["b"], ["c"], ["n", "a"], ["n", "c"], ["n", "m", "b"], ["n"], ["d.e"]]);
}

function someValue(d: Draw, seen: Seen, path: Path, vars: readonly Seen[]): Value {
  const bs = batchOf(seen, path);
  if (d.rare(4)) return d.tree(bs, 0);
  const fitting = vars.flatMap((v, i) => (v !== seen && bs.every((n, k) => v.bs[k] === n) ? [i] : []));
  if (fitting.length > 0 && d.rare(6)) return { v: d.pick(fitting) };
  return d.leaf(bs);
}

/** A value for an entry that is there: mostly of its shape. */
function likeEntry(d: Draw, seen: Seen, path: Path): Value {
  const sh = shapeAt(seen, path);
  if (sh === null) return d.leaf(batchOf(seen, path));
  return { ...d.leaf(sh), sh: d.rare(12) ? [...sh, 2] : sh };
}

function somePart(d: Draw, size: number): Part {
  switch (d.below(8)) {
    case 1:
    case 2:
      return {
        s: d.pick([
          [0, 1, null],
          [1, null, null],
          [null, null, 2],
          [null, -1, null],
          [null, null, null],
        ]),
      };
    case 3:
      return { i: d.pick([[0], [0, 0], [], [size - 1, 0]]) };
    case 4:
      return { m: Array.from({ length: size }, (_, i) => (i + d.below(2)) % 2 === 0) };
    case 5:
      return null;
    case 6:
      return d.pick<Part>(["...", true, false]);
    default:
      return d.rare(12) ? size : d.below(size) - (d.rare(3) ? size : 0);
  }
}

/** An index of the batch; of lazy stacks one part, if it is to be plain. */
export function someIndex(d: Draw, seen: Seen): Part[] {
  if (seen.bs.length === 0) return [d.pick(["...", null])];
  const parts: Part[] = [];
  const most = d.plain && seen.c === "lazy" ? 1 : 1 + d.below(2);
  let dim = 0;
  let dots = false;
  let lists = 0;
  for (let k = 0; k < most; k++) {
    if (dim >= seen.bs.length) break;
    const part = somePart(d, seen.bs[dim] ?? 1);
    const isList = part !== null && typeof part === "object" && ("i" in part || "m" in part);
    if (part === "..." && dots) continue;
    if ((isList || typeof part === "boolean") && lists++ > 0 && d.plain) continue;
    if (d.plain && (typeof part === "boolean" || (seen.c === "lazy" && (part === null || part === "...")))) continue;
    parts.push(part);
    if (part === "...") dots = true;
    else if (part !== null && typeof part !== "boolean") dim++;
  }
  return parts.length === 0 ? [0] : parts;
}

export type Maker = (d: Draw, vars: readonly Seen[], on: number, seen: Seen) => Omit<Step, "op" | "on"> | null;

/** Dimensions from one list to another, in an order drawn. */
function permutation(d: Draw, rank: number): number[] {
  const left = Array.from({ length: rank }, (_, i) => i);
  const out: number[] = [];
  while (left.length > 0) out.push(...left.splice(d.below(left.length), 1));
  return out;
}

/** Sizes with the same product. */
function regrouped(d: Draw, bs: readonly number[]): number[] {
  const n = product(bs);
  const choices = [[n], [1, n], [n, 1], [-1]];
  if (n % 2 === 0) choices.push([2, n / 2], [n / 2, 2]);
  if (bs.length > 0) choices.push([...bs, 1], [...bs]);
  if (d.rare(12)) return [n + 1];
  return n === 0 ? [...bs] : d.pick(choices);
}

/** A dimension, at times from the end or one that is not there. */
function someDim(d: Draw, rank: number): number {
  if (d.rare(14)) return rank + 1;
  const dim = d.below(rank);
  return d.rare(4) ? dim - rank : dim;
}

/** Collections to join with: equal copies of the one, or whatever there is. */
function joined(d: Draw, vars: readonly Seen[], on: number, seen: Seen): number[] {
  const alike = vars.flatMap((v, i) => (String(v.bs) === String(seen.bs) && v.c === seen.c ? [i] : []));
  return d.rare(10) ? [on, d.below(vars.length)] : [on, d.pick(alike.length === 0 ? [on] : alike)];
}

const path: Maker = (d, _, __, seen) => ({ path: somePath(d, seen) });
const nothing: Maker = () => ({});
const dim: Maker = (d, _, __, seen) => ({ dims: [someDim(d, seen.bs.length)] });
/** Where a batch has no dimensions, not a new one: Python makes a plain tensor of a mapped number then. */
const placeToWrite = (d: Draw, seen: Seen): Part[] => (!d.plain && seen.bs.length === 0 ? ["..."] : someIndex(d, seen));
/** Not through the index of an object without a batch: there Python takes the objects of the source. */
const throughIndex: Maker = (d, vars, on, seen) => {
  if (seen.c === "point" && seen.bs.length === 0) return null;
  const [index, list] = [placeToWrite(d, seen), joined(d, vars, on, seen)];
  const from = vars[list[1] as number] as Seen;
  if (!d.plain && isBare(from)) return { index, list: [on, on] };
  // Python reads what it adds after it has written what was there, which may be the same memory.
  const adds = !d.plain && [...leavesOf(from)].some((path) => !leavesOf(seen).has(path));
  return { index, list: adds && storagesOf(from).some((s) => storagesOf(seen).includes(s)) ? [on, on] : list };
};
/** A dimension that is there: Python takes others for those of the leaves, and says that it will refuse them. */
const join: Maker = (d, vars, on, seen) => {
  const list = joined(d, vars, on, seen);
  // Python joins the members of stacks along other dimensions as if those were the same.
  const other = vars[list[1] as number] as Seen;
  const unlike =
    !d.plain && seen.c === "lazy" && other.c === "lazy" && String(stackDims(other)) !== String(stackDims(seen));
  return { list: unlike ? [on, on] : list, dims: [d.below(seen.bs.length + 1)] };
};
/** Not of what is locked: of what is mapped, Python takes the result for mapped, too. */
const ofUnlocked =
  (maker: Maker): Maker =>
  (d, vars, on, seen) =>
    seen.lk ? null : maker(d, vars, on, seen);
/** Of a stack whose members have the same keys: Python moves what all of them have, and may lose the rest. */
const ofAlikeMembers: Maker = (_, __, ___, seen) => (isRagged(seen) ? null : {});
const fewPaths = (d: Draw, seen: Seen): Path[] => Array.from({ length: 1 + d.below(2) }, () => somePath(d, seen));
const other: Maker = (d, vars, on, seen) => ({ value: { v: joined(d, vars, on, seen)[1] as number } });
/** Another collection of the same keys: Python passes over others in some cases and refuses them in some. */
const twin: Maker = (d, vars, on, seen) => {
  const keys = String(pathsOf(seen).map(String).sort());
  const twins = vars.flatMap((v, i) => (String(pathsOf(v).map(String).sort()) === keys ? [i] : []));
  return { value: { v: twins.length === 0 ? on : d.pick(twins) } };
};

/** A twin whose leaves give leaves that begin with the batch: with others Python makes a collection that is none. */
const fittingTwin: Maker = (d, vars, on, seen) => {
  const { value } = twin(d, vars, on, seen) as { value: { v: number } };
  const other = vars[value.v] as Seen;
  // Leaves of stacks along other dimensions are paired by the numbers of their members there.
  if (!d.plain && String(stackDims(seen)) !== String(stackDims(other))) return { value: { v: on } };
  const bs = broadcast(seen.bs, other.bs);
  const grown = (one: Seen, path: Path) => {
    const shape = shapeAt(one, path);
    if (shape === null || bs === null) return null;
    // What has no batch is broadcast as it is.
    return one.bs.length === 0 && one !== seen ? shape : [...bs, ...shape.slice(one.bs.length)];
  };
  const level = (one: Seen, path: Path) => {
    const entry = entryAt(one, path);
    return entry === undefined || isLeaf(entry) ? null : String([bs, ...entry.bs.slice(one.bs.length)]);
  };
  const fits = pathsOf(seen).every((path) => {
    const [a, b] = [grown(seen, path), grown(other, path)];
    if (level(seen, path) !== level(other, path)) return false;
    const made = a === null || b === null ? null : broadcast(a, b);
    return made === null || bs === null || bs.every((n, i) => made[i] === n);
  });
  return d.plain || fits ? { value } : { value: { v: on } };
};

/** A twin of the same batch: of others Python makes tensors that do not fit the batch of the result. */
const alike: Maker = (d, vars, on, seen) => {
  const { value } = fittingTwin(d, vars, on, seen) as { value: { v: number } };
  return String(vars[value.v]?.bs) === String(seen.bs) ? { value } : { value: { v: on } };
};

/** Not into a level of a longer batch than what is moved: Python does not look at that. */
const renamed: Maker = (d, _, __, seen) => {
  const [path, to, flag] = [somePath(d, seen), freshPath(d), d.rare(3)];
  const levels = to.slice(0, -1).map((_, i) => entryAt(seen, to.slice(0, i + 1)));
  const longer = (level: Seen) => level.bs.length > seen.bs.length;
  if (!d.plain && levels.some((level) => level !== undefined && !isLeaf(level) && longer(level))) return null;
  return { path, to, flag };
};

/** How each operation is drawn; how often it stands here is how often it comes. */
export const MAKERS: [op: string, maker: Maker][] = [
  [
    "set",
    (d, vars, _, seen) => {
      const to = d.rare(2) ? freshPath(d) : somePath(d, seen);
      return { path: to, value: someValue(d, seen, to, vars) };
    },
  ],
  [
    "set",
    (d, vars, _, seen) => {
      const to = freshPath(d);
      return { path: to, value: someValue(d, seen, to, vars) };
    },
  ],
  [
    "set_",
    (d, _, __, seen) => {
      const at = somePath(d, seen);
      // Python makes missing levels here, and takes a tensor for a level without elements.
      const entry = entryAt(seen, at);
      if (entry === undefined ? at.length > 1 : !isLeaf(entry)) return null;
      return { path: at, value: likeEntry(d, seen, at) };
    },
  ],
  ["get", path],
  [
    "setdefault",
    (d, _, __, seen) => {
      const at = somePath(d, seen);
      return { path: at, value: d.leaf(batchOf(seen, at)) };
    },
  ],
  ["del", path],
  ["pop", path],
  ["rename", renamed],
  ["rename", renamed],
  ["select", (d, _, __, seen) => ({ paths: fewPaths(d, seen), flag: d.rare(3), keep: d.rare(3) ? 0 : 1 })],
  ["exclude", (d, _, __, seen) => ({ paths: fewPaths(d, seen), flag: d.rare(3) })],
  ["update", (d, vars, on, seen) => (d.rare(2) ? other(d, vars, on, seen) : { value: d.tree(seen.bs, 1) })],
  [
    "update_",
    (d, vars, on, seen) => {
      const made = (d.plain ? twin : alike)(d, vars, on, seen) as { value: { v: number } };
      // Python passes over tensors where there is a level without any.
      const same = String([...leavesOf(vars[made.value.v] as Seen)].sort()) === String([...leavesOf(seen)].sort());
      return seen.c === "lazy" || !(d.plain || same) ? null : made;
    },
  ],
  ["at", (d, _, __, seen) => ({ index: someIndex(d, seen) })],
  ["at", (d, _, __, seen) => ({ index: someIndex(d, seen) })],
  ["setAtNumber", (d, _, __, seen) => ({ index: placeToWrite(d, seen), value: d.below(5) })],
  ["setAtOwn", throughIndex],
  ["stack", join],
  ["lazyStack", join],
  // Python calls the class of an object with the wrong number of arguments where a stack stands beside it.
  [
    "cat",
    (d, vars, on, seen) => {
      const list = joined(d, vars, on, seen);
      const mixed = !d.plain && hasPoint(seen) !== hasPoint(vars[list[1] as number] as Seen);
      return { list: mixed ? [on, on] : list, dims: [someDim(d, seen.bs.length)] };
    },
  ],
  ["split", (d, _, __, seen) => ({ list: [1 + d.below(2)], dims: [someDim(d, seen.bs.length)], keep: 2 })],
  ["unbind", (d, _, __, seen) => ({ dims: [someDim(d, seen.bs.length)], keep: 2 })],
  ["view", (d, _, __, seen) => ({ dims: regrouped(d, seen.bs) })],
  ["reshape", (d, _, __, seen) => ({ dims: regrouped(d, seen.bs) })],
  ["permute", (d, _, __, seen) => ({ dims: permutation(d, seen.bs.length) })],
  ["transpose", (d, _, __, seen) => ({ dims: [someDim(d, seen.bs.length), someDim(d, seen.bs.length)] })],
  ["squeeze", dim],
  ["unsqueeze", (d, _, __, seen) => ({ dims: [someDim(d, seen.bs.length + 1)] })],
  [
    "expand",
    (d, _, __, seen) => ({
      dims: [...(d.rare(2) ? [2] : []), ...seen.bs.map((n) => (n === 1 ? 3 : n))],
    }),
  ],
  ["addNumber", (d) => ({ value: 1 + d.below(3) })],
  ["mulNumber_", (d) => ({ value: d.below(3) })],
  ["addTd", fittingTwin],
  ["neg", nothing],
  ["zero_", nothing],
  ["applyPlus", nothing],
  ["applySame", nothing],
  ["apply_", nothing],
  ["flattenKeys", nothing],
  ["flattenKeys", nothing],
  ["unflattenKeys", nothing],
  ["lock_", nothing],
  ["unlock_", nothing],
  ["unlock_", nothing],
  ["clone", (d) => ({ flag: d.rare(2) })],
  ["memmap", nothing],
  ["memmapLoad", nothing],
  ["clear", nothing],
  ["toTensordict", nothing],
];

/** Operations that only Python is asked about. */
export const MORE: [op: string, maker: Maker][] = [
  ["flatten", nothing],
  ["flip", ofUnlocked(dim)],
  ["roll", ofUnlocked((d, _, __, seen) => ({ list: [1], dims: [someDim(d, seen.bs.length)] }))],
  ["repeat", (d, _, __, seen) => ({ dims: seen.bs.map(() => 1 + d.below(2)) })],
  ["chunk", (d, _, __, seen) => ({ list: [1 + d.below(3)], dims: [someDim(d, seen.bs.length)], keep: 2 })],
  ["contiguous", nothing],
  // Python takes a stack for empty whose members have nothing in common, and says that it will not do so.
  [
    "replace",
    (d, vars, on, seen) => {
      const made = other(d, vars, on, seen) as { value: { v: number } };
      return isBare(vars[made.value.v] as Seen) ? null : made;
    },
  ],
  ["createNested", (d) => ({ path: freshPath(d) })],
  ["empty", (d) => ({ flag: d.rare(2) })],
  ["splitKeys", (d, _, __, seen) => ({ paths: fewPaths(d, seen), keep: 2 })],
  // Not beside what it may be a member or a level of: that keeps the batch that it had.
  [
    "batchSize",
    (d, vars, _, seen) => {
      const own = new Set(storagesOf(seen));
      const holds = (v: Seen) => v.c === "lazy" || (v !== seen && storagesOf(v).some((s) => own.has(s)));
      return vars.some(holds) ? null : { dims: d.pick([seen.bs.slice(0, -1), [], [...seen.bs, 2], seen.bs]) };
    },
  ],
  ["gather", (d, _, __, seen) => ({ dims: [someDim(d, seen.bs.length)] })],
  ["maskedFill", (d) => ({ value: d.below(4) })],
  ["filterEmpty_", nothing],
  [
    "unflatten",
    (d) => ({
      dims: [
        0,
        ...d.pick([
          [1, -1],
          [2, -1],
          [-1, 1],
        ]),
      ],
    }),
  ],
  ["sumDim", dim],
  // Not beside stacks, whose member it may be: of members on no device and on one Python refuses most uses.
  ["memmap_", (_, vars, __, seen) => (vars.some((v) => v.c === "lazy" && v !== seen) ? null : {})],
  // Python broadcasts what has no batch as it is, but for objects of a class.
  [
    "eqTd",
    (d, vars, on, seen) => {
      const made = twin(d, vars, on, seen) as { value: { v: number } };
      const other = vars[made.value.v] as Seen;
      return hasPoint(seen) !== hasPoint(other) && String(other.bs) !== String(seen.bs) ? null : made;
    },
  ],
  ["where", alike],
  [
    "setAtLeaf",
    (d, _, __, seen) => {
      const at = somePath(d, seen);
      const index = someIndex(d, seen);
      // Python's True alone takes another dtype, and does not in a tuple.
      if (index.some((one) => typeof one === "boolean")) return null;
      return { path: at, index, value: d.below(4) };
    },
  ],
  // The entries of an object of a class are replaced there, whatever the index; Python says that it will not do so.
  // Of a stack, Python passes over keys that it lacks, where others are there.
  [
    "updateAt_",
    (d, vars, on, seen) => {
      const made = hasPoint(seen) ? null : (throughIndex(d, vars, on, seen) as Required<Step> | null);
      if (made === null || made.index.some((one) => typeof one === "boolean")) return null;
      const own = leavesOf(seen);
      return [...leavesOf(vars[made.list[1] as number] as Seen)].every((path) => own.has(path)) ? made : null;
    },
  ],
  ["namedApply", nothing],
  ["selectInplace", (d, _, __, seen) => ({ paths: fewPaths(d, seen), flag: d.rare(3) })],
  ["excludeInplace", (d, _, __, seen) => ({ paths: fewPaths(d, seen) })],
  ["flattenInplace", ofAlikeMembers],
  ["unflattenInplace", ofAlikeMembers],
  ["maybeDenseStack", join],
];

/** The first steps: what collections there are. */
function opening(d: Draw, vars: readonly Seen[]): Step {
  const bs = vars.length > 0 && !d.rare(3) ? (vars[0] as Seen).bs : d.batch();
  const kind = d.pick(["make", "make", "makeLazy", "makePoint", "makeLocked", "makeMapped"]);
  const tree = d.tree(bs, 2, kind === "makePoint" ? "point" : "td");
  if (kind !== "makeLazy") return { op: kind, on: 0, tree };
  return { op: kind, on: 0, tree, dims: [d.below(bs.length + 1)] };
}

/** What Python does to the plain collection inside of a tensorclass, so that the class no longer fits. */
const OF_PLAIN = new Set([
  "flattenKeys",
  "unflattenKeys",
  "flattenInplace",
  "unflattenInplace",
  "rename",
  "createNested",
]);
for (const op of ["setdefault", "toTensordict", "splitKeys", "set_"]) OF_PLAIN.add(op);

/** Operations through an index, which is looked at where there is something. */
const INDEXED = new Set(["at", "setAtNumber", "setAtOwn", "updateAt_"]);

/** The next step from some numbers, or null where they give none. */
export function nextStep(
  numbers: readonly number[],
  vars: readonly Seen[],
  count: number,
  plain: boolean,
): Step | null {
  const d = new Draw(numbers, count * 64, plain);
  const table = plain ? MAKERS : [...MAKERS, ...MORE];
  const [op, maker] = d.pick(table);
  if (vars.length === 0 || (vars.length < 4 && d.rare(6))) return opening(d, vars);
  const on = vars.length - 1 - d.below(vars.length);
  const seen = vars[on] as Seen;
  if (OF_PLAIN.has(op) && hasPoint(seen)) return null;
  if (!plain && INDEXED.has(op) && isBare(seen)) return null;
  const made = maker(d, vars, on, seen);
  return made === null ? null : { op, on, ...made };
}

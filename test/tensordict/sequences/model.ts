// The plain model of a sequence: the same steps on trees of arrays.
import {
  copyInto,
  deviceOf,
  discard,
  exclude,
  find,
  flattened,
  holderOf,
  keysOf,
  last,
  own,
  remove,
  rename,
  select,
  set,
  shallow,
  stackLeaves,
  unflattened,
  update,
  write,
} from "./model-keys.ts";
import * as shape from "./model-shape.ts";
import {
  below,
  convert,
  Dict,
  type Entry,
  isNode,
  Lazy,
  Leaf,
  lock,
  type Node,
  Refused,
  refuse,
  requireOpen,
  seeAll,
  unlock,
  unsure,
} from "./model-tree.ts";
import type { Outcome, Step, Value } from "./steps.ts";
import { isLeafData, isTreeData } from "./steps.ts";

/** The same on every leaf of a tree. */
function mapped(node: Node, fn: (x: Leaf) => Leaf, keepEmpty = true): Node {
  if (node instanceof Lazy)
    return new Lazy(
      node.members.map((m) => mapped(m, fn)),
      node.dim,
    );
  const made = shape.like(node, node.bs);
  for (const [key, entry] of node.entries) {
    if (entry instanceof Leaf) made.entries.set(key, fn(entry));
    else {
      const inner = mapped(shape.dense(entry), fn, keepEmpty);
      if (keepEmpty || keysOf(inner).length > 0) made.entries.set(key, inner);
    }
  }
  return made;
}

function leavesOf(node: Node): Leaf[] {
  if (node instanceof Lazy) return node.members.flatMap(leavesOf);
  return [...node.entries.values()].flatMap((entry) => (entry instanceof Leaf ? [entry] : leavesOf(entry)));
}

function joined(
  list: readonly Node[],
  leaf: (parts: readonly Leaf[]) => Leaf,
  size: (list: Dict[]) => readonly number[],
): Dict {
  const parts = list.map(shape.dense);
  const [first] = parts as [Dict];
  if (parts.some((p) => p.c !== first.c || p.device !== first.device)) unsure("of several kinds");
  const made = shape.like(first, size(parts));
  const sorted = (p: Dict) => String(keysOf(p).sort());
  if (parts.some((p) => sorted(p) !== sorted(first))) refuse("keys");
  for (const key of keysOf(first)) {
    const entries = parts.map((p) => p.entries.get(key) as Entry);
    if (entries.every((entry) => entry instanceof Leaf)) made.entries.set(key, leaf(entries as Leaf[]));
    else if (entries.every(isNode)) made.entries.set(key, joined(entries as Node[], leaf, size));
    else unsure("tensors in some only");
  }
  return made;
}

const sameBatch = (list: readonly Node[]) => list.every((node) => String(node.bs) === String((list[0] as Node).bs));

function stacked(list: readonly Node[], dim: number): Node {
  list.map(shape.dense);
  if (!sameBatch(list)) refuse("batch sizes");
  if (keysOf(list[0] as Node).length === 0) unsure("nothing to stack");
  const at = shape.wrapDim(dim, (list[0] as Node).bs.length + 1);
  const size = (parts: Dict[]) =>
    sameBatch(parts) ? (parts[0] as Dict).bs.toSpliced(at, 0, parts.length) : refuse("nested");
  return joined(list, (leaves) => stackLeaves(leaves, at), size);
}

function lazy(list: readonly Node[], dim: number): Node {
  if (!sameBatch(list)) unsure("batch sizes");
  if (list.some((node) => deviceOf(node) !== deviceOf(list[0] as Node))) unsure("devices");
  return new Lazy([...list], shape.wrapDim(dim, (list[0] as Node).bs.length + 1));
}

function cat(list: readonly Node[], dim: number): Node {
  list.map(shape.dense);
  if (keysOf(list[0] as Node).length === 0) unsure("nothing to join");
  const at = shape.wrapDim(dim, (list[0] as Node).bs.length);
  const others = (sh: readonly number[]) => String(sh.toSpliced(at, 1));
  const size = (parts: readonly { bs: readonly number[] }[]) => {
    const [first] = parts as [{ bs: readonly number[] }];
    if (parts.some((p) => others(p.bs) !== others(first.bs))) return refuse("batch sizes");
    return first.bs.with(
      at,
      parts.reduce((n, p) => n + (p.bs[at] as number), 0),
    );
  };
  const leaf = (leaves: readonly Leaf[]) => {
    if (leaves.some((x) => x.dt !== leaves[0]?.dt)) unsure("dtypes");
    if (leaves.some((x) => x.read().length === 0)) unsure("tensors without elements");
    if (leaves.some((x) => x.sh.length !== leaves[0]?.sh.length)) refuse("dimensions");
    const rows = leaves.flatMap((x) => Array.from({ length: x.sh[at] as number }, (_, i) => x.select(at, i)));
    if (rows.length === 0) unsure("nothing to join");
    if (leaves.some((x) => others(x.sh) !== others((leaves[0] as Leaf).sh))) refuse("shapes");
    return stackLeaves(rows, at);
  };
  return joined(list, leaf, size);
}

/** Every leaf changed in place, once it is known that each can be. */
function change(node: Node, fn: (n: number) => number, refused: (x: Leaf) => boolean): void {
  const leaves = leavesOf(node);
  if (leaves.some(refused)) refuse("a leaf");
  for (const x of leaves) x.write(x.read().map((n) => convert(fn(n), x.dt)));
}

function fill(node: Node, index: NonNullable<Step["index"]>, n: number): void {
  if (node instanceof Lazy) {
    // What an index chooses of a stack of tensors are views of its members' tensors.
    if (leavesOf(node).length === 0) unsure("nothing to write");
    const part = shape.at(node, index);
    if (index.some((p) => p !== null && typeof p === "object" && !("s" in p))) unsure("a list of members");
    for (const x of leavesOf(part)) if (x.overlaps()) refuse("several elements in one place");
    for (const x of leavesOf(part)) x.write(x.read().map(() => n));
    return;
  }
  const parts = shape.spelled(index, node.bs.length);
  if (parts.every((p) => p === null || typeof p !== "object" || "s" in p))
    for (const x of leavesOf(node)) if (shape.indexLeaf(x, parts).overlaps()) refuse("several elements in one place");
  for (const [, entry] of node.entries) {
    if (isNode(entry)) fill(entry, parts, n);
    else assign(entry, parts, () => n);
  }
}

/** Writes through an index, of lists too: which elements are meant is asked of a leaf that holds their places. */
function assign(x: Leaf, parts: ReturnType<typeof shape.spelled>, value: (i: number) => number): void {
  const places = new Leaf("i64", { v: x.places(), id: {} }, x.sh, Leaf.of("i64", x.sh, []).st, 0);
  const isList = parts.some((p) => p !== null && typeof p === "object" && !("s" in p));
  if (isList && x.overlaps()) unsure("a list of one place");
  for (const [i, at] of shape.indexLeaf(places, parts).read().entries()) x.memory.v[at] = convert(value(i), x.dt);
}

function assignOwn(node: Node, source: Node, index: NonNullable<Step["index"]>): void {
  const [target, other] = [shape.dense(node), shape.dense(source)];
  const value = shape.dense(shape.at(other, index));
  shape.at(target, index);
  const parts = shape.spelled(index, target.bs.length);
  const pairs: [Leaf, Leaf, Leaf][] = [];
  const visit = (t: Dict, v: Dict, o: Dict): void => {
    if (String(keysOf(t).sort()) !== String(keysOf(v).sort()) || String(t.bs) !== String(o.bs)) unsure("other entries");
    for (const [key, entry] of v.entries) {
      const [mine, theirs] = [t.entries.get(key), o.entries.get(key)];
      if (isNode(mine) && isNode(entry)) visit(shape.dense(mine), shape.dense(entry), shape.dense(theirs as Node));
      else if (mine instanceof Leaf && entry instanceof Leaf && String(mine.sh) === String((theirs as Leaf).sh)) {
        pairs.push([mine, entry, theirs as Leaf]);
      } else unsure("other shapes");
    }
  };
  visit(target, value, other);
  for (const [mine, entry, theirs] of pairs) {
    if (mine.memory.v === theirs.memory.v && String(mine.places()) !== String(theirs.places())) unsure("overlap");
    if (mine.overlaps()) unsure("several elements in one place");
    const isList = parts.some((p) => p !== null && typeof p === "object" && !("s" in p));
    if (isList && mine.dt !== entry.dt) unsure("a list and another dtype");
    const v = entry.read();
    assign(mine, parts, (i) => v[i] as number);
  }
}

function updateInPlace(node: Node, value: Node): void {
  const [target, source] = [shape.dense(node), shape.dense(value)];
  const pairs: [Leaf, Leaf][] = [];
  const visit = (t: Dict, s: Dict): void => {
    for (const [key, entry] of s.entries) {
      const mine = t.entries.get(key);
      if (mine instanceof Leaf && entry instanceof Leaf) {
        if (mine.overlaps() && mine.memory.v !== entry.memory.v) refuse("several elements in one place");
        if (mine.memory.v === entry.memory.v && String(mine.sh) !== String(entry.sh)) unsure("overlap");
        pairs.push([mine, entry.broadcast(mine.sh)]);
      } else if (isNode(mine) && isNode(entry)) visit(shape.dense(mine), shape.dense(entry));
      else if (mine === undefined) refuse("missing");
      else unsure("a level and a tensor");
    }
  };
  visit(target, source);
  for (const [mine, entry] of pairs) copyInto(mine, entry);
}

/** What arithmetic gives: where there is no tensor an unlocked copy, empty levels too. */
function computed(node: Node, made: Node): Node {
  return leavesOf(node).length === 0 ? shallow(node) : shape.lockWhole(node, made);
}

const ORDER = ["bool", "i64", "f32"];

function sum(node: Node, other: Node): Node {
  const [a, b] = [shape.dense(node), shape.dense(other)];
  if (String(a.bs) !== String(b.bs)) unsure("broadcast");
  if (a.device !== b.device) unsure("devices");
  const made = shape.like(a, a.bs);
  if (String(keysOf(a).sort()) !== String(keysOf(b).sort())) refuse("keys");
  for (const [key, x] of a.entries) {
    const y = b.entries.get(key) as Entry;
    if (x instanceof Leaf && y instanceof Leaf) {
      if (String(x.sh) !== String(y.sh)) unsure("broadcast");
      const dt = ORDER[Math.max(ORDER.indexOf(x.dt), ORDER.indexOf(y.dt))] as string;
      const v = y.read();
      const known = x.inOrder() && y.inOrder() && y.known;
      const whole = x.fresh(
        x.read().map((n, i) => n + (v[i] as number)),
        dt,
      );
      made.entries.set(key, new Leaf(dt, whole.memory, whole.sh, whole.st, 0, whole.known && known));
    } else if (isNode(x) && isNode(y)) {
      const inner = sum(x, y);
      if (keysOf(inner).length > 0) made.entries.set(key, inner);
    } else unsure("a level and a tensor");
  }
  return made;
}

/** All tensors in files of their own: `v` is what both mappings of a file hold. */
function onDisk(node: Node): Node {
  if (node instanceof Lazy) {
    const made = new Lazy(
      node.members.map((m) => onDisk(m)),
      node.dim,
    );
    lock(made);
    return made;
  }
  const made = mapped(node, (x) => {
    if (files.has(x.memory)) unsure("a file of its own");
    const copy = Leaf.of(x.dt, x.sh, x.read());
    files.add(copy.memory);
    return copy;
  }) as Dict;
  settle(made);
  lock(made);
  return made;
}

/** The memories that are files. */
const files = new WeakSet<object>();

function settle(node: Dict): void {
  node.mapped = true;
  node.device = true;
  for (const entry of node.entries.values()) if (isNode(entry)) settle(shape.dense(entry));
}

/** The same files, mapped again: tensors come first, levels after them. */
function loaded(node: Node): Node {
  const made = mapped(node, (x) => {
    const memory = { v: x.memory.v, id: {} };
    files.add(memory);
    return new Leaf(x.dt, memory, x.sh, x.st, x.off);
  });
  const sort = (at: Node): void => {
    if (at instanceof Dict) {
      const entries = [...at.entries];
      at.entries.clear();
      const ordered = [...entries.filter(([, x]) => !isNode(x)), ...entries.filter(([, x]) => isNode(x))];
      for (const [key, x] of ordered) at.entries.set(key, x);
    }
    below(at).forEach(sort);
  };
  sort(made);
  return made;
}

function densified(node: Node): Dict {
  const made = shape.like(firstOf(node), node.bs);
  if (node instanceof Dict && node.c === "point") unsure("a class");
  for (const key of keysOf(node)) {
    const entry = own(node, key) as Entry;
    made.entries.set(key, entry instanceof Leaf ? entry.copy() : densified(entry));
  }
  return made;
}

const firstOf = (node: Node): Dict => (node instanceof Dict ? node : firstOf(node.members[0] as Node));

type Run = (node: Node, s: Required<Step>, world: Model) => Node[] | undefined;

const one = (node: Entry | undefined): Node[] => (isNode(node) ? [node] : []);
const first = (s: Step): number => s.dims?.[0] as number;

const RUNS: Record<string, Run> = {
  make: (_, s) => [Dict.from(s.tree)],
  makePoint: (_, s) => [Dict.from(s.tree)],
  makeLocked: (_, s) => {
    const made = Dict.from(s.tree);
    lock(made);
    return [made];
  },
  makeMapped: (_, s) => [onDisk(Dict.from(s.tree))],
  makeLazy: (_, s) => {
    const made = Dict.from(s.tree);
    return [lazy([made, mapped(made, (x) => plus(x, 50), false)], first(s))];
  },
  set: (node, s, w) => void set(node, s.path, w.value(s.value)),
  set_: (node, s, w) => void write(node, s.path, w.value(s.value) as Leaf),
  setdefault: (node, s, w) => {
    if (node instanceof Dict && node.c === "point") unsure("a class");
    const there = find(node, s.path);
    if (there !== undefined) return one(there);
    set(node, s.path, w.value(s.value));
  },
  get: (node, s) => {
    if (firstOf(node).c === "point") {
      if (s.path.length > 1) unsure("a class");
      return one(own(node, s.path[0] as string));
    }
    return one(own(holderOf(node, s.path), last(s.path)) ?? refuse("missing"));
  },
  del: (node, s) => void discard(node, s.path),
  pop: (node, s) => one(remove(node, s.path)),
  rename: (node, s) => void rename(node, s.path, s.to, s.flag),
  select: (node, s) => [select(node, s.paths, s.keep === 1)],
  exclude: (node, s) => [exclude(node, s.paths)],
  update: (node, s, w) => void update(node, w.value(s.value) as Node),
  update_: (node, s, w) => void updateInPlace(node, w.value(s.value) as Node),
  at: (node, s) => [shape.at(node, s.index)],
  setAtNumber: (node, s) => void fill(node, s.index, s.value as number),
  setAtOwn: (node, s, w) => void assignOwn(node, w.vars[s.list[1] as number] as Node, s.index),
  stack: (_, s, w) => [stacked(w.all(s), first(s))],
  lazyStack: (_, s, w) => [lazy(w.all(s), first(s))],
  cat: (_, s, w) => [cat(w.all(s), first(s))],
  split: (node, s) => shape.split(node, s.list[0] as number, first(s)).slice(0, s.keep),
  unbind: (node, s) => shape.unbind(node, first(s)).slice(0, s.keep),
  view: (node, s) => [shape.viewAs(node, s.dims, false)],
  reshape: (node, s) => [shape.viewAs(node, s.dims, true)],
  permute: (node, s) => [shape.permuted(node, s.dims)],
  transpose: (node, s) => [shape.transposed(node, s.dims)],
  squeeze: (node, s) => [shape.squeezed(node, first(s))],
  unsqueeze: (node, s) => [shape.unsqueezed(node, first(s))],
  expand: (node, s) => [shape.expanded(node, s.dims)],
  addNumber: (node, s) => [
    computed(
      node,
      mapped(node, (x) => plus(x, s.value as number), node instanceof Lazy),
    ),
  ],
  mulNumber_: (node, s) => {
    const count = leavesOf(node).length;
    if (count > 1 && leavesOf(node).some((x) => x.overlaps())) unsure("several elements in one place");
    change(
      node,
      (n) => n * (s.value as number),
      (x) => x.dt === "bool" || x.overlaps(),
    );
    return undefined;
  },
  addTd: (node, s, w) => [computed(node, sum(node, w.value(s.value) as Node))],
  neg: (node) => {
    if (leavesOf(node).some((x) => x.dt === "bool")) refuse("a bool");
    return [
      computed(
        node,
        mapped(node, (x) => x.fresh(x.read().map((n) => 0 - n))),
      ),
    ];
  },
  zero_: (node) =>
    void change(
      node,
      () => 0,
      () => false,
    ),
  applyPlus: (node) => [mapped(node, (x) => plus(x, 1))],
  applySame: (node) => [mapped(node, (x) => x)],
  apply_: (node) =>
    void change(
      node,
      (n) => n * 2,
      (x) => (x.overlaps() ? unsure("several elements in one place") : false),
    ),
  flattenKeys: (node) => [flattened(node)],
  unflattenKeys: (node) => [unflattened(node)],
  lock_: (node) => void lock(node),
  unlock_: (node) => void unlock(node),
  clone: (node, s) => [s.flag ? shallow(node) : mapped(node, (x) => x.copy())],
  memmap: (node) => [onDisk(node)],
  memmapLoad: (node) => {
    const made = onDisk(node);
    return [made, loaded(made)];
  },
  clear: (node) => {
    requireOpen(node);
    for (const key of keysOf(node)) remove(node, [key]);
    return undefined;
  },
  toTensordict: (node) => [densified(node)],
};

const plus = (x: Leaf, n: number): Leaf =>
  x.fresh(
    x.read().map((v) => v + n),
    x.dt === "bool" ? "i64" : x.dt,
  );

/** The collections of one sequence, as the model has them. */
export class Model {
  vars: Node[] = [];

  value(v: Value): Entry {
    if (typeof v === "number") return unsure("a number");
    if (isTreeData(v)) return Dict.from(v);
    return isLeafData(v) ? Leaf.from(v) : (this.vars[v.v] as Node);
  }
  all(s: Required<Step>): Node[] {
    return s.list.map((i) => this.vars[i] as Node);
  }
  run(step: Step): Outcome {
    let err: Outcome["err"];
    try {
      const run = RUNS[step.op] ?? unsure(step.op);
      this.vars.push(...(run(this.vars[step.on] as Node, step as Required<Step>, this) ?? []));
    } catch (e) {
      if (!(e instanceof Refused)) throw e;
      err = ["Refused", e.message];
    }
    return { ...(err === undefined ? {} : { err }), vars: seeAll(this.vars) };
  }
}

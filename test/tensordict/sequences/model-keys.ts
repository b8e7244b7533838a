// Reading and changing the entries of the plain model.
import { dense, like, unbind } from "./model-shape.ts";
import {
  Dict,
  type Entry,
  isNode,
  Lazy,
  Leaf,
  type Node,
  refuse,
  requireField,
  requireOpen,
  unsure,
} from "./model-tree.ts";
import type { Path } from "./steps.ts";
import { FIELDS } from "./steps.ts";

const sameShape = (a: readonly number[], b: readonly number[]) => String(a) === String(b);

/** Leaves stacked along a new dimension: always new memory. */
export function stackLeaves(leaves: readonly Leaf[], dim: number): Leaf {
  const [first] = leaves as [Leaf];
  if (leaves.some((x) => !sameShape(x.sh, first.sh))) refuse("shapes differ");
  if (leaves.some((x) => x.dt !== first.dt)) unsure("dtypes differ");
  const sh = first.sh.toSpliced(dim, 0, leaves.length);
  const whole = Leaf.of(first.dt, sh, new Array<number>(first.read().length * leaves.length).fill(0));
  for (const [i, x] of leaves.entries()) whole.select(dim, i).write(x.read());
  return whole;
}

/** The entry under one key. */
export function own(node: Node, key: string): Entry | undefined {
  if (node instanceof Dict) return node.entries.get(key);
  const found = node.members.map((m) => own(m, key));
  if (found.some((entry) => entry === undefined)) return undefined;
  if (found.every((entry) => entry instanceof Leaf)) {
    const leaves = found as Leaf[];
    if (leaves.some((x) => !sameShape(x.sh, (leaves[0] as Leaf).sh))) unsure("shapes differ");
    return stackLeaves(leaves, node.dim);
  }
  if (!found.every(isNode)) return unsure("tensors in some members only");
  return new Lazy(found as Node[], node.dim);
}

export function keysOf(node: Node): string[] {
  if (node instanceof Dict) return [...node.entries.keys()];
  const [first, ...rest] = node.members.map(keysOf) as [string[], ...string[][]];
  return first.filter((key) => rest.every((keys) => keys.includes(key)));
}

/** What holds the last key of a path; the levels before it must be there. */
export function holderOf(node: Node, path: Path): Node {
  let holder = node;
  for (const key of path.slice(0, -1)) {
    const next = own(holder, key);
    if (!isNode(next)) return refuse("no such level");
    holder = next;
  }
  return holder;
}

export function find(node: Node, path: Path): Entry | undefined {
  let entry: Entry | undefined = node;
  for (const key of path) {
    if (!isNode(entry)) return undefined;
    entry = own(entry, key);
  }
  return entry;
}

export const last = (path: Path): string => path.at(-1) as string;

/** Whether a tree holds a collection. */
export function holds(tree: Node, node: Node): boolean {
  if (tree === node) return true;
  return tree instanceof Lazy
    ? tree.members.some((m) => holds(m, node))
    : [...tree.entries.values()].some((entry) => isNode(entry) && holds(entry, node));
}

const startsWith = (sh: readonly number[], bs: readonly number[]) => bs.every((n, i) => sh[i] === n);

function requireAllOpen(node: Node): void {
  requireOpen(node);
  if (node instanceof Lazy) node.members.forEach(requireAllOpen);
}

/** A value as it is stored in a level. */
function adopted(value: Entry, bs: readonly number[]): Entry {
  if (value instanceof Leaf) return startsWith(value.sh, bs) ? value : refuse("batch size");
  if (startsWith(value.bs, bs)) return value;
  return unsure("a level of a shorter batch");
}

function put(node: Node, key: string, value: Entry): void {
  if (node instanceof Dict) {
    node.entries.set(key, value);
    return;
  }
  const parts = value instanceof Leaf ? node.members.map((_, i) => value.select(node.dim, i)) : unbind(value, node.dim);
  for (const [i, m] of node.members.entries()) put(m, key, parts[i] as Entry);
}

function requireFieldOf(node: Node, key: string): void {
  if (node instanceof Dict) requireField(node, key);
  else for (const m of node.members) requireFieldOf(m, key);
}

export const deviceOf = (node: Node): boolean =>
  node instanceof Dict ? node.device : deviceOf(node.members[0] as Node);

/** Sets an entry; levels that are missing are made. */
export function set(node: Node, path: Path, value: Entry): void {
  requireAllOpen(node);
  let [holder, depth] = [node, 0];
  for (; depth < path.length - 1; depth++) {
    const next = own(holder, path[depth] as string);
    if (next === undefined) break;
    if (!isNode(next)) refuse("through a leaf");
    else holder = next;
  }
  requireAllOpen(holder);
  requireFieldOf(holder, path[depth] as string);
  if (
    isNode(value) &&
    (holds(value, holder) || (holder instanceof Lazy && holder.members.some((m) => holds(value, m))))
  ) {
    refuse("holds itself");
  }
  if (isNode(value) && deviceOf(value) !== deviceOf(holder)) unsure("another device");
  const stored = adopted(value, holder.bs);
  for (const key of path.slice(depth, -1)) {
    const made = new Dict("td", holder.bs);
    if (holder instanceof Dict) made.device = holder.device;
    put(holder, key, made);
    holder = own(holder, key) as Node;
  }
  put(holder, last(path), stored);
}

/** Writes into an entry that is there. */
export function write(node: Node, path: Path, value: Leaf): void {
  const holder = holderOf(node, path);
  const entry = own(holder, last(path));
  if (entry === undefined) refuse("missing");
  else if (!(entry instanceof Leaf)) unsure("a level");
  else if (holder.bs.some((n, dim) => n !== value.sh[dim])) refuse("batch size");
  writeInto(holder, last(path), value.broadcast(entry.sh));
}

export function copyInto(target: Leaf, value: Leaf): void {
  if (target.memory.v === value.memory.v) {
    // What is written where it lies stays as it is, if it lies there in the same way.
    if (String([target.places(), target.sh, target.st]) === String([value.places(), value.sh, value.st])) return;
    unsure("overlap");
  }
  if (target.overlaps()) refuse("several elements in one place");
  target.write(value.read());
}

function writeInto(node: Node, key: string, value: Leaf): void {
  if (node instanceof Dict) copyInto(node.entries.get(key) as Leaf, value);
  else for (const [i, m] of node.members.entries()) writeInto(m, key, value.select(node.dim, i));
}

export function drop(node: Node, key: string): void {
  if (node instanceof Dict) node.entries.delete(key);
  else for (const m of node.members) drop(m, key);
}

/** The levels at the bottom of stacks. */
const bottoms = (node: Node): Dict[] => (node instanceof Dict ? [node] : node.members.flatMap(bottoms));

/** The levels that have the entry at a path; in stacks those of the members that have it. */
function holdersOf(node: Node, [key, ...rest]: Path): Dict[] {
  return bottoms(node).flatMap((level) => {
    const entry = level.entries.get(key as string);
    if (rest.length === 0) return entry === undefined ? [] : [level];
    return entry !== undefined && isNode(entry) ? holdersOf(entry, rest) : [];
  });
}

/** Takes an entry out where it is; a field of a class without a value is out already. */
export function discard(node: Node, path: Path): void {
  const holders = new Set(holdersOf(node, path));
  if (holders.size === 0) {
    const levels = bottoms(holderOf(node, path));
    if (levels.length > 0 && levels.every((level) => level.c === "point" && FIELDS.includes(last(path)))) return;
    refuse("missing");
  }
  requireOpen(node);
  for (const holder of holders) requireOpen(holder);
  for (const holder of holders) holder.entries.delete(last(path));
}

/** Takes an entry out that all have. */
export function remove(node: Node, path: Path): Entry {
  const holder = holderOf(node, path);
  const entry = own(holder, last(path));
  requireAllOpen(holder);
  if (entry === undefined) return refuse("missing");
  drop(holder, last(path));
  return entry;
}

export function rename(node: Node, before: Path, after: Path, safe: boolean): void {
  if (node instanceof Lazy) {
    for (const m of new Set(bottoms(node))) checkRename(m, before, after, safe);
    requireAllOpen(node);
    for (const m of new Set(bottoms(node))) rename(m, before, after, safe);
    return;
  }
  checkRename(node, before, after, safe);
  if (String(before) === String(after)) return;
  const entry = find(node, before) as Entry;
  // What is set there may stand where the old one was.
  if (startsWithPath(before, after) || startsWithPath(after, before)) unsure("one inside of the other");
  set(node, after, entry);
  remove(node, before);
}

const startsWithPath = (path: Path, start: Path) => start.every((key, i) => path[i] === key);

function checkRename(node: Node, before: Path, after: Path, safe: boolean): void {
  if (find(node, before) === undefined) refuse("missing");
  const inside = after.length > before.length && startsWithPath(after, before);
  if (safe && !inside && String(before) !== String(after) && find(node, after) !== undefined) refuse("there already");
  requireAllOpen(node);
  requireAllOpen(holderOf(node, before));
}

/** Only some entries; levels on the way are new, whole ones are shared. */
export function select(node: Node, paths: readonly Path[], strict: boolean): Node {
  for (const path of paths) {
    if (paths.some((other) => other !== path && startsWithPath(path, other) && String(path) !== String(other))) {
      unsure("one inside of the other");
    }
    if (strict && find(node, path) === undefined) refuse("missing");
  }
  if (node instanceof Lazy)
    return new Lazy(
      node.members.map((m) => select(m, paths, false)),
      node.dim,
    );
  const made = like(node, node.bs);
  for (const path of paths) {
    const entry = find(node, path);
    let [from, to] = [node as Dict, made];
    let there = true;
    for (const key of path.slice(0, -1)) {
      const inner = from.entries.get(key);
      there &&= inner !== undefined && isNode(inner);
      if (!there) break;
      from = dense(inner as Node);
      const next = to.entries.get(key);
      const level = next === undefined ? like(from, from.bs) : dense(next as Node);
      to.entries.set(key, level);
      to = level;
    }
    // Levels on the way to what is missing are there, empty.
    if (there && entry !== undefined) to.entries.set(last(path), entry);
  }
  return made;
}

/** All but some entries; levels that none of them leads into are shared. */
export function exclude(node: Node, paths: readonly Path[]): Node {
  if (node instanceof Lazy)
    return new Lazy(
      node.members.map((m) => exclude(m, paths)),
      node.dim,
    );
  const made = like(node, node.bs);
  for (const [key, entry] of node.entries) {
    const inner = paths.filter((path) => path[0] === key).map((path) => path.slice(1));
    if (inner.some((path) => path.length === 0)) continue;
    const led = isNode(entry) && inner.some((path) => find(entry, path) !== undefined);
    made.entries.set(key, led ? exclude(entry, inner) : entry);
  }
  return made;
}

/** Adds and replaces entries; levels that both have are merged. */
export function update(node: Node, value: Node): void {
  requireOpen(node);
  if (node === value) return;
  const [target, source] = [dense(node), dense(value)];
  if (holds(target, source) || holds(source, target)) unsure("one in the other");
  const rank = Math.min(target.bs.length, source.bs.length);
  if (String(target.bs.slice(0, rank)) !== String(source.bs.slice(0, rank))) refuse("batch size");
  if (target.bs.length !== source.bs.length) unsure("batch sizes");
  // All or nothing: what is refused in one of them is refused before the first is made.
  const plan: (() => void)[] = [];
  planUpdate(target, source, plan);
  for (const change of plan) change();
}

function planUpdate(target: Dict, source: Dict, plan: (() => void)[]): void {
  requireOpen(target);
  for (const [key, entry] of source.entries) {
    const there = target.entries.get(key);
    if (isNode(there) && isNode(entry)) {
      if (String(there.bs) !== String(entry.bs)) unsure("batch sizes");
      planUpdate(dense(there), dense(entry), plan);
    } else {
      requireField(target, key);
      if (isNode(entry) && deviceOf(entry) !== target.device) unsure("another device");
      const stored = adopted(entry, target.bs);
      plan.push(() => target.entries.set(key, stored));
    }
  }
}

/** Joined keys. */
export function flattened(node: Node): Node {
  if (node instanceof Lazy) return new Lazy(node.members.map(flattened), node.dim);
  const made = like(node, node.bs);
  const visit = (level: Dict, prefix: string): void => {
    for (const [key, entry] of level.entries) {
      if (isNode(entry)) visit(dense(entry), `${prefix}${key}.`);
      else if (made.entries.has(prefix + key)) refuse("two entries of one key");
      else made.entries.set(prefix + key, entry);
    }
  };
  visit(node, "");
  return made;
}

/** A copy of the levels. */
export function shallow(node: Node): Node {
  if (node instanceof Lazy) return new Lazy(node.members.map(shallow), node.dim);
  return like(
    node,
    node.bs,
    [...node.entries].map(([key, entry]): [string, Entry] => [key, isNode(entry) ? shallow(entry) : entry]),
  );
}

export function unflattened(node: Node): Node {
  if (node instanceof Lazy) return new Lazy(node.members.map(unflattened), node.dim);
  const made = shallow(node) as Dict;
  for (const key of node.entries.keys()) {
    if (!key.includes(".")) continue;
    const path = key.split(".");
    const above = path.slice(0, -1).map((_, i) => find(made, path.slice(0, i + 1)));
    if (find(made, path) !== undefined || above.some((entry) => entry instanceof Leaf)) refuse("there already");
    const entry = made.entries.get(key) as Entry;
    made.entries.delete(key);
    set(made, path, entry);
  }
  return made;
}

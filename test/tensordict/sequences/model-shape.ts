// Changes of shape and indexing of the plain model.
import { Dict, type Entry, isLocked, isNode, Lazy, Leaf, lock, type Node, refuse, unsure } from "./model-tree.ts";
import type { Part } from "./steps.ts";
import { product } from "./steps.ts";

/** A new level after the model of another. */
export function like(node: Dict, bs: readonly number[], entries: Iterable<[string, Entry]> = []): Dict {
  const made = new Dict(node.c, bs);
  made.device = node.device;
  for (const [key, entry] of entries) made.entries.set(key, entry);
  return made;
}

export function dense(node: Node): Dict {
  return node instanceof Dict ? node : unsure("of a stack");
}

/** The same change to all leaves; sizes begin with the batch. */
export function reshaped(
  node: Dict,
  size: (sh: readonly number[]) => readonly number[],
  leaf: (x: Leaf) => Leaf,
): Dict {
  const made = like(node, size(node.bs));
  for (const [key, entry] of node.entries) {
    made.entries.set(key, entry instanceof Leaf ? leaf(entry) : reshaped(dense(entry), size, leaf));
  }
  return made;
}

/** Views of mapped memory are mapped. */
export function mapLike(node: Node, made: Node): Node {
  if (made === node || !(node instanceof Dict) || !node.mapped) return made;
  const mark = (at: Node): void => {
    if (at instanceof Dict) {
      at.mapped = true;
      for (const entry of at.entries.values()) if (isNode(entry)) mark(entry);
    }
  };
  mark(made);
  lock(made);
  return made;
}

/** Locked where its source is locked as a whole. */
export function lockWhole(node: Node, made: Node): Node {
  if (made !== node && isLocked(node) && !isLocked(made)) lock(made);
  return made;
}

/** Locked like its source, level by level. */
export function lockLike(node: Node, made: Node): Node {
  if (made === node) return made;
  if (isLocked(node)) lockWhole(node, made);
  else if (node instanceof Dict && made instanceof Dict) {
    for (const [key, entry] of node.entries) {
      const inner = made.entries.get(key);
      if (isNode(entry) && inner !== undefined && isNode(inner)) lockLike(entry, inner);
    }
  }
  return made;
}

const viewed = (node: Node, made: Node): Node => mapLike(node, lockLike(node, made));

export function wrapDim(dim: number, rank: number): number {
  const at = dim < 0 ? dim + rank : dim;
  return at < 0 || at >= rank ? refuse("dimension") : at;
}

const swapped = (rank: number, a: number, b: number): number[] =>
  Array.from({ length: rank }, (_, i) => (i === a ? b : i === b ? a : i));

export function permuted(node: Node, order: readonly number[]): Node {
  if (order.every((dim, i) => dim === i)) return node;
  const full = (rank: number) => [...order, ...Array.from({ length: rank - order.length }, (_, i) => order.length + i)];
  const made = reshaped(
    dense(node),
    (sh) => full(sh.length).map((dim) => sh[dim] as number),
    (x) => x.permute(full(x.sh.length)),
  );
  return viewed(node, made);
}

export function transposed(node: Node, dims: readonly number[]): Node {
  const [a, b] = dims.map((dim) => wrapDim(dim, node.bs.length)) as [number, number];
  return permuted(node, swapped(node.bs.length, a, b));
}

export function viewAs(node: Node, dims: readonly number[], mayCopy: boolean): Node {
  const total = product(node.bs);
  const known = product(dims.filter((n) => n !== -1));
  const target = dims.map((n) => (n === -1 ? total / known : n));
  if (product(target) !== total) refuse("number of elements");
  if (String(target) === String(node.bs)) return node;
  const rank = node.bs.length;
  const made = reshaped(
    dense(node),
    (sh) => [...target, ...sh.slice(rank)],
    (x) => x.reshape([...target, ...x.sh.slice(rank)], mayCopy),
  );
  return mayCopy ? lockLike(node, made) : viewed(node, made);
}

export function squeezed(node: Node, dim: number): Node {
  const at = wrapDim(dim, node.bs.length);
  if (node.bs[at] !== 1) return node;
  const made = reshaped(
    dense(node),
    (sh) => sh.toSpliced(at, 1),
    (x) => x.without(at),
  );
  return viewed(node, made);
}

export function unsqueezed(node: Node, dim: number): Node {
  const at = wrapDim(dim, node.bs.length + 1);
  if (node instanceof Lazy) {
    const [inner, stack] = at <= node.dim ? [at, node.dim + 1] : [at - 1, node.dim];
    return viewed(
      node,
      new Lazy(
        node.members.map((m) => unsqueezed(m, inner)),
        stack,
      ),
    );
  }
  const made = reshaped(
    node,
    (sh) => sh.toSpliced(at, 0, 1),
    (x) => x.over(x.sh.toSpliced(at, 0, 1), x.st.toSpliced(at, 0, 1)),
  );
  return viewed(node, made);
}

export function expanded(node: Node, dims: readonly number[]): Node {
  const more = dims.length - node.bs.length;
  const size = (sh: readonly number[]) => [...dims, ...sh.slice(node.bs.length)];
  const made = reshaped(dense(node), size, (x) => {
    const st = x.st.map((s, i) => (x.sh[i] === size(x.sh)[i + more] ? s : 0));
    return x.over(size(x.sh), [...new Array<number>(more).fill(0), ...st]);
  });
  return lockLike(node, made);
}

/** A part of one dimension, of views. */
function narrowed(node: Node, at: number, from: number, count: number): Node {
  if (node instanceof Lazy) {
    if (count === 0) unsure("a stack of none");
    const made =
      at === node.dim
        ? new Lazy(node.members.slice(from, from + count), at)
        : new Lazy(
            node.members.map((m) => narrowed(m, at < node.dim ? at : at - 1, from, count)),
            node.dim,
          );
    return lockLike(node, made);
  }
  const made = reshaped(
    node,
    (sh) => sh.with(at, count),
    (x) => x.slice(at, from, count),
  );
  return viewed(node, made);
}

export function split(node: Node, size: number, dim: number): Node[] {
  const at = wrapDim(dim, node.bs.length);
  const total = node.bs[at] as number;
  const parts = Math.max(1, Math.ceil(total / size));
  return Array.from({ length: parts }, (_, i) => narrowed(node, at, i * size, Math.min(size, total - i * size)));
}

export function unbind(node: Node, dim: number): Node[] {
  const at = wrapDim(dim, node.bs.length);
  if (node instanceof Lazy) {
    if (at === node.dim) return [...node.members];
    const parts = node.members.map((m) => unbind(m, at < node.dim ? at : at - 1));
    const left = at < node.dim ? node.dim - 1 : node.dim;
    return Array.from(
      { length: node.bs[at] as number },
      (_, i) =>
        new Lazy(
          parts.map((p) => p[i] as Node),
          left,
        ),
    );
  }
  return Array.from({ length: node.bs[at] as number }, (_, i) => {
    const made = reshaped(
      node,
      (sh) => sh.toSpliced(at, 1),
      (x) => x.select(at, i),
    );
    return mapLike(node, made);
  });
}

// ---- indexing

interface Taken {
  from: number;
  count: number;
  step: number;
}

function sliceOf([start, stop, step]: readonly (number | null)[], size: number): Taken {
  const clamp = (at: number) => Math.min(Math.max(at < 0 ? at + size : at, 0), size);
  const [from, to, by] = [clamp(start ?? 0), clamp(stop ?? size), step ?? 1];
  return { from: Math.min(from, size), count: Math.max(0, Math.ceil((to - from) / by)), step: by };
}

const isList = (p: Part): p is { i: number[] } | { m: boolean[] } =>
  p !== null && typeof p === "object" && ("i" in p || "m" in p);

/** Which elements a list names. */
function listed(p: { i: number[] } | { m: boolean[] }, size: number): number[] {
  const found = "i" in p ? p.i : p.m.flatMap((on, i) => (on ? [i] : []));
  if ("m" in p && p.m.length !== size) refuse("a mask of another size");
  if (found.some((i) => i < -size || i >= size)) refuse("out of bounds");
  return found.map((i) => (i < 0 ? i + size : i));
}

/** The parts of an index, one for each dimension that they use, `null` beside them. */
export function spelled(index: readonly Part[], rank: number): Part[] {
  const used = index.filter((p) => p !== null && p !== "...").length;
  if (used > rank) refuse("too many indices");
  const whole: Part = { s: [null, null, null] };
  const parts = index.flatMap((p): Part[] => (p === "..." ? new Array<Part>(rank - used).fill(whole) : [p]));
  if (parts.some(isList) && parts.some((p) => typeof p === "number")) unsure("a list beside a number");
  return parts;
}

/** The part of a leaf that an index names: a view, or, by a list, a copy. */
export function indexLeaf(x: Leaf, parts: readonly Part[]): Leaf {
  let [view, dim] = [x, 0];
  for (const p of parts) {
    const size = view.sh[dim] as number;
    if (p === null) {
      view = view.over(view.sh.toSpliced(dim, 0, 1), view.st.toSpliced(dim, 0, 1));
      dim++;
    } else if (typeof p === "number") {
      if (p < -size || p >= size) refuse("out of bounds");
      view = view.select(dim, p < 0 ? p + size : p);
    } else if (isList(p)) {
      const at = dim++;
      const rows = listed(p, size).map((i) => view.select(at, i).read());
      const shape = view.sh.with(at, rows.length);
      view = gathered(view.dt, shape, at, rows);
    } else {
      const { from, count, step } = sliceOf((p as { s: (number | null)[] }).s, size);
      view = view.slice(dim, from, count, step);
      dim++;
    }
  }
  return view;
}

/** Elements from rows along one dimension; the model does not say how they lie. */
function gathered(dt: string, sh: readonly number[], dim: number, rows: readonly number[][]): Leaf {
  const inner = product(sh.slice(dim + 1));
  const outer = product(sh.slice(0, dim));
  const v = Array.from({ length: outer }, (_, o) => rows.flatMap((row) => row.slice(o * inner, (o + 1) * inner)));
  return new Leaf(dt, { v: v.flat(), id: {} }, sh, Leaf.of(dt, sh, []).st, 0, false);
}

const isAll = (p: Part): boolean => p !== null && typeof p === "object" && "s" in p && p.s.every((n) => n === null);

export function at(node: Node, index: readonly Part[]): Node {
  if (index.length === 1 && index[0] === "...") return node;
  const parts = spelled(index, node.bs.length);
  if (node instanceof Lazy) {
    const found = atLazy(node, parts);
    // A stack of a locked one is locked, too.
    if (found instanceof Lazy && isLocked(node)) for (const m of found.members) if (!isLocked(m)) lock(m);
    return found;
  }
  if (parts.every(isAll)) return node;
  const size = (sh: readonly number[]) =>
    indexLeaf(Leaf.of("i64", sh, new Array<number>(product(sh)).fill(0)), parts).sh;
  const made = reshaped(node, size, (x) => indexLeaf(x, parts));
  const keeps = (p: Part) =>
    p === null || typeof p === "number" || (typeof p === "object" && "s" in p && (p.s[0] === null || p.s[0] === 0));
  return parts.every(keeps) ? mapLevels(node, made) : made;
}

/** What is mapped stays so, level by level. */
function mapLevels(node: Node, made: Node): Node {
  mapLike(node, made);
  if (node instanceof Dict && made instanceof Dict) {
    for (const [key, entry] of node.entries) if (isNode(entry)) mapLevels(entry, made.entries.get(key) as Node);
  }
  return made;
}

/** One part, about the members or about what is in them. */
function atLazy(node: Lazy, parts: readonly Part[]): Node {
  const [p, ...more] = parts;
  if (p === undefined || p === null || more.length > 0) return unsure("several parts of a stack");
  const size = node.members.length;
  if (node.dim !== 0) {
    if (isAll(p)) return new Lazy([...node.members], node.dim);
    const members = node.members.map((m) => at(m, [p]));
    return new Lazy(members, typeof p === "number" ? node.dim - 1 : node.dim);
  }
  if (typeof p === "number") return p < -size || p >= size ? refuse("out of bounds") : (node.members.at(p) as Node);
  const { from, count, step } = isList(p)
    ? { from: 0, count: 0, step: 1 }
    : sliceOf((p as { s: (number | null)[] }).s, size);
  const picked = isList(p) ? listed(p, size) : Array.from({ length: count }, (_, i) => from + i * step);
  if (picked.length === 0) unsure("a stack of none");
  return new Lazy(
    picked.map((i) => node.members[i] as Node),
    0,
  );
}

// What the plain model is built from: trees of arrays that know nothing of tensors, with their own views.
import type { LeafData, Seen, SeenLeaf, TreeData } from "./steps.ts";
import { FIELDS, isTreeData, product } from "./steps.ts";

/** What the model refuses. */
export class Refused extends Error {}

/** What the model does not know: the sequence ends there. */
export class Unsure extends Error {}

export function unsure(what: string): never {
  throw new Unsure(what);
}

export function refuse(why: string): never {
  throw new Refused(why);
}

/** Elements, and the memory that they are in: two mappings of a file have the same elements. */
export interface Memory {
  v: number[];
  id: object;
}

const rowMajor = (sh: readonly number[]): number[] => sh.map((_, i) => product(sh.slice(i + 1)));

/** A view of memory. */
export class Leaf {
  constructor(
    readonly dt: string,
    readonly memory: Memory,
    readonly sh: readonly number[],
    readonly st: readonly number[],
    readonly off: number,
    /** False where the strides are torch's choice: the model does not say which they are. */
    readonly known = true,
  ) {}

  static of(dt: string, sh: readonly number[], v: number[]): Leaf {
    return new Leaf(dt, { v, id: {} }, sh, rowMajor(sh), 0);
  }
  static from(data: LeafData): Leaf {
    const v = Array.from({ length: product(data.sh) }, (_, i) => data.from + i);
    return Leaf.of(data.dt, data.sh, data.dt === "bool" ? v.map((n) => n % 2) : v);
  }

  /** Where each element is, in order. */
  places(): number[] {
    let found = [this.off];
    for (const [dim, n] of this.sh.entries()) {
      found = found.flatMap((at) => Array.from({ length: n }, (_, i) => at + i * (this.st[dim] as number)));
    }
    return found;
  }
  read(): number[] {
    return this.places().map((at) => this.memory.v[at] as number);
  }
  write(v: readonly number[]): void {
    for (const [i, at] of this.places().entries()) this.memory.v[at] = convert(v[i] as number, this.dt);
  }
  over(sh: readonly number[], st: readonly number[], off = this.off): Leaf {
    return new Leaf(this.dt, this.memory, sh, st, off, this.known);
  }
  /** New memory with other elements. */
  fresh(v: readonly number[], dt = this.dt): Leaf {
    const held = v.map((n) => convert(n, dt));
    return new Leaf(dt, { v: held, id: {} }, this.sh, rowMajor(this.sh), 0, this.known && this.inOrder());
  }
  copy(): Leaf {
    return this.fresh(this.read());
  }
  inOrder(): boolean {
    const rows = rowMajor(this.sh);
    return this.sh.every((n, dim) => n === 1 || this.st[dim] === rows[dim]);
  }
  /** Whether several elements are one, so that most writes are refused. */
  overlaps(): boolean {
    return product(this.sh) > 0 && this.sh.some((n, dim) => n > 1 && this.st[dim] === 0);
  }
  /** The same elements in another shape that they broadcast to. */
  broadcast(sh: readonly number[]): Leaf {
    const more = sh.length - this.sh.length;
    if (more < 0 || this.sh.some((n, dim) => n !== 1 && n !== sh[more + dim])) refuse("shape");
    const st = sh.map((n, dim) => (this.sh[dim - more] === n ? (this.st[dim - more] as number) : 0));
    return this.over(sh, st);
  }
  /** The sizes and strides with a dimension taken out, or put in. */
  without(dim: number, off = this.off): Leaf {
    return this.over(this.sh.toSpliced(dim, 1), this.st.toSpliced(dim, 1), off);
  }
  select(dim: number, i: number): Leaf {
    return this.without(dim, this.off + i * (this.st[dim] as number));
  }
  slice(dim: number, from: number, count: number, step = 1): Leaf {
    const stride = this.st[dim] as number;
    return this.over(this.sh.with(dim, count), this.st.with(dim, stride * step), this.off + from * stride);
  }
  permute(order: readonly number[]): Leaf {
    return this.over(
      order.map((dim) => this.sh[dim] as number),
      order.map((dim) => this.st[dim] as number),
    );
  }
  /** Another shape of the same elements: a view where the strides allow it. */
  reshape(sh: readonly number[], mayCopy: boolean): Leaf {
    if (!this.known) unsure("strides");
    const st = viewStrides(this.sh, this.st, sh);
    if (st !== null) return this.over(sh, st);
    return mayCopy ? Leaf.of(this.dt, sh, this.read()) : refuse("no view of these strides");
  }
}

/** Numbers as a dtype holds them. */
export function convert(n: number, dt: string): number {
  if (dt === "bool") return n === 0 ? 0 : 1;
  return dt === "i64" ? Math.trunc(n) : Math.fround(n);
}

/** The strides that give the same elements in another shape; null where there are none. */
export function viewStrides(
  sh: readonly number[],
  st: readonly number[],
  target: readonly number[],
): readonly number[] | null {
  if (product(sh) === 0) return rowMajor(target);
  // What the elements would be of memory in which each element says its place.
  const places = new Leaf("i64", { v: [], id: {} }, sh, st, 0).places();
  const guess: number[] = [];
  const rows = rowMajor(target);
  for (const [dim, n] of target.entries()) guess.push(n === 1 ? 0 : (places[rows[dim] as number] as number));
  const again = new Leaf("i64", { v: [], id: {} }, target, guess, 0).places();
  return again.every((at, i) => at === places[i]) ? guess : null;
}

/** A level of a tree. */
export class Dict {
  readonly entries = new Map<string, Entry>();
  locked = false;
  /** Whether its tensors are those of files. */
  mapped = false;
  /** Whether it says where its tensors are. */
  device = false;
  /** The levels and stacks that it was locked with. */
  readonly holders = new Set<Node>();
  constructor(
    readonly c: "td" | "point",
    public bs: readonly number[],
  ) {}

  static from(data: TreeData): Dict {
    const made = new Dict(data.c, data.bs);
    for (const [key, v] of data.e) {
      const entry = isTreeData(v) ? Dict.from(v) : Leaf.from(v);
      const sh = entry instanceof Leaf ? entry.sh : entry.bs;
      if (data.bs.some((n, i) => sh[i] !== n)) refuse("batch size");
      made.entries.set(key, entry);
    }
    return made;
  }
}

/** A stack that keeps its members apart. */
export class Lazy {
  locked = false;
  readonly holders = new Set<Node>();
  constructor(
    readonly members: Node[],
    readonly dim: number,
  ) {}
  get bs(): readonly number[] {
    return (this.members[0] as Node).bs.toSpliced(this.dim, 0, this.members.length);
  }
}

export type Node = Dict | Lazy;
export type Entry = Node | Leaf;

export const isNode = (x: Entry | undefined): x is Node => x instanceof Dict || x instanceof Lazy;
export const below = (node: Node): Node[] =>
  node instanceof Lazy ? node.members : [...node.entries.values()].filter(isNode);

export const isLocked = (node: Node): boolean => node.locked || (node instanceof Lazy && node.members.every(isLocked));

export function lock(node: Node, holder: Node | null = null): void {
  if (holder !== null) node.holders.add(holder);
  if (node.locked) return;
  node.locked = true;
  for (const child of below(node)) lock(child, node);
}

/** Refused where something outside of the tree holds a part of it. */
export function unlock(node: Node): void {
  const tree = new Set<Node>();
  const collect = (at: Node): void => {
    tree.add(at);
    below(at).forEach(collect);
  };
  collect(node);
  for (const part of tree) {
    for (const holder of part.holders) if (holder.locked && !tree.has(holder)) refuse("part of a locked graph");
  }
  for (const part of tree) {
    part.locked = false;
    if (part instanceof Dict) part.mapped = false;
    part.holders.clear();
  }
}

export function requireOpen(node: Node): void {
  if (isLocked(node)) refuse("locked");
}

export function requireField(node: Dict, key: string): void {
  if (node.c === "point" && !FIELDS.includes(key)) refuse("no such field");
}

/** What is seen of all collections, as of the real ones. */
export function seeAll(nodes: readonly Node[]): Seen[] {
  const ids = new Map<object, number>();
  const leaf = (x: Leaf): SeenLeaf => {
    if (x.memory.v.length > 0 && !ids.has(x.memory.id)) ids.set(x.memory.id, ids.size);
    const v = x.dt === "bool" ? x.read().map((n) => n !== 0) : x.read();
    return { dt: x.dt, sh: [...x.sh], s: ids.get(x.memory.id) ?? -1, v };
  };
  const see = (x: Node): Seen => {
    if (x instanceof Lazy) return { c: "lazy", bs: [...x.bs], lk: isLocked(x), sd: x.dim, m: x.members.map(see) };
    const e = [...x.entries].map(([key, v]): [string, Seen | SeenLeaf] => [key, v instanceof Leaf ? leaf(v) : see(v)]);
    return { c: x.c, bs: [...x.bs], lk: x.locked, e };
  };
  return nodes.map(see);
}

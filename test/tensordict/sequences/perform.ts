// Runs the steps of a sequence on real collections, and sees what they are afterwards.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as z from "../../../src/index.ts";
import { type Any, camel } from "../../conformance/adapter.ts";
import type { DT, LeafData, Outcome, Part, Seen, SeenLeaf, Step, TreeData, Value } from "./steps.ts";
import { isLeafData, isTreeData, product } from "./steps.ts";

const DTYPES: Record<DT, z.DType> = { f32: z.float32, i64: z.int64, bool: z.bool };
const CODES = new Map<z.DType, DT>(Object.entries(DTYPES).map(([code, dtype]) => [dtype, code as DT]));

/** The tensorclass of the sequences. */
export class SequencePoint extends z.tensorclass(
  { a: z.Tensor, b: z.Tensor, n: null },
  { pythonName: "sequences.SequencePoint" },
) {}

function leaf(data: LeafData): z.Tensor {
  const n = product(data.sh);
  const flat = z.arange(data.from, data.from + n);
  return (data.dt === "bool" ? flat.remainder(2) : flat).to(DTYPES[data.dt]).view(data.sh);
}

function tree(data: TreeData): Any {
  const entries = Object.fromEntries(data.e.map(([key, v]) => [key, isTreeData(v) ? tree(v) : leaf(v)]));
  const made = data.c === "point" ? new SequencePoint(entries as Any, { batchSize: data.bs }) : null;
  return made ?? new z.TensorDict(entries, data.bs);
}

function part(p: Part): Any {
  if (p === null || typeof p !== "object") return p;
  if ("s" in p) return z.slice(...p.s);
  return "i" in p ? z.tensor(p.i, { dtype: z.int64 }) : z.tensor(p.m, { dtype: z.bool });
}

type Run = (td: Any, s: Required<Step>, world: World) => unknown;

const first = (s: Step): number => s.dims?.[0] as number;
const all = (s: Step, w: World): Any[] => (s.list as number[]).map((i) => w.vars[i]);
const index = (s: Step): Any[] => (s.index as Part[]).map(part);
const keepFirst = (list: unknown, s: Step): unknown => [...(list as Iterable<unknown>)].slice(0, s.keep);
/** What a method in place gives is the receiver: no new collection. */
const inPlace = (_: unknown): null => null;

const RUNS: Record<string, Run> = {
  make: (_, s) => tree(s.tree),
  makePoint: (_, s) => tree(s.tree),
  makeLocked: (_, s) => tree(s.tree).lock_(),
  makeMapped: (_, s, w) => tree(s.tree).memmap(w.folder()),
  makeLazy: (_, s) => {
    const one = tree(s.tree);
    return z.lazyStack([one, one.add(50)], first(s));
  },
  set: (td, s, w) => inPlace(td.set(s.path, w.value(s.value))),
  set_: (td, s, w) => inPlace(td.set_(s.path, w.value(s.value))),
  setdefault: (td, s, w) => collection(td.setdefault(s.path, w.value(s.value))),
  get: (td, s) => collection(td instanceof SequencePoint ? (td as Any).get(s.path) : td.at(s.path)),
  del: (td, s) => inPlace(td.del_(s.path)),
  pop: (td, s) => collection(td.pop(s.path)),
  rename: (td, s) => inPlace(td.renameKey_(s.path, s.to, { safe: s.flag })),
  select: (td, s) => td.select(...s.paths, { strict: s.keep === 1 }),
  exclude: (td, s) => td.exclude(...s.paths),
  selectInplace: (td, s) => inPlace(td.select(...s.paths, { strict: !s.flag, inplace: true })),
  excludeInplace: (td, s) => inPlace(td.exclude(...s.paths, { inplace: true })),
  update: (td, s, w) => inPlace(td.update(w.value(s.value))),
  update_: (td, s, w) => inPlace(td.update_(w.value(s.value))),
  at: (td, s) => td.at(...index(s)),
  setAtNumber: (td, s) => inPlace(td.setAt(index(s), s.value)),
  setAtOwn: (td, s, w) => inPlace(td.setAt(index(s), all(s, w)[1].at(...index(s)))),
  updateAt_: (td, s, w) => inPlace(td.updateAt_(all(s, w)[1].at(...index(s)), index(s))),
  setAtLeaf: (td, s) => inPlace(td.setAt_(s.path, z.tensor(s.value as number), index(s))),
  stack: (_, s, w) => z.stack(all(s, w), first(s)),
  lazyStack: (_, s, w) => z.lazyStack(all(s, w), first(s)),
  maybeDenseStack: (_, s, w) => z.maybeDenseStack(all(s, w), first(s)),
  cat: (_, s, w) => z.cat(all(s, w), first(s)),
  split: (td, s) => keepFirst(td.split(s.list[0], first(s)), s),
  chunk: (td, s) => keepFirst(td.chunk(s.list[0], first(s)), s),
  unbind: (td, s) => keepFirst(td.unbind(first(s)), s),
  view: (td, s) => td.view(s.dims),
  reshape: (td, s) => td.reshape(s.dims),
  permute: (td, s) => td.permute(s.dims),
  expand: (td, s) => td.expand(s.dims),
  repeat: (td, s) => td.repeat(s.dims),
  transpose: (td, s) => td.transpose(...s.dims),
  squeeze: (td, s) => td.squeeze(first(s)),
  unsqueeze: (td, s) => td.unsqueeze(first(s)),
  flatten: (td) => td.flatten(),
  unflatten: (td, s) => td.unflatten(first(s), s.dims.slice(1)),
  flip: (td, s) => td.flip(s.dims),
  roll: (td, s) => td.roll(s.list[0], first(s)),
  sumDim: (td, s) => td.sum(first(s)),
  gather: (td, s) => td.gather(first(s), z.zeros(td.batchSize, { dtype: z.int64 })),
  maskedFill: (td, s) => td.maskedFill(z.arange(product(td.batchSize)).remainder(2).eq(0).view(td.batchSize), s.value),
  where: (td, s, w) =>
    td.where(z.arange(product(td.batchSize)).remainder(2).eq(0).view(td.batchSize), w.value(s.value)),
  addNumber: (td, s) => td.add(z.int(s.value as number)),
  mulNumber_: (td, s) => inPlace(td.mul_(z.int(s.value as number))),
  addTd: (td, s, w) => td.add(w.value(s.value)),
  eqTd: (td, s, w) => td.eq(w.value(s.value)),
  neg: (td) => td.neg(),
  zero_: (td) => inPlace(td.zero_()),
  applyPlus: (td) => td.apply((x: z.Tensor) => x.add(z.int(1))),
  applySame: (td) => td.apply((x: z.Tensor) => x),
  apply_: (td) => inPlace(td.apply_((x: z.Tensor) => x.mul(z.int(2)))),
  namedApply: (td) => td.namedApply((k: string, x: z.Tensor) => (k === "a" ? x.mul(z.int(2)) : x)),
  flattenKeys: (td) => td.flattenKeys("."),
  unflattenKeys: (td) => td.unflattenKeys("."),
  flattenInplace: (td) => inPlace(td.flattenKeys(".", { inplace: true })),
  unflattenInplace: (td) => inPlace(td.unflattenKeys(".", { inplace: true })),
  splitKeys: (td, s) => keepFirst(td.splitKeys(s.paths, { inplace: false }), s),
  lock_: (td) => inPlace(td.lock_()),
  unlock_: (td) => inPlace(td.unlock_()),
  clone: (td, s) => td.clone(!s.flag),
  memmap: (td, _, w) => td.memmap(w.folder()),
  memmap_: (td, _, w) => inPlace(td.memmap_(w.folder())),
  memmapLoad: (td, _, w) => {
    const folder = w.folder();
    return [td.memmap(folder), z.loadMemmap(folder)];
  },
  clear: (td) => inPlace(td.clear()),
  toTensordict: (td) => td.toTensordict(),
  densify: (td) => (td._kind === "lazy" ? td.densify() : null),
  contiguous: (td) => td.contiguous(),
  replace: (td, s, w) => td.replace(w.value(s.value)),
  createNested: (td, s) => inPlace(td.createNested(s.path)),
  empty: (td, s) => td.empty(s.flag),
  filterEmpty_: (td) => inPlace(td.filterEmpty_()),
  batchSize: (td, s) => {
    td.batchSize = s.dims;
    return null;
  },
};

/** What becomes a new collection of the sequence: results that are some. */
const collection = (x: Any): unknown => (z.isTensorCollection(x) ? x : null);

/** The names of all operations. */
export const OPERATIONS = Object.keys(RUNS).map(camel);

/** The storages of a sequence, in the order in which they are met. */
class Storages {
  readonly #known = new Map<unknown, number>();
  number(t: z.Tensor): number {
    if (t.untypedStorage().nbytes() === 0) return -1;
    const known = this.#known.get(t._storage);
    if (known !== undefined) return known;
    this.#known.set(t._storage, this.#known.size);
    return this.#known.size - 1;
  }
}

function seeLeaf(t: z.Tensor, storages: Storages): SeenLeaf {
  const v = t.reshape(-1).tolist() as (number | boolean)[];
  const dt = CODES.get(t.dtype) ?? String(t.dtype);
  return { dt, sh: [...t.shape], st: [...t.stride()], off: t.storageOffset(), s: storages.number(t), v };
}

/** A stack that an object of a class shows, as a stack of such objects. */
function pointed(seen: Seen): Seen {
  return seen.c === "lazy" ? { ...seen, m: seen.m?.map(pointed) } : { ...seen, c: "point" };
}

function see(td: Any, storages: Storages): Seen {
  if (td instanceof SequencePoint && td._source !== null) return pointed(see(td._source, storages));
  const c = td._kind === "lazy" ? "lazy" : td instanceof SequencePoint ? "point" : "td";
  const seen: Seen = { c, bs: [...td.batchSize], lk: td.isLocked };
  if (c === "lazy") {
    return { ...seen, sd: td.stackDim, m: td.members.map((member: Any) => see(member, storages)) };
  }
  const e = [...td._keys()].map((key: string): [string, Seen | SeenLeaf] => {
    const entry = td._own(key);
    return [key, entry instanceof z.Tensor ? seeLeaf(entry, storages) : see(entry, storages)];
  });
  return { ...seen, e };
}

/** The collections of one sequence. */
export class World {
  vars: Any[] = [];
  static #root: string | null = null;
  static #count = 0;

  /** A folder that is not there yet. */
  folder(): string {
    World.#root ??= mkdtempSync(join(tmpdir(), "zensor-sequences-"));
    return join(World.#root, String(World.#count++));
  }
  /** Removes the files of all sequences. */
  static remove(): void {
    if (World.#root !== null) rmSync(World.#root, { recursive: true, force: true });
    World.#root = null;
  }

  value(v: Value): Any {
    if (typeof v === "number") return v;
    if (isTreeData(v)) return tree(v);
    return isLeafData(v) ? leaf(v) : this.vars[v.v];
  }

  /** Runs a step; what it gives is added. */
  run(step: Step): Outcome {
    let err: Outcome["err"];
    try {
      const run = RUNS[step.op];
      if (run === undefined) throw new Error(`no operation ${step.op}`);
      const got = run(this.vars[step.on], step as Required<Step>, this);
      if (Array.isArray(got)) this.vars.push(...got);
      else if (got !== null && got !== undefined) this.vars.push(got);
    } catch (e) {
      if (!(e instanceof z.errors.ZensorError)) throw e;
      err = [(e as Error).name, (e as Error).message];
    }
    return { ...(err === undefined ? {} : { err }), vars: this.see() };
  }

  see(): Seen[] {
    const storages = new Storages();
    return this.vars.map((td) => see(td, storages));
  }
}

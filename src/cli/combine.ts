// Several collections as one. Tensors of a union stay where they are; what is stacked or concatenated is described
// first and copied piece by piece.
import { isPlainObject, pythonJsonStringify } from "../io/base/python-json.ts";
import { Size, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isNested, make, stateOf, type Td, type ValueTd } from "../tensordict/core/state.ts";
import { zeros } from "../tensordict/core/tensor-ops.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, NonTensorData } from "../tensordict/index.ts";
import { stackOfValues } from "../tensordict/ops/stacking.ts";
import type { Opened } from "./collections.ts";
import { CliError } from "./errors.ts";
import { copyInto, type Fill } from "./filling.ts";
import type { FormatName } from "./formats.ts";
import { METADATA, SEPARATOR } from "./losses.ts";
import { isAlone, joinedTrees, pythonNotes } from "./python-tree.ts";
import { type PythonNode, valueOf } from "./python-values.ts";
import type { Source } from "./source.ts";
import { nameText } from "./text.ts";
import { unknownDifference, unknownIn } from "./unknown-entries.ts";

function sameValue(a: Td, b: Td): boolean {
  if (a._kind !== b._kind) return false;
  const [x, y] = [unknownIn(a), unknownIn(b)];
  if (x !== null || y !== null) return x !== null && y !== null && unknownDifference(x, y) === null;
  return pythonJsonStringify(valueOf(a) as never) === pythonJsonStringify(valueOf(b) as never);
}

function sameNames(a: Td, b: Td): boolean {
  return JSON.stringify(a._names) === JSON.stringify(b._names);
}

/** The entries of all levels together. */
class Union {
  readonly lost = new Set<string>();
  /** Names by the two sources that have them. */
  readonly twice = new Map<string, string[]>();
  /** Which source had an entry first. */
  private readonly origins = new Map<string, string>();
  private now = "";

  constructor(private readonly last: boolean) {}

  /** Notes the entries of the first source. */
  begin({ td, path }: Source): Td {
    this.now = path;
    this.note(td, []);
    return td;
  }

  private note(td: Td, path: readonly string[]): void {
    for (const [key, entry] of entriesOf(td)) {
      const inner = [...path, key];
      this.origins.set(inner.join("\0"), this.now);
      if (!(entry instanceof Tensor) && (entry as Td)._kind === "tensordict") this.note(entry as Td, inner);
    }
  }

  add(all: Td, { td, path }: Source): Td {
    this.now = path;
    const merged = this.merge(all, td, []);
    this.note(td, []);
    return merged;
  }

  private clash(path: readonly string[]): void {
    if (this.last) return;
    const name = nameText(path.join(SEPARATOR));
    const first = this.origins.get(path.join("\0")) ?? this.origins.get(path.slice(0, 1).join("\0"));
    const pair = `${first} and ${this.now}`;
    this.twice.set(pair, [...(this.twice.get(pair) ?? []), name]);
  }

  private merge(a: Td, b: Td, path: readonly string[]): Td {
    const entries = new Map<string, Entry>(entriesOf(a));
    for (const [key, entry] of entriesOf(b)) {
      const before = entries.get(key);
      entries.set(key, before === undefined ? entry : this.both(before, entry, [...path, key]));
    }
    const alike = sameSizes(a._batchSize, b._batchSize);
    const where = path.length === 0 ? "(all)" : path.join(SEPARATOR);
    if (!alike) this.lost.add(`  batch sizes that differ: ${where} [${a._batchSize}] and [${b._batchSize}]`);
    else if (!sameNames(a, b)) this.lost.add(`  names of dimensions that differ: ${where}`);
    const state = stateOf(a, { batchSize: alike ? a._batchSize : Size.fromList([]), device: null });
    return make.tensordict(entries, { ...state, names: alike && sameNames(a, b) ? a._names : null });
  }

  private both(a: Entry, b: Entry, path: readonly string[]): Entry {
    if (!(a instanceof Tensor) && !(b instanceof Tensor)) {
      const [x, y] = [a as Td, b as Td];
      if (x._kind === "tensordict" && y._kind === "tensordict") return this.merge(x, y, path);
      if (isNonTensor(x) && isNonTensor(y)) {
        if (sameValue(x, y)) return b;
        const headers = path.length === 1 && path[0] === METADATA ? [valueOf(x), valueOf(y)] : [];
        if (headers.length > 0 && headers.every(isPlainObject)) return this.header(headers as Header[], path);
      }
    }
    this.clash(path);
    return b;
  }

  private header([a, b]: readonly Header[], path: readonly string[]): Entry {
    for (const [key, value] of Object.entries(b as Header)) {
      const before = (a as Header)[key];
      const differs = before !== undefined && JSON.stringify(before) !== JSON.stringify(value);
      if (differs) this.clash([...path, key]);
    }
    return new NonTensorData({ ...a, ...b }) as Entry;
  }
}

type Header = Record<string, unknown>;

/** All entries of all sources. Throws `CliError` where several have the same one, unless the last one counts. */
export function union(sources: readonly Source[], last: boolean): Opened {
  const union = new Union(last);
  for (const { td, path } of sources) {
    if (td._kind !== "tensordict") throw new CliError(`${path} is no plain TensorDict: its entries cannot be merged.`);
  }
  const [first, ...rest] = sources as [Source, ...Source[]];
  const td = rest.reduce((all, next) => union.add(all, next), union.begin(first));
  if (union.twice.size > 0) {
    const told = [...union.twice].map(([pair, names]) => {
      const more = names.length > 20 ? [`  and ${names.length - 20} more`] : [];
      return [`${pair}:`, ...names.slice(0, 20).map((name) => `  ${name}`), ...more].join("\n");
    });
    const list = told.slice(0, 8).join("\n");
    throw new CliError(`several sources have the same entries.\n${list}\nPass --last to take those of the last one.`);
  }
  const tree = sources.map((source) => source.tree).reduce(joinedTrees);
  const flat = sources.every((source) => source.flat === true);
  return { td, lost: [...sources.flatMap(({ lost }) => lost), ...union.lost], tree, flat };
}

/** What several collections become together. */
export interface Combined {
  /** Keys, shapes and dtypes; its tensors have no bytes of their own. */
  outline: Td;
  lost: readonly string[];
  tree: PythonNode | null;
  flat: boolean;
  copies: readonly Copy[];
  /** Copies the elements. */
  fill: Fill;
}

interface Copy {
  path: readonly string[];
  sources: readonly Tensor[];
}

class Combining {
  readonly copies: Copy[] = [];

  constructor(
    private readonly how: "stack" | "cat",
    private readonly places: readonly string[],
  ) {}

  private refuse(path: readonly string[], i: number, what: string): never {
    const where = path.length === 0 ? "the whole" : path.join(SEPARATOR);
    throw new CliError(`${where} of ${this.places[i]} ${what} in ${this.places[0]}: sources have to be alike.`);
  }

  /** The shape of all together. */
  private shape(shapes: readonly (readonly number[])[], path: readonly string[]): number[] {
    const first = shapes[0] as readonly number[];
    const skip = this.how === "cat" ? 1 : 0;
    for (const [i, shape] of shapes.entries()) {
      if (shape.length >= skip && sameSizes(shape.slice(skip), first.slice(skip))) continue;
      this.refuse(path, i, `has the shape [${shape.join(", ")}], and [${first.join(", ")}]`);
    }
    if (this.how === "stack") return [shapes.length, ...first];
    return [shapes.reduce((sum, shape) => sum + (shape[0] as number), 0), ...first.slice(1)];
  }

  private tensor(tensors: readonly Tensor[], path: readonly string[]): Tensor {
    const { dtype } = tensors[0] as Tensor;
    const other = tensors.findIndex((tensor) => tensor.dtype !== dtype);
    if (other >= 0) this.refuse(path, other, `is ${tensors[other]?.dtype.name}, and ${dtype.name}`);
    const shape = this.shape(
      tensors.map((tensor) => tensor._shape),
      path,
    );
    this.copies.push({ path, sources: tensors });
    return zeros([], { dtype }).expand(...shape);
  }

  private value(tds: readonly ValueTd[], path: readonly string[], batchSize: Size): Td {
    const first = tds[0] as ValueTd;
    if (tds.every((td) => td._kind === "nonTensorStack")) {
      const batchSize = Size.fromList(
        this.shape(
          tds.map((td) => td._batchSize),
          path,
        ),
      );
      return stackOfValues(tds, stateOf(first, { batchSize, names: null }));
    }
    const other = tds.findIndex((td) => !sameValue(td, first));
    if (other >= 0) this.refuse(path, other, "has another value than");
    return first._like(new Map(), stateOf(first, { batchSize }));
  }

  /** @param batched levels get the batch that they have together; otherwise only their tensors have it */
  level(tds: readonly Td[], path: readonly string[], batched: boolean, batch = Size.fromList([])): Td {
    const first = tds[0] as Td;
    const other = tds.findIndex((td) => td._kind !== first._kind || td._className !== first._className);
    if (other >= 0) this.refuse(path, other, "is of another kind than");
    if (tds.every(isNonTensor)) return this.value(tds, path, batch);
    if (first._kind === "lazy") throw new CliError("lazy stacks cannot be stacked or concatenated once more.");
    const sizes = batched
      ? this.shape(
          tds.map((td) => td._batchSize),
          path,
        )
      : [];
    const batchSize = Size.fromList(sizes);
    const entries = new Map<string, Entry>();
    const keys = [...first._keys()];
    for (const [i, td] of tds.entries()) {
      const own = new Set(td._keys());
      const odd = keys.find((key) => !own.has(key)) ?? [...own].find((key) => !keys.includes(key));
      if (odd !== undefined) this.refuse(path, i, `has not the same entries (${JSON.stringify(odd)}) as`);
    }
    for (const key of keys) {
      const parts = tds.map((td) => td._own(key) as Entry);
      const inner = [...path, key];
      if (parts.some(isNested)) {
        throw new CliError(`the nested tensor ${inner.join(SEPARATOR)} cannot be stacked or concatenated.`);
      }
      const odd = parts.findIndex((part) => part instanceof Tensor !== parts[0] instanceof Tensor);
      if (odd >= 0) this.refuse(inner, odd, "is of another kind than");
      const isTensor = parts[0] instanceof Tensor;
      entries.set(
        key,
        isTensor ? this.tensor(parts as Tensor[], inner) : this.level(parts as Td[], inner, batched, batchSize),
      );
    }
    const names =
      first._names === null || !batched ? null : this.how === "cat" ? first._names : [null, ...first._names];
    const state = stateOf(first, { batchSize, names });
    return first._kind === "tensorclass" ? first._like(entries, state) : make.tensordict(entries, state);
  }
}

/** Whether no level of a collection has a batch size. */
function isBatchless(td: Td): boolean {
  if (isNonTensor(td)) return true;
  if (td._kind === "lazy" || td._batchSize.length > 0) return false;
  return [...entriesOf(td)].every(
    ([, entry]) => entry instanceof Tensor || isNested(entry) || isBatchless(entry as Td),
  );
}

/** What several sources were in Python, where they are one thing there. */
function commonTree(sources: readonly Source[]): PythonNode | null {
  const text = ({ tree }: Source) => JSON.stringify([...pythonNotes(tree)]);
  const [first, ...rest] = sources as [Source, ...Source[]];
  return rest.every((other) => other.tree !== null && text(other) === text(first)) ? first.tree : null;
}

/** What is not told of sources that become a collection. */
function lostOfTrees(sources: readonly Source[]): string[] {
  const names = [...new Set(sources.flatMap(({ tree }) => [...pythonNotes(tree).keys()]))];
  const told = names.slice(0, 8).map((name) => name || "(all)");
  return told.length === 0 ? [] : [`  lists, tuples and keys of Python: ${told.join("; ")}`];
}

/** Formats that are of TensorDicts themselves: what is stacked has a batch size there. */
const BATCHED_FORMATS: ReadonlySet<FormatName> = new Set(["memmap", "tdz", "consolidated"]);

/**
 * Sources that are alike, stacked along a new first dimension, or one after the other along the first one.
 * @param named the entries were named: those of sources without a batch size have dimensions of their own
 */
export function combine(
  sources: readonly Source[],
  how: "stack" | "cat",
  format: FormatName,
  named: boolean,
): Combined {
  const combining = new Combining(
    how,
    sources.map(({ path }) => path),
  );
  const tds = sources.map(({ td }) => td);
  const batchless = tds.every(isBatchless);
  const flat = how === "cat" ? sources.find(({ td }) => td._batchSize.length === 0) : undefined;
  const alone = sources.every(({ tree }) => isAlone(tree));
  if (flat !== undefined && !(batchless && (named || alone))) {
    const advice = batchless ? " Name the entries that are to be concatenated with --keys ('*' for all)." : "";
    throw new CliError(`${flat.path} has no batch size: there is no dimension to concatenate along.${advice}`);
  }
  const common = commonTree(sources);
  // What had no batch size gets none, except as a TensorDict: no other format could keep it.
  const isTensorDict = BATCHED_FORMATS.has(format) && pythonNotes(common).size === 0;
  const batched = !batchless || (how === "stack" && isTensorDict);
  const tree = batched ? null : common;
  const outline = combining.level(tds, [], batched);
  const { copies } = combining;
  const fill: Fill = async (into, { signal, onProgress }) => {
    for (const [done, { path, sources: parts }] of copies.entries()) {
      let at = 0;
      const whole = into(path);
      for (const [i, part] of parts.entries()) {
        const rows = part._shape[0] ?? 0;
        await copyInto(how === "stack" ? whole.select(0, i) : whole.narrow(0, at, rows), part, signal);
        at += rows;
      }
      await Bun.sleep(0);
      signal?.throwIfAborted();
      onProgress?.(done + 1, copies.length);
    }
  };
  const lost = [...sources.flatMap((source) => source.lost), ...(tree === null ? lostOfTrees(sources) : [])];
  return { outline, lost, tree, flat: sources.every((source) => source.flat === true), copies, fill };
}

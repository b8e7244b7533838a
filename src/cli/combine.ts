// Several collections as one. Tensors of a union stay where they are; what is stacked or concatenated is described
// first and copied piece by piece.
import { closeSync, openSync, writeSync } from "node:fs";
import { guarded } from "../io/base/errors.ts";
import { isPlainObject, pythonJsonStringify } from "../io/base/python-json.ts";
import type { BackgroundOptions } from "../io/disk/file-jobs.ts";
import { nativeBytes } from "../io/disk/tensor-bytes.ts";
import { windows } from "../io/zip/zip-write.ts";
import { Size, sameSizes } from "../tensor/size.ts";
import { Tensor } from "../tensor/tensor.ts";
import { entriesOf, isNested, make, stateOf, type Td, type ValueTd } from "../tensordict/core/state.ts";
import { zeros } from "../tensordict/core/tensor-ops.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor, NonTensorData } from "../tensordict/index.ts";
import { stackOfValues } from "../tensordict/ops/stacking.ts";
import type { Opened } from "./collections.ts";
import { CliError } from "./errors.ts";
import { METADATA, SEPARATOR } from "./losses.ts";
import { joinedTrees, pythonNotes } from "./python-tree.ts";
import { valueOf } from "./python-values.ts";
import type { Source } from "./source.ts";
import { unknownDifference, unknownIn } from "./unknown-entries.ts";

/** Bytes that are copied between two looks at a signal. */
const PIECE_BYTES = 8 * 2 ** 20;

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
  readonly twice: string[] = [];

  constructor(private readonly last: boolean) {}

  merge(a: Td, b: Td, path: readonly string[]): Td {
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
    if (!this.last) this.twice.push(path.join(SEPARATOR));
    return b;
  }

  private header([a, b]: readonly Header[], path: readonly string[]): Entry {
    for (const [key, value] of Object.entries(b as Header)) {
      const before = (a as Header)[key];
      const differs = before !== undefined && JSON.stringify(before) !== JSON.stringify(value);
      if (differs && !this.last) this.twice.push([...path, key].join(SEPARATOR));
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
  const [first, ...rest] = sources.map(({ td }) => td) as [Td, ...Td[]];
  const td = rest.reduce((all, next) => union.merge(all, next, []), first);
  if (union.twice.length > 0) {
    const told = union.twice.slice(0, 20).map((name) => `  ${JSON.stringify(name).slice(1, -1)}`);
    const more = union.twice.length > 20 ? [`  and ${union.twice.length - 20} more`] : [];
    const list = [...told, ...more].join("\n");
    throw new CliError(`several sources have the same entries:\n${list}\nPass --last to take those of the last one.`);
  }
  const tree = sources.map((source) => source.tree).reduce(joinedTrees);
  return { td, lost: [...sources.flatMap(({ lost }) => lost), ...union.lost], tree };
}

/** What several collections become together. */
export interface Combined {
  /** Keys, shapes and dtypes; its tensors have no bytes of their own. */
  outline: Td;
  lost: readonly string[];
  /** Copies the elements into a collection like the outline. */
  fill(into: Td, background: BackgroundOptions): Promise<void>;
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

  level(tds: readonly Td[], path: readonly string[], batch = Size.fromList([])): Td {
    const first = tds[0] as Td;
    const other = tds.findIndex((td) => td._kind !== first._kind || td._className !== first._className);
    if (other >= 0) this.refuse(path, other, "is of another kind than");
    if (tds.every(isNonTensor)) return this.value(tds, path, batch);
    if (first._kind === "lazy") throw new CliError("lazy stacks cannot be stacked or concatenated once more.");
    const sizes = this.shape(
      tds.map((td) => td._batchSize),
      path,
    );
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
      entries.set(key, isTensor ? this.tensor(parts as Tensor[], inner) : this.level(parts as Td[], inner, batchSize));
    }
    const names = first._names === null ? null : this.how === "cat" ? first._names : [null, ...first._names];
    const state = stateOf(first, { batchSize, names });
    return first._kind === "tensorclass" ? first._like(entries, state) : make.tensordict(entries, state);
  }
}

/** Copies a tensor into the file of a mapped one. Pages of mappings would count as this process's memory. */
async function copyInto(target: Tensor, source: Tensor, signal: AbortSignal | undefined): Promise<void> {
  const { file } = nativeBytes(target);
  if (file === undefined) {
    target.copy_(source.detach());
    return;
  }
  const fd = guarded(file.path, () => openSync(file.path, "r+"));
  try {
    let at = file.offset;
    for (const part of windows(nativeBytes(source), PIECE_BYTES)) {
      for (let done = 0; done < part.length; ) {
        const from = done;
        done += guarded(file.path, () => writeSync(fd, part, from, part.length - from, at + from));
      }
      at += part.length;
      // Lets an interruption through.
      await Bun.sleep(0);
      signal?.throwIfAborted();
    }
  } finally {
    closeSync(fd);
  }
}

/** Sources that are alike, stacked along a new first dimension, or one after the other along the first one. */
export function combine(sources: readonly Source[], how: "stack" | "cat"): Combined {
  const combining = new Combining(
    how,
    sources.map(({ path }) => path),
  );
  const tds = sources.map(({ td }) => td);
  const flat = how === "cat" ? sources.find(({ td }) => td._batchSize.length === 0) : undefined;
  if (flat !== undefined)
    throw new CliError(`${flat.path} has no batch size: there is no dimension to concatenate along.`);
  const outline = combining.level(tds, []);
  const fill = async (into: Td, { signal, onProgress }: BackgroundOptions) => {
    for (const [done, { path, sources: parts }] of combining.copies.entries()) {
      let at = 0;
      const whole = path.reduce<Entry>((td, key) => (td as Td)._own(key) as Entry, into) as Tensor;
      for (const [i, part] of parts.entries()) {
        const rows = part._shape[0] ?? 0;
        await copyInto(how === "stack" ? whole.select(0, i) : whole.narrow(0, at, rows), part, signal);
        at += rows;
      }
      await Bun.sleep(0);
      signal?.throwIfAborted();
      onProgress?.(done + 1, combining.copies.length);
    }
  };
  const notes = pythonNotes(sources[0]?.tree ?? null);
  const told =
    notes.size === 0 ? [] : [`  lists, tuples and keys of Python: ${[...notes.keys()].slice(0, 8).join("; ")}`];
  return { outline, lost: [...sources.flatMap(({ lost }) => lost), ...told], fill };
}

// Parts of a collection: some of its entries, and some rows of them. Nothing is read: tensors become views.
import { fileBehind } from "../io/disk/mapping.ts";
import { Size } from "../tensor/size.ts";
import { Storage } from "../tensor/storage.ts";
import { makeContiguous, Tensor } from "../tensor/tensor.ts";
import {
  isLazy,
  isNested,
  type LazyTd,
  make,
  outlineOf,
  stateOf,
  type Td,
  type ValueTd,
} from "../tensordict/core/state.ts";
import type { Entry } from "../tensordict/core/types.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { stackOfValues } from "../tensordict/ops/stacking.ts";
import { CliError, EXIT } from "./errors.ts";
import type { Path } from "./keys.ts";
import { unknownIn } from "./unknown-entries.ts";

/** Rows as Python's slices name them: either end may be missing, or counted from the end. */
export interface Rows {
  start: number | null;
  stop: number | null;
}

/** Entries by key; null is an entry with all that is in it. */
type Selection = Map<string, Selection | null>;

/** Reads "10:20", "-3:" and the like. */
export function rowsOption(text: string): Rows {
  const match = /^(-?\d{1,15})?:(-?\d{1,15})?$/.exec(text.trim());
  if (match === null) {
    throw new CliError(`--rows takes start:stop, such as 10:20 or -5:, got ${JSON.stringify(text)}.`, EXIT.usage);
  }
  const [, start, stop] = match;
  return { start: start === undefined ? null : Number(start), stop: stop === undefined ? null : Number(stop) };
}

/** First row and the one after the last, as Python finds them. */
export function rowRange({ start, stop }: Rows, size: number): [number, number] {
  const at = (n: number) => Math.min(size, Math.max(0, n < 0 ? n + size : n));
  const begin = start === null ? 0 : at(start);
  return [begin, Math.max(begin, stop === null ? size : at(stop))];
}

function selectionOf(paths: readonly Path[]): Selection {
  const root: Selection = new Map();
  for (const path of paths) {
    let at: Selection = root;
    for (const [i, key] of path.entries()) {
      const known = at.get(key);
      if (known === null) break;
      if (i === path.length - 1) at.set(key, null);
      else {
        const inner: Selection = known ?? new Map();
        at.set(key, inner);
        at = inner;
      }
    }
  }
  return root;
}

/** Rows with a storage that has nothing else: some formats write the storages of tensors whole. */
function ofItsOwn(rows: Tensor): Tensor {
  if (rows.isMeta) return rows;
  const { _storage: storage } = rows;
  const nbytes = rows.numel() * rows.dtype.itemsize;
  if (nbytes === 0 || !rows._contiguous || fileBehind(storage) === null) return rows.clone();
  return makeContiguous(Storage.borrow(rows.dataPtr(), nbytes, storage.root), rows._shape, rows.dtype);
}

class Taking {
  constructor(
    private readonly rows: Rows | null,
    /** Rows are those of the batch: not of each entry that the selection ends at. */
    private readonly inBatch: boolean,
  ) {}

  private tensor(td: Td, key: string, tensor: Tensor, withRows: boolean): Tensor {
    const outside = td._outside;
    if (!withRows || this.rows === null) return outside === undefined ? tensor : outside.read(key, []);
    const [size] = tensor._shape;
    if (size === undefined) throw new CliError(`${JSON.stringify(key)} is a single number: it has no rows.`);
    const [begin, end] = rowRange(this.rows, size);
    return outside === undefined
      ? ofItsOwn(tensor.narrow(0, begin, end - begin))
      : outside.read(key, [`${begin}:${end}`]);
  }

  private value(td: ValueTd, withRows: boolean): Td {
    const unknown = unknownIn(td);
    if (unknown !== null && withRows && this.rows !== null) {
      throw new CliError(`rows of ${JSON.stringify(unknown.name)} cannot be taken: its elements are ${unknown.dtype}.`);
    }
    // The file may be closed before they are written.
    void unknown?.bytes;
    const [size, ...rest] = td._batchSize;
    if (!withRows || this.rows === null || size === undefined) return td;
    const [begin, end] = rowRange(this.rows, size);
    const state = stateOf(td, { batchSize: Size.fromList([end - begin, ...rest]) });
    if (td._kind === "nonTensor") return td._like(new Map(), state);
    const step = rest.reduce((product, n) => product * n, 1);
    const order = Array.from({ length: (end - begin) * step }, (_, i) => begin * step + i);
    return stackOfValues([td], state, order);
  }

  private lazy(stack: LazyTd, selection: Selection | null, withRows: boolean): Td {
    const { members, stackDim, stackDimName } = stack;
    const across = withRows && this.rows !== null && stackDim === 0;
    const [begin, end] = across ? rowRange(this.rows as Rows, members.length) : [0, members.length];
    if (begin === end) throw new CliError("these rows leave a lazy stack without members.");
    const taken = members.slice(begin, end).map((member) => this.level(member, selection, withRows && !across));
    return make.lazy(taken, stackDim, stackDimName);
  }

  /** @param withRows take rows of everything in it; otherwise of the entries that the selection ends at */
  level(td: Td, selection: Selection | null, withRows: boolean): Td {
    if (isNonTensor(td)) return this.value(td, withRows);
    if (isLazy(td)) return this.lazy(td, selection, withRows);
    const entries = new Map<string, Entry>();
    for (const key of selection?.keys() ?? td._keys()) {
      const entry = outlineOf(td, key);
      if (entry === undefined) throw new CliError(`a member of a lazy stack has no entry ${JSON.stringify(key)}.`);
      const inner = selection?.get(key) ?? null;
      const here = withRows || (!this.inBatch && selection !== null && inner === null);
      if (entry instanceof Tensor) entries.set(key, this.tensor(td, key, entry, here));
      else if (isNested(entry)) {
        if (here && this.rows !== null) throw new CliError(`rows of the nested tensor ${key} cannot be taken.`);
        entries.set(key, entry);
      } else {
        this.requireBatch(entry as Td, key, here);
        entries.set(key, this.level(entry as Td, inner, here));
      }
    }
    const [size, ...rest] = td._batchSize;
    if (!withRows || this.rows === null || size === undefined) return levelLike(td, entries, td._batchSize);
    const [begin, end] = rowRange(this.rows, size);
    return levelLike(td, entries, [end - begin, ...rest]);
  }

  requireBatch(td: Td, name: string, withRows: boolean): void {
    if (!withRows || this.rows === null || td._batchSize.length > 0 || isNonTensor(td)) return;
    throw new CliError(`${name} has no batch size to take rows of: name tensors with --keys.`);
  }
}

function levelLike(td: Td, entries: Map<string, Entry>, batchSize: readonly number[]): Td {
  const state = stateOf(td, { batchSize: Size.fromList([...batchSize]) });
  return td._kind === "tensorclass" ? td._like(entries, state) : make.tensordict(entries, state);
}

/** The name of a tensor beside which there is nothing: an array of NumPy's, say. */
function onlyTensor(td: Td): string | null {
  if (isNonTensor(td) || isLazy(td)) return null;
  const [key, ...others] = td._keys();
  return key !== undefined && others.length === 0 && outlineOf(td, key) instanceof Tensor ? key : null;
}

/**
 * The entries of these paths, all without paths, and the rows of them: along the first batch dimension, or, of a
 * collection without one, along the first dimension of each entry that was named, or of its only tensor.
 */
export function take(td: Td, paths: readonly Path[] | null, rows: Rows | null): Td {
  const inBatch = td._batchSize.length > 0;
  const alone = paths === null && rows !== null && !inBatch ? onlyTensor(td) : null;
  const selection = alone !== null ? selectionOf([[alone]]) : paths === null ? null : selectionOf(paths);
  const taking = new Taking(rows, inBatch);
  if (selection === null) taking.requireBatch(td, "the whole", true);
  return taking.level(td, selection, inBatch);
}

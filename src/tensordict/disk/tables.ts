// TensorDicts as tables: one column for each entry, one row for each element of the batch.
import { fromTypedArray } from "../../api/tensor-data.ts";
import { arrayClass, type Column, type Columns } from "../../io/columns/columns.ts";
import { type DeviceLike, toDevice } from "../../tensor/device.ts";
import { type DTypeLike, toDType } from "../../tensor/dtype.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { fitBatch } from "../core/batch.ts";
import { mismatch } from "../core/convert.ts";
import { noNested } from "../core/nested.ts";
import {
  entriesOf,
  isBranch,
  isNested,
  isNonTensor,
  make,
  type NewState,
  shapeOf,
  type Td,
  toSize,
  type ValueTd,
} from "../core/state.ts";
import type { Entry, SizeLike } from "../core/types.ts";
import { isUnbatched, refuseUnbatched } from "../core/unbatched.ts";
import { nestedValues } from "../core/values.ts";
import { autoBatchSize } from "../ops/key-sets.ts";
import { valuesOf } from "../ops/stacking.ts";

/** How the columns of a table become entries. */
export interface FromTableOptions {
  /** Take the leading sizes that all entries share as the batch size. */
  autoBatchSize?: boolean;
  /** With `autoBatchSize`, the most dimensions of the batch. */
  batchDims?: number | null;
  /** Where the tensors go. */
  device?: DeviceLike | null;
  /** The batch size; the number of rows by default. */
  batchSize?: SizeLike | null;
  /** Splits the names of columns into nested keys: with ".", the column "obs.x" is the entry `["obs", "x"]`. */
  separator?: string | null;
  /** The dtype of columns of numbers and of truths. */
  dtype?: DTypeLike | null;
}

/** How entries become the columns of a table. */
export interface ToTableOptions {
  /** Joins nested keys to names of columns; without it nested TensorDicts are an error. */
  separator?: string | null;
  /** Flush the file to the disk before it takes its name. */
  fsync?: boolean;
}

type Tree = Map<string, Column | Tree>;

/** Columns in nested levels. @throws ValueError for a name that is the beginning of another one */
function unflatten(columns: ReadonlyMap<string, Column>, separator: string): Tree {
  const root: Tree = new Map();
  const conflict = (part: string) =>
    new ValueError(`Key conflict: '${part}' is both a leaf and a prefix in column names`);
  for (const [name, column] of columns) {
    const parts = separator === "" ? [name] : name.split(separator);
    const last = parts.pop() as string;
    if (parts.length > 128) throw new ValueError(`the name of a column has more than 128 parts`);
    let at = root;
    for (const part of parts) {
      let next = at.get(part);
      if (next === undefined) at.set(part, (next = new Map()));
      if (!(next instanceof Map)) throw conflict(part);
      at = next;
    }
    if (at.get(last) instanceof Map) throw conflict(last);
    at.set(last, column);
  }
  return root;
}

/** A tensor over the elements of a column. */
export function tensorOf(column: Extract<Column, { kind: "numbers" }>, rows: number): Tensor {
  const { array, dtype, inner } = column;
  const flat = fromTypedArray(array);
  const typed = flat.dtype.name === dtype ? flat : flat.view(dtype as never);
  if (inner.length === 0) return typed;
  const shaped = typed.view([rows, ...inner]);
  return column.order ? shaped.permute([0, ...column.order.map((dim) => dim + 1)]) : shaped;
}

function entryOf(column: Column, rows: number, state: NewState, dtype: DTypeLike | null): Entry {
  if (column.kind === "numbers") {
    const tensor = tensorOf(column, rows);
    return dtype === null ? tensor : tensor.to(toDType(dtype));
  }
  if (column.kind === "values") {
    return make.nonTensorStack(column.values, { ...state, batchSize: Size.fromList([rows]), names: null });
  }
  throw new TypeError(`a column of the kind ${column.kind} is no entry of a table`);
}

/** The TensorDict that columns are; `op` is Python's name of the call, for messages. */
export function tdOfColumns({ columns, rows }: Columns, options: FromTableOptions, op: string): Td {
  const { separator = null, dtype = null, device = null } = options;
  if (options.autoBatchSize && (options.batchSize ?? null) !== null) {
    throw new TypeError(`Conflicting batch sizes in ${op}: batch_size and auto_batch_size cannot be both specified.`);
  }
  const batchSize = (options.batchSize ?? null) === null ? Size.fromList([rows]) : toSize(options.batchSize);
  const state: NewState = { batchSize, device: device === null ? null : toDevice(device), names: null };
  const build = (tree: ReadonlyMap<string, Column | Tree>): Td => {
    const td = make.tensordict(new Map(), state);
    for (const [key, part] of tree) {
      if (part instanceof Map) {
        td._put(key, build(part));
        continue;
      }
      const made = entryOf(part, rows, state, dtype);
      const entry = made instanceof Tensor && device !== null ? made.to(device) : made;
      const fitted = fitBatch(entry, batchSize);
      if (fitted === null) throw mismatch(batchSize, shapeOf(entry), key, false);
      td._put(key, fitted);
    }
    return td;
  };
  const result = build(separator === null ? columns : unflatten(columns, separator));
  if (options.autoBatchSize) autoBatchSize(result, options.batchDims ?? null, false);
  return result;
}

/** The elements of a tensor as a column. */
export function columnOfTensor(tensor: Tensor): Extract<Column, { kind: "numbers" }> {
  const dtype = tensor.dtype.name;
  const Elements = arrayClass(dtype);
  if (Elements === undefined) throw new TypeError(`Got unsupported ScalarType ${tensor.dtype.scalarType}`);
  const array = tensor.detach().cpu().contiguous().typedArray();
  const same = array instanceof Elements;
  const made = same ? array : new Elements(array.buffer as ArrayBuffer, array.byteOffset, array.length);
  return { kind: "numbers", dtype, array: made, inner: tensor._shape.slice(1), valid: null };
}

/** One value for each row. */
export function rowValues(entry: ValueTd, rows: number): unknown[] {
  if (entry._batchSize.length === 0)
    return new Array<unknown>(rows).fill(entry._kind === "nonTensor" ? entry.value_ : null);
  if (entry._batchSize.length === 1) return [...valuesOf(entry)];
  return nestedValues(valuesOf(entry), entry._batchSize) as unknown[];
}

/** Entries by the names of their columns. */
function flatten(td: Td, separator: string | null, prefix: string, into: Map<string, Entry>): void {
  for (const [key, entry] of entriesOf(td)) {
    if (isBranch(entry)) {
      if (separator === null) {
        throw new ValueError(
          `Nested TensorDict at key '${key}' requires a separator parameter to flatten to DataFrame columns. Use ` +
            "to_pandas(separator='.').",
        );
      }
      flatten(entry, separator, `${prefix}${key}${separator}`, into);
    } else if (into.has(prefix + key)) throw new ValueError(`two entries have the column name '${prefix}${key}'`);
    else into.set(prefix + key, entry);
  }
}

/** A TensorDict as columns of one number or one value a row. */
export function columnsOfTd(td: Td, separator: string | null, halves = false): Columns {
  const flat = new Map<string, Entry>();
  flatten(td, separator, "", flat);
  let rows: number | null = td._batchSize[0] ?? null;
  const tensors = new Map<string, Tensor>();
  for (const [key, entry] of flat) {
    if (isNested(entry)) throw noNested("writing a table", key);
    if (!(entry instanceof Tensor)) continue;
    if (isUnbatched(entry)) throw refuseUnbatched(key, "written to a table");
    if (entry.ndim > 1) {
      throw new ValueError(
        `Cannot convert tensor with shape ${entry.shape} at key '${key}' to a single DataFrame column. Only 1D ` +
          "tensors (matching the batch size) are supported.",
      );
    }
    if (entry.ndim === 0) throw new ValueError("If using all scalar values, you must pass an index");
    rows ??= entry._shape[0] as number;
    if (rows !== entry._shape[0]) throw new ValueError("All arrays must be of the same length");
    tensors.set(key, entry);
  }
  const count = rows ?? 0;
  if (rows === null && flat.size > 0) throw new ValueError("If using all scalar values, you must pass an index");
  const columns = new Map<string, Column>();
  for (const [key, entry] of flat) {
    const tensor = tensors.get(key);
    if (tensor !== undefined) {
      const floats = tensor.dtype.name === "float16" && !halves ? tensor.float() : tensor;
      columns.set(key, columnOfTensor(floats));
    } else if (isNonTensor(entry)) {
      columns.set(key, { kind: "values", values: rowValues(entry, count), valid: null });
    }
  }
  return { columns, rows: count };
}

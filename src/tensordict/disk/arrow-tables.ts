// TensorDicts as Arrow tables: nested levels are structs, tensors of more dimensions columns of fixed shape.

import { tableOfBytes } from "../../io/arrow/ipc.ts";
import type { ArrowBatch, ArrowTable } from "../../io/arrow/types.ts";
import { guarded } from "../../io/base/errors.ts";
import { type Column, type Columns, inParts, numbers } from "../../io/columns/columns.ts";
import { Growth } from "../../io/columns/growth.ts";
import { columnsOfArrow } from "../../io/tables/arrow.ts";
import { readFileSync } from "../../runtime/node.ts";
import type { DeviceLike } from "../../tensor/device.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { Size } from "../../tensor/size.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { keyPath, pythonString } from "../core/keys.ts";
import { NestedTensor } from "../core/nested.ts";
import { entriesOf, isBranch, isNested, isNonTensor, make, type NewState, type Td } from "../core/state.ts";
import type { Entry, NestedKey } from "../core/types.ts";
import { isUnbatched, refuseUnbatched } from "../core/unbatched.ts";
import { setEntry } from "../ops/writes.ts";
import { columnOfTensor, rowValues, tensorOf } from "./tables.ts";

/** What `fromArrow` reads: a table, a record batch, the bytes of a file or of a stream, or a path. */
export type ArrowSource = ArrowTable | object | Uint8Array | string;

/** How an Arrow table is read. */
export interface FromArrowOptions {
  /** Copy the numbers of all columns; by default tensors are over the table's memory where that is possible. */
  copy?: boolean | null;
  /** What becomes of rows without a value: "raise" (the default), "fill" or "mask". */
  nulls?: "raise" | "fill" | "mask";
  /** Where the masks go; "_mask" by default. */
  maskKey?: NestedKey | null;
  /** Where the tensors go. */
  device?: DeviceLike | null;
}

const NULLS = ["raise", "fill", "mask"];

function tableOf(source: ArrowSource): ArrowTable & { growth?: Growth; path?: string } {
  if (typeof source === "string")
    return tableOfBytes(
      guarded(source, () => readFileSync(source)),
      source,
    );
  if (source instanceof Uint8Array) return tableOfBytes(source);
  const { batches, schema, data, numRows } = source as ArrowTable & ArrowBatch;
  const hasFields = Array.isArray(schema?.fields);
  if (hasFields && Array.isArray(batches)) return source as ArrowTable;
  if (hasFields && Array.isArray(data?.children)) return { schema, numRows, batches: [source as ArrowBatch] };
  throw new TypeError("fromArrow takes a table or a record batch of apache-arrow, bytes, or a path");
}

function nestedOf(column: Extract<Column, { kind: "ragged" }>, rows: number): NestedTensor {
  const { values, offsets } = column;
  const { inner } = values;
  const rank = inner.length + 1;
  const sizes = new Float64Array(rows * rank);
  for (let i = 0; i < rows; i++) {
    sizes[i * rank] = (offsets[i + 1] as number) - (offsets[i] as number);
    sizes.set(inner, i * rank + 1);
  }
  return new NestedTensor(tensorOf({ ...values, inner: [] }, 0), sizes, rows, rank);
}

/** Columns as entries; `masks` gets where those with gaps have values. */
class Builder {
  readonly masks: [string[], Uint8Array][] = [];

  constructor(
    private readonly rows: number,
    private readonly copy: boolean,
  ) {}

  level(columns: ReadonlyMap<string, Column>, path: readonly string[] = []): Td {
    const state: NewState = { batchSize: Size.fromList([this.rows]), device: null, names: null };
    const td = make.tensordict(new Map(), state);
    for (const [key, column] of columns) td._put(key, this.entry(column, [...path, key], state));
    return td;
  }

  private entry(column: Column, path: string[], state: NewState): Entry {
    if (column.kind === "struct") return this.level(column.fields, path);
    if (column.valid?.includes(0)) this.masks.push([path, column.valid]);
    if (column.kind === "values") return make.nonTensorStack(column.values, state);
    if (column.kind === "ragged") return nestedOf(column, this.rows);
    const tensor = tensorOf(column, this.rows);
    return this.copy ? tensor.clone() : tensor;
  }
}

/** @throws ValueError for a word that is none of them */
export function requireNulls(nulls: string): void {
  if (NULLS.includes(nulls)) return;
  throw new ValueError(`nulls must be one of ('raise', 'fill', 'mask'), got ${pythonString(nulls)}.`);
}

/** A table as TensorDicts of at most so many rows. */
export function* tdsOfArrow(source: ArrowSource, options: FromArrowOptions, most: number): Generator<Td> {
  const { nulls = "raise", maskKey = null, copy = null, device = null } = options;
  requireNulls(nulls);
  if (maskKey !== null && nulls !== "mask") {
    throw new ValueError(`from_arrow got a mask_key but nulls=${pythonString(nulls)}, not 'mask'.`);
  }
  const prefix = keyPath(maskKey ?? "_mask");
  const table = tableOf(source);
  const path = typeof source === "string" ? source : table.path;
  const growth = table.growth ?? Growth.free();
  const all = columnsOfArrow(table, { nulls, growth, ...(path === undefined ? {} : { path }) });
  if (nulls === "mask" && all.columns.has(prefix[0] as string)) {
    throw new ValueError(
      `nulls='mask' writes the masks under the key ${pythonString(prefix[0] as string)}, which is a column of the ` +
        "table.",
    );
  }
  for (const { columns, rows } of inParts(all, most)) {
    const builder = new Builder(rows, copy === true);
    const td = builder.level(columns);
    if (nulls === "mask") {
      for (const [key, valid] of builder.masks)
        setEntry(td, [...prefix, ...key], tensorOf(numbers("bool", valid), rows));
    }
    yield device === null ? td : (td.to(device) as Td);
  }
}

/** @torch tensordict.from_arrow */
export function tdOfArrow(source: ArrowSource, options: FromArrowOptions): Td {
  const [td] = tdsOfArrow(source, options, Number.POSITIVE_INFINITY);
  return td as Td;
}

function raggedOf(nested: NestedTensor, key: string): Column {
  const { _values: values, _sizes: sizes, _rank: rank } = nested;
  const rows = nested.length;
  if (rank === 0) return columnOfTensor(values);
  const inner = rows === 0 ? [] : [...sizes.subarray(1, rank)];
  const offsets = new Float64Array(rows + 1);
  for (let i = 0; i < rows; i++) {
    for (let dim = 1; dim < rank; dim++) {
      if (sizes[i * rank + dim] !== inner[dim - 1]) {
        throw new ValueError(
          `to_arrow needs the ragged dim of the jagged tensor ${pythonString(key)} at position 1, got ${dim + 1}.`,
        );
      }
    }
    offsets[i + 1] = (offsets[i] as number) + (sizes[i * rank] as number);
  }
  return { kind: "ragged", values: { ...columnOfTensor(values), inner }, offsets, valid: null };
}

function columnOf(entry: Entry, key: string, rows: number): Column {
  if (isNested(entry)) return raggedOf(entry, key);
  if (entry instanceof Tensor) {
    if (isUnbatched(entry)) throw refuseUnbatched(key, "converted to Arrow");
    return columnOfTensor(entry);
  }
  if (isNonTensor(entry)) return { kind: "values", values: rowValues(entry, rows), valid: null };
  if (!isBranch(entry)) throw new TypeError(`the entry ${pythonString(key)} has no Arrow type`);
  const fields = new Map([...entriesOf(entry)].map(([name, inner]) => [name, columnOf(inner, name, rows)]));
  return { kind: "struct", fields, valid: null };
}

/** The columns of a TensorDict of one batch dimension. */
export function columnsOfBatch(td: Td): Columns {
  if (td._batchSize.length !== 1) {
    throw new ValueError(
      `to_arrow needs a tensordict with one batch dimension, got the batch size ${td._batchSize}. Call ` +
        "td.reshape(-1) first to flatten it.",
    );
  }
  const rows = td._batchSize[0] as number;
  return { columns: new Map([...entriesOf(td)].map(([key, entry]) => [key, columnOf(entry, key, rows)])), rows };
}

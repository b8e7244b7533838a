// Tables that are read and written as TensorDicts of some rows at a time.
import { inParts } from "../../io/columns/columns.ts";
import type { CsvOptions } from "../../io/tables/csv-read.ts";
import type { ParquetOptions } from "../../io/tables/parquet.ts";
import {
  arrowParts,
  columnParts,
  formatOf,
  type PartWriteOptions,
  type TableFormat,
  writeParts,
} from "../../io/tables/table-parts.ts";
import { inOrder } from "../../tensor/checks.ts";
import { toDType } from "../../tensor/dtype.ts";
import { TypeError, ValueError } from "../../tensor/errors.ts";
import { FUNCTIONS } from "../core/signatures.ts";
import { isTensorCollection, type Td } from "../core/state.ts";
import { columnsOfBatch, type FromArrowOptions, requireNulls, tdsOfArrow } from "./arrow-tables.ts";
import { columnsOfTd, type FromTableOptions, type ToTableOptions, tdOfColumns } from "./tables.ts";

/** How a table is read in parts: what its format takes, and these. */
export interface ReadTableOptions
  extends Omit<FromTableOptions, "batchSize" | "autoBatchSize" | "batchDims">,
    CsvOptions,
    ParquetOptions,
    Omit<FromArrowOptions, "device"> {
  /** The most rows of a part; 65,536 by default. */
  rows?: number;
  /** The format; the end of the file's name says it by default. */
  format?: TableFormat | null;
}

/** How parts are written into one table: what its format takes, and these. */
export interface WriteTableOptions extends ToTableOptions, PartWriteOptions {
  /** The format; the end of the file's name says it by default. */
  format?: TableFormat | null;
}

const ROWS = 2 ** 16;

/**
 * Reads a table part by part, so that it may be larger than memory: a CSV file (.csv), a JSON array (.json) or one
 * record a line (.jsonl), a Parquet file (.parquet), an Arrow file or stream (.arrow, .feather). Each part is a
 * TensorDict as `fromCsv`, `fromJson`, `fromParquet` or `fromArrow` gives it, of at most `rows` rows. CSV and JSON
 * name no dtypes: each part has those of its own fields, unless `dtype` says one.
 * @throws ValueError for a name that says no format, FormatError for a file that has another
 * @example
 * ```ts
 * await Bun.write("data.csv", "a,b\n1,0.5\n2,1.5\n3,2.5\n");
 * let sum = 0;
 * for await (const part of tensordict.readTable("data.csv", { rows: 2 })) sum += part.get("b").sum().item();
 * sum // 4.5
 * ```
 */
export function readTable(path: string, options: ReadTableOptions = {}): AsyncGenerator<Td> {
  [path, options = {}] = inOrder<[string, ReadTableOptions?]>("readTable", FUNCTIONS.readTable, arguments);
  const { rows = ROWS, dtype = null, nulls = "raise" } = options;
  if (!Number.isInteger(rows) || rows < 1) throw new ValueError(`rows must be a whole number from 1 on, got ${rows}`);
  if (dtype !== null) toDType(dtype);
  requireNulls(nulls);
  return parts(path, formatOf(path, options.format ?? null), rows, options);
}

async function* parts(path: string, format: TableFormat, rows: number, options: ReadTableOptions): AsyncGenerator<Td> {
  if (format === "arrow") {
    for (const table of arrowParts(path)) yield* tdsOfArrow(table, options, rows);
    return;
  }
  for (const all of columnParts(path, format, rows, options)) {
    const op = `from_${format === "jsonl" ? "json" : format}`;
    for (const columns of inParts(all, rows)) yield tdOfColumns(columns, options, op);
  }
}

/**
 * Writes TensorDicts, one after the other, as the rows of one table, so that it may be larger than memory: the formats
 * are those of `readTable`. All parts have the entries of the first one. The file takes its name when it is complete;
 * an error leaves what was there before.
 * @returns the number of rows
 * @throws ValueError for a part with other entries than the first, and as `toCsv` and `toArrow` do
 * @example
 * ```ts
 * const parts = [arange(3), arange(2)].map((a) => new TensorDict({ a, b: a.mul(0.5) }, [a.length]));
 * await tensordict.writeTable("data.parquet", parts);
 * TensorDict.fromParquet("data.parquet").get("a") // tensor([0, 1, 2, 0, 1])
 * ```
 */
export function writeTable(
  path: string,
  parts: Iterable<Td> | AsyncIterable<Td>,
  options: WriteTableOptions = {},
): Promise<number> {
  [path, parts, options = {}] = inOrder<[string, Iterable<Td>, WriteTableOptions?]>(
    "writeTable",
    FUNCTIONS.writeTable,
    arguments,
  );
  const format = formatOf(path, options.format ?? null);
  const source = parts;
  const columns = async function* () {
    for await (const td of source) {
      if (!isTensorCollection(td)) throw new TypeError("the parts of a table are TensorDicts");
      yield format === "arrow" ? columnsOfBatch(td) : columnsOfTd(td, options.separator ?? null, format === "parquet");
    }
  };
  return writeParts(path, format, columns(), options);
}

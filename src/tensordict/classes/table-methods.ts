// TensorDicts from tables and to them: CSV, JSON and Parquet files, Arrow tables.

import type { ArrowTable } from "../../io/arrow/types.ts";
import type { Columns } from "../../io/columns/columns.ts";
import { arrowOfColumns } from "../../io/tables/arrow.ts";
import { type CsvOptions, readCsv } from "../../io/tables/csv-read.ts";
import { type CsvWriteOptions, csvTexts } from "../../io/tables/csv-write.ts";
import { jsonTexts, readJson } from "../../io/tables/json-tables.ts";
import {
  type ParquetOptions,
  type ParquetWriteOptions,
  parquetOfColumns,
  readParquetFile,
} from "../../io/tables/parquet.ts";
import { TableFile } from "../../io/tables/table-file.ts";
import { checkCollections } from "../core/collection-checks.ts";
import { STATICS } from "../core/signatures.ts";
import { Collection, type NewState } from "../core/state.ts";
import type { Classes, Schema } from "../core/types.ts";
import { type ArrowSource, columnsOfBatch, type FromArrowOptions, tdOfArrow } from "../disk/arrow-tables.ts";
import { columnsOfTd, type FromTableOptions, type ToTableOptions, tdOfColumns } from "../disk/tables.ts";
import type { ElementMethods } from "./element-methods.ts";

/** Options of `fromCsv`. */
export interface FromCsvOptions extends FromTableOptions, CsvOptions {}

/** Options of `toCsv`. */
export interface ToCsvOptions extends ToTableOptions, CsvWriteOptions {}

/** Options of `fromJson`. */
export interface FromJsonOptions extends FromTableOptions {
  /** The file has one record a line. */
  lines?: boolean;
}

/** Options of `fromParquet`. */
export interface FromParquetOptions extends FromTableOptions, ParquetOptions {}

/** Options of `toParquet`. */
export interface ToParquetOptions extends ToTableOptions, ParquetWriteOptions {}

/** Options of `toJson`. */
export interface ToJsonOptions extends ToTableOptions {
  /** Write one record a line. */
  lines?: boolean;
}

const first = (batches: Iterable<Columns>): Columns => [...batches][0] as Columns;

/** Joined to those of the other files for the compiler: they come into a program one by one (late-methods.ts). */
export interface TableMethods<in out S = Schema> extends ElementMethods<S> {}

/** Tables. */
export abstract class TableMethods<in out S = Schema> extends Collection<S> {
  // Written down: one that the engine makes passes a list of arguments on.
  constructor(state: NewState) {
    super(state);
  }

  /**
   * Reads a CSV file with one entry for each column: int64 where all fields are whole numbers, float64 with NaN where
   * some are missing, bool, and texts with null where one is missing, one for each row. Lines end as pandas ends them,
   * and what comes behind a closing quote belongs to the field.
   * @throws FormatError for rows of too many fields, open quotes, bytes that are no UTF-8, and a table that is far
   * larger than its file
   * @example
   * ```ts
   * await Bun.write("data.csv", "obs.x,done\n0.5,True\n1.5,False\n");
   * TensorDict.fromCsv("data.csv", { separator: "." }).get(["obs", "x"])
   * // tensor([0.5000, 1.5000], dtype=torch.float64)
   * ```
   * @torch TensorDict.from_csv
   */
  static fromCsv<T extends Schema = Schema>(path: string, options: FromCsvOptions = {}): Classes<T>["tensordict"] {
    return tdOfColumns(first(readCsv(path, options)), options, "from_csv") as Classes<T>["tensordict"];
  }
  /**
   * Reads a JSON file: an array of records, or one record a line. Each field that a record has becomes an entry: int64
   * where all numbers are whole, float64 with NaN where some are missing, bool, tensors of more dimensions where all
   * records have lists of the same sizes, and values, one for each row, everywhere else.
   * @throws ValueError for a file that is no array of records, FormatError for one that is no JSON, is nested more than
   * 500 levels, or whose records have so many fields of their own that the table is far larger than the file
   * @example
   * ```ts
   * await Bun.write("data.json", '[{"a": 1, "b": 0.5}, {"a": 2}]');
   * TensorDict.fromJson("data.json").get("b") // tensor([0.5000,    nan], dtype=torch.float64)
   * ```
   * @torch TensorDict.from_json
   */
  static fromJson<T extends Schema = Schema>(path: string, options: FromJsonOptions = {}): Classes<T>["tensordict"] {
    const columns = first(readJson(path, options.lines === true));
    return tdOfColumns(columns, options, "from_json") as Classes<T>["tensordict"];
  }
  /**
   * Reads a Parquet file with one entry for each column: numbers with their dtypes, float64 with NaN where whole
   * numbers are missing, lists of one size as tensors of more dimensions, and values, one for each row, for everything
   * else. Numbers are what they mean: decimals are the nearest float64; moments (since 1970), times of day (since
   * midnight) and durations are int64 nanoseconds, the least int64 where one is missing. Days are dates, UUIDs texts,
   * structs objects, maps objects by their keys; within lists and structs moments are dates as well.
   * @throws FormatError for a file that is none, whose footer and row groups disagree, that is encrypted, or that has a
   * codec (LZO) or an encoding that is not read, by its name
   * @example
   * ```ts
   * new TensorDict({ obs: arange(3), done: ones(3).bool() }, [3]).toParquet("data.parquet");
   * TensorDict.fromParquet("data.parquet", { columns: ["obs"] }).get("obs") // tensor([0, 1, 2])
   * ```
   * @torch TensorDict.from_parquet
   */
  static fromParquet<T extends Schema = Schema>(
    path: string,
    options: FromParquetOptions = {},
  ): Classes<T>["tensordict"] {
    return tdOfColumns(readParquetFile(path, options), options, "from_parquet") as Classes<T>["tensordict"];
  }
  /**
   * An Arrow table with one entry for each column: a table or a record batch of apache-arrow, the bytes of an Arrow
   * file or stream, or the path of one. Numbers of a table of one part are tensors over its memory; lists of one size
   * have more dimensions, other lists of numbers are nested tensors, structs nested TensorDicts, and everything else
   * values, one for each row. Decimals are the nearest float64, times of day (since midnight) and durations int64
   * nanoseconds; moments and days are dates, of whole milliseconds, UUIDs texts, maps objects by their keys.
   * @throws FormatError for a file that is none or is not whole: all offsets, sizes and counts in it are checked
   * @throws ValueError for rows without a value; `nulls: "fill"` gives them NaN, 0 or null, `nulls: "mask"` marks them
   * @example
   * ```ts
   * const table = new TensorDict({ x: tensor([1, 2]), obs: { y: ones(2, 3) } }, [2]).toArrow();
   * TensorDict.fromArrow(table).get(["obs", "y"]).shape // torch.Size([2, 3])
   * ```
   * @torch tensordict.from_arrow
   */
  static fromArrow<T extends Schema = Schema>(
    table: ArrowSource,
    options: FromArrowOptions = {},
  ): Classes<T>["tensordict"] {
    return tdOfArrow(table, options) as Classes<T>["tensordict"];
  }
  /**
   * A table of apache-arrow with one column for each entry, over the memory of contiguous tensors: tensors of more
   * dimensions are columns of fixed shape, nested TensorDicts structs, nested tensors lists.
   * @throws ValueError for a batch of more or fewer dimensions than one
   * @example
   * ```ts
   * String(new TensorDict({ a: arange(2), b: { c: ones(2) } }, [2]).toArrow().schema)
   * // Schema<{ 0: a: Int64, 1: b: Struct<{c:Float32}> }>
   * ```
   * @torch tensordict.to_arrow
   */
  toArrow(): ArrowTable {
    return arrowOfColumns(columnsOfBatch(this._td));
  }
  /**
   * Writes a Parquet file with one column for each entry, as `toCsv` does. The file is made in memory and takes its
   * name when it is complete.
   * @throws ValueError as `toCsv`
   * @example
   * ```ts
   * new TensorDict({ a: arange(2), b: { c: ones(2) } }, [2]).toParquet("data.parquet", { separator: "." });
   * TensorDict.fromParquet("data.parquet", { separator: "." }).get(["b", "c"]) // tensor([1., 1.])
   * ```
   * @torch TensorDict.to_parquet
   */
  toParquet(path: string, options: ToParquetOptions = {}): void {
    const bytes = parquetOfColumns(columnsOfTd(this._td, options.separator ?? null, true), options);
    TableFile.replace(path, options.fsync === true, (file) => file.write(bytes));
  }
  /**
   * Writes a CSV file with one column for each entry: tensors of one dimension and values. The file is replaced when it
   * is complete. Numbers have the fewest digits that give them back.
   * @throws ValueError for nested TensorDicts without a separator, and for tensors of more dimensions
   * @example
   * ```ts
   * new TensorDict({ a: arange(2), b: { c: ones(2) } }, [2]).toCsv("data.csv", { separator: "." });
   * (await Bun.file("data.csv").text()).trim() // a,b.c
   * // 0,1.0
   * // 1,1.0
   * ```
   * @torch TensorDict.to_csv
   */
  toCsv(path: string, options: ToCsvOptions = {}): void {
    const columns = columnsOfTd(this._td, options.separator ?? null);
    TableFile.replace(path, options.fsync === true, (file) => {
      for (const text of csvTexts(columns, options, true)) file.write(text);
    });
  }
  /**
   * Writes a JSON file: an array of records, one for each row, or one record a line. NaN and infinities become null.
   * The file is replaced when it is complete.
   * @throws ValueError as `toCsv`
   * @example
   * ```ts
   * new TensorDict({ a: arange(2), name: new NonTensorStack(["x", "y"]) }, [2]).toJson("data.json");
   * await Bun.file("data.json").text() // [{"a":0,"name":"x"},{"a":1,"name":"y"}]
   * ```
   * @torch TensorDict.to_json
   */
  toJson(path: string, options: ToJsonOptions = {}): void {
    const columns = columnsOfTd(this._td, options.separator ?? null);
    const lines = options.lines === true;
    TableFile.replace(path, options.fsync === true, (file) => {
      for (const text of jsonTexts(columns, lines, true)) file.write(text);
      if (!lines) file.write(columns.rows === 0 ? "[]" : "]");
    });
  }
}
checkCollections(TableMethods, null, STATICS);

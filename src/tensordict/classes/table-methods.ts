// TensorDicts from tables and to them: CSV and JSON files.

import type { Columns } from "../../io/tables/columns.ts";
import { type CsvOptions, readCsv } from "../../io/tables/csv-read.ts";
import { type CsvWriteOptions, csvTexts } from "../../io/tables/csv-write.ts";
import { jsonTexts, readJson } from "../../io/tables/json-tables.ts";
import { TableFile } from "../../io/tables/table-file.ts";
import type { Classes, Schema } from "../core/types.ts";
import { columnsOfTd, type FromTableOptions, type ToTableOptions, tdOfColumns } from "../disk/tables.ts";
import { ElementMethods } from "./element-methods.ts";

/** Options of `fromCsv`. */
export interface FromCsvOptions extends FromTableOptions, CsvOptions {}

/** Options of `toCsv`. */
export interface ToCsvOptions extends ToTableOptions, CsvWriteOptions {}

/** Options of `fromJson`. */
export interface FromJsonOptions extends FromTableOptions {
  /** The file has one record a line. */
  lines?: boolean;
}

/** Options of `toJson`. */
export interface ToJsonOptions extends ToTableOptions {
  /** Write one record a line. */
  lines?: boolean;
}

const first = (batches: Iterable<Columns>): Columns => [...batches][0] as Columns;

/** Tables. */
export abstract class TableMethods<S = Schema> extends ElementMethods<S> {
  /**
   * Reads a CSV file with one entry for each column: int64 where all fields are whole numbers, float64 with NaN where
   * some are missing, bool, and texts with null where one is missing, one for each row. The npm package papaparse has
   * to be installed.
   * @throws FormatError for rows of too many fields, open quotes, and bytes that are no UTF-8
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
   * @throws ValueError for a file that is no array of records
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
   * Writes a CSV file with one column for each entry: tensors of one dimension and values. The file is replaced when it
   * is complete. Numbers have the fewest digits that give them back.
   * @throws ValueError for nested TensorDicts without a separator, and for tensors of more dimensions
   * @example
   * ```ts
   * new TensorDict({ a: arange(2), b: { c: ones(2) } }, [2]).toCsv("data.csv", { separator: "." });
   * await Bun.file("data.csv").text() // a,b.c
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

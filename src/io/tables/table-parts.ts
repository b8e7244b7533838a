// Tables in parts, so that a file may be larger than memory: columns of some rows at a time.
import { extname } from "../../runtime/node.ts";
import { ValueError } from "../../tensor/errors.ts";
import { ArrowReader } from "../arrow/ipc.ts";
import type { ArrowBatch, ArrowTable } from "../arrow/types.ts";
import type { Columns } from "../columns/columns.ts";
import { Growth } from "../columns/growth.ts";
import { arrowOfColumns, arrowPackage } from "./arrow.ts";
import { type CsvOptions, readCsv } from "./csv-read.ts";
import { type CsvWriteOptions, csvTexts } from "./csv-write.ts";
import { jsonTexts, readJson } from "./json-tables.ts";
import { type ParquetOptions, type ParquetWriteOptions, parquetParts, parquetStream } from "./parquet.ts";
import { openedBytes, TableFile } from "./table-file.ts";

/** A format of tables; "jsonl" is one record a line. */
export type TableFormat = "csv" | "json" | "jsonl" | "parquet" | "arrow";

const FORMATS: Readonly<Record<string, TableFormat>> = {
  ".csv": "csv",
  ".json": "json",
  ".jsonl": "jsonl",
  ".ndjson": "jsonl",
  ".parquet": "parquet",
  ".arrow": "arrow",
  ".arrows": "arrow",
  ".feather": "arrow",
};

/** The format that is given, or that the name of the file says. @throws ValueError for neither */
export function formatOf(path: string, given: string | null): TableFormat {
  const format = given ?? FORMATS[extname(path).toLowerCase()];
  if (format !== undefined && Object.values(FORMATS).includes(format as TableFormat)) return format as TableFormat;
  const all = [...new Set(Object.values(FORMATS))].join(", ");
  throw new ValueError(
    given === null
      ? `the name ${path} does not say a format of tables: give one of ${all}`
      : `unknown format '${given}' of tables, not one of ${all}`,
  );
}

/** How the parts of CSV, JSON and Parquet files are read. */
export interface PartOptions extends CsvOptions, ParquetOptions {}

/** Columns of some rows at a time: of about so many, or of one row group of a Parquet file. */
export function* columnParts(
  path: string,
  format: Exclude<TableFormat, "arrow">,
  rows: number,
  options: PartOptions,
): Generator<Columns> {
  if (format === "csv") yield* readCsv(path, options, rows);
  else if (format === "parquet") yield* parquetParts(path, options);
  else yield* readJson(path, format === "jsonl", rows);
}

/** The record batches of an Arrow file or stream that have rows, each as a table; without any, one without rows. */
export function* arrowParts(path: string): Generator<ArrowTable & { growth: Growth; path: string }> {
  const file = openedBytes(path);
  try {
    const growth = new Growth(file.size, path);
    const reader = new ArrowReader(file, path, growth);
    const table = (batches: readonly ArrowBatch[]) => {
      return { schema: { fields: reader.fields }, numRows: batches[0]?.numRows ?? 0, batches, growth, path };
    };
    let some = false;
    for (const batch of reader.batches()) {
      if (batch.numRows === 0) continue;
      some = true;
      yield table([batch]);
    }
    if (!some) yield table([]);
  } finally {
    file.close();
  }
}

/** How tables are written in parts. */
export interface PartWriteOptions extends CsvWriteOptions, ParquetWriteOptions {
  /** Flush the file to the disk before it takes its name. */
  fsync?: boolean;
}

type Parts = AsyncIterable<Columns>;

/** Parts that all have the columns of the first one. */
async function* alike(parts: Parts): Parts & AsyncGenerator<Columns> {
  let names: string | null = null;
  let count = 0;
  for await (const part of parts) {
    const own = [...part.columns.keys()].join("', '");
    names ??= own;
    if (own !== names) throw new ValueError(`part ${count} has the columns '${own}', not '${names}' as the first one`);
    count++;
    yield part;
  }
}

async function writeTexts(parts: Parts, file: TableFile, textsOf: (part: Columns, first: boolean) => Iterable<string>) {
  let first = true;
  for await (const part of parts) {
    for (const text of textsOf(part, first)) file.write(text);
    if (part.rows > 0) first = false;
  }
  return first;
}

const NO_PARTS = "a file of this format needs at least one part, which says what its columns are";

/** One Arrow table for each part, all of the same types. */
async function* arrowTables(parts: Parts): AsyncGenerator<ArrowTable> {
  let types: string | null = null;
  for await (const part of parts) {
    const table = arrowOfColumns(part);
    const own = String(table.schema);
    types ??= own;
    if (own !== types) throw new ValueError(`a part has the types ${own}, not ${types} as the first one`);
    yield table;
  }
  if (types === null) throw new ValueError(NO_PARTS);
}

async function writeArrow(parts: Parts, file: TableFile): Promise<void> {
  const writer = new (arrowPackage().RecordBatchFileWriter)();
  const drained = (async () => {
    for await (const bytes of writer) file.write(bytes.slice());
  })();
  try {
    for await (const table of arrowTables(parts)) {
      writer.write(table.batches[0] as object);
      // The bytes are taken in the meantime.
      await Bun.sleep(0);
    }
  } finally {
    writer.finish();
    await drained;
  }
}

/** Writes the parts into one file, which takes its name when it is complete. Gives the number of rows. */
export async function writeParts(
  path: string,
  format: TableFormat,
  given: Parts,
  options: PartWriteOptions,
): Promise<number> {
  let rows = 0;
  const counted = async function* () {
    for await (const part of alike(given)) {
      rows += part.rows;
      yield part;
    }
  };
  const file = new TableFile(path, options.fsync === true);
  try {
    if (format === "csv") await writeTexts(counted(), file, (part, first) => csvTexts(part, options, first));
    else if (format === "arrow") await writeArrow(counted(), file);
    else if (format === "parquet") {
      for await (const bytes of parquetStream(arrowTables(counted()), options)) file.write(bytes);
    } else {
      const lines = format === "jsonl";
      const none = await writeTexts(counted(), file, (part, first) => jsonTexts(part, lines, first));
      if (!lines) file.write(none ? "[]" : "]");
    }
    file.finish();
  } catch (error) {
    file.discard();
    throw error;
  }
  return rows;
}

// Parquet files through the npm package parquet-wasm (the Arrow project's engine, in Rust), as Arrow tables.
import { statSync } from "node:fs";
import { FormatError, guarded, OSError } from "../base/errors.ts";
import { arrowOfColumns, arrowPackage, columnsOfArrow, tableOfBytes } from "./arrow.ts";
import type { Columns } from "./columns.ts";
import { tablePackage } from "./packages.ts";
import { piecesOf } from "./table-file.ts";

interface WasmTable {
  intoIPCStream(): Uint8Array;
}
interface ParquetPackage {
  readParquet(bytes: Uint8Array, options?: object): WasmTable;
  writeParquet(table: WasmTable, properties?: unknown): Uint8Array;
  Table: { fromIPCStream(bytes: Uint8Array): WasmTable };
  WriterPropertiesBuilder: new () => {
    setCompression(codec: number): ReturnType<() => InstanceType<ParquetPackage["WriterPropertiesBuilder"]>>;
    setMaxRowGroupSize(rows: number): InstanceType<ParquetPackage["WriterPropertiesBuilder"]>;
    build(): unknown;
  };
  Compression: Readonly<Record<string, number>>;
}

/** The package works in 4 GiB of its own, which hold the file and what is in it. */
const MOST_BYTES = 2 ** 30;
/** Rows of a part that the package hands over. */
const BATCH_ROWS = 2 ** 20;

/** How a Parquet file is read. */
export interface ParquetOptions {
  /** The columns to read; all by default. */
  columns?: readonly string[] | null;
}

const CODECS: Readonly<Record<string, string>> = {
  none: "UNCOMPRESSED",
  snappy: "SNAPPY",
  gzip: "GZIP",
  brotli: "BROTLI",
  lz4: "LZ4_RAW",
  zstd: "ZSTD",
};

/** How a Parquet file is written. */
export interface ParquetWriteOptions {
  /** "snappy" (the default), "zstd", "gzip", "brotli", "lz4" or "none". */
  compression?: string;
  /** The most rows of a row group. */
  rowGroupSize?: number;
}

/** The columns of a Parquet file. */
export function readParquetFile(path: string, { columns = null }: ParquetOptions): Columns {
  const size = guarded(path, () => statSync(path)).size;
  if (size > MOST_BYTES) throw new OSError(`${path}: ${size} bytes are more than parquet-wasm takes (${MOST_BYTES})`);
  const bytes = Buffer.concat([...piecesOf(path, Math.max(1, Math.min(size + 1, MOST_BYTES)))]);
  const parquet = tablePackage<ParquetPackage>("parquet");
  arrowPackage();
  let stream: Uint8Array;
  try {
    const wanted = columns === null ? {} : { columns: [...columns] };
    stream = parquet.readParquet(bytes, { batchSize: BATCH_ROWS, ...wanted }).intoIPCStream();
  } catch (error) {
    throw new FormatError(`it is no Parquet file that can be read: ${(error as Error).message ?? error}`, path, error);
  }
  const found = columnsOfArrow(tableOfBytes(stream, path), { nulls: "fill", numpy: true, only: columns, path });
  const missing = (columns ?? []).filter((name) => !found.columns.has(name));
  if (missing.length > 0) throw new FormatError(`it has no column '${missing.join("', '")}'`, path);
  return found;
}

/** The bytes of a Parquet file. */
export function parquetOfColumns(columns: Columns, options: ParquetWriteOptions): Uint8Array {
  const { compression = "snappy", rowGroupSize = 2 ** 20 } = options;
  const parquet = tablePackage<ParquetPackage>("parquet");
  const codec = parquet.Compression[CODECS[compression] ?? ""];
  if (codec === undefined) throw new FormatError(`unknown compression '${compression}'`);
  const properties = new parquet.WriterPropertiesBuilder()
    .setCompression(codec)
    .setMaxRowGroupSize(rowGroupSize)
    .build();
  const stream = arrowPackage().tableToIPC(arrowOfColumns(columns), "stream");
  return parquet.writeParquet(parquet.Table.fromIPCStream(stream), properties);
}

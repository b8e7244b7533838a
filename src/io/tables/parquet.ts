// Parquet files: read by src/io/parquet, written by the npm package parquet-wasm (the Arrow project's engine, in Rust).
import type { ArrowBytes } from "../arrow/ipc.ts";
import type { ArrowTable } from "../arrow/types.ts";
import { FormatError } from "../base/errors.ts";
import type { Columns } from "../columns/columns.ts";
import { ParquetFile } from "../parquet/file.ts";
import { arrowOfColumns, arrowPackage } from "./arrow.ts";
import { tablePackage } from "./packages.ts";
import { openedBytes } from "./table-file.ts";

interface WasmTable {
  recordBatches(): object[];
}
interface ParquetPackage {
  writeParquet(table: WasmTable, properties?: unknown): Uint8Array;
  transformParquetStream(batches: ReadableStream, properties?: unknown): Promise<ReadableStream<Uint8Array>>;
  Table: { fromIPCStream(bytes: Uint8Array): WasmTable };
  WriterPropertiesBuilder: new () => {
    setCompression(codec: number): ReturnType<() => InstanceType<ParquetPackage["WriterPropertiesBuilder"]>>;
    setMaxRowGroupSize(rows: number): InstanceType<ParquetPackage["WriterPropertiesBuilder"]>;
    build(): unknown;
  };
  Compression: Readonly<Record<string, number>>;
}

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

/** Runs with a file that is open. */
function* opened<T>(path: string, run: (file: ArrowBytes) => Iterable<T>): Generator<T> {
  const file = openedBytes(path);
  try {
    yield* run(file);
  } finally {
    file.close();
  }
}

/** The columns of a Parquet file. @throws FormatError for one that is none, or without a column that is wanted */
export function readParquetFile(path: string, { columns = null }: ParquetOptions): Columns {
  const [all] = opened(path, (file) => [new ParquetFile(file, path, columns).all()]);
  return all as Columns;
}

/** The columns of a Parquet file, one row group after the other; only one of them is in memory. */
export function parquetParts(path: string, { columns = null }: ParquetOptions): Generator<Columns> {
  return opened(path, (file) => new ParquetFile(file, path, columns).parts());
}

function propertiesOf(parquet: ParquetPackage, options: ParquetWriteOptions): unknown {
  const { compression = "snappy", rowGroupSize = 2 ** 20 } = options;
  const codec = parquet.Compression[CODECS[compression] ?? ""];
  if (codec === undefined) throw new FormatError(`unknown compression '${compression}'`);
  return new parquet.WriterPropertiesBuilder().setCompression(codec).setMaxRowGroupSize(rowGroupSize).build();
}

/** The bytes of a Parquet file of tables that come one after the other. @throws what the tables throw */
export async function* parquetStream(
  tables: AsyncIterable<ArrowTable>,
  options: ParquetWriteOptions,
): AsyncGenerator<Uint8Array> {
  const parquet = tablePackage<ParquetPackage>("parquet");
  const properties = propertiesOf(parquet, options);
  const { tableToIPC } = arrowPackage();
  const given = tables[Symbol.asyncIterator]();
  let next = await given.next();
  // The package takes a stream that fails for one that ends.
  let failed: { error: unknown } | null = null;
  const batches = new ReadableStream({
    async pull(controller) {
      try {
        if (next.done) return controller.close();
        const made = parquet.Table.fromIPCStream(tableToIPC(next.value, "stream"));
        for (const batch of made.recordBatches()) controller.enqueue(batch);
        next = await given.next();
      } catch (error) {
        failed = { error };
        controller.close();
      }
    },
  });
  yield* await parquet.transformParquetStream(batches, properties);
  if (failed !== null) throw (failed as { error: unknown }).error;
}

/** The bytes of a Parquet file. */
export function parquetOfColumns(columns: Columns, options: ParquetWriteOptions): Uint8Array {
  const parquet = tablePackage<ParquetPackage>("parquet");
  const stream = arrowPackage().tableToIPC(arrowOfColumns(columns), "stream");
  return parquet.writeParquet(parquet.Table.fromIPCStream(stream), propertiesOf(parquet, options));
}

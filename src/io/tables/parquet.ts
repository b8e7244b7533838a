// Parquet files through the npm package parquet-wasm (the Arrow project's engine, in Rust), as Arrow tables.
import { statSync } from "../../runtime/node.ts";
import { ZensorError } from "../../tensor/errors.ts";
import type { ArrowTable } from "../arrow/types.ts";
import { FormatError, guarded, OSError } from "../base/errors.ts";
import type { Columns } from "../columns/columns.ts";
import { Growth } from "../columns/growth.ts";
import { tableOfBytes } from "../arrow/ipc.ts";
import { arrowOfColumns, arrowPackage, columnsOfArrow } from "./arrow.ts";
import { tablePackage } from "./packages.ts";
import { piecesOf } from "./table-file.ts";

interface WasmTable {
  intoIPCStream(): Uint8Array;
  recordBatches(): object[];
}
interface WasmFile {
  stream(options: object): Promise<ReadableStream<WasmTable>>;
  free(): void;
}
interface ParquetPackage {
  readParquet(bytes: Uint8Array, options?: object): WasmTable;
  writeParquet(table: WasmTable, properties?: unknown): Uint8Array;
  ParquetFile: { fromFile(file: Blob): Promise<WasmFile> };
  transformParquetStream(batches: ReadableStream, properties?: unknown): Promise<ReadableStream<Uint8Array>>;
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
    throw unreadable(path, error);
  }
  return columnsOfStream(stream, columns, path);
}

const unreadable = (path: string, error: unknown): FormatError =>
  new FormatError(`it is no Parquet file that can be read: ${(error as Error).message ?? error}`, path, error);

/** The columns of what the package hands over. @throws FormatError without a column that is wanted */
function columnsOfStream(stream: Uint8Array, columns: readonly string[] | null, path: string): Columns {
  const found = columnsOfArrow(tableOfBytes(stream, path), { nulls: "fill", numpy: true, only: columns, path, growth: Growth.free() });
  const missing = (columns ?? []).filter((name) => !found.columns.has(name));
  if (missing.length > 0) throw new FormatError(`it has no column '${missing.join("', '")}'`, path);
  return found;
}

/** The columns of a Parquet file, of at most so many rows at a time; only these rows are in memory. */
export async function* parquetParts(
  path: string,
  rows: number,
  { columns = null }: ParquetOptions,
): AsyncGenerator<Columns> {
  guarded(path, () => statSync(path));
  const { ParquetFile } = tablePackage<ParquetPackage>("parquet");
  arrowPackage();
  const wanted = columns === null ? {} : { columns: [...columns] };
  let file: WasmFile | null = null;
  let batches: ReturnType<ReadableStream<WasmTable>["getReader"]> | null = null;
  try {
    file = await ParquetFile.fromFile(Bun.file(path));
    batches = (await file.stream({ batchSize: rows, ...wanted })).getReader();
    for (;;) {
      const { done, value } = await batches.read();
      if (done) return;
      yield columnsOfStream(value.intoIPCStream(), columns, path);
    }
  } catch (error) {
    throw error instanceof ZensorError ? error : unreadable(path, error);
  } finally {
    await batches?.cancel().catch(() => {});
    file?.free();
  }
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

// `zensor inspect`: the tensors of a file or a directory, without reading their bytes.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { readDirectory } from "../io/memmap-read.ts";
import { pythonJsonStringify, toPlain } from "../io/python-json.ts";
import { readSafetensorsHeader } from "../io/safetensors.ts";
import type { TreeNode } from "../io/tree.ts";
import { CliError } from "./errors.ts";
import type { CliOptions } from "./main.ts";

/** One line of the listing. */
interface Row {
  name: string;
  dtype: string;
  shape: readonly number[];
  nbytes: number;
}

/** What was found. */
interface Listing {
  format: "safetensors" | "memmap";
  batchSize: readonly number[] | null;
  rows: Row[];
  values: { name: string; value: unknown }[];
  metadata: Record<string, string>;
}

function fromSafetensors(path: string): Listing {
  const header = readSafetensorsHeader(path);
  const rows = [...header.entries.values()].map((entry) => ({
    name: entry.name,
    dtype: entry.dtype.name,
    shape: entry.shape,
    nbytes: entry.end - entry.begin,
  }));
  return {
    format: "safetensors",
    batchSize: null,
    rows,
    values: [],
    metadata: Object.fromEntries(header.metadata),
  };
}

function collect(node: TreeNode, prefix: string, listing: Listing): void {
  const under = (key: string) => (prefix === "" ? key : `${prefix}.${key}`);
  switch (node.kind) {
    case "tensordict":
      for (const [key, entry] of node.entries) {
        if (entry.kind !== "leaf") collect(entry, under(key), listing);
        else {
          const { dtype, shape, nbytes } = entry.meta;
          listing.rows.push({ name: under(key), dtype: dtype.name, shape, nbytes });
        }
      }
      return;
    case "lazy":
      for (const [i, member] of node.members.entries()) collect(member, under(String(i)), listing);
      return;
    case "tensorclass":
      collect(node.inner, prefix, listing);
      return;
    default: {
      const value = node.pickle === null ? toPlain(node.data) : "<Python pickle>";
      listing.values.push({ name: prefix, value });
    }
  }
}

function fromDirectory(path: string): Listing {
  if (!existsSync(join(path, "meta.json"))) {
    throw new CliError(
      `${path} has no meta.json: it is no memory-mapped directory. \`zensor tree ${path}\` shows its files.`,
    );
  }
  const node = readDirectory(path);
  const listing: Listing = { format: "memmap", batchSize: null, rows: [], values: [], metadata: {} };
  if (node.kind === "tensordict") listing.batchSize = node.batchSize;
  collect(node, "", listing);
  return listing;
}

/** A number of bytes for people. */
export function bytesText(nbytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = nbytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${nbytes} B` : `${value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

function printTable(listing: Listing): void {
  const cells = listing.rows.map((row) => [
    JSON.stringify(row.name).slice(1, -1),
    row.dtype,
    `[${row.shape.join(", ")}]`,
    bytesText(row.nbytes),
  ]);
  const width = (column: number) => Math.max(0, ...cells.map((row) => (row[column] as string).length));
  const widths = [width(0), width(1), width(2), width(3)];
  for (const [name, dtype, shape, size] of cells as [string, string, string, string][]) {
    const left = `${name.padEnd(widths[0] as number)}  ${dtype.padEnd(widths[1] as number)}`;
    console.log(`${left}  ${shape.padEnd(widths[2] as number)}  ${size.padStart(widths[3] as number)}`);
  }
  for (const { name, value } of listing.values) console.log(`${name} = ${pythonJsonStringify(value as string)}`);
  for (const [key, value] of Object.entries(listing.metadata))
    console.log(`metadata ${key} = ${JSON.stringify(value)}`);
  const total = listing.rows.reduce((sum, row) => sum + row.nbytes, 0);
  console.log(`${listing.rows.length} tensors, ${bytesText(total)}`);
}

/** Lists the tensors of a file or a directory. */
export function inspect(path: string, options: CliOptions): void {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new CliError(`${path} does not exist.`);
  const listing = stat.isDirectory() ? fromDirectory(path) : fromSafetensors(path);
  if (options.json)
    console.log(JSON.stringify(listing, (_key, value) => (typeof value === "bigint" ? `${value}` : value), 2));
  else printTable(listing);
}

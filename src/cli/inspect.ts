// `zensor inspect`: the tensors of a file or a directory of any format, without reading their bytes.
import { type PythonJson, pythonJsonStringify, toPlain } from "../io/base/python-json.ts";
import { Tensor } from "../tensor/tensor.ts";
import { isLazy, isNested, shapeOf, type Td } from "../tensordict/core/state.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { FORMATS, type FormatName } from "./formats.ts";

import { say } from "./output.ts";
import { objectsIn } from "./python-objects.ts";
import { classNameOf, type PythonNode, valueOf } from "./python-values.ts";

import { openOutline, type TrustOptions } from "./source.ts";
import { bytesText, printable } from "./text.ts";
import { unknownIn } from "./unknown-entries.ts";

/** One line of the listing. */
export interface Row {
  name: string;
  dtype: string;
  shape: readonly number[];
  nbytes: number;
}

/** What was found. */
interface Listing {
  format: FormatName;
  batchSize: readonly number[];
  rows: Row[];
  values: { name: string; value: unknown }[];
  /** Elements that no tensor has, in the words of their format. */
  unknown: { name: string; dtype: string; shape: readonly number[] | null; nbytes: number | null }[];
}

/** Every tensor of a collection by its joined name, and every other value. */
export function listingOf(td: Td, format: FormatName): Listing {
  const listing: Listing = { format, batchSize: [...td._batchSize], rows: [], values: [], unknown: [] };
  const visit = (level: Td, prefix: string) => {
    const unknown = unknownIn(level);
    if (unknown !== null) {
      const { dtype, shape, nbytes } = unknown;
      listing.unknown.push({ name: prefix, dtype, shape, nbytes });
      return;
    }
    if (isNonTensor(level)) {
      listing.values.push({ name: prefix, value: valueOf(level) });
      return;
    }
    if (isLazy(level)) {
      // Members may differ: each is listed for itself.
      const { members } = level;
      for (const [i, member] of members.entries()) visit(member, prefix === "" ? String(i) : `${prefix}.${i}`);
      return;
    }
    for (const key of level._keys()) {
      const entry = level._own(key);
      const name = prefix === "" ? key : `${prefix}.${key}`;
      if (entry instanceof Tensor || isNested(entry)) {
        const nbytes = entry.numel() * entry.dtype.itemsize;
        // -1 where the components of a nested tensor differ.
        listing.rows.push({ name, dtype: entry.dtype.name, shape: [...shapeOf(entry)], nbytes });
      } else visit(entry as Td, name);
    }
  };
  visit(td, "");
  return listing;
}

/** Says what the objects are whose tensors are listed, and takes the quotes from those that are texts. */
function addObjects(listing: Listing, tree: PythonNode | null): void {
  for (const [name, object] of objectsIn(tree)) {
    const known = listing.values.find((row) => row.name === name);
    if (known === undefined) listing.values.push({ name, value: new ObjectText(`${classNameOf(object)}(...)`) });
    else if (typeof known.value === "string") known.value = new ObjectText(known.value);
  }
}

/** Characters of an object's text that a table shows. */
const SHOWN = 300;

/** The text of an object, which is no text in the file. */
class ObjectText {
  constructor(readonly text: string) {}
  toJSON(): string {
    return this.text;
  }
}

function valueText(value: unknown): string {
  if (value instanceof ObjectText) {
    return printable(value.text.length > SHOWN ? `${value.text.slice(0, SHOWN)}...` : value.text);
  }
  return typeof value === "string" ? JSON.stringify(value) : pythonJsonStringify(value as never);
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
    say(`${left}  ${shape.padEnd(widths[2] as number)}  ${size.padStart(widths[3] as number)}`);
  }
  for (const { name, value } of listing.values) say(`${name} = ${valueText(value)}`);
  for (const { name, dtype, shape, nbytes } of listing.unknown) {
    const sizes = shape === null ? "no shape" : `[${shape.join(", ")}]`;
    const size = nbytes === null ? "" : `, ${bytesText(nbytes)}`;
    say(printable(`${name}: ${dtype}, ${sizes}${size} (no tensor has such elements)`));
  }
  const total = listing.rows.reduce((sum, row) => sum + row.nbytes, 0);
  const batch = listing.batchSize.length === 0 ? "" : `, batch size [${listing.batchSize.join(", ")}]`;
  say(`${FORMATS[listing.format].title}: ${listing.rows.length} tensors, ${bytesText(total)}${batch}`);
}

/** Lists the tensors of a file or a directory. */
export async function inspect(path: string, options: { json?: boolean; from?: string } & TrustOptions): Promise<void> {
  const { td, format, tree } = await openOutline(path, options);
  const listing = listingOf(td, format);
  addObjects(listing, tree);
  if (!options.json) return printTable(listing);
  const values = listing.values.map(({ name, value }) => ({
    name,
    value: value instanceof ObjectText ? value : toPlain(value as PythonJson),
  }));
  const text = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);
  say(JSON.stringify({ ...listing, values }, text, 2));
}

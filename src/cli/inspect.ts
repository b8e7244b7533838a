// `zensor inspect`: the tensors of a file or a directory of any format, without reading their bytes.
import { type PythonJson, pythonJsonStringify, toPlain } from "../io/base/python-json.ts";
import { Tensor } from "../tensor/tensor.ts";
import type { NestedTensor } from "../tensordict/core/nested.ts";
import { isLazy, isNested, shapeOf, type Td } from "../tensordict/core/state.ts";
import { isNonTensor } from "../tensordict/index.ts";
import { FORMATS, type FormatName } from "./formats.ts";
import { keysOption } from "./keys.ts";
import { say } from "./output.ts";
import { objectsIn } from "./python-objects.ts";
import { classNameOf, type PythonNode, valueOf } from "./python-values.ts";
import { openOutline, type TrustOptions } from "./source.ts";
import { bytesText, counted, nameText, printable, table } from "./text.ts";
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

/** A tensor of a collection. */
interface Named {
  name: string;
  tensor: Tensor | NestedTensor;
  /** -1 where the components of a nested tensor differ. */
  shape: readonly number[];
}

/** Every tensor of a collection by its joined name; `others` gets every other value. */
export function tensorsIn(td: Td, others?: (name: string, value: Td) => void): Named[] {
  const found: Named[] = [];
  const visit = (level: Td, prefix: string) => {
    if (isNonTensor(level)) {
      others?.(prefix, level);
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
      if (entry instanceof Tensor || isNested(entry)) found.push({ name, tensor: entry, shape: [...shapeOf(entry)] });
      else visit(entry as Td, name);
    }
  };
  visit(td, "");
  return found;
}

/** What is in a collection. */
export function listingOf(td: Td, format: FormatName): Listing {
  const values: Listing["values"] = [];
  const unknown: Listing["unknown"] = [];
  const tensors = tensorsIn(td, (name, value) => {
    const odd = unknownIn(value);
    if (odd === null) values.push({ name, value: valueOf(value) });
    else unknown.push({ name, dtype: odd.dtype, shape: odd.shape, nbytes: odd.nbytes });
  });
  const rows = tensors.map(({ name, tensor, shape }) => {
    return { name, dtype: tensor.dtype.name, shape, nbytes: tensor.numel() * tensor.dtype.itemsize };
  });
  return { format, batchSize: [...td._batchSize], rows, values, unknown };
}

/** Says what the objects are whose tensors are listed, and takes the quotes from those that are texts. */
function addObjects(listing: Listing, tree: PythonNode | null): void {
  for (const [name, object] of objectsIn(tree)) {
    const known = listing.values.find((row) => row.name === name);
    if (known === undefined) listing.values.push({ name, value: new ObjectText(`${classNameOf(object)}(...)`) });
    else if (typeof known.value === "string") known.value = new ObjectText(known.value);
  }
}

/** Characters of a value that a table shows, of one that was not asked for by its name. */
const SHOWN = 300;

/** The text of an object, which is no text in the file. */
class ObjectText {
  constructor(readonly text: string) {}
  toJSON(): string {
    return this.text;
  }
}

function valueText(value: unknown): string {
  if (value instanceof ObjectText) return value.text;
  return typeof value === "string" ? JSON.stringify(value) : pythonJsonStringify(value as never);
}

/** A line for a value; states of generators and the like would fill screens. */
function valueLine(name: string, value: unknown, whole: boolean): string {
  const text = valueText(value);
  if (whole || text.length <= SHOWN) return printable(`${name} = ${text}`);
  return printable(`${name} = ${text.slice(0, SHOWN)}... (${text.length} characters; --keys and --json tell all)`);
}

function printTable(listing: Listing, whole: boolean): void {
  const cells = listing.rows.map((row) => [
    nameText(row.name),
    row.dtype,
    `[${row.shape.join(", ")}]`,
    bytesText(row.nbytes),
  ]);
  for (const line of table(cells, "lllr")) say(line);
  for (const { name, value } of listing.values) say(valueLine(name, value, whole));
  for (const { name, dtype, shape, nbytes } of listing.unknown) {
    const sizes = shape === null ? "no shape" : `[${shape.join(", ")}]`;
    const size = nbytes === null ? "" : `, ${bytesText(nbytes)}`;
    say(printable(`${name}: ${dtype}, ${sizes}${size} (no tensor has such elements)`));
  }
  const total = listing.rows.reduce((sum, row) => sum + row.nbytes, 0);
  const batch = listing.batchSize.length === 0 ? "" : `, batch size [${listing.batchSize.join(", ")}]`;
  say(`${FORMATS[listing.format].title}: ${counted(listing.rows.length, "tensor")}, ${bytesText(total)}${batch}`);
}

/** Options of the command. */
export interface InspectOptions extends TrustOptions {
  from?: string;
  keys?: string[];
  json?: boolean;
}

/** Lists the tensors of a file or a directory. */
export async function inspect(path: string, options: InspectOptions): Promise<void> {
  const { td, format, tree } = await openOutline(path, options, keysOption(options.keys));
  const listing = listingOf(td, format);
  addObjects(listing, tree);
  if (!options.json) return printTable(listing, options.keys !== undefined);
  const values = listing.values.map(({ name, value }) => ({
    name,
    value: value instanceof ObjectText ? value : toPlain(value as PythonJson),
  }));
  const text = (_key: string, value: unknown) => (typeof value === "bigint" ? `${value}` : value);
  say(JSON.stringify({ ...listing, values }, text, 2));
}

// Rows of a Parquet file: the values of its columns, put together as their levels say.
import { fixedOrder, fixedShape } from "../arrow/fixed-shape.ts";
import { type ArrowField, KIND } from "../arrow/types.ts";
import { arrayClass, type Column, numbers } from "../columns/columns.ts";
import type { Growth } from "../columns/growth.ts";
import { mapOf, NO_TIME, objectsOf } from "../columns/meaning.ts";
import { columnOfValues } from "../columns/value-columns.ts";
import { BadFile } from "./bad-file.ts";
import type { SchemaNode } from "./footer.ts";
import { type Meant, meantNumbers, meantValues } from "./meant.ts";
import type { Leaf } from "./pages.ts";

/** What a column has in one row group: its leaves, from that with the number `first` on. */
export interface Part {
  rows: number;
  first: number;
  leaves: readonly Leaf[];
}

/** Within which list rows are looked at: places of its level that are there. */
interface Within {
  repeated: number;
  definition: number;
}

const isLeaf = (node: SchemaNode) => node.children.length === 0;

/** The field of Arrow's schema that a node is; it must have its name. */
function fieldOf(fields: readonly ArrowField[] | null | undefined, i: number, name?: string): ArrowField | null {
  const field = fields?.[i];
  return field === undefined || (name !== undefined && field.name !== name) ? null : field;
}

/** The members of the type that a field has. */
function membersOf(field: ArrowField | null): readonly ArrowField[] | null | undefined {
  return (field?.type.dictionary ?? field?.type)?.children;
}

/** Puts the rows of one row group together. */
class RowReader {
  constructor(
    private readonly part: Part,
    private readonly growth: Growth,
    private readonly path: string | undefined,
  ) {}

  private leaf(node: SchemaNode): Leaf {
    return this.part.leaves[node.column - this.part.first] as Leaf;
  }

  /** Calls for every place of a node's first column that its surroundings have. */
  private places(node: SchemaNode, within: Within, take: (definition: number, entry: number) => void): void {
    const { entries, definition, repeated } = this.leaf(node);
    for (let i = 0; i < entries; i++) {
      const level = definition === null ? 0 : (definition[i] as number);
      if ((repeated === null || (repeated[i] as number) <= within.repeated) && level >= within.definition)
        take(level, i);
    }
  }

  /** The values of a node, one for each place of its surroundings. */
  rows(node: SchemaNode, field: ArrowField | null, within: Within): unknown[] {
    if (node.repetition === "many") return this.lists(node, node, field, within);
    if (isLeaf(node)) return this.values(node, field, within);
    const inner = node.children[0] as SchemaNode;
    const isOne = node.children.length === 1 && inner.repetition === "many";
    if (node.group === "list" && isOne) return this.lists(node, inner, field, within);
    if (node.group === "map" && isOne && !isLeaf(inner)) return this.lists(node, inner, field, within);
    return this.structs(node, field, within);
  }

  private values(node: SchemaNode, field: ArrowField | null, within: Within): unknown[] {
    const leaf = this.leaf(node);
    const values = meantValues(node, field, leaf, this.path);
    if (leaf.definition === null || leaf.entries === leaf.count) return values;
    const out: unknown[] = [];
    let at = 0;
    this.places(node, within, (level) => out.push(level === node.definition ? values[at++] : null));
    this.growth.spend(8 * out.length);
    return out;
  }

  /** Which places of its surroundings have a node. */
  private valid(node: SchemaNode, within: Within): boolean[] {
    const valid: boolean[] = [];
    this.places(node, within, (level) => valid.push(level >= node.definition));
    return valid;
  }

  private structs(node: SchemaNode, field: ArrowField | null, within: Within): unknown[] {
    const valid = this.valid(node, within);
    const fields = membersOf(field);
    const lists = node.children.map((child, i) => this.rows(child, fieldOf(fields, i, child.name), within));
    for (const list of lists) {
      if (list.length !== valid.length)
        throw new BadFile(`the fields of '${node.name}' have different numbers of rows`);
    }
    this.growth.spend(16 * lists.length * valid.length);
    const names = node.children.map((child) => child.name);
    if (new Set(names).size !== names.length) throw new BadFile(`two fields of '${node.name}' have one name`);
    return objectsOf(names, lists, valid.length, (row) => valid[row] as boolean);
  }

  /** What the elements of a list are: the repeated node, or the one that it has. */
  private element(outer: SchemaNode, inner: SchemaNode): SchemaNode {
    const isOwn =
      outer === inner || inner.children.length !== 1 || inner.name === "array" || inner.name === `${outer.name}_tuple`;
    return isOwn ? inner : (inner.children[0] as SchemaNode);
  }

  private lists(outer: SchemaNode, inner: SchemaNode, field: ArrowField | null, within: Within): unknown[] {
    const ends: number[] = [];
    const valid: boolean[] = [];
    let count = 0;
    const { entries, definition, repeated } = this.leaf(inner);
    for (let i = 0; i < entries; i++) {
      const level = definition === null ? 0 : (definition[i] as number);
      const again = repeated === null ? 0 : (repeated[i] as number);
      if (again <= within.repeated && level >= within.definition) {
        if (valid.length > 0) ends.push(count);
        valid.push(outer === inner || level >= outer.definition);
      }
      if (again <= inner.repeated && level >= inner.definition) count++;
    }
    if (valid.length > 0) ends.push(count);
    const inside = { repeated: inner.repeated, definition: inner.definition };
    this.growth.spend(16 * ends.length + 8 * count);
    const start = (row: number) => (row === 0 ? 0 : (ends[row - 1] as number));
    if (outer.group === "map" && outer !== inner && inner.children.length <= 2) {
      const fields = membersOf(fieldOf(membersOf(field), 0));
      const [keys, values = []] = inner.children.map((child, i) => this.rows(child, fieldOf(fields, i), inside));
      return valid.map((isThere, row) =>
        isThere ? mapOf(keys as unknown[], values, start(row), ends[row] as number, this.path) : null,
      );
    }
    const element = this.element(outer, inner);
    const one = fieldOf(membersOf(field), 0);
    const items = element === inner ? this.bare(inner, one, inside) : this.rows(element, one, inside);
    if (items.length !== count)
      throw new BadFile(`the lists of '${outer.name}' have ${items.length} elements, not ${count}`);
    return valid.map((isThere, row) => (isThere ? items.slice(start(row), ends[row]) : null));
  }

  /** A repeated node as if it were there once. */
  private bare(node: SchemaNode, field: ArrowField | null, within: Within): unknown[] {
    return isLeaf(node) ? this.values(node, field, within) : this.structs(node, field, within);
  }
}

/** Numbers of all row groups in one array, and which rows have one. */
function spread(
  node: SchemaNode,
  parts: readonly Part[],
  meant: readonly Meant[],
  growth: Growth,
): { array: NodeJS.TypedArray; valid: Uint8Array | null } {
  const rows = parts.reduce((n, part) => n + part.rows, 0);
  const isFull = parts.every(({ leaves: [leaf] }) => leaf?.count === leaf?.entries);
  if (isFull && meant.length === 1) return { array: (meant[0] as Meant).array, valid: null };
  const dtype = (meant[0] as Meant).dtype;
  growth.spend(9 * rows);
  const array = new (arrayClass(dtype) as Float64ArrayConstructor)(rows) as Float64Array;
  const valid = isFull ? null : new Uint8Array(rows);
  let at = 0;
  for (const [
    k,
    {
      leaves: [leaf],
    },
  ] of parts.entries()) {
    const values = (meant[k] as Meant).array as Float64Array;
    const definition = leaf?.definition ?? null;
    if (valid === null || definition === null) {
      array.set(values, at);
      valid?.fill(1, at, at + values.length);
      at += values.length;
      continue;
    }
    for (let i = 0, from = 0; i < definition.length; i++, at++) {
      if (definition[i] !== node.definition) continue;
      array[at] = values[from++] as number;
      valid[at] = 1;
    }
  }
  return { array, valid };
}

/** Numbers with gaps as pandas has them: NaN, or the time that is none; truths become values. */
function withGaps(dtype: string, isTime: boolean, array: NodeJS.TypedArray, valid: Uint8Array, growth: Growth): Column {
  if (dtype === "bool") {
    const values = Array.from(array as Uint8Array, (one, i) => (valid[i] === 0 ? null : one === 1));
    return { kind: "values", values, valid: null };
  }
  if (isTime || dtype.startsWith("float")) {
    const none = isTime ? NO_TIME : dtype === "float16" ? 0x7e00 : Number.NaN;
    for (let i = 0; i < valid.length; i++) if (valid[i] === 0) array[i] = none as never;
    return numbers(dtype, array);
  }
  growth.spend(8 * valid.length);
  const floats = Float64Array.from(array as ArrayLike<number>, Number);
  for (let i = 0; i < valid.length; i++) if (valid[i] === 0) floats[i] = Number.NaN;
  return numbers("float64", floats);
}

/** The sizes of lists that Arrow's schema says all have one, and the type of what is in them. */
function fixedSizes(field: ArrowField): { sizes: number[]; inner: ArrowField } {
  const sizes: number[] = [];
  let inner = field;
  while (inner.type.typeId === KIND.fixedList) {
    sizes.push(inner.type.listSize as number);
    inner = (inner.type.children as ArrowField[])[0] as ArrowField;
  }
  return { sizes, inner };
}

/** Lists of one size without gaps as numbers of more dimensions; null for all others. */
function fixedNumbers(node: SchemaNode, field: ArrowField, parts: readonly Part[], path?: string): Column | null {
  const { sizes, inner } = fixedSizes(field);
  let leaf = node;
  while (leaf.children.length === 1) leaf = leaf.children[0] as SchemaNode;
  const isNumber = isLeaf(leaf) && (inner.type.children ?? []).length === 0;
  if (sizes.length === 0 || !isNumber || leaf.repeated !== sizes.length) return null;
  const each = sizes.reduce((n, one) => n * one, 1);
  const isRegular = (repeated: Uint8Array | null) => {
    for (let i = 0; i < (repeated?.length ?? 0); i++) {
      let [level, size] = [sizes.length, 1];
      while (level > 0 && i % (size * (sizes[level - 1] as number)) === 0) size *= sizes[--level] as number;
      if (repeated?.[i] !== level) return false;
    }
    return true;
  };
  const isFull = parts.every(({ rows, leaves: [one] }) => {
    return one !== undefined && one.entries === rows * each && one.count === one.entries && isRegular(one.repeated);
  });
  if (!isFull || each === 0) return null;
  const meant = parts.map(({ leaves: [one] }) => meantNumbers(leaf, inner, one as Leaf, path));
  const [first] = meant;
  if (first === null || first === undefined) return null;
  const rows = parts.reduce((n, part) => n + part.rows, 0);
  const array = new (arrayClass(first.dtype) as Float64ArrayConstructor)(rows * each);
  let at = 0;
  for (const one of meant) {
    array.set((one as Meant).array as Float64Array, at);
    at += (one as Meant).array.length;
  }
  const shape = fixedShape(field, each, path) ?? sizes;
  return { ...numbers(first.dtype, array, shape), order: fixedOrder(field, shape.length, path) };
}

/** A column of the file, of one or more row groups. @throws BadFile for levels that make no sense */
export function columnOf(
  node: SchemaNode,
  field: ArrowField | null,
  parts: readonly Part[],
  growth: Growth,
  path?: string,
): Column {
  for (const { rows, leaves } of parts) {
    for (const { entries, repeated } of leaves) {
      const found = repeated === null ? entries : repeated.reduce((n, level) => n + (level === 0 ? 1 : 0), 0);
      if (found !== rows || (entries > 0 && repeated !== null && repeated[0] !== 0)) {
        throw new BadFile(`the column '${node.name}' has ${found} rows, not ${rows} as its row group says`);
      }
    }
  }
  if (isLeaf(node) && node.repetition !== "many") {
    const meant = parts.map(({ leaves: [leaf] }) => meantNumbers(node, field, leaf as Leaf, path));
    const [first] = meant;
    if (first !== null && first !== undefined) {
      const { array, valid } = spread(node, parts, meant as Meant[], growth);
      if (valid === null) return numbers(first.dtype, array);
      return withGaps(first.dtype, first.isTime, array, valid, growth);
    }
  }
  const tensor = field === null || isLeaf(node) ? null : fixedNumbers(node, field, parts, path);
  if (tensor !== null) return tensor;
  const lists = parts.map((part) =>
    new RowReader(part, growth, path).rows(node, field, { repeated: 0, definition: 0 }),
  );
  const values = lists.length === 1 ? (lists[0] as unknown[]) : lists.flat(1);
  const isList = node.repetition === "many" || (node.group === "list" && !isLeaf(node));
  return isList ? columnOfValues(values) : { kind: "values", values, valid: null };
}

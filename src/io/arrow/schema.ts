// Schemas of Arrow files: fields, and the types that they have.
import { BadBuffer, type FlatTable } from "./flatbuffer.ts";
import { type ArrowField, type ArrowType, KIND, MAX_DEPTH } from "./types.ts";

const NAMES: Readonly<Record<number, string>> = Object.fromEntries(
  Object.entries(KIND).map(([name, number]) => [number, name]),
);
const UNITS = ["s", "ms", "us", "ns"];

/** Types without members, by their number: what their table says. */
const SIMPLE: Readonly<Record<number, (said: FlatTable) => Partial<ArrowType>>> = {
  [KIND.int]: (said) => ({ bitWidth: said.int(0), isSigned: said.byte(1) !== 0 }),
  [KIND.float]: (said) => ({ precision: said.short(0) }),
  [KIND.decimal]: (said) => ({ precision: said.int(0), scale: said.int(1), bitWidth: said.int(2, 128) }),
  [KIND.date]: (said) => ({ unit: said.short(0, 1) }),
  [KIND.time]: (said) => ({ unit: said.short(0, 1), bitWidth: said.int(1, 32) }),
  [KIND.timestamp]: (said) => ({ unit: said.short(0) }),
  [KIND.interval]: (said) => ({ unit: said.short(0) }),
  [KIND.duration]: (said) => ({ unit: said.short(0, 1) }),
  [KIND.fixedBinary]: (said) => ({ byteWidth: said.int(0) }),
  [KIND.fixedList]: (said) => ({ listSize: said.int(0) }),
  [KIND.union]: (said) => ({ mode: said.short(0), typeIds: intsOf(said, 1) }),
};

function intsOf(said: FlatTable, number: number): number[] | undefined {
  const { start, count } = said.vector(number, 4);
  return start === 0
    ? undefined
    : Array.from({ length: count }, (_, i) => said.buffer.view.getInt32(start + 4 * i, true));
}

/** How many members types have. */
const MEMBERS: Readonly<Record<number, number>> = {
  [KIND.list]: 1,
  [KIND.largeList]: 1,
  [KIND.fixedList]: 1,
  [KIND.listView]: 1,
  [KIND.largeListView]: 1,
  [KIND.map]: 1,
  [KIND.runs]: 2,
};

/** What is not allowed of a type's numbers; null where all are. */
function wrongType(type: ArrowType, children: readonly ArrowField[]): string | null {
  const { typeId, bitWidth = 0, unit = 0, scale = 0, precision = 0 } = type;
  const wanted = MEMBERS[typeId];
  if (wanted !== undefined && children.length !== wanted) return `${children.length} members`;
  if (typeId === KIND.int && ![8, 16, 32, 64].includes(bitWidth)) return `${bitWidth} bits`;
  if (typeId === KIND.float && !(precision >= 0 && precision <= 2)) return `the precision ${precision}`;
  if (typeId === KIND.decimal) {
    if (![32, 64, 128, 256].includes(bitWidth)) return `${bitWidth} bits`;
    if (!(precision >= 1 && precision <= 76 && Math.abs(scale) <= 1000))
      return `precision ${precision}, scale ${scale}`;
  }
  if (typeId === KIND.time && bitWidth !== (unit < 2 ? 32 : 64)) return `${bitWidth} bits`;
  const units = typeId === KIND.date ? 2 : typeId === KIND.interval ? 3 : 4;
  if (!(unit >= 0 && unit < units)) return `the unit ${unit}`;
  if ((type.listSize ?? 0) < 0 || (type.byteWidth ?? 0) < 0) return "a negative size";
  if (typeId === KIND.map) {
    const [entries] = children as [ArrowField];
    if (entries.type.typeId !== KIND.struct || entries.type.children?.length !== 2) return "no keys and values";
  }
  if (typeId === KIND.runs) {
    const [ends] = children as [ArrowField];
    if (ends.type.typeId !== KIND.int || ends.type.bitWidth === 8) return "run ends that are no whole numbers";
  }
  if (typeId === KIND.union) {
    const ids = Array.from(type.typeIds as ArrayLike<number>);
    if (ids.length !== children.length || ids.some((id) => id < 0 || id > 127)) return "other members than it names";
    if (!(type.mode === 0 || type.mode === 1)) return `the mode ${type.mode}`;
  }
  return null;
}

/** The name of a type, for messages. */
function nameOf(type: ArrowType): string {
  const { typeId, bitWidth, isSigned, unit, precision, scale } = type;
  if (typeId === KIND.int) return `${isSigned ? "int" : "uint"}${bitWidth}`;
  if (typeId === KIND.decimal) return `decimal${bitWidth}(${precision}, ${scale})`;
  const name = NAMES[typeId] ?? `type ${typeId}`;
  return [KIND.time, KIND.timestamp, KIND.duration].includes(typeId as never) ? `${name}[${UNITS[unit ?? 0]}]` : name;
}

function made(parts: Partial<ArrowType> & { typeId: number }): ArrowType {
  const type: ArrowType = { ...parts, toString: () => nameOf(type) };
  return type;
}

/** The pairs of a vector of texts. */
function pairsOf(said: FlatTable, number: number): Map<string, string> {
  return new Map(said.tables(number).map((pair) => [pair.text(0) ?? "", pair.text(1) ?? ""]));
}

function fieldOf(said: FlatTable, depth: number): ArrowField {
  if (depth > MAX_DEPTH) throw new BadBuffer("its types are nested too deeply");
  const name = said.text(0) ?? "";
  const typeId = said.byte(2);
  const children = said.tables(5).map((child) => fieldOf(child, depth + 1));
  if (!(typeId >= KIND.null && typeId <= KIND.largeListView)) {
    throw new BadBuffer(`the column '${name}' is of the type ${typeId}, which is not known`);
  }
  const table = said.table(3);
  const simple = SIMPLE[typeId];
  if (simple !== undefined && table === null) throw new BadBuffer(`the type of the column '${name}' is not described`);
  const parts = simple === undefined ? {} : simple(table as FlatTable);
  if (typeId === KIND.union) parts.typeIds ??= children.map((_, i) => i);
  const type = made({ typeId, ...parts, children });
  const wrong = wrongType(type, children);
  if (wrong !== null) throw new BadBuffer(`the column '${name}' is of the type ${nameOf(type)} with ${wrong}`);
  const metadata = pairsOf(said, 6);
  const encoding = said.table(4);
  if (encoding === null) return { name, type, metadata };
  const index = encoding.table(1);
  const indices = made({
    typeId: KIND.int,
    bitWidth: index?.int(0) ?? 32,
    isSigned: index === null || index.byte(1) !== 0,
  });
  if (wrongType(indices, []) !== null) throw new BadBuffer(`the indices of the column '${name}' are no whole numbers`);
  return { name, type: made({ typeId: KIND.dictionary, indices, dictionary: type, id: encoding.long(0) }), metadata };
}

/** The fields of a schema. @throws BadBuffer for one that makes no sense */
export function fieldsOf(schema: FlatTable): ArrowField[] {
  if (schema.short(0) !== 0) throw new BadBuffer("its numbers are big-endian, which are not read");
  return schema.tables(1).map((field) => fieldOf(field, 0));
}

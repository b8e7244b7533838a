// What a Parquet file says of itself: its schema, and where the values of each column are.
import type { Codec } from "../codec/inflate.ts";
import { BadFile } from "./bad-file.ts";
import { type Read, type Shape, Thrift } from "./thrift.ts";

/** What the values of a column are in the file. */
export const PHYSICAL = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED"] as const;
export type Physical = (typeof PHYSICAL)[number];

/** What the values of a column mean. */
export type Meaning =
  | { kind: "plain" | "text" | "bytes" | "uuid" | "half" | "date" | "interval" | "none" }
  | { kind: "whole"; bits: number; isSigned: boolean }
  | { kind: "decimal"; scale: number }
  | { kind: "time" | "moment"; unit: number };

/** A node of the schema: a column where it has no children. */
export interface SchemaNode {
  name: string;
  repetition: "one" | "optional" | "many";
  children: SchemaNode[];
  /** Of groups: what they stand for. */
  group: "list" | "map" | "struct";
  physical: Physical;
  /** Bytes of each value of the kind FIXED. */
  width: number;
  meaning: Meaning;
  /** The place of a column among all; of a group's first one. */
  column: number;
  /** How many levels say that a value is there, and which of several it is. */
  definition: number;
  repeated: number;
}

/** Where the values of one column of one row group are. */
export interface Chunk {
  codec: Codec | null;
  /** The number of its codec, of which there are more than are read. */
  method: number;
  values: number;
  start: number;
  size: number;
}

export interface RowGroup {
  rows: number;
  chunks: readonly Chunk[];
}

export interface Footer {
  root: SchemaNode;
  rows: number;
  groups: readonly RowGroup[];
  /** The schema that Arrow's writers add, as text. */
  arrowSchema: string | null;
}

const TIME: Shape = { 2: { 1: "present", 2: "present", 3: "present" } };
const ELEMENT: Shape = {
  1: "number",
  2: "number",
  3: "number",
  4: "text",
  5: "number",
  6: "number",
  7: "number",
  10: {
    ...Object.fromEntries([1, 2, 3, 4, 6, 11, 12, 13, 14, 15, 16, 17, 18].map((n) => [n, "present"])),
    5: { 1: "number" },
    7: TIME,
    8: TIME,
    10: { 1: "number", 2: "truth" },
  } as Shape,
};
const CHUNK: Shape = {
  1: "text",
  3: { 1: "number", 4: "number", 5: "number", 7: "number", 9: "number", 11: "number" },
  8: "present",
  9: "present",
};
const FILE: Shape = {
  2: [ELEMENT],
  3: "number",
  4: [{ 1: [CHUNK], 3: "number" }],
  5: [{ 1: "text", 2: "text" }],
  8: "present",
};

const CODECS: readonly (Codec | null)[] = ["none", "snappy", "gzip", null, "brotli", "lz4", "zstd", "lz4 block"];
const MAX_LEVELS = 64;
/** Levels of a list or a map are three of the schema. */
const MAX_DEPTH = 3 * MAX_LEVELS;

const whole = (bits: number, isSigned: boolean): Meaning => ({ kind: "whole", bits, isSigned });

/** What numbers mean, in the old way to say it. */
const CONVERTED: Readonly<Record<number, Meaning>> = {
  0: { kind: "text" },
  4: { kind: "text" },
  6: { kind: "date" },
  7: { kind: "time", unit: 1 },
  8: { kind: "time", unit: 2 },
  9: { kind: "moment", unit: 1 },
  10: { kind: "moment", unit: 2 },
  19: { kind: "text" },
  20: { kind: "bytes" },
  21: { kind: "interval" },
};

function convertedMeaning(said: number, scale: number): Meaning | null {
  if (said >= 11 && said <= 18) return whole(8 << ((said - 11) & 3), said >= 15);
  return said === 5 ? { kind: "decimal", scale } : (CONVERTED[said] ?? null);
}

function logicalMeaning(said: Read, scale: number): Meaning | null {
  const unit = (time: Read) => {
    const units = time[2] as Read | undefined;
    return units?.[1] ? 1 : units?.[2] ? 2 : 3;
  };
  if (said[1] || said[4] || said[12]) return { kind: "text" };
  if (said[5]) return { kind: "decimal", scale: ((said[5] as Read)[1] as number | undefined) ?? scale };
  if (said[6]) return { kind: "date" };
  if (said[7]) return { kind: "time", unit: unit(said[7] as Read) };
  if (said[8]) return { kind: "moment", unit: unit(said[8] as Read) };
  if (said[10]) return whole((said[10] as Read)[1] as number, (said[10] as Read)[2] === true);
  if (said[11]) return { kind: "none" };
  // BSON documents and shapes are the bytes that they are.
  if (said[13] || said[17] || said[18]) return { kind: "bytes" };
  if (said[14]) return { kind: "uuid" };
  return said[15] ? { kind: "half" } : null;
}

/** Whether values of a kind can have a meaning. */
function fits(meaning: Meaning, physical: Physical, width: number): boolean {
  const is = (...kinds: Physical[]) => kinds.includes(physical);
  switch (meaning.kind) {
    case "text":
      return is("BYTE_ARRAY", "FIXED");
    case "bytes":
      return is("BYTE_ARRAY", "FIXED");
    case "uuid":
      return is("FIXED") && width === 16;
    case "half":
      return is("FIXED") && width === 2;
    case "interval":
      return is("FIXED") && width === 12;
    case "date":
      return is("INT32");
    case "whole":
      return [8, 16, 32, 64].includes(meaning.bits) && is(meaning.bits === 64 ? "INT64" : "INT32");
    case "decimal":
      return Math.abs(meaning.scale) <= 1000 && is("INT32", "INT64", "BYTE_ARRAY", "FIXED");
    case "time":
      return is(meaning.unit === 1 ? "INT32" : "INT64");
    case "moment":
      return is("INT64");
    default:
      return true;
  }
}

/** Builds the tree of nodes from the list that the file has. */
class SchemaReader {
  private at = 0;
  columns = 0;

  constructor(private readonly elements: readonly Read[]) {}

  node(definition: number, repeated: number, depth: number): SchemaNode {
    const element = this.elements[this.at];
    if (element === undefined) throw new BadFile("its schema ends too early");
    if (depth > MAX_DEPTH) throw new BadFile("its schema is nested too deeply");
    const isRoot = this.at++ === 0;
    const name = (element[4] as string | undefined) ?? "";
    const count = (element[5] as number | undefined) ?? 0;
    const repetition = isRoot ? "one" : (["one", "optional", "many"] as const)[(element[3] as number | undefined) ?? 0];
    if (repetition === undefined) throw new BadFile(`the column '${name}' is of the repetition ${element[3]}`);
    if (count < 0 || count > this.elements.length) throw new BadFile(`the column '${name}' has ${count} fields`);
    const [converted, logical] = [(element[6] as number | undefined) ?? -1, (element[10] as Read | undefined) ?? {}];
    const node: SchemaNode = {
      name,
      repetition,
      children: [],
      group:
        logical[3] || converted === 3 ? "list" : logical[2] || converted === 1 || converted === 2 ? "map" : "struct",
      physical: "BOOLEAN",
      width: (element[2] as number | undefined) ?? 0,
      meaning: { kind: "plain" },
      column: this.columns,
      definition: definition + (repetition === "one" ? 0 : 1),
      repeated: repeated + (repetition === "many" ? 1 : 0),
    };
    const isGroup = isRoot || count > 0 || element[1] === undefined;
    const scale = (element[7] as number | undefined) ?? 0;
    const meaning = logicalMeaning(logical, scale) ?? convertedMeaning(converted, scale);
    if (isGroup) {
      for (let i = 0; i < count; i++) node.children.push(this.node(node.definition, node.repeated, depth + 1));
      if (count === 0 && !isRoot) throw new BadFile(`the column '${name}' has no fields`);
      return node;
    }
    const physical = PHYSICAL[element[1] as number];
    if (physical === undefined) throw new BadFile(`the column '${name}' is of the kind ${element[1]}`);
    if (physical === "FIXED" && !(node.width > 0))
      throw new BadFile(`the column '${name}' has values of ${node.width} bytes`);
    node.physical = physical;
    if (meaning !== null && !fits(meaning, physical, node.width)) {
      throw new BadFile(`the column '${name}' of ${physical} cannot be what it claims, ${meaning.kind}`);
    }
    node.meaning = meaning ?? { kind: "plain" };
    this.columns++;
    return node;
  }

  get isDone(): boolean {
    return this.at === this.elements.length;
  }
}

function chunkOf(said: Read, fileSize: number): Chunk {
  const data = said[3] as Read | undefined;
  if (said[8] !== undefined || said[9] !== undefined) throw new BadFile("its columns are encrypted, which is not read");
  if (said[1] !== undefined) throw new BadFile("a column lies in another file, which is not read");
  if (data === undefined) throw new BadFile("a column is not described");
  const method = (data[4] as number | undefined) ?? 0;
  const [values, size, first, dictionary = 0] = [data[5], data[7], data[9], data[11]] as (number | undefined)[];
  if (values === undefined || size === undefined || first === undefined) throw new BadFile("a column is not described");
  // Without values there may be no place.
  if (values === 0) return { codec: null, method, values, start: 4, size: 0 };
  const start = dictionary > 0 && dictionary < first ? dictionary : first;
  if (!(values >= 0 && size >= 0 && start >= 4 && start + size <= fileSize - 8)) {
    throw new BadFile(`a column claims ${size} bytes at ${start}, which the file does not have`);
  }
  return { codec: CODECS[method] ?? null, method, values, start, size };
}

/** Where the footer is. @throws BadFile for a file that is none */
export function footerPlace(size: number, tail: Uint8Array): { start: number; length: number } {
  const magic = tail.length < 8 ? "" : String.fromCharCode(...tail.subarray(tail.length - 4));
  if (magic === "PARE") throw new BadFile("it is encrypted, which is not read");
  if (magic !== "PAR1" || size < 12) throw new BadFile("it does not end as one");
  const length = new DataView(tail.buffer, tail.byteOffset + tail.length - 8, 4).getUint32(0, true);
  if (length > size - 12) throw new BadFile(`its description claims ${length} bytes of ${size}`);
  return { start: size - 8 - length, length };
}

/** Reads the description of a file. @throws BadFile where it makes no sense */
export function footerOf(bytes: Uint8Array, fileSize: number): Footer {
  const said = new Thrift(bytes).struct(FILE);
  if (said[8] !== undefined) throw new BadFile("it is encrypted, which is not read");
  const elements = (said[2] as Read[] | undefined) ?? [];
  const reader = new SchemaReader(elements);
  const root = reader.node(0, 0, 0);
  if (!reader.isDone) throw new BadFile("its schema has more columns than it says");
  const groups = ((said[4] as Read[] | undefined) ?? []).map((group): RowGroup => {
    const chunks = ((group[1] as Read[] | undefined) ?? []).map((chunk) => chunkOf(chunk, fileSize));
    const rows = (group[3] as number | undefined) ?? -1;
    if (chunks.length !== reader.columns) {
      throw new BadFile(`a row group has ${chunks.length} columns, not ${reader.columns} as its schema says`);
    }
    if (!(rows >= 0 && Number.isSafeInteger(rows))) throw new BadFile(`a row group claims ${rows} rows`);
    return { rows, chunks };
  });
  const rows = groups.reduce((n, group) => n + group.rows, 0);
  if (rows !== said[3]) throw new BadFile(`it claims ${said[3]} rows, and its row groups have ${rows}`);
  const spans = groups.flatMap(({ chunks }) => chunks).reduce((n, { size }) => n + size, 0);
  if (spans > fileSize) throw new BadFile("its columns lie over each other");
  const pairs = (said[5] as Read[] | undefined) ?? [];
  const arrow = pairs.find((pair) => pair[1] === "ARROW:schema")?.[2] as string | undefined;
  return { root, rows, groups, arrowSchema: arrow ?? null };
}

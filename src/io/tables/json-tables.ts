// JSON files of records: an array of objects, or one object a line.
import { ValueError } from "../../tensor/errors.ts";
import { FormatError } from "../base/errors.ts";
import type { Columns } from "../columns/columns.ts";
import { Growth } from "../columns/growth.ts";
import { columnOfValues } from "../columns/value-columns.ts";
import { decoded } from "./csv-read.ts";
import { rowPieces } from "./texts.ts";

/** Bytes of a value in a column. */
const CELL = 32;
/** Most levels of a value, fewer than what would look at them can take. */
const MAX_DEPTH = 500;

/** Longest record in a file that is read in batches. */
const MAX_RECORD = 2 ** 28;

type Record_ = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record_ =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Columns of records: every field that one of them has, in the order in which they come. */
function columnsOfRecords(records: readonly Record_[], growth: Growth): Columns {
  const lists = new Map<string, unknown[]>();
  for (const record of records) for (const key of Object.keys(record)) if (!lists.has(key)) lists.set(key, []);
  // Records that have fields of their own each make a table that is far larger than they are.
  growth.spend(CELL * lists.size * records.length, `${records.length} records with ${lists.size} fields`);
  for (const [key, list] of lists)
    for (const record of records) list.push(Object.hasOwn(record, key) ? record[key] : null);
  return { columns: new Map([...lists].map(([key, list]) => [key, columnOfValues(list)])), rows: records.length };
}

/** Numbers beyond 2^53 as bigints: their digits are lost otherwise. */
function exactNumbers(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value) || !Number.isInteger(value)) return value;
  const source = context?.source;
  return source !== undefined && /^-?\d+$/.test(source) ? BigInt(source) : value;
}

/** Digits that a double may not hold. */
const LONG_NUMBER = /[^\d.]\d{16,}/;

function tooDeep(path: string): FormatError {
  return new FormatError("its JSON is not valid: it is nested too deeply", path);
}

function parsed(text: string, path: string): unknown {
  if (new Nesting().scan(text) > MAX_DEPTH) throw tooDeep(path);
  try {
    // Longer numbers cost a look at every value.
    return LONG_NUMBER.test(text) ? JSON.parse(text, exactNumbers) : JSON.parse(text);
  } catch (error) {
    const why = (error as Error).message.slice(0, 200);
    throw new FormatError(`its JSON is not valid: ${why}`, path, error);
  }
}

function recordsIn(value: unknown, path: string): Record_[] {
  if (!Array.isArray(value)) {
    throw new ValueError(
      "JSON file must contain an array of records for tabular import. For nested JSON objects, use from_dict instead.",
    );
  }
  const odd = value.findIndex((record) => !isRecord(record));
  if (odd >= 0) throw new FormatError(`record ${odd} is no object`, path);
  return value as Record_[];
}

/** How deeply values lie within values, without reading them; looks at each character once. */
class Nesting {
  private depth = 0;
  private inText = false;
  private escaped = false;
  /** Where the last record of an array ends in the piece that was scanned; 0 for nowhere. */
  end = 0;

  /** The deepest level of a piece. */
  scan(piece: string): number {
    let deepest = this.depth;
    this.end = 0;
    for (let at = 0; at < piece.length; at++) {
      const unit = piece.charCodeAt(at);
      if (this.inText) {
        if (this.escaped) this.escaped = false;
        else if (unit === 92) this.escaped = true;
        else if (unit === 34) this.inText = false;
        continue;
      }
      if (unit === 34) this.inText = true;
      else if (unit === 123 || unit === 91) {
        if (++this.depth > deepest) deepest = this.depth;
      } else if (unit === 125 || unit === 93) {
        this.depth--;
        if (this.depth === 1 && unit === 125) this.end = at + 1;
      }
    }
    return deepest;
  }
}

/** Finds where records end. */
class RecordSplitter {
  private readonly nesting = new Nesting();
  private held: string[] = [];
  /** Characters that end no record yet. */
  waiting = 0;

  constructor(private readonly path: string) {}

  /** What of the text ends no record. */
  get rest(): string {
    return this.held.join("");
  }

  /** What holds all records that are complete by now, as the inside of an array. */
  push(piece: string): string {
    if (this.nesting.scan(piece) > MAX_DEPTH) throw tooDeep(this.path);
    const { end } = this.nesting;
    if (end === 0) {
      this.held.push(piece);
      this.waiting += piece.length;
      return "";
    }
    const ready = this.rest + piece.slice(0, end);
    this.held = [piece.slice(end)];
    this.waiting = piece.length - end;
    return ready;
  }
}

/** The texts of a file, and what may be made of those that were read. */
function* counted(path: string, growth: Growth): Generator<string> {
  for (const piece of decoded(path)) {
    growth.more(piece.length);
    yield piece;
  }
}

function* recordBatches(path: string, rows: number): Generator<Columns> {
  const splitter = new RecordSplitter(path);
  const growth = new Growth(0, path);
  let [first, records]: [boolean, Record_[]] = [true, []];
  const add = (inside: string) => {
    if (inside === "") return;
    const separated = first ? /^\s*\[/ : /^\s*,/;
    if (!separated.test(inside)) throw recordError(inside, path, first);
    for (const one of recordsIn(parsed(`[${inside.replace(separated, "")}]`, path), path)) records.push(one);
    first = false;
  };
  for (const piece of counted(path, growth)) {
    add(splitter.push(piece));
    if (splitter.waiting > MAX_RECORD) throw new FormatError(`a record of more than ${MAX_RECORD} characters`, path);
    if (records.length < rows) continue;
    yield columnsOfRecords(records, growth);
    records = [];
  }
  const end = splitter.rest.trim();
  if (end !== (first ? "[]" : "]")) throw recordError(end, path, first);
  if (records.length > 0 || first) yield columnsOfRecords(records, growth);
}

function recordError(text: string, path: string, first: boolean): Error {
  if (first) recordsIn(parsed(text, path), path);
  return new FormatError("its JSON is not valid: the array of records does not end, or has something else in it", path);
}

function* lineBatches(path: string, rows: number): Generator<Columns> {
  let [held, waiting, records, some]: [string[], number, Record_[], boolean] = [[], 0, [], false];
  const growth = new Growth(0, path);
  const add = (lines: string[]) => {
    const filled = lines.filter((line) => line.trim() !== "");
    const found = parsed(`[${filled.join(",")}]`, path) as unknown[];
    // A line that is two values would be as good in an array.
    if (found.length !== filled.length) throw new FormatError("a line holds more than one record", path);
    for (const one of recordsIn(found, path)) records.push(one);
  };
  for (const piece of counted(path, growth)) {
    held.push(piece);
    waiting += piece.length;
    if (waiting > MAX_RECORD) throw new FormatError(`a record of more than ${MAX_RECORD} characters`, path);
    if (!piece.includes("\n")) continue;
    const lines = held.join("").split("\n");
    held = [lines.pop() as string];
    waiting = held[0]?.length ?? 0;
    add(lines);
    if (records.length < rows) continue;
    some = true;
    yield columnsOfRecords(records, growth);
    records = [];
  }
  add([held.join("")]);
  if (records.length > 0 || !some) yield columnsOfRecords(records, growth);
}

/** Records in batches of at least `rows`; all at once without it. */
export function* readJson(path: string, lines: boolean, rows = Number.POSITIVE_INFINITY): Generator<Columns> {
  if (lines) yield* lineBatches(path, rows);
  else yield* recordBatches(path, rows);
}

/** Not every declaration of the language has it. */
const RAW = JSON as JSON & { rawJSON(text: string): unknown };

function jsonValue(value: unknown): string {
  if (typeof value === "bigint") return String(value);
  return JSON.stringify(value ?? null, (_, item) => (typeof item === "bigint" ? RAW.rawJSON(String(item)) : item));
}

/** Pieces of the file: records with a comma before them where others came before, or lines. */
export function* jsonTexts(columns: Columns, lines: boolean, first: boolean): Generator<string> {
  const none = () => "null";
  const form = { nan: "null", infinity: none, truths: ["false", "true"] as const, value: jsonValue };
  const names = [...columns.columns.keys()].map((name) => `${JSON.stringify(name)}:`);
  yield* rowPieces(columns, form, (texts) => {
    const parts = texts.map((text, i) => [i === 0 ? names[i] : `,${names[i]}`, text] as const);
    return (row) => {
      let record = lines ? "{" : row === 0 && first ? "[{" : ",{";
      for (const [name, text] of parts) record += name + text(row);
      return lines ? `${record}}\n` : `${record}}`;
    };
  });
}

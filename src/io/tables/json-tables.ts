// JSON files of records: an array of objects, or one object a line.
import { ValueError } from "../../tensor/errors.ts";
import { FormatError } from "../base/errors.ts";
import type { Columns } from "../columns/columns.ts";
import { columnOfValues } from "../columns/value-columns.ts";
import { decoded } from "./csv-read.ts";
import { rowPieces } from "./texts.ts";

/** Longest record in a file that is read in batches. */
const MAX_RECORD = 2 ** 28;

type Record_ = Readonly<Record<string, unknown>>;

const isRecord = (value: unknown): value is Record_ =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Columns of records: every field that one of them has, in the order in which they come. */
export function columnsOfRecords(records: readonly Record_[]): Columns {
  const lists = new Map<string, unknown[]>();
  for (let i = 0; i < records.length; i++) {
    const record = records[i] as Record_;
    for (const key of Object.keys(record)) {
      let list = lists.get(key);
      if (list === undefined) {
        list = new Array<unknown>(records.length).fill(null);
        lists.set(key, list);
      }
      list[i] = record[key];
    }
  }
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

function parsed(text: string, path: string): unknown {
  try {
    // Longer numbers cost a look at every value.
    return LONG_NUMBER.test(text) ? JSON.parse(text, exactNumbers) : JSON.parse(text);
  } catch (error) {
    throw new FormatError(`its JSON is not valid: ${(error as Error).message}`, path, error);
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

/** Finds where records end, without reading what is in them. */
class RecordSplitter {
  private depth = 0;
  private inText = false;
  private escaped = false;
  private at = 0;
  private start = 0;
  private end = 0;
  text = "";

  /** What holds all records that are complete by now, as the inside of an array. */
  push(piece: string): string {
    this.text += piece;
    for (; this.at < this.text.length; this.at++) {
      const unit = this.text.charCodeAt(this.at);
      if (this.inText) {
        if (this.escaped) this.escaped = false;
        else if (unit === 92) this.escaped = true;
        else if (unit === 34) this.inText = false;
        continue;
      }
      if (unit === 34) this.inText = true;
      else if (unit === 123 || unit === 91) this.depth++;
      else if (unit === 125 || unit === 93) {
        this.depth--;
        if (this.depth === 1 && unit === 125) this.end = this.at + 1;
      }
    }
    const ready = this.text.slice(this.start, this.end);
    this.text = this.text.slice(this.end);
    this.at -= this.end;
    this.start = 0;
    this.end = 0;
    return ready;
  }
}

function* recordBatches(path: string, rows: number): Generator<Columns> {
  const splitter = new RecordSplitter();
  let [first, records]: [boolean, Record_[]] = [true, []];
  const add = (inside: string) => {
    if (inside === "") return;
    const separated = first ? /^\s*\[/ : /^\s*,/;
    if (!separated.test(inside)) throw recordError(inside, path, first);
    records.push(...recordsIn(parsed(`[${inside.replace(separated, "")}]`, path), path));
    first = false;
  };
  for (const piece of decoded(path)) {
    add(splitter.push(piece));
    if (splitter.text.length > MAX_RECORD)
      throw new FormatError(`a record of more than ${MAX_RECORD} characters`, path);
    if (records.length < rows) continue;
    yield columnsOfRecords(records);
    records = [];
  }
  const end = splitter.text.trim();
  if (end !== (first ? "[]" : "]")) throw recordError(end, path, first);
  if (records.length > 0 || first) yield columnsOfRecords(records);
}

function recordError(text: string, path: string, first: boolean): Error {
  if (first && !/^\s*\[/.test(text)) recordsIn(parsed(text, path), path);
  return new FormatError("its JSON is not valid: the array of records does not end, or has something else in it", path);
}

function* lineBatches(path: string, rows: number): Generator<Columns> {
  let [rest, records, some]: [string, Record_[], boolean] = ["", [], false];
  const add = (lines: string[]) => {
    const filled = lines.filter((line) => line.trim() !== "");
    const found = parsed(`[${filled.join(",")}]`, path) as unknown[];
    // A line that is two values would be as good in an array.
    if (found.length !== filled.length) throw new FormatError("a line holds more than one record", path);
    records.push(...recordsIn(found, path));
  };
  for (const piece of decoded(path)) {
    const lines = (rest + piece).split("\n");
    rest = lines.pop() as string;
    if (rest.length > MAX_RECORD) throw new FormatError(`a record of more than ${MAX_RECORD} characters`, path);
    add(lines);
    if (records.length < rows) continue;
    some = true;
    yield columnsOfRecords(records);
    records = [];
  }
  add([rest]);
  if (records.length > 0 || !some) yield columnsOfRecords(records);
}

/** Records in batches of at least `rows`; all at once without it. */
export function* readJson(path: string, lines: boolean, rows = Number.POSITIVE_INFINITY): Generator<Columns> {
  if (lines) yield* lineBatches(path, rows);
  else if (rows !== Number.POSITIVE_INFINITY) yield* recordBatches(path, rows);
  else yield columnsOfRecords(recordsIn(parsed([...decoded(path)].join(""), path), path));
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

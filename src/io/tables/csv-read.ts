// CSV files: columns get the dtype that all of their fields have.
import { ValueError } from "../../tensor/errors.ts";
import { FormatError } from "../base/errors.ts";
import { type Column, type Columns, numbers } from "../columns/columns.ts";
import { Growth } from "../columns/growth.ts";
import { CsvSplitter } from "./csv-split.ts";
import { textsOf } from "./table-file.ts";

/** How a CSV file is read. */
export interface CsvOptions {
  /** What stands between fields, one or more characters; "," by default. */
  sep?: string;
  /** The character that stands around fields that hold separators; '"' by default. */
  quotechar?: string;
  /** Whether the first row has the names; true by default. */
  header?: boolean;
  /** The names of the columns, in place of those in the file. */
  names?: readonly string[];
  /** The columns to read; all by default. */
  usecols?: readonly string[] | null;
  /** The most rows to read. */
  nrows?: number | null;
  /** Lines that are left out at the beginning of the file. */
  skiprows?: number;
}

/** Longest field. */
const MAX_ROW = 2 ** 26;
const MAX_COLUMNS = 2 ** 20;
/** Bytes of a field in a column. */
const CELL = 32;

/** What counts as a missing value, as pandas reads it. */
const MISSING = new Set(
  ",#N/A,#N/A N/A,#NA,-1.#IND,-1.#QNAN,-NaN,-nan,1.#IND,1.#QNAN,<NA>,N/A,NA,NULL,NaN,None,n/a,nan,null".split(","),
);
const TRUTHS = new Map([
  ["True", 1],
  ["TRUE", 1],
  ["true", 1],
  ["False", 0],
  ["FALSE", 0],
  ["false", 0],
]);
const WHOLE = /^\s*[+-]?\d+\s*$/;
// Each digit can be matched in one way only: a long field that is no number is looked at once.
const DECIMAL = /^\s*[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*$/;
const INFINITE = /^\s*([+-]?)inf(inity)?\s*$/i;

/** The number that a field is; undefined when it is none. NaN where there is no value. */
function numberOf(field: string): number | undefined {
  const value = +field;
  // The language takes more for numbers than pandas does: "", "0x10", "Infinity" in one writing only.
  if (Number.isFinite(value) && field.charCodeAt(field.length - 1) <= 57) {
    const second = field.charCodeAt(1) | 32;
    if (second < 98 || second > 120 || DECIMAL.test(field)) {
      if (field.trim() !== "") return value;
    }
  }
  if (MISSING.has(field)) return Number.NaN;
  if (DECIMAL.test(field)) return value;
  const infinite = INFINITE.exec(field);
  if (infinite !== null) return infinite[1] === "-" ? -Infinity : Infinity;
  return undefined;
}

function wholeNumbers(values: Float64Array): Column {
  const whole = new BigInt64Array(values.length);
  for (let i = 0; i < values.length; i++) whole[i] = BigInt(values[i] as number);
  return numbers("int64", whole);
}

function wholeColumn(fields: readonly string[], values: Float64Array): Column | null {
  let large = false;
  for (let i = 0; i < fields.length; i++) {
    if (!WHOLE.test(fields[i] as string)) return null;
    large ||= !Number.isSafeInteger(values[i]);
  }
  if (!large) return wholeNumbers(values);
  const exact = fields.map((field) => BigInt(field.trim().replace(/^\+/, "")));
  if (exact.every((n) => BigInt.asIntN(64, n) === n)) return numbers("int64", BigInt64Array.from(exact));
  if (exact.every((n) => BigInt.asUintN(64, n) === n)) return numbers("uint64", BigUint64Array.from(exact));
  return { kind: "values", values: [...fields], valid: null };
}

function truthColumn(fields: readonly string[]): Column | null {
  const values = new Uint8Array(fields.length);
  let missing = false;
  for (let i = 0; i < fields.length; i++) {
    const truth = TRUTHS.get(fields[i] as string);
    if (truth !== undefined) values[i] = truth;
    else if (MISSING.has(fields[i] as string)) missing = true;
    else return null;
  }
  if (!missing) return numbers("bool", values);
  const found = fields.map((field) => (MISSING.has(field) ? null : TRUTHS.get(field) === 1));
  return { kind: "values", values: found, valid: null };
}

/** A column of fields: int64 (or uint64), float64 with NaN where there is no value, bool, or texts with null there. */
export function columnOfFields(fields: readonly string[]): Column {
  if (fields.length === 0) return { kind: "values", values: [], valid: null };
  const values = new Float64Array(fields.length);
  let [whole, present] = [true, false];
  for (let i = 0; i < fields.length; i++) {
    const value = numberOf(fields[i] as string);
    if (value === undefined) {
      return (
        (present ? null : truthColumn(fields)) ?? {
          kind: "values",
          values: fields.map((field) => (MISSING.has(field) ? null : field)),
          valid: null,
        }
      );
    }
    values[i] = value;
    if (!Number.isNaN(value)) present = true;
    whole &&= Number.isInteger(value);
  }
  return (whole ? wholeColumn(fields, values) : null) ?? numbers("float64", values);
}

/** Fields that are looked at together. */
const TOGETHER = 2 ** 14;

/** The fields of a column as they come: those that are written as numbers take no more room than these. */
class Fields {
  private parts: (Float64Array | string[])[] = [];
  private open: string[] = [];

  push(field: string): void {
    if (this.open.push(field) === TOGETHER) this.close();
  }

  private close(): void {
    if (this.open.length > 0) this.parts.push(asWritten(this.open) ?? this.open);
    this.open = [];
  }

  column(): Column {
    this.close();
    const { parts } = this;
    if (parts.length === 0 || parts.some(Array.isArray)) {
      return columnOfFields(parts.flatMap((part) => (Array.isArray(part) ? part : Array.from(part, String))));
    }
    const all = new Float64Array(parts.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of parts as Float64Array[]) {
      all.set(part, at);
      at += part.length;
    }
    return all.every(Number.isInteger) ? wholeNumbers(all) : numbers("float64", all);
  }
}

/** The numbers that fields are, if each is written as the language writes it, so that it gives the text again. */
function asWritten(fields: readonly string[]): Float64Array | null {
  const values = new Float64Array(fields.length);
  for (let i = 0; i < fields.length; i++) {
    const value = +(fields[i] as string);
    const isExact = Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
    if (!isExact || String(value) !== fields[i]) return null;
    values[i] = value;
  }
  return values;
}

/** Names as pandas gives them: missing ones by their place, repeated ones with a number. */
function namesOf(row: readonly string[]): string[] {
  const used = new Map<string, number>();
  return row.map((field, i) => {
    const name = field === "" ? `Unnamed: ${i}` : field;
    const count = used.get(name) ?? 0;
    used.set(name, count + 1);
    return count === 0 ? name : `${name}.${count}`;
  });
}

function isBlank(row: readonly string[]): boolean {
  return row.length === 1 && row[0] === "";
}

/** @throws ValueError for what is not one character */
function oneCharacter(name: string, text: string): string {
  if (text.length === 1) return text;
  throw new ValueError(`"${name}" must be a 1-character string`);
}

/** Rows of a CSV file, in batches. */
export class CsvReader {
  private names: string[] | null = null;
  private picked: number[] = [];
  private fields: Fields[] = [];
  private readonly splitter: CsvSplitter;
  private line = 0;
  private left: number;
  private skip: number;
  private readonly growth: Growth;
  rows = 0;

  constructor(
    private readonly path: string,
    private readonly options: CsvOptions = {},
  ) {
    this.left = options.nrows ?? Number.POSITIVE_INFINITY;
    this.skip = options.skiprows ?? 0;
    this.growth = new Growth(0, path);
    const { sep = ",", quotechar = '"' } = options;
    if (sep === "") throw new ValueError('"delimiter" must be a 1-character string');
    const quote = oneCharacter("quotechar", quotechar);
    this.splitter = new CsvSplitter(sep, quote, (row, count, quoted) => this.row(row, count, quoted), MAX_COLUMNS + 1);
  }

  /** All rows that were asked for are there. */
  get done(): boolean {
    return this.left === 0;
  }

  private bad(what: string): FormatError {
    return new FormatError(what, this.path);
  }

  /** The text behind the lines that are left out; null while they go on. */
  private behindSkipped(piece: string): string | null {
    let at = 0;
    for (; this.skip > 0; this.skip--) {
      const end = piece.indexOf("\n", at);
      if (end < 0) return null;
      at = end + 1;
      this.line++;
    }
    return piece.slice(at);
  }

  /** Takes the next piece of the text. */
  push(piece: string, last: boolean): void {
    if (this.done) return;
    this.growth.more(piece.length);
    const text = this.skip > 0 ? this.behindSkipped(piece) : piece;
    if (text === null) return;
    this.splitter.push(text, last, () => this.done);
    if (this.splitter.waiting > MAX_ROW) throw this.bad(`a field of more than ${MAX_ROW} characters`);
    if (last && this.splitter.isOpen && !this.done) {
      throw this.bad(`Quoted field unterminated (line ${this.line + 1})`);
    }
  }

  private begin(row: string[]): void {
    const { header = true, names, usecols = null } = this.options;
    if (row.length > MAX_COLUMNS) throw this.bad(`more than ${MAX_COLUMNS} columns`);
    const found = header ? namesOf(row) : row.map((_, i) => String(i));
    if (names !== undefined && names.length !== found.length) {
      throw this.bad(`${names.length} names for ${found.length} columns`);
    }
    this.names = names === undefined ? found : [...names];
    const all = this.names;
    if (usecols !== null) {
      const known = new Set(all);
      const missing = usecols.filter((name) => !known.has(name));
      if (missing.length > 0) {
        const list = missing.map((name) => `'${name}'`).join(", ");
        throw this.bad(`Usecols do not match columns, columns expected but not found: [${list}]`);
      }
    }
    this.splitter.most = all.length;
    const chosen = usecols === null ? null : new Set(usecols);
    this.picked = all.map((_, i) => i).filter((i) => chosen === null || chosen.has(all[i] as string));
    this.fields = this.picked.map(() => new Fields());
  }

  /** @param quoted a field of it has quotes, so that it is a row even without characters */
  private row(row: string[], count: number, quoted: boolean): void {
    this.line++;
    // As pandas does, lines without anything are left out.
    if (isBlank(row) && !quoted) return;
    if (this.names === null) {
      this.begin(row);
      if (this.options.header !== false) return;
    }
    if (this.left === 0) return;
    const width = (this.names as string[]).length;
    if (count > width) {
      throw this.bad(`Error tokenizing data. Expected ${width} fields in line ${this.line}, saw ${count}`);
    }
    const { picked, fields } = this;
    this.growth.spend(CELL * picked.length, `rows of ${width} columns`);
    for (let i = 0; i < picked.length; i++) (fields[i] as Fields).push(row[picked[i] as number] ?? "");
    this.rows++;
    this.left--;
  }

  /** The rows that were read since the last time. */
  take(): Columns {
    const names = this.names;
    if (names === null) throw this.bad("No columns to parse from file");
    const columns = new Map<string, Column>();
    for (const [i, place] of this.picked.entries()) {
      columns.set(names[place] as string, (this.fields[i] as Fields).column());
    }
    const { rows } = this;
    this.rows = 0;
    this.fields = this.picked.map(() => new Fields());
    return { columns, rows };
  }
}

/** The texts of a file; bytes that are no UTF-8 are an error of the format. */
export function* decoded(path: string): Generator<string> {
  try {
    yield* textsOf(path);
  } catch (error) {
    if (error instanceof globalThis.TypeError) throw new FormatError("its text is not UTF-8", path, error);
    throw error;
  }
}

/** Rows of a CSV file in batches of at least `rows`; all at once without it. */
export function* readCsv(path: string, options: CsvOptions, rows = Number.POSITIVE_INFINITY): Generator<Columns> {
  const reader = new CsvReader(path, options);
  let some = false;
  for (const piece of decoded(path)) {
    reader.push(piece, false);
    if (reader.done) break;
    if (reader.rows < rows) continue;
    some = true;
    yield reader.take();
  }
  reader.push("", true);
  if (!some || reader.rows > 0) yield reader.take();
}

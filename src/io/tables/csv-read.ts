// CSV files: papaparse takes the text apart, columns get the dtype that all of their fields have.
import { FormatError } from "../base/errors.ts";
import { type Column, type Columns, numbers } from "../columns/columns.ts";
import { tablePackage } from "./packages.ts";
import { textsOf } from "./table-file.ts";

/** How a CSV file is read. */
export interface CsvOptions {
  /** What stands between fields; "," by default. */
  sep?: string;
  /** What stands around fields that hold separators; '"' by default. */
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

/** Longest row. */
const MAX_ROW = 2 ** 26;
const MAX_COLUMNS = 2 ** 20;

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
const DECIMAL = /^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$/;
const INFINITE = /^\s*([+-]?)inf(inity)?\s*$/i;

interface Papa {
  Parser: new (
    config: object,
  ) => {
    parse(
      text: string,
      base: number,
      ignoreLastRow: boolean,
    ): { data: string[][]; errors: { message: string; row?: number }[]; meta: { cursor: number } };
  };
}

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

function wholeColumn(fields: readonly string[], values: Float64Array): Column | null {
  let large = false;
  for (let i = 0; i < fields.length; i++) {
    if (!WHOLE.test(fields[i] as string)) return null;
    large ||= !Number.isSafeInteger(values[i]);
  }
  if (!large) return numbers("int64", BigInt64Array.from(values, BigInt));
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

/** How the text of a file is divided. */
interface CsvForm {
  delimiter: string;
  quoteChar: string;
  newline: string;
}

function isBlank(row: readonly string[]): boolean {
  return row.length === 1 && (row[0] === "" || row[0] === "\r");
}

/** Which of the first rows are an empty text in quotes: papaparse gives for these what it gives for blank lines. */
function quotedRows(text: string, rows: number, { delimiter, quoteChar, newline }: CsvForm): Set<number> {
  const found = new Set<number>();
  const empty = quoteChar + quoteChar;
  if (!text.includes(empty)) return found;
  let [at, mark] = [0, -1];
  for (let i = 0; i < rows; i++) {
    const start = at;
    let end = -1;
    for (;;) {
      if (text.startsWith(quoteChar, at)) {
        // Two of them in a field are one that belongs to it.
        do at = text.indexOf(quoteChar, at + 1) + 1 || text.length;
        while (text.startsWith(quoteChar, at));
      }
      end = text.indexOf(newline, at);
      if (mark < at) mark = text.indexOf(delimiter, at);
      if (mark < 0) mark = text.length;
      if (end < 0) end = text.length;
      if (mark >= end) break;
      at = mark + delimiter.length;
    }
    if (text.slice(start, end).replace(/\r$/, "") === empty) found.add(i);
    at = end + newline.length;
  }
  return found;
}

/** Rows of a CSV file, in batches. */
export class CsvReader {
  private names: string[] | null = null;
  private picked: number[] = [];
  private fields: string[][] = [];
  private text = "";
  private parser: InstanceType<Papa["Parser"]> | null = null;
  private form: CsvForm | null = null;
  private line = 0;
  private left: number;
  private skip: number;
  rows = 0;

  constructor(
    private readonly path: string,
    private readonly options: CsvOptions = {},
  ) {
    this.left = options.nrows ?? Number.POSITIVE_INFINITY;
    this.skip = options.skiprows ?? 0;
  }

  /** All rows that were asked for are there. */
  get done(): boolean {
    return this.left === 0;
  }

  private bad(what: string): FormatError {
    return new FormatError(what, this.path);
  }

  private skipped(): boolean {
    for (; this.skip > 0; this.skip--) {
      const end = this.text.indexOf("\n");
      if (end < 0) return false;
      this.text = this.text.slice(end + 1);
      this.line++;
    }
    return true;
  }

  /** Takes the next piece of the text. */
  push(piece: string, last: boolean): void {
    this.text += piece;
    if (this.text.length > MAX_ROW + 2 ** 21) throw this.bad(`a row of more than ${MAX_ROW} characters`);
    if (!this.skipped() || this.done) return;
    if (this.parser === null) {
      const end = this.text.indexOf("\n");
      if (end < 0 && !last && !this.text.endsWith("\r")) return;
      const newline =
        end > 0 && this.text[end - 1] === "\r" ? "\r\n" : end < 0 && this.text.includes("\r") ? "\r" : "\n";
      const { sep: delimiter = ",", quotechar: quoteChar = '"' } = this.options;
      this.form = { delimiter, quoteChar, newline };
      this.parser = new (tablePackage<Papa>("papaparse").Parser)(this.form);
    }
    const { data, errors, meta } = this.parser.parse(this.text, 0, !last);
    const problem = errors[0];
    if (problem !== undefined) {
      if (!last) return;
      throw this.bad(`${problem.message} (line ${this.line + (problem.row ?? 0) + 1})`);
    }
    const texts = data.some(isBlank) ? quotedRows(this.text, data.length, this.form as CsvForm) : null;
    for (const [i, row] of data.entries()) this.row(row, texts?.has(i) === true);
    this.text = last ? "" : this.text.slice(meta.cursor);
  }

  private begin(row: string[]): void {
    const { header = true, names, usecols = null } = this.options;
    const found = header ? namesOf(row) : row.map((_, i) => String(i));
    if (found.length > MAX_COLUMNS) throw this.bad(`more than ${MAX_COLUMNS} columns`);
    if (names !== undefined && names.length !== found.length) {
      throw this.bad(`${names.length} names for ${found.length} columns`);
    }
    this.names = names === undefined ? found : [...names];
    const all = this.names;
    if (usecols !== null) {
      const missing = usecols.filter((name) => !all.includes(name));
      if (missing.length > 0) {
        const list = missing.map((name) => `'${name}'`).join(", ");
        throw this.bad(`Usecols do not match columns, columns expected but not found: [${list}]`);
      }
    }
    this.picked = all.map((_, i) => i).filter((i) => usecols === null || usecols.includes(all[i] as string));
    this.fields = this.picked.map(() => []);
  }

  /** @param quoted its only field is a text, though one without characters */
  private row(row: string[], quoted: boolean): void {
    this.line++;
    const end = row.length - 1;
    const tail = row[end] as string;
    if (tail.endsWith("\r")) row[end] = tail.slice(0, -1);
    // As pandas does, lines without anything are left out.
    if (isBlank(row) && !quoted) return;
    if (this.names === null) {
      this.begin(row);
      if (this.options.header !== false) return;
    }
    if (this.left === 0) return;
    const width = (this.names as string[]).length;
    if (row.length > width) {
      throw this.bad(`Error tokenizing data. Expected ${width} fields in line ${this.line}, saw ${row.length}`);
    }
    const { picked, fields } = this;
    for (let i = 0; i < picked.length; i++) (fields[i] as string[]).push(row[picked[i] as number] ?? "");
    this.rows++;
    this.left--;
  }

  /** The rows that were read since the last time. */
  take(): Columns {
    const names = this.names;
    if (names === null) throw this.bad("No columns to parse from file");
    const columns = new Map<string, Column>();
    for (const [i, place] of this.picked.entries()) {
      columns.set(names[place] as string, columnOfFields(this.fields[i] as string[]));
    }
    const { rows } = this;
    this.rows = 0;
    this.fields = this.picked.map(() => []);
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

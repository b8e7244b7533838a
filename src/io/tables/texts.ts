// Numbers and values as CSV and JSON files have them.
import { TypeError } from "../../tensor/errors.ts";
import { pythonFloatRepr } from "../base/python-json.ts";
import type { Column, Columns } from "../columns/columns.ts";

/** A number that may have digits behind the point, as Python writes it. */
function floatText(value: number): string {
  const size = Math.abs(value);
  if (size < 1e16 && (size >= 1e-4 || size === 0)) {
    return Number.isInteger(value) ? `${Object.is(value, -0) ? "-0" : value}.0` : String(value);
  }
  return pythonFloatRepr(value);
}

/** The fewest digits that give the same float32. */
function singleText(value: number): string {
  if (Number.isInteger(value) || !Number.isFinite(value)) return floatText(value);
  for (let digits = 6; digits < 9; digits++) {
    const short = +value.toPrecision(digits);
    if (Math.fround(short) === value) return floatText(short);
  }
  return floatText(+value.toPrecision(9));
}

/** What a file writes where there is no number, and how it writes values. */
export interface TextForm {
  nan: string;
  infinity: (negative: boolean) => string;
  truths: readonly [no: string, yes: string];
  value: (value: unknown) => string;
}

/** Gives the text of each row of a column. */
export function rowTexts(name: string, column: Column, form: TextForm): (row: number) => string {
  if (column.kind === "values") {
    const { values } = column;
    return (row) => form.value(values[row]);
  }
  if (column.kind !== "numbers" || column.inner.length > 0)
    throw new TypeError(`the column ${name} has more dimensions`);
  const { array, dtype } = column;
  if (dtype === "bool") return (row) => form.truths[(array as Uint8Array)[row] === 0 ? 0 : 1];
  if (dtype !== "float64" && dtype !== "float32") return (row) => String(array[row]);
  const text = dtype === "float64" ? floatText : singleText;
  return (row) => {
    const value = array[row] as number;
    if (Number.isFinite(value)) return text(value);
    return Number.isNaN(value) ? form.nan : form.infinity(value < 0);
  };
}

/** Rows written one after the other, in pieces of some thousand. */
export function* rowPieces(
  { columns, rows }: Columns,
  form: TextForm,
  joined: (texts: ((row: number) => string)[]) => (row: number) => string,
): Generator<string> {
  const row = joined([...columns].map(([name, column]) => rowTexts(name, column, form)));
  for (let at = 0; at < rows; at += 4096) {
    let piece = "";
    for (let i = at; i < Math.min(rows, at + 4096); i++) piece += row(i);
    yield piece;
  }
}

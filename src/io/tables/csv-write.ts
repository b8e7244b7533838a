// CSV files as pandas writes them: texts are quoted where they have to be, numbers have the digits that read back.
import { ValueError } from "../../tensor/errors.ts";
import type { Columns } from "../columns/columns.ts";
import { rowPieces } from "./texts.ts";

/** How a CSV file is written. */
export interface CsvWriteOptions {
  /** What stands between fields; "," by default. */
  sep?: string;
  /** Whether the names of the columns come first; true by default. */
  header?: boolean;
  /** What is written where there is no value; nothing by default. */
  naRep?: string;
}

/** Pieces of the file; the names only before the first rows. */
export function* csvTexts(columns: Columns, options: CsvWriteOptions, first: boolean): Generator<string> {
  const { sep = ",", header = true, naRep = "" } = options;
  if (sep.length !== 1 || sep === '"' || sep === "\n" || sep === "\r") {
    throw new ValueError('"delimiter" must be a 1-character string');
  }
  const special = new RegExp(`[${sep.replace(/[\\\]^-]/g, "\\$&")}"\\r\\n]`);
  const quoted = (text: string) => (special.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  const value = (value: unknown): string => {
    if (value === null || value === undefined) return naRep;
    if (typeof value === "boolean") return value ? "True" : "False";
    if (value instanceof Date) return value.toISOString();
    return quoted(typeof value === "object" ? JSON.stringify(value) : String(value));
  };
  if (first && header) yield `${[...columns.columns.keys()].map(quoted).join(sep)}\n`;
  const form = {
    nan: quoted(naRep),
    infinity: (negative: boolean) => (negative ? "-inf" : "inf"),
    truths: ["False", "True"] as const,
    value,
  };
  yield* rowPieces(columns, form, (texts) => {
    const [one, ...others] = texts;
    // A row of one missing value would be a blank line, which readers leave out.
    if (others.length === 0) return (row) => `${one?.(row) || '""'}\n`;
    return (row) => {
      let line = one?.(row) as string;
      for (const text of others) line += sep + text(row);
      return `${line}\n`;
    };
  });
}

// Numbers as the command line reads and writes them.
import { shownName } from "../io/base/byte-names.ts";
import { CliError, EXIT } from "./errors.ts";

/** A number of bytes for people. */
export function bytesText(nbytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let value = nbytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit++;
  }
  return unit === 0 ? `${nbytes} B` : `${value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

/** Columns as lines: "l" for a column that begins at its left, "r" for one that ends at its right. */
export function table(rows: readonly (readonly string[])[], sides: string): string[] {
  const widths = [...sides].map((_, i) => Math.max(0, ...rows.map((row) => (row[i] ?? "").length)));
  return rows.map((row) => {
    const cells = row.map((cell, i) =>
      sides[i] === "r" ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
    );
    return cells.join("  ").trimEnd();
  });
}

/** A number of things: "1 tensor", "3 tensors". */
export function counted(count: number, what: string, several = `${what}s`): string {
  return `${count} ${count === 1 ? what : several}`;
}

/** The name of an entry on one line, whatever is in it. */
export function nameText(name: string): string {
  return JSON.stringify(name).slice(1, -1);
}

/** Text that may come from a file, for a terminal: what would control it is escaped. */
export function printable(text: string): string {
  return shownName(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (unit) => {
    return `\\x${unit.charCodeAt(0).toString(16).padStart(2, "0")}`;
  });
}

/** Options of the library that errors name, as the command line has them. */
export function withFlags(text: string): string {
  return text
    .replaceAll("{ followLinks: true }", "--follow-links")
    .replaceAll("if maxBytes says", "if --max-bytes says");
}

/** Reads a count given as an option. */
export function countOption(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1024) {
    throw new CliError(`--${name} takes a number from 1 to 1024, got ${JSON.stringify(text)}.`, EXIT.usage);
  }
  return value;
}

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  b: 1,
  kb: 1e3,
  mb: 1e6,
  gb: 1e9,
  tb: 1e12,
  kib: 2 ** 10,
  mib: 2 ** 20,
  gib: 2 ** 30,
  tib: 2 ** 40,
};

/** Reads a number of bytes given as an option: "100MB", "1.5GiB", "4096". */
export function sizeOption(name: string, text: string | undefined, fallback: number, least: number): number {
  if (text === undefined) return fallback;
  const [, digits, unit] = /^(\d{1,15}(?:\.\d{1,6})?)\s*([a-z]*)$/i.exec(text) ?? [];
  const factor = UNITS[(unit ?? "?").toLowerCase()];
  const nbytes = digits === undefined || factor === undefined ? Number.NaN : Math.floor(Number(digits) * factor);
  if (Number.isSafeInteger(nbytes) && nbytes >= least) return nbytes;
  throw new CliError(
    `--${name} takes a size such as 100MB or 1GiB, at least ${counted(least, "byte")}, got ${JSON.stringify(text)}.`,
    EXIT.usage,
  );
}

// Numbers as the command line reads and writes them.
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

/** Reads a count given as an option. */
export function countOption(name: string, text: string | undefined, fallback: number): number {
  if (text === undefined) return fallback;
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 1 || value > 1024) {
    throw new CliError(`--${name} takes a number from 1 to 1024, got ${JSON.stringify(text)}.`, EXIT.usage);
  }
  return value;
}

// What a command reads: a place and its format, opened.
import { type Opened, openCollection } from "./collections.ts";
import { type FormatName, formatNamed, formatOf } from "./formats.ts";

/** An opened source. */
export interface Source extends Opened {
  path: string;
  format: FormatName;
}

/** Opens what is at a path; the format is found out, or named by the user. */
export async function openSource(path: string, from?: string): Promise<Source> {
  const format = from === undefined ? await formatOf(path) : formatNamed(from);
  return { path, format, ...(await openCollection(path, format)) };
}

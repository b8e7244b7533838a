// What a command reads: a place and its format, opened.
import { isRemote } from "../io/s3.ts";
import { type Opened, openCollection } from "./collections.ts";
import { type FormatName, formatNamed, formatOf, remoteFormat } from "./formats.ts";

/** An opened source. */
export interface Source extends Opened {
  path: string;
  format: FormatName;
}

/**
 * Opens what is at a path or in a store; the format is found out, or named by the user.
 * @param part gives the part of it that is wanted; of what is in a store, only that is transferred
 */
export async function openSource(
  path: string,
  from?: string,
  part: (td: Opened["td"]) => Opened["td"] = (td) => td,
): Promise<Source> {
  if (isRemote(path)) {
    const { openRemote } = await import("./remote.ts");
    const format = remoteFormat(path, from);
    const remote = await openRemote(path, format);
    return { path, format, td: await remote.fetch(part(remote.td)), lost: remote.lost };
  }
  const format = from === undefined ? await formatOf(path) : formatNamed(from);
  const { td, lost } = await openCollection(path, format);
  return { path, format, td: part(td), lost };
}

/** What a source is, without its bytes where these would be transferred. */
export async function openOutline(path: string, from?: string): Promise<Source> {
  if (!isRemote(path)) return await openSource(path, from);
  const { openRemote } = await import("./remote.ts");
  const format = remoteFormat(path, from);
  const { td, lost } = await openRemote(path, format);
  return { path, format, td, lost };
}

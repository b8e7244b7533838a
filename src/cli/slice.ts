// `zensor slice`: some entries or some rows of a file or a directory, in any format that can be written. Only what is
// wanted is read.

import type { Td } from "../tensordict/core/state.ts";
import { TensorDict } from "../tensordict/index.ts";
import type { Opened } from "./collections.ts";
import { CliError, EXIT } from "./errors.ts";
import { SEPARATOR } from "./losses.ts";
import { findPath, type Rows, rowsOption, take } from "./selection.ts";
import { openReached, reach, type TrustOptions } from "./source.ts";
import { hasStructure } from "./structure.ts";
import { openTarget, type TargetOptions, writeTarget } from "./target.ts";

/** Options of the command. */
export interface SliceOptions extends TargetOptions, TrustOptions {
  from?: string;
  keys?: string[];
  rows?: string;
}

function keysOption(given: readonly string[] | undefined): readonly string[] | null {
  const names = given?.flatMap((text) => text.split(","));
  if (names?.includes("")) {
    throw new CliError("--keys takes names separated by commas, none of them empty.", EXIT.usage);
  }
  return given ?? null;
}

/** Names given with commas, or by repeating the option; a name that has commas itself is given alone. */
function namesIn(td: Td, given: readonly string[]): string[] {
  return given.flatMap((text) => (findPath(td, text.split(SEPARATOR)) === null ? text.split(",") : [text]));
}

async function openPart(
  path: string,
  options: SliceOptions,
  keys: readonly string[] | null,
  rows: Rows | null,
): Promise<Opened> {
  const part = (td: Td) => take(td, keys && namesIn(td, keys), rows);
  const reached = await reach(path, options);
  if (reached.format !== "hdf5") return await openReached(path, reached, options, part);
  using file = TensorDict.fromH5(reached.at, { mode: "r", batchSize: [] });
  // What is kept in a structure is no dataset that could be read by itself.
  if (hasStructure(file as Td)) return await openReached(path, reached, options, part);
  return { td: part(file as Td), lost: [], tree: null };
}

/** Writes a part of a source. */
export async function slice(from: string, to: string, options: SliceOptions): Promise<void> {
  const keys = keysOption(options.keys);
  const rows = options.rows === undefined ? null : rowsOption(options.rows);
  if (keys === null && rows === null) throw new CliError("nothing to slice by: pass --keys or --rows.", EXIT.usage);
  const target = await openTarget(to, [from], options);
  await writeTarget(await openPart(from, options, keys, rows), target);
}

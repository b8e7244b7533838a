// `zensor slice`: some entries or some rows of a file or a directory, in any format that can be written. Only what is
// wanted is read.
import { CliError, EXIT } from "./errors.ts";
import { keysOption } from "./keys.ts";
import { rowsOption, take } from "./selection.ts";
import { ofEntries, openReached, reach, type TrustOptions } from "./source.ts";
import { openTarget, type TargetOptions, writeTarget } from "./target.ts";

/** Options of the command. */
export interface SliceOptions extends TargetOptions, TrustOptions {
  from?: string;
  keys?: string[];
  rows?: string;
}

/** Writes a part of a source. */
export async function slice(from: string, to: string, options: SliceOptions): Promise<void> {
  const keys = keysOption(options.keys);
  const rows = options.rows === undefined ? null : rowsOption(options.rows);
  if (keys === null && rows === null) throw new CliError("nothing to slice by: pass --keys or --rows.", EXIT.usage);
  const target = await openTarget(to, [from], options);
  const reached = await reach(from, options);
  const source = await openReached(from, reached, options, (td) => take(td, keys?.all(td) ?? null, rows));
  await writeTarget(keys === null ? source : ofEntries(source), target);
}

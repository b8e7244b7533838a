// `zensor merge`: several sources into one: their entries together, or the same entries stacked or one after the other.
import type { Td } from "../tensordict/core/state.ts";
import { combine, union } from "./combine.ts";
import { CliError, EXIT } from "./errors.ts";
import { placeFilled } from "./filling.ts";
import { namedByFile } from "./folder.ts";
import { type Keys, keysOption } from "./keys.ts";
import { recoded } from "./python-tree.ts";
import { take } from "./selection.ts";
import { openReached, reach, type Source, type TrustOptions } from "./source.ts";
import { openTarget, prepare, type TargetOptions, tellWritten, writeTarget } from "./target.ts";

/** Options of the command. */
export interface MergeOptions extends TargetOptions, TrustOptions {
  keys?: string[];
  last?: boolean;
  stack?: boolean;
  cat?: boolean;
}

/**
 * Opens a source, of which what was named is taken, as far as it is there.
 * @param byName arrays have no names of their own, and get those of their files
 */
async function openOne(path: string, options: MergeOptions, keys: Keys | null, byName: boolean): Promise<Source> {
  const part = (td: Td) => (keys === null ? td : take(td, keys.some(td), null));
  const reached = await reach(path, options);
  const mayBeAlone = reached.format === "npy" || reached.format === "pt";
  if (!mayBeAlone)
    return await (keys === null ? openReached(path, reached, options) : openReached(path, reached, options, part));
  const opened = await openReached(path, reached, options);
  const source = byName ? { ...opened, ...namedByFile(path, opened) } : opened;
  return keys === null ? source : { ...source, ...recoded(part(source.td), source.tree, path) };
}

function requireSensible({ stack, cat, last }: MergeOptions): void {
  if (stack && cat) throw new CliError("--stack and --cat exclude each other.", EXIT.usage);
  if (!last || !(stack || cat)) return;
  throw new CliError(
    "--last is for entries that several sources have: it does not go with --stack or --cat.",
    EXIT.usage,
  );
}

/** Merges sources; the last path is the target. */
export async function merge(paths: readonly string[], options: MergeOptions): Promise<void> {
  const [to, ...reversed] = [...paths].reverse();
  const from = reversed.reverse();
  if (to === undefined || from.length === 0) throw new CliError("merge takes sources and a target.", EXIT.usage);
  requireSensible(options);
  const keys = keysOption(options.keys);
  const target = await openTarget(to, from, options);
  const together = !options.stack && !options.cat;
  const sources: Source[] = [];
  for (const path of from) sources.push(await openOne(path, options, keys, together));
  keys?.requireFound();
  if (together) {
    await writeTarget(union(sources, options.last === true), target);
    return;
  }
  const { outline, copies, fill, ...facts } = combine(
    sources,
    options.stack ? "stack" : "cat",
    target.format,
    keys !== null,
  );
  const prepared = prepare({ td: outline, ...facts }, target);
  const filled = copies.map(({ path }) => path);
  await placeFilled(target, prepared, filled, true, fill);
  tellWritten(prepared, target);
}

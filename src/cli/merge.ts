// `zensor merge`: several sources into one: their entries together, or the same entries stacked or one after the other.
import { rmSync } from "node:fs";
import { temporaryBeside } from "../io/disk/durable.ts";
import { isRemote } from "../io/store/s3.ts";
import { combine, union } from "./combine.ts";
import { CliError, EXIT } from "./errors.ts";
import { temporaryFor } from "./scratch.ts";
import { openSource, type TrustOptions } from "./source.ts";
import { openTarget, place, prepare, type TargetOptions, tellWritten, writeTarget } from "./target.ts";
import { writeCollection } from "./writing.ts";

/** Options of the command. */
export interface MergeOptions extends TargetOptions, TrustOptions {
  last?: boolean;
  stack?: boolean;
  cat?: boolean;
}

/** Merges sources; the last path is the target. */
export async function merge(paths: readonly string[], options: MergeOptions): Promise<void> {
  const [to, ...reversed] = [...paths].reverse();
  const from = reversed.reverse();
  if (to === undefined || from.length === 0) throw new CliError("merge takes sources and a target.", EXIT.usage);
  if (options.stack && options.cat) throw new CliError("--stack and --cat exclude each other.", EXIT.usage);
  if (options.last && (options.stack || options.cat)) {
    throw new CliError(
      "--last is for entries that several sources have: it does not go with --stack or --cat.",
      EXIT.usage,
    );
  }
  const target = await openTarget(to, from, options);
  const sources = [];
  for (const path of from) sources.push(await openSource(path, options));
  if (!options.stack && !options.cat) {
    await writeTarget(union(sources, options.last === true), target);
    return;
  }
  const combined = combine(sources, options.stack ? "stack" : "cat");
  const prepared = prepare({ td: combined.outline, lost: combined.lost, tree: null }, target);
  const { format, numThreads } = target;
  await place(target, async (made, background) => {
    // Files are filled piece by piece, so that nothing has to fit into memory.
    const direct = format === "memmap" && !isRemote(to);
    const scratch = direct ? made : isRemote(made) ? temporaryFor(to) : temporaryBeside(made);
    try {
      const filled = prepared.td.memmapLike(scratch);
      await combined.fill(filled, background);
      if (!direct) await writeCollection({ td: filled, tree: null }, made, format, { numThreads, ...background });
    } finally {
      if (!direct) rmSync(scratch, { recursive: true, force: true });
    }
  });
  tellWritten(prepared, target);
}

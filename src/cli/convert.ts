// `zensor convert`: any format into any other that can be written. Bytes go from file to file where both sides have
// them as they are, so that files larger than memory can be converted.
import { keysOption } from "./keys.ts";
import { openSource, type TrustOptions } from "./source.ts";
import { openTarget, type TargetOptions, writeTarget } from "./target.ts";

/** Options of the command. */
export interface ConvertOptions extends TargetOptions, TrustOptions {
  from?: string;
  keys?: string[];
}

/** Converts one format into another. */
export async function convert(from: string, to: string, options: ConvertOptions): Promise<void> {
  const keys = keysOption(options.keys);
  const target = await openTarget(to, [from], options);
  await writeTarget(await openSource(from, options, keys), target);
}

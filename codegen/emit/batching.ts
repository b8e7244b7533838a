/** generated/batching.ts: how a batch of calls of each operator becomes one, for `vmap`. */
import type { Model } from "../model/load.ts";

export function emitBatching(model: Model): string {
  const rows: string[] = [];
  for (const op of model.ops) {
    // Operators written with others are batched by those.
    if (op.kind === "composite") continue;
    const rule = typeof op.transforms.batch === "string" ? op.transforms.batch : "refused";
    rows.push(`  ${JSON.stringify(op.key)}: ${JSON.stringify([rule, ...op.args.map((a) => a.role)].join(" "))},`);
  }
  return [
    "/** By the operator's key: its rule, then the roles of its arguments. */",
    "export const BATCHING: Readonly<Record<string, string>> = {",
    ...rows,
    "};",
    "",
  ].join("\n");
}

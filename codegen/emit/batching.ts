/** generated/batching.ts: how a batch of calls of each operator becomes one, for `vmap`. */
import { SchemaError } from "../model/literal.ts";
import type { Model } from "../model/load.ts";

export function emitBatching(model: Model): string {
  const rows = new Map<string, string>();
  for (const op of model.ops) {
    // Operators written with others are batched by those.
    if (op.kind === "composite") continue;
    const key = op.overload === undefined ? op.name : `${op.name}.${op.overload}`;
    if (rows.has(key)) throw new SchemaError(op.where, `two operators are called ${key}`);
    const rule = typeof op.transforms.batch === "string" ? op.transforms.batch : "refused";
    rows.set(key, `  ${JSON.stringify(key)}: ${JSON.stringify([rule, ...op.args.map((a) => a.role)].join(" "))},`);
  }
  return [
    "/** The rule of each operator, then the roles of its arguments. */",
    "export const BATCHING: Readonly<Record<string, string>> = {",
    ...rows.values(),
    "};",
    "",
  ].join("\n");
}

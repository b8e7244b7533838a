/** generated/ops.json, the flat contract that reviews compare, and generated/OPS.md, the table of operators. */
import type { Model } from "../model/load.ts";

export function emitOpsJson(model: Model): string {
  const rows = [...model.ops]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((op) => ({
      key: op.key,
      name: op.publicName,
      aliases: op.aliases ?? [],
      args: op.args.map((a) => [a.name, a.role, a.fallback ?? "required", a.byName ? "named" : "positional"]),
      variants: op.variants,
      results: op.results ?? [],
      node: op.node ?? null,
      internal: op.internal ?? false,
    }));
  return `${JSON.stringify(rows, null, 1)}\n`;
}

export function emitCoverage(model: Model): string {
  const out = ["# Operators", "", "| operator | forms | gradient | kernels |", "| --- | --- | --- | --- |"];
  for (const op of [...model.ops].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (op.internal) continue;
    const gradient = typeof op.grad === "string" ? op.grad : (op.node ?? "");
    out.push(`| ${op.key} | ${op.variants.join(", ")} | ${gradient} | ${(op.kernels ?? []).join(", ")} |`);
  }
  out.push("", `${model.ops.filter((o) => !o.internal).length} overloads.`, "");
  return out.join("\n");
}

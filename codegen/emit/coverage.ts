/** generated/ops.json, the flat contract that reviews compare, and generated/OPS.md, the table of operators. */
import type { Model } from "../model/load.ts";
import type { BatchRule } from "../model/types.ts";

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
      ...op.transforms,
    }));
  return `${JSON.stringify(rows, null, 1)}\n`;
}

const ruleText = (rule: BatchRule): string => (typeof rule === "string" ? rule : `refused: ${rule.refused}`);

export function emitCoverage(model: Model): string {
  const out = [
    "# Operators",
    "",
    "| operator | forms | gradient | batch | kernels on cpu | on cuda |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  for (const op of [...model.ops].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (op.internal) continue;
    const gradient = typeof op.grad === "string" ? op.grad : (op.node ?? "");
    const kernels = [op.kernels?.cpu ?? [], op.kernels?.cuda ?? []].map((paths) => paths.join(", "));
    const cells = [op.key, op.variants.join(", "), gradient, ruleText(op.transforms.batch), ...kernels];
    out.push(`| ${cells.join(" | ")} |`);
  }
  out.push("", `${model.ops.filter((o) => !o.internal).length} overloads.`, "");
  return out.join("\n");
}

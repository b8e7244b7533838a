/** generated/ops.json, the flat contract that reviews compare, and generated/OPS.md, the table of operators. */
import type { Model, Op } from "../model/load.ts";
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

/** An operator's kernels on CUDA devices: all, those that it lacks, or nothing where it needs none. */
function cudaText({ kernels }: Op): string {
  if (kernels === undefined || kernels.cpu.length === 0) return "";
  const lacking = kernels.cpu.filter((path) => !kernels.cuda?.includes(path));
  if (lacking.length === 0) return "yes";
  return kernels.cuda === undefined ? "" : `lacks ${lacking.join(", ")}`;
}

const ruleText = (rule: BatchRule): string => (typeof rule === "string" ? rule : `refused: ${rule.refused}`);

export function emitCoverage(model: Model): string {
  const out = [
    "# Operators",
    "",
    "| operator | forms | gradient | batch | kernels | on cuda |",
    "| --- | --- | --- | --- | --- | --- |",
  ];
  for (const op of [...model.ops].sort((a, b) => (a.key < b.key ? -1 : 1))) {
    if (op.internal) continue;
    const gradient = typeof op.grad === "string" ? op.grad : (op.node ?? "");
    const kernels = (op.kernels?.cpu ?? []).join(", ");
    const cells = [op.key, op.variants.join(", "), gradient, ruleText(op.transforms.batch), kernels, cudaText(op)];
    out.push(`| ${cells.join(" | ")} |`);
  }
  const open = model.ops.filter((op) => !op.internal);
  const lacking = open.filter((op) => cudaText(op).startsWith("lacks"));
  out.push("", `${open.length} overloads, ${lacking.length} of which lack a kernel on CUDA devices.`, "");
  return out.join("\n");
}

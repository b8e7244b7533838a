/** generated/ops.json, the flat contract that reviews compare, and generated/OPS.md, the table of operators. */

import { categoryOf } from "../model/categories.ts";
import type { Model, Op } from "../model/load.ts";
import type { BatchRule } from "../model/types.ts";

/** An operator's kernels that CUDA devices do not have, where the schema tells which they have. */
function lacking({ kernels }: Op): string[] {
  return kernels?.cuda === undefined ? [] : kernels.cpu.filter((path) => !kernels.cuda?.includes(path));
}

/** Whether an operator works on CUDA devices; nothing where it needs no kernel. */
function cudaText(op: Op): string {
  if (lacking(op).length > 0) return `lacks ${lacking(op).join(", ")}`;
  return op.kernels?.cuda?.length ? "yes" : "";
}

export function emitOpsJson(model: Model): string {
  const rows = [...model.ops]
    .sort((a, b) => (a.key < b.key ? -1 : 1))
    .map((op) => ({
      key: op.key,
      name: op.publicName,
      aliases: op.aliases ?? [],
      also: op.also ?? [],
      args: op.args.map((a) => [a.name, a.role, a.fallback ?? "required", a.byName ? "named" : "positional"]),
      variants: op.variants,
      results: op.results ?? [],
      node: op.node ?? null,
      internal: op.internal ?? false,
      category: (op.internal ? undefined : categoryOf(op)) ?? "",
      ...(lacking(op).length > 0 ? { lacksOnCuda: lacking(op) } : {}),
      ...op.transforms,
    }));
  return `${JSON.stringify(rows, null, 1)}\n`;
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
  const partial = open.filter((op) => lacking(op).length > 0);
  out.push("", `${open.length} overloads, ${partial.length} of which lack a kernel on CUDA devices.`, "");
  return out.join("\n");
}

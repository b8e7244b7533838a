/**
 * How transforms take an operator: a batch of calls at once, derivatives forward, smaller operators. What follows from
 * kind and roles is derived here; the schema says the rest. An operator without a rule says why it has none.
 */
import type { Node } from "ts-morph";
import { SchemaError } from "./literal.ts";
import type { BatchRule, DecomposeRule, JvpRule, OpSchema, Role } from "./types.ts";

/** What the rules look at. */
interface Described extends Pick<OpSchema, "kind" | "grad" | "batch" | "jvp" | "decompose"> {
  readonly key: string;
  readonly args: readonly { readonly role: Role }[];
  readonly where: Node;
}

export interface Transforms {
  readonly batch: BatchRule;
  readonly jvp: JvpRule | "formula";
  readonly decompose: DecomposeRule;
}

const isDim = (role: string): boolean => /^Dims?\??$/.test(role);

function batchOf(op: Described): BatchRule {
  if (op.batch !== undefined) return op.batch;
  if (op.kind === "composite") return "decompose";
  if (op.kind === "pointwise") return "broadcast";
  if (op.kind === "view" || op.kind === "factory") return op.kind;
  const tensors = op.args.filter((a) => a.role.startsWith("Tensor"));
  if (tensors.length === 1 && op.args.some((a) => isDim(a.role))) return "dims";
  if (op.args.some((a) => a.role === "Generator?")) {
    return "random";
  }
  throw new SchemaError(op.where, `op "${op.key}": needs "batch", which does not follow from its roles`);
}

function jvpOf(op: Described): JvpRule | "formula" {
  if (op.jvp !== undefined) {
    return typeof op.jvp === "string" || "refused" in op.jvp ? (op.jvp as JvpRule) : "formula";
  }
  if (op.grad === "composite" || op.kind === "composite") return "decompose";
  if (op.grad === "none") return { refused: "its results have no gradient" };
  if (op.kind === "pointwise") return "pointwise";
  if (op.kind === "view" && Object.keys(op.grad).length === 1) return "linear";
  throw new SchemaError(op.where, `op "${op.key}": needs "jvp", which does not follow from its kind`);
}

function decomposeOf(op: Described): DecomposeRule {
  if (op.decompose !== undefined) return op.decompose;
  if (op.kind === "composite") return "composite";
  if (op.kind === "view") return { refused: "a view is a geometry, and nothing smaller" };
  return { refused: "a kernel of its own computes it" };
}

export function transformsOf(op: Described): Transforms {
  return { batch: batchOf(op), jvp: jvpOf(op), decompose: decomposeOf(op) };
}

/** generated/nodes.ts: one class for each gradient node of the schema, made when its operator is first recorded. */
import { type Formula, formulasOf, tangentFormulasOf } from "../model/formula.ts";
import { type Arg, camel, type Model, type Op } from "../model/load.ts";
import { typeOf } from "./types.ts";

/** What a node's class looks like, for the emitter of operators too. */
export interface NodePlan {
  readonly op: Op;
  readonly className: string;
  readonly formulas: readonly Formula[];
  /** Differentiable arguments in the order of their edges. */
  readonly targets: readonly Arg[];
  /** Arguments saved whole. */
  readonly values: readonly Arg[];
  /** Tensor arguments of which only shape and dtype are kept. */
  readonly geometry: readonly Arg[];
  /** Arguments saved whole for some formulas, of which others read shape and dtype only: they keep both. */
  readonly both: readonly Arg[];
  /** Results saved. */
  readonly results: readonly number[];
}

export function planOf(op: Op, model: Model): NodePlan | null {
  if (typeof op.grad !== "object") return null;
  const given = formulasOf(op, model);
  const both = op.args.filter((a) => isTensorArg(a) && !keepsWhole(op, a) && readAsBoth(given, a));
  const formulas = given.map((f) => ({ ...f, code: both.reduce((code, a) => geometryRead(f, code, a), f.code) }));
  const uses = new Map<string, string>();
  for (const f of formulas) {
    for (const [name, use] of f.uses) if (uses.get(name) !== "value") uses.set(name, use);
  }
  const further = new Set(tangentReads(op, model).filter((name) => !uses.has(name)));
  const named = new Set(formulas.flatMap((f) => f.targets.map(camel)));
  return {
    op,
    className: `${op.fn}_Backward`,
    formulas,
    targets: op.args.filter((a) => named.has(a.name)),
    values: op.args.filter((a) => uses.get(a.name) === "value" || keepsWhole(op, a) || further.has(a.name)),
    geometry: op.args.filter((a) => uses.get(a.name) === "geometry" && !keepsWhole(op, a)),
    both,
    results: [...new Set(formulas.flatMap((f) => [...f.results]))].sort(),
  };
}

/** Plain arguments that tangents read: those are saved for them. */
function tangentReads(op: Op, model: Model): string[] {
  const plain = op.args.filter((a) => !isTensorArg(a)).map((a) => a.name);
  const rule = op.transforms.jvp;
  if (rule === "linear" || rule === "multilinear") return plain;
  if (rule === "reduction") return plain.filter((name) => name === "dim" || name === "keepdim");
  return tangentFormulasOf(op, model).flatMap((f) => plain.filter((name) => f.uses.has(name)));
}

function readAsBoth(formulas: readonly Formula[], a: Arg): boolean {
  const as = (use: string): boolean => formulas.some((f) => f.uses.get(a.name) === use);
  return as("value") && as("geometry");
}

/** The name under which a node keeps the geometry of an argument that it may save whole as well. */
export function geometryName(a: Arg): string {
  return `${a.name}Geometry`;
}

export function geometryRead(f: Formula, code: string, a: Arg): string {
  if (f.uses.get(a.name) !== "geometry") return code;
  return code.replaceAll(new RegExp(`\\b${a.name}\\.`, "g"), `${geometryName(a)}.`);
}

/** Saved although no formula reads its elements, as torch does: a write to it is seen by the backward pass. */
export function keepsWhole(op: Op, a: Arg): boolean {
  return op.saves?.some((name) => camel(name) === a.name) ?? false;
}

/** The argument on which the node's name depends. */
export function specialArg(op: Op): Arg | undefined {
  return op.nodeWhen && op.args.find((a) => a.name === camel((op.nodeWhen as readonly string[])[0] as string));
}

export function isTensorArg(a: Arg): boolean {
  return a.role.startsWith("Tensor");
}

/** The edges of an operand do not follow from its place where a list stands beside others. */
export function hasListEdges(plan: NodePlan): boolean {
  return plan.targets.length > 1 && plan.targets.some((a) => a.role === "TensorList");
}

function emitClass(plan: NodePlan): string {
  const { op } = plan;
  const out: string[] = [`class ${plan.className} extends Node {`];
  const special = specialArg(op);
  if (hasListEdges(plan)) out.push("  declare counts: readonly number[];");
  const flags = [...(op.inplaceNode ? ["inplace"] : []), ...(special !== undefined ? ["special"] : [])];
  for (const flag of flags) out.push(`  declare ${flag}: boolean;`);
  // Written down, since one that the engine makes passes a list of arguments on; no fields, since each class would have
  // one more function that makes them.
  out.push("  constructor() {", "    super();", ...flags.map((flag) => `    this.${flag} = false;`), "  }");
  const name = (op.node as string).replace(/^.*::/, "");
  const label = special
    ? `this.special ? "${(op.nodeWhen as readonly string[])[1]}" : "${name}"`
    : op.inplaceNode && op.inplaceNode !== name
      ? `this.inplace ? "${op.inplaceNode}" : "${name}"`
      : `"${name}"`;
  out.push("  override get name(): string {", `    return ${label};`, "  }");
  if (name !== op.node) out.push("  override get qualifiedName(): string {", `    return "${op.node}";`, "  }");
  if (op.anyResult) out.push("  override get anyResult(): boolean {", "    return true;", "  }");
  for (const a of plan.values) {
    out.push(`  declare ${a.name}: ${isTensorArg(a) ? "S.Saved" : typeOf(a)};`);
  }
  for (const a of plan.geometry) out.push(`  declare ${a.name}: S.Geometry;`);
  for (const a of plan.both) out.push(`  declare ${geometryName(a)}: S.Geometry;`);
  for (const r of plan.results) out.push(`  declare result${r}: S.Saved;`);
  out.push("  override apply(grads: Gradients): Gradients {");
  const single = !op.listResult && !usesGrads(plan);
  if (single || plan.formulas.some((f) => /\bgrad\b/.test(f.code))) out.push("    const grad = grads[0] as Tensor;");
  if (single) out.push("    if (!grad) return this.nothing();");
  // In torch's order, so that the same one of several written tensors is complained about.
  for (const a of [...plan.values].sort((x, y) => (x.name < y.name ? -1 : 1))) {
    if (!plan.formulas.some((f) => f.uses.has(a.name)) && !keepsWhole(op, a)) continue;
    const value = isTensorArg(a) ? `S.unpack(this.${a.name}, this) as ${typeOf(a)}` : `this.${a.name}`;
    out.push(`    const ${a.name} = ${value};`);
  }
  for (const a of plan.geometry) out.push(`    const ${a.name} = this.${a.name};`);
  for (const a of plan.both) out.push(`    const ${geometryName(a)} = this.${geometryName(a)};`);
  for (const r of plan.results) {
    const name = r === 0 && !usesNumbered(plan) ? "result" : `result${r}`;
    out.push(`    const ${name} = S.unpack(this.result${r}, this) as Tensor;`);
  }
  out.push(...emitBody(plan), "  }");
  const kept = [...plan.values.filter(isTensorArg).map((a) => a.name), ...plan.results.map((r) => `result${r}`)];
  if (kept.length > 0) {
    out.push("  override release(): void {");
    out.push("    super.release();");
    const number = numberKept(plan);
    for (const k of kept) out.push(`    this.${k} = S.drop(this.${k}${k === number ? ", true" : ""});`);
    out.push("  }");
  }
  out.push("}", "");
  return out.join("\n");
}

/**
 * A number that has an overload of its own, where gradients of others read it: it is no tensor in torch, and is not
 * freed.
 */
function numberKept(plan: NodePlan): string | undefined {
  const name = specialArg(plan.op)?.name;
  const readers = plan.formulas.filter((f) => name !== undefined && f.uses.has(name));
  return readers.some((f) => f.targets.some((t) => camel(t) !== name)) ? name : undefined;
}

/** The formula deals with missing gradients itself. */
function usesGrads(plan: NodePlan): boolean {
  return plan.formulas.some((f) => /\bgrads\b/.test(f.code));
}

function usesNumbered(plan: NodePlan): boolean {
  return plan.formulas.some((f) => /\bresult0\b/.test(f.code));
}

/** The same where lists stand beside other operands: the gradients of each are asked for where one is wanted. */
function emitListBody(plan: NodePlan): string[] {
  const cells = plan.targets.map((a) => {
    const f = plan.formulas.find(({ targets }) => camel(targets[0] as string) === a.name) as Formula;
    return `      () => ${a.role === "TensorList" ? f.code : `[${f.code}]`},`;
  });
  return ["    return F.gradientsOfParts(this, this.counts, [", ...cells, "    ]);"];
}

/** One gradient for each edge; a list argument has as many edges as members. */
function emitBody(plan: NodePlan): string[] {
  if (hasListEdges(plan)) return emitListBody(plan);
  const lists = plan.targets.filter((a) => a.role === "TensorList");
  if ((lists.length > 0 || plan.op.listResult) && plan.targets.length === 1) {
    return [`    return ${(plan.formulas[0] as Formula).code};`];
  }
  const single = plan.formulas.every((f) => f.targets.length === 1);
  const index = (name: string): number => plan.targets.findIndex((t) => t.name === camel(name));
  if (single) {
    const rows = [...plan.formulas].sort((a, b) => index(a.targets[0] as string) - index(b.targets[0] as string));
    const needs = plan.formulas.some((f) => f.usesNeeds) ? ["    const needs = this.needsList();"] : [];
    const cells = rows.map((f) => `      this.needs(${index(f.targets[0] as string)}) ? ${f.code} : null,`);
    return [...needs, "    return [", ...cells, "    ];"];
  }
  const out = ["    const needs = this.needsList();", "    const all: Gradients = this.nothing();"];
  for (const f of plan.formulas) {
    const places = f.targets.map(index);
    out.push(`    if (${places.map((i) => `needs[${i}]`).join(" || ")}) {`);
    if (places.length === 1) out.push(`      all[${places[0]}] = ${f.code};`);
    else {
      out.push(`      const part: Gradients = ${f.code};`);
      places.forEach((p, i) => out.push(`      all[${p}] = part[${i}] ?? null;`));
    }
    out.push("    }");
  }
  out.push("    return all;");
  return out;
}

export function emitNodes(model: Model): string {
  const out = [
    'import { type Gradients, Node, named } from "../src/autograd/node.ts";',
    'import { formulas as F } from "../src/autograd/registry.ts";',
    'import * as S from "../src/autograd/saved.ts";',
    'import type { Generator } from "../src/dispatch/generator.ts";',
    'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
    'import type { Scalar } from "../src/tensor/complex.ts";',
    'import type { Device } from "../src/tensor/device.ts";',
    'import type { DType } from "../src/tensor/dtype.ts";',
    'import type { Storage } from "../src/tensor/storage.ts";',
    'import type { Tensor } from "../src/tensor/tensor.ts";',
    "",
  ];
  for (const op of model.ops) {
    const plan = planOf(op, model);
    if (plan !== null) out.push(...emitMaker(plan));
  }
  return out.join("\n");
}

/** A function that makes the class, and one that gives it to whoever records. */
function emitMaker(plan: NodePlan): string[] {
  const name = plan.className;
  return [
    `function make_${name}() {`,
    emitClass(plan)
      .replace(/^(?=.)/gm, "  ")
      .replace("  class", "  return class")
      .replace(/\n$/, ";")
      .trimEnd(),
    "}",
    `let made_${name}: ReturnType<typeof make_${name}> | undefined;`,
    `export function ${name}() {`,
    `  return (made_${name} ??= named(make_${name}(), "${plan.op.fn}"));`,
    "}",
    "",
  ];
}

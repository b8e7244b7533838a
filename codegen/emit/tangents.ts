/** generated/tangents.ts: how the tangent of each operator's result follows from those of its operands. */
import { type Formula, tangentFormulasOf } from "../model/formula.ts";
import { SchemaError } from "../model/literal.ts";
import { type Arg, camel, type Model } from "../model/load.ts";
import { geometryName, geometryRead, isTensorArg, keepsWhole, type NodePlan, planOf } from "./nodes.ts";
import { typeOf } from "./types.ts";

/** What the tangents of some operands, at `places` among the edges, add to that of the result. */
interface Part {
  readonly targets: readonly Arg[];
  readonly formula: Pick<Formula, "uses" | "results" | "usesNeeds">;
  /** What the formula reads of the tangents, and itself. */
  readonly given: readonly string[];
  readonly code: string;
}

/** By the gradient's formulas, one operand after the other. */
function partsOfGradient(plan: NodePlan, given: string, around: (code: string) => string): Part[] {
  return plan.formulas.flatMap((f) =>
    f.targets.map((name, i) => {
      const target = plan.targets.find((a) => a.name === camel(name)) as Arg;
      const code = f.targets.length === 1 ? f.code : `(${f.code} as Gradients)[${i}]`;
      const needs = f.usesNeeds ? ["const needs = node.needsList();"] : [];
      return { targets: [target], formula: f, given: [given, ...needs], code: around(code) };
    }),
  );
}

/** The operator itself, with the tangent in the place of an operand. */
function partsOfOperator(plan: NodePlan): Part[] {
  const { op } = plan;
  return plan.targets.map((target) => {
    const args = op.args.map((a) => (a === target ? "tangent" : a.name));
    const others = op.args.filter((a) => a !== target);
    return {
      targets: [target],
      formula: { uses: new Map(others.map((a) => [a.name, "value" as const])), results: [], usesNeeds: false },
      given: [],
      code: `O.${op.fn}(${args.join(", ")})`,
    };
  });
}

function partsOfFormulas(plan: NodePlan, model: Model): Part[] {
  const { op } = plan;
  return tangentFormulasOf(op, model).map((f) => {
    for (const name of f.targets) {
      if (plan.targets.some((a) => a.name === camel(name))) continue;
      throw new SchemaError(op.where, `op "${op.key}": tangent of "${name}", which has no gradient`);
    }
    const code = plan.both.reduce((text, a) => geometryRead(f, text, a), f.code).replaceAll(/\bthis\b/g, "node");
    return {
      targets: f.targets.map((name) => plan.targets.find((a) => a.name === camel(name)) as Arg),
      formula: f,
      given: [
        ...(f.usesNeeds ? ["const needs = node.needsList();"] : []),
        ...(/\boutputs\b/.test(code) ? ["const outputs = node.outputs as [OutputMeta, ...OutputMeta[]];"] : []),
      ],
      code,
    };
  });
}

function partsOf(plan: NodePlan, model: Model): Part[] {
  const { op } = plan;
  const has = (name: string, otherwise: string) => (op.args.some((a) => a.name === name) ? name : otherwise);
  switch (op.transforms.jvp) {
    case "pointwise":
      return partsOfGradient(
        plan,
        "const grad = T.turned(tangent, node);",
        (code) => `T.turnedBack(${code.replaceAll(/\bthis\b/g, "node")})`,
      );
    case "reduction": {
      const around = (code: string): string =>
        `T.overLines(tangent, ${code}, ${has("dim", "null")}, ${has("keepdim", "false")}, node.outputs)`;
      const parts = partsOfGradient(plan, "const grad = T.onesOf(node);", around);
      const lines = op.args.filter((a) => a.name === "dim" || a.name === "keepdim");
      return parts.map((part) => {
        const uses = new Map([...part.formula.uses, ...lines.map((a) => [a.name, "value"] as const)]);
        return { ...part, formula: { ...part.formula, uses } };
      });
    }
    case "linear":
    case "multilinear":
      return partsOfOperator(plan);
    default:
      return partsOfFormulas(plan, model);
  }
}

/** What the formula reads has to be there already: nothing is saved for tangents but plain arguments. */
function checkSaved(plan: NodePlan, part: Part): void {
  const complain = (what: string): never => {
    const { op } = plan;
    throw new SchemaError(op.where, `op "${op.key}": "jvp" reads ${what}, which its gradients do not save`);
  };
  const wanted = part.targets.map((a) => a.name);
  for (const [name, use] of part.formula.uses) {
    const a = plan.op.args.find((one) => one.name === name) as Arg;
    if (!isTensorArg(a)) continue;
    if (use === "geometry" && (plan.geometry.includes(a) || plan.both.includes(a))) continue;
    const readers = plan.formulas.filter((f) => f.uses.get(name) === "value").flatMap((f) => f.targets.map(camel));
    if (!wanted.some((target) => readers.includes(target)) || keepsWhole(plan.op, a)) complain(`"${name}"`);
  }
  for (const r of part.formula.results) if (!plan.results.includes(r)) complain(`result ${r}`);
}

function emitReads(plan: NodePlan, { formula, code }: Part): string[] {
  const out: string[] = [];
  const names = [...formula.uses.keys()].sort();
  for (const name of names) {
    const a = plan.op.args.find((one) => one.name === name) as Arg;
    const geometry = formula.uses.get(name) === "geometry";
    if (!isTensorArg(a)) out.push(`const ${name} = node.${name};`);
    else if (geometry && plan.both.includes(a)) out.push(`const ${geometryName(a)} = node.${geometryName(a)};`);
    else if (plan.geometry.includes(a)) out.push(`const ${name} = node.${name};`);
    else out.push(`const ${name} = S.unpack(node.${name}, node) as ${typeOf(a)};`);
  }
  for (const r of formula.results) {
    const name = r === 0 && !/\bresult0\b/.test(code) ? "result" : `result${r}`;
    out.push(`const ${name} = S.unpack(node.result${r}, node) as Tensor;`);
  }
  return out;
}

function emitPush(plan: NodePlan, model: Model): string[] {
  const { op } = plan;
  const parts = partsOf(plan, model);
  const { jvp } = op.transforms;
  // What a gradient's formula reads, it has.
  if (jvp !== "pointwise" && jvp !== "reduction") for (const part of parts) checkSaved(plan, part);
  if (parts.length > 1 && op.results !== undefined && parts.some((p) => /^\[/.test(p.code))) {
    throw new SchemaError(op.where, `op "${op.key}": "jvp" gives several results in one formula, or one in several`);
  }
  const place = (a: Arg): number => plan.targets.indexOf(a);
  const body = (part: Part): string[] => [...part.given, ...emitReads(plan, part)];
  const uses = (word: string): boolean => parts.some((p) => new RegExp(`\\b${word}\\b`).test(p.code));
  const out = [
    `function push_${op.fn}(node: Of<typeof N.${plan.className}>, tangents: Tangents${
      uses("through") ? ", through: Through" : ""
    }): Pushed {`,
  ];
  const [only] = parts;
  if (parts.length === 1 && only !== undefined && only.targets.length === plan.targets.length) {
    if (only.targets.length === 1 && /\btangent\b/.test([...only.given, only.code].join("\n"))) {
      out.push(`  const tangent = tangents[${place(only.targets[0] as Arg)}] as Tensor;`);
    }
    out.push(...body(only).map((line) => `  ${line}`), `  return ${only.code};`, "}", "");
    return out;
  }
  out.push("  let sum: Tensor | null = null;");
  for (const part of parts) {
    const [first] = part.targets;
    if (part.targets.length === 1) {
      out.push("  {", `    const tangent = tangents[${place(first as Arg)}] ?? null;`, "    if (tangent !== null) {");
    } else {
      const some = part.targets.map((a) => `tangents[${place(a)}]`).join(" ?? ");
      out.push("  {", `    if ((${some} ?? null) !== null) {`);
    }
    out.push(...body(part).map((line) => `      ${line}`), `      sum = T.plus(sum, ${part.code});`, "    }", "  }");
  }
  out.push("  return sum;", "}", "");
  return out;
}

export function emitTangents(model: Model): string {
  const out = [
    'import * as F from "../src/autograd/formulas.ts";',
    'import { type Gradients, type Node, type OutputMeta, operatorOf } from "../src/autograd/node.ts";',
    'import * as S from "../src/autograd/saved.ts";',
    'import type { Generator } from "../src/dispatch/generator.ts";',
    'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
    'import * as T from "../src/func/tangents.ts";',
    'import type { PushOfClass, Pushed, Tangents, Through } from "../src/func/tangents-common.ts";',
    'import type { Scalar } from "../src/tensor/complex.ts";',
    'import type { Device } from "../src/tensor/device.ts";',
    'import type { DType } from "../src/tensor/dtype.ts";',
    'import type { Storage } from "../src/tensor/storage.ts";',
    'import type { Tensor } from "../src/tensor/tensor.ts";',
    'import type * as N from "./nodes.ts";',
    'import * as O from "./ops.ts";',
    "",
    "type Of<M extends () => abstract new () => Node> = InstanceType<ReturnType<M>>;",
    "",
  ];
  const cases: string[] = [];
  const zero: string[] = [];
  for (const op of model.ops) {
    const plan = planOf(op, model);
    if (plan === null || op.transforms.jvp === "transpose") continue;
    if (op.transforms.jvp === "zero") {
      zero.push(`    case "${op.fn}":`);
      continue;
    }
    out.push(...emitPush(plan, model));
    cases.push(`    case "${op.fn}":`, `      return push_${op.fn};`);
  }
  if (zero.length > 0) cases.push(...zero, "      return T.nothing;");
  out.push("/** How tangents go through a node; undefined where that is by its transposition. */");
  out.push("export function pushOf(node: Node): PushOfClass | undefined {", "  switch (operatorOf(node)) {");
  out.push(...cases, "  }", "  return undefined;", "}", "");
  return out.join("\n");
}

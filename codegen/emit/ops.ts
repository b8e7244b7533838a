/** generated/ops.ts: every overload with all arguments given, its in-place form, and its recording for autograd. */
import { SchemaError } from "../model/literal.ts";
import { type Arg, camel, type Model, type Op } from "../model/load.ts";
import { lateTable, line } from "./lines.ts";
import { geometryName, hasListEdges, isTensorArg, keepsWhole, type NodePlan, planOf, specialArg } from "./nodes.ts";
import { refusalsOf } from "./refusals.ts";
import { symbolOf } from "./symbols.ts";
import { typeOf } from "./types.ts";

export const isMulti = (op: Op): boolean =>
  op.results !== undefined || op.listResult === true || op.returns === "Tensor[]";

export function resultType(op: Op): string {
  if (op.listResult) return "Tensor[]";
  if (op.results !== undefined) return `Named<readonly ${JSON.stringify(op.results)}>`;
  return op.returns ?? "Tensor";
}

const has = (op: Op, v: string): boolean => (op.variants as readonly string[]).includes(v);

function moduleOf(impl: string): [string, string] {
  const [module, fn] = impl.split(".");
  return [module as string, fn as string];
}

/** A call with the arguments that the function takes: `out` and whether the call is in place may be left out. */
function call(op: Op, model: Model, target: string, key: string, args: readonly string[], tail: string[]): string {
  const takes = model.arities.get(key);
  if (takes === undefined) throw new SchemaError(op.where, `there is no function ${key}`);
  const all = [...args, ...tail];
  // Whether the result wants gradients is seen to here.
  const needed = args.at(-1) === "requiresGrad" ? args.length - 1 : args.length;
  if (takes < needed || takes > all.length) {
    throw new SchemaError(op.where, `${key} takes ${takes} arguments, "${op.key}" has ${needed} to ${all.length}`);
  }
  return `${target}(${all.slice(0, takes).join(", ")})`;
}

/** The expression that computes: all arguments, then out and whether the call is in place. */
function forward(op: Op, model: Model, out: string, inplace: boolean): string {
  const args = op.args.map((a) => a.name);
  if (op.kind === "composite") {
    const [, fn] = moduleOf(op.impl as string);
    const tail = has(op, "out") || has(op, "inplace") ? [out] : [];
    return call(op, model, `$C.${fn}`, `composites.${fn}`, args, tail);
  }
  if (op.impl !== undefined) {
    const [module, fn] = moduleOf(op.impl);
    const tail = op.kind === "view" ? [String(inplace)] : op.kind === "factory" ? [] : [out, String(inplace)];
    if (op.kind === "factory" && has(op, "out")) tail.push(out);
    return call(op, model, `$${module}.${fn}`, `${module}.${fn}`, args, tail);
  }
  const p = `P_${op.fn}`;
  const tensors = op.args.filter(isTensorArg).map((a) => a.name);
  if (op.attrs !== undefined) {
    const names = op.attrs.map(camel).join(", ");
    return `$pointwise.withAttrs(${p}, [${tensors.join(", ")}], [${names}], ${out}, ${inplace})`;
  }
  if (tensors.length <= 2 && op.args.length === tensors.length) {
    const caller = tensors.length === 1 ? "unary" : "binary";
    return `$pointwise.${caller}(${[p, ...tensors, out, String(inplace)].join(", ")})`;
  }
  return `$pointwise.general(${p}, [${tensors.join(", ")}], ${out}, ${inplace})`;
}

function tracked(plan: NodePlan): string {
  const tests = plan.targets.map((a) => {
    if (a.role === "Tensor") return `requiresGrad(${a.name})`;
    return `$T.tracks(${a.name})`;
  });
  return `gradMode.enabled && (${tests.join(" || ")})`;
}

/** When the formulas that read what is saved of an argument run: null where that is always. */
function wantedBy(plan: NodePlan, a: Arg): string | null {
  if (keepsWhole(plan.op, a)) return `node.needs(${plan.targets.indexOf(a)})`;
  const reads = (use: string | undefined): boolean => use === "value" || (use !== undefined && !plan.both.includes(a));
  const readers = plan.formulas.filter((f) => reads(f.uses.get(a.name))).flatMap((f) => f.targets.map(camel));
  const targets = plan.targets.filter((t) => readers.includes(t.name));
  if (targets.length === plan.targets.length) return null;
  if (plan.targets.some((t) => t.role === "TensorList")) {
    return targets.map((t) => (t.role === "Tensor" ? `requiresGrad(${t.name})` : `$T.tracks(${t.name})`)).join(" || ");
  }
  return targets.map((t) => `node.needs(${plan.targets.indexOf(t)})`).join(" || ");
}

/** Statements that make the node and connect it. */
function connecting(plan: NodePlan, inplace: boolean): string[] {
  const out = [`const node = new ($N.${plan.className}())();`];
  if (inplace && plan.op.inplaceNode) out.push("node.inplace = true;");
  const special = specialArg(plan.op);
  if (special !== undefined) {
    const test = special.role.startsWith("Tensor|") ? `$T.isTensor(${special.name})` : `${special.name} !== null`;
    out.push(`if (${test}) node.special = true;`);
  }
  if (hasListEdges(plan)) {
    const counts = plan.targets.map((a) => (a.role === "TensorList" ? `${a.name}.length` : "1"));
    out.push(`node.counts = [${counts.join(", ")}];`);
  }
  out.push(`$T.connect(node, [${plan.targets.map((a) => a.name).join(", ")}]);`);
  return out;
}

/** Statements that keep what the node's formulas need, before the computation runs. */
function saving(plan: NodePlan, inplace: boolean): string[] {
  const out: string[] = [];
  for (const a of plan.values) {
    const self = inplace && a === plan.op.args[0];
    if (!isTensorArg(a)) out.push(`node.${a.name} = ${a.name};`);
    else {
      const kept = self ? `$T.saveOriginal(${a.name})` : `$S.save(${a.name})`;
      const wanted = wantedBy(plan, a);
      out.push(`node.${a.name} = ${wanted === null ? kept : `${wanted} ? ${kept} : null`};`);
    }
  }
  for (const a of plan.geometry) out.push(`node.${a.name} = $S.geometry(${a.name});`);
  for (const a of plan.both) out.push(`node.${geometryName(a)} = $S.geometry(${a.name});`);
  return out;
}

function afterCall(plan: NodePlan, result: string): string[] {
  return plan.results.map((r) => {
    const member = isMulti(plan.op) ? `${result}[${r}] as Tensor` : result;
    return `node.result${r} = $S.saveResult(${member}, node, ${r});`;
  });
}

function params(op: Op, withOut: boolean): string {
  const list = op.args.map((a) => `${a.name}: ${typeOf(a)}`);
  if (withOut) list.push(isMulti(op) ? "out?: readonly Tensor[]" : "out?: Tensor");
  return list.join(", ");
}

const INDEX_ROLES = ["Tensor|Index", "Tensor|Index?", "Tensor?[]"];

/** Places of the operands whose devices are compared; null where there is one operand only. */
function devicePlaces(op: Op, written: "out" | "self" | null): readonly (readonly number[])[] | null {
  if (op.anyDevice || (op.kind !== "op" && op.kind !== "pointwise")) return null;
  const tensors = op.args.filter(isTensorArg);
  const placeOf = (a: Arg): number => op.args.indexOf(a);
  const indices = tensors.filter((a) => INDEX_ROLES.includes(a.role)).map(placeOf);
  const operands = tensors.filter((a) => !INDEX_ROLES.includes(a.role)).map(placeOf);
  // The first operand of an in-place form is a number for the others when it is a single element, but is written.
  const further = (op.writes ?? []).map((name) => op.args.findIndex((a) => a.name === camel(name)));
  const results =
    written === "self" ? [...operands.slice(0, 1), ...further] : written === "out" ? [op.args.length] : [];
  const lists = tensors.some((a) => a.role === "TensorList");
  const many = operands.length + indices.length + (written === "out" ? 1 : 0) > 1;
  return lists || many ? [operands, results, indices] : null;
}

/** What torch calls the functions that compare the devices of a form's operands, without and with `out`. */
function checkers(op: Op, suffix: string): readonly string[] | null {
  if (op.checkedAs === undefined) return null;
  const { by, name, overload = op.overload ?? "" } = op.checkedAs;
  const join = (fn: string, overload: string): string => {
    if (by === "kernel") return `${overload}_${fn}`;
    return overload === "" ? fn : `${fn}_${overload}`;
  };
  const fn = name ?? `${op.name}${suffix}`;
  const names = [join(fn, overload)];
  if (suffix === "" && has(op, "out")) names.push(join(`${name ?? op.name}_out`, overload ? `${overload}_out` : "out"));
  return names;
}

/** The place of the argument that says where a fresh result is made. */
function madeOn(op: Op): number | null {
  const at = op.args.findIndex((a) => a.role === "Device?");
  return at < 0 || op.movesTo ? null : at;
}

type Form = "plain" | "inplace";

/** The arguments of a form. */
function formArgs(op: Op, form: Form): string[] {
  const names = op.args.map((a) => a.name);
  return form === "plain" && has(op, "out") ? [...names, "out"] : names;
}

/** The line that describes a form, as `operatorTable` of src/dispatch/seam.ts reads it. */
function description(op: Op, form: Form): string {
  const suffix = form === "inplace" ? "_" : "";
  const devices = devicePlaces(op, form === "inplace" ? "self" : has(op, "out") ? "out" : null);
  return line(`${op.fn}${suffix}`, [
    `${op.name}${suffix}`,
    op.publicName,
    op.overload ?? "",
    op.kind,
    formArgs(op, form),
    devices,
    madeOn(op),
    checkers(op, suffix),
    op.namespace ?? null,
  ]);
}

/** The statement with which a form begins. */
function seam(op: Op, form: Form): string {
  const suffix = form === "inplace" ? "_" : "";
  const type = form === "inplace" ? inplaceType(op) : resultType(op);
  const fn = `${op.fn}${suffix}`;
  const attend = `$A.attend($O("${fn}", ${fn}), [${formArgs(op, form).join(", ")}])`;
  return `  if ($A.attention.bits !== 0) { const r = ${attend}; if (r !== $A.PROCEED) return r as ${type}; }`;
}

/** An in-place form gives back the tensor that it wrote, and of a list nothing. */
function inplaceType(op: Op): string {
  return op.args[0]?.role === "TensorList" ? "void" : "Tensor";
}

/** Statements of an operator written with others: what those gave it, but for its result, is its own. */
function givingUp(call: string, type: string): string[] {
  return [
    `  if (!$G.begin()) return ${call};`,
    `  let r: ${type};`,
    `  try { r = ${call}; } catch (e) { $G.leaveAll(); throw e; }`,
    "  return $G.finish(r);",
  ];
}

/** Statements that refuse arguments which require gradients and have none. */
function constants(op: Op): string[] {
  if (op.constants === undefined) return [];
  const list = op.constants.map((name) => `["${name}", ${camel(name)}]`);
  return [`  if (gradMode.enabled) $T.requireConstants("${op.name.replace(/^_/, "")}", [${list.join(", ")}]);`];
}

/** The statement that refuses a complex result of an operator that autograd follows. */
function realGradients({ realGradients, name }: Op, result: string): string[] {
  if (!realGradients) return [];
  return [`  $T.requireReal("${realGradients === true ? name : realGradients}", ${result});`];
}

function emitPlain(op: Op, plan: NodePlan | null, model: Model): string[] {
  const withOut = has(op, "out");
  const outName = withOut ? "out" : "undefined";
  const type = resultType(op);
  const lines = [`export function ${op.fn}(${params(op, withOut)}): ${type} {`, seam(op, "plain")];
  const inputs = op.args.filter(isTensorArg).map((a) => a.name);
  if (withOut && op.kind !== "composite") {
    lines.push("  if (out !== undefined) {");
    // Without formulas torch leaves gradients aside.
    if (op.grad !== "none" && !op.inplaceGradOnly && op.node !== "NotImplemented") {
      lines.push(`    $T.checkOut("${op.name}", out, [${inputs.join(", ")}]);`);
    }
    lines.push(`    return $T.finishOut(${forward(op, model, "out", false)}, out) as ${type};`, "  }");
  }
  const call = forward(op, model, op.kind === "composite" ? outName : "undefined", false);
  if (op.kind === "composite" && !op.direct) lines.push(...givingUp(call, type));
  else if (plan === null) {
    const leaf = op.kind === "factory" && op.args.some((a) => a.name === "requiresGrad");
    lines.push(leaf ? `  return $T.leaf(${call}, requiresGrad);` : `  return ${call};`);
  } else {
    lines.push(...constants(op), `  if (!(${tracked(plan)})) return ${call};`);
    for (const s of [...connecting(plan, false), ...saving(plan, false)]) lines.push(`  ${s}`);
    lines.push(`  const r = ${call};`);
    lines.push(...realGradients(op, isMulti(op) ? "r[0] as Tensor" : "r"));
    for (const s of afterCall(plan, "r")) lines.push(`  ${s}`);
    const finish = op.kind === "view" ? "$T.recordView" : "$T.record";
    const skip = op.nonDifferentiable ? `, ${JSON.stringify(op.nonDifferentiable)}` : "";
    lines.push(`  return ${finish}(r, node${skip});`);
  }
  lines.push("}", "");
  return lines;
}

/** An in-place form that writes a list, or several arguments, and has no gradient. */
function emitWriting(op: Op, model: Model): string[] {
  const [self, ...rest] = op.args as [Arg, ...Arg[]];
  const isWritten = (a: Arg): boolean => a === self || (op.writes ?? []).some((name) => camel(name) === a.name);
  const names = (list: readonly Arg[]): string => list.map((a) => a.name).join(", ");
  const written = names([self, ...rest].filter(isWritten));
  const read = names(rest.filter((a) => isTensorArg(a) && !isWritten(a)));
  const list =
    inplaceType(op) === "void" ? params(op, false) : params(op, false).replace(/^(\w+): [^,]+/, "$1: Tensor");
  return [
    `export function ${op.fn}_(${list}): ${inplaceType(op)} {`,
    seam(op, "inplace"),
    `  $T.checkWritten("${op.name}_", [${written}], [${read}]);`,
    `  ${forward(op, model, self.name, true)};`,
    `  $T.changed([${written}]);`,
    ...(inplaceType(op) === "void" ? [] : [`  return ${self.name};`]),
    "}",
    "",
  ];
}

function emitInplace(op: Op, plan: NodePlan | null, model: Model): string[] {
  if (inplaceType(op) === "void" || op.writes !== undefined) return emitWriting(op, model);
  const self = (op.args[0] as Arg).name;
  const list = params(op, false).replace(/^(\w+): [^,]+/, "$1: Tensor");
  const lines = [`export function ${op.fn}_(${list}): Tensor {`, seam(op, "inplace")];
  const geometryOnly = op.kind === "view";
  if (op.kind === "composite") {
    lines.push(`  return $C.${moduleOf(op.impl as string)[1]}_(${op.args.map((a) => a.name).join(", ")});`, "}", "");
    return lines;
  }
  const others = op.args
    .slice(1)
    .filter(isTensorArg)
    .map((a) => a.name);
  const check = `$T.checkInplace(${self}${others.length > 0 ? `, [${others.join(", ")}]` : ""});`;
  const call = geometryOnly
    ? `$T.adoptGeometry(${self}, ${forward(op, model, "", true)})`
    : forward(op, model, self, true);
  const write =
    op.kind === "pointwise" && !op.checksFirst
      ? [
          `  if (!${self}._contiguous || ${self}._storage.claims > 1) {`,
          `    $pointwise.checkWrite(${[self, ...others].join(", ")});`,
          "  }",
        ]
      : [];
  if (plan === null) {
    lines.push(
      ...(op.promote === "bool" ? [] : [`  ${check}`]),
      ...write,
      `  ${call};`,
      `  ${self}._version.value++;`,
      `  return ${self};`,
      "}",
      "",
    );
    return lines;
  }
  lines.push(`  if (!(${tracked(plan)})) {`, ...write.map((w) => `  ${w}`), `    ${call};`);
  lines.push(`    ${self}._version.value++;`, `    return ${self};`, "  }");
  const [before, after] = [connecting(plan, true), saving(plan, true)];
  lines.push(
    `  ${check}`,
    ...realGradients(op, self),
    ...before.map((s) => `  ${s}`),
    ...write,
    ...after.map((s) => `  ${s}`),
  );
  lines.push(`  ${call};`, `  ${self}._version.value++;`);
  lines.push(`  $T.${geometryOnly ? "rebaseView" : "rebaseHistory"}(${self}, node);`);
  for (const s of afterCall(plan, self)) lines.push(`  ${s}`);
  lines.push(`  return ${self};`, "}", "");
  return lines;
}

function pointwiseConstant(op: Op, model: Model): string {
  const kernel = symbolOf(op.kernels?.cpu[0] as string).slice(5);
  const rule = `$pointwise.RULES.${op.promote}`;
  const fields = [
    `name: "${op.publicName}"`,
    `kernel: $K.${kernel}`,
    `rule: ${rule}`,
    `refuses: ${op.refuses === undefined ? "null" : JSON.stringify(refusalsOf(op, model))}`,
  ];
  if (op.exactOut) fields.push("exactOut: true");
  if (op.wide !== undefined) fields.push(`wide: ${op.wide}`);
  return `export const P_${op.fn} = { ${fields.join(", ")} } as const;`;
}

export function emitOps(model: Model): string {
  const modules = new Set<string>();
  const body: string[] = [];
  const described: string[] = [];
  for (const op of model.ops) {
    const plan = planOf(op, model);
    if (op.impl !== undefined && op.kind !== "composite") modules.add(moduleOf(op.impl)[0]);
    if (op.kind === "pointwise" && op.impl === undefined) body.push(pointwiseConstant(op, model), "");
    const writesOnly = op.internal && op.variants.length === 1 && has(op, "inplace");
    if (has(op, "function") || has(op, "method") || has(op, "property") || (op.internal && !writesOnly)) {
      body.push(...emitPlain(op, op.inplaceGradOnly ? null : plan, model));
      described.push(description(op, "plain"));
    }
    if (has(op, "inplace")) {
      body.push(...emitInplace(op, plan, model));
      described.push(description(op, "inplace"));
    }
  }
  modules.add("pointwise");
  const head = [
    'import { composites as $C } from "../src/autograd/registry.ts";',
    'import * as $S from "../src/autograd/saved.ts";',
    'import * as $T from "../src/autograd/tracking.ts";',
    ...[...modules].sort().map((m) => `import * as $${m} from "../src/dispatch/${m.replaceAll("_", "-")}.ts";`),
    'import * as $A from "../src/dispatch/seam.ts";',
    'import { gradMode, requiresGrad } from "../src/dispatch/mode.ts";',
    'import type { Named } from "../src/dispatch/named.ts";',
    'import type { Generator } from "../src/dispatch/generator.ts";',
    'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
    'import type { Scalar } from "../src/tensor/complex.ts";',
    'import type { Device } from "../src/tensor/device.ts";',
    'import type { DType } from "../src/tensor/dtype.ts";',
    'import type { UntypedStorage } from "../src/tensor/storage.ts";',
    'import type { TypedStorageLike } from "../src/tensor/storage-types.ts";',
    'import * as $G from "../src/tensor/temporaries.ts";',
    'import type { Tensor } from "../src/tensor/tensor.ts";',
    'import * as $K from "./kernels.ts";',
    'import * as $N from "./nodes.ts";',
    "",
    "// Each function checks and computes what its schema entry says; the arguments follow the entry.",
    "",
  ];
  return [...head, ...body, ...lateTable("$O", described, "$A.operatorTable")].join("\n");
}

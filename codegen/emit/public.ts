/** generated/functional.ts, namespaces.ts, method-functions.ts and methods.ts: what users call, with documentation. */
import type { Arg, Model, Op } from "../model/load.ts";
import { placesOf } from "../model/places.ts";
import { docOf } from "./docs.ts";
import { lateTable, line } from "./lines.ts";
import { resultType } from "./ops.ts";
import { isGathered, isSize, type OptionTypes } from "./options.ts";
import { declared, optionTypesOf } from "./signatures.ts";
import { typeOf } from "./types.ts";

const has = (op: Op, v: string): boolean => (op.variants as readonly string[]).includes(v);

export interface Group {
  readonly name: string;
  readonly namespace: string;
  readonly ops: readonly Op[];
}

/** Public names with their overloads, one list for each namespace. */
export function groupsOf(model: Model, wanted: (op: Op) => boolean): Group[] {
  const groups = new Map<string, { name: string; namespace: string; ops: Op[] }>();
  for (const op of model.ops) {
    if (op.internal) continue;
    for (const place of placesOf(op).filter((one) => wanted(one.op))) {
      const { name, namespace } = place;
      const key = `${namespace}/${name}`;
      const g = groups.get(key) ?? { name, namespace, ops: [] };
      g.ops.push(place.op);
      groups.set(key, g);
    }
  }
  return [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Roles that a hot operator's arguments may have; others are converted by the argument table. */
const DIRECT = new Set(["Tensor", "Tensor?", "Tensor|Scalar", "Tensor|Scalar?"]);

const RESERVED = new Set(["var", "in", "new", "default", "delete", "with"]);
/** One to three tensors (or numbers) and options: the shape of most hot operators. */
function isSimple(ops: readonly Op[]): boolean {
  if (ops.length !== 1) return false;
  const op = ops[0] as Op;
  if (op.kind === "factory" || op.kind === "composite") return false;
  return op.args.every((a) => (a.byName ? a.fallback !== undefined : DIRECT.has(a.role) && a.fallback === undefined));
}

/** The line of a group's overloads, as `overloadTable` of src/dispatch/arguments.ts reads it. */
function overloadsLine(group: Group, inplace: boolean): string {
  const rows = group.ops.map((op) => {
    const roleOf = (a: Arg): string => (isGathered(op, a) ? "Tensors" : a.role);
    const args = op.args.map((a) => [a.name, roleOf(a), ...(a.fallback === undefined ? [] : [JSON.parse(a.fallback)])]);
    const positional = op.args.filter((a) => !a.byName).length;
    const out = !inplace && has(op, "out") ? (op.results?.length ?? 1) : 0;
    return [args, positional, out, ...(op.kind === "factory" ? [true] : [])];
  });
  return line(localName(group, inplace), rows);
}

/** The expression that gives a group's overloads. */
function overloadsOf(group: Group, inplace: boolean): string {
  const name = localName(group, inplace);
  const functions = group.ops.map((op) => `O.${op.fn}${inplace ? "_" : ""}`);
  return `$T("${name}", [${functions.join(", ")}])`;
}

function localName(group: Group, inplace: boolean): string {
  const base = group.namespace ? `${group.namespace.replace(/\W/g, "_")}_${group.name}` : group.name;
  return `${base}${RESERVED.has(base) ? "_of" : ""}${inplace ? "_" : ""}`;
}

function simpleBody(op: Op, name: string, inplace: boolean, overloads: string): string[] {
  const tensors = op.args.filter((a) => !a.byName);
  const named = op.args.filter((a) => a.byName);
  const out = !inplace && has(op, "out");
  const head = [...tensors.map((a, i) => `${a.name}${i > 0 ? "?" : ""}: unknown`), "options?: unknown"].join(", ");
  const given = tensors.map((a) => a.name).join(", ");
  const fn = `O.${op.fn}${inplace ? "_" : ""}`;
  const lines = [`(${head}): ${inplace ? "Tensor" : resultType(op)} {`];
  for (const a of tensors) {
    // What an in-place form writes is a tensor, whatever the plain form takes.
    const check =
      a.role === "Tensor" || (inplace && a === tensors[0])
        ? "tensor"
        : a.role.endsWith("?")
          ? "operandOrNull"
          : "operand";
    if (a.role.endsWith("?")) lines.push(`  ${a.name} ??= null;`);
    lines.push(
      `  if (!(${a.name} instanceof Tensor)) {`,
      `    if (A.goesByTable(${a.name})) return A.byName("${name}", ${overloads}, [${given}, options]);`,
      `    A.${check === "tensor" ? "bad" : check}("${name}", "${a.name}", ${a.name});`,
      "  }",
    );
  }
  if (!inplace && !op.ofNumbers && tensors.every((a) => a.role === "Tensor|Scalar")) {
    const none = tensors.map((a) => `!(${a.name} instanceof Tensor)`).join(" && ");
    lines.push(`  if (${none}) A.bad("${name}", "${(tensors[0] as Arg).name}", ${(tensors[0] as Arg).name});`);
  }
  const plain = [...tensors.map((a) => a.name), ...named.map((a) => a.fallback as string)];
  lines.push(`  if (options === undefined) return ${fn}(${plain.join(", ")});`);
  const keys = [...named.map((a) => a.name), ...(out ? ["out"] : [])];
  lines.push(
    `  if (!A.knowsAll("${name}", options, ${JSON.stringify(keys)})) {`,
    `    return A.byName("${name}", ${overloads}, [${given}, options]);`,
    "  }",
  );
  const full = [
    ...tensors.map((a) => a.name),
    ...named.map((a) => `A.option<${typeOf(a)}>("${name}", options, "${a.name}", "${a.role}", ${a.fallback})`),
    ...(out ? [`A.outOption("${name}", options)`] : []),
  ];
  lines.push(`  return ${fn}(${full.join(", ")});`, "}");
  return lines;
}

/** Roles that take a plain value as it is, and the test for one. */
const PLAIN: Record<string, (x: string) => string> = {
  Tensor: (x) => `${x} instanceof Tensor`,
  Int: (x) => `A.isInt(${x})`,
  Dim: (x) => `A.isInt(${x})`,
  Dims: (x) => `A.isInt(${x})`,
  "Dims?": (x) => `A.isInt(${x})`,
  Bool: (x) => `typeof ${x} === "boolean"`,
  DType: (x) => `A.isDType(${x})`,
};

const positionalOf = (op: Op): Arg[] => op.args.filter((a) => !a.byName);
const requiredOf = (op: Op): number => positionalOf(op).filter((a) => a.fallback === undefined).length;

/** True when the call of `count` positional arguments might be meant for this overload. */
function mayTake(op: Op, count: number): boolean {
  return (
    positionalOf(op).some((a) => isSize(a) || isGathered(op, a)) ||
    (requiredOf(op) <= count && count <= positionalOf(op).length)
  );
}

/**
 * Calls with plain positional arguments go straight to their overload, past the table. Only those forms are here
 * that no earlier overload could take.
 */
function plainForms(ops: readonly Op[], inplace: boolean): string[] {
  const lines: string[] = [];
  ops.forEach((op, j) => {
    const fn = `O.${op.fn}${inplace ? "_" : ""}`;
    const positional = positionalOf(op);
    const others = op.args.filter((a) => a.byName).map((a) => a.fallback);
    if (others.some((x) => x === undefined)) return;
    const tests = (count: number) => positional.slice(0, count).map((a, i) => PLAIN[a.role]?.(`args[${i}]`));
    const last = positional.length - 1;
    if (last >= 0 && isSize(positional[last] as Arg)) {
      const heads = tests(last);
      if (j > 0 || heads.some((x) => x === undefined)) return;
      const given = positional.slice(0, last).map((_, i) => `args[${i}]`);
      const call = `${fn}(${[...given, "size", ...others].join(", ")})`;
      lines.push(`  const size = A.plainSize(args, ${last});`);
      lines.push(`  if (${["size !== null", ...heads].join(" && ")}) return ${call};`);
      return;
    }
    for (let count = Math.max(1, requiredOf(op)); count <= positional.length; count++) {
      const checks = tests(count);
      const open = checks.some((x) => x === undefined);
      if (open || ops.slice(0, j).some((earlier) => mayTake(earlier, count))) continue;
      const values = positional.map((a, i) => (i < count ? `args[${i}]` : a.fallback));
      const call = `${fn}(${[...values, ...others].join(", ")})`;
      lines.push(`  if (${[`args.length === ${count}`, ...checks].join(" && ")}) return ${call};`);
    }
  });
  return lines;
}

function emitFunction(types: OptionTypes, group: Group, inplace: boolean, exported: boolean, rows: string[]): string[] {
  const name = `${group.name}${inplace ? "_" : ""}`;
  const local = localName(group, inplace);
  const keyword = exported ? "export function" : "function";
  const lines: string[] = [];
  const overloads = overloadsOf(group, inplace);
  rows.push(overloadsLine(group, inplace));
  lines.push(...declared(types, group, `${keyword} ${local}`, "", false, inplace));
  if (isSimple(group.ops)) {
    const body = simpleBody(group.ops[0] as Op, name, inplace, overloads);
    lines.push(`${keyword} ${local}${body[0]}`, ...body.slice(1), "");
  } else {
    const result = [...new Set(group.ops.map((op) => (inplace ? "Tensor" : resultType(op))))].join(" | ");
    lines.push(`${keyword} ${local}(...args: unknown[]): ${result} {`, ...plainForms(group.ops, inplace));
    lines.push(`  return A.call<${result}>("${name}", ${overloads}, args);`, "}", "");
  }
  return lines;
}

/** The types of the objects in which arguments are named. */
export function emitOptions(model: Model): string {
  const tensor = 'import type { Tensor } from "../src/tensor/tensor.ts";';
  return [...TYPES, tensor, "", ...optionTypesOf(model).lines()].join("\n");
}

/** The types that signatures name. */
const TYPES = [
  'import type { Either, IndexList, Layout, Some } from "../src/dispatch/arguments.ts";',
  'import type { Generator } from "../src/dispatch/generator.ts";',
  'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
  'import type { Named } from "../src/dispatch/named.ts";',
  'import type { Scalar } from "../src/tensor/complex.ts";',
  'import type { DeviceLike } from "../src/tensor/device.ts";',
  'import type { DTypeLike } from "../src/tensor/dtype.ts";',
  'import type { OfDType } from "../src/tensor/of-dtype.ts";',
  'import type { UntypedStorage } from "../src/tensor/storage.ts";',
  'import type { TypedStorageLike } from "../src/tensor/storage-types.ts";',
];

/** Lines of a file that names types of options, with their import. */
function withOptions(types: OptionTypes, lines: readonly string[]): string {
  const text = lines.join("\n");
  const names = types.names().filter((name) => new RegExp(`\\b${name}\\b`).test(text));
  const list = names.map((name) => `  ${name},`);
  return [...(list.length === 0 ? [] : ["import type {", ...list, '} from "./options.ts";']), text].join("\n");
}

const HEAD = [
  'import * as A from "../src/dispatch/arguments.ts";',
  ...TYPES,
  'import type { Td } from "../src/tensordict/core/state.ts";',
  'import { type BoolTensor, Tensor } from "../src/tensor/tensor.ts";',
  'import * as O from "./ops.ts";',
  "",
];

const callable = (op: Op): boolean => has(op, "function") || has(op, "method");

/** True when users call this group as a function of the main namespace. */
function isFunction(group: Group): boolean {
  return group.namespace === "" && group.ops.some((op) => has(op, "function"));
}

/** The functions of the main namespace. */
export function emitFunctional(model: Model): string {
  const out = [...HEAD];
  const rows: string[] = [];
  for (const g of groupsOf(model, callable)) {
    const ops = g.ops.filter((op) => has(op, "function"));
    if (!isFunction(g)) continue;
    const reserved = RESERVED.has(g.name);
    out.push(...emitFunction(optionTypesOf(model), { ...g, ops }, false, !reserved, rows));
    if (reserved) out.push(`export { ${localName(g, false)} as ${g.name} };`, "");
  }
  return withOptions(optionTypesOf(model), [...out, ...lateTable("$T", rows, "A.overloadTable")]);
}

/** What methods call that is no function of the main namespace: method-only operators and in-place forms. */
export function emitMethodFunctions(model: Model): string {
  const out = [...HEAD];
  const rows: string[] = [];
  for (const g of groupsOf(model, (op) => has(op, "method") || has(op, "inplace"))) {
    if (g.namespace !== "") continue;
    const shown = g.ops.filter((op) => has(op, "method"));
    const same = shown.length > 0 && shown.every((op) => has(op, "function")) && isSameGroup(model, g, shown);
    if (shown.length > 0 && !same)
      out.push(...emitFunction(optionTypesOf(model), { ...g, ops: shown }, false, true, rows));
    const writing = g.ops.filter((op) => has(op, "inplace"));
    if (writing.length > 0) out.push(...emitFunction(optionTypesOf(model), { ...g, ops: writing }, true, true, rows));
  }
  return withOptions(optionTypesOf(model), [...out, ...lateTable("$T", rows, "A.overloadTable")]);
}

/** True when the function of this name has just the overloads of the method. */
function isSameGroup(model: Model, g: Group, shown: readonly Op[]): boolean {
  const places = model.ops.filter((op) => !op.internal).flatMap(placesOf);
  const all = places.filter((one) => one.namespace === g.namespace && one.name === g.name && has(one.op, "function"));
  return all.length === shown.length;
}

/** What namespaces are called in messages, where that is not their path. */
const SHORT: Readonly<Record<string, string>> = { "nn.functional": "F" };

/** The functions of the other namespaces. */
export function emitNamespaces(model: Model): string {
  const out = [...HEAD];
  const rows: string[] = [];
  const namespaces = new Map<string, [name: string, local: string][]>();
  for (const g of groupsOf(model, (op) => callable(op) || has(op, "inplace"))) {
    if (g.namespace === "") continue;
    const list = namespaces.get(g.namespace) ?? [];
    const shown = g.ops.filter(callable);
    if (shown.length > 0) {
      out.push(...emitFunction(optionTypesOf(model), { ...g, ops: shown }, false, true, rows));
      list.push([g.name, localName(g, false)]);
    }
    const writing = g.ops.filter((op) => has(op, "inplace"));
    if (writing.length > 0) {
      out.push(...emitFunction(optionTypesOf(model), { ...g, ops: writing }, true, true, rows));
      list.push([`${g.name}_`, localName(g, true)]);
    }
    namespaces.set(g.namespace, list);
  }
  for (const [namespace, list] of namespaces) {
    const id = namespace.replace(/\W/g, "_");
    const names = list.map(([name]) => name).join(" ");
    out.push(
      `function ${id}_member(name: string): unknown {`,
      "  switch (name) {",
      ...list.map(([name, local]) => `    case "${name}": return ${local};`),
      "  }",
      "  return undefined;",
      "}",
      "",
      "/** For the compiler, and for what reads its types. */",
      `function ${id}_all() {`,
      `  return { ${list.map(([name, local]) => `${name}: ${local}`).join(", ")} } as const;`,
      "}",
      "",
      // Of many functions each has a page of its own on the API site.
      `/** The functions of torch.${namespace}.${list.length > 60 ? " @namespace" : ""} */`,
      `export const namespace_${id} = tellMissingFunctions(`,
      `  "${SHORT[namespace] ?? namespace}",`,
      `  lateNamespace("${names}", ${id}_member, ${id}_all),`,
      ");",
      "",
    );
  }
  const head = [
    'import { lateNamespace } from "../src/tensor/late-members.ts";',
    'import { tellMissingFunctions } from "../src/tensor/missing.ts";',
  ];
  return withOptions(optionTypesOf(model), [...head, ...out, ...lateTable("$T", rows, "A.overloadTable")]);
}

export function emitMethods(model: Model): string {
  const out = [
    ...TYPES,
    'import type { Unchecked } from "../src/dispatch/arguments.ts";',
    'import type { Member } from "../src/tensor/late-members.ts";',
    'import type { BoolTensor, Tensor } from "../src/tensor/tensor.ts";',
    'import * as F from "./functional.ts";',
    'import * as M from "./method-functions.ts";',
    "",
    "",
    "/** The operators that are methods of Tensor. */",
    "export interface TensorMethods {",
  ];
  const install: string[] = [];
  const members: string[] = [];
  const types = optionTypesOf(model);
  for (const g of groupsOf(model, (op) => op.namespace === undefined)) {
    const methods = g.ops.filter((op) => has(op, "method"));
    const writing = g.ops.filter((op) => has(op, "inplace"));
    const properties = g.ops.filter((op) => has(op, "property"));
    if (methods.length > 0) {
      out.push(...declared(types, { name: g.name, ops: methods }, g.name, "  ", true, false));
      const own = !(methods.every((op) => has(op, "function")) && isSameGroup(model, g, methods));
      const target = own ? `M.${localName(g, false)}` : `F.${g.name}`;
      install.push(...methodOf(g.name, target, isSimple(methods) ? (methods[0] as Op) : null));
      members.push(g.name);
    }
    if (writing.length > 0) {
      out.push(...declared(types, { name: g.name, ops: writing }, `${g.name}_`, "  ", true, true));
      const target = `M.${localName(g, true)}`;
      install.push(...methodOf(`${g.name}_`, target, isSimple(writing) ? (writing[0] as Op) : null));
      members.push(`${g.name}_`);
    }
    if (properties.length > 0) {
      out.push(...docOf(properties, false, "  "), `  readonly ${g.name}: Tensor;`);
      install.push(
        `function $${g.name}(this: Tensor): Tensor {`,
        `  return O.${(properties[0] as Op).fn}(this);`,
        "}",
        "",
      );
      members.push(`get ${g.name}`);
    }
  }
  out.push(
    "}",
    "",
    'declare module "../src/tensor/tensor.ts" {',
    "  interface Tensor extends TensorMethods {}",
    "}",
    "",
  );
  out.push(...install, ...resolver(members));
  if (install.some((l) => l.includes("O."))) out.splice(0, 0, 'import * as O from "./ops.ts";');
  return withOptions(types, out);
}

/** The function behind a method. */
function methodOf(method: string, target: string, simple: Op | null): string[] {
  if (simple === null) {
    return [
      `function $${method}(this: Tensor, ...args: unknown[]) {`,
      `  return (${target} as Unchecked)(this, ...args);`,
      "}",
      "",
    ];
  }
  const rest = simple.args
    .filter((a) => !a.byName)
    .slice(1)
    .map((a) => a.name);
  const list = ["this: Tensor", ...rest.map((n) => `${n}: unknown`), "options: unknown"].join(", ");
  return [
    `function $${method}(${list}) {`,
    `  return (${target} as Unchecked)(${["this", ...rest, "options"].join(", ")});`,
    "}",
    "",
  ];
}

/** Members that most programs touch: these stand apart, so that the others are not even read. */
const COMMON = new Set(
  (
    "abs add add_ all any argmax clone contiguous copy_ cpu cuda detach div div_ double eq exp expand fill_ flatten " +
    "float ge gt indexSelect le log long lt matmul max mean min mul mul_ narrow ne neg permute pow relu " +
    "reshape select sigmoid softmax split sqrt square squeeze std sub sub_ sum t T tanh to transpose " +
    "unbind unsqueeze var view zero_"
  ).split(" "),
);

/** What gives the members by name: no function exists before. */
function resolver(members: readonly string[]): string[] {
  const nameOf = (member: string) => member.replace("get ", "");
  const cases = (wanted: boolean) =>
    members
      .filter((member) => COMMON.has(nameOf(member)) === wanted)
      .map((member) => {
        const name = nameOf(member);
        return `    case "${name}": return ${member === name ? `$${name}` : `{ get: $${name} }`};`;
      });
  return [
    "/** The names of the members, with blanks between them. */",
    "export function memberNames(): string {",
    `  return "${members.map(nameOf).join(" ")}";`,
    "}",
    "",
    "/** The member of this name, for src/tensor/late-members.ts. */",
    "export function memberOf(name: string): Member | undefined {",
    "  switch (name) {",
    ...cases(true),
    "  }",
    "  return rareMemberOf(name);",
    "}",
    "",
    "function rareMemberOf(name: string): Member | undefined {",
    "  switch (name) {",
    ...cases(false),
    "  }",
    "  return undefined;",
    "}",
    "",
  ];
}

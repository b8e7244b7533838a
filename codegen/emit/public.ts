/** generated/functional.ts, namespaces.ts, method-functions.ts and methods.ts: what users call, with documentation. */
import type { Arg, Model, Op } from "../model/load.ts";
import { onCollections } from "./collections.ts";
import { docOf, overloadDoc } from "./docs.ts";
import { tableOnce } from "./once.ts";
import { resultType } from "./ops.ts";
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
    if (op.internal || !wanted(op)) continue;
    const namespace = op.namespace ?? "";
    for (const name of [op.publicName, ...(op.aliases ?? [])]) {
      const key = `${namespace}/${name}`;
      const g = groups.get(key) ?? { name, namespace, ops: [] };
      g.ops.push(op);
      groups.set(key, g);
    }
  }
  return [...groups.values()].sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** What users see of the result: bools are known, so that `item()` is one. */
function publicResult(op: Op): string {
  return op.promote === "compare" || op.promote === "bool" || op.ofBools ? "BoolTensor" : resultType(op);
}

/** Roles that a hot operator's arguments may have; others are converted by the argument table. */
const DIRECT = new Set(["Tensor", "Tensor?", "Tensor|Scalar", "Tensor|Scalar?"]);

const RESERVED = new Set(["var", "in", "new", "default", "delete", "with"]);
const isSize = (a: Arg): boolean => a.role === "Size" || a.role === "Sizes";

function outType(op: Op): string {
  return op.results !== undefined ? "readonly Tensor[]" : "Tensor";
}

/** All signatures of a group behind one name; each after the first has a short comment of its own. */
function declared(ops: readonly Op[], head: string, indent: string, skipSelf: boolean, inplace: boolean): string[] {
  const out = docOf(ops, inplace, indent);
  const list = ops.flatMap((op) => signatures(op, skipSelf, inplace).map((text) => ({ op, text })));
  for (const [i, { op, text }] of list.entries()) {
    if (i > 0) out.push(overloadDoc(op, inplace, indent));
    out.push(`${indent}${head}${text};`);
  }
  return out;
}

/** The names by which an argument may be given, torch's first. */
const namesOf = (a: Arg): string[] => [
  ...(a.name === "self" ? ["input"] : [a.name]),
  ...(a.name === "dim" ? ["axis"] : a.name === "keepdim" ? ["keepdims"] : []),
];

/** An option under its names; one that must be there and has two names is `A.Either` of them. */
function optionFields(a: Arg): string[] {
  const optional = a.fallback !== undefined;
  return optional || namesOf(a).length === 1
    ? namesOf(a).map((name) => `${name}${optional ? "?" : ""}: ${optionType(a)}`)
    : [];
}

function optionsType(op: Op, rest: readonly Arg[]): string {
  const fields = rest.flatMap(optionFields);
  const either = rest
    .filter((a) => optionFields(a).length === 0)
    .map(
      (a) =>
        `A.Either<${namesOf(a)
          .map((name) => JSON.stringify(name))
          .join(", ")}, ${optionType(a)}>`,
    );
  if (op.kind === "factory") fields.push("layout?: Layout | null", "pinMemory?: boolean");
  if (has(op, "out")) fields.push(`out?: ${outType(op)}`);
  if (fields.length === 0 && either.length === 0) return "Record<string, never>";
  return [...either, ...(fields.length === 0 ? [] : [`{ ${fields.join("; ")} }`])].join(" & ");
}

function optionType(a: Arg): string {
  if (isSize(a)) return "readonly number[]";
  return inputType(a);
}

/** What a user may pass where the internal function takes `typeOf(a)`. */
function inputType(a: Arg): string {
  switch (a.role) {
    case "Tensor|Index":
      return "Tensor | A.IndexList";
    case "Ints":
      return "number | readonly number[]";
    case "Tensor?[]":
      return "readonly (Tensor | A.IndexList | null)[]";
    case "DType":
      return "DTypeLike";
    case "DType?":
      return "DTypeLike | null";
    case "Device?":
      return "DeviceLike | null";
    default:
      return typeOf(a);
  }
}

/** All ways to write the call: positional arguments, from the last on, may move to the options. */
function signatures(op: Op, skipSelf: boolean, inplace = false): string[] {
  const positional = op.args.filter((a) => !a.byName).slice(skipSelf ? 1 : 0);
  const named = op.args.filter((a) => a.byName);
  const result = inplace ? (skipSelf ? "this" : "Tensor") : publicResult(op);
  const shown = inplace ? ({ ...op, variants: ["function"] } as Op) : op;
  const variadic = positional.findIndex(isSize);
  if (variadic >= 0 && variadic === positional.length - 1) {
    const head = positional.slice(0, variadic).map((a) => `${a.name}: ${inputType(a)}`);
    const o = optionsType(shown, named);
    return [
      `(${[...head, `size: readonly number[]`, `options?: ${o}`].join(", ")}): ${result}`,
      `(${[...head, `...size: (number | ${o})[]`].join(", ")}): ${result}`,
      ...byName(shown, positional, named, variadic, result),
    ];
  }
  return byName(shown, positional, named, positional.length, result);
}

/** The forms with at most so many positional arguments. */
function byName(op: Op, positional: readonly Arg[], named: readonly Arg[], most: number, result: string): string[] {
  const out: string[] = [];
  const dtype = op.ofDtype ? [...positional, ...named].find((a) => a.name === "dtype") : undefined;
  // A dtype that is not given is null.
  const none = dtype?.fallback === undefined ? "" : " | null = null";
  const open = dtype === undefined ? "(" : `<const D extends DTypeLike${none}>(`;
  const made = dtype === undefined ? result : "OfDType<D>";
  const inputs = (a: Arg): string => (a === dtype ? "D" : inputType(a));
  for (let k = most; k >= 0; k--) {
    const given = positional.slice(0, k).map((a) => `${a.name}: ${inputs(a)}`);
    const rest = [...positional.slice(k), ...named];
    const mark = rest.some((a) => a.fallback === undefined) ? "" : "?";
    const type = optionsType(op, rest).replace(/\bdtype(\??): DTypeLike( \| null)?/, (found, mark) =>
      dtype === undefined ? found : `dtype${mark}: D`,
    );
    const options = rest.length > 0 || has(op, "out") ? [`options${mark}: ${type}`] : [];
    out.push(`${open}${[...given, ...options].join(", ")}): ${made}`);
  }
  // The form that most calls have comes last: of an overloaded function that is handed on (`vmap(dot)`) TypeScript
  // takes the last one, and of it the compiler speaks when none fits.
  const required = positional.filter((a) => a.fallback === undefined).length;
  if (required > 0 && required <= most) out.push(...out.splice(most - required, 1));
  return out;
}

/** One to three tensors (or numbers) and options: the shape of most hot operators. */
function isSimple(ops: readonly Op[]): boolean {
  if (ops.length !== 1) return false;
  const op = ops[0] as Op;
  if (op.kind === "factory" || op.kind === "composite") return false;
  return op.args.every((a) => (a.byName ? a.fallback !== undefined : DIRECT.has(a.role) && a.fallback === undefined));
}

/** The rows of a group's overloads. */
function table(group: Group, inplace: boolean): string[] {
  const rows = group.ops.map((op) => {
    const args = op.args
      .map((a) => JSON.stringify([a.name, a.role]).replace(/^\[/, "["))
      .map((text, i) => {
        const a = op.args[i] as Arg;
        return `${text.slice(0, -1)},${a.fallback === undefined ? "REQUIRED" : a.fallback}]`;
      });
    const positional = op.args.filter((a) => !a.byName).length;
    const fn = `O.${op.fn}${inplace ? "_" : ""}`;
    const out = !inplace && has(op, "out") ? (op.results?.length ?? 1) : 0;
    const layout = op.kind === "factory" ? ", layout: true" : "";
    return `      { fn: ${fn}, args: [${args.join(", ")}], positional: ${positional}, out: ${out}${layout} },`;
  });
  return [`    ${localName(group, inplace)}: [`, ...rows, "    ],"];
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
  return positionalOf(op).some(isSize) || (requiredOf(op) <= count && count <= positionalOf(op).length);
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

function emitFunction(group: Group, inplace: boolean, exported: boolean, rows: string[]): string[] {
  const name = `${group.name}${inplace ? "_" : ""}`;
  const local = localName(group, inplace);
  const keyword = exported ? "export function" : "function";
  const lines: string[] = [];
  const overloads = `$T().${local}`;
  rows.push(...table(group, inplace));
  const ofTensors = declared(group.ops, `${keyword} ${local}`, "", false, inplace);
  // Before the last one, of which the compiler speaks when none fits.
  const last = ofTensors.splice(-2);
  const more = inplace
    ? []
    : onCollections(group.name).map((text) => `/** Of a collection. */\n${keyword} ${local}${text};`);
  lines.push(...ofTensors, ...(ofTensors.length === 0 ? [...last, ...more] : [...more, ...last]));
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

const HEAD = [
  'import * as A from "../src/dispatch/arguments.ts";',
  'import type { Layout } from "../src/dispatch/arguments.ts";',
  'import type { Generator } from "../src/dispatch/generator.ts";',
  'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
  'import type { Named } from "../src/dispatch/named.ts";',
  'import type { Scalar } from "../src/tensor/complex.ts";',
  'import type { DeviceLike } from "../src/tensor/device.ts";',
  'import type { DTypeLike } from "../src/tensor/dtype.ts";',
  'import type { OfDType } from "../src/tensor/of-dtype.ts";',
  'import type { UntypedStorage } from "../src/tensor/storage.ts";',
  'import type { Td } from "../src/tensordict/core/state.ts";',
  'import type { TypedStorageLike } from "../src/tensor/storage-types.ts";',
  'import { type BoolTensor, Tensor } from "../src/tensor/tensor.ts";',
  'import * as O from "./ops.ts";',
  "",
  "const REQUIRED = A.REQUIRED;",
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
    out.push(...emitFunction({ ...g, ops }, false, !reserved, rows));
    if (reserved) out.push(`export { ${localName(g, false)} as ${g.name} };`, "");
  }
  return [...out, ...tableOnce("$T", rows, "A.Overload[]")].join("\n");
}

/** What methods call that is no function of the main namespace: method-only operators and in-place forms. */
export function emitMethodFunctions(model: Model): string {
  const out = [...HEAD];
  const rows: string[] = [];
  for (const g of groupsOf(model, (op) => has(op, "method") || has(op, "inplace"))) {
    if (g.namespace !== "") continue;
    const shown = g.ops.filter((op) => has(op, "method"));
    const same = shown.length > 0 && shown.every((op) => has(op, "function")) && isSameGroup(model, g, shown);
    if (shown.length > 0 && !same) out.push(...emitFunction({ ...g, ops: shown }, false, true, rows));
    const writing = g.ops.filter((op) => has(op, "inplace"));
    if (writing.length > 0) out.push(...emitFunction({ ...g, ops: writing }, true, true, rows));
  }
  return [...out, ...tableOnce("$T", rows, "A.Overload[]")].join("\n");
}

/** True when the function of this name has just the overloads of the method. */
function isSameGroup(model: Model, g: Group, shown: readonly Op[]): boolean {
  const all = model.ops.filter(
    (op) =>
      !op.internal &&
      (op.namespace ?? "") === g.namespace &&
      has(op, "function") &&
      [op.publicName, ...(op.aliases ?? [])].includes(g.name),
  );
  return all.length === shown.length;
}

/** The functions of the other namespaces. */
export function emitNamespaces(model: Model): string {
  const out = [...HEAD];
  const rows: string[] = [];
  const namespaces = new Map<string, string[]>();
  for (const g of groupsOf(model, (op) => callable(op) || has(op, "inplace"))) {
    if (g.namespace === "") continue;
    const list = namespaces.get(g.namespace) ?? [];
    const shown = g.ops.filter(callable);
    if (shown.length > 0) {
      out.push(...emitFunction({ ...g, ops: shown }, false, true, rows));
      list.push(`  ${g.name}: ${localName(g, false)},`);
    }
    const writing = g.ops.filter((op) => has(op, "inplace"));
    if (writing.length > 0) {
      out.push(...emitFunction({ ...g, ops: writing }, true, true, rows));
      list.push(`  ${g.name}_: ${localName(g, true)},`);
    }
    namespaces.set(g.namespace, list);
  }
  for (const [namespace, list] of namespaces) {
    const id = namespace.replace(/\W/g, "_");
    out.push(
      `/** The functions of torch.${namespace}. */`,
      `export const namespace_${id} = {`,
      ...list,
      "} as const;",
      "",
    );
  }
  return [...out, ...tableOnce("$T", rows, "A.Overload[]")].join("\n");
}

export function emitMethods(model: Model): string {
  const out = [
    'import type * as A from "../src/dispatch/arguments.ts";',
    'import type { Layout } from "../src/dispatch/arguments.ts";',
    'import type { Generator } from "../src/dispatch/generator.ts";',
    'import type { MemoryFormat } from "../src/dispatch/memory-format.ts";',
    'import type { Named } from "../src/dispatch/named.ts";',
    'import type { Scalar } from "../src/tensor/complex.ts";',
    'import type { DeviceLike } from "../src/tensor/device.ts";',
    'import type { DTypeLike } from "../src/tensor/dtype.ts";',
    'import type { OfDType } from "../src/tensor/of-dtype.ts";',
    'import type { UntypedStorage } from "../src/tensor/storage.ts";',
    'import type { TypedStorageLike } from "../src/tensor/storage-types.ts";',
    'import type { BoolTensor, Tensor } from "../src/tensor/tensor.ts";',
    'import * as F from "./functional.ts";',
    'import * as M from "./method-functions.ts";',
    "",
    "",
    "/** The operators that are methods of Tensor. */",
    "export interface TensorMethods {",
  ];
  const install: string[] = [];
  for (const g of groupsOf(model, (op) => op.namespace === undefined)) {
    const methods = g.ops.filter((op) => has(op, "method"));
    const writing = g.ops.filter((op) => has(op, "inplace"));
    const properties = g.ops.filter((op) => has(op, "property"));
    if (methods.length > 0) {
      out.push(...declared(methods, g.name, "  ", true, false));
      const own = !(methods.every((op) => has(op, "function")) && isSameGroup(model, g, methods));
      const target = own ? `M.${localName(g, false)}` : `F.${g.name}`;
      install.push(...installer(g.name, target, isSimple(methods) ? (methods[0] as Op) : null));
    }
    if (writing.length > 0) {
      out.push(...declared(writing, `${g.name}_`, "  ", true, true));
      const target = `M.${localName(g, true)}`;
      install.push(...installer(`${g.name}_`, target, isSimple(writing) ? (writing[0] as Op) : null));
    }
    if (properties.length > 0) {
      out.push(...docOf(properties, false, "  "), `  readonly ${g.name}: Tensor;`);
      install.push(`  Object.defineProperty(p, "${g.name}", { configurable: true, get(this: Tensor) {`);
      install.push(`    return O.${(properties[0] as Op).fn}(this);`, "  } });");
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
  out.push("/** Puts the methods on Tensor's prototype. */");
  out.push(
    "export function installMethods(prototype: Tensor): void {",
    "  const p = prototype as unknown as Record<string, unknown>;",
    ...install,
    "}",
    "",
  );
  const needsOps = install.some((l) => l.includes("O."));
  if (needsOps) out.splice(9, 0, 'import * as O from "./ops.ts";');
  return out.join("\n");
}

function installer(method: string, target: string, simple: Op | null): string[] {
  if (simple === null) {
    return [
      `  p.${method} = function (this: Tensor, ...args: unknown[]) {`,
      `    return (${target} as A.Unchecked)(this, ...args);`,
      "  };",
    ];
  }
  const rest = simple.args
    .filter((a) => !a.byName)
    .slice(1)
    .map((a) => a.name);
  const list = ["this: Tensor", ...rest.map((n) => `${n}: unknown`), "options: unknown"].join(", ");
  return [
    `  p.${method} = function (${list}) {`,
    `    return (${target} as A.Unchecked)(${["this", ...rest, "options"].join(", ")});`,
    "  };",
  ];
}

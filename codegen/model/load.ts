/** Loads the schema, checks it, and gives the one model that every emitter reads. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { Node, Project, type SourceFile } from "ts-morph";
import { type BatchRules, checkBatchRules } from "./batch-rules.ts";
import { type Code, ownCode } from "./code.ts";
import { exportedLiteral, type Literal, SchemaError, unwrap } from "./literal.ts";
import { type Transforms, transformsOf } from "./transforms.ts";
import type { ArgSchema, CodesRow, DTypeRow, NativeRow, OpSchema, Role, StatusRow, TextSchema } from "./types.ts";

export interface Arg {
  readonly name: string;
  readonly role: Role;
  /** TypeScript source of the default, undefined when the argument is required. */
  readonly fallback: string | undefined;
  readonly byName: boolean;
}

export interface Op extends Omit<OpSchema, "args" | "kwargs"> {
  /** `nn.functional.linear`, `sum.dim`. */
  readonly key: string;
  /** Public name in camelCase. */
  readonly publicName: string;
  /** Name of the generated internal function. */
  readonly fn: string;
  readonly args: readonly Arg[];
  readonly file: string;
  readonly where: Node;
  /** The rules for transforms, derived or written. */
  readonly transforms: Transforms;
}

export interface Model {
  readonly ops: readonly Op[];
  readonly texts: readonly TextSchema[];
  readonly dtypes: readonly DTypeRow[];
  readonly computes: readonly string[];
  readonly statuses: readonly StatusRow[];
  readonly natives: readonly NativeRow[];
  readonly frame: {
    maxRank: number;
    header: string[];
    detail: number;
    attrs: number;
    scratch: number;
    operand: string[];
  };
  /** The fields of a job of file work, in order. */
  readonly job: readonly { readonly name: string; readonly doc: string }[];
  readonly codes: readonly CodesRow[];
  /** Kernel paths in the order of the native table. */
  readonly kernels: readonly string[];
  /** Kernels that also have the numbers-only call. */
  readonly fast: readonly { path: string; computes: readonly string[]; arity: number }[];
  readonly formulaHelpers: readonly string[];
  readonly tangentHelpers: readonly string[];
  /** How many arguments the functions take that compute: `module.function`, `composites.function`. */
  readonly arities: ReadonlyMap<string, number>;
  /** The kernels that Zig has; null where it is not asked. */
  readonly implemented: ReadonlySet<string> | null;
  /** The operators with rules of their own for batches; null where nobody asks. */
  readonly batchRules: BatchRules | null;
}

const ROOT = join(import.meta.dir, "..", "..");

export function camel(name: string): string {
  const tail = name.endsWith("_") ? "_" : "";
  const body = tail ? name.slice(0, -1) : name;
  return body.replace(/(?<=.)_+([a-z0-9])/gi, (_, c: string) => c.toUpperCase()) + tail;
}

const KNOWN = new Set(
  (
    "name overload namespace kind doc args kwargs variants promote kernels fast impl returns results grad node " +
    "batch jvp decompose refuses attrs inplaceGradOnly exactOut wide ofNumbers ofBools nodeWhen anyResult movesTo " +
    "inplaceNode listResult mayCopy nonDifferentiable saves checksFirst anyDevice checkedAs internal aliases also " +
    "example inplaceExample throws ofDtype direct writes gathers constants realGradients"
  ).split(" "),
);

function toArg(name: string, spec: ArgSchema, byName: boolean): Arg {
  const [role, fallback] = typeof spec === "string" ? [spec, undefined] : [spec[0] as Role, spec[1]];
  const implied = role.endsWith("?") ? "null" : undefined;
  // Functions get one number or several as a list.
  const value = role.endsWith("Ints") && typeof fallback === "number" ? [fallback] : fallback;
  return { name: camel(name), role, byName, fallback: value === undefined ? implied : JSON.stringify(value) };
}

export function toOp(raw: OpSchema, where: Node, file: string): Op {
  for (const key of Object.keys(raw)) {
    if (!KNOWN.has(key)) throw new SchemaError(where, `unknown field "${key}"`);
  }
  for (const field of ["name", "kind", "doc", "args", "variants", "grad"] as const) {
    if (raw[field] === undefined) throw new SchemaError(where, `"${raw.name}" lacks "${field}"`);
  }
  const key = `${raw.namespace ? `${raw.namespace}.` : ""}${raw.name}${raw.overload ? `.${raw.overload}` : ""}`;
  const args = [
    ...Object.entries(raw.args).map(([n, s]) => toArg(n, s, false)),
    ...Object.entries(raw.kwargs ?? {}).map(([n, s]) => toArg(n, s, true)),
  ];
  const op: Omit<Op, "transforms"> = {
    ...raw,
    key,
    args,
    publicName: camel(raw.name),
    fn: functionName(key, args),
    file,
    where,
  };
  checkOp(op);
  return { ...op, transforms: transformsOf(op) };
}

/** What its function is called where it runs: not as one of its arguments, which would hide it. */
function functionName(key: string, args: readonly Arg[]): string {
  const name = key.replace(/[^A-Za-z0-9]+/g, "_");
  return args.some((a) => a.name === name) ? `op_${name}` : name;
}

function checkOp(op: Omit<Op, "transforms">): void {
  const complain = (text: string): never => {
    throw new SchemaError(op.where, `op "${op.key}": ${text}`);
  };
  const has = (v: string): boolean => (op.variants as readonly string[]).includes(v);
  if (op.kind === "factory" && has("inplace")) complain("a factory has no in-place form");
  if (op.kind === "view" && has("out")) complain("a view has no out form");
  if (op.kind !== "pointwise" && !op.impl) complain("needs `impl`");
  if (op.kind === "pointwise" && !op.impl && !op.kernels?.cpu.length) complain("needs `kernels` or `impl`");
  if (op.kind === "pointwise" && !op.impl && !op.promote) complain("needs `promote`");
  if (op.impl && op.attrs) complain("`attrs` are for operators without `impl`");
  if (op.impl && op.refuses?.some((r) => r.text)) complain("an operator with `impl` refuses by a kernel's name");
  for (const name of [...(op.attrs ?? []), ...(op.refuses ?? []).flatMap((r) => r.all ?? [])]) {
    if (!op.args.some((a) => a.name === camel(name))) complain(`no argument "${name}"`);
  }
  for (const r of op.refuses ?? []) if (!r.kernel === !r.text) complain("a refusal has a kernel's name or a text");
  if ((has("method") || has("inplace")) && !op.args.some((a) => a.role.startsWith("Tensor"))) {
    complain("a method needs a tensor argument");
  }
  checkLists(op, complain);
  if (typeof op.grad === "object" && !op.node) complain("formulas need `node`");
  if (typeof op.grad === "object") checkGradNames(op, complain);
  for (const place of op.also ?? []) {
    const form = place.endsWith("_") ? "inplace" : "function";
    if (!/^[a-z_0-9]+(\.[a-z_0-9]+)+$/.test(place)) complain(`"${place}" is no full name: "nn.functional.thing"`);
    if (!has(form)) complain(`"${place}": there is no form "${form}"`);
    if (form === "inplace" && place.startsWith("torch.")) complain(`"${place}": in place it is a method`);
  }
  if (op.grad === "composite" && op.kind !== "composite") complain('grad "composite" is for composites');
}

function checkGradNames(op: Omit<Op, "transforms">, complain: (text: string) => never): void {
  for (const key of Object.keys(op.grad as object)) {
    for (const name of key.split(",").map((s) => camel(s.trim()))) {
      const arg = op.args.find((a) => a.name === name);
      if (arg === undefined) complain(`gradient for unknown argument "${name}"`);
      else if (!arg.role.startsWith("Tensor")) complain(`gradient for "${name}", which is no tensor`);
    }
  }
}

/** What is not known of lists of tensors is refused here: emitters take them for single tensors. */
function checkLists(op: Omit<Op, "transforms">, complain: (text: string) => never): void {
  const has = (v: string): boolean => (op.variants as readonly string[]).includes(v);
  const role = (name: string): Role | undefined => op.args.find((a) => a.name === camel(name))?.role;
  const lists = op.args.filter((a) => a.role === "TensorList");
  const first = op.args[0]?.role;
  for (const { name, role, fallback } of op.args) {
    const isList = role === "TensorList";
    if (fallback === "[]" && !isList) complain(`"${name}" is no list of tensors, and cannot have an empty one`);
    if (isList && fallback !== undefined && fallback !== "[]") complain(`the default of "${name}" can only be []`);
  }
  if (lists.length > 0 && op.kind !== "op" && op.kind !== "composite") complain(`kind "${op.kind}" takes no lists`);
  if (first === "TensorList" && (has("method") || has("property"))) complain("a list has no methods");
  if (has("inplace")) {
    if (first === "Tensor?" || first === "Tensor?[]") complain(`an in-place form cannot write a ${first}`);
    if (first === "TensorList" && !op.internal) complain("an in-place form of a list is for internal operators only");
    if (first === "TensorList" && op.kind !== "op") complain('an in-place form of a list is of kind "op"');
    if (first === "TensorList" && op.grad !== "none") complain("an in-place form of a list has no gradient");
  }
  for (const name of op.writes ?? []) {
    const written = role(name);
    if (!has("inplace")) complain("`writes` is for in-place forms");
    if (written !== "Tensor" && written !== "TensorList") complain(`writes "${name}", which is no tensor and no list`);
    if (typeof op.grad === "object") complain("an operator that writes several arguments has no gradient");
    if (camel(name) === op.args[0]?.name) complain(`the in-place form writes "${name}" by itself`);
  }
  if (op.gathers && op.args.findLast((a) => !a.byName)?.role !== "TensorList")
    complain("`gathers` is for lists of tensors");
  if (op.returns !== undefined && op.results !== undefined) complain("has `returns` and `results`");
  if (op.returns === "Tensor[]" && op.kind !== "op") complain('a list of results is for kind "op"');
  if (typeof op.grad === "object") checkListGradients(op, complain);
}

function checkListGradients(op: Omit<Op, "transforms">, complain: (text: string) => never): void {
  const targets = Object.keys(op.grad as object).flatMap((key) => key.split(",").map((s) => camel(s.trim())));
  const isList = (name: string): boolean => op.args.find((a) => a.name === name)?.role === "TensorList";
  const formulas = Object.entries(op.grad as object) as [string, string][];
  if (op.returns === "Tensor[]" && formulas.some(([, text]) => /\bresult\d*\b/.test(text))) {
    complain("a formula cannot read a list of results");
  }
  if (op.returns === "Tensor[]" && formulas.some(([, text]) => /\bgrad\b/.test(text))) {
    complain("the gradients of a list of results are `grads`");
  }
  if (targets.length < 2 || !targets.some(isList)) return;
  for (const [key, text] of formulas) {
    if (key.includes(",")) complain(`one formula for "${key}": each of several operands has its own beside a list`);
    if (/\bneeds\b/.test(text)) complain("`needs` counts operands, of which lists have several");
  }
  if (op.saves !== undefined) complain("`saves` is not known beside gradients of lists and others");
}

/** Gives a table of a file by its name. */
type Table = <T>(name: string) => T;

/** Files of the schema that hold other tables. */
const NO_OPERATORS = new Set(["abi.ts", "abi-cuda.ts", "codes.ts", "cuda-kernels.ts"]);

/** Which of the operators' kernels CUDA devices have; of a schema that names none, none. */
function withCudaKernels(ops: readonly Op[], project: Project, file: string): Op[] {
  if (!existsSync(file)) return [...ops];
  const { value, node } = exportedLiteral(project.addSourceFileAtPath(file), "cudaKernels");
  return cudaKernelsOf(ops, value as unknown as string[], node);
}

/** The operators with their kernels for CUDA, of the list of those; `family.*` is for families of bodies alone. */
export function cudaKernelsOf(ops: readonly Op[], listed: readonly string[], node: Node): Op[] {
  for (const name of listed) {
    const [family = "", kernel] = name.split(".");
    if (kernel !== "*" || family in ARITY) continue;
    throw new SchemaError(node, `"${name}": a kernel that is no pointwise body has a plan of its own; name each`);
  }
  const unused = new Set(listed);
  const names = new Set(listed);
  const isThere = (path: string): boolean => {
    const found = [path, path.replace(/\..*$/, ".*")].filter((name) => names.has(name));
    for (const name of found) unused.delete(name);
    return found.length > 0;
  };
  const made = ops.map((op) => {
    if (op.kernels === undefined) return op;
    return { ...op, kernels: { ...op.kernels, cuda: op.kernels.cuda ?? op.kernels.cpu.filter(isThere) } };
  });
  for (const name of unused) throw new SchemaError(node, `no operator has a kernel "${name}"`);
  return made;
}

/** The model of a folder with a schema; of the project's own, and its own code, unless others are given. */
export function loadModel(schemaDir = join(ROOT, "codegen", "schema"), code?: Code): Model {
  const project = new Project({ skipAddingFilesFromTsConfig: true, skipFileDependencyResolution: true });
  const ops: Op[] = [];
  for (const name of readdirSync(schemaDir).sort()) {
    if (!name.endsWith(".ts") || NO_OPERATORS.has(name)) continue;
    const source = project.addSourceFileAtPath(join(schemaDir, name));
    const { value, node } = exportedLiteral(source, "ops");
    if (!Node.isArrayLiteralExpression(node)) throw new SchemaError(node, "`ops` must be an array");
    const rows = value as unknown as OpSchema[];
    const places = node.getElements();
    rows.forEach((row, i) => ops.push(toOp(row, unwrap(places[i] as never), name.replace(/\.ts$/, ""))));
  }
  checkUnique(ops);
  const hasCuda = existsSync(join(schemaDir, "abi-cuda.ts"));
  const [abi, cuda, codes] = ["abi.ts", "abi-cuda.ts", "codes.ts"].map((name) => {
    const file = (): SourceFile => project.addSourceFileAtPath(join(schemaDir, name));
    return <T>(table: string): T => exportedLiteral(file(), table).value as unknown as T & Literal;
  }) as [Table, Table, Table];
  const given = code ?? ownCode();
  for (const op of ops) requireKernels(op, given.implemented);
  if (given.batchRules !== null) checkBatchRules(ops, given.batchRules);
  const kernels = ops.flatMap((op) => op.kernels?.cpu ?? []);
  return {
    ops: withCudaKernels(ops, project, join(schemaDir, "cuda-kernels.ts")),
    texts: readTexts(project, join(schemaDir, "texts")),
    dtypes: abi<DTypeRow[]>("dtypes"),
    computes: abi<string[]>("computes"),
    statuses: abi<StatusRow[]>("statuses"),
    natives: [...abi<NativeRow[]>("natives"), ...(hasCuda ? cuda<NativeRow[]>("natives") : [])],
    frame: abi<Model["frame"]>("frame"),
    job: codes<Model["job"][number][]>("job"),
    codes: codes<CodesRow[]>("codes"),
    kernels: [...new Set([...kernels, ...abi<string[]>("ownerlessKernels")])].sort(),
    fast: fastKernels(ops),
    ...given,
  };
}

/** A kernel that nobody wrote is told with who wants it: the linker would know it by its symbol alone. */
export function requireKernels(op: Op, implemented: Code["implemented"]): void {
  for (const path of op.kernels?.cpu ?? []) {
    if (implemented === null || implemented.has(path)) continue;
    const [family, name] = path.split(".");
    const file = `zig/src/kernels_${family}.zig`;
    throw new SchemaError(op.where, `op "${op.key}": there is no kernel "${path}": ${file} exports no "${name}"`);
  }
}

/** The texts of all families. One name has one text, and one error one name. */
export function readTexts(project: Project, folder: string): TextSchema[] {
  const names = new Set<string>();
  const errors = new Map<string, string>();
  const all: TextSchema[] = [];
  for (const file of readdirSync(folder).sort()) {
    const { value, node } = exportedLiteral(project.addSourceFileAtPath(join(folder, file)), "texts");
    for (const text of value as unknown as TextSchema[]) {
      if (names.has(text.name)) throw new SchemaError(node, `text "${text.name}" is declared twice`);
      names.add(text.name);
      const error = JSON.stringify([text.error ?? text.warning, text.code, text.text.replace(/\{\w+\}/g, "{}")]);
      const other = errors.get(error);
      if (other !== undefined) throw new SchemaError(node, `"${text.name}" says the same as "${other}"`);
      errors.set(error, text.name);
      all.push(text);
    }
  }
  return all;
}

/** Operands of the pointwise families; a number counts as one. Null: as many as the operator has tensors. */
const ARITY: Record<string, number | null> = { activation: null, unary: 1, binary: 2, ternary: 3 };

function fastKernels(ops: readonly Op[]): Model["fast"] {
  const seen = new Map<string, Model["fast"][number]>();
  for (const op of ops) {
    const path = op.kernels?.cpu[0];
    if (path === undefined || op.fast === undefined) continue;
    seen.set(path, { path, computes: op.fast, arity: ARITY[path.split(".")[0] as string] ?? tensorArgs(op).length });
  }
  return [...seen.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

export function tensorArgs(op: Op): readonly Arg[] {
  return op.args.filter((a) => a.role.startsWith("Tensor"));
}

export function checkUnique(ops: readonly Op[]): void {
  const seen = new Map<string, Op>();
  for (const op of ops) {
    if (seen.has(op.key)) throw new SchemaError(op.where, `op "${op.key}" is declared twice`);
    seen.set(op.key, op);
  }
}

/** Binds what a user wrote to an overload's arguments: positional, then a trailing options object. */

import * as texts from "../../generated/texts.ts";
import { unknownKeyword } from "../tensor/checks.ts";
import { Complex, Int, isScalar, type Scalar } from "../tensor/complex.ts";
import { Device, namesDevice, toDevice } from "../tensor/device.ts";
import { DType, refuseFunction, toDType } from "../tensor/dtype.ts";
import { doubleOf, int64Of, takesScalar } from "../tensor/integers.ts";
import { lateTable } from "../tensor/late-table.ts";
import { later } from "../tensor/later.ts";
import { Storage, UntypedStorage } from "../tensor/storage.ts";
import { Tensor } from "../tensor/tensor.ts";
import { inPinnedMemory, requirePinnable } from "./allocate.ts";
import { indexFromList } from "./indexing-lists.ts";
import { MemoryFormat } from "./memory-format.ts";

/** Marks an argument without a default. */
export const REQUIRED: unique symbol = Symbol("required");

type ArgRow = readonly [name: string, role: string, fallback: unknown];

/** One way to call an operator. */
export interface Overload {
  readonly fn: (...args: never[]) => unknown;
  readonly args: readonly ArgRow[];
  readonly positional: number;
  /** How many results the `out` option takes; 0 without one. */
  readonly out: number;
  /** Takes the `layout` option, which has one value here. */
  readonly layout?: boolean;
  /** How each argument is converted, found at the first call. */
  converters?: readonly Converter[];
}

/** An overload in a line of a generated table; an argument without a third part has to be given. */
type OverloadRow = readonly [
  args: readonly (readonly [name: string, role: string, fallback?: unknown])[],
  positional: number,
  out: number,
  layout?: boolean,
];

function overloadsOf(rows: readonly OverloadRow[], functions: readonly Overload["fn"][]): Overload[] {
  return rows.map(([args, positional, out, layout], i) => ({
    fn: functions[i] as Overload["fn"],
    args: args.map((row): ArgRow => (row.length === 2 ? [row[0], row[1], REQUIRED] : (row as ArgRow))),
    positional,
    out,
    layout: layout === true,
    converters: undefined,
  }));
}

/** The overloads of each function of a generated file. */
export function overloadTable(lines: () => string): (name: string, functions: readonly Overload["fn"][]) => Overload[] {
  return lateTable(lines, overloadsOf);
}

type Converter = (x: unknown) => unknown;

/** What `Tensor.layout` is: every tensor is strided. */
export type Layout = "torch.strided" | "strided";

/** A refusal that a role gives; another overload may still fit. */
const MISMATCH: unique symbol = Symbol("mismatch");

/** A plain object in the place of an argument names arguments. */
export function isOptions(x: unknown): x is Record<string, unknown> {
  if (typeof x !== "object" || x === null) return false;
  const proto = Object.getPrototypeOf(x);
  return proto === Object.prototype || proto === null;
}

function isZeroDim(x: unknown): x is Tensor {
  return loose && x instanceof Tensor && x._numel === 1 && x.dtype.category === 1;
}

function toInt(x: unknown): unknown {
  if (typeof x === "number") return Number.isInteger(x) ? x : MISMATCH;
  if (typeof x === "bigint") return int64Of(x);
  if (isZeroDim(x)) return Number(x.item());
  if (x instanceof Int) return int64Of(x.value);
  return MISMATCH;
}

/** A list with each element converted. The user's own may give something else the next time it is read. */
function toList(x: unknown, one: (value: unknown) => unknown): unknown {
  if (!Array.isArray(x)) return MISMATCH;
  const list = Array.from(x as unknown[], one);
  return list.includes(MISMATCH) ? MISMATCH : list;
}

/** A tensor of integers as lists, nested as deep as it has dimensions. */
export type IndexList = readonly (number | IndexList)[];

const toInts = (x: unknown): unknown => toList(x, toInt);

const toSomeInts = (x: unknown): unknown => toInts(Array.isArray(x) ? x : [x]);

const toTensor = (x: unknown): unknown => (x instanceof Tensor ? x : MISMATCH);

function toIndex(x: unknown): unknown {
  return x === null || x instanceof Tensor ? x : Array.isArray(x) ? indexFromList(x) : MISMATCH;
}

/** An index that was a list, on the GPU where the tensor is that it indexes. */
function beside(self: unknown, index: Tensor): Tensor {
  return self instanceof Tensor && self.isCuda ? index.to(self.device) : index;
}

/** A number, or two lists of them. */
function toAxes(x: unknown): unknown {
  if (!Array.isArray(x)) return toInt(x);
  const lists = x.map(toSomeInts);
  return lists.length === 2 && !lists.includes(MISMATCH) ? lists : MISMATCH;
}

function toFloat(x: unknown): unknown {
  if (!isScalar(x)) return MISMATCH;
  return x instanceof Complex ? Number.NaN : doubleOf(x);
}

const CONVERT: Record<string, Converter> = {
  Tensor: toTensor,
  "Tensor|Scalar": (x) => (x instanceof Tensor || takesScalar(x) ? x : MISMATCH),
  "Tensor|Index": (x) => (x instanceof Tensor ? x : Array.isArray(x) ? indexFromList(x) : MISMATCH),
  "Tensor?[]": (x) => toList(x, toIndex),
  TensorList: (x) => toList(x, toTensor),
  /** The same, which may be given as several arguments. */
  Tensors: (x) => toList(x, toTensor),
  Scalar: (x) => (takesScalar(x) ? x : isZeroDimValue(x)),
  Dim: toInt,
  Int: toInt,
  Dims: (x) => (Array.isArray(x) ? toInts(x) : toInt(x)),
  Size: toInts,
  Sizes: toSomeInts,
  Ints: toSomeInts,
  Axes: toAxes,
  "String|Ints": (x) => (typeof x === "string" ? x : toSomeInts(x)),
  "Int?[]": (x) => toList(Array.isArray(x) ? x : [x], (n) => (n === null ? null : toInt(n))),
  "Int|Ints": (x) => (Array.isArray(x) ? toInts(x) : toInt(x)),
  "Float|Floats": (x) => (Array.isArray(x) ? toList(x, toFloat) : toFloat(x)),
  Float: toFloat,
  Bool: (x) => (typeof x === "boolean" ? x : x === 0 || x === 1 ? x === 1 : MISMATCH),
  String: (x) => (typeof x === "string" ? x : MISMATCH),
  DType: (x) => {
    if (typeof x === "function") refuseFunction(x);
    return x instanceof DType ? x : typeof x === "string" && !namesDevice(x) ? toDType(x) : MISMATCH;
  },
  Device: (x) => (x instanceof Device || typeof x === "string" || isGpu(x) ? toDevice(x) : MISMATCH),
  MemoryFormat: (x) => (x instanceof MemoryFormat ? x : MISMATCH),
  Generator: (x) => (typeof x === "object" && x !== null && "manualSeed" in x ? x : MISMATCH),
  Storage: (x) => (x instanceof Storage || x instanceof UntypedStorage || hasStorage(x) ? x : MISMATCH),
  Index: (x) => x,
  Source: (x) => x,
};

/** A number in the place of a device is that of a GPU. */
function isGpu(x: unknown): x is number {
  return typeof x === "number" && Number.isInteger(x);
}

function hasStorage(x: unknown): boolean {
  return typeof x === "object" && x !== null && "untypedStorage" in x;
}

function isZeroDimValue(x: unknown): unknown {
  if (!loose || !(x instanceof Tensor) || x._numel !== 1 || x._requiresGrad) return MISMATCH;
  return x.dtype.category === 1 ? x.bigint() : x.item();
}

for (const [role, one] of Object.entries(CONVERT)) {
  CONVERT[`${role}?`] = (x) => (x === null || x === undefined ? null : one(x));
}

const converterOf = (role: string): Converter => CONVERT[role] as Converter;

function isVariadic(role: string): boolean {
  return role === "Size" || role === "Sizes" || role === "Tensors";
}

/** One tensor, or as many in a list as there are results. */
function toOut(out: unknown, results: number): unknown {
  if (results === 1) return toTensor(out);
  const list = toList(out, toTensor);
  return list === MISMATCH || (list as unknown[]).length === results ? list : MISMATCH;
}

/** The overload's argument list, or null when it does not fit. */
function bind(overload: Overload, args: readonly unknown[], options: Record<string, unknown> | null): unknown[] | null {
  const rows = overload.args;
  overload.converters ??= rows.map(([, role]) => converterOf(role));
  const values = new Array<unknown>(rows.length);
  const last = overload.positional - 1;
  const variadic = last >= 0 && isVariadic((rows[last] as ArgRow)[1]);
  const gathers = variadic && !Array.isArray(args[last]);
  if (!gathers && args.length > overload.positional) return null;
  for (let i = 0; i < rows.length; i++) {
    const [name, , fallback] = rows[i] as ArgRow;
    let given: unknown;
    if (i < overload.positional && i < args.length) {
      given = gathers && i === last ? args.slice(last) : args[i];
      if (options !== null && options[name] !== undefined) return null;
    } else if (options !== null && options[name] !== undefined) {
      given = options[name];
    } else if (variadic && i === last && args.length === last && fallback === REQUIRED) {
      given = [];
    } else if (fallback === REQUIRED) return null;
    else {
      values[i] = fallback;
      continue;
    }
    if (given === undefined) {
      if (fallback === REQUIRED) return null;
      values[i] = fallback;
      continue;
    }
    const value = (overload.converters[i] as Converter)(given);
    if (value === MISMATCH) return null;
    const indexes = value !== given && (rows[i] as ArgRow)[1].startsWith("Tensor|Index");
    values[i] = indexes ? beside(values[0], value as Tensor) : value;
  }
  if (options !== null && !takesAll(overload, options)) return null;
  if (overload.out > 0) {
    const given = options?.out ?? undefined;
    const out = given === undefined ? undefined : toOut(given, overload.out);
    if (out === MISMATCH) return null;
    values[rows.length] = out;
  }
  return values;
}

function isStrided(x: unknown): boolean {
  if (typeof x === "string" && /^(torch\.)?sparse/.test(x)) throw texts.stridedOnly(undefined, x);
  return x === null || x === "torch.strided" || x === "strided";
}

function takesAll(overload: Overload, options: Record<string, unknown>): boolean {
  for (const key of Object.keys(options)) {
    if (options[key] === undefined) continue;
    if (key === "layout" && overload.layout) {
      if (!isStrided(options[key])) return false;
    } else if (key === "pinMemory" && overload.layout) {
      if (typeof options[key] !== "boolean") return false;
    } else if (key === "out" ? overload.out === 0 : !overload.args.some((a) => a[0] === key)) return false;
  }
  return true;
}

/** Whether 0-dim tensors may stand for numbers: only after no overload took them as tensors. */
let loose = false;

/** torch's second names of arguments. */
const SECOND_NAMES: ReadonlyMap<string, string> = new Map([
  ["axis", "dim"],
  ["keepdims", "keepdim"],
  ["input", "self"],
  ["x", "self"],
  ["a", "self"],
  ["x1", "self"],
  ["x2", "other"],
]);

/** Options with second names put for the first ones; where both are given the second is unknown, as in torch. */
function withFirstNames(options: Record<string, unknown>, overloads: readonly Overload[]): Record<string, unknown> {
  const takes = (key: string) => overloads.some((o) => o.args.some((a) => a[0] === key));
  let renamed: Record<string, unknown> | null = null;
  for (const key in options) {
    const first = SECOND_NAMES.get(key);
    if (first === undefined || !takes(first) || options[first] !== undefined) continue;
    renamed ??= { ...options };
    renamed[first] = options[key];
    delete renamed[key];
  }
  return renamed ?? options;
}

/** The call of an operator with arguments by name; what comes after the last argument given is left out. */
export function byName<R>(name: string, overloads: readonly Overload[], args: unknown[]): R {
  const last = args.findLastIndex((x) => x !== undefined);
  return call(name, overloads, args.slice(0, last + 1));
}

/** Calls of a function again, with other arguments. */
export type Again = (...args: unknown[]) => unknown;

/** Takes the calls of functions on values that are no tensors, as `__torch_function__` does. */
export interface FunctionTaker {
  /** Whether it takes calls on this value. */
  takes(value: unknown): boolean;
  /** What a function gives for such a value among its arguments; undefined where it has no answer. */
  call(name: string, args: readonly unknown[], options: Record<string, unknown> | null, again: Again): unknown;
}

const taker: FunctionTaker = later("taker");

/** Whether an argument sends a call through the table of overloads: options, or a value that another room knows. */
export function goesByTable(x: unknown): boolean {
  return isOptions(x) || taker.takes(x);
}

/** What another room gives for the arguments of a call that no overload takes. */
function taken(name: string, overloads: readonly Overload[], list: unknown[], options: Record<string, unknown> | null) {
  const all = [...list, ...Object.values(options ?? {})];
  if (!all.some(taker.takes)) return undefined;
  return taker.call(name, list, options, (...args) => call(name, overloads, args));
}

/** Factories make their result in pinned memory when they are told to. */
function invoke<R>(overload: Overload, bound: unknown[], options: Record<string, unknown> | null): R {
  const fn = overload.fn as (...args: unknown[]) => R;
  if (overload.layout !== true || options?.pinMemory !== true) return fn(...bound);
  const at = overload.args.findIndex(([name]) => name === "device");
  requirePinnable((bound[at] ?? null) as Device | null);
  return inPinnedMemory(() => fn(...bound));
}

/** Calls the first overload that fits. */
export function call<R>(name: string, overloads: readonly Overload[], args: unknown[]): R {
  let options: Record<string, unknown> | null = null;
  let list = args;
  const tail = args[args.length - 1];
  if (isOptions(tail)) {
    options = withFirstNames(tail, overloads);
    list = args.slice(0, -1);
  }
  for (const tolerant of [false, true]) {
    for (const overload of overloads) {
      loose = tolerant;
      const bound = bind(overload, list, options);
      if (bound !== null) return invoke(overload, bound, options);
    }
  }
  const other = taken(name, overloads, list, options);
  if (other !== undefined) return other as R;
  throw invalid(name, args, overloads, options);
}

/** One of several names of an option that must be given. */
export type Either<A extends string, B extends string, T> =
  | ({ [k in A]: T } & { [k in B]?: never })
  | ({ [k in B]: T } & { [k in A]?: never });

/** Options of which one at least is given. */
export type Some<T> = { [K in keyof T]-?: Required<Pick<T, K>> & T }[keyof T];

/** What a method calls with whatever it was given: the function checks it. */
export type Unchecked = (...args: unknown[]) => unknown;

export const isInt = (x: unknown): x is number => Number.isInteger(x);

export const isDType = (x: unknown): x is DType => x instanceof DType;

/** Sizes that are plain integers from position `from` on, or in one list there; null for all else. */
export function plainSize(args: readonly unknown[], from: number): number[] | null {
  const first = args[from];
  const list = Array.isArray(first) && args.length === from + 1 ? (first as unknown[]) : args;
  const start = list === args ? from : 0;
  if (list === args && args.length === from) return null;
  const sizes: number[] = [];
  for (let i = start; i < list.length; i++) {
    const n = list[i];
    if (!Number.isInteger(n)) return null;
    sizes.push(n as number);
  }
  return sizes;
}

function typeName(x: unknown, depth = 0): string {
  if (x === null) return "None";
  // A list may contain itself.
  if (Array.isArray(x) && depth > 3) return "list";
  if (Array.isArray(x)) {
    const few = x.slice(0, 4).map((y) => typeName(y, depth + 1));
    return `list of [${few.join(", ")}]`;
  }
  if (isOptions(x)) return "dict";
  if (typeof x === "object" || typeof x === "function") return (x as object).constructor?.name ?? "object";
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  return typeof x === "boolean" ? "bool" : typeof x === "string" ? "str" : typeof x;
}

/** What TypeScript calls the kinds of arguments; others have their own names. */
const TYPES: Readonly<Record<string, string>> = {
  Axes: "number | [number[], number[]]",
  Bool: "boolean",
  Dim: "number",
  Dims: "number | number[]",
  Float: "number",
  Int: "number",
  Ints: "number[]",
  Index: "number[]",
  Scalar: "number | bigint | boolean | Complex",
  Size: "number[]",
  Sizes: "number | number[]",
  Source: "Generator",
  String: "string",
  TensorList: "Tensor[]",
  Tensors: "Tensor[]",
};

/** A signature as TypeScript writes it: places first, then an object of what is given by name. */
function formText({ args, positional, out }: Overload): string {
  const one = ([name, kind, fallback]: Overload["args"][number]) => {
    const parts = kind.replace("?", "").split("|");
    const type = [...parts.map((part) => TYPES[part] ?? part), ...(kind.endsWith("?") ? ["null"] : [])].join(" | ");
    return `${name}${fallback === REQUIRED ? "" : "?"}: ${type}`;
  };
  const places = args.slice(0, positional).map(one);
  const named = [...args.slice(positional).map(one), ...(out > 0 ? ["out?: Tensor"] : [])];
  return `(${[...places, ...(named.length > 0 ? [`{ ${named.join("; ")} }`] : [])].join(", ")})`;
}

function invalid(
  name: string,
  args: readonly unknown[],
  overloads: readonly Overload[],
  options: Record<string, unknown> | null,
): Error {
  for (const key of Object.keys(options ?? {})) {
    if ((key === "layout" || key === "pinMemory") && overloads.some((o) => o.layout)) continue;
    if (key !== "out" && !overloads.some((o) => o.args.some((a) => a[0] === key))) {
      const names = overloads.flatMap((o) => [...o.args.map((a) => a[0]), ...(o.out > 0 ? ["out"] : [])]);
      return unknownKeyword(name, key, names);
    }
  }
  const given = args.length - 1;
  for (const key of Object.keys(options ?? {})) {
    const twice = overloads.every((o) => {
      const at = o.args.findIndex((a) => a[0] === key);
      return at >= 0 && at < Math.min(given, o.positional);
    });
    if (twice) return texts.multipleValues(name, name, key);
  }
  const got = args.map((a) => (isOptions(a) ? Object.keys(a).map((k) => `${k}=${typeName(a[k])}`) : typeName(a)));
  const forms = overloads.map(formText);
  const expected = forms.length === 1 ? forms[0] : `one of:\n * ${forms.join("\n * ")}`;
  return texts.invalidCombination(name, got.flat().join(", "), expected);
}

/** Refuses an argument that should have been a tensor. */
export function bad(op: string, name: string, value: unknown): never {
  throw texts.wrongArgument(op, op, name, "Tensor", typeName(value));
}

/** Accepts a number where a tensor or a number is taken. */
export function operand(op: string, name: string, value: unknown): asserts value is Scalar {
  if (!takesScalar(value)) throw texts.wrongArgument(op, op, name, "Tensor or a number", typeName(value));
}

export function operandOrNull(op: string, name: string, value: unknown): asserts value is Scalar | null {
  if (value !== null) operand(op, name, value);
}

/** Whether the options have these names only. */
export function knowsAll(op: string, options: unknown, known: readonly string[]): options is Record<string, unknown> {
  if (!isOptions(options)) throw texts.optionsNotAnObject(op, typeName(options));
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) return false;
  }
  return true;
}

/** One option, converted to its role, which decides the type, or its default. */
export function option<T>(op: string, options: Record<string, unknown>, name: string, role: string, fallback: T): T {
  const given = options[name];
  if (given === undefined) return fallback;
  loose = true;
  const value = converterOf(role)(given);
  if (value === MISMATCH) throw texts.wrongArgument(op, op, name, role, typeName(given));
  return value as T;
}

/** The `out` option: a tensor, or absent. */
export function outOption(op: string, options: Record<string, unknown>): Tensor | undefined {
  const out = options.out;
  if (out === undefined || out === null) return undefined;
  if (!(out instanceof Tensor)) bad(op, "out", out);
  return out as Tensor;
}

// Arithmetic, comparison and reduction of collections: names of methods that are made from lists, and what they take.
import type { DTypeName } from "../../tensor/dtype.ts";
import { FORMS } from "./signatures.ts";

/** Functions of one tensor that exist under the same name here. */
export const UNARY = [
  ...(["abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "erfc", "exp", "expm1", "floor", "frac"] as const),
  ...(["lgamma", "log", "log10", "log1p", "log2", "neg", "reciprocal", "round", "sigmoid", "sign", "sin"] as const),
  ...(["sinh", "sqrt", "square", "tan", "tanh", "trunc"] as const),
  "logicalNot",
  "bitwiseNot",
] as const;

/** Tests of one tensor. */
export const TESTS = ["isnan", "isfinite", "isinf", "isneginf", "isreal", "isposinf"] as const;

/** Functions of two operands. */
export const BINARY = [
  "add",
  "sub",
  "mul",
  "div",
  "pow",
  "fmod",
  "remainder",
  "maximum",
  "minimum",
  "logicalAnd",
  "logicalOr",
  "bitwiseAnd",
  "bitwiseOr",
  "bitwiseXor",
] as const;

/** Those that have no in-place form. */
export const WITHOUT_INPLACE: ReadonlySet<string> = new Set(["maximum", "minimum"]);

/** Comparisons. */
export const COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"] as const;

/** Reductions: over everything of each tensor, over batch dimensions, or of all tensors together. */
export const REDUCE = ["sum", "mean", "prod", "std", "var", "amax", "amin", "nansum", "nanmean"] as const;

/** Those whose entries can get other names. */
const TRANSFORMED: ReadonlySet<string> = new Set(["sum", "mean"]);

/** Casts by name, to dtypes. */
export const CASTS: Readonly<Record<string, DTypeName>> = {
  float: "float32",
  double: "float64",
  half: "float16",
  int: "int32",
  long: "int64",
  short: "int16",
  ...Object.fromEntries(
    ["bool", "bfloat16", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16"].map(
      (name) => [name, name],
    ),
  ),
  ...Object.fromEntries(["uint32", "uint64", "complex64", "complex128"].map((name) => [name, name])),
} as Readonly<Record<string, DTypeName>>;

/** Functions of one tensor, in all their forms. */
const SIMPLE: readonly string[] = [...UNARY, ...UNARY.map((name) => `${name}_`), ...TESTS];

/** Those that take a default for keys that one side lacks. */
const DEFAULTED: readonly string[] = ["mul", "div", "pow", "maximum", "minimum", "logicalAnd", "bitwiseAnd"];

function formOf(name: string): string {
  if (name === "add" || name === "sub") return FORMS.sum;
  if (name === "add_" || name === "sub_") return FORMS.sumInPlace;
  return DEFAULTED.includes(name) ? FORMS.defaulted : FORMS.binary;
}

function forms(names: readonly string[], form: (name: string) => string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, form(name)]));
}

/** What the methods that are made from lists take, as the tables of core/signatures.ts have it. */
export const MATH: Readonly<Record<string, string>> = {
  ...forms(SIMPLE, () => FORMS.unary),
  ...forms([...BINARY, ...BINARY.map((name) => `${name}_`)], formOf),
  ...forms(COMPARE, () => FORMS.compare),
  ...forms(Object.keys(CASTS), () => FORMS.cast),
  ...forms(["sum", "mean", "prod", "nansum", "nanmean"], (name) =>
    TRANSFORMED.has(name) ? FORMS.total : FORMS.totals,
  ),
  ...forms(["std", "var"], () => FORMS.spread),
  ...forms(["amax", "amin"], () => FORMS.reduce),
};

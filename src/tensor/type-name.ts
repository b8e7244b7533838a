/** How messages name the types of values. */
import * as texts from "../../generated/texts.ts";
import { Tensor } from "./tensor.ts";

/** The name of a value's type as torch's messages give it. */
export function typeName(x: unknown): string {
  if (x === null || x === undefined) return "NoneType";
  if (x instanceof Tensor) return `torch.${x.dtype.scalarType}Tensor`;
  if (typeof x === "number") return Number.isInteger(x) ? "int" : "float";
  if (typeof x === "bigint") return "int";
  if (typeof x === "boolean") return "bool";
  if (typeof x === "string") return "str";
  if (Array.isArray(x)) return "list";
  const name = (x as object).constructor?.name;
  return name === undefined || name === "" ? typeof x : name === "Object" ? "dict" : name;
}

/** The dtypes that have a class of tensors on each device. */
const WITH_CLASS: ReadonlySet<string> = new Set(["Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short"]);

/** The name that torch's errors give the type of a tensor with its device: `torch.cuda.FloatTensor`. */
export function legacyType(t: Tensor): string {
  const { scalarType } = t.dtype;
  const { type } = t.device;
  if (type === "meta") return `Meta${scalarType}Type`;
  if (!WITH_CLASS.has(scalarType)) return `${type.toUpperCase()}${scalarType}Type`;
  return type === "cuda" ? `torch.cuda.${scalarType}Tensor` : `torch.${scalarType}Tensor`;
}

/** The error for what should give parameters one after the other; of a module it is `parameters()` that does. */
export function notIterable(x: unknown): Error {
  const gives = x !== null && x !== undefined && typeof (x as { parameters?: unknown }).parameters === "function";
  return texts.notIterable(undefined, typeName(x), gives ? " (give its .parameters())" : "");
}

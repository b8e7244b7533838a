/** How messages name the types of values. */
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

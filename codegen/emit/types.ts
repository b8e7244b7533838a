/** What the roles of arguments are in TypeScript, once they are converted. */
import type { Arg } from "../model/load.ts";
import type { Role } from "../model/types.ts";

const TYPES: Readonly<Record<Role, string>> = {
  Tensor: "Tensor",
  "Tensor?": "Tensor | null",
  "Tensor|Scalar": "Tensor | Scalar",
  "Tensor|Scalar?": "Tensor | Scalar | null",
  Axes: "number | readonly [readonly number[], readonly number[]]",
  "Tensor|Index": "Tensor",
  "Tensor|Index?": "Tensor | null",
  "Tensor?[]": "readonly (Tensor | null)[]",
  TensorList: "readonly Tensor[]",
  Scalar: "Scalar",
  "Scalar?": "Scalar | null",
  Dim: "number",
  "Dim?": "number | null",
  Dims: "number | readonly number[]",
  "Dims?": "number | readonly number[] | null",
  Size: "readonly number[]",
  Sizes: "readonly number[]",
  Ints: "readonly number[]",
  "String|Ints": "string | readonly number[]",
  "Int|Ints?": "number | readonly number[] | null",
  "Float|Floats?": "number | readonly number[] | null",
  "Ints?": "readonly number[] | null",
  "Int?[]": "readonly (number | null)[]",
  Int: "number",
  "Int?": "number | null",
  Float: "number",
  "Float?": "number | null",
  Bool: "boolean",
  "Bool?": "boolean | null",
  String: "string",
  "String?": "string | null",
  DType: "DType",
  "DType?": "DType | null",
  "Device?": "Device | null",
  "Generator?": "Generator | null",
  "MemoryFormat?": "MemoryFormat | null",
  Index: "unknown",
  "Source?": "Tensor | TypedStorageLike | UntypedStorage | null",
};

export function typeOf(a: Arg): string {
  return TYPES[a.role];
}

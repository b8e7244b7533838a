/** A small boundary for the golden emits. */
import type { DTypeRow, NativeRow, StatusRow } from "../../../codegen/model/types.ts";

export const computes = ["f32", "i64", "b8", "c64"] as const;

const whole = { category: 1, signed: true, native: true } as const;

export const dtypes = [
  {
    id: 0,
    name: "bool",
    itemsize: 1,
    category: 0,
    signed: false,
    scalarType: "Bool",
    cppName: "bool",
    compute: "b8",
    native: true,
  },
  { id: 5, name: "int64", itemsize: 8, ...whole, scalarType: "Long", cppName: "long int", compute: "i64" },
  {
    id: 8,
    name: "float32",
    itemsize: 4,
    category: 2,
    signed: true,
    scalarType: "Float",
    cppName: "float",
    compute: "f32",
    native: true,
  },
  {
    id: 10,
    name: "complex64",
    itemsize: 8,
    category: 3,
    signed: true,
    scalarType: "ComplexFloat",
    cppName: "c10::complex<float>",
    compute: "c64",
    native: true,
  },
] as const satisfies readonly DTypeRow[];

export const statuses = [
  { code: 0, name: "ok", doc: "Done." },
  { code: -2, name: "unsupported", doc: "No body for this compute type." },
] as const satisfies readonly StatusRow[];

export const frame = {
  maxRank: 8,
  header: ["operand_count", "compute", "reserved_a"],
  detail: 5,
  attrs: 8,
  scratch: 16,
  operand: ["data", "dtype", "reserved_a"],
} as const;

export const natives = [
  { name: "zs_abi_hash", args: [], returns: "ptr", doc: "Hash of the shared tables." },
  { name: "zs_copy", args: ["ptr", "ptr", "f64"], returns: "void", doc: "memmove." },
] as const satisfies readonly NativeRow[];

export const ownerlessKernels = [] as const satisfies readonly string[];

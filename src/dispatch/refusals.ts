/** Dtypes that an operator refuses, as its schema entry says it. */
import * as texts from "../../generated/texts.ts";
import { type Scalar, scalarKind } from "../tensor/complex.ts";
import { bool, complex64, type DType, float32, int64 } from "../tensor/dtype.ts";
import { NotImplementedError, RuntimeError, TypeError } from "../tensor/errors.ts";
import { Tensor } from "../tensor/tensor.ts";

export interface Refusal {
  /** Bit n stands for the dtype of number n. */
  readonly dtypes: number;
  /** torch's kernel, which refuses the dtype of computation. */
  readonly kernel: string | null;
  /** Other words, about the operands. */
  readonly text: string | null;
  readonly error: "NotImplementedError" | "RuntimeError" | "TypeError";
  /** Operands that must all be of these dtypes; null: any one of them all. */
  readonly all: readonly number[] | null;
}

const ERRORS = { NotImplementedError, RuntimeError, TypeError };
const OF_KIND = { bool, int: int64, float: float32, complex: complex64 } as const;

const has = (r: Refusal, d: DType): boolean => (r.dtypes & (1 << d.id)) !== 0;

function dtypeOf(x: Tensor | Scalar): DType {
  if (x instanceof Tensor) return x.dtype;
  return OF_KIND[scalarKind(x)];
}

/** Refusals that look at the operands' own dtypes. */
export function refuseOperands(refuses: readonly Refusal[], operands: readonly (Tensor | Scalar)[], op: string): void {
  for (const r of refuses) {
    if (r.text === null) continue;
    const dtypes = operands.map(dtypeOf);
    const found = dtypes.find((d) => has(r, d));
    if (found === undefined) continue;
    if (r.all !== null && !r.all.every((i) => has(r, dtypes[i] as DType))) continue;
    throw new ERRORS[r.error](r.text.replace("{dtype}", found.scalarType), { op, code: "dtype" });
  }
}

/** A refusal of one dtype, by the kernel that lacks it. */
export function refuse(r: Refusal & { kernel: string }, d: DType, op?: string): void {
  if (has(r, d)) throw texts.notImplementedFor(op, r.kernel, d.scalarType);
}

/** Refusals of the dtype of computation. */
export function refuseCompute(refuses: readonly Refusal[], compute: DType, op: string): void {
  for (const r of refuses) {
    if (r.kernel === null || !has(r, compute)) continue;
    throw texts.notImplementedFor(op, r.kernel, compute.scalarType);
  }
}

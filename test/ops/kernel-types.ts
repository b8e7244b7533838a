// Types of the kernel fixtures: see scripts/oracle/make_kernel_fixtures.py.
import type { Code } from "../conformance/case-types.ts";

export interface Bound {
  ulp?: number;
  rtol?: number;
  atol?: number;
}

export type Arg = string | number | boolean | null | { f?: number; dt?: string } | Arg[];

/** How an op is called; see scripts/oracle/kernel_ops.py. */
export interface OpSpec {
  fn: string;
  args: Arg[];
  kw?: Record<string, unknown>;
  doms?: Record<string, string>;
  tol: Bound;
  half?: Bound;
  cplx?: Bound;
  shapes?: Record<string, string>;
  index?: string;
  first?: boolean;
}

export interface Row {
  o: string;
  d: Code;
  n: number;
  l: string;
  f: "f" | "i" | "o" | "g";
  t?: Code;
  rd?: Code[];
  rs?: number[][];
  h?: string[];
  v?: (number | string)[][];
  w?: number[][];
  q?: number[];
  s?: boolean | number;
  e?: [string, string];
}

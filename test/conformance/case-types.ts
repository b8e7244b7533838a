// Types of the golden-case files (index.jsonl): one JSON object per case, tagged values inside.

/** dtype codes as written in the files. */
export type Code =
  | "bool"
  | "u8"
  | "u16"
  | "u32"
  | "u64"
  | "i8"
  | "i16"
  | "i32"
  | "i64"
  | "f16"
  | "bf16"
  | "f32"
  | "f64"
  | "c32"
  | "c64"
  | "c128";

/** A strided window over one entry of a case's storage table. */
export interface StridedDesc {
  s: number;
  dt: Code;
  sh: number[];
  st?: number[];
  off?: number;
  rg?: 1;
  cj?: 1;
  ng?: 1;
}

/** A tensor as described by a case. */
export interface TensorDesc extends StridedDesc {
  gf?: string;
  nv?: 1;
  ver?: number;
  leaf?: 0 | 1;
  isv?: 1;
}

export type FloatPart = number | "nan" | "inf" | "-inf" | "-0";

export interface Tagged {
  $t?: TensorDesc;
  $tu?: Encoded[];
  $f?: FloatPart;
  $c?: [FloatPart, FloatPart];
  $i?: string;
  $dt?: Code;
  $mf?: string;
  $lay?: string;
  $sl?: [Encoded, Encoded, Encoded];
  $e?: 1;
  $v?: number;
  $d?: Record<string, Encoded>;
  $dev?: string;
  $ty?: string;
}

export type Encoded = number | string | boolean | null | Encoded[] | Tagged;

export interface ErrSpec {
  type: string;
  msg: string;
  re?: string;
  got?: string;
  step?: number;
}

export type ErrPair = [type: string, message: string];

/** Without a receiver it is a call of a function. */
export type Step = [
  dest: number | null,
  method: string,
  recv: number | null,
  args: Encoded[],
  kwargs?: Record<string, Encoded>,
];

/** Leaves have their numbers as keys; those that nothing depends on are left out. */
export interface Second {
  /** Without a graph, where they are others. */
  plain?: Record<string, { $t: TensorDesc }>;
  grads: Record<string, { $t: TensorDesc }>;
  /** None where the gradients depend on no leaf; an error of torch's leaves them out, too. */
  grads2?: Record<string, { $t: TensorDesc }>;
  jvp?: { $t: TensorDesc };
}

export type RngCall = [fn: string, args: Encoded[], kwargs: Record<string, Encoded>, result: Encoded];

export interface Case {
  id: string;
  op: string;
  vt?: string;
  fam?: "promo" | "index" | "prog" | "repr" | "rng";
  dt?: Code;
  args: Encoded[];
  kw?: Record<string, Encoded>;
  out?: Encoded;
  S: [offset: number, length: number][];
  seed?: number;
  post?: Record<string, number>;
  m?: 1;
  merr?: ErrPair;
  ip?: 1 | { $t: TensorDesc };
  iperr?: ErrPair;
  gi?: number[];
  g?: ({ $t: TensorDesc } | null)[];
  gskip?: string;
  gerr?: ErrPair;
  err?: ErrSpec;
  rt?: string;
  leaves?: { $t: TensorDesc }[];
  steps?: Step[];
  vars?: TensorDesc[];
  /** Where an error leaves unsaid what was written, or elements lie in each other: no values are compared. */
  kept?: "unknown";
  bw?: number;
  /** Tolerances times this: what a program computes from inexact numbers is less exact. */
  loose?: number;
  grads?: Record<string, { $t: TensorDesc }>;
  bwerr?: ErrPair;
  /** Of `bw`, with a graph: gradients, their gradients, and the change along a tangent of the leaves. */
  second?: Second;
  pre?: string;
  po?: Record<string, Encoded>;
  repr?: string;
  calls?: RngCall[];
  module?: string;
  margs?: Encoded[];
  state?: Record<string, { $t: TensorDesc }>;
}

export type Family = "opinfo" | "error" | "promo" | "index" | "prog" | "repr" | "rng";

/** The family a case belongs to. */
export function familyOf(c: Case): Family {
  return c.fam ?? (c.err === undefined ? "opinfo" : "error");
}

/** True for an object that carries the given tag. */
export function hasTag<K extends keyof Tagged>(
  v: Encoded | undefined,
  tag: K,
): v is Tagged & Required<Pick<Tagged, K>> {
  return typeof v === "object" && v !== null && !Array.isArray(v) && tag in v;
}

/** Number of elements of a shape. */
export function numelOf(shape: readonly number[]): number {
  return shape.reduce((a, b) => a * b, 1);
}

/** Strides of a contiguous tensor, torch's convention for empty dims included. */
export function contiguousStrides(shape: readonly number[]): number[] {
  const st = new Array<number>(shape.length).fill(1);
  for (let i = shape.length - 2; i >= 0; i--) st[i] = (st[i + 1] as number) * Math.max(shape[i + 1] as number, 1);
  return st;
}

/** Tensor descriptors of a value, depth first; null entries and scalars give nothing. */
export function tensorDescs(v: Encoded | undefined, into: TensorDesc[] = []): TensorDesc[] {
  if (typeof v !== "object" || v === null) return into;
  if (Array.isArray(v)) {
    for (const x of v) tensorDescs(x, into);
  } else if (v.$t) into.push(v.$t);
  else if (v.$tu) tensorDescs(v.$tu, into);
  else if (v.$d) for (const x of Object.values(v.$d)) tensorDescs(x, into);
  return into;
}

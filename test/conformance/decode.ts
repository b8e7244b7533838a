// Turns the encoded values of a case into arguments: private storages per run, aliasing inputs, leaves that
// require grad, scalars of the right kind.
import type { Adapter, Any } from "./adapter.ts";
import { camel } from "./adapter.ts";
import type { CaseSet } from "./case-set.ts";
import { storageBytes } from "./case-set.ts";
import type { Case, Encoded, FloatPart, TensorDesc } from "./case-types.ts";
import { contiguousStrides, numelOf } from "./case-types.ts";

export function floatPart(x: FloatPart): number {
  if (typeof x === "number") return x;
  if (x === "nan") return Number.NaN;
  if (x === "-0") return -0;
  return x === "inf" ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
}

export interface Input {
  desc: TensorDesc;
  tensor: Any;
}

/** Ops whose plain numbers are data: an int must be marked there or it would take the default dtype. */
const DATA_OPS = new Set(["full", "full_like", "new_full", "scalar_tensor", "tensor", "new_tensor", "as_tensor"]);

/** One run of a case: owns fresh storages; equal `s` share one. */
export class Run {
  readonly inputs: Input[] = [];
  private readonly storages = new Map<number, unknown>();
  private readonly markInts: boolean;

  constructor(
    readonly adapter: Adapter,
    readonly set: CaseSet,
    readonly c: Case,
    /** Detached runs ignore `rg`. */
    readonly grad = true,
    readonly device: "cpu" | "meta" | "cuda" = "cpu",
  ) {
    this.markInts = DATA_OPS.has(c.op);
  }

  /** The storage of an input, made on first use. */
  storage(s: number): unknown {
    let st = s < 0 ? undefined : this.storages.get(s);
    if (st === undefined) {
      st = this.freshStorage(s);
      if (s >= 0) this.storages.set(s, st);
    }
    return st;
  }

  private freshStorage(s: number): unknown {
    return this.storageOf(storageBytes(this.set, this.c, s));
  }

  /** A storage with these bytes where the case runs. */
  storageOf(bytes: Uint8Array): unknown {
    if (this.device === "meta") return this.adapter.metaStorage(bytes.length);
    return this.device === "cuda" ? this.adapter.deviceStorage(bytes) : this.adapter.storage(bytes);
  }

  /** s of every input storage made so far, with the storage. */
  inputStorages(): IterableIterator<[number, unknown]> {
    return this.storages.entries();
  }

  tensor(d: TensorDesc, register = true): Any {
    const storage = this.storage(d.s);
    const t = this.adapter.tensor(storage, d.dt, d.sh, d.st ?? contiguousStrides(d.sh), d.off ?? 0, d.cj === 1);
    if (d.rg && this.grad) this.adapter.requireGrad(t);
    if (register) this.inputs.push({ desc: d, tensor: t });
    return t;
  }

  /** A tensor on a storage of its own: copy of the whole storage, same window. */
  privateCopy(d: TensorDesc): Any {
    const storage = this.freshStorage(d.s);
    return this.adapter.tensor(storage, d.dt, d.sh, d.st ?? contiguousStrides(d.sh), d.off ?? 0, d.cj === 1);
  }

  value(v: Encoded | undefined): unknown {
    if (v === undefined) return undefined;
    if (v === "cpu") return this.device;
    if (v === null || typeof v === "string" || typeof v === "boolean") return v;
    const a = this.adapter;
    if (typeof v === "number") return this.markInts ? a.int(v) : v;
    if (Array.isArray(v)) return v.map((x) => this.plain(x));
    if (v.$t) return this.tensor(v.$t);
    if (v.$tu) return v.$tu.map((x) => this.plain(x));
    if (v.$f !== undefined) return a.float(floatPart(v.$f));
    if (v.$c) return a.complex(floatPart(v.$c[0]), floatPart(v.$c[1]));
    if (v.$i !== undefined) return BigInt(v.$i);
    if (v.$dt) return a.dtype(v.$dt);
    if (v.$mf) return a.memoryFormat(v.$mf);
    if (v.$lay) return a.layout(v.$lay);
    if (v.$sl) return a.slice(this.plain(v.$sl[0]), this.plain(v.$sl[1]), this.plain(v.$sl[2]));
    if (v.$e) return "...";
    if (v.$dev) return v.$dev;
    throw new Error(`cannot decode ${JSON.stringify(v)}`);
  }

  /** Inside sizes and lists plain ints stay plain. */
  private plain(v: Encoded): unknown {
    return typeof v === "number" ? v : this.value(v);
  }

  args(): unknown[] {
    return this.c.args.map((v) => this.value(v));
  }

  /** Keyword arguments with our spelling; undefined when there are none. */
  kwargs(kw = this.c.kw): Record<string, unknown> | undefined {
    if (!kw || Object.keys(kw).length === 0) return undefined;
    return Object.fromEntries(Object.entries(kw).map(([k, v]) => [camel(k), this.value(v)]));
  }
}

/** Bytes that a descriptor of a case states, after `post` where it applies. */
export function describedBytes(set: CaseSet, c: Case, d: TensorDesc): Uint8Array {
  const after = c.post?.[String(d.s)];
  return storageBytes(set, c, after ?? d.s);
}

export function isEmpty(d: TensorDesc): boolean {
  return numelOf(d.sh) === 0;
}

// The values of one case: private storages, tensors on them, collections built bottom up without checks.
import * as z from "../../../src/index.ts";
import { Size } from "../../../src/tensor/size.ts";
import { make, type Td, toDeviceOrNull } from "../../../src/tensordict/core/state.ts";
import type { Entry } from "../../../src/tensordict/core/types.ts";
import { type Adapter, type Any, camel, NoSuchOp, NotApplicable } from "../adapter.ts";
import { contiguousStrides } from "../case-types.ts";
import { floatPart } from "../decode.ts";
import type { CollectionDesc, Encoded, Field, TdCase, TdCaseSet, TensorDesc } from "./case.ts";
import { LAMBDAS } from "./lambdas.ts";

const lib = z as Any;

/** An exported class or function, also of the namespace `tensordict`. */
export function exported(name: string): Any {
  return lib[name] ?? lib.tensordict[name];
}

const FIELD_TYPES: Record<string, unknown> = {
  Tensor: z.Tensor,
  str: String,
  int: Number,
  float: Number,
  bool: Boolean,
};
const classes = new Map<string, Any>();

/** The tensorclass of a name with fields. */
export function classOf(name: string, fields: readonly Field[] = []): Any {
  const id = JSON.stringify([name, fields]);
  const known = classes.get(id);
  if (known !== undefined) return known;
  const types: Record<string, unknown> = {};
  for (const [field, type] of fields)
    types[field] = type === "self" ? () => classes.get(id) : (FIELD_TYPES[type] ?? null);
  const plain = name.replace(/^@/, "");
  const Base = z.tensorclass(types as Any) as Any;
  // Classes are known by their names, to files too: these must not stand in for those of other tests.
  const unique = `${plain} of case ${classes.size}`;
  const made = {
    [unique]: class extends Base {
      get _className(): string {
        return plain;
      }
    },
  }[unique];
  classes.set(id, made);
  return made;
}

/** Keys that a plain object would put into another order, or that are no texts. */
/** Methods whose keywords are keys. */
export const KEYED: ReadonlySet<string> = new Set(["replace"]);

const needsMap = (key: unknown) => typeof key !== "string" || /^\d+$/.test(key);

export class Scene {
  readonly storages = new Map<number, unknown>();
  readonly objects = new Map<number, unknown>();
  /** Collections to lock once all is built. */
  private toLock: Td[] = [];

  constructor(
    readonly adapter: Adapter,
    readonly set: TdCaseSet,
    readonly c: TdCase,
  ) {}

  storage(s: number): unknown {
    let found = this.storages.get(s);
    if (found === undefined) {
      found = this.adapter.storage(s < 0 ? new Uint8Array(0) : this.set.bytes(this.c, s));
      if (s >= 0) this.storages.set(s, found);
    }
    return found;
  }

  /** Arguments of a call, built and then locked. `data`: the one whose whole numbers are integers, as in Python. */
  values(list: readonly Encoded[], data = -1): unknown[] {
    const made = list.map((v, i) => this.value(v, i === data));
    const locks = this.toLock.reverse();
    this.toLock = [];
    for (const td of locks) if (!td.isLocked) td.lock_();
    return made;
  }

  options(kw: Record<string, Encoded> | undefined, method = "", data = false): Record<string, unknown> | undefined {
    if (kw === undefined || Object.keys(kw).length === 0) return undefined;
    const given = Object.values(kw);
    const values = data ? given.map((v) => this.value(v, true)) : this.values(given);
    return Object.fromEntries(Object.keys(kw).map((key, i) => [KEYED.has(method) ? key : camel(key), values[i]]));
  }

  value(v: Encoded, data = false): unknown {
    if (typeof v === "number") return data ? z.int(v) : v;
    if (v === null || typeof v !== "object") return v;
    if (Array.isArray(v)) return v.map((one) => this.value(one, data));
    const tag = Object.keys(v)[0] as string;
    const x = v[tag];
    switch (tag) {
      case "$t":
        return this.tensor(x);
      case "$td":
        return this.collection(x);
      case "$ref":
        return this.objects.get(x);
      case "$f":
        return this.float(floatPart(x));
      case "$c":
        return this.adapter.complex(floatPart(x[0]), floatPart(x[1]));
      case "$i":
        return BigInt(x);
      case "$d":
        return this.dict(x);
      case "$tu":
      case "$it":
        return x.map((one: Encoded) => this.value(one, data));
      case "$sz":
        return Size.fromList(x);
      case "$nt":
        return Object.fromEntries(x.map(([name, one]: [string, Encoded]) => [name, this.value(one, true)]));
      case "$set":
        return new Set(x.map((one: Encoded) => this.value(one)));
      default:
        return this.rare(tag, x);
    }
  }

  private rare(tag: string, x: Encoded): unknown {
    switch (tag) {
      case "$sl":
        return z.slice(x[0], x[1], x[2]);
      case "$e":
        return "...";
      case "$ra":
        return Array.from({ length: Math.max(0, Math.ceil((x[1] - x[0]) / x[2])) }, (_, i) => x[0] + i * x[2]);
      case "$dt":
        return this.adapter.dtype(x);
      case "$dev":
        return x;
      case "$ty":
        if (x === "Tensor") return z.Tensor;
        throw new NotApplicable(`the type ${x}`);
      case "$np":
        return this.tensor(x);
      case "$fn": {
        const found = LAMBDAS[x] ?? exported(camel(x));
        if (typeof found !== "function") throw new NoSuchOp(`no such function: ${x}`);
        return found;
      }
      default:
        throw new NotApplicable(`values of the kind ${tag}`);
    }
  }

  /** A whole float says that it is one. */
  private float(x: number): unknown {
    return Number.isInteger(x) ? z.float(x) : x;
  }

  private dict(pairs: [Encoded, Encoded][]): unknown {
    const entries = pairs.map(([key, one]) => [this.value(key), this.value(one, true)] as const);
    return entries.some(([key]) => needsMap(key))
      ? new Map(entries)
      : Object.fromEntries(entries as [string, unknown][]);
  }

  tensor(d: TensorDesc): Any {
    if (!this.adapter.hasDtype(d.dt)) throw new NotApplicable(`the dtype ${d.dt}`);
    const strides = d.st ?? contiguousStrides(d.sh);
    const t = this.adapter.tensor(this.storage(d.s), d.dt, d.sh, strides, d.off ?? 0, d.cj === 1);
    if (d.ub) return new lib.UnbatchedTensor(t, { batchSize: d.ubs ?? [] });
    if (d.pa) return new lib.nn.Parameter(t, { requiresGrad: d.rg === 1 });
    if (d.bf) {
      if (lib.nn.Buffer === undefined) throw new NoSuchOp("no such class: nn.Buffer");
      return new lib.nn.Buffer(t);
    }
    return d.rg ? t.requiresGrad_(true) : t;
  }

  private collection(d: CollectionDesc): Td {
    const made = this.bare(d);
    if (d["#"] !== undefined) this.objects.set(d["#"], made);
    // Holders come after what they hold; they are locked in the reverse order.
    if (d.lk) this.toLock.push(made);
    return made;
  }

  private bare(d: CollectionDesc): Td {
    const state = {
      batchSize: Size.fromList(d.bs ?? []),
      device: toDeviceOrNull(d.dev as "cpu" | undefined),
      names: d.n ?? null,
    };
    const members = () => (d.m ?? []).map((one) => this.value(one) as Td);
    switch (d.c) {
      case "TensorDict": {
        const entries = new Map<string, Entry>();
        for (const [key, one] of d.e ?? []) entries.set(key, this.value(one) as Entry);
        return make.tensordict(entries, state) as Td;
      }
      case "LazyStackedTensorDict":
        return new z.LazyStackedTensorDict(members(), { stackDim: d.sd ?? 0, stackDimName: d.sn ?? null }) as Td;
      case "NonTensorStack":
        return new z.NonTensorStack(...members(), { stackDim: d.sd ?? 0 } as never) as Td;
      case "NonTensorData":
      case "MetaData":
        return make.nonTensor(this.value(d.v), state, d.c) as unknown as Td;
      case "TensorDictParams": {
        const made = new z.TensorDictParams(this.value(d.td), { noConvert: "skip" });
        made.noConvert = (d.nc ?? false) as never;
        if (d.ev) made.eval();
        return made;
      }
      default: {
        const td = this.value(d.td) as Any;
        const made = classOf(d.c, d.fl).fromTensordict(td);
        const others = Array.isArray(d.nt) ? d.nt : Object.entries(d.nt ?? {});
        for (const [name, one] of others) made[name] = this.value(one);
        return made;
      }
    }
  }
}

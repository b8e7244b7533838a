// Replays one random call (scripts/oracle/make_random_cases.py) and says what differs from torch's answer.
import { type Adapter, type Any, camel, NoSuchOp } from "../conformance/adapter.ts";
import type { Code } from "../conformance/case-types.ts";
import { contiguousStrides } from "../conformance/case-types.ts";
import { type Elements, ITEM_SIZE, isComplexCode, readElements } from "../conformance/elements.ts";
import { ourSpelling } from "../spelling.ts";

export type Raw = number | boolean | string | [number | string, number | string];
type Value = Raw | null | Record<string, unknown> | Value[];

interface Result {
  v?: unknown;
  dt?: Code;
  sh?: number[];
  st?: number[];
  x?: Raw[];
  /** Number of the storage that it shares, -1 for one of its own. */
  a?: number;
  off?: number;
  gf?: string | null;
  ver?: number;
  /** c: lazily conjugated, n: lazily negated. */
  fl?: string;
}

export interface RandomCase {
  id: number | string;
  op: string;
  form: "f" | "m" | "i" | "o";
  /** The last says that it is lazily conjugated. */
  T: [Code, number, number[], number[], number, boolean, number?][];
  S: [Code, Raw[]][];
  args: Value[];
  kw?: Record<string, Value>;
  err?: [string, string];
  out?: Result[];
  post?: Record<string, Raw[]>;
  grads?: (Raw[] | null)[];
  /** Strides of the gradients. */
  gst?: (number[] | null)[];
  gerr?: [string, string];
  /** What the generator starts from. */
  seed?: number;
  /** All strides, versions and flags are answers, also where nothing depends on them. */
  strict?: boolean;
  /** Versions of the operands afterwards. */
  tv?: number[];
  /** Results are torch's bit for bit. */
  exact?: boolean;
  /** They need a fused product. */
  fma?: boolean;
  section?: string;
}

/** [relative, absolute] tolerance. Sums of a few elements differ by some units in the last place. */
const BOUND: Partial<Record<Code, [number, number]>> = {
  f16: [4e-3, 4e-3],
  bf16: [2e-2, 2e-2],
  f32: [3e-6, 2e-6],
  f64: [1e-12, 1e-12],
  c64: [1e-5, 1e-5],
  c128: [1e-11, 1e-11],
};

/** Two dtypes of torch that hardly any operator takes. */
const NO_SHORT_COMPLEX = /^zensor has no b?complex32/;

const toNumber = (v: unknown): number =>
  v === "nan" ? Number.NaN : v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v);

function numbers(raw: readonly Raw[]): number[] {
  return raw.flatMap((v) => (Array.isArray(v) ? v.map(toNumber) : [toNumber(v)]));
}

/** Elements of a storage as bytes, converted by a typed array or, for bfloat16, by cutting float32 bits. */
export function bytesOf(code: Code, raw: readonly Raw[]): Uint8Array {
  const v = numbers(raw);
  const arrays: Partial<Record<Code, (x: number[]) => ArrayBufferView>> = {
    bool: (x) => Uint8Array.from(x),
    u8: (x) => Uint8Array.from(x),
    i8: (x) => Int8Array.from(x),
    i16: (x) => Int16Array.from(x),
    i32: (x) => Int32Array.from(x),
    i64: (x) => BigInt64Array.from(x.map(BigInt)),
    f16: (x) => Float16Array.from(x),
    bf16: (x) => Uint16Array.from(new Uint32Array(Float32Array.from(x).buffer), (b) => b >>> 16),
    f32: (x) => Float32Array.from(x),
    f64: (x) => Float64Array.from(x),
    c64: (x) => Float32Array.from(x),
    c128: (x) => Float64Array.from(x),
  };
  const a = (arrays[code] as (x: number[]) => ArrayBufferView)(v);
  return new Uint8Array(a.buffer, a.byteOffset, a.byteLength).slice();
}

const width = (code: Code): number => (isComplexCode(code) ? 2 : 1);

/** `scale` widens the tolerance; 0 asks for every bit. */
function differ(code: Code, got: Elements, raw: readonly Raw[], scale = 1): string | null {
  const want = numbers(raw);
  const have = Array.from(got as Float64Array, Number);
  if (have.length !== want.length) return `${have.length} numbers, expected ${want.length}`;
  const [rel, abs] = BOUND[code] ?? [0, 0];
  const step = width(code);
  for (let i = 0; i < want.length; i++) {
    const [a, b] = [have[i] as number, want[i] as number];
    if (Object.is(a, b) || (a === b && scale > 0)) continue;
    const first = i - (i % step);
    const size = Math.max(
      ...want
        .slice(first, first + step)
        .map(Math.abs)
        .filter(Number.isFinite),
      0,
    );
    if (scale > 0 && Math.abs(a - b) <= scale * (rel * size + abs)) continue;
    return `[${i}] is ${shown(a)}, expected ${shown(b)}`;
  }
  return null;
}

const shown = (x: number): string => (Object.is(x, -0) ? "-0" : String(x));

class Replay {
  readonly storages: Any[];
  readonly tensors: Any[];

  constructor(
    readonly a: Adapter,
    readonly c: RandomCase,
  ) {
    this.storages = c.S.map(([code, raw]) => a.storage(bytesOf(code, raw)));
    this.tensors = c.T.map(([code, s, shape, strides, offset, grad, conj]) => {
      const t = a.tensor(this.storages[s], code, shape, strides, offset, conj === 1);
      return grad ? a.requireGrad(t) : t;
    });
  }

  get scale(): number {
    return this.c.exact ? 0 : 1;
  }

  decode(v: Value): unknown {
    if (Array.isArray(v)) return v.map((x) => this.decode(x as Value));
    if (v === null || typeof v !== "object") return v;
    const [key, x] = Object.entries(v)[0] as [string, never];
    if (key === "t") return this.tensors[x];
    if (key === "f") return this.a.float(toNumber(x));
    if (key === "mf") return this.a.memoryFormat(x);
    return key === "dt" ? this.a.dtype(x) : this.a.complex(toNumber(x[0]), toNumber(x[1]));
  }

  call(): unknown {
    const { a, c } = this;
    const args = c.args.map((v) => this.decode(v));
    const kw = Object.entries(c.kw ?? {}).map(([k, v]) => [camel(k), this.decode(v)]);
    const rest = kw.length > 0 ? [Object.fromEntries(kw)] : [];
    if (c.form === "m" || c.form === "i") {
      return a.method(args[0], c.form === "i" ? `${c.op}_` : c.op)(...args.slice(1), ...rest);
    }
    return a.fn(c.op)(...args, ...rest);
  }

  result(got: unknown, want: Result, i: number): string | null {
    const { a } = this;
    if (want.v !== undefined) return Object.is(got, want.v) ? null : `${String(got)}, expected ${String(want.v)}`;
    if (!a.isTensor(got)) return `${typeof got} result, expected a tensor`;
    const s = a.snapshot(got);
    if (s.code !== want.dt) return `dtype ${s.code}, expected ${want.dt}`;
    if (s.shape.join() !== (want.sh as number[]).join()) return `shape [${s.shape}], expected [${want.sh}]`;
    const wrong = differ(s.code, readElements(s), want.x as Raw[], this.scale);
    if (wrong !== null) return wrong;
    const counts = s.shape.every((n) => n > 0);
    const other = (n: number, d: number): boolean => n > 1 && s.stride[d] !== (want.st as number[])[d];
    const strange =
      this.c.exact || this.c.strict ? s.stride.join() !== (want.st as number[]).join() : counts && s.shape.some(other);
    if (strange) return `strides [${s.stride}], expected [${want.st}]`;
    const owner = counts ? this.storages.indexOf(s.storage) : -1;
    if (owner !== want.a) return `shares storage ${owner}, expected ${want.a}`;
    if (want.off !== undefined && s.offset !== want.off) return `offset ${s.offset}, expected ${want.off}`;
    if (s.requiresGrad !== "gf" in want) return `requires grad: ${s.requiresGrad}`;
    if (s.gradFn !== (want.gf ?? null)) return `grad_fn ${s.gradFn} of result ${i}, expected ${want.gf}`;
    if (want.ver === undefined) return null;
    const flags = `${s.conj ? "c" : ""}${s.neg ? "n" : ""}`;
    if (flags !== (want.fl ?? "")) return `flags "${flags}", expected "${want.fl ?? ""}"`;
    return a.version(got) === want.ver ? null : `version ${a.version(got)}, expected ${want.ver}`;
  }

  storagesAfter(post: Record<string, Raw[]>): string | null {
    for (const [k, [code, raw]] of this.c.S.entries()) {
      const bytes = this.a.bytesOf(this.storages[k]);
      const want = post[k] ?? raw;
      const n = Math.floor(bytes.length / ITEM_SIZE[code]);
      const got = readElements({ code, shape: [n], stride: contiguousStrides([n]), offset: 0, bytes });
      // A storage that was resized is compared as far as it went before.
      const wrong = differ(
        code,
        Array.from(got as Float64Array).slice(0, want.length * width(code)) as never,
        want,
        this.scale,
      );
      if (wrong !== null) return `storage ${k} afterwards: ${wrong}`;
    }
    return null;
  }

  versions(): string | null {
    const got = this.tensors.map((t) => this.a.version(t));
    const want = this.c.tv ?? got;
    return got.join() === want.join() ? null : `versions ${got} of operands, expected ${want}`;
  }

  gradients(results: Any[]): string | null {
    const { a, c } = this;
    if (c.grads === undefined && c.gerr === undefined) return null;
    const outs = results.filter((t) => a.isTensor(t) && t.requiresGrad && !a.isLeaf(t));
    const leaves = this.tensors.filter((t) => t.requiresGrad && a.isLeaf(t));
    const cotangents = outs.map((o, k) => this.cotangent(o, k));
    let grads: Any[];
    try {
      grads = a.gradients(outs, leaves, cotangents) as Any[];
    } catch (e) {
      return c.gerr === undefined ? `gradient raised ${String(e)}` : this.error(e, c.gerr);
    }
    if (c.gerr !== undefined) return `gradient: no error, expected ${c.gerr.join(": ")}`;
    for (const [k, want] of (c.grads as (Raw[] | null)[]).entries()) {
      const g = grads[k];
      if ((g === null || g === undefined) !== (want === null)) return `gradient ${k} is ${g}, expected ${want}`;
      if (want === null) continue;
      const s = a.snapshot(g);
      const wrong = differ(s.code, readElements(s), want, 20);
      if (wrong !== null) return `gradient ${k}: ${wrong}`;
      const strides = c.gst?.[k] ?? s.stride;
      if (s.stride.join() !== strides.join()) return `gradient ${k} has strides [${s.stride}], expected [${strides}]`;
    }
    return null;
  }

  private cotangent(o: Any, k: number): Any {
    const s = this.a.snapshot(o);
    const n = s.shape.reduce((p, q) => p * q, 1);
    const values = Array.from({ length: n }, (_, i): Raw => {
      const v = (((7 * i + 3 + 5 * k) % 11) - 5) / 4;
      return isComplexCode(s.code) ? [v, 0] : v;
    });
    const storage = this.a.storage(bytesOf(s.code, values));
    return this.a.tensor(storage, s.code, s.shape, contiguousStrides(s.shape), 0);
  }

  error(e: unknown, [type, torchText]: [string, string]): string | null {
    const text = ourSpelling(torchText);
    const message = (e as Error).message ?? String(e);
    if (!this.a.isLibraryError(e)) return `not an error of the library: ${(e as Error).stack ?? message}`;
    if (NO_SHORT_COMPLEX.test(message)) return null;
    const classes = this.a.errorClasses(e);
    if (!classes.includes(type)) return `${classes[0]}: ${message}; expected ${type}: ${text}`;
    if (message.split("\n")[0]?.startsWith(text) || text.startsWith(message)) return null;
    return `message "${message.split("\n")[0]}", expected "${text}"`;
  }
}

/** What is wrong, null when nothing is. */
export function runRandom(a: Adapter, c: RandomCase): string | null {
  const r = new Replay(a, c);
  if (c.seed !== undefined) a.manualSeed(c.seed);
  let got: unknown;
  try {
    got = r.call();
  } catch (e) {
    if (e instanceof NoSuchOp) return e.message;
    if (c.err !== undefined) return r.error(e, c.err);
    if (NO_SHORT_COMPLEX.test((e as Error).message)) return null;
    return `raised ${(e as Error).name}: ${(e as Error).message.split("\n")[0]}`;
  }
  if (c.err !== undefined) return `no error, expected ${c.err.join(": ")}`;
  const all = Array.isArray(got) ? Array.from(got) : [got];
  const list = c.op === "topk" ? all.slice(0, 1) : all;
  const want = c.out as Result[];
  if (list.length !== want.length) return `${list.length} results, expected ${want.length}`;
  for (const [i, w] of want.entries()) {
    const wrong = r.result(list[i], w, i);
    if (wrong !== null) return `result ${i}: ${wrong}`;
  }
  return r.storagesAfter(c.post ?? {}) ?? r.versions() ?? r.gradients(list);
}

/** One line that shows the call. */
export function showCase(c: RandomCase): string {
  const t = c.T.map(([d, s, sh, st, off, g]) => `${d}[${sh}]/${st}+${off}@${s}${g ? "!" : ""}`).join(" ");
  return `${c.id} ${c.op}.${c.form} ${JSON.stringify(c.args)} ${JSON.stringify(c.kw ?? {})} ${t}`;
}

// Runs one random autograd program (scripts/oracle/make_random_programs.py) and says where it differs from torch.
import { type Adapter, type Any, camel } from "../conformance/adapter.ts";
import { ourSpelling } from "../spelling.ts";

type Raw = number | string | [Raw, Raw];
/** [requires grad, leaf, node, output number, version, view, retains grad, shape, strides, offset], or an error. */
type Facts = unknown[] | null;

interface Step {
  k: string;
  f: string;
  a: unknown[];
  mode?: "no_grad" | "enable_grad";
  /** How many results it appends to the variables. */
  n?: number;
  e?: [type: string, text: string];
  w?: Record<string, Facts>;
}

export interface Program {
  id: number;
  /** Leaves: dtype, shape, whether gradients are wanted. */
  V: [string, number[], boolean][];
  /** Facts are looked at after every step. */
  look: boolean;
  P: Step[];
  E: {
    w: Record<string, Facts>;
    x: (Raw[] | null)[];
    g: (Raw[] | null)[];
    h: [number, Raw[]][];
  };
}

const NAMES: Record<string, string> = { f64: "float64", f32: "float32", c128: "complex128", i64: "int64" };

const wave = (i: number, k: number): number => (((7 * i + 3 + 5 * k) % 11) - 5) / 4;

const toNumber = (v: unknown): number =>
  v === "nan" ? Number.NaN : v === "inf" ? Infinity : v === "-inf" ? -Infinity : Number(v);

const numbers = (raw: unknown): number[] => (Array.isArray(raw) ? raw.flatMap(numbers) : [toNumber(raw)]);

class Difference extends Error {}

function elements(t: Any): number[] {
  const plain = t.detach().resolveConj().resolveNeg().reshape([-1]).tolist() as unknown[];
  return plain.flatMap((v) => (typeof v === "object" ? [(v as Any).re, (v as Any).im] : [Number(v)]));
}

function compare(what: string, bound: number, got: number[], raw: unknown): void {
  const want = numbers(raw);
  if (got.length !== want.length) throw new Difference(`${what} has ${got.length} numbers, expected ${want.length}`);
  const size = Math.max(1, ...want.map(Math.abs).filter(Number.isFinite));
  for (const [i, b] of want.entries()) {
    const a = got[i] as number;
    if (a === b || (Number.isNaN(a) && Number.isNaN(b)) || Math.abs(a - b) <= bound * size) continue;
    throw new Difference(`${what} is [${got}], expected [${want}]`);
  }
}

const LABELS = ["requires grad", "is leaf", "gradFn", "output", "version", "is view", "retains grad"].concat(
  ...["shape", "strides", "offset"],
);

/** Of a view that was written to, torch names the node that it had then or the operator, whichever is still alive. */
const MAKER = /, which is output 0 of \w+,/;

function sameText(got: string, want: string): boolean {
  if (got.startsWith(want) || want.startsWith(got)) return true;
  return got.includes("output 0 of AsStrided,") && got.replace(MAKER, "").startsWith(want.replace(MAKER, ""));
}

class Runner {
  readonly vars: Any[] = [];
  readonly calls: [number, number[]][] = [];
  /** Gradients that were asked for, and what is made of them: how they came about inside is nobody's matter. */
  private readonly gradients = new Map<number, "itself" | "derived">();

  /** Relative to the largest element. */
  private readonly bound: number;

  constructor(
    readonly a: Adapter,
    readonly p: Program,
  ) {
    this.bound = JSON.stringify([p.V, p.P]).includes('"f32"') ? 2e-5 : 1e-9;
    p.V.forEach(([code, shape, grad], k) => {
      const n = shape.reduce((x, y) => x * y, 1);
      const v = Array.from({ length: n }, (_, i) => wave(i, k));
      const dtype = a.lib[NAMES[code] as string];
      const data = code === "c128" ? v.map((re, i) => a.complex(re, v[n - 1 - i] as number)) : v;
      const t = a.lib.tensor(data, { dtype }).view(shape).clone();
      this.vars.push(grad ? a.requireGrad(t) : t);
    });
  }

  decode(x: unknown): unknown {
    if (Array.isArray(x)) return x.map((y) => this.decode(y));
    if (x === null || typeof x !== "object") return x;
    const [key, v] = Object.entries(x)[0] as [string, Any];
    const { lib } = this.a;
    if (key === "v") return this.vars[v];
    if (key === "f") return this.a.float(v);
    if (key === "dt") return lib[NAMES[v] as string];
    if (key === "sl") return lib.slice(v[0], v[1], v[2]);
    const sample = [v].flat(8)[0];
    return typeof sample === "boolean" ? lib.tensor(v, { dtype: lib.bool }) : lib.tensor(v, { dtype: lib.int64 });
  }

  start(t: Any): Any {
    const v = Array.from({ length: t.numel() }, (_, i) => wave(i, 0));
    return this.a.lib.tensor(v, { dtype: this.a.lib.float64 }).to(t.dtype).reshape(Array.from(t.shape));
  }

  perform(s: Step): unknown[] {
    const { a } = this;
    const args = s.a.map((x) => this.decode(x)) as Any[];
    const [first, ...rest] = args;
    const list = (r: unknown): unknown[] => (Array.isArray(r) ? Array.from(r) : [r]);
    switch (s.k) {
      case "m":
        return list(a.method(first, s.f)(...rest));
      case "f":
        return list(a.fn(s.f)(...args));
      case "p":
        return [s.f === "T" ? first.T : a.property(first, camel(s.f))()];
      case "get":
        // One array is a tuple of parts, which Python gave too.
        return [first.at(rest[0])];
      case "set":
        first.setAt(rest[0], rest[1]);
        return [];
      case "data":
        first.data = rest[0];
        return [];
      case "nograd":
        first.grad = null;
        return [];
      case "retain":
        first.retainGrad();
        return [];
      case "hook":
        this.hook(first, (s.a[0] as { v: number }).v, rest[0]);
        return [];
      default:
        return this.pass(s, args);
    }
  }

  private hook(t: Any, at: number, factor: unknown): void {
    t.registerHook((g: Any) => {
      this.calls.push([at, elements(g)]);
      return factor === null ? null : g.mul(factor);
    });
  }

  private pass(s: Step, args: Any[]): unknown[] {
    const { autograd } = this.a.lib;
    const roots = args[0] as Any[];
    const from = roots.map((r) => this.start(r));
    if (s.k === "bw") {
      const [, inputs, retainGraph, createGraph] = args;
      autograd.backward(roots, from, { retainGraph, createGraph, ...(inputs === null ? {} : { inputs }) });
      return [];
    }
    const options = { gradOutputs: from, retainGraph: true, createGraph: args[2], allowUnused: true };
    return Array.from(autograd.grad(roots, args[1], options) as unknown[]);
  }

  step(s: Step): void {
    const { lib } = this.a;
    let results: unknown[];
    try {
      const run = (): unknown[] => this.perform(s);
      results = s.mode === undefined ? run() : s.mode === "no_grad" ? lib.noGrad(run) : lib.enableGrad(run);
    } catch (e) {
      this.error(e, s.e);
      return;
    }
    if (s.e !== undefined) throw new Difference(`no error, expected ${s.e.join(": ")}`);
    if (results.length !== (s.n ?? 0)) throw new Difference(`${results.length} results, expected ${s.n ?? 0}`);
    const derived = JSON.stringify(s.a)
      .match(/"v":\d+/g)
      ?.some((v) => this.gradients.has(Number(v.slice(4))));
    results.forEach((_, i) => {
      if (s.k === "grad") this.gradients.set(this.vars.length + i, "itself");
      else if (derived) this.gradients.set(this.vars.length + i, "derived");
    });
    this.vars.push(...results);
  }

  private error(e: unknown, want: Step["e"]): void {
    const message = ((e as Error).message ?? String(e)).split("\n")[0] as string;
    if (!this.a.isLibraryError(e)) throw new Difference(`not an error of the library: ${(e as Error).stack}`);
    if (want === undefined) throw new Difference(`raised ${message}`);
    const [type, torchText] = want;
    const text = ourSpelling(torchText);
    if (!this.a.errorClasses(e).includes(type))
      throw new Difference(`${(e as Error).name} ${message}; expected ${want}`);
    if (!sameText(message, text)) {
      throw new Difference(`message "${message}", expected "${text}"`);
    }
  }

  private facts(t: Any): unknown[] {
    let node: Any;
    try {
      node = t.gradFn;
    } catch (e) {
      return ["error", (e as Error).message];
    }
    return [
      t.requiresGrad,
      t.isLeaf,
      node === null ? null : node.name,
      node === null ? 0 : t.outputNr,
      t.version,
      t.isView(),
      t.retainsGrad,
      Array.from(t.shape),
      Array.from(t.stride()),
      t.storageOffset(),
    ];
  }

  look(want: Record<string, Facts>): void {
    for (const [at, w] of Object.entries(want)) {
      const t = this.vars[Number(at)];
      if (w === null || t === null || t === undefined) {
        if ((w === null) !== (t === null || t === undefined)) throw new Difference(`variable ${at} is ${t}`);
        continue;
      }
      this.lookAt(at, this.facts(t), w);
    }
  }

  private lookAt(at: string, got: unknown[], want: unknown[]): void {
    if (want[0] === "error" || got[0] === "error") {
      const [a, b] = [String(got[1]), String(want[1])];
      if (got[0] !== want[0] || !a.startsWith(b)) throw new Difference(`variable ${at}: ${got}, expected ${want}`);
      return;
    }
    const shape = want[7] as number[];
    want.forEach((w, i) => {
      const loose = this.gradients.get(Number(at));
      if (loose !== undefined && ["version", "is view"].includes(LABELS[i] as string)) return;
      if (loose === "itself" && i >= 8) return;
      if (loose === "itself" && LABELS[i] === "gradFn" && w !== null && got[i] !== null) return;
      // Strides of empty tensors and of dimensions of size one say nothing.
      if (i === 8 && shape.every((n, d) => n < 2 || (w as number[])[d] === (got[8] as number[])[d])) return;
      if (i >= 8 && shape.includes(0)) return;
      if (JSON.stringify(got[i]) === JSON.stringify(w)) return;
      throw new Difference(`variable ${at}: ${LABELS[i]} ${JSON.stringify(got[i])}, expected ${JSON.stringify(w)}`);
    });
  }

  end(): void {
    const { w, x, g, h } = this.p.E;
    this.look(w);
    this.vars.forEach((t, i) => {
      if (t === null || t === undefined) return;
      compare(`variable ${i}`, this.bound, elements(t), x[i]);
      const grad = t._grad;
      const want = g[i] ?? null;
      if ((grad === null) !== (want === null)) throw new Difference(`gradient ${i} is ${grad}, expected ${want}`);
      if (grad !== null) compare(`gradient ${i}`, this.bound, elements(grad), want);
    });
    const order = this.calls.map(([at]) => at);
    if (order.join() !== h.map(([at]) => at).join()) {
      throw new Difference(`hooks ran in the order ${order}, expected ${h.map(([at]) => at)}`);
    }
    this.calls.forEach(([at, got], i) => {
      compare(`what hook ${i} got (of variable ${at})`, this.bound, got, h[i]?.[1]);
    });
  }
}

/** What differs, null when nothing does. */
export function runProgram(a: Adapter, p: Program): string | null {
  let at = "leaves";
  try {
    const r = new Runner(a, p);
    for (const [i, s] of p.P.entries()) {
      at = `step ${i} ${s.k} ${s.f}`;
      r.step(s);
      if (s.w !== undefined) r.look(s.w);
    }
    at = "end";
    r.end();
    return null;
  } catch (e) {
    return `${at}: ${e instanceof Difference ? e.message : (e as Error).stack}`;
  }
}

const show = (x: unknown): string =>
  JSON.stringify(x)
    .replaceAll(/\{"v":(\d+)\}/g, "v$1")
    .replaceAll(/\{"\w+":([^}]*)\}/g, "$1");

/** The program in lines that can be read. */
export function showProgram(p: Program): string {
  let n = p.V.length;
  const lines = p.V.map(([d, s, g], i) => `v${i} = ${d}[${s}]${g ? " leaf" : ""}`);
  p.P.forEach((s, i) => {
    const names = Array.from({ length: s.n ?? 0 }, () => `v${n++}`).join(", ");
    lines.push(
      `${i}: ${names}${names && " = "}${s.k} ${s.f} ${show(s.a)} ${s.mode ?? ""} ${s.e ? `# ${s.e.join(": ")}` : ""}`,
    );
  });
  return [`program ${p.id}${p.look ? " (looked at)" : ""}`, ...lines].join("\n  ");
}

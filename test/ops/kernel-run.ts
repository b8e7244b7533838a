// Runs one row of the kernel fixtures against the library and says what differs.
import type { Adapter, Any, Fn } from "../conformance/adapter.ts";
import { camel, NoSuchOp } from "../conformance/adapter.ts";
import type { Code } from "../conformance/case-types.ts";
import { contiguousStrides, numelOf } from "../conformance/case-types.ts";
import { cotangentBytes, ITEM_SIZE, isComplexCode, positions, readElements } from "../conformance/elements.ts";
import { digest, packed } from "./kernel-digest.ts";
import { storageOf, windowOf } from "./kernel-inputs.ts";
import { compareSamples, isFloating } from "./kernel-samples.ts";
import type { Arg, OpSpec, Row } from "./kernel-types.ts";

const SHAPES: Record<number, [number, number]> = {
  0: [0, 3],
  1: [1, 1],
  7: [1, 7],
  63: [7, 9],
  64: [8, 8],
  65: [5, 13],
  1000: [25, 40],
  70000: [250, 280],
};

function shapeOf(kind: string, n: number): number[] {
  const [a, b] = SHAPES[n];
  const c = Math.min(a, 16) + 1;
  const shapes: Record<string, number[]> = {
    same: [a, b],
    mat: [b, c],
    bias: [c],
    rows: [a],
    cols: [b],
    wt: [c, b],
    acc: [a, c],
    flat: [a * b],
    b3x: [a, b],
    b3y: [b, c],
  };
  return shapes[kind];
}

/** The operands of one row. */
class Operands {
  readonly leaves: Any[] = [];
  private readonly made = new Map<string, unknown>();

  constructor(
    private readonly a: Adapter,
    private readonly spec: OpSpec,
    private readonly row: Row,
  ) {}

  arg(v: Arg): unknown {
    if (Array.isArray(v)) return v.map((x) => this.arg(x));
    if (v === null || typeof v === "number" || typeof v === "boolean") return v;
    if (typeof v === "object")
      return v.dt !== undefined ? this.a.dtype(this.row.t as Code) : this.a.float(v.f as number);
    if (!this.made.has(v)) this.made.set(v, this.make(v));
    return this.made.get(v);
  }

  private tensor(dt: Code, dom: string, k: number, layout: string, shape: number[]): Any {
    const w = windowOf(dom.includes(":") ? "c" : layout, shape);
    return this.a.tensor(this.a.storage(storageOf(dt, dom, k, w.stored)), dt, shape, w.strides, w.offset);
  }

  private indexDomain(): string {
    const [a, b] = SHAPES[this.row.n];
    const kind = this.spec.index as string;
    return `${kind.slice(0, 3)}:${Math.max(kind.endsWith("1") ? b : a, 1)}`;
  }

  private make(name: string): unknown {
    const { row, spec } = this;
    const kind = spec.shapes?.[name] ?? "same";
    let shape = shapeOf(kind, row.n);
    if (name === "m") return this.tensor("bool", "mask", 3, "c", shape);
    if (name === "i") return this.tensor("i64", this.indexDomain(), 4, "c", shape);
    let layout = name === "x" ? row.l[0] : name === "y" ? (row.l[1] ?? "c") : "c";
    const floating = isComplexCode(row.d) || isFloating(row.d);
    if (name === "y" && layout === "k") return floating ? 1.5 : 3;
    if (name === "y" && layout === "r") {
      shape = [SHAPES[row.n][1]];
      layout = "c";
    }
    const t = this.tensor(row.d, spec.doms?.[name] as string, "xyz".indexOf(name), layout, shape);
    if (row.f === "g" && floating) {
      this.a.requireGrad(t);
      this.leaves.push({ name, t });
    }
    return kind === "b3x" || kind === "b3y" ? t.unsqueeze(0).expand(2, -1, -1) : t;
  }

  /** Tensors that require grad in the order x, y, z. */
  gradLeaves(): Any[] {
    return this.leaves.sort((p, q) => (p.name < q.name ? -1 : 1)).map((p) => p.t);
  }
}

function kwargs(spec: OpSpec): Record<string, unknown> {
  return Object.fromEntries(Object.entries(spec.kw ?? {}).map(([k, v]) => [camel(k), v]));
}

/** Ops that are called as methods, as are those that are no functions. */
const METHODS = new Set(["to", "copy", "fill", "zero"]);

interface Answer {
  results: unknown[];
  /** Digest whole storages instead of windows. */
  whole: boolean;
}

function outTensor(a: Adapter, code: Code, shape: number[], wanted: string): Any {
  const flat = shape.length !== 1 && shape.length !== 2;
  const layout = wanted === "x" || flat ? "c" : wanted;
  const w = flat ? { stored: numelOf(shape), strides: contiguousStrides(shape), offset: 0 } : windowOf(layout, shape);
  return a.tensor(a.storage(storageOf(code, "small", 8, w.stored)), code, shape, w.strides, w.offset);
}

/** Runs the call of a row in its form. */
export function runForm(a: Adapter, spec: OpSpec, row: Row): Answer {
  const operands = new Operands(a, spec, row);
  const args = spec.args.map((v) => operands.arg(v));
  const kw = kwargs(spec);
  const extra = Object.keys(kw).length > 0 ? [kw] : [];
  if (row.f === "i") {
    const self = args[0] as Any;
    const name = `${spec.fn.split(".").at(-1)}_`;
    const r = a.method(self, name)(...args.slice(1), ...extra);
    if (r !== self) throw new Error(`${name} did not return self`);
    return { results: [self], whole: true };
  }
  const onlyMethod = METHODS.has(spec.fn) || !a.hasFn(spec.fn);
  const f: Fn = onlyMethod ? (self, ...rest) => a.method(self, spec.fn)(...rest) : a.fn(spec.fn);
  if (row.f === "o") {
    // A row without results is an error row: what out looks like does not matter there.
    const out = outTensor(a, row.rd?.[0] ?? row.d, row.rs?.[0] ?? shapeOf("same", row.n), row.l[row.l.length - 1]);
    f(...args, { ...kw, out });
    return { results: [out], whole: true };
  }
  const r = f(...args, ...extra);
  const list = Array.isArray(r) ? Array.from(r) : [r];
  const results = spec.first ? list.slice(0, 1) : list;
  if (row.f !== "g") return { results, whole: false };
  const s = a.snapshot(results[0]);
  const n = numelOf(s.shape);
  const cotangent = a.tensor(a.storage(cotangentBytes(s.code, n, 0)), s.code, s.shape, contiguousStrides(s.shape), 0);
  const grads = a.gradients([results[0]], operands.gradLeaves(), [cotangent]);
  return { results: grads.filter((g) => g !== null && g !== undefined), whole: false };
}

function compareResult(a: Adapter, spec: OpSpec, row: Row, got: unknown, i: number, whole: boolean): string | null {
  if (row.s !== undefined) return got === row.s ? null : `${String(got)}, expected ${row.s}`;
  if (!a.isTensor(got)) return `${typeof got} result, expected a tensor`;
  const s = a.snapshot(got);
  const [code, shape] = [(row.rd as Code[])[i], (row.rs as number[][])[i]];
  if (s.code !== code) return `dtype ${s.code}, expected ${code}`;
  if (s.shape.join() !== shape.join()) return `shape [${s.shape}], expected [${shape}]`;
  if (row.v !== undefined) return compareSamples(spec, row, i, code, readElements(s) as Float64Array);
  const size = ITEM_SIZE[code];
  const bytes = whole ? s.bytes : packed(s.bytes, size, positions(s.shape, s.stride, s.offset));
  const have = digest(code, bytes);
  const want = (row.h as string[])[i];
  return have === want ? null : `digest ${have}, expected ${want}`;
}

function errorDifference(a: Adapter, row: Row, error: unknown): string | null {
  const [type, text] = row.e as [string, string];
  const message = (error as Error).message ?? String(error);
  if (!a.isLibraryError(error)) return `not an error of the library: ${message}`;
  if (!a.errorClasses(error).includes(type)) return `${a.errorClasses(error)[0]}, expected ${type}: ${message}`;
  return message.startsWith(text) ? null : `message "${message.split("\n")[0]}", expected "${text}"`;
}

/** What is wrong with a row, null when nothing is. */
export function runRow(a: Adapter, spec: OpSpec, row: Row): string | null {
  let answer: Answer;
  try {
    answer = runForm(a, spec, row);
  } catch (e) {
    if (e instanceof NoSuchOp) return e.message;
    if (row.e !== undefined) return errorDifference(a, row, e);
    return `raised ${String(e).split("\n")[0]}`;
  }
  if (row.e !== undefined) return `no error, expected ${row.e[0]}: ${row.e[1]}`;
  const count = row.rd?.length ?? 1;
  if (answer.results.length !== count) return `${answer.results.length} results, expected ${count}`;
  for (const [i, r] of answer.results.entries()) {
    const wrong = compareResult(a, spec, row, r, i, answer.whole);
    if (wrong !== null) return count > 1 ? `result ${i}: ${wrong}` : wrong;
  }
  return null;
}

export function rowName(row: Row): string {
  return `${row.d}${row.t ? `>${row.t}` : ""} n=${row.n} ${row.l}`;
}

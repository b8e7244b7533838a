// Family "module": constructed, called, differentiated.
import type { Any } from "../adapter.ts";
import { NoSuchOp } from "../adapter.ts";
import type { Findings } from "../compare.ts";
import { cotangentBytes } from "../elements.ts";
import { Comparer, compareError, type ModuleCase, named, type Values } from "./values.ts";

const NUMBERS = { rtol: 1e-4, atol: 1e-5 };

const isPacked = (lib: Any, x: Any): boolean => x instanceof lib.nn.utils.rnn.PackedSequence;

/** Tensors depth first through lists, dictionaries and packed sequences. */
export function flat(lib: Any, x: Any): Any[] {
  if (x instanceof lib.Tensor) return [x];
  if (isPacked(lib, x)) return flat(lib, [...x]);
  if (Array.isArray(x)) return x.flatMap((y) => flat(lib, y));
  if (typeof x !== "object" || x === null || !(x instanceof Map || Object.getPrototypeOf(x) === Object.prototype))
    return [];
  return (x instanceof Map ? [...x.values()] : Object.values(x)).flatMap((y) => flat(lib, y));
}

const CODES: Readonly<Record<string, "f32" | "f64" | "c64" | "c128" | "bf16" | "f16">> = {
  float32: "f32",
  float64: "f64",
  complex64: "c64",
  complex128: "c128",
  bfloat16: "bf16",
  float16: "f16",
};

export function cotangent(lib: Any, t: Any, k: number): Any {
  const code = CODES[String(t.dtype).replace("torch.", "")] ?? "f32";
  const n = t.numel();
  if (n === 0) return lib.zerosLike(t.detach());
  return lib
    .fromTypedArray(cotangentBytes(code, n, k))
    .view(t.dtype)
    .view([...t.shape]);
}

/** Inputs as the module gets them: those that want gradients are no leaves. */
function inputs(lib: Any, x: Any, leaves: Any[]): Any {
  if (x instanceof lib.Tensor) {
    if (!x.requiresGrad) return x;
    leaves.push(x);
    return x.clone();
  }
  if (Array.isArray(x)) return x.map((y) => inputs(lib, y, leaves));
  if (isPacked(lib, x)) return new lib.nn.utils.rnn.PackedSequence(...inputs(lib, [...x], leaves));
  if (typeof x !== "object" || x === null || Object.getPrototypeOf(x) !== Object.prototype) return x;
  return Object.fromEntries(Object.entries(x).map(([key, y]) => [key, inputs(lib, y, leaves)]));
}

function build(values: Values, c: ModuleCase): Any {
  const { lib } = values;
  if (named(lib.nn, c.op) === undefined) throw new NoSuchOp(`no such module: nn.${c.op}`);
  if (c.seed !== undefined) lib.manualSeed(c.seed);
  const m = values.module({ cls: c.op, args: c.args, kw: c.kw });
  if (c.dt === "f64") m.double();
  if (c.seed === undefined && c.load !== undefined) m.loadStateDict(values.get(c.load));
  if (c.train !== undefined) m.train(Boolean(c.train));
  return m;
}

function gradients(compare: Comparer, c: ModuleCase, m: Any, out: Any, leaves: Any[]): void {
  const { lib } = compare.values;
  const outputs = flat(lib, out);
  const roots = c.gi.map((k: number) => outputs[k]);
  const entries: [string, Any][] = c.gp === undefined ? [] : [...m.namedParameters()];
  const wanted = [...leaves, ...entries.map(([, p]) => p)];
  const gradOutputs = c.gi.map((k: number, i: number) => cotangent(lib, roots[i], k));
  const found = lib.autograd.grad(roots, wanted, { gradOutputs, allowUnused: true });
  if (c.gin !== undefined) compare.same("gradients", found.slice(0, leaves.length), c.gin);
  if (c.gp === undefined) return;
  const own = Object.fromEntries(entries.map(([name], i) => [name, found[leaves.length + i]]));
  compare.same("parameters' gradients", own, c.gp.$map === undefined ? { $map: Object.entries(c.gp) } : c.gp);
}

export function runModule(values: Values, c: ModuleCase, f: Findings): void {
  const compare = new Comparer(values, f, NUMBERS);
  const { lib } = values;
  try {
    const m = build(values, c);
    const look = () => {
      if (c.repr !== undefined) compare.same("repr", String(m), c.repr);
      const names = () => [...m.namedParameters()].map(([name]: Any) => name);
      if (c.params !== undefined) compare.same("parameters", names(), c.params);
      if (c.state !== undefined) compare.same("state", m.stateDict(), c.state);
    };
    if (!c.lazy) look();
    if (c.in !== undefined) {
      if (c.rseed !== undefined) lib.manualSeed(c.rseed);
      const leaves: Any[] = [];
      const given = inputs(lib, values.get(c.in), leaves);
      const options = inputs(lib, values.options(c.ikw), leaves);
      const out = m(...given, ...(Object.keys(options).length > 0 ? [options] : []));
      if (c.out !== undefined) compare.same("out", out, c.out);
      if (c.after !== undefined) {
        const state = m.stateDict();
        for (const [key, want] of c.after.$map ?? Object.entries(c.after))
          compare.same(`after ${key}`, state[key], want);
      }
      if (c.gi !== undefined && c.gi.length > 0 && c.gerr === undefined) gradients(compare, c, m, out, leaves);
    }
    if (c.lazy) look();
    if (c.err !== undefined) f.fail(`no ${c.err.type}: ${c.err.msg}`);
  } catch (error) {
    if (c.err === undefined || error instanceof NoSuchOp) throw error;
    compareError(error, c.err, f);
  }
}

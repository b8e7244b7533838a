// Family "gradgrad": gradients with a graph, and their own gradients.
import type { Adapter, Any } from "../adapter.ts";
import { plainCall } from "../call.ts";
import type { Findings } from "../compare.ts";
import type { Run } from "../decode.ts";
import { cotangent, flat } from "./run-module.ts";
import { Comparer, type ModuleCase, Values } from "./values.ts";

export function runGradgrad(adapter: Adapter, blob: Uint8Array, c: ModuleCase, f: Findings): void {
  const { lib } = adapter;
  const values = new Values(lib, blob, c, true);
  const compare = new Comparer(values, f, { rtol: 1e-4, atol: 1e-5 });
  const args = c.args.map((x: Any) => values.get(x));
  const kw = values.options(c.kw);
  const run = { c, adapter, args: () => args, kwargs: () => (Object.keys(kw).length > 0 ? kw : undefined) };
  const call = plainCall(run as unknown as Run);
  if (c.seed !== undefined) lib.manualSeed(c.seed);
  const out = call();
  compare.same("out", out, c.out);
  const x = [...flat(lib, args), ...flat(lib, kw)].filter((t) => t.requiresGrad);
  if (c.gi.length === 0) return;
  const outputs = flat(lib, out);
  const y = c.gi.map((k: number) => outputs[k]);
  const v = c.gi.map((k: number, i: number) => cotangent(lib, y[i], k).requiresGrad_(true));
  const g = lib.autograd.grad(y, x, { gradOutputs: v, createGraph: true, allowUnused: true });
  compare.same("g", [...g], c.g);
  const roots = c.hi.map((j: number) => g[j]);
  if (c.h === undefined || roots.length === 0) return;
  const lost = roots.findIndex((root: Any) => !root?.requiresGrad);
  if (lost >= 0) return void f.fail(`g[${c.hi[lost]}] depends on nothing`);
  const gradOutputs = c.hi.map((j: number, i: number) => cotangent(lib, roots[i], j + 1));
  const h = [...lib.autograd.grad(roots, [...x, ...v], { gradOutputs, allowUnused: true })];
  // What a gradient that is constant depends on is the formula's matter: zeros there are as good as nothing.
  const isZero = (want: Any): boolean =>
    !values
      .tensor({ ...want.$t, rg: 0 })
      .ne(0)
      .any()
      .item();
  const wanted = c.h.map((want: Any, i: number) => (h[i] === null && want !== null && isZero(want) ? null : want));
  compare.same("h", h, wanted);
}

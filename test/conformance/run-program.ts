// Runs random programs: chains of view, in-place and pure ops on shared storage, then backward.
import type { Any } from "./adapter.ts";
import { camel } from "./adapter.ts";
import type { Case, Encoded, TensorDesc } from "./case-types.ts";
import { hasTag, numelOf } from "./case-types.ts";
import type { Findings } from "./compare.ts";
import { AliasMap, compareTensor } from "./compare.ts";
import { describedBytes, Run } from "./decode.ts";
import { cotangentBytes } from "./elements.ts";
import { attempt, type Context, compareResult, expectError, pairSpec } from "./run-opinfo.ts";
import { checkSecond } from "./run-second.ts";
import { gradientTolerance, looser, resultTolerance } from "./tolerances.ts";

export interface Vars {
  list: Any[];
  run: Run;
}

/** Each leaf is a view of an anonymous base that needs no gradient. */
export function makeLeaf(run: Run, d: TensorDesc): Any {
  const a = run.adapter;
  const flat = a.tensor(run.storage(d.s), d.dt, [numelOf(d.sh)], [1], 0);
  const leaf = a.method(flat, "view")(d.sh) as Any;
  if (d.rg) a.requireGrad(leaf);
  return leaf;
}

function stepArg(vars: Vars, v: Encoded): unknown {
  if (hasTag(v, "$v")) return vars.list[v.$v];
  if (Array.isArray(v) && v.some((x) => hasTag(x, "$v"))) return v.map((x) => stepArg(vars, x));
  return vars.run.value(v);
}

export function stepCall(
  ctx: Pick<Context, "adapter">,
  vars: Vars,
  step: NonNullable<Case["steps"]>[number],
): () => unknown {
  const [, method, recv, args, kwargs] = step;
  const self = recv === null ? null : vars.list[recv];
  const a = ctx.adapter;
  if (method === "data") return a.property(self, "data");
  const values = args.map((v) => stepArg(vars, v));
  if (method === "no_grad_add_") {
    const add = a.method(self, "add_");
    return () => a.noGrad(() => add(...values));
  }
  const f = self === null ? a.fn(method) : a.method(self, method);
  const given = Object.entries(kwargs ?? {}).map(([k, v]) => [camel(k), stepArg(vars, v)]);
  const kw = given.length > 0 ? Object.fromEntries(given) : undefined;
  return () => f(...(kw ? [...values, kw] : values));
}

/** Of several results the first is what a program goes on with. */
export function firstOf(r: unknown): unknown {
  if (typeof r !== "object" || r === null) return r;
  if (Array.isArray(r)) return r[0];
  return "values" in r && typeof r.values === "object" ? r.values : r;
}

/** Runs the steps; returns false when the program stopped (as expected or not). */
function runSteps(ctx: Context, c: Case, vars: Vars, f: Findings): boolean {
  for (const [i, step] of (c.steps ?? []).entries()) {
    const name = `step ${i} ${camel(step[1])}`;
    const ready = stepCall(ctx, vars, step);
    if (c.err?.step === i) {
      expectError(ctx, name, ready, { type: c.err.type, msg: c.err.msg }, f);
      return f.hard.length === 0;
    }
    const r = attempt(name, ready, f);
    if (r === undefined) return false;
    if (step[0] !== null) vars.list[step[0]] = firstOf(r.value);
  }
  return true;
}

function checkVars(ctx: Context, c: Case, vars: Vars, f: Findings): void {
  const map = new AliasMap();
  const a = ctx.adapter;
  for (const [i, d] of (c.vars ?? []).entries()) {
    const name = `var ${i}`;
    const t = vars.list[i];
    if (!a.isTensor(t)) {
      f.fail(`${name}: not a tensor`);
      continue;
    }
    const snap = a.snapshot(t);
    compareTensor(
      name,
      snap,
      { desc: d, bytes: describedBytes(ctx.set, c, d) },
      {
        tolerance: resultTolerance(c, d.dt),
        softStrides: ctx.options.softStrides,
        isView: true,
        checkGrad: true,
      },
      f,
    );
    map.check(name, d.s, snap, f);
    const facts: [string, unknown, unknown][] = [
      ["_version", a.version(t), d.ver ?? 0],
      ["is_leaf", a.isLeaf(t), d.leaf === 1],
      ["_is_view", a.isView(t), d.isv === 1],
    ];
    for (const [what, got, want] of facts) if (got !== want) f.fail(`${name}: ${what} ${got}, expected ${want}`);
  }
}

function checkBackward(ctx: Context, c: Case, vars: Vars, f: Findings): void {
  const a = ctx.adapter;
  const root = vars.list[c.bw as number];
  const snap = a.snapshot(root);
  const n = numelOf(snap.shape);
  const flat = a.tensor(vars.run.storageOf(cotangentBytes(snap.code, n, 0)), snap.code, [n], [1], 0);
  const cotangent = a.method(flat, "view")(snap.shape);
  const ready = () => a.backward(root, cotangent);
  if (c.bwerr) {
    expectError(ctx, "backward", ready, pairSpec(c.bwerr), f);
    return;
  }
  if (attempt("backward", ready, f) === undefined) return;
  for (const [i] of (c.leaves ?? []).entries()) {
    const want = c.grads?.[String(i)];
    const grad = vars.list[i].grad ?? null;
    if (want === undefined || grad === null) {
      if (want !== undefined || grad !== null) f.fail(`leaf ${i}: .grad is ${want ? "missing" : "set, expected none"}`);
      continue;
    }
    compareResult(ctx, vars.run, `leaf ${i} grad`, grad, want, new AliasMap(), f, {
      ignoreLayout: true,
      checkGrad: false,
      tolerance: (_, d) => looser(gradientTolerance(d.dt), c),
    });
  }
}

export function runProgram(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  if (c.seed !== undefined) ctx.adapter.manualSeed(c.seed);
  const vars: Vars = { list: (c.leaves ?? []).map((l) => makeLeaf(run, l.$t)), run };
  if (!runSteps(ctx, c, vars, f)) return;
  if (c.kept !== "unknown") checkVars(ctx, c, vars, f);
  if (c.second !== undefined) checkSecond(ctx, c, vars, f);
  else if (c.bw !== undefined && !c.err) checkBackward(ctx, c, vars, f);
}

// Gradients of programs with a graph, their own gradients, and the change along a tangent.
import type { Any } from "./adapter.ts";
import type { Case, Second, TensorDesc } from "./case-types.ts";
import { numelOf } from "./case-types.ts";
import { AliasMap, type Findings } from "./compare.ts";
import { cotangentBytes } from "./elements.ts";
import { attempt, type Context, compareResult } from "./run-opinfo.ts";
import { firstOf, stepCall, type Vars } from "./run-program.ts";
import { gradientTolerance, looser } from "./tolerances.ts";

/** Cotangents and tangents that the oracle has too: the `k`-th of their kind. */
function given(ctx: Context, vars: Vars, like: Any, k: number): Any {
  const { shape, code } = ctx.adapter.snapshot(like);
  const n = numelOf(shape);
  const flat = ctx.adapter.tensor(vars.run.storageOf(cotangentBytes(code, n, k)), code, [n], [1], 0);
  return ctx.adapter.method(flat, "view")(shape);
}

function compareAll(
  what: string,
  ctx: Context,
  c: Case,
  vars: Vars,
  got: ReadonlyMap<number, unknown>,
  want: Second["grads"],
  f: Findings,
): void {
  for (const [i, one] of got) {
    const expected = want[String(i)];
    if (expected === undefined) continue;
    compare(`leaf ${i} ${what}`, ctx, c, vars, one, expected, f);
  }
  for (const key of Object.keys(want)) if (!got.has(Number(key))) f.fail(`leaf ${key} ${what} is missing`);
}

function compare(
  name: string,
  ctx: Context,
  c: Case,
  vars: Vars,
  got: unknown,
  want: { $t: TensorDesc },
  f: Findings,
): void {
  compareResult(ctx, vars.run, name, got, want, new AliasMap(), f, {
    ignoreLayout: true,
    checkGrad: false,
    tolerance: (_, d) => looser(gradientTolerance(d.dt), c),
  });
}

/** The last result, from other leaves. */
function replay(ctx: Context, c: Case, vars: Vars, leaves: ReadonlyMap<number, unknown>): unknown {
  const list = vars.list.slice(0, c.leaves?.length).map((leaf, i) => leaves.get(i) ?? leaf);
  let last: unknown = null;
  for (const step of c.steps ?? []) {
    last = firstOf(stepCall(ctx, { list, run: vars.run }, step)());
    if (step[0] !== null) list[step[0]] = last;
  }
  return list[c.bw as number] ?? last;
}

export function checkSecond(ctx: Context, c: Case, vars: Vars, f: Findings): void {
  const a = ctx.adapter;
  const { plain, grads, grads2, jvp } = c.second as Second;
  const places = (c.leaves ?? []).flatMap(({ $t }, i) => ($t.rg ? [i] : []));
  const leaves = places.map((i) => vars.list[i]);
  const root = vars.list[c.bw as number];
  const replayed = (): unknown => {
    const y = replay(ctx, c, vars, new Map());
    return a.gradients([y], leaves, [given(ctx, vars, root, 0)]);
  };
  const present = (list: readonly unknown[]): Map<number, unknown> =>
    new Map(places.flatMap((i, k) => (list[k] == null ? [] : [[i, list[k]] as const])));
  const once = attempt("plain gradients", replayed, f);
  if (once === undefined) return;
  compareAll("plain grad", ctx, c, vars, present(once.value as unknown[]), plain ?? grads, f);
  const found = attempt("gradients", () => a.gradients([root], leaves, [given(ctx, vars, root, 0)], true), f);
  if (found === undefined) return;
  const first = present(found.value as unknown[]);
  compareAll("grad", ctx, c, vars, first, grads, f);
  const roots = [...first.values()].filter((g) => (g as Any).requiresGrad);
  if (grads2 !== undefined) {
    const cotangents = roots.map((g, k) => given(ctx, vars, g, k + 1));
    const again = attempt(
      "second gradients",
      () => (roots.length > 0 ? a.gradients(roots, leaves, cotangents) : []),
      f,
    );
    const zeros = leaves.map((leaf, k) => (again?.value as unknown[])?.[k] ?? a.method(leaf, "new_zeros")(leaf.shape));
    if (again !== undefined) compareAll("second grad", ctx, c, vars, present(zeros), grads2, f);
  }
  if (jvp === undefined) return;
  const primals = leaves.map((leaf) => leaf.detach());
  const tangents = leaves.map((leaf, k) => given(ctx, vars, leaf, k + 2));
  const change = (): unknown =>
    a.change((...args) => replay(ctx, c, vars, new Map(places.map((i, k) => [i, args[k]]))), primals, tangents);
  const r = attempt("jvp", change, f);
  if (r !== undefined) compare("jvp", ctx, c, vars, r.value, jvp, f);
}

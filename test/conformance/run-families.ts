// Runs the extra families: promotion, indexing, printed text, random streams and module initialisation.
import { type Any, NotApplicable } from "./adapter.ts";
import { promoCall } from "./call.ts";
import { storageBytes } from "./case-set.ts";
import type { Case, Encoded, ErrSpec, TensorDesc } from "./case-types.ts";
import { hasTag } from "./case-types.ts";
import type { Findings } from "./compare.ts";
import { AliasMap, compareTensor } from "./compare.ts";
import { Run } from "./decode.ts";
import { aliasMap, attempt, type Context, checkInputs, compareResult, expectError, pairSpec } from "./run-opinfo.ts";
import { resultTolerance } from "./tolerances.ts";

/** Reason to skip a promotion case that only a library with complex32 can answer. */
export function promoSkip(ctx: Context, c: Case): string | null {
  if (c.fam !== "promo" || ctx.adapter.hasDtype("c32")) return null;
  const text = JSON.stringify([c.out ?? null, c.err ?? null, c.ip ?? null, c.iperr ?? null, c.rt ?? null]);
  return /c32"|complex32|ComplexHalf|BComplex32/.test(text) ? "needs complex32" : null;
}

/** A half float beside a complex number needs (b)complex32; a library without them says so in its error. */
function refusesHalfComplex(c: Case, e: unknown): boolean {
  const text = JSON.stringify(c.args);
  const mixes = /"dt":"b?f16"/.test(text) && /"dt":"c64"|"\$c"/.test(text);
  return mixes && e instanceof Error && /no b?complex32/.test(e.message);
}

export function runPromo(ctx: Context, c: Case, f: Findings): void {
  const call = promoCall(new Run(ctx.adapter, ctx.set, c, true, ctx.options.device));
  try {
    call();
  } catch (e) {
    if (refusesHalfComplex(c, e)) throw new NotApplicable("needs complex32");
  }
  checkPromo(ctx, c, f);
}

function checkPromo(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const ready = promoCall(run);
  if (c.err) expectError(ctx, "call", ready, c.err, f);
  else {
    const map = aliasMap(run);
    const r = attempt("call", ready, f);
    if (r) compareResult(ctx, run, "result", r.value, c.out as Encoded, map, f);
  }
  checkInputs(ctx, run, "call", f);
  if (c.rt !== undefined) {
    const want = c.rt.replace(/^torch\./, "");
    const r = attempt("result_type", () => ctx.adapter.resultType(...(run.args() as [unknown, unknown])), f);
    if (r && r.value !== want) f.fail(`result_type: ${r.value}, expected ${want}`);
  }
  if (!c.ip && !c.iperr) return;
  const again = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const [x, y] = again.args() as [Any, unknown];
  const z = ctx.adapter.method(x, "clone")();
  const inPlace = ctx.adapter.method(z, `${c.op}_`);
  if (c.iperr) {
    expectError(ctx, "in-place", () => inPlace(y), pairSpec(c.iperr), f);
    return;
  }
  const r = attempt("in-place", () => inPlace(y), f);
  if (!r) return;
  if (r.value !== z) f.fail("in-place: the result is not self");
  const d = (c.ip as { $t: TensorDesc }).$t;
  compareTensor(
    "in-place",
    ctx.adapter.snapshot(z),
    { desc: d, bytes: storageBytes(ctx.set, c, d.s) },
    {
      tolerance: resultTolerance(c, d.dt),
      softStrides: ctx.options.softStrides,
      isView: false,
    },
    f,
  );
  checkInputs(ctx, again, "in-place", f);
}

export function runIndex(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const args = run.args();
  const isTuple = hasTag(c.args[1], "$tu");
  const x = args[0] as Any;
  const set = c.op === "__setitem__";
  const ready = set
    ? () => ctx.adapter.setItem(x, args[1], isTuple, args[2])
    : () => ctx.adapter.getItem(x, args[1], isTuple);
  if (c.err) expectError(ctx, "index", ready, c.err as ErrSpec, f);
  else {
    const map = aliasMap(run);
    const r = attempt("index", ready, f);
    if (r === undefined) return;
    if (!set) compareResult(ctx, run, "result", r.value, c.out as Encoded, map, f);
  }
  checkInputs(ctx, run, "index", f);
}

function excerpt(a: string, b: string): string {
  let i = 0;
  while (i < a.length && a[i] === b[i]) i++;
  const cut = (s: string) => JSON.stringify(s.slice(Math.max(0, i - 12), i + 24));
  return `text differs at ${i}: ${cut(a)}, expected ${cut(b)}`;
}

export function runRepr(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  let x = run.args()[0] as Any;
  const a = ctx.adapter;
  const options = run.kwargs(c.po);
  if (options) a.setPrintOptions(options);
  try {
    if (c.pre === "mul1") x = a.method(x, "mul")(1);
    const text = a.text(x);
    if (text !== c.repr) f.fail(excerpt(text, c.repr as string));
  } catch (e) {
    f.fail(`raised ${String(e).split("\n")[0]}`);
  } finally {
    if (options) a.setPrintOptions({ profile: "default" });
  }
  checkInputs(ctx, run, "print", f);
}

/** The draws of one seeded stream, in order. */
export function runRng(ctx: Context, c: Case, f: Findings): void {
  const a = ctx.adapter;
  const run = new Run(a, ctx.set, c);
  const ready = (c.calls ?? []).map(([fn, args, kwargs]) => {
    const values = args.map((v) => run.value(v));
    const kw = run.kwargs(kwargs);
    const full = kw ? [...values, kw] : values;
    if (!fn.startsWith("empty.")) {
      const call = a.fn(fn);
      return () => call(...full);
    }
    const [size, ...rest] = values;
    return () => a.method(a.fn("empty")(size, kw ?? {}), fn.slice(6))(...rest);
  });
  a.manualSeed(c.seed as number);
  for (const [i, call] of ready.entries()) {
    const [fn, , , want] = (c.calls as NonNullable<Case["calls"]>)[i] as [string, unknown, unknown, Encoded];
    const r = attempt(`${i} ${fn}`, call, f);
    if (r === undefined) return;
    compareResult(ctx, run, `${i} ${fn}`, r.value, want, new AliasMap(), f, { checkGrad: false });
  }
}

export function runNnInit(ctx: Context, c: Case, f: Findings): void {
  const a = ctx.adapter;
  const run = new Run(a, ctx.set, c);
  const args = (c.margs ?? []).map((v) => run.value(v));
  a.manualSeed(c.seed as number);
  const module = a.newModule(c.module as string, args);
  const got = a.stateDict(module);
  const want = Object.entries(c.state ?? {});
  const names = got.map(([k]) => k).join(" ");
  const expected = want.map(([k]) => k).join(" ");
  if (names !== expected) {
    f.fail(`state dict has "${names}", expected "${expected}"`);
    return;
  }
  for (const [i, [name, v]] of want.entries()) {
    compareTensor(
      name,
      a.snapshot(got[i]?.[1]),
      { desc: v.$t, bytes: storageBytes(ctx.set, c, v.$t.s) },
      {
        tolerance: resultTolerance(c, v.$t.dt),
        softStrides: ctx.options.softStrides,
        isView: false,
      },
      f,
    );
  }
}

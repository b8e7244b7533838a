// Runs one opinfo or error case: the call, its method and in-place forms, and its gradients.
import type { Adapter, Any, Snapshot } from "./adapter.ts";
import { NoSuchOp } from "./adapter.ts";
import type { Ready } from "./call.ts";
import { errorMismatch, hasMethodForm, inPlaceCall, methodCall, plainCall } from "./call.ts";
import type { CaseSet } from "./case-set.ts";
import { storageBytes } from "./case-set.ts";
import type { Case, Encoded, ErrPair, ErrSpec, TensorDesc } from "./case-types.ts";
import { numelOf, tensorDescs } from "./case-types.ts";
import type { CompareOptions, Findings } from "./compare.ts";
import { AliasMap, compareElements, compareStorage, compareTensor } from "./compare.ts";
import { describedBytes, floatPart, Run } from "./decode.ts";
import { cotangentBytes } from "./elements.ts";
import type { Tolerance } from "./tolerances.ts";
import { gradientTolerance, inPlaceTolerance, resultTolerance } from "./tolerances.ts";
import { checkTopk, ordersTiesFreely } from "./topk.ts";

export interface Options {
  softStrides: boolean;
  /** Where the tensors of a case are. */
  device?: "cuda";
}

export interface Context {
  adapter: Adapter;
  set: CaseSet;
  options: Options;
}

const EXACT: Tolerance = { exact: true, rtol: 0, atol: 0 };

export function firstLine(e: unknown): string {
  return String(e instanceof Error ? `${e.name}: ${e.message}` : e).split("\n")[0] as string;
}

/** Runs `ready`; a throw becomes a finding and gives undefined. */
export function attempt(name: string, ready: Ready, f: Findings): { value: unknown } | undefined {
  try {
    return { value: ready() };
  } catch (e) {
    f.fail(`${name}: raised ${firstLine(e)}`);
    return undefined;
  }
}

/** Expects `ready` to raise torch's error. */
export function expectError(ctx: Context, name: string, ready: Ready, want: ErrSpec, f: Findings): void {
  try {
    ready();
    ctx.adapter.deviceWait();
  } catch (e) {
    if (e instanceof NoSuchOp) throw e;
    const wrong = errorMismatch(ctx.adapter, e, want, (s) => f.note(`${name}: ${s}`));
    if (wrong !== null) f.fail(`${name}: ${wrong}`);
    return;
  }
  f.fail(`${name}: no error, expected ${want.got ?? want.type}: ${want.msg.split("\n")[0]}`);
}

export function pairSpec(p: ErrPair): ErrSpec {
  return { type: p[0], msg: p[1] };
}

/** Registers the input storages of a run for alias checks. */
export function aliasMap(run: Run): AliasMap {
  const map = new AliasMap();
  for (const [s, storage] of run.inputStorages()) map.addInput(s, storage);
  return map;
}

/** dtype through which each input storage is read back. */
function storageDtypes(run: Run): Map<number, TensorDesc> {
  const m = new Map<number, TensorDesc>();
  for (const { desc } of run.inputs) if (!m.has(desc.s)) m.set(desc.s, desc);
  return m;
}

/** Every input storage holds what the case says: its `post` contents, or what it held before. */
export function checkInputs(ctx: Context, run: Run, name: string, f: Findings, skip: number[] = []): void {
  const dtypes = storageDtypes(run);
  for (const [s, storage] of run.inputStorages()) {
    if (skip.includes(s)) continue;
    const desc = dtypes.get(s) as TensorDesc;
    const changed = run.c.post?.[String(s)] !== undefined;
    const want = describedBytes(ctx.set, run.c, { ...desc, s });
    const got = ctx.adapter.bytesOf(storage);
    const tol = changed ? resultTolerance(run.c, desc.dt) : EXACT;
    const diff = compareStorage(`${name}: input storage ${s}`, got, want, desc.dt, tol);
    if (diff !== null) f.fail(changed ? diff : `${diff} (input must not change)`);
  }
}

function compareScalar(ctx: Context, name: string, got: unknown, want: Encoded, c: Case, f: Findings): void {
  const s = ctx.adapter.scalar(got);
  if (want === null) {
    if (got !== null && got !== undefined) f.fail(`${name}: ${String(got)}, expected None`);
    return;
  }
  if (s === null) {
    f.fail(`${name}: ${typeof got} result, expected ${JSON.stringify(want)}`);
    return;
  }
  const [kind, parts] = s;
  const tag = typeof want === "object" && !Array.isArray(want) ? want : undefined;
  if (tag?.$c || tag?.$f !== undefined) {
    const w = (tag.$c ?? [tag.$f as number]).map((x) => floatPart(x));
    const expectKind = tag.$c ? "complex" : "number";
    const tol = resultTolerance(c, c.dt ?? "f64");
    const diff = compareElements(
      Float64Array.from(parts as number[]),
      Float64Array.from(w),
      tag.$c ? "c128" : "f64",
      tol,
    );
    if (kind !== expectKind) f.fail(`${name}: ${kind} result, expected ${expectKind}`);
    else if (diff !== null) f.fail(`${name}: ${diff}`);
    return;
  }
  const plain = tag?.$i !== undefined ? BigInt(tag.$i) : want;
  const same =
    typeof plain === "number" || typeof plain === "bigint"
      ? kind === "number" && Number(parts[0]) === Number(plain) && String(parts[0]) === String(plain)
      : parts[0] === plain;
  if (!same) f.fail(`${name}: ${String(got)}, expected ${String(plain)}`);
}

export interface ResultOptions {
  tolerance?: (c: Case, d: TensorDesc) => Tolerance;
  ignoreLayout?: boolean;
  checkGrad?: boolean;
}

/** Compares a whole result (tensor, scalar, tuple) with its encoding; flattens tensors into `flat`. */
export function compareResult(
  ctx: Context,
  run: Run,
  name: string,
  got: unknown,
  want: Encoded,
  map: AliasMap,
  f: Findings,
  o: ResultOptions = {},
  flat: Any[] = [],
): Any[] {
  const list = Array.isArray(want) ? want : typeof want === "object" ? want?.$tu : undefined;
  if (list !== undefined) {
    if (!Array.isArray(got)) {
      f.fail(`${name}: not a tuple, expected ${list.length} values`);
      return flat;
    }
    if (got.length !== list.length) f.fail(`${name}: ${got.length} results, expected ${list.length}`);
    for (const [i, w] of list.entries()) {
      if (i < got.length) compareResult(ctx, run, `${name}[${i}]`, got[i], w, map, f, o, flat);
    }
    return flat;
  }
  const d = typeof want === "object" && want !== null && !Array.isArray(want) ? want.$t : undefined;
  if (d === undefined) {
    compareScalar(ctx, name, got, want, run.c, f);
    return flat;
  }
  if (!ctx.adapter.isTensor(got)) {
    f.fail(`${name}: ${typeof got} result, expected a tensor`);
    return flat;
  }
  flat.push(got);
  const { device } = got as Any;
  if (ctx.options.device !== undefined && device.type !== ctx.options.device) f.fail(`${name}: on ${device}`);
  const snap = ctx.adapter.snapshot(got);
  compareTensor(
    name,
    snap,
    { desc: d, bytes: d.nv ? new Uint8Array(0) : describedBytes(ctx.set, run.c, d) },
    {
      tolerance: o.tolerance?.(run.c, d) ?? resultTolerance(run.c, d.dt),
      softStrides: ctx.options.softStrides,
      isView: map.isInput(d.s),
      checkGrad: o.checkGrad ?? true,
      ...(o.ignoreLayout ? { ignoreLayout: true } : {}),
    },
    f,
  );
  if (!o.ignoreLayout) map.check(name, d.s, snap, f);
  return flat;
}

function seeded(ctx: Context, c: Case): void {
  if (c.seed !== undefined) ctx.adapter.manualSeed(c.seed);
}

function runGradients(ctx: Context, run: Run, outs: Any[], f: Findings): void {
  const { c } = run;
  if (c.gi === undefined && c.gerr === undefined) return;
  const ins = run.inputs.filter((i) => i.desc.rg).map((i) => i.tensor);
  const used = (c.gi ?? outs.map((_, i) => i)).filter((i) => outs[i]?.requiresGrad);
  if (c.gi !== undefined && used.length !== c.gi.length) {
    f.fail(`gradient: outputs ${c.gi.filter((i) => !used.includes(i))} do not require grad`);
    return;
  }
  const cotangents = used.map((k) => {
    const s = ctx.adapter.snapshot(outs[k]);
    const n = numelOf(s.shape);
    const shape = s.shape;
    return ctx.adapter.method(
      ctx.adapter.tensor(run.storageOf(cotangentBytes(s.code, n, k)), s.code, [n], [1], 0),
      "view",
    )(shape);
  });
  const ready = () =>
    ctx.adapter.gradients(
      used.map((i) => outs[i]),
      ins,
      cotangents,
    );
  if (c.gerr) {
    expectError(ctx, "gradient", ready, pairSpec(c.gerr), f);
    return;
  }
  const r = attempt("gradient", ready, f);
  if (r === undefined) return;
  const grads = r.value as unknown[];
  for (const [i, want] of (c.g ?? []).entries()) {
    const got = grads[i] ?? null;
    if (want === null || got === null) {
      if (want !== null || got !== null) f.fail(`gradient ${i}: ${want === null ? "expected none" : "missing"}`);
      continue;
    }
    compareResult(ctx, run, `gradient ${i}`, got, want, new AliasMap(), f, {
      ignoreLayout: true,
      checkGrad: false,
      tolerance: (_, d) => gradientTolerance(d.dt),
    });
  }
}

/** Results of topk may order ties differently: checked through the values that the indices point at. */
function plainResult(ctx: Context, run: Run, name: string, got: unknown, map: AliasMap, f: Findings): Any[] {
  if (ordersTiesFreely(run.c) && Array.isArray(got) && got.length === 2 && got.every((t) => ctx.adapter.isTensor(t))) {
    checkTopk(ctx, run, name, got as Any[], f);
    return got as Any[];
  }
  return compareResult(ctx, run, name, got, run.c.out as Encoded, map, f);
}

function runMethod(ctx: Context, c: Case, f: Findings): void {
  if (!c.m && !c.merr) return;
  if (!hasMethodForm(c)) return;
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const first = c.args[0];
  if (tensorDescs(first).length === 0 || Array.isArray(first)) return;
  const ready = methodCall(run);
  seeded(ctx, c);
  if (c.merr) {
    expectError(ctx, "method", ready, pairSpec(c.merr), f);
    return;
  }
  const r = attempt("method", ready, f);
  if (r === undefined) return;
  plainResult(ctx, run, "method", r.value, aliasMap(run), f);
  checkInputs(ctx, run, "method", f);
}

function runInPlace(ctx: Context, c: Case, f: Findings): void {
  if (!c.ip && !c.iperr) return;
  const d = tensorDescs(c.args[0])[0] as TensorDesc;
  const run = new Run(ctx.adapter, ctx.set, c, false, ctx.options.device);
  const self = run.privateCopy(d);
  const ready = inPlaceCall(run, self);
  seeded(ctx, c);
  if (c.iperr) {
    expectError(ctx, "in-place", ready, pairSpec(c.iperr), f);
    return;
  }
  const r = attempt("in-place", ready, f);
  if (r === undefined) return;
  if (r.value !== self) f.fail("in-place: the result is not self");
  const want = c.ip === 1 ? (c.out as { $t: TensorDesc }).$t : (c.ip as { $t: TensorDesc }).$t;
  const snap: Snapshot = ctx.adapter.snapshot(self);
  const o: CompareOptions = {
    tolerance: inPlaceTolerance(c, want.dt),
    softStrides: false,
    isView: true,
    ...(c.ip === 1 ? { ignoreLayout: true } : {}),
  };
  compareTensor("in-place", snap, { desc: want, bytes: describedBytes(ctx.set, c, want) }, o, f);
  checkInputs(ctx, run, "in-place", f);
}

/** Runs an opinfo case in all its forms. */
export function runOpinfo(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const ready = plainCall(run);
  seeded(ctx, c);
  const map = aliasMap(run);
  const r = attempt("call", ready, f);
  if (r !== undefined) {
    const flat = plainResult(ctx, run, "result", r.value, map, f);
    checkInputs(ctx, run, "call", f);
    runGradients(ctx, run, flat, f);
  }
  runMethod(ctx, c, f);
  runInPlace(ctx, c, f);
}

/** Runs an error case: the call is rejected as torch rejects it and leaves its inputs alone. */
export function runError(ctx: Context, c: Case, f: Findings): void {
  const run = new Run(ctx.adapter, ctx.set, c, true, ctx.options.device);
  const ready = plainCall(run);
  expectError(ctx, "call", ready, c.err as ErrSpec, f);
  if (c.kw?.out !== undefined) return;
  for (const [s, storage] of run.inputStorages()) {
    const before = storageBytes(ctx.set, c, s);
    const after = ctx.adapter.bytesOf(storage);
    if (before.length !== after.length || before.some((b, i) => b !== after[i])) {
      f.fail(`call: input storage ${s} changed although the call raised`);
    }
  }
}
